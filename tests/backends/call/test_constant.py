import numpy as np
import pytest

import opsdk
from opsdk.backends.call.constant import as_constant, dtype_beside, number_dtype
from opsdk.core.errors import DTypeError, FeedError, MixedRuntimeError

F32, F64, I64, BOOL = (np.dtype(name) for name in ("float32", "float64", "int64", "bool"))


def constant(value, beside=None, **options):
    return as_constant(value, beside, "op 'f', input 'x'", **options)


def test_an_array_is_passed_on_as_it_is():
    array = np.ones(3, "int8")
    assert constant(array, F32) is array


def test_a_numpy_scalar_keeps_its_dtype():
    assert constant(np.float64(2), F32).dtype == F64


@pytest.mark.parametrize(
    ("value", "beside", "dtype"),
    [
        (1.5, None, "float32"),
        (1.5, "float64", "float64"),
        (1.5, "float16", "float16"),
        (1.5, "bfloat16", "bfloat16"),
        (1.5, "int64", "float32"),
        (1.5, "int32", "float32"),
        (1.5, "int16", "float32"),
        (1.5, "bool", "float32"),
        (2, None, "int64"),
        (2, "float64", "float64"),
        (2, "int8", "int8"),
        (2, "bool", "int64"),
        (True, None, "bool"),
        (True, "float32", "float32"),
        (1j, "float32", "complex64"),
        (1j, "float64", "complex128"),
        (1j, None, "complex64"),
        (1j, "int64", "complex64"),
        (1j, "float16", "complex64"),
        (1j, "bfloat16", "complex64"),
    ],
)
def test_a_python_number_takes_the_dtype_beside_it_unless_it_would_lose_something(value, beside, dtype):
    beside = None if beside is None else opsdk.TensorSpec([], beside).dtype
    assert number_dtype(value, beside).name == dtype
    assert constant(value, beside) == value


@pytest.mark.parametrize(
    ("beside", "dtype"), [(None, "float32"), ("float32", "float32"), ("float64", "float64"), ("int64", "float32")]
)
def test_numbers_with_a_fraction_in_lists_are_as_precise_as_what_they_stand_beside(beside, dtype):
    got = constant([[0.1], [2]], None if beside is None else np.dtype(beside))
    assert (got.dtype.name, got.shape) == (dtype, (2, 1))


def test_whole_numbers_in_lists_stay_whole():
    assert constant([0, 2], F32).dtype == I64


def test_ragged_lists_are_refused():
    with pytest.raises(
        DTypeError, match=r"^op 'f', input 'x': expected nested lists of equal lengths, got \[\[1\], \[1, 2\]\]"
    ):
        constant([[1], [1, 2]])


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("a", "builtins.str"),
        (["a"], "builtins.list"),
        ([None], "builtins.list"),
        ({}, "builtins.dict"),
        (object, "builtins.type"),
    ],
)
def test_what_is_no_constant_is_refused_with_its_type(value, kind):
    with pytest.raises(DTypeError) as caught:
        constant(value)
    assert str(caught.value) == f"op 'f', input 'x': expected a tensor, array or number, got {kind}"


def test_an_array_of_objects_is_refused():
    with pytest.raises(DTypeError, match=r"^op 'f', input 'x': expected one of bool, .* got dtype"):
        constant(np.array([None]))


def test_a_tensor_of_another_library_is_refused_with_what_to_pass_in_its_place():
    foreign = type("Tensor", (), {"__module__": "torch._tensor"})
    with pytest.raises(DTypeError, match=r"got torch\._tensor\.Tensor; pass a NumPy array of it, np\.asarray"):
        constant(foreign())


def test_a_value_of_another_runtime_is_refused():
    with pytest.raises(MixedRuntimeError) as caught:
        constant(opsdk.to_tensor([1.0]))
    assert str(caught.value) == (
        "op 'f', input 'x': expected arrays or constants, got one of the dynamic tensors; build with one runtime: a "
        "tensor becomes a constant with .numpy(), a Program variable an array with exe.run"
    )


@pytest.mark.parametrize(("value", "dtype"), [(-1, "uint8"), (300, "uint8"), (2**40, "int32"), (2**70, "int64")])
def test_a_whole_number_that_the_dtype_beside_it_cannot_hold_is_refused(value, dtype):
    with pytest.raises(DTypeError, match=rf"op 'f', input 'x': expected a whole number that {dtype} holds, from"):
        constant(value, np.dtype(dtype))


@pytest.mark.parametrize("value", [-1, 255, 256, 2**40])
def test_a_comparison_takes_whole_numbers_that_the_dtype_beside_them_cannot_hold(value):
    x = np.array([0, 255], np.uint8)
    tensor = opsdk.to_tensor(x)
    np.testing.assert_array_equal((tensor == value).numpy(), x.astype(np.int64) == value)
    np.testing.assert_array_equal((tensor < value).numpy(), x.astype(np.int64) < value)
    np.testing.assert_array_equal(opsdk.equal(x, value), x.astype(np.int64) == value)
    with pytest.raises(DTypeError, match="expected a whole number that uint8 holds"):
        tensor == 2**70  # noqa: B015 - no integer dtype holds it


MASKED = np.ma.array([1.0, 2.0, 1e20], mask=[False, False, True])
UNMASKED = r"expected an array without a mask, got numpy\.ma\.MaskedArray of shape \(3,\); pass x\.filled\(value\)"


def test_masked_arrays_are_refused_wherever_values_come_in():
    x = opsdk.to_tensor([1.0, 2.0, 3.0])
    total = opsdk.op("t::total(Tensor x) -> Tensor y", infer=opsdk.infer.reduce)(lambda x: np.sum(x))
    program = opsdk.static.Program()
    with opsdk.static.program_guard(program):
        data = opsdk.static.data("x", [3], "float64")
        made = data + data
    calls = [
        lambda: total(MASKED),
        lambda: opsdk.to_tensor(MASKED),
        lambda: opsdk.to_tensor([MASKED, MASKED]),
        lambda: opsdk.to_tensor([x, MASKED]),
        lambda: x + MASKED,
        lambda: x.set_value(MASKED),
        lambda: data + MASKED,
        lambda: opsdk.static.Executor().run(program, feed={"x": MASKED}, fetch_list=[made]),
        lambda: opsdk.nn.Linear(3, 1).set_state_dict({"weight": MASKED, "bias": np.zeros(1)}),
    ]
    for call in calls:
        with pytest.raises((DTypeError, FeedError), match=UNMASKED):
            call()


def test_other_subclasses_come_as_plain_arrays_over_the_same_memory(tmp_path):
    seen = []
    op = opsdk.op("t::seen(Tensor x) -> Tensor y")(lambda x: seen.append(x) or x * x)
    matrix = np.ones((2, 2)).view(np.matrix)
    assert op(matrix).tolist() == [[1, 1], [1, 1]]  # a product of matrices would give 2
    on_disk = np.memmap(tmp_path / "x", np.float64, "w+", shape=(3,))
    op(on_disk)
    assert {type(x) for x in seen} == {np.ndarray}
    assert np.may_share_memory(seen[-1], on_disk) or seen[-1].size != 3


@pytest.mark.parametrize("value", [np.array([1, None]), np.zeros(2, [("a", "f4")]), np.array(["a"])])
def test_arrays_of_what_is_no_number_are_refused(value):
    for call in (opsdk.to_tensor, opsdk.op("t::same(Tensor x) -> Tensor y")(lambda x: x.copy())):
        with pytest.raises(DTypeError, match="expected one of bool, int8"):
            call(value)


@pytest.mark.parametrize(
    "call", [opsdk.exp, opsdk.sum, lambda v: opsdk.ones([2]) * v, lambda v: opsdk.where([True, False], v, 0.0)]
)
def test_tensors_in_a_list_are_no_numbers(call):
    inside = [opsdk.to_tensor(3.0, stop_gradient=False), 4.0]
    message = r"expected numbers in a list, got Tensor, one of the dynamic tensors, .* of them with opsdk\.stack"
    with pytest.raises(MixedRuntimeError, match=message):
        call(inside)


@pytest.mark.parametrize("make", [lambda n, d: opsdk.to_tensor([n], dtype=d), lambda n, d: opsdk.full([1], n, dtype=d)])
def test_whole_numbers_are_held_exactly_or_refused(make):
    for number, dtype in ((2**53 + 1, "int64"), (2**63 - 1, "int64"), (-128, "int8"), (255, "uint8")):
        assert make(number, dtype).tolist() == [number]
    for number, dtype in ((300, "int8"), (-1, "uint8"), (2**31, "int32")):
        with pytest.raises(DTypeError, match=rf"whole numbers? that {dtype} holds, from .*, got {number}; choose"):
            make(number, dtype)


@pytest.mark.parametrize(
    ("dtype", "held", "rounded"),
    [
        ("float32", (2**24, 2**60, -(2**24) - 2), (2**24 + 1, 10**11, 2**200)),
        ("float64", (2**53, 2**200, 3 * 2**80), (2**53 + 1, -(2**63) + 1, 2**200 + 1)),
        ("complex64", (2**24,), (2**24 + 1,)),
        ("complex128", (2**53,), (2**53 + 1,)),
    ],
)
def test_a_whole_number_beside_floats_is_exact_or_refused(dtype, held, rounded):
    beside = opsdk.TensorSpec([], dtype).dtype
    for number in held:
        assert complex(constant(number, beside).item()) == number
    for number in rounded:
        with pytest.raises(DTypeError, match=f"op 'f', input 'x': expected a whole number that {beside} holds, got "):
            constant(number, beside)
        if abs(number) < 2**127:
            constant(float(number), beside)  # what may be rounded is written so


BEYOND = [("float16", 1e5), ("float16", -65520.0), ("bfloat16", 1e39), ("float32", 1e300), ("float32", [1.0, -1e39]),
          ("complex64", 1e39), ("complex64", 1e39j)]  # fmt: skip


@pytest.mark.parametrize(("dtype", "number"), BEYOND)
@pytest.mark.parametrize("of", ["arrays", "tensors", "Program"])
def test_a_float_beyond_the_range_of_what_it_stands_beside_is_refused(dtype, number, of):
    beside = opsdk.TensorSpec([], dtype).dtype
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        x = {
            "arrays": lambda: np.zeros(2, beside),
            "tensors": lambda: opsdk.zeros([2], beside),
            "Program": lambda: opsdk.static.data("x", [2], beside),
        }[of]()
        for call in (opsdk.divide, lambda x, c: opsdk.where(x == 0, c, x), opsdk.add):
            with pytest.raises(DTypeError, match=rf"numbers? that {dtype} holds.* cast what stands beside it"):
                call(x, number)
        opsdk.divide(x, float("inf"))


@pytest.mark.parametrize(("dtype", "number"), [("float16", 1e-8), ("float16", [1.0, -1e-12]), ("float32", 1e-50)])
@pytest.mark.parametrize("call", [opsdk.divide, opsdk.maximum, lambda x, c: opsdk.where(x == 0, c, x)])
def test_a_float_that_what_it_stands_beside_rounds_to_0_is_refused(dtype, number, call):
    for x in (np.ones(2, dtype), opsdk.ones([2], dtype)):
        with pytest.raises(DTypeError, match=rf"expected numbers that {dtype} holds, got .*1e-\d+, which it"):
            call(x, number)
    assert (opsdk.to_tensor([0.0, 1e-7, -1e-7], dtype) > 1e-50).tolist() == [False, True, False]


OPERATORS = [lambda x, c: x * c, lambda x, c: c * x, lambda x, c: x + c, lambda x, c: c - x, lambda x, c: x - c]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_an_operator_with_a_float_is_computed_in_float32_at_least_and_refuses_what_that_does_not_hold(operator, dtype):
    x = opsdk.to_tensor([2.0], dtype)
    with pytest.raises(DTypeError, match=f"expected a number that {dtype} holds, "):
        operator(x, 1e300)
    if operator(1.0, 2.0) == 2.0:
        with pytest.raises(DTypeError, match=f"expected numbers that {dtype} holds, got 1e-50, which it rounds to 0"):
            operator(x, 1e-50)
    with np.errstate(over="ignore"):  # float16: 2 · 1e5 is beyond it, as a result
        wide = opsdk.TensorSpec([], dtype).dtype.type(operator(2.0, 1e5))
    assert operator(x, 1e5).tolist() == [wide]
    assert operator(opsdk.to_tensor([2.0], "float64"), 1e300).tolist() == [operator(2.0, 1e300)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("number", [1e300, -1e300, 1e39])
def test_a_float_beyond_the_range_is_compared_as_it_is(dtype, number):
    x = opsdk.to_tensor([np.inf, -np.inf, 0.0, 3e4], dtype)
    wide = np.array([np.inf, -np.inf, 0.0, 3e4])
    for made, wanted in ((x < number, wide < number), (x >= number, wide >= number), (x == number, wide == number),
                         (x != number, wide != number)):  # fmt: skip
        assert made.tolist() == wanted.tolist()


@pytest.mark.parametrize(("dtype", "number", "rounded"), [("bfloat16", 1001, 1000), ("float16", 4097, 4096)])
def test_beside_floats_of_16_bits_a_whole_number_that_float32_holds_is_rounded_but_where_it_is_compared(
    dtype, number, rounded
):
    beside = opsdk.TensorSpec([], dtype).dtype
    assert float(constant(number, beside)) == rounded
    assert (constant(number, beside).dtype, constant(number, beside, compared=True).dtype) == (beside, np.float32)
    assert constant(number, beside, compared=True) == number
    with pytest.raises(DTypeError, match="expected a whole number that float32 holds, got 16777217"):
        constant(2**24 + 1, beside)


@pytest.mark.parametrize(
    ("dtypes", "common"),
    [
        ([], None),
        (["int8"], "int8"),
        (["bool", "int8", "int64"], "int64"),
        (["float32", "int64", "float64"], "float64"),
        (["complex64", "float64"], "complex128"),
        (["float16", "bfloat16"], "float32"),
        (["bool", "bool"], "bool"),
    ],
)
def test_a_number_among_several_takes_their_common_dtype(dtypes, common):
    found = dtype_beside([opsdk.TensorSpec([], dtype).dtype for dtype in dtypes])
    assert (None if found is None else found.name) == common


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64"])
@pytest.mark.parametrize("of", ["arrays", "tensors", "Program"])
def test_a_float_beside_whole_numbers_is_of_the_default_dtype(dtype, of):
    whole = np.array([1, 2, 3], dtype)
    tenth, single = np.float32(0.1), whole.astype(np.float32)
    expected = [(single * tenth).tolist(), (single + np.float32(1e30)).tolist(), [tenth, 2.0, 3.0]]
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        x = {
            "arrays": lambda: whole,
            "tensors": lambda: opsdk.to_tensor(whole),
            "Program": lambda: opsdk.static.data("x", [3], dtype),
        }[of]()
        made = [opsdk.multiply(x, 0.1), opsdk.add(x, 1e30), opsdk.where(x > 1, x, 0.1)]
    if of == "Program":
        made = opsdk.static.Executor().run(main, feed={"x": whole}, fetch_list=made)
    assert [value.tolist() for value in made] == expected


def test_a_float_beside_tensors_of_two_precisions_has_the_greater():
    pair = opsdk.op("t::three(Tensor x, Tensor y, Tensor z) -> Tensor w", infer=opsdk.infer.broadcast)(
        lambda x, y, z: x + y + z
    )
    narrow, wide = np.zeros(1, "float32"), np.zeros(1)
    assert pair(narrow, wide, 0.1).tolist() == [0.1]
    assert pair(opsdk.to_tensor(narrow), opsdk.to_tensor(wide), 0.1).tolist() == [0.1]


@pytest.mark.parametrize(
    "values",
    [
        [np.float64(0.1), np.float64(2**24 + 1)],
        (np.array([0.1, 1e-9]), np.array([1.0, 2**24 + 1])),
        [[np.array(0.1)], [2]],
        [np.complex128(0.1 + 1j)],
        [np.array([1]), np.float64(0.1) * np.ones(1)],
    ],
)
def test_numpys_own_numbers_keep_their_dtype_in_a_list(values):
    made = constant(values)
    assert made.dtype == np.array(values).dtype
    assert made.tolist() == np.array(values).tolist()
    assert opsdk.to_tensor(values).tolist() == np.array(values).tolist()


def test_numbers_of_a_list_that_are_pythons_or_narrow_are_float32():
    for values in ([0.1], [0.1, 2], [np.float32(0.1), 0.5], [np.int64(3), 0.5], [np.float16(1), 0.5]):
        assert constant(values).dtype == np.float32


def test_whole_numbers_of_a_list_that_no_integer_dtype_holds_together_are_refused():
    for values in ([np.int64(-1), np.uint64(2**63 + 1)], [-1, 2**63], [np.array([-1]), np.array([2**63], "uint64")]):
        with pytest.raises(DTypeError, match=r"expected whole numbers that int64 holds, .* got 92233720368547758"):
            constant(values)
    assert constant([np.int64(-1), np.uint64(5)]).tolist() == [-1, 5]
    assert constant([np.int64(-1), np.uint64(5)]).dtype == np.int64

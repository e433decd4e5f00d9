import numpy as np
import pytest

import opsdk
from opsdk.backends.call.arrays import Arrays, array_key, as_arrays, with_mutated
from opsdk.core.errors import ArityError, AttributeValueError, DTypeError, InPlaceError, MixedRuntimeError

X = np.array([1.0, 2.0], "float32")


@pytest.fixture
def join():
    @opsdk.op(
        "t::join(Tensor x, Tensor[] rest, Tensor? w=None) -> Tensor y",
        infer=lambda x: opsdk.TensorSpec([None], x.dtype),
    )
    def join(x, rest, w):
        return np.concatenate([x, *rest] if w is None else [x, *rest, w])

    return join


def test_arrays_lists_of_arrays_and_absent_inputs_run(join):
    assert join(X, [X, X]).shape == (6,)
    assert join(X, []).shape == (2,)
    assert join(X, [X], X).shape == (6,)


def test_constants_become_arrays_in_every_position(join):
    first, rest, w = as_arrays(join.opdef, (X, [1, [2.5]], None))
    assert first is X
    assert [item.dtype.name for item in rest] == ["float32", "float32"]
    assert w is None


def test_a_number_takes_the_dtype_of_the_arrays_of_a_list():
    op = opsdk.op("t::total(Tensor[] xs) -> Tensor y", infer=opsdk.infer.broadcast)(lambda xs: sum(xs))
    x = np.array([1.0, 2.0])
    for xs in ([x, 0.1], [0.1, x], [x, [0.1, 0.1]]):
        made = op(xs)
        assert made.dtype == np.float64
        np.testing.assert_array_equal(made, x + 0.1)
    assert op([X, 1]).dtype == np.float32


def test_a_number_takes_the_dtype_of_the_array_beside_it():
    assert opsdk.add(X, 1.5).dtype == np.float32
    assert opsdk.add(2, X.astype("float64")).dtype == np.float64


def test_an_input_that_is_missing_is_refused_before_anything_runs(join):
    with pytest.raises(ArityError, match="input 'x' expected a tensor, got None"):
        join(None, [X])
    with pytest.raises(AttributeValueError, match="input 'rest' expected a list of tensors, got ndarray"):
        join(X, X, X)


def test_a_call_is_known_by_its_dtypes_and_what_its_attributes_decide():
    assert array_key([X, [X, X], None], {}) == (X.dtype, (X.dtype, X.dtype), None)
    assert array_key([X], {"k": 2}) == (X.dtype, "k", int)


def test_a_mutated_input_stands_among_the_results_in_its_place():
    op = opsdk.op("t::f(Tensor(a!) x, Tensor w) -> (Tensor y, Tensor(a!) x_out)")(lambda x, w: None)
    assert with_mutated(op.opdef, "made", ["x", "w"]) == ("made", "x")


def test_two_outputs_and_a_mutated_input_come_in_the_order_of_the_schema():
    @opsdk.op("t::step(Tensor(a!) x, Tensor g) -> (Tensor norm, Tensor(a!) x_out, Tensor copy)")
    def step(x, g):
        x -= g
        return np.abs(g), g.copy()

    x = X.copy()
    norm, out, copied = step(x, -X)
    assert out is x
    assert [array.tolist() for array in (norm, out, copied)] == [[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0]]


def test_the_runtime_of_arrays_accepts_arrays_and_numpy_scalars_only():
    assert [Arrays().accepts(value) for value in (X, X[0], 1.0, [X], opsdk.to_tensor(X))] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_composite_op_runs_on_arrays():
    @opsdk.op(namespace="t", composite=True)
    def twice(x):
        return opsdk.add(x, x)

    assert twice(X).tolist() == [2.0, 4.0]


def test_a_composite_op_may_return_its_input():
    @opsdk.op(namespace="t", composite=True)
    def same(x):
        return x

    got = same(X)
    assert got.tolist() == X.tolist()
    assert not np.shares_memory(got, X)


def test_a_tensor_inside_of_nested_lists_of_numbers_is_refused():
    with pytest.raises(MixedRuntimeError, match="input 'y': expected arrays or constants, got one of the dynamic"):
        as_arrays(opsdk.add.opdef, (X, opsdk.to_tensor(X)))


def swapped(values, kind="f8"):
    return np.array(values).astype(np.dtype(kind).newbyteorder("S"))


CALLS = {
    "mean": lambda x: opsdk.mean(x),
    "sum": lambda x: opsdk.sum(x, axis=0),
    "max": lambda x: opsdk.max(x),
    "gather": lambda x: opsdk.gather(x, swapped([2, 0], "i8")),
    "reshape": lambda x: opsdk.reshape(x, [3, 1]),
    "softmax": lambda x: opsdk.softmax(x),
    "concat": lambda x: opsdk.concat([x, x]),
    "stack": lambda x: opsdk.stack([x, x]),
    "matmul": lambda x: opsdk.matmul(x, x),
    "unsqueeze": lambda x: opsdk.unsqueeze(x, 0),
    "an op of a user's": lambda x: opsdk.op("t::kept(Tensor x) -> Tensor y")(lambda x: np.full_like(x, 2) * x)(x),
}


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i4", "i8", "c8"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_arrays_of_the_other_byte_order_give_what_those_of_the_machine_do(call, kind):
    x = swapped([1, 4, 2], kind)
    native = x.astype(x.dtype.newbyteorder("="))
    if kind == "c8" and call is CALLS["max"]:
        pytest.skip("complex numbers have no order")
    if kind[0] == "i" and call is CALLS["softmax"]:
        pytest.skip("softmax is of floats")
    for _ in range(2):
        np.testing.assert_array_equal(call(x), call(native), strict=True)


def test_an_array_of_the_other_byte_order_is_not_changed_in_place():
    @opsdk.op("t::bump(Tensor(a!) x) -> Tensor(a!) y")
    def bump(x):
        x += 1

    x = swapped([1.0, 2.0])
    with pytest.raises(DTypeError, match=r"'x': expected this machine's byte order, since the op changes it in place"):
        bump(x)
    assert x.tolist() == [1, 2]


def read_only():
    array = np.ones(3)
    array.flags.writeable = False
    return array


def shared():
    return np.ndarray((3,), buffer=np.ones(1), strides=(0,))


SHARED = r"one whose elements share memory, going by its strides \(0,\)"
FIXED = {"read-only": (read_only, "a read-only one"), "shared": (shared, SHARED),
         "broadcast": (lambda: np.broadcast_to(np.ones(1), (3,)), SHARED)}  # fmt: skip


@pytest.mark.parametrize(("make", "text"), FIXED.values(), ids=FIXED)
def test_an_array_that_cannot_be_changed_in_place_is_refused(make, text):
    @opsdk.op("t::bump(Tensor(a!) x) -> Tensor(a!) y")
    def bump(x):
        x += 1

    array = make()
    for value in (array, array):
        with pytest.raises(InPlaceError, match=f"'t::bump', input 'x': expected an array that can .*, got {text}"):
            bump(value)
    assert array.tolist() == [1, 1, 1]
    assert bump(np.ones(3)).tolist() == [2, 2, 2]


@pytest.mark.parametrize(("make", "text"), FIXED.values(), ids=FIXED)
def test_a_tensor_whose_array_cannot_be_changed_says_so(make, text):
    made = opsdk.op("t::made(Tensor x) -> Tensor y")(lambda x: make())

    @opsdk.op("t::bump(Tensor(a!) x) -> Tensor(a!) y")
    def bump(x):
        x += 1

    changes = {
        "fill_": lambda t: t.fill_(2.0),
        "zero_": lambda t: t.zero_(),
        "set_value": lambda t: t.set_value([1.0, 2.0, 3.0]),
        "bump": bump,
    }
    for change in changes.values():
        tensor = made(opsdk.to_tensor(np.zeros(3)))
        with pytest.raises(InPlaceError, match=f"expected an array that can be changed in place, got {text}; change a"):
            change(tensor)
        assert tensor.tolist() == [1, 1, 1]
        change(tensor.clone())


@pytest.mark.parametrize("given", [[1.0, 2.0], (1.0, 2.0), 3.0, np.float64(3.0), True], ids=repr)
def test_what_has_no_memory_is_not_changed_in_place(given):
    op = opsdk.op("t::halve_(Tensor(a!) x, Tensor? w=None) -> Tensor(a!) y")(lambda x, w: x.__imul__(0.5) and None)
    said = rf"op 't::halve_', input 'x': expected an array, since the op changes it .*, got {type(given).__name__},"
    for _ in range(2):
        with pytest.raises(InPlaceError, match=said):
            op(given)


def test_each_of_a_list_that_is_changed_has_memory():
    op = opsdk.op("t::halve_each_(Tensor(a!)[] xs) -> ()")(lambda xs: [x.__imul__(0.5) for x in xs] and None)
    array = np.ones(2)
    op([array])
    assert array.tolist() == [0.5, 0.5]
    with pytest.raises(InPlaceError, match=r"input 'xs': expected an array, .* got list"):
        op([array, [1.0, 2.0]])

"""One rule of promotion: the same in arrays, tensors and Variables, for built-in ops and an author's own."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import DTypeError, InputValueError

NAMES = {
    "b1": "bool", "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64", "i1": "int8", "i2": "int16",
    "i4": "int32", "i8": "int64", "f2": "float16", "bf": "bfloat16", "f4": "float32", "f8": "float64",
    "c8": "complex64", "c16": "complex128",
}  # fmt: skip

# Written down from PyTorch's `torch.promote_types`; the columns u2, u4 and u8 from the array API's table of integers,
# and, across kinds, by PyTorch's rule that the category decides.
TORCH = """
      b1  u1  i1  i2  i4  i8  f2  bf  f4  f8  c8  c16
b1    b1  u1  i1  i2  i4  i8  f2  bf  f4  f8  c8  c16
u1    u1  u1  i2  i2  i4  i8  f2  bf  f4  f8  c8  c16
i1    i1  i2  i1  i2  i4  i8  f2  bf  f4  f8  c8  c16
i2    i2  i2  i2  i2  i4  i8  f2  bf  f4  f8  c8  c16
i4    i4  i4  i4  i4  i4  i8  f2  bf  f4  f8  c8  c16
i8    i8  i8  i8  i8  i8  i8  f2  bf  f4  f8  c8  c16
f2    f2  f2  f2  f2  f2  f2  f2  f4  f4  f8  c8  c16
bf    bf  bf  bf  bf  bf  bf  f4  bf  f4  f8  c8  c16
f4    f4  f4  f4  f4  f4  f4  f4  f4  f4  f8  c8  c16
f8    f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16
c8    c8  c8  c8  c8  c8  c8  c8  c8  c8  c16 c8  c16
c16   c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
"""
ARRAY_API = """
      b1  u1  u2  u4  u8  i1  i2  i4  i8  f2  bf  f4  f8  c8  c16
u2    u2  u2  u2  u4  u8  i4  i4  i4  i8  f2  bf  f4  f8  c8  c16
u4    u4  u4  u4  u4  u8  i8  i8  i8  i8  f2  bf  f4  f8  c8  c16
u8    u8  u8  u8  u8  u8  f8  f8  f8  f8  f2  bf  f4  f8  c8  c16
"""
NUMPYS_OWN = re.compile(r"\b(np|xp)\.(result_type|promote_types)\b")
COMPUTED_IN = {
    "core/dtype.py",  # the rule itself, for integers
    "core/sums.py",  # in which sums are added
    "expr/evaluate.py",  # integers, computed as NumPy does
    "expr/gradient/proof.py",
    "expr/primitives/body.py",
    "expr/primitives/own.py",
    "backends/call/checked.py",  # whether NumPy computes with the inputs at all
    "ops/logical.py",  # in which numbers are compared
    "ops/numpy_protocol.py",  # np.result_type of tensors
}
PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def _rows(text):
    """Returns what a table says, by the two codes of a pair."""
    header, *rows = [line.split() for line in text.strip().splitlines()]
    return {(row[0], code): said for row in rows for code, said in zip(header, row[1:], strict=True)}


def _page():
    lines = [
        re.sub(r"[*|]", " ", line) for line in PAGE.read_text().splitlines() if re.match(r"\| +\| b1|\| \*\*", line)
    ]
    return _rows("\n".join(lines))


EXPECTED = {**_rows(ARRAY_API), **_rows(TORCH)}
PAIRS = [pair for pair in product(NAMES, NAMES) if pair in EXPECTED]
SPELLED = {code: as_dtype(name) for code, name in NAMES.items()}


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_two_dtypes_promote_to_what_pytorch_and_the_array_api_say_in_either_order(left, right):
    wanted = SPELLED[EXPECTED[left, right]]
    assert opsdk.promote_types(NAMES[left], NAMES[right]) == wanted
    assert opsdk.promote_types(SPELLED[right], SPELLED[left]) == wanted


def test_every_pair_of_dtypes_is_expected_in_one_order_at_least():
    assert {frozenset(pair) for pair in PAIRS} == {frozenset(pair) for pair in product(NAMES, NAMES)}


def test_the_page_has_the_whole_table():
    page = _page()
    assert set(page) == set(product(NAMES, NAMES))
    assert all(opsdk.promote_types(NAMES[a], NAMES[b]) == SPELLED[said] for (a, b), said in page.items())


def test_pytorch_itself_says_the_same():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    spelled = _rows(TORCH)
    for (left, right), said in spelled.items():
        got = torch.promote_types(getattr(torch, NAMES[left]), getattr(torch, NAMES[right]))
        assert got is getattr(torch, NAMES[said]), (left, right)


def test_nothing_else_asks_numpy_for_a_common_dtype_but_what_numpy_computes_in():
    root = Path(opsdk.__file__).parent
    asking = {p.relative_to(root).as_posix() for p in root.rglob("*.py") if NUMPYS_OWN.search(p.read_text())}
    assert asking == COMPUTED_IN


def test_several_dtypes_promote_by_the_highest_kind_whatever_their_order():
    for order in (("uint64", "int64", "float16"), ("float16", "uint64", "int64"), ("int64", "float16", "uint64")):
        assert opsdk.promote_types(*order) == np.float16
    assert opsdk.promote_types("int64", "bfloat16", "float16", "bool") == np.float32
    assert opsdk.promote_types("complex64", "float16", "float64") == np.complex128


def test_what_names_no_dtype_is_refused():
    with pytest.raises(DTypeError, match=r"dtype: expected one of bool, int8, .*, got 'float8'"):
        opsdk.promote_types("int8", "float8")


@opsdk.op("promotion::added(Tensor x, Tensor y) -> Tensor z", infer=opsdk.infer.broadcast)
def added(x, y):
    return x + y


@added.backward
def added_grad(x, y, dz):
    return dz, dz


@opsdk.op("promotion::product(Tensor x, Tensor y) -> Tensor z", infer=opsdk.infer.broadcast)
def product_of(x, y):
    return x * y


@product_of.backward
def product_grad(x, y, dz):
    return dz * y, dz * x


@opsdk.elementwise("promotion::blended(Tensor x, Tensor y) -> Tensor z")
def blended(x, y):
    return x + 3 * y


CALLS = {
    "add": opsdk.add,
    "multiply": opsdk.multiply,
    "pow": opsdk.pow,
    "matmul": opsdk.matmul,
    "einsum": lambda x, y: opsdk.einsum("i,i->i", x, y),
    "where": lambda x, y: opsdk.where(np.array([True, False]), x, y),
    "concat": lambda x, y: opsdk.concat([x, y]),
    "stack": lambda x, y: opsdk.stack([x, y]),
    "maximum": opsdk.maximum,
    "an op of NumPy": added,
    "an expression": blended,
}
NO_ORDER = ("maximum",)  # complex numbers have none


def _variable(array):
    """Returns the dtype that a call of Variables has, and that its run has."""
    return opsdk.static.data(f"x{id(array)}", array.shape, array.dtype)


FEW = ["i8 f4", "f2 bf", "bf i4", "f4 f8", "c8 i8", "u8 i8", "u1 i1", "f2 b1", "c8 f8"]


@pytest.mark.parametrize("name", CALLS)
def test_arrays_tensors_and_variables_promote_alike_in_every_op(name):
    _hold(name, [tuple(pair.split()) for pair in FEW])


# All pairs compile a kernel of the expression for each.
@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_pair_of_dtypes_promotes_alike_in_every_op(name):
    _hold(name, PAIRS)


def _hold(name, pairs):
    call, wrong = CALLS[name], []
    for left, right in pairs:
        wanted = SPELLED[EXPECTED[left, right]]
        if wanted.kind == "c" and name in NO_ORDER:
            continue
        if left == right == "b1" or (name == "an expression" and wanted.kind in "biu"):
            continue  # bools add as NumPy says; literals of whole numbers take the dtype beside them
        x, y = np.ones(2, SPELLED[left]), np.ones(2, SPELLED[right])
        with opsdk.static.program_guard(opsdk.static.Program(), opsdk.static.Program()):
            inferred = call(_variable(x), _variable(y)).dtype
        found = (call(x, y).dtype, call(opsdk.to_tensor(x), opsdk.to_tensor(y)).dtype, inferred)
        if any(dtype != wanted for dtype in found):
            wrong.append((left, right, wanted, found))
    assert not wrong


@pytest.mark.parametrize("call", [opsdk.divide, lambda x, y: opsdk.mean(x * y), lambda x, y: opsdk.exp(x + y)])
@pytest.mark.parametrize("name", ["uint8", "int8", "int32", "int64"])
def test_what_integers_give_with_a_fraction_is_float32(call, name):
    x = np.array([3, 5], name)
    assert call(x, x).dtype == call(opsdk.to_tensor(x), opsdk.to_tensor(x)).dtype == np.float32


@pytest.mark.parametrize("name", ["bool", "uint8", "int32", "int64"])
@pytest.mark.parametrize(("number", "wanted"), [(1.5, "float32"), (1.5j, "complex64")])
def test_a_python_number_beside_integers_is_of_the_default_dtype_of_its_kind(name, number, wanted):
    x = opsdk.to_tensor(np.array([1, 1], name))
    assert (x * number).dtype == (number + x).dtype == wanted
    assert opsdk.multiply(x.numpy(), number).dtype == wanted


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_a_python_float_beside_floats_takes_their_dtype(name):
    x = opsdk.to_tensor(np.array([1, 1])).astype(name)
    assert (x * 1.5).dtype == (x + 1).dtype == as_dtype(name)


def test_promotion_ignores_ranks_and_values():
    scalar, vector = opsdk.to_tensor(np.float64(1.0)), opsdk.to_tensor(np.ones(3, np.float32))
    assert (scalar * vector).dtype == np.float64
    assert (opsdk.to_tensor(np.int64(3)) + opsdk.to_tensor(np.ones(3, np.int8))).dtype == np.int64


def test_an_authors_kernel_is_given_the_numbers_and_its_result_rounded_once():
    # 70,000 is no float16, and half of it is one: the product is NumPy's float64, rounded
    x, n = np.array([0.5], np.float16), np.array([70_000])
    assert product_of(x, n).tolist() == [35_008.0]  # the float16 next to 35,000
    assert product_of(x, n).dtype == np.float16


def test_an_authors_kernel_meets_both_kinds_of_16_bits_in_float32():
    x, y = np.array([1.5], np.float16), np.array([3.0], as_dtype("bfloat16"))
    made = product_of(x, y)
    assert (made.dtype, made.tolist()) == (np.float32, [4.5])


@pytest.mark.parametrize(("left", "right"), [("float16", "bfloat16"), ("float32", "float64"), ("float32", "float16")])
def test_gradients_of_promoted_inputs_are_of_their_own_dtypes(left, right):
    x = opsdk.to_tensor(np.array([2.0]).astype(as_dtype(left)), stop_gradient=False)
    y = opsdk.to_tensor(np.array([3.0]).astype(as_dtype(right)), stop_gradient=False)
    for call in (opsdk.multiply, product_of):
        x.clear_grad()
        y.clear_grad()
        call(x, y).sum().backward()
        assert (x.grad.dtype, y.grad.dtype) == (as_dtype(left), as_dtype(right))
        assert (x.grad.item(), y.grad.item()) == (3.0, 2.0)


def test_an_integer_factor_leaves_the_gradient_its_dtype():
    x = opsdk.to_tensor(np.array([2.0], np.float32), stop_gradient=False)
    product_of(x, opsdk.to_tensor(np.array([3]))).sum().backward()
    assert (x.grad.dtype, x.grad.item()) == (np.float32, 3.0)


def test_a_whole_number_that_the_promoted_dtype_rounds_is_refused_and_compared_exactly():
    n, x = np.array([2**24 + 1]), np.array([2.0**24], np.float32)
    for name in ("add", "where", "concat", "matmul"):
        with pytest.raises(InputValueError, match=r"expected whole numbers that float32 holds.*got 16777217; cast it"):
            CALLS[name](np.repeat(n, 2), np.repeat(x, 2))
    assert opsdk.equal(n, x).tolist() == [False]
    assert opsdk.greater_than(n, x).tolist() == [True]


def test_an_expression_of_integers_keeps_a_float_dtype_that_was_written():
    @opsdk.elementwise("promotion::halved(Tensor x) -> Tensor y")
    def halved(x):
        return x * np.float64(0.5)

    assert halved(np.array([1, 2])).dtype == np.float64


def test_quotients_of_integers_are_rounded_once():
    # 33,554,435 is no float32; a third of it, 11,184,811.67, rounds to 11,184,812
    assert opsdk.divide(np.array([33_554_435]), np.array([3])).tolist() == [11_184_812.0]


def test_ops_of_several_dtypes_are_verified():
    samples = [
        opsdk.Sample(np.array([0.5, -1.5], np.float32), np.array([2, 3])),
        opsdk.Sample(np.array([0.5, -1.5], np.float32), np.array([0.25, 3.0])),
    ]
    for op in (product_of, blended):
        report = opsdk.verify(op, samples=samples, level="quick")
        assert report.verdict == "pass", report

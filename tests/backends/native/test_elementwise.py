"""Compiled elementwise rows on arrays of every layout and size, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.call.plan import make_plan
from opsdk.backends.native.elementwise_source import TILE
from opsdk.backends.native.strided_source import LONG_ROW
from opsdk.backends.native.strided_source import TILE as STRIDED_TILE
from opsdk.core.errors import ShapeError


@opsdk.elementwise(namespace="tests_native")
def blend(x, y, *, k: float = 0.5):
    """Is exact for the small whole numbers that most tests use."""
    return x * k - y


@opsdk.elementwise(namespace="tests_native")
def long(x, y):
    """Is cut into stages."""
    early = x > y
    a = vmath.exp(-abs(x)) * vmath.tanh(y)
    b = vmath.sin(a + x) + vmath.cos(y) * vmath.sigmoid(y)
    c = vmath.log1p(abs(b)) + vmath.sqrt(abs(a)) * vmath.tanh(b - x)
    d = vmath.sin(c) * vmath.cos(c) - vmath.exp(-abs(c))
    return vmath.where(early & (d < 1.0), a + d, b * x + c)


def long_by_hand(x, y):
    a = np.exp(-abs(x)) * np.tanh(y)
    b = np.sin(a + x) + np.cos(y) / (1 + np.exp(-y))
    c = np.log1p(abs(b)) + np.sqrt(abs(a)) * np.tanh(b - x)
    d = np.sin(c) * np.cos(c) - np.exp(-abs(c))
    return np.where((x > y) & (d < 1.0), a + d, b * x + c)


@opsdk.elementwise("tests_native::both(Tensor x, Tensor y) -> (Tensor s, Tensor d)")
def both(x, y):
    """Has two results."""
    return x + y, x - y


def compiled_row(op, *arrays, **attrs):
    """Returns what the compiled kernel gives, whichever row would be chosen."""
    attrs = {**{decl.name: decl.default for decl in op.opdef.schema.attrs}, **attrs}
    row = next(row for row in op.opdef.kernels if row.language == "numba" and row.key.place == "cpu")
    return make_plan(op.opdef, arrays, attrs, row=row).launch(*arrays, **attrs)


def bits(array):
    return array.view(f"u{array.itemsize}")


def whole(shape, dtype="float32", first=1):
    return (np.arange(first, first + int(np.prod(shape))) % 251).reshape(shape).astype(dtype)


# -- shapes ------------------------------------------------------------------------------------------------------------


SHAPES = [
    ((), ()),
    ((1,), ()),
    ((7,), ()),
    ((), (3, 5)),
    ((4, 5), (5,)),
    ((5,), (4, 5)),
    ((4, 1), (1, 5)),
    ((4, 1), (5,)),
    ((2, 3, 4), (3, 1)),
    ((2, 1, 4), (3, 1)),
    ((2, 3, 4), (2, 1, 4)),
    ((1, 1, 1), (2, 1)),
    ((0,), ()),
    ((0, 3), (1, 3)),
    ((3, 0, 2), (3, 1, 1)),
    ((2, LONG_ROW + 3), (LONG_ROW + 3,)),
    ((3, LONG_ROW), (3, 1)),
    ((5, LONG_ROW - 1), (5, 1)),
    ((3, 2 * STRIDED_TILE + 5), (1, 1)),
    ((2, 3, 2, 3, 2, 3), (3, 1, 3, 1, 3)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_shapes_broadcast_as_numpys_do(left, right):
    x, y = whole(left), whole(right, first=50)
    value = blend(x, y, k=2.0)
    expected = x * np.float32(2.0) - y
    assert (value.shape, value.dtype, value.flags.c_contiguous) == (expected.shape, np.float32, True)
    np.testing.assert_array_equal(value, expected)


def test_shapes_that_do_not_broadcast_are_refused_by_the_launch():
    with pytest.raises(
        ShapeError, match=r"op 'tests_native::blend': expected shapes that broadcast, got \(2, 3\) and \(4,\)"
    ):
        compiled_row(blend, np.zeros((2, 3)), np.zeros(4))


# -- layouts -----------------------------------------------------------------------------------------------------------


def unaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)
    made = raw[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    assert not made.flags.aligned
    return made


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def in_a_record(array):
    records = np.zeros(array.shape, [("tag", "u1"), ("value", array.dtype)])
    records["value"] = array
    return records["value"]


LAYOUTS = {
    "contiguous": lambda a: a.copy(),
    "F order": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "reversed rows": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "reversed columns": lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
    "every third column": lambda a: np.repeat(a, 3, axis=1)[:, ::3],
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "a slice of more": lambda a: np.pad(a, 3)[3:-3, 3:-3],
    "read-only": read_only,
    "unaligned": unaligned,
    "of a record": in_a_record,
    "the other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_every_layout_gives_the_same(layout, dtype):
    for shape in ((5, 7), (4, LONG_ROW + 9)):
        x, y = whole(shape, dtype), whole(shape, dtype, first=90)
        expected = x * x.dtype.type(0.5) - y
        made = LAYOUTS[layout](x)
        np.testing.assert_array_equal(made, x)
        for value in (blend(made, y), blend(x, LAYOUTS[layout](y)), blend(made, LAYOUTS[layout](y))):
            assert value.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("layout", ["F order", "reversed columns", "unaligned"])
def test_layouts_change_nothing_of_several_results(layout):
    x, y = whole((6, 5)), whole((6, 5), first=7)
    s, d = both(LAYOUTS[layout](x), y)
    np.testing.assert_array_equal(s, x + y)
    np.testing.assert_array_equal(d, x - y)
    assert not np.shares_memory(s, d)


def test_the_same_array_twice_and_views_of_one_array_are_right():
    x = whole(1000)
    np.testing.assert_array_equal(blend(x, x), x * np.float32(0.5) - x)
    np.testing.assert_array_equal(blend(x[:-1], x[1:]), x[:-1] * np.float32(0.5) - x[1:])
    np.testing.assert_array_equal(blend(x, x[::-1]), x * np.float32(0.5) - x[::-1])


def test_inputs_are_not_changed():
    x, y = whole((4, 5)), whole(5)
    before = x.copy(), y.copy()
    blend(x, y)
    blend(x.T.copy().T, y)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])


# -- dtypes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtypes",
    [
        ("float32", "float64"), ("float64", "float32"), ("float32", "int64"), ("int32", "float32"), ("int8", "float16"),
        ("float16", "float32"), ("bool", "float32"), ("uint8", "float64"), ("uint16", "float32"), ("float64", "uint64"),
        (ml_dtypes.bfloat16, "float32"), (ml_dtypes.bfloat16, ml_dtypes.bfloat16), ("float16", "float16"),
    ],
    ids=str,
)  # fmt: skip
def test_mixed_dtypes_are_read_as_what_they_are(dtypes):
    x, y = np.array([0, 1, 1, 0, 1] * 20).astype(dtypes[0]), np.array([3, 1, 0, 1, 2] * 20).astype(dtypes[1])
    value = compiled_row(blend, x, y, k=4.0)
    assert value.dtype == max((a.dtype for a in (x, y) if a.dtype.kind in "fV"), key=lambda dtype: dtype.itemsize)
    np.testing.assert_array_equal(value.astype(float), x.astype(float) * 4 - y.astype(float))
    strided = compiled_row(blend, np.repeat(x, 2)[::2], y, k=4.0)
    np.testing.assert_array_equal(strided, value)


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16], ids=str)
def test_halves_round_to_nearest_even_once(dtype):
    every = np.arange(2**16, dtype=np.uint16).view(dtype)
    with np.errstate(all="ignore"):
        wide = every.astype("float32")
        expected = (wide * np.float32(0.7) - np.float32(1.0)).astype(dtype)
    value = blend(every, np.ones(1, dtype), k=0.7)
    finite = ~np.isnan(expected.astype("float32"))
    # A product and a difference may be one rounding in float32, so that a half may be the neighbour.
    steps = np.abs(value.view(np.int16)[finite].astype(int) - expected.view(np.int16)[finite].astype(int))
    assert steps.max() <= 1
    assert (steps > 0).mean() < 1e-3
    assert np.isnan(value.astype("float32")[~finite]).all()


@pytest.mark.parametrize("dtype", ["int32", "complex64"])
def test_what_is_no_float_goes_to_the_reference(dtype):
    x = np.array([1, 2, 3]).astype(dtype)
    value = blend(x, x, k=2.0)
    np.testing.assert_array_equal(value, x * 2 - x)


def test_infinity_nan_and_minus_zero_are_values():
    x = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0], np.float32)
    value = blend(x, np.zeros(1, np.float32), k=1.0)
    assert [str(entry) for entry in value] == ["inf", "-inf", "nan", "-0.0", "0.0"]


# -- sizes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, 31, TILE - 1, TILE, TILE + 1, 3 * TILE + 17, 100_003])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_long_body_is_right_at_every_size(rng, size, dtype):
    x, y = rng.standard_normal(size).astype(dtype), rng.standard_normal(size).astype(dtype)
    tolerance = 60 * np.finfo(dtype).eps
    expected = long_by_hand(x.astype("float64"), y.astype("float64"))
    off = np.abs(long(x, y) - expected) > tolerance * (1 + np.abs(expected))
    assert off.sum() <= 2  # float32 may be on the other side of a condition


THREADS = [1, 2, 3, 5, 16]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("op", [blend, long], ids=["short", "long"])
def test_any_number_of_threads_gives_the_same_bits(rng, op, dtype):
    flat = [rng.standard_normal(1_000_003).astype(dtype) for _ in range(2)]
    rows = [rng.standard_normal((307, 1021)).astype(dtype), rng.standard_normal(1021).astype(dtype)]
    narrow = [rng.standard_normal((20011, 3)).astype(dtype)[::-1], rng.standard_normal((20011, 1)).astype(dtype)]
    for arrays in (flat, rows, narrow):
        found = []
        for threads in THREADS:
            opsdk.set_flags(threads=threads)
            found.append(bits(op(*arrays)))
        for other in found[1:]:
            np.testing.assert_array_equal(found[0], other)


def test_an_element_has_the_same_bits_wherever_it_stands(rng):
    x, y = rng.standard_normal(5000).astype("float32"), rng.standard_normal(5000).astype("float32")
    together = long(x, y)
    alone = np.array([long(x[i : i + 1], y[i : i + 1])[0] for i in range(0, 5000, 37)])
    strided = long(np.repeat(x, 2)[::2], y)
    np.testing.assert_array_equal(bits(together[::37].copy()), bits(alone))
    np.testing.assert_array_equal(bits(together), bits(strided))


def test_large_arrays_are_right(rng):
    x, y = rng.standard_normal(1_000_001), rng.standard_normal(1)
    np.testing.assert_allclose(blend(x, y, k=3.0), x * 3.0 - y, rtol=1e-15, atol=1e-15)


# -- kinds of call -----------------------------------------------------------------------------------------------------


def test_many_attribute_values_are_told_apart():
    x = np.ones(4, np.float32)
    values = [blend(x, x, k=float(k))[0] for k in range(200)]
    assert values == [k - 1.0 for k in range(200)]


def test_many_geometries_are_told_apart():
    base = whole((40, 40))
    for rows in range(1, 40):
        for columns in range(1, 40, 5):
            x = base[:rows, :columns]
            np.testing.assert_array_equal(blend(x, x[0]), x * np.float32(0.5) - x[0])


def test_results_that_are_not_wanted_are_none():
    x = np.ones(3)
    assert [
        None if v is None else v.tolist() for v in compiled_row(both.grad, x, x, needs_input_grad=(True, False))
    ] == [
        [2.0] * 3,
        None,
    ]


def test_a_name_that_is_not_ascii_is_compiled():
    @opsdk.elementwise(namespace="tests_native")
    def größe(länge, *, α: float = 2.0):
        return länge * α

    assert größe(np.ones(2)).tolist() == [2.0, 2.0]


def test_a_product_with_a_gate_keeps_its_value_where_the_gate_is_tiny():
    gate = opsdk.elementwise("t::gate(Tensor x, Tensor y) -> Tensor z")(lambda x, y: x * vmath.sigmoid(y))
    x = np.array([1e30, -1e30, 3e38, 1e30, np.inf, -np.inf, 7.0, 7.0, np.inf, np.nan, 2.0], np.float32)
    y = np.array([-88.0, -87.0, -86.5, 50.0, -100.0, 0.0, np.inf, -np.inf, 1.0, 1.0, np.nan], np.float32)
    wide = x.astype(np.float64) / (1 + np.exp(-y.astype(np.float64)))
    wide[7] = 0.0
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(gate(x, y), wide.astype(np.float32), rtol=4e-7)
    far = gate(np.float32([1e30] * 3), np.float32([-89.0, -95.0, -100.0]))  # the gate itself has few bits there
    np.testing.assert_allclose(far, 1e30 * np.exp([-89.0, -95.0, -100.0]), rtol=0.02)
    np.testing.assert_allclose(gate(np.array([1e300]), np.array([-709.9])), 1e300 * np.exp(-709.9), rtol=1e-13)


def test_a_product_with_a_gate_is_rounded_as_a_quotient(rng):
    swish = opsdk.elementwise("t::swish(Tensor x) -> Tensor y")(lambda x: x * vmath.sigmoid(x))
    x = rng.uniform(-87, 87, 100_000).astype(np.float32)
    wide = x.astype(np.float64) / (1 + np.exp(-x.astype(np.float64)))
    error = np.abs(swish(x) - wide) / np.spacing(np.abs(wide.astype(np.float32)))
    assert error.max() < 3


@opsdk.rowwise(namespace="tests_native")
def counted(c, x):
    return vmath.row_sum(c * x)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("layout", [lambda c: c, lambda c: c.T, lambda c: c[:, ::2]], ids=["rows", "columns", "gaps"])
def test_every_byte_but_zero_is_true_as_in_numpy(dtype, layout):
    mask = layout(np.array([[0, 255, 1, 4], [255, 0, 2, 128]] * 40, np.uint8)).view(bool)
    x = np.full(mask.shape, 2.0, dtype)
    np.testing.assert_array_equal(blend(mask, x, k=1.5), mask * 1.5 - 2.0)
    np.testing.assert_array_equal(counted(mask, x), (mask * x).sum(-1))
    t = opsdk.to_tensor(x, stop_gradient=False)
    (opsdk.to_tensor(mask) * t).sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), mask.astype(dtype))

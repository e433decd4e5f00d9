"""Compiled rows against their NumPy reference, over shapes, strides, dtypes, axes and numbers of threads."""

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.native import rowwise as native
from opsdk.backends.native.rowwise import laid_out, result_shape, turned_back
from opsdk.core.errors import AttributeValueError, OpsdkError, ShapeError
from opsdk.expr.decorators import rowwise
from opsdk.expr.row.row import COLUMN, FLAT, FULL, ROW
from opsdk.ops import loss, normalization
from opsdk.ops.loss import cross_entropy_with_logits
from opsdk.ops.normalization import layer_norm, softmax

TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3}
OPS = {
    "softmax": (normalization.softmax, "x"),
    "log_softmax": (normalization.log_softmax, "x"),
    "layer_norm": (normalization.layer_norm, "xww"),
    "rms_norm": (normalization.rms_norm, "xw"),
    "cross_entropy_with_logits": (loss.cross_entropy_with_logits, "xl"),
    "cosine_similarity": (normalization.cosine_similarity, "xx"),
}
SHAPES = [(1, 1), (3, 1), (1, 7), (4, 33), (2, 3, 129), (70, 5), (0, 4), (200, 65)]


def inputs(kinds, shape, dtype, rng):
    made = {"x": lambda: rng.normal(size=shape), "w": lambda: rng.normal(size=shape[-1])}
    arrays = [made[kind]().astype(dtype) for kind in kinds if kind != "l"]
    return arrays + [rng.integers(0, shape[-1], (*shape[:-1], 1)) for kind in kinds if kind == "l"]


def launches(op):
    opdef = op.opdef
    row = next(row for row in opdef.kernels if row.language == "numba" and row.key.place == "cpu")
    return native.launch_of(opdef, row), row.source


def as_list(result):
    return result if isinstance(result, tuple) else (result,)


def compare(op, arrays, dtype, **attrs):
    compiled, reference = launches(op)
    for got, want in zip(as_list(compiled(*arrays, **attrs)), as_list(reference(*arrays, **attrs)), strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(
            got.astype(float), want.astype(float), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * 2
        )


def defaults(op):
    return {decl.name: decl.default for decl in op.opdef.schema.attrs}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", OPS)
def test_a_compiled_row_op_and_its_gradient_agree_with_numpy(name, dtype, rng):
    op, kinds = OPS[name]
    for shape in SHAPES:
        arrays = inputs(kinds, shape, dtype, rng)
        attrs = {**defaults(op), **({"axis": -1} if "axis" in defaults(op) else {})}
        compare(op, arrays, dtype, **attrs)
        outputs = as_list(launches(op)[1](*arrays, **attrs))
        entering = [rng.normal(size=out.shape).astype(dtype) for out in outputs]
        rule = op.opdef.grad
        parts = {"input": arrays, "output": outputs, "cotangent": entering}
        given = [parts[source.kind][source.position] for source in rule.sources]
        mask = {"needs_input_grad": (True,) * len(arrays)} if rule.mask is not None else {}
        compare(rule.op, given, dtype, **{**attrs, **mask})


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_rows_may_lie_along_any_axis_of_any_layout(axis, rng):
    base = rng.normal(size=(6, 5, 8))
    for array in (base, base.transpose(2, 0, 1), base[::-1, ::2], np.asfortranarray(base), base[:, :, ::-3]):
        compare(normalization.softmax, [array], "float64", axis=axis)


def test_bfloat16_is_computed_in_float32(rng):
    x = rng.normal(size=(3, 40)).astype(opsdk.core.dtype.as_dtype("bfloat16"))
    got = launches(normalization.softmax)[0](x, axis=-1)
    assert got.dtype == x.dtype
    wide = x.astype(np.float32)
    want = np.exp(wide) / np.exp(wide).sum(-1, keepdims=True)
    np.testing.assert_allclose(got.astype(np.float32), want, rtol=2**-7)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_number_of_threads_changes_no_bit(threads, rng):
    arrays = inputs("xw", (3000, 37), "float32", rng)
    dy = rng.normal(size=(3000, 37)).astype(np.float32)
    gradient = launches(normalization.rms_norm.opdef.grad.op)[0]
    attrs = {"epsilon": 1e-6, "needs_input_grad": (True, True)}
    before = opsdk.get_flags()["threads"]
    try:
        opsdk.set_flags(threads=1)
        alone = gradient(*arrays, dy, **attrs)
        opsdk.set_flags(threads=threads)
        for got, want in zip(gradient(*arrays, dy, **attrs), alone, strict=True):
            np.testing.assert_array_equal(got, want)
    finally:
        opsdk.set_flags(threads=before)


def test_rows_longer_than_any_stack_are_right(rng):
    x = rng.normal(size=(2, 1_000_003)).astype(np.float32)
    total = launches(normalization.softmax)[0](x, axis=-1).sum(-1, dtype=float)
    np.testing.assert_allclose(total, 1, rtol=1e-5)


def test_a_gradient_that_nobody_wants_is_not_computed(rng):
    gradient = launches(normalization.rms_norm.opdef.grad.op)[0]
    x, w = inputs("xw", (3, 4), "float64", rng)
    found = gradient(x, w, x, epsilon=1e-6, needs_input_grad=(True, False))
    assert found[1] is None
    assert found[0].shape == (3, 4)


def test_extrema_hand_on_nan_and_infinity():
    with opsdk.REGISTRY.scoped():

        @rowwise(namespace="t")
        def top(x):
            return vmath.row_max(x) + 0.0 * vmath.row_min(x)

        compiled, _ = launches(top)
    x = np.array([[1.0, np.nan, 2.0], [1.0, 5.0, -np.inf], [-0.0, 0.0, -1.0]])
    np.testing.assert_array_equal(compiled(x), [np.nan, np.nan, 0.0])


def test_a_position_in_a_row_is_a_whole_number_however_long_the_row():
    with opsdk.REGISTRY.scoped():

        @rowwise(namespace="t", per_row=("at",), integer=("at",))
        def marked(x, at):
            return vmath.where(vmath.row_index() == at, x, 0.0)

        compiled, _ = launches(marked)
    length, at = 2**24 + 3, 2**24 + 1  # float32 has no such odd number
    found = compiled(np.ones((1, length), np.float32), np.array([[at]]))
    assert np.flatnonzero(found).tolist() == [at]


def test_an_element_is_taken_of_an_expression_that_compares_positions():
    with opsdk.REGISTRY.scoped():

        @rowwise(namespace="t", per_row=("at", "k"), integer=("at", "k"))
        def taken(x, at, k):
            return vmath.row_take(vmath.where(vmath.row_index() == at, x, -x), k)

        compiled, _ = launches(taken)
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert compiled(x, np.array([[1], [1]]), np.array([[1], [2]])).tolist() == [2.0, -6.0]


def test_whole_numbers_beside_floats_are_of_the_dtype_of_the_floats():
    compiled, _ = launches(normalization.rms_norm)
    x, w = np.array([[3, 4]]), np.ones(2, np.float32)
    made = compiled(x, w, epsilon=0.0)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, x / np.sqrt(12.5), rtol=2e-7)


def test_a_number_per_row_has_no_part_in_the_dtype():
    with opsdk.REGISTRY.scoped():
        scaled = rowwise(lambda x, s: x * s, name="scaled", namespace="t", per_row=("s",))
        made = scaled(np.ones((2, 3), np.float32), np.full((2, 1), 2.0))
    assert (made.dtype, made.tolist()) == (np.float32, [[2.0] * 3] * 2)


def test_a_position_outside_is_refused_by_the_compiled_row_with_its_value():
    compiled, _ = launches(loss.cross_entropy_with_logits)
    with pytest.raises(AttributeValueError, match=r"row_take: position expected in \[0, 3\), got 7"):
        compiled(np.ones((2, 3)), np.array([[0], [7]]), ignore_index=-100)


def test_shapes_are_checked_on_every_launch():
    gradient = launches(normalization.rms_norm.opdef.grad.op)[0]
    with pytest.raises(ShapeError, match=r"rms_norm_grad': input 'weight' expected shape \(4,\), got \(3,\)"):
        gradient(np.ones((2, 4)), np.ones(3), np.ones((2, 4)), epsilon=1e-6, needs_input_grad=(True, True))


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [(3, MemoryError, "softmax': no memory for rows of 4 elements"), (9, OpsdkError, "expected status 0, got 9")],
)
def test_a_status_is_an_error_with_the_name_of_the_op(status, error, text):
    rows = native.Rowwise(normalization.softmax.opdef, launches(normalization.softmax)[1])
    with pytest.raises(error, match=text):
        rows._raise(status, 4, [np.ones((1, 4))], {"axis": -1})


@pytest.mark.parametrize("way", ["compiled", "reference"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1_000_000), (1_000_000, 1), (3, 1500), (2, 3)])
def test_sums_over_rows_and_over_columns_are_taken_in_blocks(way, dtype, shape):
    @rowwise("test_rowwise::mean_beside(Tensor x, Tensor w) -> (Tensor m, Tensor y)", per_column=("w",), replace=True)
    def mean_beside(x, w):
        return vmath.row_mean(x), x * w

    x = np.full(shape, 0.1).astype(opsdk.core.dtype.as_dtype(dtype))
    w, dy, dm = np.ones(shape[1], x.dtype), np.ones(shape, x.dtype), np.zeros(shape[:1], x.dtype)
    number = float(x.flat[0])
    sixteen = {"float16": 2**-11, "bfloat16": 2**-8}
    eps = sixteen.get(dtype, 0) + 16 * (2**-52 if dtype == "float64" else 2**-23)
    forward, backward = (launches(op)[way == "reference"] for op in (mean_beside, mean_beside.opdef.grad.op))
    np.testing.assert_allclose(forward(x, w)[0].astype(np.float64), number, rtol=eps)
    given = {"x": x, "w": w, "dm": dm, "dy": dy}
    names = mean_beside.opdef.grad.op.opdef.schema.input_names
    dw = backward(*(given[name] for name in names), needs_input_grad=(False, True))[1]
    total = np.inf if dtype == "float16" and shape[0] * number > 65_519 else shape[0] * number
    np.testing.assert_allclose(dw.astype(np.float64), total, rtol=eps)


# -- the layout of a call: inputs with their rows last and contiguous, results of the shape of their role -------------


def call(op, *arrays, **attrs):
    rows = op.opdef.kernels.reference().source
    return laid_out(op.opdef, rows, arrays, attrs, np.ascontiguousarray)


def test_rows_come_last_and_contiguous():
    x = np.arange(24.0).reshape(2, 3, 4)
    (given,), shape, at = call(softmax, x, axis=-2)
    assert (given.tolist(), shape, at) == (np.moveaxis(x, 1, 2).tolist(), (2, 4, 3), 1)
    assert given.flags.c_contiguous


def test_what_lies_right_is_not_copied():
    x = np.ones((2, 3))
    (given,), _, _ = call(softmax, x, axis=-1)
    assert np.shares_memory(given, x)


def test_numbers_per_row_stand_beside_rows_with_and_without_their_axis():
    x = np.ones((2, 3))
    for label in (np.zeros(2, int), np.zeros((2, 1), int)):
        (_, given), _, _ = call(cross_entropy_with_logits, x, label)
        assert given.shape == (2, 1)


def test_results_have_the_shape_of_their_role():
    shape = (2, 4, 3)
    assert [result_shape(role, shape) for role in (FULL, ROW, FLAT)] == [(2, 4, 3), (2, 4, 1), (2, 4)]


def test_a_result_is_turned_back_unless_its_rows_are_last_or_dropped():
    x = np.arange(24.0).reshape(2, 4, 3)
    back = turned_back(x, x.shape, 1, np.ascontiguousarray)
    assert back.tolist() == np.moveaxis(x, -1, 1).tolist()
    assert back.flags.c_contiguous
    assert turned_back(x, x.shape, 2, np.ascontiguousarray) is x
    flat = np.ones((2, 4))
    assert turned_back(flat, x.shape, 0, np.ascontiguousarray) is flat


@pytest.mark.parametrize(
    ("op", "arrays", "text"),
    [
        (layer_norm, ((2, 4), (4,), (3,)), r"op 'opsdk::layer_norm': input 'bias' expected shape \(4,\)"),
        (softmax, ((),), r"op 'opsdk::softmax': input 'x' expected at least one axis, got shape \(\)"),
        (softmax.grad, ((), ()), r"op 'opsdk::softmax_grad': input 'out' expected at least one axis, got \(\)"),
        (softmax.grad, ((2, 3), (2, 4)), r"softmax_grad': input 'dout' expected shape \(2, 3\), got \(2, 4\)"),
    ],
)
def test_shapes_that_do_not_fit_their_roles_are_refused(op, arrays, text):
    with pytest.raises(ShapeError, match=text):
        call(op, *map(np.ones, arrays))


def test_a_column_is_as_long_as_a_row():
    assert layer_norm.opdef.kernels.reference().source.roles == (FULL, COLUMN, COLUMN)
    (_, w, _), shape, _ = call(layer_norm, np.ones((2, 4)), np.arange(4.0), np.ones(4))
    assert (w.tolist(), shape) == ([0, 1, 2, 3], (2, 4))

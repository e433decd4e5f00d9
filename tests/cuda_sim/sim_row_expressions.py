"""Row expressions on the simulated device: built-in row ops and their gradients, shapes, special values, errors."""

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.cuda import rowwise as cuda_rowwise
from opsdk.backends.cuda.elementwise import CudaElementwise
from opsdk.backends.cuda.launch import BoundKernel
from opsdk.backends.cuda.rowwise import CudaRowwise, geometry_for
from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError, ShapeError
from opsdk.expr.decorators import rowwise
from opsdk.expr.row.row_function import RowFunction
from opsdk.ops import loss, normalization
from opsdk.ops.nets import loss as net_loss

TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3}
OPS = {
    "softmax": (normalization.softmax, "x"),
    "log_softmax": (normalization.log_softmax, "x"),
    "layer_norm": (normalization.layer_norm, "xww"),
    "rms_norm": (normalization.rms_norm, "xw"),
    "cross_entropy_with_logits": (loss.cross_entropy_with_logits, "xl"),
    "softmax_with_cross_entropy": (loss.softmax_with_cross_entropy, "xl"),
    "cross_entropy": (loss.cross_entropy, "pl"),
    "cosine_similarity": (normalization.cosine_similarity, "xx"),
    "logsumexp": (opsdk.find_op("opsdk::logsumexp"), "x"),
    "standardize": (normalization.standardize, "x"),
    "nll_loss": (net_loss.nll_loss, "xl"),
}
SHAPES = [(1, 1), (1, 40), (3, 5), (2, 2, 3)]  # 40: a thread takes several positions; 3 and 5: some take none


def device(array):
    return SimulatedArray(np.array(array))


def row_of(op):
    row = op.opdef.kernels.select("cuda", np.dtype("float64"))
    return CudaRowwise(op.opdef, row.source, row.origin)


def as_list(made):
    return list(made) if isinstance(made, tuple) else [made]


def attributes(op, **given):
    return {**{decl.name: decl.default for decl in op.opdef.schema.attrs}, **given}


def inputs(kinds, shape, dtype, rng):
    make = {
        "x": lambda: rng.normal(size=shape).astype(dtype),
        "p": lambda: rng.uniform(0.1, 1, shape).astype(dtype),
        "w": lambda: rng.normal(size=shape[-1]).astype(dtype),
        "l": lambda: np.where(rng.random((*shape[:-1], 1)) < 0.3, -100, rng.integers(0, shape[-1], (*shape[:-1], 1))),
    }
    return [make[kind]() for kind in kinds]


def compare(op, arrays, tolerance, **attrs):
    """Holds the CUDA kernel to the reference, which it returns."""
    row = row_of(op)
    wanted = as_list(row.function(*arrays, **attributes(op, **attrs)))
    made = as_list(row.launch(*map(device, arrays), **attributes(op, **attrs)))
    for ours, theirs in zip(made, wanted, strict=True):
        assert isinstance(ours, SimulatedArray)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours.get().astype(float), theirs.astype(float), rtol=tolerance, atol=2 * tolerance)
    return wanted


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", OPS)
def test_a_built_in_row_op_and_its_gradient_give_what_numpy_gives(name, dtype, rng):
    op, kinds = OPS[name]
    for shape in SHAPES if dtype == "float64" else SHAPES[2:3]:
        arrays = inputs(kinds, shape, dtype, rng)
        axis = {"axis": -1} if "axis" in attributes(op) else {}
        outputs = compare(op, arrays, TOLERANCE[dtype], **axis)
        parts = {"input": arrays, "output": outputs}
        parts["cotangent"] = [rng.normal(size=out.shape).astype(dtype) for out in outputs]
        given = [parts[source.kind][source.position] for source in op.opdef.grad.sources]
        compare(op.grad, given, TOLERANCE[dtype], **axis)


def test_every_built_in_row_op_is_among_them():
    built_in = [op.opdef for op in opsdk.REGISTRY if op.opdef.name.startswith("opsdk::")]
    forward = [opdef for opdef in built_in if opdef.gradient_of is None]
    found = {d.schema.name for d in forward for row in d.kernels if isinstance(row.source, RowFunction)}
    assert found == set(OPS)


def test_softmax_and_its_gradient_are_the_formulas(on_device, rng):
    values, cotangent = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    x = on_device(values, stop_gradient=False)
    y = normalization.softmax(x)
    y.backward(on_device(cotangent))
    exps = np.exp(values - values.max(1, keepdims=True))
    wanted = exps / exps.sum(1, keepdims=True)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-13)
    total = (wanted * cotangent).sum(1, keepdims=True)
    np.testing.assert_allclose(x.grad.numpy(), wanted * (cotangent - total), rtol=1e-11, atol=1e-15)


def test_gradients_of_weights_are_sums_over_all_rows(on_device, rng):
    x, w, b = rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=3)
    dy = rng.normal(size=(5, 3))
    tensors = [on_device(value, stop_gradient=False) for value in (x, w, b)]
    normalization.layer_norm(*tensors).backward(on_device(dy))
    hat = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(tensors[1].grad.numpy(), (dy * hat).sum(0), rtol=1e-11)
    np.testing.assert_allclose(tensors[2].grad.numpy(), dy.sum(0), rtol=1e-12)


def test_a_block_takes_several_rows_where_there_are_more_than_blocks(monkeypatch, rng):
    monkeypatch.setattr(cuda_rowwise, "_MOST_BLOCKS", 2)
    monkeypatch.setattr(cuda_rowwise, "_LINES", 2)
    compare(normalization.softmax, inputs("x", (5, 3), "float64", rng), 1e-12)
    x, w = inputs("xw", (5, 3), "float64", rng)
    compare(normalization.rms_norm.grad, [x, w, 2 * x], 1e-12)


def test_the_launch_follows_from_rows_and_their_length_alone():
    assert [geometry_for(10, n, False)[:2] for n in (1, 2, 5, 32, 128, 129, 1024, 10**6)] == [
        ((10,), (threads,)) for threads in (1, 2, 8, 32, 32, 64, 256, 256)
    ]  # fmt: skip
    assert geometry_for(10**6, 4, False).grid == (4096,)
    assert geometry_for(10**6, 4, True).grid == (256,)


def test_a_second_derivative_runs_on_the_device(on_device, rng):
    values = rng.normal(size=(2, 3))
    found = []
    for tensor in (on_device(values, stop_gradient=False), opsdk.to_tensor(values, stop_gradient=False)):
        (first,) = opsdk.grad((normalization.softmax(tensor) ** 2.0).sum(), tensor, create_graph=True)
        (second,) = opsdk.grad((first * first).sum(), tensor)
        found.append(second.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11)
    rows = normalization.softmax.grad.grad.opdef.kernels
    assert "numba (cuda, floating)" in map(str, rows)


def test_the_kernel_runs_and_not_the_reference(monkeypatch, rng):
    row = row_of(normalization.softmax)
    monkeypatch.setattr(type(row.function), "__call__", lambda *_, **__: pytest.fail("the reference ran"))
    made = row.launch(device(np.zeros((2, 4))), axis=-1)
    assert made.tolist() == [[0.25] * 4] * 2


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rows_may_lie_along_any_axis_of_any_layout(axis, rng):
    base = rng.normal(size=(2, 3, 4))
    for array in (base, base.transpose(2, 0, 1)[:, ::-1], np.broadcast_to(base[0, 0], (2, 1, 4))):
        view = SimulatedArray(array)  # not copied: the kernel sees the strides
        made = normalization.softmax(view, axis=axis)
        exps = np.exp(array)
        np.testing.assert_allclose(made.get(), exps / exps.sum(axis, keepdims=True), rtol=1e-13)
        assert made.flags.c_contiguous
        made = normalization.cosine_similarity(view, view, axis=axis)
        np.testing.assert_allclose(made.get(), np.ones(np.delete(array.shape, axis)), rtol=1e-13)


def test_one_number_per_row_comes_with_and_without_its_axis(rng):
    x = rng.normal(size=(2, 3))
    x_and_label = device(x), device([2, 0])
    with_axis = loss.cross_entropy_with_logits(x_and_label[0], device([[2], [0]]))
    without = loss.cross_entropy_with_logits(*x_and_label)
    assert with_axis.shape == without.shape == (2, 1)
    wanted = np.log(np.exp(x).sum(1)) - x[[0, 1], [2, 0]]
    np.testing.assert_allclose(with_axis.get()[:, 0], wanted, rtol=1e-13)
    assert without.tolist() == with_axis.tolist()
    total = rowwise(lambda x: vmath.row_sum(x), name="total", namespace="t")
    assert (total(device([1.0, 2.0])).shape, total(device([1.0, 2.0])).tolist()) == ((), 3.0)


def test_extrema_hand_on_nan_and_share_their_gradient_among_ties(on_device):
    top = rowwise(lambda x: vmath.row_max(x), name="top", namespace="t")
    low = rowwise(lambda x: vmath.row_min(x), name="low", namespace="t")
    x = np.array([[1.0, np.nan, 2.0], [np.nan, 5.0, 1.0], [-np.inf, 5.0, np.inf], [-1.0, -3.0, -3.0]])
    np.testing.assert_array_equal(top(device(x)).get(), [np.nan, np.nan, np.inf, -1.0])
    np.testing.assert_array_equal(low(device(x)).get(), [np.nan, np.nan, -np.inf, -3.0])
    tied = on_device([[2.0, 1.0, 2.0], [3.0, 3.0, 3.0]], stop_gradient=False)
    top(tied).sum().backward()
    np.testing.assert_allclose(tied.grad.numpy(), [[0.5, 0, 0.5], [1 / 3] * 3], rtol=1e-15)


def test_infinite_logits_neither_overflow_nor_hide():
    x = np.array([[np.inf, 0.0, 1.0], [-np.inf, 0.0, 0.0], [-np.inf] * 3, [1000.0, -1000.0, 999.0], [np.nan, 1, 2]])
    made = normalization.softmax(device(x)).get()
    np.testing.assert_allclose(made[1], [0, 0.5, 0.5], rtol=1e-13)
    np.testing.assert_allclose(made[3], [1 / (1 + np.exp(-1)), 0, 1 / (1 + np.exp(1))], rtol=1e-13)
    np.testing.assert_array_equal(made[[0, 2, 4]], [[np.nan, 0, 0], [np.nan] * 3, [np.nan] * 3])  # inf / inf is nan


def test_ignored_rows_have_no_loss_and_no_gradient(on_device, rng):
    x = on_device(rng.normal(size=(3, 4)), stop_gradient=False)
    made = loss.cross_entropy_with_logits(x, on_device([1, 7, 3]), ignore_index=7)
    made.sum().backward()
    assert made.numpy()[1, 0] == 0
    assert x.grad.numpy()[1].tolist() == [0.0] * 4
    assert (made.numpy()[[0, 2]] > 0).all()


def test_a_position_outside_is_refused_as_on_the_host():
    for label, got in (([0, 7], 7), ([-1, 0], -1)):
        with pytest.raises(AttributeValueError) as caught:
            loss.cross_entropy_with_logits(device(np.ones((2, 3))), device(label))
        assert str(caught.value).startswith(
            f"op 'opsdk::cross_entropy_with_logits', row_take: position expected in [0, 3), got {got}"
        )


def test_a_position_that_is_no_number_is_refused():
    @rowwise(namespace="t", per_row=("at",), nondifferentiable=("at",))
    def picked(x, at):
        return vmath.row_take(x, at)

    assert picked(device([[1.0, 2.0]]), device([[1.0]])).tolist() == [2.0]
    row = row_of(picked)
    row.function = FixedReference(row.function)
    with pytest.raises(AttributeValueError) as caught:
        row.launch(device([[1.0, 2.0]]), device([[np.nan]]))
    assert str(caught.value) == "op 't::picked': row_take expected a position in [0, 2)"


class FixedReference:
    """A row function whose reference finds nothing wrong."""

    def __init__(self, rows):
        self._rows = rows

    def __getattr__(self, name):
        return getattr(self._rows, name)

    def __call__(self, *arrays, **attrs):
        return arrays[0]


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0, 0), (2, 0, 3)])
def test_rows_of_nothing_and_no_rows_are_what_the_reference_gives(shape, rng, monkeypatch):
    monkeypatch.setattr(BoundKernel, "__call__", lambda *_: pytest.fail("a grid of no block was launched"))
    for name in ("softmax", "layer_norm", "cosine_similarity"):
        op, kinds = OPS[name]
        arrays = inputs(kinds, shape, "float32", rng)
        compare(op, arrays, 0, **({"axis": -1} if name != "layer_norm" else {}))
    x, w = inputs("xw", shape, "float32", rng)
    compare(normalization.rms_norm.grad, [x, w, x], 0)


def test_float16_is_summed_in_float32_and_rounded_once(monkeypatch):
    monkeypatch.setattr(cuda_rowwise, "_LINES", 1)
    total = rowwise(lambda x: vmath.row_sum(x), name="total", namespace="t")
    made = total(device(np.array([[60000.0, 60000.0, -60000.0, 0.5]], "float16")))
    assert (made.dtype, made.tolist()) == (np.float16, [60000.0])
    weighted = rowwise(lambda x, w: x * w, name="weighted", namespace="t", per_column=("w",))
    x = np.full((3, 1), 30000.0, "float16")
    sign = np.array([[1.0], [1.5], [-1.5]], "float16")
    row = row_of(weighted.grad)
    _, dw = row.launch(device(x), device(np.ones(1, "float16")), device(sign), needs_input_grad=(True, True))
    assert (dw.dtype, dw.tolist()) == (np.float16, [30000.0])


def test_whole_numbers_beside_floats_take_the_dtype_of_the_floats(rng):
    x, w = rng.integers(-5, 5, (2, 3)), rng.normal(size=3).astype("float32")
    made = normalization.rms_norm(device(x), device(w))
    assert made.dtype == np.float32
    np.testing.assert_allclose(made.get(), x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6) * w, rtol=1e-6)


def test_a_dtype_that_no_device_computes_with_is_refused():
    x = np.ones((1, 2), opsdk.core.dtype.as_dtype("bfloat16"))
    with pytest.raises(DTypeError, match="CUDA expression: expected float16, float32 or float64, got bfloat16"):
        normalization.softmax(device(x))
    with pytest.raises(DTypeError, match="CUDA expression: expected float16, float32 or float64, got bfloat16"):
        normalization.rms_norm(device(np.ones((1, 2), "float32")), device(x[0]))


def test_shapes_are_checked_on_every_launch():
    x = device(np.ones((2, 4)))
    with pytest.raises(ShapeError, match=r"rms_norm_grad': input 'weight' expected shape \(4,\), got \(3,\)"):
        row_of(normalization.rms_norm.grad).launch(
            x, device(np.ones(3)), x, epsilon=1e-6, needs_input_grad=(True, True)
        )


def test_a_gradient_that_nobody_wants_is_not_computed(rng):
    x, w = inputs("xw", (3, 4), "float64", rng)
    row = row_of(normalization.rms_norm.grad)
    found = row.launch(device(x), device(w), device(x), epsilon=1e-6, needs_input_grad=(False, True))
    assert found[0] is None
    assert found[1].shape == (4,)


def test_an_op_that_is_called_like_a_function_that_it_uses_is_not_that_function():
    exp = rowwise(lambda x: vmath.exp(x) - vmath.row_sum(x), name="exp", namespace="t")
    assert exp(device([[0.0, 0.0]])).tolist() == [[1.0, 1.0]]


def test_an_attribute_that_is_no_number_chooses_the_expression():
    @rowwise("t::reduced(Tensor x, *, str how='sum', float scale=1.0) -> Tensor y")
    def reduced(x, how, scale):
        return scale * (vmath.row_sum(x) if how == "sum" else vmath.row_mean(x))

    x = device([[1.0, 3.0]])
    assert [reduced(x).tolist(), reduced(x, how="mean", scale=0.5).tolist()] == [[4.0], [1.0]]


def test_host_arrays_that_a_proof_gives_come_back_as_host_arrays(rng):
    x = rng.normal(size=(2, 3))
    made = row_of(normalization.log_softmax).launch(x, axis=-1)
    assert type(made) is np.ndarray
    np.testing.assert_allclose(np.exp(made).sum(1), 1, rtol=1e-14)


def test_rows_whose_positions_float32_would_round_are_refused_on_a_device_too():
    shifted = rowwise(lambda x: x * vmath.row_index(), name="shifted", namespace="t")
    with pytest.raises(ShapeError, match="at most 16777216 elements, whose positions float32 holds, got 16777217"):
        row_of(shifted).launch(device(np.zeros((1, 2**24 + 1), np.float32)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_position_beside_a_label_is_compared_in_whole_numbers_on_a_device(dtype):
    def kept(x, label):
        low = vmath.where(vmath.row_index() >= label, x, 0.0)
        return low * vmath.where(vmath.row_index() < 4.0, 1.0, 0.0)

    op = rowwise(kept, name="kept", namespace="t", per_row=("label",), integer=("label",))
    made = row_of(op).launch(device(np.ones((2, 6), dtype)), device([[1], [3]]))
    assert np.asarray(made.get()).tolist() == [[0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 0, 0]]


def test_a_whole_attribute_that_float32_rounds_is_refused_on_a_device_too():
    added = rowwise("t::added(Tensor x, *, int n=0) -> Tensor y")(lambda x, n: x + n)
    plain = opsdk.elementwise("t::plain(Tensor x, *, int n=0) -> Tensor y")(lambda x, n: x + n)
    row = plain.opdef.kernels.select("cuda", np.dtype("float64"))
    launches = row_of(added).launch, CudaElementwise(plain.opdef, row.source, row.origin).launch
    for launch in launches:
        with pytest.raises(AttributeValueError, match="attribute 'n': expected a whole number that float32 holds"):
            launch(device(np.zeros((1, 2), np.float32)), n=2**24 + 1)


def test_integer_inputs_and_lists_that_would_be_rounded_are_refused_on_a_device_too():
    added = rowwise("t::label_added(Tensor x, Tensor<int> n) -> Tensor y", per_row=("n",))(lambda x, n: x + n)
    with pytest.raises(InputValueError, match="input 'n' expected whole numbers that float32 holds"):
        row_of(added).launch(device(np.zeros((1, 2), np.float32)), device(np.array([[2**24 + 1]])))
    listed = rowwise("t::listed(Tensor x, *, int[] k=[0]) -> Tensor y")(lambda x, k: x + k[0])
    with pytest.raises(AttributeValueError, match="constants expected to be whole numbers that float32 holds"):
        row_of(listed).launch(device(np.zeros((1, 2), np.float32)), k=[2**24 + 1])
    plain = opsdk.elementwise("t::sum_of(Tensor x, Tensor<int> n) -> Tensor y")(lambda x, n: x + n)
    row = plain.opdef.kernels.select("cuda", np.dtype("float64"))
    launch = CudaElementwise(plain.opdef, row.source, row.origin).launch
    with pytest.raises(InputValueError, match="input 'n' expected whole numbers that float64 holds"):
        launch(device(np.zeros(2)), device(np.array([1, 2**53 + 1])))


def test_positions_are_below_unsigned_numbers_of_every_size_on_a_device():
    op = rowwise("t::below(Tensor x, Tensor<int> n) -> Tensor y", per_row=("n",))(
        lambda x, n: vmath.where(vmath.row_index() < n, x, 0.0)
    )
    made = row_of(op).launch(device(np.ones((3, 2))), device(np.array([[2**64 - 1], [2**63], [1]], np.uint64)))
    assert np.asarray(made.get()).tolist() == [[1, 1], [1, 1], [1, 0]]


def test_a_gradient_of_which_nothing_is_wanted_gives_nothing_on_a_device():
    forward = rowwise(lambda x, w: x * w - vmath.row_sum(x * x), name="two", namespace="t")
    op = forward.grad
    given = [device(np.ones((2, 3))) for _ in op.opdef.schema.input_names]
    assert row_of(op).launch(*given, needs_input_grad=(False, False)) == (None, None)

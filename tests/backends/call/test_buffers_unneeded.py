"""Gradients that nobody wants are None, whatever a compiled kernel left in their buffers."""

import numpy as np
import pytest

import opsdk
from opsdk import static, vmath
from opsdk.backends.call.buffers import unneeded, without_unneeded
from opsdk.backends.call.language import language_of
from opsdk.core.errors import AttributeValueError

pytest.importorskip("numba")
X, W, DY = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 5.0]), np.array([1.0, 1.0, -1.0])


@pytest.fixture
def weighted():
    @opsdk.op("t::weighted(Tensor x, Tensor? w=None) -> Tensor y", infer=opsdk.infer.like("x"))
    def weighted(x, w):
        return x * x if w is None else x * x * w

    @weighted.backward
    def weighted_grad(x, w, dy, needs_input_grad):
        return 2 * x * dy * (1 if w is None else w), None if w is None else x * x * dy

    @weighted.samples
    def weighted_samples(rng):
        yield opsdk.Sample(rng.normal(size=3))
        yield opsdk.Sample(rng.normal(size=3), rng.normal(size=3))

    return weighted


def fill(x, w, dy, dx, dw):
    for i in range(x.size):
        if w is None:
            dx[i] = 2 * x[i] * dy[i]
        else:
            dx[i] = 2 * x[i] * w[i] * dy[i]
            dw[i] = x[i] * x[i] * dy[i]


C = """
int32_t weighted_grad_f64(const DLTensor *x, const DLTensor *w, const DLTensor *dy, DLTensor *dx, DLTensor *dw,
                          const int32_t *needs_input_grad, int64_t needs_input_grad_size) {
  (void)needs_input_grad, (void)needs_input_grad_size;
  const double *in = OPSDK_DATA(const double, x), *arriving = OPSDK_DATA(const double, dy);
  for (int64_t i = 0; i < opsdk_size(x); ++i) {
    OPSDK_DATA(double, dx)[i] = 2 * in[i] * arriving[i] * (w ? OPSDK_DATA(const double, w)[i] : 1);
    if (w) OPSDK_DATA(double, dw)[i] = in[i] * in[i] * arriving[i];
  }
  return 0;
}
"""


@pytest.fixture(params=["numba", "c"])
def gradient(weighted, request):
    row = {"function": fill} if request.param == "numba" else {"source": C}
    weighted.grad.kernel("cpu", language=request.param, dtype="float64", **row)
    return weighted.grad


def test_the_gradient_of_an_absent_input_is_none_in_a_direct_call(gradient):
    for _ in range(2):  # a call of a new kind, and one of a known kind
        dx, dw = gradient(X, None, DY)
        assert dx.tolist() == [2, 4, -6]
        assert dw is None
    dx, dw = gradient(opsdk.to_tensor(X), None, opsdk.to_tensor(DY))
    assert dx.numpy().tolist() == [2, 4, -6]
    assert dw is None


def test_a_gradient_that_the_mask_leaves_out_is_none(gradient):
    dx, dw = gradient(X, W, DY, needs_input_grad=(True, False))
    assert (dx.tolist(), dw) == ([4, 8, -30], None)
    dx, dw = gradient(X, W, DY, needs_input_grad=(False, True))
    assert (dx, dw.tolist()) == (None, [1, 4, -9])


def test_what_is_wanted_is_there(gradient):
    dx, dw = gradient(X, W, DY)
    assert (dx.tolist(), dw.tolist()) == ([4, 8, -30], [1, 4, -9])


def test_backward_goes_the_same_way(weighted, gradient):
    x, w = opsdk.to_tensor(X, stop_gradient=False), opsdk.to_tensor(W, stop_gradient=False)
    weighted(x).backward(opsdk.to_tensor(DY))
    assert x.grad.numpy().tolist() == [2, 4, -6]
    x.clear_grad()
    weighted(x, w).backward(opsdk.to_tensor(DY))
    assert (x.grad.numpy().tolist(), w.grad.numpy().tolist()) == ([4, 8, -30], [1, 4, -9])


def test_a_program_goes_the_same_way(weighted, gradient):
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [3], "float64")
        x.stop_gradient = False
        (dx,) = static.gradients([weighted(x)], [x])
    (made,) = static.Executor().run(program, feed={"x": X}, fetch_list=[dx])
    assert made.tolist() == [2, 4, 6]


def test_verify_blames_no_row_for_what_nobody_wants(weighted, gradient):
    assert opsdk.verify(weighted).verdict == "pass"


def test_a_row_that_leaves_a_wanted_gradient_out_is_still_found(weighted):
    @weighted.grad.kernel("cpu", language="numba", dtype="float64")
    def lazy(x, w, dy, dx, dw):
        for i in range(x.size):
            dx[i] = 2 * x[i] * dy[i]
            if w is not None:
                dx[i] *= w[i]

    found = [str(finding) for finding in opsdk.verify(weighted).findings]
    assert any("output 'dw': wrong in 3 of 3 elements" in text for text in found), found


def test_ops_that_are_no_gradients_are_left_alone(weighted):
    assert unneeded(weighted.opdef, [X, None], {}) == frozenset()
    assert without_unneeded(weighted.opdef, fill, [X, None]) is fill


def test_gradients_that_are_always_wanted_cost_nothing():
    @opsdk.op("t::twice(Tensor x) -> Tensor y")
    def twice(x):
        return 2 * x

    twice_grad = twice.backward(lambda dy: 2 * dy)
    assert without_unneeded(twice_grad.opdef, fill, [DY]) is fill


def test_the_only_gradient_is_none_where_the_mask_leaves_it_out():
    @opsdk.op("t::twice(Tensor x) -> Tensor y")
    def twice(x):
        return 2 * x

    twice_grad = twice.backward(lambda dy, needs_input_grad: 2 * dy)
    launch = without_unneeded(twice_grad.opdef, lambda dy, needs_input_grad: 2 * dy, [DY])
    assert launch(DY, needs_input_grad=(False,)) is None
    assert launch(DY, needs_input_grad=(True,)).tolist() == [2, 2, -2]


def test_whole_numbers_carry_no_gradient(gradient):
    numbers = np.array([1, 2, 3])
    if "c" not in [row.language for row in gradient.opdef.kernels]:  # which takes one dtype
        dx, dw = gradient(X, numbers, DY)
        assert dx.tolist() == [2, 8, -18]
        assert dw is None
        dx, dw = gradient(X, W, DY)
        assert dw.tolist() == [1, 4, -9]


def test_several_results_in_a_list_are_told_apart_too(weighted):
    launch = without_unneeded(weighted.grad.opdef, lambda x, w, dy, needs_input_grad: [2 * dy, dy], [X, None, DY])
    dx, dw = launch(X, None, DY, needs_input_grad=(True, False))
    assert dx.tolist() == [2, 2, -2]
    assert dw is None


def two_gradients(kind):
    if kind == "elementwise":
        op = opsdk.elementwise("t::two(Tensor x, Tensor w) -> Tensor y")(lambda x, w: vmath.sin(x) * w)
    else:
        op = opsdk.rowwise("t::two(Tensor x, Tensor w) -> Tensor y")(lambda x, w: x * w - vmath.row_sum(x * x))
    return op.grad


@pytest.mark.parametrize("mask", [(False, False), [False, False]], ids=["tuple", "list"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["elementwise", "rowwise"])
def test_a_derived_gradient_of_which_nothing_is_wanted_gives_nothing(kind, dtype, mask):
    gradient = two_gradients(kind)
    given = [np.ones((2, 3), dtype) for _ in gradient.opdef.schema.input_names]
    for kernel in gradient.opdef.kernels:
        if kernel.key.place == "cpu":
            launch = language_of(kernel).compile(gradient.opdef, kernel)
            assert launch(*given, needs_input_grad=mask) == (None, None)
    assert gradient(*given, needs_input_grad=mask) == (None, None)
    assert gradient(*map(opsdk.to_tensor, given), needs_input_grad=mask) == (None, None)


def test_a_mask_may_be_a_list():
    gradient = two_gradients("elementwise")
    given = {"x": np.full(2, 0.5), "w": np.full(2, 3.0), "dy": np.ones(2)}
    dx, dw = gradient(*[given[name] for name in gradient.opdef.schema.input_names], needs_input_grad=[False, True])
    assert dx is None
    np.testing.assert_allclose(dw, np.sin(0.5), rtol=1e-15)


@pytest.mark.parametrize("kind", ["elementwise", "rowwise"])
def test_a_native_entry_of_nothing_is_refused(kind):
    gradient = two_gradients(kind)
    specs = [opsdk.TensorSpec((2, 3), "float32") for _ in gradient.opdef.schema.input_names]
    with pytest.raises(AttributeValueError, match="native entry expected a result that is wanted, got none"):
        opsdk.native(gradient, *specs, needs_input_grad=(False, False))

from __future__ import annotations

import re

import numpy as np
import pytest

import gradcheck

paddle = pytest.importorskip("paddle", reason="Paddle is not installed")
from gradcheck.subjects import paddle as subjects  # noqa: E402

PyLayer = paddle.autograd.PyLayer
X = np.array([[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]])
QUICK = {"vary": False, "budget": 1000, "second_order": False}


def tensor(values=X, dtype="float64"):
    return paddle.to_tensor(values, dtype=dtype, stop_gradient=False)


def cube(backward, forward=lambda ctx, x: x**3):
    """Makes a PyLayer of one tensor that saves its input."""

    def run(ctx, x):
        ctx.save_for_backward(x)
        return forward(ctx, x)

    return type(PyLayer)("Cube", (PyLayer,), {"forward": staticmethod(run), "backward": staticmethod(backward)})


def right(ctx, g):
    (x,) = ctx.saved_tensor()
    return 3 * x**2 * g


def double_in_place(ctx, x):
    paddle.assign(x * 2, output=x.detach())
    return x**3


class Scale(PyLayer):
    """x * w with a row w, between arguments of other kinds."""

    @staticmethod
    def forward(ctx, flag, x, power, w, fixed):
        ctx.save_for_backward(x, w, fixed)
        ctx.power = power
        return x**power * w * fixed

    @staticmethod
    def backward(ctx, g):
        x, w, fixed = ctx.saved_tensor()
        g = g * fixed
        return g * w * ctx.power * x ** (ctx.power - 1), (g * x**ctx.power).sum(0), None


class Both(PyLayer):
    """Two outputs."""

    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 5

    @staticmethod
    def backward(ctx, g, h):
        return 2 * g + 5 * h


class Stale(PyLayer):
    """Keeps its input where the next call overwrites it."""

    kept = None

    @staticmethod
    def forward(ctx, x):
        Stale.kept = x.clone()
        return x**3

    @staticmethod
    def backward(ctx, g):
        return 3 * Stale.kept**2 * g


def passes(fn, inputs, **options):
    report = subjects.check(fn, inputs, **{**QUICK, **options})
    assert report.verdict == "pass", gradcheck.render_text(report)
    return report


@pytest.mark.parametrize(
    "fn",
    [cube(right), Both, paddle.sin, lambda x: x.T, lambda x: (x * 2, x.argmax()), paddle.nn.Tanh()],
    ids=["layer", "two", "sin", "transpose", "outputs", "module"],
)
def test_a_right_function_passes(fn):
    passes(fn, (tensor(),))


def test_constants_and_other_arguments_pass_through():
    inputs = ("flag", tensor(np.abs(X)), 2, tensor(X[0]), paddle.full([3], 2.0, dtype="float64"))
    assert subjects.subject(Scale, inputs).options["names"] == ["x", "w"]
    passes(Scale, inputs)


@pytest.mark.parametrize(
    ("fn", "check", "text"),
    [
        (cube(lambda ctx, g: 2 * ctx.saved_tensor()[0] ** 2 * g), "vjp value", "gradient of 'x': wrong in 6 of 6"),
        (cube(lambda ctx, g: right(ctx, g).sum(0)), "gradient shape", "expected shape (2, 3) like x, got (3,)"),
        (cube(lambda ctx, g: right(ctx, g).astype("float32")), "gradient dtype", "expected dtype float64 like x"),
        (cube(lambda ctx, g: None), "gradient missing", "gradient of 'x': wrong in 6 of 6 elements"),
        (cube(right, double_in_place), "mutation", "forward: expected to leave input 'x' as it was"),
        (Stale, "interleaving", "vjp: expected gradients for its own arguments"),
        (lambda x: x.detach() * 2, "gradient missing", "gradient of"),
    ],
)
def test_a_wrong_function_is_found(fn, check, text):
    found = {finding.check: finding.message for finding in subjects.check(fn, (tensor(),), **QUICK).findings}
    assert text in found[check]


def test_the_second_order_is_that_of_the_recorded_gradient():
    case = subjects.subject(cube(right), (tensor(),))
    weights = np.array([[1.0, 2.0, -1.0], [0.5, 3.0, 1.0]])
    to_x, to_g = case.options["vjp2"]((X,), (np.full_like(X, 2.0),), (X,), (weights,))
    np.testing.assert_allclose(to_x[0], 6 * X * 2 * weights, rtol=1e-14)
    np.testing.assert_allclose(to_g[0], 3 * X**2 * weights, rtol=1e-14)
    passes(cube(right), (tensor(),), second_order=True)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_another_dtype_passes(dtype):
    fn = paddle.exp if dtype == "complex128" else cube(right)
    passes(fn, (tensor(dtype=dtype),))


@pytest.mark.parametrize(
    ("fn", "inputs", "text"),
    [
        (3, (tensor(),), "fn: expected a subclass of paddle.autograd.PyLayer or a callable of tensors, got int"),
        (paddle.sin, (paddle.ones([3]),), "inputs: expected a tensor or an array, got Tensor"),
        (paddle.sin, (paddle.arange(3),), "expected a floating tensor whose stop_gradient is False, got int64; pass"),
        (
            paddle.sin,
            (tensor(dtype="bfloat16"),),
            "expected dtypes that NumPy knows, got paddle.bfloat16; pass float32",
        ),
        (lambda x: {"y": x}, (tensor(),), "fn: expected a tensor, or a tuple of them, as its result, got dict"),
    ],
)
def test_what_cannot_be_judged_is_refused(fn, inputs, text):
    with pytest.raises(gradcheck.UsageError, match=re.escape(text)):
        subjects.check(fn, inputs)

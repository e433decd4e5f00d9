from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import gradcheck
from tests.contracts.tree import REPOSITORY

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from gradcheck.subjects import torch as subjects  # noqa: E402

Function = torch.autograd.Function
X = np.array([[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]])
QUICK = {"vary": False, "budget": 1000, "second_order": False}


def tensor(values=X, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def cube(backward, forward=lambda ctx, x: x**3):
    """Makes a Function of one tensor that saves its input."""

    def run(ctx, x):
        ctx.save_for_backward(x)
        return forward(ctx, x)

    return type("Cube", (Function,), {"forward": staticmethod(run), "backward": staticmethod(backward)})


def right(ctx, g):
    (x,) = ctx.saved_tensors
    return 3 * x**2 * g


def numpy_backward(ctx, g):
    return torch.from_numpy(3 * ctx.saved_tensors[0].detach().numpy() ** 2 * g.detach().numpy())


class Scale(Function):
    """x * w with a row w, and a number."""

    @staticmethod
    def forward(ctx, x, w, power, flag):
        ctx.save_for_backward(x, w)
        ctx.power = power
        return x**power * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w * ctx.power * x ** (ctx.power - 1), (g * x**ctx.power).sum(0), None, None


class Unsummed(Scale):
    @staticmethod
    def backward(ctx, g):
        dx, _, _, _ = Scale.backward(ctx, g)
        return dx, g * ctx.saved_tensors[0] ** ctx.power, None, None


class Stale(Function):
    """Keeps its input where the next call overwrites it."""

    kept = None

    @staticmethod
    def forward(ctx, x):
        Stale.kept = x.clone()
        return x**3

    @staticmethod
    def backward(ctx, g):
        return 3 * Stale.kept**2 * g


class Forward(Function):
    """x³ with a jvp of its own."""

    factor = 3

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    backward = staticmethod(right)

    @staticmethod
    def jvp(ctx, t):
        return 3 * ctx.saved_tensors[0] ** 2 * t


class WrongForward(Forward):
    @staticmethod
    def jvp(ctx, t):
        return 2 * ctx.saved_tensors[0] ** 2 * t


class Both(Function):
    """Two outputs; a backward that is told of an unused one by None."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 5

    @staticmethod
    def backward(ctx, g, h):
        g = None if g is None else 2 * g
        h = None if h is None else 5 * h
        return h if g is None else g if h is None else g + h


def checks(report):
    return {finding.check for finding in report.findings}


def passes(fn, inputs, **options):
    report = subjects.check(fn, inputs, **{**QUICK, **options})
    assert report.verdict == "pass", gradcheck.render_text(report)
    return report


@pytest.mark.parametrize(
    "fn",
    [
        cube(right),
        cube(torch.autograd.function.once_differentiable(numpy_backward)),
        cube(lambda ctx, g: g, lambda ctx, x: x.view_as(x)),
        cube(lambda ctx, g: g, lambda ctx, x: x),
        Forward,
        Both,
        torch.sin,
        lambda x: x,
        lambda x: x.T,
        lambda x: (x * 2, x.sum(), x.argmax()),
        torch.nn.Softplus(),
    ],
    ids=["function", "numpy", "view", "identity", "jvp", "two", "sin", "same", "transpose", "outputs", "module"],
)
def test_a_right_function_passes(fn):
    passes(fn, (tensor(),))


def test_constants_and_other_arguments_pass_through():
    report = passes(Scale, (tensor(np.abs(X)), tensor(X[0]), 2, "flag"))
    assert subjects.subject(Scale, (tensor(), tensor(X[0]), 2, "flag")).options["names"] == ["x", "w"]
    assert report.coverage.tested > 0
    fixed = torch.full((3,), 2.0, dtype=torch.float64)
    passes(lambda x, index, scale, w: x[index] * scale * w, (tensor(), torch.tensor([1, 0, 1]), 0.5, fixed))


@pytest.mark.parametrize(
    ("fn", "check", "text"),
    [
        (cube(lambda ctx, g: 2 * ctx.saved_tensors[0] ** 2 * g), "vjp value", "gradient of 'x': wrong in 6 of 6"),
        (cube(lambda ctx, g: -right(ctx, g)), "vjp value", "gradient of 'x': wrong in 6 of 6"),
        (cube(lambda ctx, g: None), "gradient missing", "gradient of 'x'"),
        (cube(lambda ctx, g: right(ctx, g).to(torch.float32)), "gradient dtype", "expected dtype float64 like x"),
        (cube(lambda ctx, g: right(ctx, g).sum()), "vjp raises", "got [] but expected shape compatible with [2, 3]"),
        (cube(lambda ctx, g: (g, g)), "vjp raises", "returned an incorrect number of gradients (expected 1, got 2)"),
        (cube(right, lambda ctx, x: x.data.mul_(2) ** 3), "mutation", "forward: expected to leave input 'x' as it was"),
        (cube(lambda ctx, g: g.mul_(3 * ctx.saved_tensors[0] ** 2)), "mutation", "vjp: expected to leave cotangent 0"),
        (cube(lambda ctx, g: g, lambda ctx, x: x.data), "sharing", "output 0: expected memory of its own"),
        (cube(lambda ctx, g: g, lambda ctx, x: x.detach()), "sharing", "memory shared with input 'x'"),
        (Stale, "interleaving", "vjp: expected gradients for its own arguments"),
        (lambda x: x.detach() * 2, "gradient missing", "gradient of"),
        (cube(lambda ctx, g: right(ctx, g) * torch.rand(1)), "repeats", "vjp: expected equal results"),
        (WrongForward, "jvp value", "jvp of 'x': wrong in 6 of 6 output elements"),
    ],
)
def test_a_wrong_function_is_found(fn, check, text):
    found = {finding.check: finding.message for finding in subjects.check(fn, (tensor(),), **QUICK).findings}
    assert text in found[check]


def test_a_gradient_that_torch_would_sum_is_found_and_can_be_let_be():
    inputs = (tensor(np.abs(X)), tensor(X[0]), 2, "flag")
    report = subjects.check(Unsummed, inputs, **QUICK)
    assert checks(report) == {"gradient shape"}
    assert "gradient of 'w': expected shape (3,) like w, got (2, 3); sum it over axis 0" in report.findings[0].message
    passes(Unsummed, inputs, raw=False)


def test_a_backward_that_changes_the_result_is_found():
    def backward(ctx, g):
        ctx.y.data.add_(1)
        return 3 * ctx.saved_tensors[0] ** 2 * g

    def forward(ctx, x):
        ctx.y = x**3
        return ctx.y

    report = subjects.check(cube(backward, forward), (tensor(),), **QUICK)
    assert "vjp: expected to leave output 0 as it was" in report.findings[0].message


def test_a_cotangent_of_stride_zero_reaches_the_backward_as_such():
    strides = set()

    def backward(ctx, g):
        strides.add(g.stride())
        return right(ctx, g)

    passes(cube(backward), (tensor(),))
    assert {(3, 1), (1, 2), (0, 0)} <= strides


def test_a_backward_that_reads_memory_in_order_is_found():
    def backward(ctx, g):
        flat = torch.as_strided(g, (g.numel(),), (1,)) if g.is_contiguous() else g.T.reshape(-1)
        return 3 * ctx.saved_tensors[0] ** 2 * flat.reshape(g.shape)

    assert checks(subjects.check(cube(backward), (tensor(),), **QUICK)) == {"layouts"}


def test_the_second_order_is_that_of_the_recorded_gradient():
    case = subjects.subject(cube(right), (tensor(),))
    weights = np.array([[1.0, 2.0, -1.0], [0.5, 3.0, 1.0]])
    to_x, to_g = case.options["vjp2"]((X,), (np.full_like(X, 2.0),), (X,), (weights,))
    np.testing.assert_allclose(to_x[0], 6 * X * 2 * weights, rtol=1e-14)
    np.testing.assert_allclose(to_g[0], 3 * X**2 * weights, rtol=1e-14)


def test_a_second_order_that_torch_refuses_is_noted():
    fn = cube(torch.autograd.function.once_differentiable(numpy_backward))
    (note,) = passes(fn, (tensor(),), second_order=True).coverage.notes
    assert note.startswith(
        "the gradient of the gradient was not judged: RuntimeError: a backward marked with once_differentiable"
    )
    assert passes(fn, (tensor(),)).coverage.notes == ()


def test_a_right_second_order_passes():
    report = passes(cube(right), (tensor(),), second_order=True)
    assert "vjp2 value" in report.coverage.checks


def test_a_backward_outside_of_the_tape_is_found_by_the_second_order():
    report = subjects.check(cube(numpy_backward), (tensor(),), **{**QUICK, "second_order": True})
    assert checks(report) == {"vjp2 gradient missing"}


def op(name, derivative):
    made = torch.library.custom_op(f"gradcheck_tests::{name}", lambda x: torch.sin(x), mutates_args=(), schema=SCHEMA)

    def keep(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    made.register_autograd(lambda ctx, g: g * derivative(ctx.saved_tensors[0]), setup_context=keep)
    return made


SCHEMA = "(Tensor angle) -> Tensor"


def test_a_custom_op_is_judged():
    report = passes(op("right_sine", torch.cos), (tensor(),))
    assert report.coverage.notes == (
        "jvp: a custom op can have none, and torch's forward mode gives zeros for it without an error",
    )
    report = subjects.check(op("wrong_sine", torch.sin), (tensor(),), **QUICK)
    assert "vjp value" in checks(report)


def test_forward_mode_gives_zeros_for_a_custom_op_as_the_note_says():
    tape = subjects._TorchTape(op("silent_sine", torch.cos), subjects.Arguments((None,), (0,), (X,)), None, ["cpu"])
    np.testing.assert_array_equal(tape.jvp((X,), (np.ones_like(X),))[0], 0)


def test_an_op_by_name_has_the_names_of_its_schema():
    case = subjects.subject(torch.ops.aten.mul.Tensor, (tensor(), tensor()))
    assert case.options["names"] == ["self", "other"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_short_dtype_passes_and_stays(dtype):
    pytest.importorskip("ml_dtypes", reason="NumPy knows bfloat16 through ml_dtypes")
    seen = set()

    def forward(ctx, x):
        seen.add(x.dtype)
        return x**3

    passes(cube(right, forward), (tensor(dtype=dtype),))
    assert dtype in seen


def test_complex_gradients_are_those_of_torch():
    passes(torch.exp, (tensor(X[0] + 1j * X[1], torch.complex128),))
    passes(lambda x: (x * (2 + 1j)).imag, (tensor(),))
    wrong = cube(lambda ctx, g: g * ctx.saved_tensors[0].exp(), lambda ctx, x: x.exp())
    assert checks(subjects.check(wrong, (tensor(X[0] + 1j * X[1], torch.complex128),), **QUICK)) == {"vjp value"}


def test_the_callers_tensors_stay_as_they_are():
    x, w = tensor(), torch.ones(3, dtype=torch.float64)

    def destroy(x, w):
        w.data.zero_()
        return x.data.mul_(2) + w

    assert subjects.check(destroy, (x, w), **QUICK).verdict == "fail"
    np.testing.assert_array_equal(x.detach().numpy(), X)
    np.testing.assert_array_equal(w.numpy(), 1)


@pytest.mark.parametrize(
    ("fn", "inputs", "text"),
    [
        (
            3,
            (tensor(),),
            "fn: expected a subclass of torch.autograd.Function, a custom op or a callable of tensors, got",
        ),
        (torch.nn.ReLU, (tensor(),), "got the class ReLU; pass the function itself"),
        (torch.sin, tensor(), "inputs: expected a tuple of arguments, got Tensor; write (x,)"),
        (torch.sin, (1.0, "a"), "inputs: expected a tensor or an array, got float, str; pass the values to check at"),
        (
            torch.add,
            (torch.ones(3), torch.ones(3)),
            "inputs: expected a tensor that requires its gradient, got 2 floating of which none does; "
            "call .requires_grad_() on each that is to be judged",
        ),
        (torch.mul, (torch.ones(3), torch.arange(3)), "got 1 floating of which none does; call .requires_grad_() on"),
        (torch.sin, (torch.arange(3),), "expected a floating tensor that requires its gradient, got int64; pass one"),
        (lambda x: {"y": x}, (tensor(),), "fn: expected a tensor, or a tuple of them, as its result, got dict"),
    ],
)
def test_what_cannot_be_judged_is_refused(fn, inputs, text):
    with pytest.raises(gradcheck.UsageError, match=re.escape(text)):
        subjects.check(fn, inputs)


def run(code):
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "text", "remedy"),
    [
        ("torch", "gradcheck.subjects.torch: expected PyTorch, got", "pip install torch"),
        ("jax", "gradcheck.subjects.jax: expected JAX, got", "pip install jax"),
        ("paddle", "gradcheck.subjects.paddle: expected Paddle, got", "pip install paddlepaddle"),
    ],
)
def test_without_a_framework_the_remedy_is_named(name, text, remedy):
    said = run(f"import sys; sys.modules[{name!r}] = None; import gradcheck.subjects.{name}").splitlines()[-1]
    assert said.startswith(f"ImportError: {text}")
    assert said.endswith(f"; install it with {remedy}")


def test_bfloat16_without_ml_dtypes_names_the_remedy(monkeypatch):
    monkeypatch.setattr(subjects, "_BFLOAT16", "a dtype that is not registered")
    text = "expected dtypes that NumPy knows, got torch.bfloat16; import ml_dtypes first (pip install ml_dtypes)"
    with pytest.raises(gradcheck.UsageError, match=re.escape(text)):
        subjects.subject(torch.sin, (tensor(dtype=torch.bfloat16),))


def test_importing_gradcheck_and_its_subjects_loads_no_framework():
    code = "import sys, gradcheck, gradcheck.subjects; print({'torch', 'jax', 'paddle'} & set(sys.modules))"
    assert run(code) == "set()\n"

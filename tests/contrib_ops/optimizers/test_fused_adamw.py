"""fused_adamw: steps beside torch and beside opsdk's own AdamW, on tensors and in Programs, all parameters or none."""

import numpy as np
import pytest

import opsdk
from contrib_ops import fused_adamw
from opsdk import static

SHAPES = [(2, 3), (4,), (), (0, 2)]


def arrays(rng, shapes, dtype="float64"):
    return [np.asarray(rng.normal(size=shape)).astype(dtype) for shape in shapes]


def zeros(shapes, dtype="float64"):
    return [np.zeros(shape, dtype) for shape in shapes]


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 3e-5), ("float64", 1e-10)])
def test_steps_are_those_of_torch(dtype, rtol, rng):
    torch = pytest.importorskip("torch")
    params = arrays(rng, SHAPES, dtype)
    means, squares, step = zeros(SHAPES, dtype), zeros(SHAPES, dtype), np.array(0)
    theirs = [torch.nn.Parameter(torch.tensor(param.copy())) for param in params]
    optimizer = torch.optim.AdamW(theirs, lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)
    rate = np.array(0.05, dtype)
    for _ in range(5):
        grads = arrays(rng, SHAPES, dtype)
        for parameter, grad in zip(theirs, grads, strict=True):
            parameter.grad = torch.tensor(grad)
        optimizer.step()
        fused_adamw(params, grads, means, squares, step, rate, beta1=0.8, beta2=0.95, eps=1e-6, weight_decay=0.1)
    assert step == 5
    for param, other in zip(params, theirs, strict=True):
        np.testing.assert_allclose(param, other.detach().numpy(), rtol=rtol, atol=rtol)


def test_steps_are_those_of_adamw(rng):
    starts = arrays(rng, SHAPES[:2])
    params = [start.copy() for start in starts]
    means, squares, step = zeros(SHAPES[:2]), zeros(SHAPES[:2]), np.array(0)
    others = [opsdk.nn.Parameter(start) for start in starts]
    other = opsdk.optimizer.AdamW(0.05, parameters=others, weight_decay=0.1)
    for _ in range(4):
        grads = arrays(rng, SHAPES[:2])
        for parameter, grad in zip(others, grads, strict=True):
            parameter.grad = opsdk.to_tensor(grad)
        other.step()
        fused_adamw(params, grads, means, squares, step, np.array([0.05]), weight_decay=0.1)
    for param, parameter in zip(params, others, strict=True):
        np.testing.assert_allclose(param, parameter.numpy(), rtol=1e-9)


def test_the_first_step_by_hand():
    params, means, squares = [np.array([1.0, -2.0])], [np.zeros(2)], [np.zeros(2)]
    fused_adamw(
        params, [np.array([3.0, -0.5])], means, squares, np.array(0), np.array(0.1), eps=1e-30, weight_decay=0.5
    )
    np.testing.assert_allclose(params[0], [0.95 - 0.1, -1.9 + 0.1])  # a step of lr against the sign of the gradient
    np.testing.assert_allclose(means[0], [0.3, -0.05])
    np.testing.assert_allclose(squares[0], [0.009, 0.00025])


def on_tape(w, x, steps):
    weights = [opsdk.to_tensor(w, stop_gradient=False), opsdk.to_tensor(np.zeros(3), stop_gradient=False)]
    state = [[opsdk.to_tensor(np.zeros(3)) for _ in weights] for _ in range(2)]
    count, rate = opsdk.to_tensor(np.array(0)), opsdk.to_tensor(np.array([0.1]))
    for _ in range(steps):
        loss = ((weights[0] * opsdk.to_tensor(x) + weights[1] - 1.0) ** 2.0).sum()
        grads = opsdk.grad(loss, weights)
        with opsdk.no_grad():
            fused_adamw(weights, grads, *state, count, rate)
    return [tensor.numpy() for tensor in (*weights, *state[0], *state[1], count)]


def in_program(w, x, steps):
    main, startup = static.Program(), static.Program()
    first = [opsdk.nn.initializer.Assign(w), opsdk.nn.initializer.Constant(0.0)]
    with static.program_guard(main, startup):
        data = static.data("x", [3], "float64")
        weights = [static.create_parameter([3], "float64", default_initializer=one) for one in first]
        state = [[static.create_global_var([3], 0.0, "float64", persistable=True) for _ in weights] for _ in range(2)]
        count = static.create_global_var([], 0, "int64", persistable=True)
        rate = static.create_global_var([1], 0.1, "float64", persistable=True)
        loss = ((weights[0] * data + weights[1] - 1.0) ** 2.0).sum()
        pairs = static.append_backward(loss)
        fused_adamw(weights, [grad for _, grad in pairs], *state, count, rate)
        assert main.global_block().ops[-1].role == "optimize"
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    for _ in range(steps):
        exe.run(main, feed={"x": x}, scope=scope)
    test = main.clone(for_test=True)
    exe.run(test, feed={"x": x}, scope=scope)
    held = [*weights, *state[0], *state[1], count]
    return [np.array(scope.find_var(variable.name).get_tensor()) for variable in held]


def test_training_gives_the_same_bits_on_tensors_and_in_a_program(rng):
    w, x = rng.normal(size=(2, 3))
    tape, program = on_tape(w, x, 4), in_program(w, x, 4)
    assert [array.tobytes() for array in tape] == [array.tobytes() for array in program]
    assert tape[-1] == 4


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"grads": [np.ones(3)]}, "grads expected .* like params, got"),
        ({"means": [np.ones(3), np.ones(2)]}, "means expected .* like params, got"),
        ({"squares": [np.ones(3), np.ones(4, "f")]}, "squares expected .* like params, got"),
        ({"step": np.array([1])}, r"step and lr expected an int64 and a float of one element, got int64\(1,\)"),
        ({"lr": np.ones(2)}, "step and lr expected an int64 and a float of one element"),
    ],
)
def test_lists_that_do_not_belong_together_are_refused_and_nothing_is_changed(change, text):
    given = {name: [np.ones(3), np.ones(4)] for name in ("params", "grads", "means", "squares")}
    given |= {"step": np.array(0), "lr": np.array(0.1)} | change
    with pytest.raises((ValueError, TypeError), match=text):
        fused_adamw(**given)
    assert all((array == 1).all() for array in given["params"])
    assert "step" in change or given["step"] == 0


def test_one_array_in_two_places_of_a_list_is_refused():
    one = np.ones(3)
    lists = [[np.ones(3), np.ones(3)] for _ in range(3)]
    with pytest.raises(
        opsdk.errors.InPlaceError, match=r"'params\[0\]' and 'params\[1\]' expected memory of their own"
    ):
        fused_adamw([one, one], *lists, np.array(0), np.array(0.1))
    assert (one == 1).all()

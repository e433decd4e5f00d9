"""The formulas of the optimizers that scale each number, against their papers in plain Python."""

import numpy as np
import pytest

import opsdk
from opsdk import errors, nn, static
from opsdk.optimizer import Adadelta, Adamax, Lamb, NAdam, RAdam, Rprop

GRADIENTS = (0.5, 1.0, 1.5, -0.7, -0.2, 0.9, 0.4, 0.1)
LR = 0.1


def moments(beta1, beta2):
    m = v = 0.0
    for t, g in enumerate(GRADIENTS, 1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        yield t, g, m, v


def adamax(beta1=0.9, beta2=0.999, epsilon=1e-8, w=1.0):
    u = 0.0
    for t, g, m, _ in moments(beta1, beta2):
        u = max(beta2 * u + epsilon, abs(g))
        w -= LR / (1 - beta1**t) * m / u
        yield w


def nadam(beta1=0.9, beta2=0.999, epsilon=1e-8, momentum_decay=0.004, w=1.0):
    product = 1.0
    for t, g, m, v in moments(beta1, beta2):
        now, then = (beta1 * (1 - 0.5 * 0.96 ** (at * momentum_decay)) for at in (t, t + 1))
        product *= now
        ahead = then * m / (1 - product * then) + (1 - now) * g / (1 - product)
        w -= LR * ahead / (np.sqrt(v / (1 - beta2**t)) + epsilon)
        yield w


def radam(beta1=0.9, beta2=0.999, epsilon=1e-8, w=1.0):
    longest = 2 / (1 - beta2) - 1
    for t, _, m, v in moments(beta1, beta2):
        length = longest - 2 * t * beta2**t / (1 - beta2**t)
        step = m / (1 - beta1**t)
        if length > 5:
            above, below = (length - 4) * (length - 2) * longest, (longest - 4) * (longest - 2) * length
            step *= np.sqrt(above / below) * np.sqrt(1 - beta2**t) / (np.sqrt(v) + epsilon)
        w -= LR * step
        yield w


def adadelta(rho=0.95, epsilon=1e-6, w=1.0):
    square = moved = 0.0
    for g in GRADIENTS:
        square = rho * square + (1 - rho) * g * g
        change = np.sqrt(moved + epsilon) / np.sqrt(square + epsilon) * g
        moved = rho * moved + (1 - rho) * change**2
        w -= LR * change
        yield w


def rprop(learning_rate_range=(1e-5, 50.0), etas=(0.5, 1.2), w=1.0):
    size, before = LR, 0.0
    for g in GRADIENTS:
        size *= etas[1] if g * before > 0 else etas[0] if g * before < 0 else 1
        size = min(max(size, learning_rate_range[0]), learning_rate_range[1])
        before = 0.0 if g * before < 0 else g
        w -= np.sign(before) * size
        yield w


def lamb(lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-6, always_adapt=False, w=1.0):
    for t, _, m, v in moments(beta1, beta2):
        change = m / (1 - beta1**t) / (np.sqrt(v / (1 - beta2**t)) + epsilon) + lamb_weight_decay * w
        is_long = (lamb_weight_decay > 0 or always_adapt) and w and change
        w -= LR * (abs(w) / abs(change) if is_long else 1.0) * change
        yield w


# Paddle 3.3.1 has the same after twelve steps of random gradients, to 2e-7: it rounds the numbers to float32.
CASES = [
    (Adamax, adamax, {}),
    (Adamax, adamax, {"beta1": 0.8, "beta2": 0.9, "epsilon": 0.01}),
    (NAdam, nadam, {}),
    (NAdam, nadam, {"momentum_decay": 0.1, "beta1": 0.8}),
    (RAdam, radam, {}),
    (RAdam, radam, {"beta1": 0.8, "beta2": 0.7}),
    (Adadelta, adadelta, {}),
    (Adadelta, adadelta, {"rho": 0.8, "epsilon": 0.01}),
    (Rprop, rprop, {}),
    (Rprop, rprop, {"learning_rate_range": (0.03, 0.13), "etas": (0.3, 1.5)}),
    (Lamb, lamb, {}),
    (Lamb, lamb, {"lamb_weight_decay": 0.0}),
    (Lamb, lamb, {"lamb_weight_decay": 0.0, "always_adapt": True}),
]
IDS = [f"{number}-{case[0].__name__}" for number, case in enumerate(CASES)]


@pytest.mark.parametrize(("kind", "formula", "options"), CASES, ids=IDS)
def test_steps_on_tensors_and_in_a_program_are_the_papers(kind, formula, options):
    w = nn.Parameter(np.ones(1))
    optimizer = kind(learning_rate=LR, parameters=[w], **options)
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None], "float64")
        held = static.create_parameter([1], "float64", attr=static.ParamAttr(initializer=nn.initializer.Constant(1.0)))
        kind(learning_rate=LR, **options).minimize((held * x).sum())
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    for gradient, value in zip(GRADIENTS, formula(**options), strict=True):
        w.grad = opsdk.to_tensor(np.full(1, gradient))
        optimizer.step()
        assert w.numpy() == pytest.approx([value], rel=1e-12)
        exe.run(main, feed={"x": np.array([gradient])}, scope=scope)
        assert scope.lookup(held.name) == pytest.approx([value], rel=1e-12)


@pytest.mark.parametrize("kind", [Adamax, NAdam, RAdam, Adadelta, Rprop, Lamb])
def test_a_resumed_run_takes_the_same_steps(kind, rng):
    gradients, runs = rng.normal(size=(6, 3)).astype("float32"), []
    for resumes in (False, True):
        w = nn.Parameter(np.ones(3, "float32"))
        optimizer = kind(learning_rate=0.1, parameters=[("w", w)])
        for at, gradient in enumerate(gradients):
            if resumes and at == 3:
                state, w = optimizer.state_dict(), nn.Parameter(w.numpy())
                optimizer = kind(learning_rate=0.1, parameters=[("w", w)])
                optimizer.set_state_dict(state)
            w.grad = opsdk.to_tensor(gradient)
            optimizer.step()
        runs.append(w.tolist())
        assert w.dtype == np.float32
    assert runs[0] == runs[1]


def test_decay_leaves_out_what_it_is_told_to():
    kept, drawn = (nn.Parameter(np.ones(2)) for _ in range(2))
    optimizer = Lamb(0.1, 0.5, parameters=[kept, drawn], exclude_from_weight_decay_fn=lambda param: param is kept)
    for each in (kept, drawn):
        each.grad = opsdk.to_tensor(np.array([1.0, 1.0]))
    optimizer.step()
    assert kept.numpy() == pytest.approx([0.9, 0.9], rel=1e-5)
    assert drawn.numpy() == pytest.approx([0.9, 0.9], rel=1e-5)
    kept.grad, drawn.grad = (opsdk.to_tensor(np.array([1.0, -1.0])) for _ in range(2))
    optimizer.step()
    assert kept.tolist() != drawn.tolist()


@pytest.mark.parametrize("kind", [Adamax, NAdam, RAdam, Lamb])
def test_a_beta_is_a_fraction(kind):
    with pytest.raises(errors.AttributeValueError, match=r"beta1 expected in \[0, 1\), got 1.0"):
        kind(0.1, beta1=1.0)


def test_sizes_and_factors_of_rprop_are_in_order():
    with pytest.raises(errors.AttributeValueError, match="optimizer Rprop: expected 0 < least ≤ greatest of"):
        Rprop(0.1, etas=(1.2, 0.5))


def test_a_complex_parameter_is_refused():
    w = nn.Parameter(np.ones(1, complex))
    w.grad = opsdk.to_tensor(np.ones(1, complex))
    with pytest.raises(errors.DTypeError, match="param expected a real dtype, since the moments scale"):
        Adamax(0.1, parameters=[w]).step()

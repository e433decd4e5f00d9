"""The formulas of the optimizers, against numbers worked out by hand in float64."""

import numpy as np
import pytest

import opsdk
from opsdk import nn, static
from opsdk.optimizer import SGD, Adagrad, Adam, AdamW, Momentum, RMSProp

GRADIENTS = (0.5, 1.0, 1.5)


def adam_steps(lr=0.1, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.0, l2=0.0, w=1.0):
    """Adam as its paper writes it, with bias-corrected moments."""
    m = v = 0.0
    found = []
    for t, g in enumerate(GRADIENTS, 1):
        g = g + l2 * w
        w *= 1 - lr * decay
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        w -= lr * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
        found.append(w)
    return found


def rmsprop_steps(rho=0.95, epsilon=1e-6, momentum=0.0, centered=False, w=1.0):
    square = mean = velocity = 0.0
    found = []
    for g in GRADIENTS:
        square = rho * square + (1 - rho) * g * g
        mean = rho * mean + (1 - rho) * g if centered else 0.0
        velocity = momentum * velocity + 0.1 * g / np.sqrt(square - mean**2 + epsilon)
        w -= velocity
        found.append(w)
    return found


def adagrad_steps(epsilon=1e-6, moment=0.0, w=1.0):
    found = []
    for g in GRADIENTS:
        moment += g * g
        w -= 0.1 * g / (np.sqrt(moment) + epsilon)
        found.append(w)
    return found


RMS = {"rho": 0.9, "momentum": 0.5, "centered": True, "epsilon": 0.01}
CASES = [
    (SGD, {}, [0.95, 0.85, 0.70]),
    (Momentum, {}, [0.95, 0.805, 0.5245]),
    (Momentum, {"use_nesterov": True}, [0.905, 0.6745, 0.27205]),
    (Adam, {}, [0.9, 0.803482, 0.707682]),
    (AdamW, {}, [0.899, 0.801583, 0.704981]),
    (Adam, {}, adam_steps()),
    (AdamW, {"weight_decay": 0.3}, adam_steps(decay=0.3)),
    (Adam, {"weight_decay": 0.3}, adam_steps(l2=0.3)),
    (Adam, {"beta1": 0.5, "beta2": 0.9, "epsilon": 0.1}, adam_steps(beta1=0.5, beta2=0.9, epsilon=0.1)),
    # Paddle 3.3.1 has 0.5528043, 0.1507925, -0.2116466; it rounds rho and epsilon to float32
    (RMSProp, {}, rmsprop_steps()),
    (RMSProp, RMS, rmsprop_steps(**RMS)),  # Paddle: 0.7226499, 0.2844650, -0.2251541
    (Adagrad, {}, adagrad_steps()),  # Paddle: 0.9000002, 0.8105576, 0.7303792
    (Adagrad, {"epsilon": 0.1, "initial_accumulator_value": 0.5}, adagrad_steps(0.1, 0.5)),
    (SGD, {"weight_decay": 0.5}, [0.9, 0.755, 0.56725]),  # w -= 0.1 (g + 0.5 w)
]
IDS = [f"{number}-{case[0].__name__}" for number, case in enumerate(CASES)]


@pytest.mark.parametrize(("kind", "options", "expected"), CASES, ids=IDS)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_three_steps_on_tensors(kind, options, expected, shape):
    w = nn.Parameter(np.ones(shape))
    optimizer = kind(learning_rate=0.1, parameters=[w], **options)
    for gradient, value in zip(GRADIENTS, expected, strict=True):
        w.grad = opsdk.to_tensor(np.full(shape, gradient))
        optimizer.step()
        assert w.numpy() == pytest.approx(np.full(shape, value), abs=1e-6 if len(str(value)) < 9 else 1e-12)


@pytest.mark.parametrize(("kind", "options", "expected"), CASES, ids=IDS)
def test_three_steps_of_a_program(kind, options, expected):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None], "float64")
        attr = static.ParamAttr(initializer=nn.initializer.Constant(1.0))
        w = static.create_parameter([1], "float64", attr=attr)
        kind(learning_rate=0.1, **options).minimize((w * x).sum())
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    for gradient, value in zip(GRADIENTS, expected, strict=True):
        exe.run(main, feed={"x": np.array([gradient])}, scope=scope)
        assert scope.lookup(w.name) == pytest.approx(value, abs=1e-6 if len(str(value)) < 9 else 1e-12)


@pytest.mark.parametrize(("kind", "options", "expected"), CASES, ids=IDS)
def test_both_runtimes_take_the_same_steps_in_float32(kind, options, expected, rng):
    start, gradients = rng.normal(size=(3, 2)).astype("float32"), rng.normal(size=(4, 3, 2)).astype("float32")
    p = nn.Parameter(start)
    dynamic = kind(learning_rate=0.01, parameters=[p], **options)
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [3, 2], "float32")
        attr = static.ParamAttr(initializer=nn.initializer.Assign(start))
        w = static.create_parameter([3, 2], "float32", attr=attr)
        kind(learning_rate=0.01, **options).minimize((w * x).sum())
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    for gradient in gradients:
        p.grad = opsdk.to_tensor(gradient)
        dynamic.step()
        exe.run(main, feed={"x": gradient}, scope=scope)
        assert scope.lookup(w.name).tolist() == p.tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kind", [SGD, Momentum, Adam, AdamW])
def test_parameters_keep_their_dtype(kind, dtype):
    w = nn.Parameter(np.ones(2, dtype))
    w.grad = opsdk.to_tensor(np.ones(2, dtype))
    optimizer = kind(learning_rate=0.1, parameters=[w])
    optimizer.step()
    assert w.dtype == dtype
    assert (w.numpy() < 1).all()


OWN = [(None, 0.0), (0.0, 0.0), (opsdk.optimizer.L2Decay(0.5), 0.5)]


def test_both_decays_of_adamw_give_what_paddle_gives():
    measured = [0.8899999856948853, 0.781782865524292, 0.6749128103256226]  # by 3.3.1, in float32, in both its modes
    alone = [0.8999999761581421, 0.8007036447525024, 0.7016792893409729]  # with weight_decay=0.0
    assert adam_steps(decay=0.1, l2=0.5) == pytest.approx(measured, abs=2e-6)
    assert adam_steps(l2=0.5) == pytest.approx(alone, abs=2e-6)


@pytest.mark.parametrize(("own", "l2"), OWN)
def test_a_parameters_own_regularizer_is_added_to_the_gradient_beside_adamws_decay(own, l2):
    w = nn.Parameter(np.ones(1), regularizer=own)
    optimizer = AdamW(learning_rate=0.1, parameters=[w], weight_decay=0.1)
    for gradient, value in zip(GRADIENTS, adam_steps(decay=0.1, l2=l2), strict=True):
        w.grad = opsdk.to_tensor(np.full(1, gradient))
        optimizer.step()
        assert w.numpy() == pytest.approx([value], abs=1e-12)


@pytest.mark.parametrize(("own", "l2"), OWN)
def test_a_parameters_own_regularizer_is_added_beside_adamws_decay_in_a_program(own, l2):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None], "float64")
        attr = static.ParamAttr(initializer=nn.initializer.Constant(1.0), regularizer=own)
        w = static.create_parameter([1], "float64", attr=attr)
        AdamW(learning_rate=0.1, weight_decay=0.1).minimize((w * x).sum())
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    for gradient, value in zip(GRADIENTS, adam_steps(decay=0.1, l2=l2), strict=True):
        exe.run(main, feed={"x": np.array([gradient])}, scope=scope)
        assert np.asarray(scope.find_var(w.name).get_tensor()) == pytest.approx([value], abs=1e-12)


@pytest.mark.parametrize("kind", [SGD, Momentum, Adam, AdamW])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_step_of_sixteen_bits_is_that_of_float32_rounded_once(kind, dtype):
    gradient = opsdk.to_tensor([1e-5, 3e-4, 1.0, 40_000.0], dtype).numpy()
    found = []
    for name in (dtype, "float32"):
        w = nn.Parameter(np.full(4, 0.5), dtype=name)
        optimizer = kind(learning_rate=0.01, parameters=[w], **({} if kind is AdamW else {"weight_decay": 0.001}))
        for _ in range(1):
            w.grad = opsdk.to_tensor(gradient.astype(w.dtype))
            optimizer.step()
        found.append(w.numpy())
        slots = {value.dtype.name for key, value in optimizer.state_dict().items() if "moment" in key or "velo" in key}
        assert slots <= {"float32"}
    np.testing.assert_array_equal(found[0], found[1].astype(found[0].dtype))
    assert np.isfinite(found[0].astype(np.float32)).all()


def test_the_rate_of_a_program_is_as_exact_as_its_most_exact_parameter():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        attr = static.ParamAttr(initializer=nn.initializer.Constant(1.0))
        short, long = (static.create_parameter([1], dtype, attr=attr) for dtype in ("float32", "float64"))
        SGD(learning_rate=0.1).minimize(opsdk.cast(short, "float64").sum() + long.sum())
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    exe.run(main, scope=scope)
    assert np.asarray(scope.find_var(long.name).get_tensor()).tolist() == [1 - 0.1]

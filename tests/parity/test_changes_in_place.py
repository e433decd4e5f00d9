"""Programs of random ops, of which some change what others made: the bits of the tape, or a refusal by name."""

import random

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import InPlaceError, ProgramError, VersionError
from tests.static.changing_ops import define_add, define_decay, define_scaled_lists, define_tracked

W, X = np.array([1.5, -0.5, 0.75]), np.array([0.25, 2.0, -1.0])


@pytest.fixture
def ops():
    with opsdk.scoped_registry():
        yield define_add(), define_decay(), define_scaled_lists(), define_tracked()


def build(rng, ops, w, x):
    """Returns a loss, and a value to ask the gradient of, by choices that are the same in both runtimes."""
    add_, decay_, scale_all_, tracked = ops
    values = [w * 1.0, x * 1.0, w * x, opsdk.zeros_like(x)]

    def one():
        return values[rng.randrange(len(values))]

    def without_recording():
        with opsdk.no_grad():
            decay_(one())

    steps = [
        lambda: values.append(one() * one()),
        lambda: values.append(one() + one()),
        lambda: values.append(opsdk.exp(one() * 0.1)),
        lambda: values.append(tracked(one(), one())),
        lambda: values.append(scale_all_(rng.sample(values, 2), w)[1]),
        lambda: decay_(one(), rate=0.25),
        lambda: add_(one(), one()),
        without_recording,
    ]
    for _ in range(rng.randrange(3, 9)):
        rng.choice(steps)()
    return (one() + one() * 2.0 + values[-1]).sum(), one()


def on_tape(seed, ops):
    w, x = opsdk.to_tensor(W, stop_gradient=False), opsdk.to_tensor(X)
    loss, of = build(random.Random(seed), ops, w, x)
    found = [] if loss.stop_gradient else opsdk.grad(loss, [w, *([] if of.stop_gradient else [of])], allow_unused=True)
    return [loss.numpy(), *[None if value is None else value.numpy() for value in found]]


def in_program(seed, ops):
    with static.program_guard(static.Program(), static.Program()):
        w, x = (static.data(name, [3], "float64") for name in "wx")
        w.stop_gradient = False
        loss, of = build(random.Random(seed), ops, w, x)
        found = [] if loss.stop_gradient else static.gradients(loss, [w, *([] if of.stop_gradient else [of])])
        fetches = [loss, *[value for value in found if value is not None]]
        values = iter(static.Executor().run(feed={"w": W, "x": X}, fetch_list=fetches))
        return [next(values), *[None if value is None else next(values) for value in found]]


def given(run, seed, ops):
    try:
        return [None if value is None else value.tobytes() for value in run(seed, ops)]
    except (InPlaceError, ProgramError, VersionError):
        return "refused"


def compare(seed, ops):
    """Compares the runtimes; a Program may run what the tape refuses before it knows whether anybody asks for it."""
    tape, program = given(on_tape, seed, ops), given(in_program, seed, ops)
    assert tape == program or tape == "refused", seed
    return tape == program != "refused"


def test_a_random_program_gives_the_bits_of_the_tape(ops):
    assert sum(compare(seed, ops) for seed in range(10)) > 2


@pytest.mark.slow  # two thousand of them, of which ten are tried above
@pytest.mark.parametrize("start", range(100, 2100, 200))
def test_many_random_programs_give_the_bits_of_the_tape(start, ops):
    assert sum(compare(seed, ops) for seed in range(start, start + 200)) > 50

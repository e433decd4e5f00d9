"""Second derivatives of ops of several inputs, some unneeded, absent or in a list, in both runtimes, against hand work.

Each edge of a call carries a number of its own, so that a gradient that goes along another's edge shows.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import opsdk
from opsdk import static

# -- the op: y = x²v + Σ (i + 1) zᵢ²x + wx², u = xv² + Σ zᵢ³ + w², with w absent or not --------------------------------


def forward(x, w, zs, v):
    y = x * x * v + sum((i + 1) * z * z * x for i, z in enumerate(zs))
    u = x * v * v + sum(z * z * z for z in zs)
    return (y, u) if w is None else (y + w * x * x, u + w * w)


def first(x, w, zs, v, dy, du):
    """The gradients, of operators that arrays, tensors and Variables share."""
    dx = dy * (2.0 * x * v + sum((i + 1.0) * z * z for i, z in enumerate(zs))) + du * v * v
    dw = None if w is None else dy * x * x + du * 2.0 * w
    dzs = [dy * (2.0 * (i + 1)) * z * x + du * 3.0 * z * z for i, z in enumerate(zs)]
    return dx if w is None else dx + dy * 2.0 * w * x, dw, dzs, dy * x * x + du * 2.0 * x * v


def second(x, w, zs, v, dy, du, ddx, ddw, ddzs, ddv):
    """The gradients of `first`, by hand, for the cotangents of its results."""
    held, ddw = (0.0, 0.0) if w is None else (w, ddw)
    pairs = [(2.0 * (i + 1), z, ddz) for i, (z, ddz) in enumerate(zip(zs, ddzs, strict=True))]
    of_x = ddx * dy * (2 * v + 2 * held) + ddw * dy * 2 * x + ddv * (2 * dy * x + 2 * du * v)
    of_x = of_x + sum(ddz * dy * k * z for k, z, ddz in pairs)
    of_w = ddx * dy * 2 * x + ddw * 2 * du
    of_zs = [ddx * dy * k * z + ddz * (dy * k * x + 6 * du * z) for k, z, ddz in pairs]
    of_v = ddx * (2 * dy * x + 2 * du * v) + ddv * 2 * du * x
    of_dy = ddx * (2 * x * v + 2 * held * x) + ddw * x * x + ddv * x * x
    of_dy = of_dy + sum(ddx * k / 2 * z * z + ddz * k * z * x for k, z, ddz in pairs)
    of_du = ddx * v * v + ddw * 2 * held + ddv * 2 * x * v + sum(ddz * 3 * z * z for _, z, ddz in pairs)
    return of_x, None if w is None else of_w, of_zs, of_v, of_dy, of_du


def define(kind):
    op = opsdk.op("second::blend(Tensor x, Tensor? w, Tensor[] zs, Tensor v) -> (Tensor y, Tensor u)")(forward)
    op.infer(lambda x, w, zs, v: (x, x))
    if kind == "composite":
        op.backward(composite=True)(first)
    elif kind == "masked":

        @op.backward(composite=True)
        def masked(x, w, zs, v, dy, du, needs_input_grad):
            made = first(x, w, zs, v, dy, du)
            return tuple(
                value if needed or value is None else [item * 0.0 for item in value] if i == 2 else value * 0.0
                for i, (value, needed) in enumerate(zip(made, needs_input_grad, strict=True))
            )

    elif kind == "unmaterialized":

        @op.backward(composite=True, materialize=False)
        def unmaterialized(x, w, zs, v, dy, du):
            return first(x, w, zs, v, x * 0.0 if dy is None else dy, x * 0.0 if du is None else du)

    else:
        op.backward(first).backward(second)
    return op


SHAPE = (3,)
RNG = np.random.default_rng(11)
NAMES = ("x", "w", "z0", "z1", "v")
VALUES = {name: RNG.uniform(0.5, 1.5, SHAPE) for name in (*NAMES, "dy", "du")}
WEIGHTS = {name: RNG.uniform(0.5, 1.5, SHAPE) for name in NAMES}
KINDS = ("composite", "masked", "unmaterialized", "opaque")
ASKED = (NAMES, ("x",), ("w", "v"), ("z1",), ("z0", "v"), ("x", "z1"))
OUTPUTS = (("y", "u"), ("y",), ("u",))


def by_hand(asked, used, has_w, same=()):
    """First gradients of `asked` and what they, weighted and summed, have for gradients of all that entered."""
    held = {**VALUES, **dict.fromkeys(same, VALUES["x"])}
    w = held["w"] if has_w else None
    entering = [held[f"d{name}"] if name in used else np.zeros(SHAPE) for name in ("y", "u")]
    inputs = held["x"], w, [held["z0"], held["z1"]], held["v"]
    dx, dw, dzs, dv = first(*inputs, *entering)
    of = dict(zip(NAMES, (dx, dw, *dzs, dv), strict=True))
    for name in same:
        of["x"] = of["x"] + of.pop(name)
    send = {name: WEIGHTS["x" if name in same else name] for name in NAMES}
    send = {name: value if (name in asked or name in same) else np.zeros(SHAPE) for name, value in send.items()}
    of_x, of_w, of_zs, of_v, of_dy, of_du = second(
        *inputs, *entering, send["x"], send["w"], [send["z0"], send["z1"]], send["v"]
    )
    again = dict(zip((*NAMES, "dy", "du"), (of_x, of_w, *of_zs, of_v, of_dy, of_du), strict=True))
    for name in same:
        again["x"] = again["x"] + again.pop(name)
    again |= {f"d{name}": np.zeros(SHAPE) for name in ("y", "u") if name not in used}  # it entered nowhere
    return [of[name] for name in asked], again


def compare(found, expected):
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-12, atol=1e-12, err_msg=name)


def on_tape(op, asked, used, has_w, same=()):
    held = {n: opsdk.to_tensor(v, stop_gradient=False) for n, v in VALUES.items()}
    held |= dict.fromkeys(same, held["x"])
    made = op(held["x"], held["w"] if has_w else None, [held["z0"], held["z1"]], held["v"])
    outputs = dict(zip("yu", made, strict=True))
    grads = opsdk.grad(
        [outputs[n] for n in used], [held[n] for n in asked], [held[f"d{n}"] for n in used], create_graph=True
    )
    sources = [n for n in held if n not in same and (has_w or n != "w")]
    weights = [opsdk.to_tensor(WEIGHTS[n]) for n in asked]
    made = opsdk.grad(grads, [held[n] for n in sources], weights, allow_unused=True)
    again = {n: np.zeros(SHAPE) if g is None else g.numpy() for n, g in zip(sources, made, strict=True)}
    return [g.numpy() for g in grads], again


def in_a_program(op, asked, used, has_w, same=()):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        held = {n: static.data(n, SHAPE, "float64") for n in VALUES}
        for variable in held.values():
            variable.stop_gradient = False
        weights = [static.data(f"weight_{n}", SHAPE, "float64") for n in asked]
        held |= dict.fromkeys(same, held["x"])
        outputs = op(held["x"], held["w"] if has_w else None, [held["z0"], held["z1"]], held["v"])
        outputs = dict(zip("yu", outputs, strict=True))
        grads = static.gradients(
            [outputs[n] for n in used], [held[n] for n in asked], [held[f"d{n}"] for n in used]
        )
        sources = [n for n in held if n not in same and (has_w or n != "w")]
        made = static.gradients(grads, [held[n] for n in sources], weights)
    feed = {**VALUES, **{f"weight_{n}": WEIGHTS[n] for n in asked}}
    there = [variable for variable in made if variable is not None]
    values = static.Executor().run(main, feed=feed, fetch_list=[*grads, *there])
    given = iter(values[len(grads) :])
    again = {n: np.zeros(SHAPE) if v is None else next(given) for n, v in zip(sources, made, strict=True)}
    return values[: len(grads)], again


RUNTIMES = pytest.mark.parametrize("run", [on_tape, in_a_program], ids=["tape", "program"])


@RUNTIMES
@pytest.mark.parametrize("kind", KINDS)
def test_second_derivatives_are_those_by_hand_whatever_is_asked_for_used_or_absent(run, kind):
    op = define(kind)
    for asked, used, has_w in itertools.product(ASKED, OUTPUTS, (True, False)):
        asked = tuple(name for name in asked if has_w or name != "w")
        found, again = run(op, asked, used, has_w)
        expected, expected_again = by_hand(asked, used, has_w)
        compare(dict(zip(asked, found, strict=True)), dict(zip(asked, expected, strict=True)))
        compare(again, expected_again)


@RUNTIMES
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("same", [("v",), ("z1",), ("z0", "v")])
def test_a_tensor_that_enters_twice_gets_both_gradients(run, kind, same):
    op = define(kind)
    asked = ("x", *(n for n in ("w", "z0") if n not in same))
    found, again = run(op, asked, ("y", "u"), True, same)
    expected, expected_again = by_hand(asked, ("y", "u"), True, same)
    compare(dict(zip(asked, found, strict=True)), dict(zip(asked, expected, strict=True)))
    compare(again, expected_again)


# -- derived gradients: told which cotangents have arrived, and of some a cotangent is the gradient as it is -----------


def squares(x, z, v):
    return x * x * z + v, z * z * z * v


def squares_by_hand(asked, used):
    x, z, v = (VALUES[n] for n in ("x", "z0", "v"))
    a, b = (VALUES[f"d{n}"] * (n in used) for n in ("y", "u"))
    p, q, s = (WEIGHTS[n] * (n in asked) for n in ("x", "z0", "v"))
    of = {"x": 2 * a * x * z, "z0": a * x * x + 3 * b * z * z * v, "v": a + b * z**3}
    again = {
        "x": p * 2 * a * z + q * 2 * a * x,
        "z0": p * 2 * a * x + q * 6 * b * z * v + s * 3 * b * z * z,
        "v": q * 3 * b * z * z,
        "dy": (p * 2 * x * z + q * x * x + s) * ("y" in used),
        "du": (q * 3 * z * z * v + s * z**3) * ("u" in used),
    }
    return {n: of[n] for n in asked}, again


class Squares:
    """An elementwise op in the place of `blend`, whose first, third and last inputs it takes."""

    def __init__(self):
        self.op = opsdk.elementwise("second::squares(Tensor x, Tensor z, Tensor v) -> (Tensor y, Tensor u)")(squares)

    def __call__(self, x, w, zs, v):
        return self.op(x, zs[0], v)


@RUNTIMES
@pytest.mark.parametrize("used", OUTPUTS)
@pytest.mark.parametrize("asked", [("x", "z0", "v"), ("z0",), ("v",), ("z0", "v")])
def test_second_derivatives_of_a_derived_gradient_are_those_by_hand(run, asked, used):
    found, again = run(Squares(), asked, used, False)
    expected, expected_again = squares_by_hand(asked, used)
    compare(dict(zip(asked, found, strict=True)), expected)
    compare({n: value for n, value in again.items() if n != "z1"}, expected_again)


@RUNTIMES
def test_an_input_that_no_cotangent_reaches_has_a_gradient_of_zeros(run):
    found, again = run(Squares(), ("x", "v"), ("u",), False)
    compare(dict(zip(("x", "v"), found, strict=True)), {"x": np.zeros(SHAPE), "v": VALUES["du"] * VALUES["z0"] ** 3})
    assert not again["x"].any()

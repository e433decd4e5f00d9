"""The ops of control flow: `cond` and `while_loop`, over bodies.

What has gradients and what has none are two lists, of inputs and of outputs; a body has both in one order of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import ArityError
from opsdk.core.random import drawn
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.ops.functions import exp, tanh
from opsdk.ops.shape import assign
from opsdk.static.control.body import Body, building
from opsdk.static.ir.program import Program

T = TypeVar("T")
_SCHEMA = "Tensor[] values, Tensor[] others, *, {}, Generator rng) -> (Tensor[] outs, Tensor[] rest)"

# Any, in the backwards: arrays, tensors or Variables, whichever runtime calls.


def parted(values: Sequence[T], specs: Sequence[TensorSpec]) -> tuple[list[T], list[T]]:
    """Returns those of the values that have gradients, and the others."""
    floats = [is_differentiable(spec.dtype) for spec in specs]
    return list(itertools.compress(values, floats)), [v for v, one in zip(values, floats, strict=True) if not one]


def joined(values: Sequence[T], others: Sequence[T], specs: Sequence[TensorSpec]) -> list[T]:
    """Returns what `parted` took apart.

    Raises:
        ArityError: there are more or fewer.
    """
    wanted = [len(part) for part in parted(specs, specs)]
    if [len(values), len(others)] != wanted:
        raise ArityError(
            f"control flow: expected {wanted[0]} values with gradients and {wanted[1]} others, as the bodies take, got "
            f"{len(values)} and {len(others)}"
        )
    one, other = iter(values), iter(others)
    return [next(one if is_differentiable(spec.dtype) else other) for spec in specs]


def _positions(specs: Sequence[TensorSpec]) -> list[int]:
    return parted(range(len(specs)), specs)[0]


@op(
    f"opsdk::cond(Tensor<bool> pred, {_SCHEMA.format('Callable then, Callable otherwise')}",
    nondifferentiable=("others", "rest"),
)
def cond(
    pred: np.ndarray,
    values: Sequence[np.ndarray],
    others: Sequence[np.ndarray],
    *,
    then: Body,
    otherwise: Body,
    rng: Any,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What one of two bodies gives: `then` where pred is true, else `otherwise`."""
    made = (then if bool(pred) else otherwise)(joined(values, others, then.given), rng.key)
    return parted(made, then.specs)


@cond.infer
def _cond(
    values: list[TensorSpec], others: list[TensorSpec], then: Body, otherwise: Body
) -> tuple[list[TensorSpec], list[TensorSpec]]:
    _given(values, others, then)
    return parted([merged(a, b) for a, b in zip(then.specs, otherwise.specs, strict=True)], then.specs)


def _given(values: Sequence[TensorSpec], others: Sequence[TensorSpec], body: Body) -> list[TensorSpec]:
    """Returns the specs of what a body is given, which it takes."""
    found = joined(values, others, body.given)
    body.check(found)
    return found


def merged(one: TensorSpec, other: TensorSpec) -> TensorSpec:
    """Returns the spec of what may be of either: sizes that differ are open."""
    sizes = [a if a == b else None for a, b in zip(one.shape, other.shape, strict=True)]
    return TensorSpec(sizes, one.dtype)


@cond.backward(composite=True)
def cond_grad(
    pred: Any,
    values: Sequence[Any],
    others: Sequence[Any],
    douts: Sequence[Any],
    then: Body,
    otherwise: Body,
    rng: Any,
) -> list[Any]:
    """The gradients that the body gives which ran; it is run once more for them."""
    asked, given = _positions(then.given), _positions(then.specs)
    bodies = (body.gradient(asked, given) for body in (then, otherwise))
    made: list[Any] = cond(pred, [*values, *douts], others, then=next(bodies), otherwise=next(bodies), rng=rng)[0]
    return made


@op(
    f"opsdk::while_loop({_SCHEMA.format('int count, Callable test, Callable body')}",
    nondifferentiable=("others", "rest"),
)
def while_loop(
    values: Sequence[np.ndarray], others: Sequence[np.ndarray], *, count: int, test: Body, body: Body, rng: Any
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The first `count` values, after `body` gave others for them for as long as `test` gave true; the rest stay."""
    for state in _turns(joined(values, others, body.given), count, test, body, rng.key):  # noqa: B007 - the last counts
        pass
    return parted(state, body.specs)


def _turns(given: Sequence[np.ndarray], count: int, test: Body, body: Body, key: int) -> Iterator[list[np.ndarray]]:
    """Yields the state before every turn, and after the last."""
    state, rest = [value.copy() for value in given[:count]], list(given[count:])
    for turn in itertools.count(1):
        yield state
        draw = drawn(key, turn)
        if not bool(test([*state, *rest], draw)[0]):
            return
        state = body([*state, *rest], draw)


@while_loop.infer
def _while_loop(
    values: list[TensorSpec], others: list[TensorSpec], count: int, body: Body
) -> tuple[list[TensorSpec], list[TensorSpec]]:
    given = _given(values, others, body)[:count]
    return parted([merged(a, b) for a, b in zip(given, body.specs, strict=True)], body.specs)


@while_loop.backward
def while_loop_grad(
    values: Sequence[np.ndarray],
    others: Sequence[np.ndarray],
    douts: Sequence[np.ndarray],
    count: int,
    test: Body,
    body: Body,
    rng: Any,
) -> list[np.ndarray]:
    """The gradients of the turns, the last first: all states are computed once more, and kept until then."""
    given = joined(values, others, body.given)
    step = body.gradient(_positions(body.given), _positions(body.specs))
    states = list(_turns(given, count, test, body, rng.key))
    arriving, sums = list(douts), [np.zeros_like(value) for value in values[len(douts) :]]
    for turn in range(len(states) - 1, 0, -1):
        # A body of gradients takes what the body takes, then cotangents.
        made = step([*states[turn - 1], *given[count:], *arriving], drawn(rng.key, turn))
        arriving = made[: len(arriving)]
        sums = [total + more for total, more in zip(sums, made[len(arriving) :], strict=True)]
    return [*arriving, *sums]


def _body(function: Callable[..., Sequence[Any]], *specs: TensorSpec) -> Body:
    """Returns the body that a function of Variables makes, for samples."""
    program = Program()
    with building(program):
        block = program.global_block()
        given = [block.create_var(f"v{i}", spec.shape, spec.dtype, is_data=True) for i, spec in enumerate(specs)]
        made = [assign(value) for value in function(*given)]
    return Body(program, [value.name for value in given], [value.name for value in made])


@cond.samples
def _cond_samples(rng: np.random.Generator) -> Iterator[Sample]:
    row, number = TensorSpec((3,), "float64"), TensorSpec((), "int64")
    then = _body(lambda x, k: (exp(x) * x, k * 2), row, number)
    otherwise = _body(lambda x, k: (x * 3.0, k), row, number)
    for pred in (True, False):
        values, others = [rng.normal(size=3)], [np.array(5)]
        yield Sample(np.array(pred), values, others, then=then, otherwise=otherwise, reason=f"the condition is {pred}")


@while_loop.samples
def _while_samples(rng: np.random.Generator) -> Iterator[Sample]:
    row, number = TensorSpec((3,), "float64"), TensorSpec((), "int64")
    test = _body(lambda x, c, i: (i < 3,), row, row, number)
    body = _body(lambda x, c, i: (x * c + tanh(x), i + 1), row, row, number)
    body = Body(body.program, [body.inputs[0], body.inputs[2], body.inputs[1]], body.outputs)
    test = Body(test.program, [test.inputs[0], test.inputs[2], test.inputs[1]], test.outputs)
    for start, turns in ((0, "three turns"), (9, "not one turn")):
        values, others = [rng.normal(size=3), rng.uniform(0.5, 1.5, 3)], [np.array(start)]
        yield Sample(values, others, count=2, test=test, body=body, reason=turns)

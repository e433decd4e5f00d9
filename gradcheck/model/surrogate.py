"""Declared surrogates: functions whose derivative vjp is on purpose, in the place of forward's."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NoReturn, TypeVar

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.dtypes import Array, BoolArray, is_continuous, is_floating, widened
from gradcheck.model.protocol import Forward, Subject, copy_inputs, normalise_outputs

_Value = TypeVar("_Value")


def stop_gradient(value: _Value) -> _Value:
    """Gives `value`; inside a surrogate that is differentiated, what it was at the point of the derivative.

    So a surrogate can keep a part of forward as a constant: `x + stop_gradient(np.round(x) - x)` has the value of
    np.round and the derivative of x. Each call of the surrogate has to reach it equally often, in the same order.

    Args:
        value: an array of any shape and dtype, or a scalar; forward and vjp get it back as it is.
    """
    held = _HELD.get()
    return value if held is None else held(value)


def judged_function(subject: Subject) -> Forward:
    """Gives the function of whose derivative vjp is judged near one point, at which it must be called first."""
    if subject.also.surrogate is None:
        return subject.forward
    return Surrogate(subject.forward, subject.also.surrogate)


class Surrogate:
    """A surrogate near one point: what it stops is held as it was there.

    Where an output of forward is not finite the surrogate's counts as undefined, since vjp gets forward's.

    Args:
        forward: the function that it stands for.
        function: the surrogate.
    """

    def __init__(self, forward: Forward, function: Forward) -> None:
        self._forward = forward
        self._function = function
        self._constants: list[Any] = []  # Any: whatever the surrogate stops
        self._finite: tuple[BoolArray, ...] | None = None

    def __call__(self, *inputs: object) -> tuple[Array, ...]:
        """Calls the surrogate; the first call that succeeds is the one at the point.

        Raises:
            UsageError: the surrogate's outputs are of other shapes or kinds of dtype than forward's, or it stopped
                another number of values before.
        """
        outputs = self._start(inputs) if self._finite is None else self._again(inputs)
        assert self._finite is not None
        return tuple(
            output if finite.all() or output.shape != finite.shape else np.where(finite, output, np.nan)
            for output, finite in zip(outputs, self._finite, strict=True)
        )

    def _start(self, inputs: tuple[object, ...]) -> tuple[Array, ...]:
        wanted = normalise_outputs(self._forward(*copy_inputs(inputs)))
        constants: list[Any] = []

        def hold(value: Any) -> Any:
            constants.append(np.array(value))
            return value

        outputs = _run(self._function, inputs, hold)
        if list(map(_form, outputs)) != list(map(_form, wanted)):
            listed = ", ".join(map(_form, wanted)), ", ".join(map(_form, outputs))
            raise UsageError(f"surrogate: expected outputs like forward's, {listed[0]}, got {listed[1]}; return those")
        self._constants = constants
        self._finite = tuple(np.isfinite(widened(output)) for output in wanted)
        return outputs

    def _again(self, inputs: tuple[object, ...]) -> tuple[Array, ...]:
        """Calls the surrogate with a copy of one held value after the other."""
        stopped = 0

        def read(value: Any) -> Any:
            nonlocal stopped
            stopped += 1
            if stopped > len(self._constants):
                self._refuse(stopped)
            held = self._constants[stopped - 1]
            return held.copy() if isinstance(value, np.ndarray) else held[()]

        outputs = _run(self._function, inputs, read)
        if stopped != len(self._constants):
            self._refuse(stopped)
        return outputs

    def _refuse(self, stopped: int) -> NoReturn:
        raise UsageError(
            f"surrogate: expected {len(self._constants)} calls of stop_gradient, as at the point itself, "
            f"got {stopped}; make their number independent of the values"
        )


_HELD: ContextVar[Callable[[Any], Any] | None] = ContextVar("_HELD", default=None)


def _run(function: Forward, inputs: tuple[object, ...], hold: Callable[[Any], Any]) -> tuple[Array, ...]:
    token = _HELD.set(hold)
    try:
        return normalise_outputs(function(*inputs))
    finally:
        _HELD.reset(token)


def _form(output: Array) -> str:
    kind = "floating" if is_floating(output.dtype) else "complex" if is_continuous(output.dtype) else "discrete"
    return f"{kind} {output.shape}"

"""Trials: how each runtime runs a call and its gradients, so that `verify` can hold it to what bare arrays give."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from opsdk.define.opdef import OpDef

OUTPUTS = "outputs"
BACKWARD = "backward"


# Any, in this file: arrays, which this floor does not touch, and the values of a runtime.
@dataclass(frozen=True)
class Tried:
    """A call that a runtime is tried on; lists of tensors are flat in all of it.

    Args:
        opdef: the op.
        arrays: its inputs, which belong to the trial.
        asked: per input whether its gradient is compared.
        cotangents: per output its cotangent.
        is_partial: whether the call gives None in the place of an output, which has no cotangent then.
        apply: calls the op on values of the runtime, one per input, and gives those of its outputs.
    """

    opdef: OpDef
    arrays: Sequence[Any]
    asked: Sequence[bool]
    cotangents: Sequence[Any]
    is_partial: bool
    apply: Callable[[Sequence[Any]], Sequence[Any]]


Run = Callable[[Tried], Generator[tuple[str, Sequence[Any]], None, None]]


@dataclass(frozen=True)
class Attempt:
    """One way in which a runtime runs a call.

    Args:
        run: yields arrays as they come to be: `OUTPUTS`; a check's name with the gradients of the inputs that are
            asked for, None where there is none; and `BACKWARD` with nothing where the backward begins.
        permitted: what it may raise, since an op need not take this way; the next one is tried then.
        noted: of those what is noted.
        need: what the op needs where it is, as `needs known sizes`.
        is_extra: whether the next one is tried where it succeeds, too.
    """

    run: Run
    permitted: tuple[type[Exception], ...] = ()
    noted: tuple[type[Exception], ...] = ()
    need: str = ""
    is_extra: bool = False


class Trial(Protocol):
    """How a runtime is tried.

    Attributes:
        check: the name of what is found of it, as `dynamic`.
        where: where its calls run, in a message, as `on tensors`.
        has_float32: whether a call as networks make them, in float32, is tried beside the others.
    """

    check: str
    where: str
    has_float32: bool

    def takes(self, opdef: OpDef) -> bool:
        """Whether there is anything of an op to compare."""
        ...

    def differentiates(self, opdef: OpDef) -> bool:
        """Whether gradients of an op are compared too."""
        ...

    def attempts(self, arrays: Sequence[Any]) -> Sequence[Attempt]:
        """Returns the ways to run a call of some inputs, the first one first."""
        ...


TRIALS: list[Trial] = []


def register_trial(trial: Trial) -> None:
    """Makes known how a runtime is tried; one of the same check takes the place of the earlier one."""
    TRIALS[:] = [*(known for known in TRIALS if known.check != trial.check), trial]

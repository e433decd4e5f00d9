"""Traits: what an op promises about itself, and of the values that its inputs and attributes may have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from opsdk.define.determinism import Repeats

# What may be declared of an input, or of an int or float attribute: the least and the greatest value, one of
# `gradcheck.domain`, or a function that gives the nearest values inside. Any: what gradcheck reads, once it is asked.
Bounds = Any


@dataclass(frozen=True)
class Traits:
    """What an op promises about itself; `verify` holds it to every one of them.

    Args:
        nondifferentiable: names of inputs and outputs that carry no gradient.
        deterministic: the same inputs give the same bits; False where they do not, or over how many means are taken.
        linear: the op is linear in its inputs.
        surrogate: the backward is not the forward's derivative; a function is the one whose derivative it is.
        domain: per input what values it may have; what was said of attributes is in their types.
        constant: those of `nondifferentiable` in which there is a derivative, that nobody is meant to ask for.
        reasons: of those of `constant` that were given one, why.
        accuracy: the error that gradients may have, as a share of their largest element; None where they are exact. Of
            a gradient op its values are meant too.
    """

    nondifferentiable: tuple[str, ...] = ()
    deterministic: bool | Repeats = True
    linear: bool = False
    surrogate: bool | Callable[..., Any] = False
    domain: Mapping[str, Bounds] = field(default_factory=dict, compare=False)
    constant: tuple[str, ...] = ()
    accuracy: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict, compare=False)


def reasons_in(nondifferentiable: Iterable[str]) -> Mapping[str, str]:
    """Returns why names that were declared carry no gradient, where that was said: of a list nothing."""
    return dict(nondifferentiable) if isinstance(nondifferentiable, Mapping) else {}


def named_by(declared: Bounds) -> tuple[str, ...]:
    """Returns the names of the inputs and attributes that a domain takes beside the values of its own input."""
    if hasattr(declared, "of"):
        return tuple(declared.of)
    if not callable(declared):
        return ()
    return tuple(p.name for p in signature(declared).parameters.values() if p.default is p.empty)[1:]

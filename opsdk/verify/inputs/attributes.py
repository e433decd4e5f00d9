"""Values of attributes that verify tries though no sample has them, inside of ranges and choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from opsdk.core.random import Generator
from opsdk.define.opdef import OpDef
from opsdk.define.schema.attribute import AttrDecl
from opsdk.verify.inputs.calls import Invented

_KEY = 2**32 + 1  # both halves count, so that a kernel which draws by no key, or by half of it, draws other numbers


# Any, in this file: values of the types of the schema language.
def needed(opdef: OpDef) -> dict[str, Any]:
    """Returns a value for each attribute that has to be given and whose type says which values there are."""
    needed = [decl for decl in opdef.schema.attrs if decl.is_required and decl.type.is_bounded]
    return {decl.name: decl.type.sample() for decl in needed} | draws(opdef, {})


def draws(opdef: OpDef, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a draw for each generator, that of the call where it is given, so that all kernels draw the same."""
    held = {name: attrs.get(name) or Generator(key) for key, name in enumerate(opdef.schema.generators, _KEY)}
    return {name: value.peek() if isinstance(value, Generator) else value for name, value in held.items()}


def others(opdef: OpDef) -> Iterator[tuple[str, Any, Invented | None]]:
    """Yields name and value of attributes beside their defaults; with it what was invented, which no type allows."""
    for decl in opdef.schema.attrs:
        is_allowed = decl.type.is_bounded
        for value in dict.fromkeys(_others(decl)):
            yield decl.name, value, None if is_allowed else Invented(decl.name, value, decl.default)


def _others(decl: AttrDecl) -> Iterator[Any]:
    kind, default = decl.type, decl.default
    held = default[0] if kind.is_list and default.__class__ is tuple and default else default
    found = [c for c in kind.choices if c != held] if kind.choices else [*_beside(kind.scalar, held)]
    if kind.range is not None and not decl.is_required and held is None:
        found = [kind.range.example(whole=kind.scalar == "int")]
    for value in found:
        if kind.range is not None and value not in kind.range:
            if kind.scalar == "int":
                continue
            low, high = kind.range.low, kind.range.high
            bound = low if low is not None and value <= low else high
            assert bound is not None
            value = (held + bound) / 2  # halfway from the default to the bound
            if value == held or value not in kind.range:
                continue
        if not kind.is_list:
            yield value
        elif kind.is_bounded:
            yield (value,) * (kind.length or (len(default) if default.__class__ is tuple and default else 2))


def _beside(scalar: str, held: Any) -> tuple[Any, ...]:
    """Returns values beside a default, of which nobody said what there are."""
    if scalar == "bool" and isinstance(held, bool):
        return (not held,)
    if scalar == "int" and isinstance(held, int):
        return (held + 1, held - 1)
    if scalar == "float" and isinstance(held, float) and np.isfinite(held):
        other = round(held * 1.7 + 0.3, 12)
        return (other, -other)
    return ()

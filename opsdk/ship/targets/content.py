"""What a file or module defines: the ops and primitives of its own, and which of them a name there means.

Its own is what is written in it or was registered while it was being loaded, as by a factory that it calls. To the op
of another it may give kernels, a backward or an infer rule, and then it is one to judge. What is merely imported is
not, unless a variable that holds it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

from opsdk.core.errors import TargetError
from opsdk.core.origin import Origin
from opsdk.core.suggest import alternatives, meant
from opsdk.define.op import REGISTRY, Op
from opsdk.expr.primitives.entry import Primitive
from opsdk.expr.primitives.own import primitive_of, primitives

Found = tuple[list[Op], list[Primitive]]


@dataclass(frozen=True)
class Content:
    """What a file or module that was loaded defines.

    Args:
        module: as it was loaded.
        where: what the user typed for it.
        is_within: whether a place in source code lies in it.
    """

    module: ModuleType
    where: str
    is_within: Callable[[Origin], bool]

    @classmethod
    def of_file(cls, module: ModuleType, where: str, path: Path) -> Content:
        """Returns the content of a file, whose path is resolved."""
        return cls(module, where, lambda place: place.file.endswith(path.name) and Path(place.file).resolve() == path)

    @classmethod
    def of_module(cls, module: ModuleType, where: str) -> Content:
        """Returns the content of a module and of the modules below it that are loaded."""
        return cls(module, where, lambda place: f"{place.module}.".startswith(f"{module.__name__}."))

    @cached_property
    def ops(self) -> list[Op]:
        """Its ops, gradient ops among them, and those of others that it gives something."""
        own = {op.opdef.name: op for op in REGISTRY if any(map(self.is_within, _places(op)))}
        for op in list(own.values()):  # a backward belongs to an op that may be another's
            while op.opdef.gradient_of is not None:
                forward = REGISTRY.get(op.opdef.gradient_of)
                if forward is None:
                    break
                own[forward.opdef.name] = op = forward
        return list(own.values())

    @cached_property
    def primitives(self) -> list[Primitive]:
        """Its primitives."""
        return [each for each in primitives() if any(p and self.is_within(p) for p in (each.origin, each.loaded_by))]

    def named(self, wanted: str) -> Found:
        """Returns the op of a name, and the primitive of the same full name.

        Args:
            wanted: the name of an op with or without its namespace, or of a variable of the module that holds one.

        Raises:
            TargetError: nothing has that name, or several of different full names have.
        """
        fitting = self._fitting(wanted)
        if len(fitting) == 1:
            ((ops, found),) = fitting.values()
            return ops[-1:], found[-1:]
        if fitting:
            names = sorted(fitting)
            raise TargetError(
                f"{self.where}:{wanted}: expected a name that fits one op, it fits {', '.join(names)}; write "
                f"{' or '.join(f'{self.where}:{name}' for name in names)}"
            )
        names = [op.opdef.schema.name for op in self.ops] + [each.function for each in self.primitives]
        near = meant(wanted, names)
        raise TargetError(
            f"{self.where}:{wanted}: expected an op defined there, got {wanted!r}; "
            f"{near}{'It' if near else 'it'} defines {alternatives(wanted, names)}"
        )

    @property
    def shared(self) -> frozenset[str]:
        """The names without a namespace that fit several here, so that each has to be named in full."""
        names = {op.opdef.schema.name for op in self.ops} | {each.function for each in self.primitives}
        return frozenset(name for name in names if len(self._fitting(name)) > 1)

    def _fitting(self, wanted: str) -> dict[str, Found]:
        """Returns what has a name, by full name; what a variable holds comes last."""
        defined: list[Op | Primitive] = [*self.ops, *self.primitives]
        own = [(_full_name(each).rpartition("::")[2], each) for each in defined]
        held = [(name, each) for name, each in self._held.items() if name == wanted or _full_name(each) == wanted]
        if wanted not in self._held and (supplied := _judged(getattr(self.module, wanted, None))):
            held.append((wanted, supplied))  # by a module's __getattr__
        fitting: dict[str, Found] = {}
        for name, each in (*own, *held):
            if wanted in (name, _full_name(each)):
                ops, found = fitting.setdefault(_full_name(each), ([], []))
                if isinstance(each, Op):
                    ops.append(each)
                else:
                    found.append(each)
        return fitting

    @cached_property
    def _held(self) -> dict[str, Op | Primitive]:
        """The ops and primitives that the variables of the module hold, which may be another's."""
        values = {name: _judged(value) for name, value in list(vars(self.module).items())}
        return {name: each for name, each in values.items() if each is not None}


def _judged(value: object) -> Op | Primitive | None:
    """Returns the op or primitive that a value is, if it is one."""
    return value if isinstance(value, Op) else primitive_of(value) if callable(value) else None


def _full_name(each: Op | Primitive) -> str:
    return each.opdef.name if isinstance(each, Op) else each.full_name


def _places(op: Op) -> Iterator[Origin]:
    """Yields where an op was written and registered, and where what it was given."""
    opdef = op.opdef
    yield opdef.origin
    if opdef.loaded_by is not None:
        yield opdef.loaded_by
    yield from (each.origin for each in (*opdef.kernels, *opdef.given))

"""Hold: what an author's kernel takes and gives, held to the op's infer rule in every call, whatever it is made of."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from opsdk.backends.call.buffers import infer
from opsdk.backends.call.language import Launch
from opsdk.backends.call.normalise import check_specs
from opsdk.core.as_written import as_key
from opsdk.define.infer import Inferred
from opsdk.define.opdef import OpDef

_MOST = 64  # combinations of shapes of which it is known what the op gives


# Any, in this file: one entry per input or output, an array, a list of arrays or None; attribute values.
class Hold:
    """The check of the outputs of one kind of call; the rule is asked once for inputs of the same shapes."""

    __slots__ = ("_known", "_opdef")

    def __init__(self, opdef: OpDef) -> None:
        self._opdef = opdef
        self._known: dict[Hashable, Inferred] = {}

    def __call__(self, outputs: Sequence[Any], inputs: Sequence[Any], attrs: Mapping[str, Any]) -> None:
        """Checks what a call gave.

        Raises:
            ArityError, ShapeError, DTypeError: it is not what the infer rule says; or whatever the rule raises.
        """
        check_specs(self._opdef, outputs, self.inferred(inputs, attrs))

    def inferred(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Inferred:
        """Returns what the rule gives, or raises what it raises."""
        try:
            known = self._known.get(_key(inputs, attrs))
        except TypeError:  # an attribute that has no hash
            known = None
        if known is None:
            known = infer(self._opdef, inputs, attrs)
            self.remember(inputs, attrs, known)
        return known

    def first(self, launch: Launch) -> Launch:
        """Returns a launch that asks the rule before it runs: what belongs together is known to nobody else."""

        def asked(*values: Any, **attrs: Any) -> Any:
            self.inferred(values, attrs)
            return launch(*values, **attrs)

        return asked

    def remember(self, inputs: Sequence[Any], attrs: Mapping[str, Any], inferred: Inferred) -> None:
        """Keeps what the rule gave."""
        if len(self._known) >= _MOST:
            self._known.clear()
        with suppress(TypeError):  # an attribute that has no hash
            self._known[_key(inputs, attrs)] = inferred


def _key(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[Hashable, ...]:
    return (*map(_sizes, inputs), *map(as_key, attrs.values()))


def _sizes(value: Any) -> Any:
    return tuple(map(_sizes, value)) if value.__class__ is list else None if value is None else value.shape

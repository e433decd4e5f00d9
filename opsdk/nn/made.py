"""Layers that are made from tables: classes whose constructors take what an entry lists."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, Signature
from typing import Any

from opsdk.nn.layer.layer import Layer

SELF = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)


# Any, in this file: defaults and values of options, and members of a class.
def options(order: str, kinds: Mapping[str, tuple[Any, ...]]) -> Signature:
    """Returns the parameters of a constructor.

    Args:
        order: their names; those behind a star are given by keyword alone, and `=None` is a default of its own.
        kinds: of each name its type, and its default where it has one.
    """
    parameters: list[Parameter] = []
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD
    for word in order.split():
        if word == "*":
            kind = Parameter.KEYWORD_ONLY
            continue
        name, _, none = word.partition("=")
        annotation, *default = (f"{kinds[name][0]} | None", None) if none else kinds[name]
        parameters.append(Parameter(name, kind, annotation=annotation, default=(*default, Parameter.empty)[0]))
    return Signature(parameters)


def made(module: str, name: str, bases: tuple[type[Layer], ...], takes: Signature, doc: str, **members: Any) -> Any:
    """Returns a class of layers, whose bases begin one by `_begin` with all options by name."""

    def start(self: Any, *args: Any, **given: Any) -> None:
        bound = takes.bind(*args, **given)
        bound.apply_defaults()
        self._begin(**bound.arguments)

    start.__module__, start.__name__, start.__qualname__ = module, "__init__", f"{name}.__init__"
    shown = takes.replace(parameters=[SELF, *takes.parameters.values()], return_annotation=None)
    start.__signature__ = shown  # type: ignore[attr-defined]
    return type(name, bases, {"__module__": module, "__doc__": doc, "__init__": start, **members})

"""The signature of an op as Python shows it: to `inspect.signature`, `help` and editors."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.define.schema.attribute import TYPE, AttrDecl
from opsdk.define.schema.schema import InputDecl, OpSchema, OutputDecl, element_type

_SCALARS: dict[str, Any] = {
    "int": int, "float": float, "bool": bool, "str": str, "complex": complex, "dtype": np.dtype,
}  # fmt: skip
_TENSORS = {"tensor": "{}", "optional": "{} | None", "list": "Sequence[{}]"}


class SignatureOf:
    """The attribute `__signature__` of ops, made when it is asked for; the class of all ops has none of its own."""

    def __get__(self, op: Any, owner: type | None = None) -> inspect.Signature:  # Any: an Op, which knows this class
        if op is None:
            raise AttributeError("__signature__")
        try:
            return signature_of(op.opdef.schema)
        except ValueError as error:  # a name that is a keyword of Python, which a schema may use
            raise AttributeError("__signature__") from error


def signature_of(schema: OpSchema) -> inspect.Signature:
    """Returns the Python signature of a schema: names, types and defaults of inputs and attributes.

    Raises:
        ValueError: a name cannot be that of a parameter in Python.
    """
    results = [_tensor(decl) for decl in schema.outputs]
    returned = results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]"
    return inspect.Signature(list(_parameters(schema)), return_annotation=returned)


def _parameters(schema: OpSchema) -> Iterator[inspect.Parameter]:
    every: list[InputDecl | AttrDecl] = [*schema.inputs, *schema.attrs]
    declared = {decl.name: decl for decl in every}
    leading = [_parameter(declared[name], inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in schema.positional]
    for position, parameter in enumerate(leading):
        if any(later.default is parameter.empty for later in leading[position:]):
            parameter = parameter.replace(default=parameter.empty)  # as what follows has to be given
        last = position == len(leading) - 1
        decl = declared[parameter.name]
        if last and isinstance(decl, InputDecl) and decl.kind == "list":
            parameter = parameter.replace(
                kind=parameter.VAR_POSITIONAL, default=parameter.empty, annotation=element_type(decl)
            )
        yield parameter
    for other in declared.values():
        if other.name not in schema.positional:
            yield _parameter(other, inspect.Parameter.KEYWORD_ONLY)


def _parameter(decl: InputDecl | AttrDecl, kind: Any) -> inspect.Parameter:  # Any: a kind, whose type is private
    if isinstance(decl, InputDecl):
        default: Any = {"optional": None, "list": ()}.get(decl.kind, inspect.Parameter.empty)
        return inspect.Parameter(decl.name, kind, default=default, annotation=_tensor(decl))
    default = inspect.Parameter.empty if decl.is_required else decl.default
    return inspect.Parameter(decl.name, kind, default=default, annotation=_annotation(decl))


def _tensor(decl: InputDecl | OutputDecl) -> str:
    return _TENSORS[decl.kind].format(element_type(decl))


def _annotation(decl: AttrDecl) -> Any:
    found = TYPE.fullmatch(decl.type)
    assert found is not None, decl.type  # the schema was checked when it was made
    scalar, is_list, is_optional = found.groups()
    made = _SCALARS[scalar]
    if is_list:
        made = tuple.__class_getitem__((made, ...))
    return made | None if is_optional else made

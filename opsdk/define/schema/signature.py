"""The schema of a Python signature: positional parameters are tensors, keyword-only ones are attributes.

And the other way, the Python signature of an op, as `inspect.signature`, `help` and editors show it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from opsdk.core.dtype import KINDS
from opsdk.core.errors import AttributeValueError, SchemaError
from opsdk.define.schema.annotation import annotation_of, attribute_type, text_of
from opsdk.define.schema.attr_type import AttrType
from opsdk.define.schema.attribute import AttrDecl
from opsdk.define.schema.parse import check_schema, split
from opsdk.define.schema.scalars import SCALARS
from opsdk.define.schema.schema import InputDecl, OpSchema, OutputDecl, ResidualDecl, TensorDecl

_SEQUENCE = r"(?:typing\.|collections\.abc\.)?(?:list|tuple|Sequence|List|Tuple)"
_ITEMS = re.compile(rf"({_SEQUENCE})(?:\[(.*)\])?", re.DOTALL)
_NO_TENSOR = {
    "bool", "bytes", "complex", "dict", "dtype", "float", "frozenset", "int", "None", "NoneType", "set", "str",
}  # fmt: skip
_ARRAY = re.compile(r"(?:\w+\.)*(?:NDArray\[|ndarray\[.*\bdtype\[)([^\[\]]*)\]+", re.DOTALL)
_ABSTRACT = {
    "integer": ("int",), "signedinteger": ("int",), "unsignedinteger": ("int",), "floating": ("float",),
    "complexfloating": ("complex",), "inexact": ("float", "complex"), "number": ("int", "float", "complex"),
    "bool_": ("bool",), "bool": ("bool",),
}  # fmt: skip
_KNOWN = ", ".join(scalar.annotation for scalar in SCALARS.values())
_NUMBERS = {"complex", "float", "int"}  # what a function of scalars may say of its parameters and result


# Any: a callable of any signature; the signature is what is read here.
def schema_of(
    function: Callable[..., Any],
    namespace: str,
    name: str,
    *,
    of_scalars: bool = False,
    residuals: tuple[ResidualDecl, ...] = (),
) -> OpSchema:
    """Returns the schema of a reference function; its single output is called `y`.

    `x` is a tensor, `w=None` an optional tensor, `*xs` a list of tensors; `*, beta: float = 1.0` an attribute. Of a
    tensor `NDArray[np.integer]` says what `Tensor<int>` does. In a function of scalars tensors may be annotated as
    numbers, which it sees them as.

    Raises:
        SchemaError: the signature cannot be read as a schema.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise SchemaError(f"op {name!r}: {function!r} has no readable signature; write the schema as text") from error
    inputs: list[InputDecl] = []
    attrs: list[AttrDecl] = []
    known = getattr(getattr(function, "py_func", function), "__globals__", {})
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY:
            attrs.append(_attribute(parameter, name, known))
        elif parameter.kind is parameter.VAR_KEYWORD:
            raise SchemaError(f"op {name!r}: expected named attributes, got '**{parameter.name}'; list them after '*'")
        else:
            inputs.append(_input(parameter, name))
    output = "y" if "y" not in [*(decl.name for decl in inputs), *(decl.name for decl in attrs)] else "out"
    made = OutputDecl(output, elements=elements_of(_annotations(function).get("return")))
    positional = tuple(decl.name for decl in inputs)
    schema = OpSchema(namespace, name, tuple(inputs), tuple(attrs), (made,), positional=positional, residuals=residuals)
    check_schema(schema)
    check_annotations(function, schema, of_scalars=of_scalars)
    return schema


def check_annotations(function: Callable[..., Any], schema: OpSchema, *, of_scalars: bool = False) -> None:
    """Checks that what a function says of its tensors and its results, where it says something, is what the schema has.

    Raises:
        SchemaError: a tensor is annotated as a number or text, or the result as one, as nothing or as another count;
            or elements of another kind than the schema declares.
    """
    told = _annotations(function)
    known = _NO_TENSOR - (_NUMBERS if of_scalars else set())
    for name in schema.input_names:
        text = text_of(told.get(name, ""))
        held = _ITEMS.fullmatch(text)
        kind = str(attribute_type(text) or "")
        is_plain = bool(kind) and (kind in known or kind not in _NUMBERS)
        if is_plain or (held and any(item in known for item in _items(held[2]))):
            raise SchemaError(
                f"op {schema.name!r}: parameter {name!r} expected an array, since it is a tensor, got the annotation "
                f"{text}; put '*' before it to make it an attribute, or correct the annotation"
            )
    for decl in schema.inputs:
        found = elements_of(told.get(decl.name))
        if decl.elements and found and set(found).isdisjoint(decl.elements):
            raise SchemaError(
                f"op {schema.name!r}: parameter {decl.name!r} expected {decl.element_type}, as its schema declares, "
                f"got the annotation {text_of(told[decl.name])}; correct one of them"
            )
    made = [schema.whole.outputs[i] for i in schema.whole.fresh_outputs]  # an input that is changed is not returned
    if "return" not in told or not made:
        return
    text = text_of(told["return"])
    held = _ITEMS.fullmatch(text)
    is_tuple = held is not None and held[1].lower().endswith("tuple")
    items = _items(held[2]) if held is not None else [text]
    has_list = any(decl.kind == "list" for decl in made)
    is_right = held is None or has_list or (is_tuple and len(items) == len(made) > 1) or not items
    objects = [decl.kind == "object" for decl in made] if len(items) == len(made) else [False] * len(items)
    if not is_right or any(item in known and not free for item, free in zip(items, objects, strict=True)):
        names = ", ".join(decl.name for decl in made)
        raise SchemaError(
            f"op {schema.name!r}: return annotation expected an array for each of {names}, such as np.ndarray, got "
            f"{text}; correct it, or write the schema as text, which names several results"
        )


def _annotations(function: Any) -> dict[str, Any]:
    inner = getattr(function, "py_func", getattr(function, "func", function))
    inner = inner if hasattr(inner, "__code__") else getattr(type(inner), "__call__", inner)  # noqa: B004
    found: dict[str, Any] = getattr(inner, "__annotations__", {})
    return found


def _input(parameter: inspect.Parameter, op: str) -> InputDecl:
    elements, text = elements_of(parameter.annotation), text_of(parameter.annotation)
    is_listed = re.match(_SEQUENCE + r"\b", text)
    if parameter.kind is parameter.VAR_POSITIONAL or is_listed:
        held = _ITEMS.fullmatch(text) if is_listed else None
        items = [text] if held is None else _items(held[2])
        return InputDecl(parameter.name, "list", elements=elements, holes=any(map(_may_be_none, items)))
    if parameter.default is None:
        return InputDecl(parameter.name, "optional", elements=elements)
    if parameter.default is not parameter.empty:
        raise SchemaError(
            f"op {op!r}: parameter {parameter.name!r} has the default {parameter.default!r}, but positional parameters "
            f"are tensors; put '*' before it to make it an attribute"
        )
    return InputDecl(parameter.name, elements=elements)


def _may_be_none(annotation: str) -> bool:
    return "None" in split(annotation, "|") or re.match(r"(?:typing\.)?Optional\[", annotation) is not None


# Any: whatever stands behind a colon or an arrow.
def elements_of(annotation: Any) -> tuple[str, ...]:
    """Returns which elements an annotation says that an array has: `NDArray[np.integer]` is `int`; none of others.

    A dtype, as in `NDArray[np.float64]`, says nothing: which are served is up to the kernels.
    """
    text = text_of(annotation).replace("[Any]", "").strip()
    optional = re.fullmatch(r"Optional\[(.+)\]", text, re.DOTALL)
    words: set[str] = set()
    for choice in split(optional[1] if optional else text, "|"):
        held = _ITEMS.fullmatch(choice)
        array = _ARRAY.fullmatch(choice)
        if held:
            found = [elements_of(item) for item in _items(held[2])]
        elif array:
            found = [_ABSTRACT.get(name.strip().rpartition(".")[2], ()) for name in array[1].split("|")]
        else:
            found = [] if choice != "None" else [("",)]
        if not found or not all(found):
            return ()
        words.update(*found)
    return tuple(word for word in KINDS if word in words)


def _attribute(parameter: inspect.Parameter, op: str, known: Mapping[str, Any]) -> AttrDecl:
    try:
        kind = attribute_type(parameter.annotation, known)
    except SchemaError as error:
        raise SchemaError(f"op {op!r}, attribute {parameter.name!r}: {error}") from None
    text = text_of(parameter.annotation)
    # A type, and none of the schema language: what the default is says less than its author meant.
    is_other = text in _NO_TENSOR or _ITEMS.fullmatch(text) or text.startswith("Literal[")
    if kind is None and not is_other and parameter.default is not parameter.empty:
        kind = _type_of_value(parameter.default)
    if kind is None:
        raise SchemaError(
            f"op {op!r}: attribute {parameter.name!r} expected an annotation ({_KNOWN}, list[int], Literal['a', 'b'], "
            f"or one of them with '| None'), got {parameter.annotation!r}"
        )
    decl = AttrDecl(parameter.name, kind)
    if parameter.default is parameter.empty:
        return decl
    try:
        return decl.with_default(parameter.default, f"op {op!r}")
    except AttributeValueError as error:
        raise SchemaError(
            f"op {op!r}: default of attribute {parameter.name!r} expected {kind}, got {parameter.default!r}"
        ) from error


def _items(text: str | None) -> list[str]:
    """Returns the types in brackets, one by one."""
    return [part for part in split(text or "") if part not in ("", "...")]


def _type_of_value(value: Any) -> AttrType | None:
    if isinstance(value, (tuple, list)) and value:
        inner = _type_of_value(value[0])
        return replace(inner, is_list=True) if inner is not None else None
    found = [name for name, scalar in SCALARS.items() if isinstance(value, scalar.python)]
    name = "bool" if "bool" in found else next(iter(found), None)
    return None if name is None else AttrType(name)


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
                kind=parameter.VAR_POSITIONAL, default=parameter.empty, annotation=_one(decl)
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
    annotation = annotation_of(decl.type)
    return inspect.Parameter(decl.name, kind, default=default, annotation=annotation)


def _tensor(decl: TensorDecl) -> str:
    return f"Sequence[{_one(decl)}]" if decl.kind == "list" else _one(decl)


def _one(decl: TensorDecl) -> str:
    return f"{decl.element_type} | None" if decl.may_lack else decl.element_type

"""OpSchema: the signature of an op, the contract that every layer quotes, and the check of the values of attributes.

The language is a subset of PyTorch's function schema. `parse_schema` and `str(schema)` are inverse to one another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from opsdk.core.dtype import KINDS, as_dtype
from opsdk.core.errors import AttributeValueError, DTypeError, SchemaError
from opsdk.core.fit import shown
from opsdk.core.nested import flat
from opsdk.core.spec import OpenSize, TensorSpec

SCALARS = ("int", "float", "bool", "str", "complex", "dtype")
_EXAMPLES = {"int": "2", "float": "0.5", "bool": "True", "str": '"text"', "complex": "1j", "dtype": '"float32"'}
# Of attributes that only gradient ops have, and which runtimes give: a residual, and what is kept of an input's array.
OBJECT, SPEC = "object", "spec"
TYPE = re.compile(rf"({'|'.join(SCALARS)})(\[\])?(\?)?")


@dataclass(frozen=True)
class TensorDecl:
    """One tensor parameter or result.

    `kind` is `tensor`, `optional` (None may be passed) or `list` (any number of tensors). Inputs and outputs with the
    same `alias` letter may share memory; `mutated` inputs are changed in place. `elements` are the words of
    `core.dtype.KINDS` for the dtypes that it may have; any where there are none.
    """

    name: str
    kind: str = "tensor"
    alias: str | None = None
    mutated: bool = False
    elements: tuple[str, ...] = ()

    @property
    def element_type(self) -> str:
        """`Tensor`, or `Tensor<int>` of one whose elements are declared."""
        return f"Tensor<{'|'.join(self.elements)}>" if self.elements else "Tensor"

    @property
    def expected_elements(self) -> str:
        """What a message expects of a tensor whose elements are declared, as `integers or bools`."""
        return " or ".join(KINDS[word][0] for word in self.elements)

    def __str__(self) -> str:
        mark = f"({self.alias}{'!' if self.mutated else ''})" if self.alias else ""
        if self.kind == OBJECT:
            return f"object {self.name}"
        kind, default = {"tensor": ("", ""), "optional": ("?", "=None"), "list": ("[]", "")}[self.kind]
        return f"{self.element_type}{mark}{kind} {self.name}{default}"


class InputDecl(TensorDecl):
    """One tensor parameter."""


class OutputDecl(TensorDecl):
    """One result: a tensor, or a list of tensors whose length the inputs decide."""

    role = "output"


class ResidualDecl(OutputDecl):
    """What a kernel gives beside the results for the backward alone: a tensor, or an object of Python (`object`)."""

    role = "residual"


def of_integers(schema: OpSchema, names: Sequence[str]) -> OpSchema:
    """Returns the schema with inputs, by name, declared as whole numbers."""
    inputs = tuple(replace(decl, elements=("int",)) if decl.name in names else decl for decl in schema.inputs)
    return replace(schema, inputs=inputs) if names else schema


class _Required:
    """The default of an attribute that has none."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


@dataclass(frozen=True)
class AttrDecl:
    """One attribute: a scalar type, possibly a list (`int[]`) or optional (`int?`), and its default.

    Those of a gradient op may be OBJECT or SPEC. The default is Any: it is a value of the declared type, or REQUIRED.
    """

    name: str
    type: str
    default: Any = REQUIRED

    @property
    def is_required(self) -> bool:
        """Whether a call must give the attribute."""
        return self.default is REQUIRED

    def __str__(self) -> str:
        text = f"{self.type} {self.name}"
        return text if self.is_required else f"{text}={literal(self.default)}"


# Any, of an attribute: a value of one of the types of SCALARS, a tuple of them, or None.
def literal(value: Any) -> str:
    """Returns a default as the schema language writes it."""
    if isinstance(value, tuple):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    if isinstance(value, np.dtype):
        return str(value.name)
    return repr(value)


@dataclass(frozen=True)
class OpSchema:
    """The signature of an op.

    Args:
        namespace, name, version: together the identity, printed `namespace::name@version`.
        inputs: tensor parameters in order.
        attrs: attributes in order; those not in `positional` are keyword-only.
        outputs: results in order.
        positional: names of all parameters that may be passed by position, in order.
        residuals: what kernels give after the outputs, in order, which only a backward sees.
    """

    namespace: str
    name: str
    inputs: tuple[InputDecl, ...]
    attrs: tuple[AttrDecl, ...]
    outputs: tuple[OutputDecl, ...]
    version: int = 1
    positional: tuple[str, ...] = field(default=())
    residuals: tuple[ResidualDecl, ...] = ()

    def __post_init__(self) -> None:
        for role, word in (("namespace", self.namespace), ("name", self.name)):
            if not isinstance(word, str) or not word.isidentifier():
                raise SchemaError(
                    f"op '{self.namespace}::{self.name}': {role} expected letters, digits and underscores, and no "
                    f"digit first, got {word!r}; a version goes into a schema as text, 'namespace::name@2(...) -> ...'"
                )

    @cached_property
    def qualified_name(self) -> str:
        """`namespace::name`, the name used in messages."""
        return f"{self.namespace}::{self.name}"

    @cached_property
    def subject(self) -> str:
        """The op as messages name it."""
        return f"op {self.qualified_name!r}"

    @property
    def identity(self) -> str:
        """`namespace::name@version`, the name used in files."""
        return f"{self.qualified_name}@{self.version}"

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of the tensor inputs, in order."""
        return tuple(decl.name for decl in self.inputs)

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Names of the results, in order."""
        return tuple(decl.name for decl in self.outputs)

    @cached_property
    def residual_names(self) -> tuple[str, ...]:
        """Names of the residuals, in order."""
        return tuple(decl.name for decl in self.residuals)

    @cached_property
    def whole(self) -> OpSchema:
        """The signature as kernels see it, with the residuals behind the outputs."""
        return replace(self, outputs=(*self.outputs, *self.residuals), residuals=()) if self.residuals else self

    @cached_property
    def attr_names(self) -> tuple[str, ...]:
        """Names of the attributes, in order."""
        return tuple(decl.name for decl in self.attrs)

    @cached_property
    def list_attrs(self) -> tuple[str, ...]:
        """Names of the attributes that are lists, in order."""
        return tuple(decl.name for decl in self.attrs if "[]" in decl.type)

    @cached_property
    def nondifferentiable(self) -> tuple[str, ...]:
        """Names of the inputs and outputs whose elements are declared as whole numbers or truth values."""
        every: tuple[TensorDecl, ...] = (*self.inputs, *self.outputs)
        return tuple(decl.name for decl in every if decl.elements and {"int", "bool"}.issuperset(decl.elements))

    # Any: one value of any kind per input, or a list of them, or None.
    def deciding(self, values: Sequence[Any]) -> Any:
        """Returns the value whose dtype decides which kernel serves a call; None where all inputs are absent.

        That is the first one, and not that of an input declared as whole numbers or truth values, such as an index,
        while there is another.
        """
        present = [
            (decl.name in self.nondifferentiable, item)
            for decl, value in zip(self.inputs, values, strict=True)
            for item in flat(value)
        ]
        return next((item for is_whole, item in present if not is_whole), present[0][1] if present else None)

    @cached_property
    def mutated_inputs(self) -> tuple[int, ...]:
        """Positions of the inputs that are changed in place."""
        return tuple(i for i, decl in enumerate(self.inputs) if decl.mutated)

    @cached_property
    def fresh_outputs(self) -> tuple[int, ...]:
        """Positions of the outputs that a kernel returns; the others are mutated inputs, handed on."""
        return tuple(i for i, decl in enumerate(self.outputs) if not decl.mutated)

    @cached_property
    def is_variadic(self) -> bool:
        """Whether the last input is a list."""
        return bool(self.inputs) and self.inputs[-1].kind == "list"

    @cached_property
    def required_inputs(self) -> int:
        """How many inputs a call by position gives at least, with only optional ones behind them.

        More than there are where attributes stand between inputs.
        """
        count = len(self.inputs)
        if self.positional[:count] != self.input_names:
            return count + 1
        return next((i for i in range(count, 0, -1) if self.inputs[i - 1].kind != "optional"), 0)

    def mutated_source(self, output: int) -> int:
        """Returns the position of the input that a mutated output hands on."""
        alias = self.outputs[output].alias
        return next(i for i in self.mutated_inputs if self.inputs[i].alias == alias)

    def aliased_sources(self, output: int) -> tuple[int, ...]:
        """Returns the positions of the inputs whose memory an output may share."""
        alias = self.outputs[output].alias
        return tuple(i for i, decl in enumerate(self.inputs) if alias is not None and decl.alias == alias)

    def attr(self, name: str) -> AttrDecl:
        """Returns the declaration of an attribute."""
        return self.attrs[self.attr_names.index(name)]

    def __str__(self) -> str:
        texts = {decl.name: str(decl) for decl in self.inputs} | {decl.name: str(decl) for decl in self.attrs}
        parts = [texts[name] for name in self.positional]
        keyword_only = [str(decl) for decl in self.attrs if decl.name not in self.positional]
        if keyword_only:
            parts += ["*", *keyword_only]
        outputs = ", ".join(str(decl) for decl in self.outputs)
        if len(self.outputs) != 1:
            outputs = f"({outputs})"
        residuals = f", residuals ({', '.join(map(str, self.residuals))})" if self.residuals else ""
        return f"{self.identity}({', '.join(parts)}) -> {outputs}{residuals}"


def coerce(decl: AttrDecl, value: Any, subject: str) -> Any:
    """Returns `value` in the attribute's own type: NumPy scalars become Python's, lists become tuples.

    Raises:
        AttributeValueError: the value is not of the declared type.
        ProgramError: it is, or holds, a size that is known only when a Program runs.
    """
    if decl.type in (OBJECT, SPEC):
        return value if decl.type == OBJECT else checked_spec(decl.name, value, subject)
    scalar, is_list, is_optional = parts_of(decl.type)
    if value is None and is_optional:
        return None
    if is_list:
        is_plain = scalar == "int" and value.__class__ in (list, tuple) and set(map(type, value)) <= _INTEGERS
        if is_plain and (not value or -_END <= min(value) <= max(value) < _END):
            return tuple(value)
        if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1):
            items = [_scalar(scalar, item) for item in value]
            if not any(item is _BAD for item in items):  # `in` would ask a dtype whether it equals _BAD
                return tuple(items)
        elif _scalar(scalar, value) is not _BAD and scalar == "int":
            return (_scalar(scalar, value),)  # axis=1 where axes are a list, as NumPy has it
    else:
        item = _scalar(scalar, value)
        if item is not _BAD:
            return item
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(item, OpenSize):
            raise item.unknown(f"a number for {subject}, attribute {decl.name!r}")
        is_whole = isinstance(item, (int, np.integer)) and not isinstance(item, bool)
        if is_whole and scalar in _HELD and _scalar(scalar, item) is _BAD:
            raise AttributeValueError(
                f"{subject}: attribute {decl.name!r} expected {decl.type}, {_HELD[scalar]}, got {shown(item)}; pass it "
                "as an input of its own dtype",
                details={"attribute": decl.name, "got": value},
            )
    if is_list and isinstance(value, tuple):
        value = list(value)  # as a list is written, of which a call has made a tuple
    raise AttributeValueError(
        f"{subject}: attribute {decl.name!r} expected {decl.type}, got {value!r} ({type(value).__name__}); "
        f"write {decl.name}={f'[{_EXAMPLES[scalar]}]' if is_list else _EXAMPLES[scalar]} or the like",
        details={"attribute": decl.name, "got": value},
    )


def checked_spec(name: str, value: Any, subject: str) -> Any:
    """Returns what was given as the spec of an input: a TensorSpec, a list of them, or None of an absent one.

    Raises:
        AttributeValueError: it is something else.
    """
    for item in value if isinstance(value, list) else [value]:
        if item is not None and not isinstance(item, TensorSpec):
            raise AttributeValueError(
                f"{subject}: {name} expected an opsdk.TensorSpec, got {item!r}; write "
                f"{name}=opsdk.TensorSpec(shape, dtype)"
            )
    return value


def freeze(attrs: dict[str, Any], lists: Sequence[str]) -> None:
    """Makes tuples of the lists and arrays among the attributes of a call: plans and nodes keep what owners may change.

    Args:
        attrs: those given, in a dict of the call's own.
        lists: names of the attributes that are lists.
    """
    for name in lists:
        value = attrs.get(name)
        if isinstance(value, list):
            attrs[name] = tuple(value)
        elif isinstance(value, np.ndarray) and value.ndim == 1:
            attrs[name] = tuple(value.tolist())


@cache
def parts_of(text: str) -> tuple[str, bool, bool]:
    """Returns the scalar type of an attribute's, whether it is a list of such, and whether it may be None."""
    match = TYPE.fullmatch(text)
    assert match is not None, text  # the schema was checked when it was made
    scalar, is_list, is_optional = match.groups()
    return scalar, bool(is_list), bool(is_optional)


_BAD = object()
_INTEGERS = {int}
_END = 2**63  # of int, which is 64 bits wide in every kernel
_HELD = {
    "int": "a whole number from -2**63 to 2**63 - 1",
    "float": "a number that float64 holds",
    "complex": "a number that complex128 holds",
}
_NUMBERS: dict[str, tuple[Any, tuple[type, ...]]] = {
    "float": (float, (int, float, np.integer, np.floating)),
    "complex": (complex, (int, float, complex, np.number)),
}


def _scalar(kind: str, value: Any) -> Any:
    is_bool = isinstance(value, (bool, np.bool_))
    if kind == "bool":
        return bool(value) if is_bool else _BAD
    if kind == "int":
        return int(value) if isinstance(value, (int, np.integer)) and not is_bool and -_END <= value < _END else _BAD
    if kind in _NUMBERS:
        made, kinds = _NUMBERS[kind]
        try:
            found = made(value) if isinstance(value, kinds) and not is_bool else _BAD
        except OverflowError:  # a whole number beyond all floats
            return _BAD
        return _BAD if isinstance(value, (int, np.integer)) and found != int(value) else found  # it was rounded
    if kind == "str":
        return str.__str__(value) if isinstance(value, str) else _BAD  # of an enumeration the text, not its name
    try:
        return as_dtype(value)
    except DTypeError:
        return _BAD

"""OpSchema: the signature of an op, the contract that every layer quotes.

The language is a subset of PyTorch's function schema. `parse_schema` and `str(schema)` are inverse to one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from opsdk.core.dtype import KINDS
from opsdk.core.errors import SchemaError
from opsdk.core.nested import flat
from opsdk.define.schema.attribute import AttrDecl
from opsdk.define.schema.scalars import OBJECT


@dataclass(frozen=True)
class TensorDecl:
    """One tensor parameter or result.

    `kind` is `tensor`, `optional` (it may be None) or `list` (any number of tensors; None in places if it has
    `holes`). Inputs and outputs with the same `alias` letter may share memory; `mutated` inputs are changed in place.
    `elements` are the words of `core.dtype.KINDS` for the dtypes that it may have; any where there are none.
    """

    name: str
    kind: str = "tensor"
    alias: str | None = None
    mutated: bool = False
    elements: tuple[str, ...] = ()
    holes: bool = False

    @property
    def may_lack(self) -> bool:
        """Whether it may be None, or a tensor of it where it is a list."""
        return self.holes or self.kind == "optional"

    @property
    def type(self) -> str:
        """What stands in front of the name, but for the letter: `Tensor`, `Tensor?`, `Tensor<int>[]`, `Tensor?[]`."""
        return f"{self.element_type}{'?' if self.may_lack else ''}{'[]' if self.kind == 'list' else ''}"

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
        return f"{self.element_type}{mark}{self.type.removeprefix(self.element_type)} {self.name}"


class InputDecl(TensorDecl):
    """One tensor parameter."""

    def __str__(self) -> str:
        return f"{super().__str__()}{'=None' if self.kind == 'optional' else ''}"


class OutputDecl(TensorDecl):
    """One result: a tensor, or a list of tensors whose length the inputs decide.

    An optional one is None in calls of which the infer rule says None: inputs that are absent, or attributes, decide;
    so is a tensor of a list with holes.
    """

    role = "output"


class ResidualDecl(OutputDecl):
    """What a kernel gives beside the results for the backward alone: a tensor, or an object of Python (`object`)."""

    role = "residual"


def of_integers(schema: OpSchema, names: Sequence[str]) -> OpSchema:
    """Returns the schema with inputs, by name, declared as whole numbers."""
    inputs = tuple(replace(decl, elements=("int",)) if decl.name in names else decl for decl in schema.inputs)
    return replace(schema, inputs=inputs) if names else schema


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
        return tuple(decl.name for decl in self.attrs if decl.type.is_list)

    @cached_property
    def generators(self) -> tuple[str, ...]:
        """Names of the attributes that are generators, of which each call takes a draw."""
        return tuple(decl.name for decl in self.attrs if decl.type.is_random)

    @cached_property
    def callables(self) -> tuple[str, ...]:
        """Names of the attributes that are callables, or lists of them."""
        return tuple(decl.name for decl in self.attrs if decl.type.is_callable)

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

"""Explanations: which kernel of an op would run for a call, why no other would, what is saved, what the gradient is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opsdk.backends.call.constant import as_constant, dtype_for
from opsdk.backends.call.language import is_usable, language_of, missing_packages
from opsdk.backends.memory.device import place_of
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import OpsdkError
from opsdk.core.nested import flat
from opsdk.core.spec import TensorSpec
from opsdk.define.call import bind, complete_attrs
from opsdk.define.gradient import asked_of
from opsdk.define.infer import Specs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.sizes import size_function
from opsdk.define.op import Op, find_op
from opsdk.define.opdef import OpDef
from opsdk.define.schema.scalars import OBJECT
from opsdk.define.schema.schema import InputDecl, TensorDecl
from opsdk.expr.formula import as_written, formulas
from opsdk.expr.scalar import scalar_of, static_of


@dataclass(frozen=True)
class RowVerdict:
    """One kernel of an op, and what becomes of it in a call.

    Attributes:
        row: language, place and dtype.
        origin: where it was written.
        is_chosen: whether it runs.
        reason: why, or why not.
    """

    row: str
    origin: str
    is_chosen: bool
    reason: str

    def __str__(self) -> str:
        return f"{'→' if self.is_chosen else ' '} {self.row:<24} {self.reason}  [{self.origin}]"


@dataclass(frozen=True)
class Explanation:
    """What a call of an op comes to; `print` it.

    Attributes:
        call: the op with the specs of its inputs.
        rows: a verdict per kernel, the one that runs first.
        results: the specs of the outputs, or why there are none.
        saves: what the forward keeps for the backward, with its bytes.
        formulas: what is computed, where the op is an expression.
        gradient: the same of the gradient op; None where there is none, where no input carries one, or of a gradient.
    """

    call: str
    rows: tuple[RowVerdict, ...]
    results: tuple[str, ...]
    saves: tuple[str, ...]
    formulas: tuple[str, ...]
    gradient: Explanation | None

    @property
    def chosen(self) -> str | None:
        """The kernel that runs, as `language (place, dtype)`; None where the call has none."""
        return next((verdict.row for verdict in self.rows if verdict.is_chosen), None)

    def __str__(self) -> str:
        lines = [self.call, *(f"  {verdict}" for verdict in self.rows)]
        if self.chosen is None:
            lines.append("  no kernel serves this call")
        lines += [f"    gives    {text}" for text in self.results]
        lines += [f"    computes {text}" for text in self.formulas]
        lines += [f"    saves    {', '.join(self.saves) or 'nothing'}"] if self.gradient is not None else []
        return "\n".join([*lines, *(["", str(self.gradient)] if self.gradient is not None else [])])


# Any, in this file: inputs are specs, arrays, tensors, numbers or lists of them; attribute values.
def explain(op: Op | str, *inputs: Any, **attrs: Any) -> Explanation:
    """Explains a call without running or compiling anything.

    Args:
        op: the op, or its name.
        inputs: what it would be called with: `TensorSpec`s, arrays, tensors, numbers or lists of numbers.
        attrs: its attributes.

    Returns:
        The kernel that would run, why every other would not, what is saved, and the gradient's kernels; of an
        expression also the formula, and that of its derivative.

    Raises:
        UnknownOpError: no op has that name.
        ArityError, AttributeValueError, DTypeError: the op cannot be called so.

    Example:
        >>> import opsdk
        >>> print(opsdk.explain("relu", opsdk.TensorSpec([2, 3], "int64")).chosen)
        numpy (cpu, *)
    """
    opdef = (find_op(op) if isinstance(op, str) else op).opdef
    args, given = bind(opdef, inputs, attrs)
    beside = next((item.dtype for item in flat(args) if hasattr(item, "dtype")), None)
    places = [place_of(getattr(item, "_array", item)).kind for item in flat(args)]
    specs = [
        [_spec(opdef, decl, beside, item) for item in value]
        if decl.kind == "list"
        else _spec(opdef, decl, beside, value)
        for decl, value in zip(opdef.schema.inputs, args, strict=True)
    ]
    place = next((kind for kind in places if kind != "cpu"), "cpu")
    return _explanation(opdef, specs, complete_attrs(opdef, given), place, with_gradient=True)


def _explanation(
    opdef: OpDef, specs: Specs, attrs: Mapping[str, Any], place: str, *, with_gradient: bool
) -> Explanation:
    dtypes = [spec.dtype for spec in flat(specs)]
    deciding = opdef.schema.deciding(specs)
    first = None if deciding is None else deciding.dtype
    ranked = dtypes if first is None else [first, *dtypes]
    chosen = opdef.kernels.select(place, first, dtypes, is_usable if place == "cpu" else None)
    if chosen is None and place != "cpu":
        chosen = opdef.kernels.reference()  # it runs on the device's arrays themselves
    verdicts = [
        RowVerdict(str(row), str(row.origin), row is chosen, _reason(opdef, row, chosen, place, ranked))
        for row in opdef.kernels
    ]
    made, results = _outputs(opdef, specs, attrs)
    count = len(opdef.schema.outputs)
    held = {"input": specs, "output": made[:count], "residual": made[count:]}
    gradient = _gradient(opdef, held, attrs, place) if with_gradient else None
    return Explanation(
        call=f"{opdef.name}({', '.join(_named(opdef.schema.input_names, specs))})",
        rows=tuple(sorted(verdicts, key=lambda verdict: not verdict.is_chosen)),
        results=results,
        saves=() if gradient is None else _saves(opdef, held),
        formulas=_formulas(opdef, attrs, is_whole=all(dtype.kind in "biu" for dtype in dtypes)),
        gradient=gradient,
    )


def _reason(opdef: OpDef, row: Kernel, chosen: Kernel | None, place: str, dtypes: Sequence[np.dtype[Any]]) -> str:
    """Returns why a kernel runs, or what speaks against it first; the dtype that decides comes first."""
    if row is chosen:
        return _why_chosen(opdef, row, place, dtypes)
    if row.key.place != place:
        return f"is for {row.key.place}, the inputs are at {place}"
    if not row.key.serves(place, dtypes[0] if dtypes else None, dtypes):
        got = ", ".join(dict.fromkeys(dtype.name for dtype in dtypes)) or "no tensor"
        if row.key.floating:
            return f"serves real numbers of which one is floating, got {got}"
        whole = opdef.schema.nondifferentiable
        which = "the first input" + (f" beside {', '.join(sorted(whole))}" if whole else "")
        return f"serves {row.key.dtype} as the dtype of {which}, got {dtypes[0] if dtypes else got}"
    missing = missing_packages(row)
    if missing:
        return f"needs {' and '.join(missing)}, not installed"
    assert chosen is not None, row  # it serves the call, so that something was chosen
    if chosen.key.dtype is not None and row.key.dtype is None:
        return f"{chosen} is for exactly this dtype"
    if row.is_reference and not chosen.is_reference:
        return "the reference; a faster kernel serves this call"
    return f"superseded by {chosen}, which came later"


def _why_chosen(opdef: OpDef, row: Kernel, place: str, dtypes: Sequence[np.dtype[Any]]) -> str:
    language = language_of(row)
    lacking = language.lacking(opdef, row, dtypes)
    if lacking:
        return f"runs, and fails: {lacking}"
    if row.key.place != place:
        return f"runs, on arrays at {place} as they are"
    decides = size_function(row)
    return f"runs, {decides or language.manner}" if decides or language.manner else "runs"


def _outputs(opdef: OpDef, specs: Specs, attrs: Mapping[str, Any]) -> tuple[Sequence[Any], tuple[str, ...]]:
    """Returns the specs of the outputs and their text; where the infer rule refuses the call, its message."""
    schema = opdef.schema.whole
    try:
        inferred = opdef.infer(schema, specs, attrs)
    except OpsdkError as error:
        return [None] * len(schema.outputs), (f"an error: {error}",)
    return inferred, _named(opdef.schema.output_names, inferred[: len(opdef.schema.outputs)])


def _saves(opdef: OpDef, held: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    """Returns what a call keeps, with its bytes where shapes are known; of an object nobody knows how large it is."""
    rule, schema = opdef.grad, opdef.schema
    assert rule is not None
    decls: dict[str, Sequence[TensorDecl]] = {
        "input": schema.inputs, "output": schema.outputs, "residual": schema.residuals
    }  # fmt: skip
    kept = [(kind, decls[kind][i], held[kind][i]) for kind in decls for i in rule.saves(kind)]
    return tuple(f"{kind} {decl.name}{_size(decl, spec)}" for kind, decl, spec in kept)


def _size(decl: TensorDecl, spec: TensorSpec | list[TensorSpec] | None) -> str:
    if decl.kind == OBJECT:
        return " (an object)"
    specs = flat(spec)
    if not specs or any(None in one.shape for one in specs):
        return ""
    return f" ({sum(math.prod(one.shape) * one.dtype.itemsize for one in specs)} bytes)"


def _gradient(
    opdef: OpDef, held: Mapping[str, Sequence[Any]], attrs: Mapping[str, Any], place: str
) -> Explanation | None:
    rule, specs = opdef.grad, held["input"]
    if rule is None or not any(is_differentiable(spec.dtype) for i in rule.wrt for spec in flat(specs[i : i + 1])):
        return None
    pools = {**held, "cotangent": held["output"]}
    read = [pools[source.kind][source.position] for source in rule.sources]
    gradient = rule.op.opdef
    given = {name: attrs[name] for name in rule.attrs}
    given |= {name: specs[i] for name, i in asked_of(gradient) if i < len(specs)}
    given |= {name: None for name, _ in rule.objects}
    given |= {name: () for name in (rule.mask, rule.given) if name is not None}
    return _explanation(gradient, read, complete_attrs(gradient, given), place, with_gradient=False)


def _formulas(opdef: OpDef, attrs: Mapping[str, Any], *, is_whole: bool) -> tuple[str, ...]:
    source = scalar_of(opdef)
    if source is None:
        return ()
    seen = {name: value for name, value in attrs.items() if name in source.attrs}
    expression = source.expression(static_of(seen))
    return formulas(as_written(expression) if is_whole else expression, opdef.schema.output_names)


def _spec(opdef: OpDef, decl: InputDecl, beside: Any, value: Any) -> Any:
    if value is None or isinstance(value, TensorSpec):
        return value
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return TensorSpec(tuple(value.shape), value.dtype)
    return TensorSpec.of(as_constant(value, dtype_for(decl, beside), f"{opdef.subject}, input {decl.name!r}"))


def _named(names: Sequence[str], specs: Specs) -> tuple[str, ...]:
    return tuple(f"{name}: {_text(spec)}" for name, spec in zip(names, specs, strict=True))


def _text(spec: TensorSpec | list[TensorSpec] | None) -> str:
    if isinstance(spec, list):
        return f"[{', '.join(map(_text, spec))}]"
    if spec is None:
        return "none"
    return f"{spec.dtype.name}[{', '.join('?' if dim is None else str(dim) for dim in spec.shape)}]"

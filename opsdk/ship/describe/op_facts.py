"""What there is to say about one op: signature, formulas, what is saved, kernels, promises; for `show` and `doc`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any

import numpy as np

from opsdk.backends.inspect.explain import explain
from opsdk.core.errors import OpsdkError
from opsdk.core.nested import each
from opsdk.core.origin import origin_of, shorten
from opsdk.core.spec import TensorSpec
from opsdk.define.call import complete_attrs
from opsdk.define.gradient import GradientInfer
from opsdk.define.infer import Assumed, InferFunction, broadcast, like, reduce
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.sizes import size_function
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef, is_mask
from opsdk.define.schema.scalars import OBJECT
from opsdk.expr.formula import formulas
from opsdk.expr.row.row_infer import RowInfer
from opsdk.expr.scalar import scalar_of, static_of
from opsdk.ship.describe import catalog
from opsdk.ship.output.table import wrapped
from opsdk.verify.inputs.domains import domain_of
from opsdk.verify.inputs.sampling import UnusableSamplesError, calls_of

_BYTES = 4  # of one element of float32, for which what is saved is told
_LABEL = 11  # columns of a label with what stands before it


@dataclass(frozen=True)
class RowFacts:
    """One kernel: its place and dtype, its language, and file:line.

    With what decides the open sizes that it fills, and the dtypes that it declares of inputs beside the first.
    """

    op: str
    row: str
    where: str


@dataclass(frozen=True)
class OpFacts:
    """One op in words.

    Args:
        name: qualified.
        schema: the signature.
        where: file and line of the definition.
        doc: what its author wrote, without indentation.
        formula: what it computes, where it is an expression; then, where there are several, shared values.
        saves: what the forward keeps for the backward, with bytes.
        backward: the gradient op and where it comes from.
        derivative: its formula, where it is an expression.
        order: how often the op can be differentiated.
        infer: how shapes and dtypes of the outputs follow.
        declared: promises.
        rows: kernels of the op.
        gradient_rows: those of its gradient op.
    """

    name: str
    schema: str
    where: str
    doc: str
    formula: tuple[str, ...]
    saves: str
    backward: str
    derivative: tuple[str, ...]
    order: str
    infer: str
    declared: str
    rows: tuple[RowFacts, ...]
    gradient_rows: tuple[RowFacts, ...]

    @property
    def summary(self) -> str:
        """The first paragraph of what the author wrote, on one line."""
        return " ".join(self.doc.partition("\n\n")[0].split())


def facts_of(op: Op) -> OpFacts:
    """Returns what there is to say about an op."""
    opdef = op.opdef
    gradient = None if opdef.grad is None else opdef.grad.op.opdef
    saved = catalog.saves_of(opdef)
    if saved != "nothing":
        saved += _kept(op) if opdef.grad is not None and opdef.grad.saves("residual") else _plain(op)
    return OpFacts(
        name=opdef.name,
        schema=str(opdef.schema),
        where=catalog.where(op),
        doc=cleandoc(opdef.doc or ""),
        formula=formula_of(opdef),
        saves=saved,
        backward=catalog.derivative_of(opdef),
        derivative=() if gradient is None else formula_of(gradient),
        order=catalog.order_of(opdef),
        infer=_infer(opdef),
        declared=_declared(opdef),
        rows=_rows(opdef),
        gradient_rows=() if gradient is None else _rows(gradient),
    )


def _held(op: Op) -> tuple[list[str], list[str]]:
    """Returns the inputs and outputs that are kept: those of any dtype, and those declared as whole numbers."""
    schema, rule = op.opdef.schema, op.opdef.grad
    assert rule is not None
    held = [schema.input_names[i] for i in rule.saves("input")] + [schema.output_names[i] for i in rule.saves("output")]
    whole = schema.nondifferentiable
    return [name for name in held if name not in whole], [name for name in held if name in whole]


def _plain(op: Op) -> str:
    """Returns the bytes of an element of what is kept, in float32; whole numbers have a dtype of their own."""
    if op.opdef.grad is None:
        return ""
    floats, whole = _held(op)
    which = " and ".join(floats) if whole else "it" if len(floats) == 1 else "each"
    return f"; {_BYTES} bytes for each float32 element of {which}" if floats else ""


def _kept(op: Op) -> str:
    """Returns the bytes of an element of all that is kept, and what the first sample keeps.

    Residuals may have shapes and dtypes of their own, which the infer rule tells where there is one.
    """
    opdef = op.opdef
    assert opdef.grad is not None
    schema, rule = opdef.schema, opdef.grad
    floats, _ = _held(op)
    names: dict[np.dtype[Any], list[str]] = {np.dtype("float32"): floats} if floats else {}
    made: Sequence[Any] = [None] * len(schema.residuals)
    try:
        call = calls_of(opdef, None, 0)[0]
        kept = f". Of {call}: {', '.join(explain(op, *call.inputs, **call.attrs).saves)}"
        specs = each(call.inputs, _at_float32)
        made = opdef.infer(schema.whole, specs, complete_attrs(opdef, call.attrs))[len(schema.outputs) :]
    except (UnusableSamplesError, IndexError, OpsdkError):
        kept = ""
    for i in rule.saves("residual"):
        spec = None if isinstance(opdef.infer, Assumed) else made[i]
        if schema.residuals[i].kind != OBJECT and isinstance(spec, TensorSpec):
            names.setdefault(spec.dtype, []).append(schema.residual_names[i])
    sizes = [
        f"{dtype.itemsize} bytes for each {dtype.name} element of {' and '.join(of)}" for dtype, of in names.items()
    ]
    return (f"; {', '.join(sizes)}" if sizes else "") + kept


def _at_float32(value: np.ndarray) -> TensorSpec:
    return TensorSpec(value.shape, "float32" if value.dtype == np.float64 else value.dtype)


def screen(facts: OpFacts, width: int) -> str:
    """Returns the page of `opsdk show`.

    Args:
        facts: of the op.
        width: columns of the terminal.
    """
    entries = [
        ("schema", facts.schema),
        ("where", facts.where),
        ("about", facts.summary),
        *_labelled("computes", facts.formula),
        ("saves", facts.saves),
        ("backward", facts.backward),
        *_labelled("derivative", facts.derivative),
        ("order", facts.order),
        ("infer", facts.infer),
        ("declared", facts.declared),
    ]
    lines = [facts.name]
    for label, text in entries:
        lines += wrapped(f"  {label:<{_LABEL - 1}} ", text, max(width, 40))
    for label, rows in (("kernel", facts.rows), ("gradient", facts.gradient_rows)):
        longest = max((len(row.row) for row in rows), default=0)
        lines += [f"  {label:<{_LABEL - 1}} {row.row:<{longest}}  {row.where}" for row in rows]
    return "\n".join(lines)


def formula_of(opdef: OpDef) -> tuple[str, ...]:
    """Returns what an expression computes, with its attributes at their defaults; nothing for other ops."""
    source = scalar_of(opdef)
    if source is None:
        return ()
    attrs = [decl for decl in opdef.schema.attrs if decl.name in source.attrs or is_mask(decl.name)]
    # Just some number for one that is a symbol in the formula.
    given = {decl.name: 0.0 if decl.type.is_numeric else decl.default for decl in attrs}
    static = static_of(given)
    lines = formulas(source.expression(static), opdef.schema.output_names)
    shown = [f"{name}={value!r}" for name, value in static if not is_mask(name)]
    return (*lines, *([f"for {', '.join(shown)}"] if shown else []))


def _labelled(label: str, lines: Sequence[str]) -> list[tuple[str, str]]:
    return [(label if position == 0 else "", line) for position, line in enumerate(lines)]


def _rows(opdef: OpDef) -> tuple[RowFacts, ...]:
    return tuple(RowFacts(opdef.name, str(row), _told(row)) for row in opdef.kernels)


def _told(kernel: Kernel) -> str:
    return ", ".join(map(str, filter(None, [kernel.origin, size_function(kernel), _dtypes(kernel)])))


def _dtypes(kernel: Kernel) -> str:
    """Returns the dtypes that a kernel declares of inputs beside the first."""
    told = kernel.options.get("dtypes", ())
    return ", ".join(f"{name} {f'like {one}' if isinstance(one, str) else ' or '.join(one)}" for name, one in told)


def _infer(opdef: OpDef) -> str:
    rule = opdef.infer
    first = opdef.schema.input_names[0] if opdef.schema.inputs else ""
    if isinstance(rule, like):
        return f"every output is like {rule.name or first}" if rule.name or first else ""
    if isinstance(rule, type(broadcast)):
        return "inputs are broadcast; gradients are summed back"
    if isinstance(rule, type(reduce)):
        return "drops the axes of an attribute, or keeps them as 1"
    if isinstance(rule, RowInfer):
        roles = ", ".join(f"{n} {r}" for n, r in zip(opdef.schema.input_names, rule.roles, strict=True))
        results = ", ".join(f"{n} {r}" for n, r in zip(opdef.schema.output_names, rule.results, strict=True))
        return f"rows: {roles} → {results}"
    if isinstance(rule, GradientInfer):
        return f"like {', '.join(name or 'the cotangent' for name in rule.names)}"
    if isinstance(rule, InferFunction):
        return f"a function at {origin_of(rule.function)}"
    return (type(rule).__doc__ or type(rule).__name__).strip().partition("\n")[0]


def _declared(opdef: OpDef) -> str:
    traits = opdef.traits
    why = {name: f"{name} ({reason})" for name, reason in traits.reasons.items()}
    constant = [name for name in traits.constant if name not in why]  # with a reason by nondifferentiable=
    without = [name for name in traits.nondifferentiable if name not in constant]
    declared = {"nondifferentiable": without, "constant": constant}
    parts = [f"{what} {', '.join(why.get(name, name) for name in names)}" for what, names in declared.items() if names]
    parts += [f"{name} {domain_of(opdef, name).name.replace('inf', '∞')}" for name in traits.domain]
    parts += [] if traits.deterministic else ["not deterministic"]
    parts += [f"gradient accurate to {traits.accuracy:g}"] if traits.accuracy is not None else []
    parts += ["linear"] if traits.linear else []
    parts += [f"values checked at {shorten(str(origin_of(opdef.check.function)))}"] if opdef.check is not None else []
    return "; ".join(parts)

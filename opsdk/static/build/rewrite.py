"""Rewrites that make an operator differentiable: composites become the ops they are made of, in their place."""

from __future__ import annotations

from typing import Any

from opsdk.backends.call.application import missing_gradient, opaque_gradient
from opsdk.core.dtype import complex64, promote_types
from opsdk.core.errors import ArityError, OpsdkError, ProgramError, ReturnError
from opsdk.core.spec import HeldSpec, TensorSpec
from opsdk.define.gradient import GradientInfer
from opsdk.define.opdef import OpDef
from opsdk.ops.complex import real_part
from opsdk.ops.reduction import sum_to_like
from opsdk.ops.shape import assign, cast
from opsdk.static.build.frontend import expanded
from opsdk.static.build.recording import connect, infer
from opsdk.static.ir.block import Block
from opsdk.static.ir.operator import PY_FUNC, Operator, entry, is_trained
from opsdk.static.ir.variable import Variable


def differentiable(block: Block, operator: Operator) -> list[Operator]:
    """Returns the operators that stand for one and have a gradient rule each: itself, or what it was replaced by.

    Raises:
        GradientMissingError: it has no backward.
        DerivativeOrderError: it is itself an opaque backward.
    """
    opdef = definition_of(block, operator)
    if opdef.grad is not None and not _hides_a_sum(block, operator):
        return [operator]
    if opdef.grad is None and not opdef.is_composite:
        raise missing(operator, opdef)
    return _expand(block, operator)


def definition_of(block: Block, operator: Operator) -> OpDef:
    """Returns what an operator computes, with the gradient that its variables take, which complex ones may not."""
    names = (*operator.input_arg_names, *operator.output_arg_names)
    is_complex = any(block.vars[name].dtype.kind == "c" for name in names if name)
    return operator.opdef.for_complex if is_complex else operator.opdef


def missing(operator: Operator, opdef: OpDef) -> OpsdkError:
    """Returns the error of an operator that has no derivative."""
    at, name = str(operator.origin), opdef.schema.name
    is_py_func = opdef.schema.namespace == PY_FUNC
    if opdef.gradient_of is not None and not opdef.refusal:
        return opaque_gradient(
            opdef,
            at,
            f"@{'opsdk.op, then @op.' if is_py_func else f'{name}.'}backward (order 2, any NumPy), or a composite "
            "backward with opsdk ops only (any order)",
            "register an op in place of the py_func" if is_py_func else "give it a backward",
        )
    remedy = "pass backward_func to py_func, or stop the gradient of its outputs" if is_py_func else ""
    return missing_gradient(opdef, at, remedy=remedy)


def _hides_a_sum(block: Block, operator: Operator) -> bool:
    """Whether a gradient op is followed by a sum over broadcast axes that no operator shows."""
    if _hides_a_real_part(block, operator):
        return True
    return _reduces(operator) and any(_is_summed(block, operator, name) for name in operator.like)


def _reduces(operator: Operator) -> bool:
    """Whether what an operator computes for a gradient is summed to the shape of its variable."""
    return operator.rule is not None and operator.rule.reduces


def _is_summed(block: Block, operator: Operator, name: str) -> bool:
    """Whether what is computed for a gradient may have more than the shape of its variable, to which it is summed."""
    shape = block.vars[operator.like[name]].spec.shape
    slot = next(slot for slot, names in operator.outputs.items() if name in names)
    computed = _computed(block, operator).get(slot)
    shapes = [one.spec.shape for one in _cotangents(block, operator)] if computed is None else [computed.shape]
    return None in shape or any(shape != one for one in shapes)


def _computed(block: Block, operator: Operator) -> dict[str, TensorSpec]:
    """Returns, by output, what a derived gradient op computes before that is summed and cast to be like its variable.

    Of a written one nothing is known: where the forward broadcasts, it may have the shape of a cotangent.
    """
    if isinstance(operator.opdef.infer, GradientInfer):
        return {}
    inferred = infer(operator.opdef, operator.by_input(block.var), operator.attrs)
    pairs = zip(operator.outputs, inferred, strict=True)
    return {slot: spec for slot, spec in pairs if isinstance(spec, TensorSpec)}


def _hides_a_real_part(block: Block, operator: Operator) -> bool:
    """Whether a gradient op of complex numbers is followed by a real part, for a real input, that no operator shows."""
    if operator.rule is None:
        return False
    is_real = any(block.vars[like].dtype.kind != "c" for like in operator.like.values())
    return is_real and any(block.vars[name].dtype.kind == "c" for name in operator.input_arg_names if name)


def _cotangents(block: Block, operator: Operator) -> list[Variable]:
    """Returns the cotangents that enter a gradient op."""
    assert operator.rule is not None
    slots = zip(operator.rule.sources, operator.inputs.values(), strict=True)
    return [block.vars[name] for source, names in slots if source.kind == "cotangent" for name in names if name]


def _expand(block: Block, operator: Operator) -> list[Operator]:
    """Replaces an operator in its block by the ops that it is made of, with every hidden sum made visible."""
    at = next(i for i, held in enumerate(block.ops) if held is operator)
    tail = block.ops[at + 1 :]
    block.ops = block.ops[:at]
    values = operator.by_input(block.var)
    if operator.opdef.is_composite:
        for name, key in operator.reads.items():
            values[operator.opdef.schema.input_names.index(name)] = _constant_of(block, operator, key)
        asked = operator.asked.items()
        specs = {name: entry(kind, names, lambda held: HeldSpec(block.var(held))) for name, (kind, names) in asked}
        results = expanded(block, operator.opdef, values, {**operator.attrs, **specs})
    else:
        results = _again(block, operator, values)
    for result, (slot, names) in zip(results, operator.outputs.items(), strict=True):
        for value, name in zip(_entries(operator, slot, result), names, strict=True):
            if name and value is None:
                raise ReturnError(
                    f"{operator.opdef.subject}: expected a gradient for {operator.like[name]!r}, its body returned "
                    "None there; return zeros, or declare the input disconnected",
                    at=str(operator.opdef.origin),
                )
            if name:
                _deliver(block, value, block.vars[name], operator)
    added = block.ops[at:]
    whole = operator.part_of or (operator if operator.forward is None and is_trained(operator.attrs) else None)
    for new in added:
        new.role = operator.role
        new.part_of = whole or new.part_of
    block.ops = [*block.ops, *tail]
    block.program.touch()
    return added


def _constant_of(block: Block, operator: Operator, key: str) -> Variable:
    """Appends what makes a Variable of a residual of whole numbers or bools, which no gradient flows through.

    Raises:
        ProgramError: the infer rule of the op that gives the residual does not say what it is like.
    """
    giver = next(held for held in block.ops if key in held.gives.values())
    (name,) = [name for name, kept in giver.gives.items() if kept == key]
    whole = giver.opdef.whole
    spec = infer(whole, giver.by_input(block.var), giver.attrs)[whole.schema.output_names.index(name)]
    if not isinstance(spec, TensorSpec):
        raise ProgramError(
            f"{giver.opdef.subject}, residual {name!r}: expected a spec from its infer rule, since a derivative of "
            f"{operator.opdef.schema.name} reads it as a variable, got None; return its spec too, after those of the "
            "outputs",
            at=str(giver.opdef.origin),
        )
    made = block.create_var(block.free_name(f"{key}@VALUE"), spec.shape, spec.dtype, stop_gradient=True)
    connect(block, assign.opdef, [None], [made], {}, operator.role).residuals["x"] = key
    return made


def _entries(operator: Operator, slot: str, result: Any) -> list[Any]:
    """Returns what a body returned for one output, one entry per variable."""
    count = len(operator.outputs[slot])
    if result is None or not count:
        return [None] * count
    entries = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(entries) != count:
        raise ArityError(
            f"{operator.opdef.subject}, output {slot!r}: expected its body to return a list of {count}, "
            f"got {len(entries)}",
            at=str(operator.opdef.origin),
        )
    return entries


def _again(block: Block, operator: Operator, values: list[Any]) -> list[Any]:
    """Appends an opaque gradient op once more, with outputs as they are before the hidden sum."""
    cotangent = _cotangents(block, operator)[0]
    is_complex = _hides_a_real_part(block, operator)
    reduces = _reduces(operator)
    computed = _computed(block, operator) if reduces else {}

    def wide(name: str) -> Variable:
        held = block.vars[name]
        dtype = promote_types(held.dtype, complex64) if is_complex else held.dtype
        slot = next(slot for slot, names in operator.outputs.items() if name in names)
        spec = computed.get(slot) or TensorSpec(cotangent.spec.shape if reduces else held.spec.shape, dtype)
        return block.create_var(block.free_name(f"{name}@WIDE"), spec.shape, spec.dtype)

    results = operator.by_output(wide)
    new = connect(block, operator.opdef, values, results, dict(operator.attrs), operator.role)
    new.residuals, new.specs = dict(operator.residuals), dict(operator.specs)
    for slot, names in operator.outputs.items():
        new.outputs[slot] = new.outputs[slot] or [""] * len(names)
        is_wide = reduces and (slot not in computed or computed[slot].shape == cotangent.spec.shape)
        new.of[slot] = [cotangent.name] * len(names) if is_wide else list(operator.of[slot])
    return results


def _deliver(block: Block, value: Variable, target: Variable, operator: Operator) -> None:
    """Connects what a body returned to the variable that the operator gave, summed where that was broadcast."""
    if target.dtype.kind != "c":
        value = real_part(value)
    sums = _reduces(operator) and target.name in operator.like and _is_summed(block, operator, target.name)
    like = block.vars[operator.like[target.name]] if sums else None
    if value.dtype != target.dtype:  # a promotion, undone after the sum that undoes the shapes
        value = cast(value if like is None else sum_to_like(value, like), dtype=target.dtype)
        like = None
    if like is None:
        connect(block, assign.opdef, [value], [target], {}, operator.role)
    else:
        connect(block, sum_to_like.opdef, [value, like], [target], {}, operator.role)

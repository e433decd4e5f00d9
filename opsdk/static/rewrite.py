"""Rewrites that make an operator differentiable: composites become the ops they are made of, in their place."""

from __future__ import annotations

from typing import Any

from opsdk.core.errors import DerivativeOrderError, GradientMissingError, OpsdkError
from opsdk.ops.shape import assign
from opsdk.ops.sum_to import sum_to_like
from opsdk.static.block import Block
from opsdk.static.operator import PY_FUNC, Operator
from opsdk.static.recording import connect
from opsdk.static.variable import Variable


def differentiable(block: Block, operator: Operator) -> list[Operator]:
    """Returns the operators that stand for one and have a gradient rule each: itself, or what it was replaced by.

    Raises:
        GradientMissingError: it has no backward.
        DerivativeOrderError: it is itself an opaque backward.
    """
    opdef = operator.opdef
    if opdef.grad is not None and not _hides_a_sum(block, operator):
        return [operator]
    if opdef.grad is None and not opdef.is_composite:
        raise missing(operator)
    return _expand(block, operator)


def missing(operator: Operator) -> OpsdkError:
    """Returns the error of an operator that has no derivative."""
    opdef = operator.opdef
    name = opdef.schema.name
    if opdef.gradient_of is not None:
        return DerivativeOrderError(
            f"{opdef.subject}: a derivative of it was asked for, but it is NumPy code that opsdk cannot see into; "
            "give it a backward",
            at=str(operator.origin),
            defined=str(opdef.origin),
            help=f"@{name}.backward (order 2, any NumPy), or a composite backward with opsdk ops only (any order)",
        )
    remedy = "pass backward_func to py_func" if opdef.schema.namespace == PY_FUNC else f"write @{name}.backward"
    wanted = opdef.schema.inputs[opdef.differentiable_inputs()[0]].name
    return GradientMissingError(
        f"{opdef.subject}: no backward, and {wanted} needs a gradient; {remedy} "
        f'or declare nondifferentiable=("{wanted}",)',
        at=str(operator.origin),
        defined=str(opdef.origin),
    )


def _hides_a_sum(block: Block, operator: Operator) -> bool:
    """Whether a gradient op is followed by a sum over broadcast axes that no operator shows."""
    if operator.forward is None or operator.forward.grad is None or not operator.forward.grad.reduces:
        return False
    return any(not _same_shape(block, operator, like) for like in operator.like.values())


def _same_shape(block: Block, operator: Operator, like: str) -> bool:
    """Whether a variable surely has the shape of the cotangents, so that there is nothing to sum."""
    shape = block.vars[like].spec.shape
    cotangents = [block.vars[name].spec.shape for name in operator.input_arg_names if "@GRAD" in name]
    return None not in shape and all(shape == other for other in cotangents)


def _expand(block: Block, operator: Operator) -> list[Operator]:
    """Replaces an operator in its block by the ops that it is made of, with every hidden sum made visible."""
    at = next(i for i, held in enumerate(block.ops) if held is operator)
    tail = block.ops[at + 1 :]
    block.ops = block.ops[:at]
    values = _inputs(block, operator)
    opdef = operator.opdef
    if opdef.is_composite:
        assert opdef.body is not None
        attrs = operator.attrs
        made = opdef.body(*values, **attrs)
        results = list(made) if isinstance(made, tuple) else [made]
    else:
        results = _again(block, operator, values)
    for result, names in zip(results, operator.outputs.values(), strict=True):
        for value, name in zip(result if isinstance(result, list) else [result], names, strict=True):
            if name:
                _deliver(block, value, block.vars[name], operator)
    added = block.ops[at:]
    for new in added:
        new.role = operator.role
    block.ops = [*block.ops, *tail]
    block.program.touch()
    return added


def _inputs(block: Block, operator: Operator) -> list[Any]:
    values: list[Any] = []
    for decl, names in zip(operator.opdef.schema.inputs, operator.inputs.values(), strict=True):
        variables = [block.vars[name] for name in names]
        values.append(variables if decl.kind == "list" else variables[0] if variables else None)
    return values


def _again(block: Block, operator: Operator, values: list[Any]) -> list[Any]:
    """Appends an opaque gradient op once more, with outputs of the cotangent's shape, from before the hidden sum."""
    results: list[Any] = []
    cotangent = next(block.vars[name] for name in operator.input_arg_names if "@GRAD" in name)
    for names in operator.outputs.values():
        name = names[0] if names else ""
        if not name:
            results.append(None)
            continue
        wide = block.create_var(block.free_name(f"{name}@WIDE"), cotangent.spec.shape, block.vars[name].dtype)
        results.append(wide)
    new = connect(block, operator.opdef, values, results, dict(operator.attrs), operator.role)
    new.outputs = {
        slot: ["" if value is None else value.name]
        for slot, value in zip(operator.outputs, results, strict=True)
    }
    return results


def _deliver(block: Block, value: Variable, target: Variable, operator: Operator) -> None:
    """Connects what a body returned to the variable that the operator gave: summed where it was broadcast, else as is."""
    like = operator.like.get(target.name)
    rule = operator.forward.grad if operator.forward is not None else None
    if like is not None and rule is not None and rule.reduces and not _same_shape(block, operator, like):
        connect(block, sum_to_like.opdef, [value, block.vars[like]], [target], {}, operator.role)
    else:
        connect(block, assign.opdef, [value], [target], {}, operator.role)

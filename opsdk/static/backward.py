"""append_backward and gradients: the reverse pass, appended to a Program as Operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import ProgramError, ShapeError
from opsdk.define.opdef import MASK, GradRule
from opsdk.ops.creation import fill_any_like, fill_constant
from opsdk.static.block import Block
from opsdk.static.operator import BACKWARD, Operator
from opsdk.static.recording import connect
from opsdk.static.rewrite import differentiable
from opsdk.static.sums import Contributions
from opsdk.static.variable import Variable


def append_backward(
    loss: Variable,
    parameter_list: Sequence[Variable | str] | None = None,
    no_grad_set: set[Variable] | set[str] | None = None,
) -> list[tuple[Variable, Variable]]:
    """Appends the gradient of a loss with respect to the trainable parameters.

    Args:
        loss: a float Variable; a non-scalar one is summed, as its cotangent is ones.
        parameter_list: the parameters wanted; all trainable ones unless given.
        no_grad_set: variables that no gradient flows through.

    Returns:
        Pairs of parameter and gradient, in the order in which the parameters were created.

    Raises:
        ProgramError: the loss depends on none of the parameters.
        GradientMissingError: an op between them has no backward.
        DerivativeOrderError: an op between them is an opaque backward.
    """
    block = loss.block
    if parameter_list is None:
        wanted: list[Variable] = [p for p in block.all_parameters() if p.trainable]
    else:
        wanted = [block.var(entry) if isinstance(entry, str) else entry for entry in parameter_list]
    blocked = names_of(no_grad_set)
    wanted = [variable for variable in wanted if variable.name not in blocked]
    found = _Reverse(block, [loss], wanted, blocked).run([None])
    pairs = [(variable, grad) for variable, grad in zip(wanted, found, strict=True) if grad is not None]
    if not pairs:
        names = ", ".join(variable.name for variable in wanted) or "none at all"
        raise ProgramError(
            f"append_backward: loss {loss.name!r} expected to depend on a trainable parameter, of {names} it does on none"
        )
    return pairs


def gradients(
    targets: Variable | Sequence[Variable],
    inputs: Variable | Sequence[Variable],
    target_gradients: Variable | Sequence[Variable | None] | None = None,
    no_grad_set: set[Variable] | set[str] | None = None,
) -> list[Variable | None]:
    """Appends the gradients of the sum of targets with respect to inputs.

    Args:
        targets: one Variable or several.
        inputs: any Variables, also data and interior ones.
        target_gradients: the cotangent of each target; None for ones.
        no_grad_set: variables that no gradient flows through.

    Returns:
        One Variable per input; None where the targets do not depend on it.

    Raises:
        ShapeError: a cotangent is not of its target's shape.
        GradientMissingError: an op on the way has no backward.
        DerivativeOrderError: an op on the way is an opaque backward.
    """
    outs = [targets] if isinstance(targets, Variable) else list(targets)
    ins = [inputs] if isinstance(inputs, Variable) else list(inputs)
    seeds: list[Variable | None] = [None] * len(outs)
    if target_gradients is not None:
        given = [target_gradients] if isinstance(target_gradients, Variable) else list(target_gradients)
        if len(given) != len(outs):
            raise ProgramError(f"gradients: expected one target_gradients per target, {len(outs)}, got {len(given)}")
        seeds = given
    return _Reverse(outs[0].block, outs, ins, names_of(no_grad_set)).run(seeds)


def names_of(variables: set[Variable] | set[str] | Sequence[Any] | None) -> set[str]:
    """Returns the names of variables given as such or by name."""
    return {entry if isinstance(entry, str) else entry.name for entry in variables or ()}


class _Reverse:
    """One reverse pass over a block."""

    def __init__(
        self, block: Block, targets: Sequence[Variable], sources: Sequence[Variable], blocked: set[str]
    ) -> None:
        self.block = block
        self.targets = targets
        self.sources = sources
        self.blocked = blocked

    def run(self, seeds: Sequence[Variable | None]) -> list[Variable | None]:
        """Appends the pass; nothing is appended if an op on the way has no derivative."""
        block = self.block
        path = self._path()
        while [op for operator in path for op in differentiable(block, operator)] != path:
            path = self._path()  # composites were replaced by what they are made of
        self._check_unchanged(path)
        self.sums = Contributions(block)
        for target, seed in zip(self.targets, seeds, strict=True):
            if target.name in self.reached:
                self.sums.add(target, self._seed(target, seed))
        for operator in reversed(path):
            self._differentiate(operator)
        return [self.sums.total(source) for source in self.sources]

    def _check_unchanged(self, path: Sequence[Operator]) -> None:
        """Checks that no value that the pass will read is changed in place after the operator that used it.

        Raises:
            ProgramError: one is.
        """
        changed: dict[str, int] = {}
        for index, operator in enumerate(self.block.ops):
            slots = list(operator.inputs.values())
            changed.update({name: index for i in operator.opdef.schema.mutated_inputs for name in slots[i]})
        place = {id(operator): index for index, operator in enumerate(self.block.ops)}
        for operator in path if changed else ():
            for name in (*operator.input_arg_names, *operator.output_arg_names):
                if changed.get(name, -1) >= place[id(operator)]:
                    by = self.block.ops[changed[name]]
                    raise ProgramError(
                        f"backward: variable {name!r} expected unchanged after {operator.type!r} used it, it is changed "
                        f"in place by {by.type!r} later; ask for gradients before, or change a copy"
                    )

    def _path(self) -> list[Operator]:
        """Returns the operators between sources and targets, in order, and notes every variable that sources reach."""
        block = self.block
        self.reached = {source.name for source in self.sources if source.name not in self.blocked}
        forward: list[Operator] = []
        for operator in block.ops:
            if any(name in self.reached for name in self._differentiable_inputs(operator)):
                forward.append(operator)
                for slot, decl in zip(operator.outputs.values(), operator.opdef.schema.outputs, strict=True):
                    for name in filter(None, slot):
                        if self._passes(name) and decl.name not in operator.opdef.traits.nondifferentiable:
                            self.reached.add(name)
        needed = {target.name for target in self.targets}
        path: list[Operator] = []
        for operator in reversed(forward):
            if any(name in needed and name in self.reached for name in operator.output_arg_names):
                path.append(operator)
                needed.update(self._differentiable_inputs(operator))
        return path[::-1]

    def _passes(self, name: str) -> bool:
        variable = self.block.vars[name]
        return name not in self.blocked and not variable.is_cut and is_differentiable(variable.dtype)

    def _differentiable_inputs(self, operator: Operator) -> list[str]:
        wanted = operator.opdef.differentiable_inputs()
        slots = list(operator.inputs.values())
        return [name for i in wanted for name in slots[i]]

    def _seed(self, target: Variable, seed: Variable | None) -> Variable:
        block = self.block
        if seed is not None:
            fits = len(seed.spec.shape) == len(target.spec.shape) and all(
                a is None or b is None or a == b for a, b in zip(seed.spec.shape, target.spec.shape, strict=True)
            )
            if not fits:
                raise ShapeError(
                    f"gradients: cotangent of {target.name!r} expected shape {target.shape}, got {seed.shape}"
                )
            return seed
        made = block.create_var(
            block.free_name(f"{target.name}@GRAD"), target.spec.shape, target.dtype, stop_gradient=target.stop_gradient
        )
        if None in target.spec.shape:
            connect(block, fill_any_like.opdef, [target], [made], {"value": 1.0}, BACKWARD)
        else:
            attrs = {"shape": target.spec.shape, "value": 1.0, "dtype": target.dtype}
            connect(block, fill_constant.opdef, [], [made], attrs, BACKWARD)
        return made

    def _differentiate(self, operator: Operator) -> None:
        """Appends the gradient op of an operator that has a rule."""
        block = self.block
        rule = operator.opdef.grad
        assert rule is not None
        cotangents = [[self.sums.total(block.vars[name]) for name in names] for names in operator.outputs.values()]
        if not any(value is not None for values in cotangents for value in values):
            return
        inputs = [self._gradient_input(operator, rule, source, cotangents) for source in rule.sources]
        slots = list(operator.inputs.values())
        outputs: list[Any] = []
        like: dict[str, str] = {}
        for position, decl in zip(rule.wrt, rule.op.opdef.schema.outputs, strict=True):
            made = [self._gradient_variable(name, position, rule) for name in slots[position]]
            like.update({grad.name: name for grad, name in zip(made, slots[position], strict=True) if grad is not None})
            outputs.append(made if decl.kind == "list" else made[0] if made else None)
        if not like:
            return
        attrs = {name: operator.attrs[name] for name in rule.attrs}
        if rule.wants_mask:
            attrs[MASK] = tuple(any(name in self.reached for name in names) for names in slots)
        gradient = connect(block, rule.op.opdef, inputs, [_present(value) for value in outputs], attrs, BACKWARD)
        gradient.like = like
        gradient.forward = operator.opdef
        gradient.outputs = {
            name: [("" if v is None else v.name) for v in (value if isinstance(value, list) else [value])]
            for name, value in zip(rule.op.opdef.schema.output_names, outputs, strict=True)
        }
        for grad_name, name in like.items():
            self.sums.add(block.vars[name], block.vars[grad_name])

    def _gradient_input(self, operator: Operator, rule: GradRule, source: Any, cotangents: list[list[Any]]) -> Any:
        block = self.block
        schema = operator.opdef.schema
        if source.kind == "cotangent":
            names = list(operator.outputs.values())[source.position]
            values = [
                self._zeros(block.vars[name]) if value is None and rule.materialize else value
                for name, value in zip(names, cotangents[source.position], strict=True)
            ]
            is_list = schema.outputs[source.position].kind == "list"
        else:
            slots = operator.inputs if source.kind == "input" else operator.outputs
            decls = schema.inputs if source.kind == "input" else schema.outputs
            values = [block.vars[name] for name in list(slots.values())[source.position]]
            is_list = decls[source.position].kind == "list"
        return values if is_list else values[0] if values else None

    def _zeros(self, variable: Variable) -> Variable:
        name = self.block.free_name(f"{variable.name}@GRAD@ZERO")
        made = self.block.create_var(name, variable.spec.shape, variable.dtype, stop_gradient=True)
        connect(self.block, fill_any_like.opdef, [variable], [made], {"value": 0.0}, BACKWARD)
        return made

    def _gradient_variable(self, name: str, position: int, rule: GradRule) -> Variable | None:
        if name not in self.reached or position in rule.disconnected:
            return None
        variable = self.block.vars[name]
        return self.sums.fresh(variable)


def _present(value: Any) -> Any:
    return [v for v in value if v is not None] if isinstance(value, list) else value

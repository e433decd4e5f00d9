"""append_backward and gradients: the reverse pass, appended to a Program as Operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from opsdk.backends.call.application import Application
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import DTypeError, ProgramError, ShapeError, VariableNotFoundError
from opsdk.core.modes import GradMode
from opsdk.core.names import unique_name
from opsdk.core.origin import trimming
from opsdk.define.opdef import GradRule
from opsdk.define.schema.schema import TensorDecl
from opsdk.ops.creation import fill_any_like, fill_constant
from opsdk.static.build.contributions import Contributions
from opsdk.static.build.recording import connect, may_agree
from opsdk.static.build.rewrite import definition_of, differentiable
from opsdk.static.build.values import Value, Values, carrying, without_gradient
from opsdk.static.ir.block import Block
from opsdk.static.ir.operator import BACKWARD, Operator
from opsdk.static.ir.shared_memory import changed
from opsdk.static.ir.variable import Parameter, Variable


@trimming
def append_backward(
    loss: Variable,
    parameter_list: Sequence[Variable | str] | None = None,
    no_grad_set: set[Variable] | set[str] | None = None,
) -> list[tuple[Variable, Variable]]:
    """Appends the gradient of a loss with respect to the trainable parameters.

    Args:
        loss: a float Variable; a non-scalar one is summed, as its cotangent is ones.
        parameter_list: the parameters wanted, or their names, of which frozen ones are left out; all unless given.
            Those of layers may be given as the layer has them, here and in `no_grad_set`.
        no_grad_set: variables that no gradient flows through.

    Returns:
        Pairs of parameter and gradient, in the order in which the parameters were created.

    Raises:
        ProgramError: the loss is no float Variable, or depends on none of the parameters.
        VariableNotFoundError: a parameter is not in the Program of the loss.
        GradientMissingError: an op between them has no backward.
        DerivativeOrderError: an op between them is an opaque backward.
    """
    if not isinstance(loss, Variable) or not is_differentiable(loss.dtype) or loss.dtype.kind == "c":
        got = f"{loss.name!r} of {loss.dtype}" if isinstance(loss, Variable) else type(loss).__name__
        raise ProgramError(f"append_backward: loss expected a float Variable, got {got}")
    block = loss.block
    if parameter_list is None:
        wanted: list[Variable] = [p for p in block.all_parameters() if p.trainable]
    else:
        members = _members(block, _listed(parameter_list), "append_backward: parameter_list")
        wanted = [one for one in members if not isinstance(one, Parameter) or one.trainable]
    found = _Reverse(block, [loss], wanted, _blocked(block, no_grad_set, "append_backward")).run([None])
    pairs = [(variable, grad) for variable, grad in zip(wanted, found, strict=True) if grad is not None]
    if not pairs:
        names = ", ".join(variable.name for variable in wanted) or "none at all"
        raise ProgramError(
            f"append_backward: loss {loss.name!r} expected to depend on a trainable parameter, "
            f"of {names} it does on none"
        )
    return pairs


@trimming
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
        ProgramError: no target, or not one cotangent per target.
        VariableNotFoundError: a variable is not in the Program of the targets.
        ShapeError, DTypeError: a cotangent is not of its target's shape or dtype.
        GradientMissingError: an op on the way has no backward.
        DerivativeOrderError: an op on the way is an opaque backward.
    """
    outs: list[Variable] = [targets] if isinstance(targets, Variable) else list(targets)
    ins = _listed(inputs)
    if not outs:
        raise ProgramError("gradients: targets expected at least one Variable, got none")
    block = outs[0].block if isinstance(outs[0], Variable) else None
    seeds: list[Variable | None] = [None] * len(outs)
    if target_gradients is not None:
        seeds = [target_gradients] if isinstance(target_gradients, Variable) else list(target_gradients)
        if len(seeds) != len(outs):
            raise ProgramError(f"gradients: expected one target_gradients per target, {len(outs)}, got {len(seeds)}")
    _members(block, outs, "gradients: targets")
    assert block is not None  # or the first target was refused
    ins = _members(block, ins, "gradients: inputs")
    _members(block, [seed for seed in seeds if seed is not None], "gradients: target_gradients")
    for target, seed in zip(outs, seeds, strict=True):
        _check_seed(target, seed)
    return _Reverse(block, outs, ins, _blocked(block, no_grad_set, "gradients")).run(seeds)


# Any: a set of Variables or names, or what a user passed instead.
def _blocked(block: Block, variables: Any, subject: str) -> set[str]:
    """Returns the names of the variables of a no_grad_set, given as such or by name.

    Raises:
        ProgramError: it is one of them, or nothing that has entries.
        VariableNotFoundError: an entry is not in the block.
    """
    if variables is None:
        return set()
    if isinstance(variables, (Variable, str)) or not isinstance(variables, Iterable):
        raise ProgramError(
            f"{subject}: no_grad_set expected a set of Variables or names, got one {type(variables).__name__}; "
            "put it into a set"
        )
    return {variable.name for variable in _members(block, list(variables), f"{subject}: no_grad_set")}


# Any, in these: Variables, names, and tensors of layers.
def _listed(value: Any) -> list[Any]:
    """Returns several as a list, and one, which may be iterated over itself, as a list of it."""
    is_one = isinstance(value, (Variable, str)) or hasattr(value, "_is_state")
    return [value] if is_one else list(value)


def _members(block: Block | None, entries: Sequence[Any], role: str) -> list[Variable]:
    """Returns variables that are checked to be of one block."""
    variables = [entry if block is None else block.meant(entry) for entry in entries]
    for variable in variables:
        if not isinstance(variable, Variable):
            raise ProgramError(f"{role} expected Variables, got {type(variable).__name__}")
        if block is None or block.vars.get(variable.name) is not variable:
            raise VariableNotFoundError(
                f"{role} expected variables of the Program of the targets, {variable.name!r} is not one of its own"
            )
    return variables


def _check_seed(target: Variable, seed: Variable | None) -> None:
    if seed is None and target.dtype.kind == "c":
        raise ProgramError(
            f"gradients: target {target.name!r} expected real, since a complex one is no loss, got {target.dtype}; "
            "take abs, real or imag of it first, or pass its cotangent in target_gradients"
        )
    if seed is None:
        return
    if not may_agree(seed.spec.shape, target.spec.shape):
        raise ShapeError(f"gradients: cotangent of {target.name!r} expected shape {target.shape}, got {seed.shape}")
    if seed.dtype != target.dtype:
        raise DTypeError(f"gradients: cotangent of {target.name!r} expected {target.dtype}, got {seed.dtype}")


@dataclass
class _Reverse:
    """One reverse pass over a block."""

    block: Block
    targets: Sequence[Variable]
    sources: Sequence[Variable]
    blocked: set[str]

    def run(self, seeds: Sequence[Variable | None]) -> list[Variable | None]:
        """Appends the pass; the Program stays as it was if an op on the way has no derivative."""
        block = self.block
        self.sums = Contributions(block)
        with block.program.lock, GradMode(True):  # of what is appended now somebody may ask for gradients later
            before = dict(block.vars), list(block.ops)
            try:
                path = self._path()
                while [op for operator in path for op in differentiable(block, operator)] != path:
                    path = self._path()  # composites were replaced by what they are made of
                values = self.values
                for name in values.several.intersection(source.name for source in self.sources):
                    values.check_one(name, path)
                for target, seed in zip(self.targets, seeds, strict=True):
                    value = values.last(target.name)
                    if value in self.reached:
                        self.sums.add(value, self._ones(target) if seed is None else seed)
                for operator in reversed(path):
                    self._differentiate(operator)
                return [self.sums.total(values.last(source.name)) for source in self.sources]
            except BaseException:
                block.vars, block.ops = before
                block.program.touch()
                raise

    def _path(self) -> list[Operator]:
        """Returns the operators between sources and targets, in order, and notes every value that sources reach."""
        self.values = values = Values(self.block)
        ends = [source.name for source in self.sources if source.name not in self.blocked]
        self.ends = {
            v for name in ends for v in (values.every(name) if name in values.several else [values.last(name)])
        }
        self.reached = set(self.ends)
        forward: list[Operator] = []
        moved: set[str] = set()  # residuals of operators that are reached
        lost: dict[Value, Operator] = {}  # what came to be by a change in place of a reached value, and passes none on
        for operator in self.block.ops:
            if not operator.records:
                continue
            is_moved = not moved.isdisjoint(operator.reads.get(name, "") for name in operator.opdef.moving)
            if is_moved or any(values.read(operator, n) in self.reached for n in self._differentiable_inputs(operator)):
                forward.append(operator)
                moved.update(operator.gives.values())
                for decl, name in carrying(operator):
                    value = values.gave(operator, name)
                    if self._passes(value) and value not in values.cut:
                        self.reached.add(value)
                    elif decl.mutated and name not in self.blocked and isinstance(self.block.vars[name], Parameter):
                        lost[value] = operator
            for name in changed(operator):
                value = values.gave(operator, name)
                if value in values.cut and values.read(operator, name) in self.reached:
                    lost[value] = operator
        if lost:
            self._check_kept(lost)
        needed = {values.last(target.name) for target in self.targets}
        path: list[Operator] = []
        for operator in reversed(forward):
            # A source whose gradient is stopped takes it and does not pass it on.
            made = self.reached.intersection(values.gave(operator, name) for _, name in carrying(operator))
            if any(self._passes(value) for value in needed.intersection(made)):
                path.append(operator)
                needed.update(values.read(operator, name) for name in self._differentiable_inputs(operator))
        return path[::-1]

    def _check_kept(self, lost: Mapping[Value, Operator]) -> None:
        """Checks that the targets see nothing of what was changed in place and has no gradient, though it was to.

        Raises:
            ProgramError: they do; on the tape the gradient would flow through it, or the change be refused.
        """
        values = self.values
        needed = {values.last(target.name) for target in self.targets}
        for operator in reversed(self.block.ops):
            written = {values.gave(operator, name) for name in operator.written_arg_names}.intersection(needed)
            for value in sorted(written):
                if lost.get(value) is operator:
                    raise without_gradient(operator, value[0], is_declared=value in values.cut)
            if operator.records and any(map(self._passes, written)):
                needed.update(values.read(operator, name) for name in self._differentiable_inputs(operator))

    def _passes(self, value: Value) -> bool:
        name, _ = value
        is_blocked = name in self.blocked or self.values.is_stopped(value)
        return not is_blocked and is_differentiable(self.block.vars[name].dtype)

    def _differentiable_inputs(self, operator: Operator) -> list[str]:
        slots, count = operator.followed, len(operator.inputs)
        followed = (*operator.opdef.differentiable_inputs(), *range(count, len(slots)))
        return [name for i in followed for name in slots[i] if name]

    def _ones(self, target: Variable) -> Variable:
        block = self.block
        made = self.sums.fresh(target)
        if None in target.spec.shape:
            connect(block, fill_any_like.opdef, [target], [made], {"value": 1.0}, BACKWARD)
        else:
            attrs = {"shape": target.spec.shape, "value": 1.0, "dtype": target.dtype}
            connect(block, fill_constant.opdef, [], [made], attrs, BACKWARD)
        return made

    def _differentiate(self, operator: Operator) -> None:
        """Appends the gradient op of an operator that has a rule, for what arrived at its outputs."""
        block = self.block
        opdef, values = definition_of(block, operator), self.values
        rule = opdef.grad
        assert rule is not None
        carried = {name for _, name in carrying(operator)}

        def arrived(name: str) -> Variable | None:
            return self.sums.total(values.gave(operator, name)) if name in carried else None

        cotangents = operator.by_output(arrived)
        targets = operator.by_followed(lambda name: name if values.read(operator, name) in self.reached else None)
        application = Application(opdef, rule, operator.attrs, cotangents, targets)
        application.leave_unreached(lambda name: values.read(operator, name) in self.ends)
        if not any(application.arrived) or not any(application.needed[i] for i in rule.wrt):
            return

        # Any: `route` hands on gradients, which are not there yet.
        def fresh(position: int, name: str, _: Any) -> Variable | None:
            return None if position in rule.disconnected else self.sums.fresh(block.vars[name])

        values.check_sizes(operator)
        is_computed = not rule.passes or any(application.uncomputed())
        inputs = application.op_inputs(self._saved(operator, rule, is_computed), partial(self._zeros, operator))
        made = application.route([None] * len(rule.wrt), fresh)
        outputs = [made[i] for i in rule.wrt]
        names = [(name, opdef.schema.attr_names[s.position]) for name, s in rule.objects if s.kind == "object"]
        objects = {name: operator.attrs[attr] for name, attr in names if attr in operator.attrs}  # of a direct call
        gradient = connect(block, rule.op.opdef, inputs, outputs, {**application.op_attrs(), **objects}, BACKWARD)
        gradient.forward = opdef
        gradient.residuals, gradient.specs = _residuals(operator, rule), _specs(operator, rule)
        slots = operator.followed
        for slot, position in zip(rule.op.opdef.schema.output_names, rule.wrt, strict=True):
            gradient.of[slot] = list(slots[position])
            gradient.outputs[slot] = gradient.outputs[slot] or [""] * len(slots[position])
        for grad, name in gradient.like.items():
            self.sums.add(values.read(operator, name), block.vars[grad])

    # Any: one entry per input or output that the backward reads, a Variable, a list of them or None.
    def _saved(self, operator: Operator, rule: GradRule, is_computed: bool) -> list[Any]:
        """Returns the inputs and outputs of an operator that its backward reads.

        Raises:
            ProgramError: one is a gradient that was not asked for when the operator was appended; or it is to be
                computed with, and not there any more.
        """
        variables, schema = self.block.vars, operator.opdef.schema
        values = {"input": operator.by_input(variables.get), "output": operator.by_output(variables.get)}
        values["residual"] = [None] * len(schema.residuals)  # which are no Variables
        slots = {"input": operator.inputs, "output": operator.outputs}
        saved = [source for source in rule.sources if source.kind != "cotangent"]
        for source in [source for source in saved if source.kind != "residual"]:
            name, held = list(slots[source.kind].items())[source.position]
            decls: Sequence[TensorDecl] = schema.inputs if source.kind == "input" else schema.outputs
            likes = operator.of.get(name, held)  # of a hole there is neither
            may_lack = decls[source.position].holes
            if any(not one and (like or not may_lack) for one, like in zip(held, likes, strict=True)):
                raise ProgramError(
                    f"{operator.opdef.subject}: its backward reads {name!r}, which was not asked for when it was "
                    "appended; ask for the gradients of all its inputs then"
                )
            for one in filter(None, held) if is_computed else ():
                self.values.check_kept(operator, one, is_input=source.kind == "input")
        return [values[source.kind][source.position] for source in saved]

    def _zeros(self, operator: Operator, position: int, number: int) -> Variable | None:
        """Returns zeros like an output that has no cotangent, of which nobody may have asked for the value either."""
        slot, names = list(operator.outputs.items())[position]
        likes = operator.of.get(slot, names)  # what a gradient that nobody wanted would have been like
        if operator.opdef.schema.outputs[position].may_lack and not (names and (names[number] or likes[number])):
            return None  # the call does not give it
        first = operator.input_arg_names[0]  # of an absent input, like the first that is there
        variable = self.block.vars[names[number] or likes[number] if likes else first]
        name = self.block.free_name(f"{variable.name}@GRAD@ZERO")
        made = self.block.create_var(name, variable.spec.shape, variable.dtype, stop_gradient=True)
        connect(self.block, fill_any_like.opdef, [variable], [made], {"value": 0.0}, BACKWARD)
        return made


def _residuals(operator: Operator, rule: GradRule) -> dict[str, str]:
    """Returns by name the residuals that a gradient op reads: those that the operator gives, or reads itself."""
    schema, gradient = operator.opdef.schema, rule.op.opdef.schema
    found: dict[str, str] = {}
    for name, source in (*zip(gradient.input_names, rule.sources, strict=True), *rule.objects):
        if source.kind == "residual":
            kept = schema.residual_names[source.position]
            found[name] = operator.residuals.setdefault(kept, unique_name(f"{schema.name}.{kept}@RESIDUAL"))
        elif source.kind in ("input", "object"):
            read = (schema.input_names if source.kind == "input" else schema.attr_names)[source.position]
            found |= {name: operator.reads[read]} if read in operator.reads else {}
    return found


def _specs(operator: Operator, rule: GradRule) -> dict[str, tuple[str, list[str]]]:
    """Returns what a gradient op may be given the specs of: inputs of the operator, or what that was given them of."""
    slots, inputs = operator.followed, operator.opdef.schema.inputs
    asks = getattr(rule.op.opdef.infer, "asks", ())
    kinds = [*[decl.kind for decl in inputs], *["tensor"] * (len(slots) - len(inputs))]
    found = {name: (kinds[i], list(slots[i])) for name, i in asks if i < len(inputs) or slots[i]}
    given = {name: operator.specs[name] for name in rule.attrs if name in operator.specs}
    return found | {name: (kind, list(names)) for name, (kind, names) in given.items()}

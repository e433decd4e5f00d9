"""Values: what a name of a Block stands for, one value after another where operators write to a variable again.

The reverse pass tells them apart twice: by the array that is there at the end, which is what a gradient op reads, and
by whose gradient a value has, as a tensor on the tape is known by its node.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import ProgramError
from opsdk.define.schema.schema import OutputDecl
from opsdk.static.ir.block import Block
from opsdk.static.ir.operator import Operator
from opsdk.static.ir.shared_memory import changed, stale_views

Value = tuple[str, int]  # a name, and how many operators before gave it a value with a gradient of its own


class Values:
    """The values of a Block, as its operators stand.

    A change in place begins a new value where a gradient flows through it. Where none does, as in an update of a
    parameter or inside `no_grad`, a leaf stays the leaf that it was, as on the tape.

    Attributes:
        cut: by value that has no gradient, since it came to be by a change that passes none on, what changed it.
        several: names that stand for several values, of which nobody can tell which is meant: a leaf that a change
            was differentiated of, or a variable that was overwritten.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._place = {id(operator): at for at, operator in enumerate(block.ops)}
        self._written: dict[str, list[int]] = defaultdict(list)  # positions of whatever writes
        self._made: dict[str, list[int]] = defaultdict(list)  # of what makes a new array
        self._given: dict[str, list[int]] = defaultdict(list)  # of what begins a value
        self.cut: dict[Value, Operator] = {}
        self.several: set[str] = set()
        self._stale = stale_views(block.ops) if any(map(changed, block.ops)) else {}
        for at, operator in enumerate(block.ops):
            self._note(at, operator)

    def _note(self, at: int, operator: Operator) -> None:
        for decl, name in outputs(operator):
            if not decl.mutated:
                self._written[name].append(at)
                self._made[name].append(at)
                self._give(at, name, is_new=True)
        opdef, slots = operator.opdef, list(operator.inputs.values())
        for position in opdef.schema.mutated_inputs:
            for name in filter(None, slots[position]):
                self._written[name].append(at)
                if not operator.records or not is_differentiable(self._block.vars[name].dtype):
                    continue
                if position in opdef.passed_on():
                    self._give(at, name, is_new=False)
                elif position in opdef.differentiable_inputs() or self._given[name]:
                    self._give(at, name, is_new=False)
                    self.cut[self.last(name)] = operator

    def _give(self, at: int, name: str, *, is_new: bool) -> None:
        variable, given = self._block.vars[name], self._given[name]
        is_leaf = not given and (variable.is_data or variable.persistable or variable.value is not None)
        if is_leaf or (is_new and given):
            self.several.add(name)
        given.append(at)

    def read(self, operator: Operator, name: str) -> Value:
        """Returns the value that an operator reads, or moves with by a residual: then what gave that has read it."""
        if operator.opdef.unread and name not in operator.input_arg_names:
            kept = {operator.reads.get(residual) for residual in operator.opdef.moving}
            operator = next((held for held in self._block.ops if not kept.isdisjoint(held.gives.values())), operator)
        return name, bisect_left(self._given[name], self._place[id(operator)])

    def gave(self, operator: Operator, name: str) -> Value:
        """Returns the value that a name stands for after an operator."""
        return name, bisect_right(self._given[name], self._place[id(operator)])

    def last(self, name: str) -> Value:
        """Returns the value that a name stands for at the end."""
        return name, len(self._given[name])

    def is_stopped(self, value: Value) -> bool:
        """Whether a user stopped the gradient at a value."""
        name, number = value
        given = self._given[name]
        if number < len(given):
            by = self._block.ops[given[number]]
            if name in changed(by):
                return name in by.freed
        return self._block.vars[name].is_cut

    def every(self, name: str) -> Iterator[Value]:
        """Yields the values of a name."""
        return ((name, number) for number in range(len(self._given[name]) + 1))

    def check_one(self, name: str, path: Sequence[Operator]) -> None:
        """Checks that operators read one value of a name, the one at the end.

        Raises:
            ProgramError: they read another.
        """
        for operator in path:
            if name in operator.input_arg_names and self.read(operator, name) != self.last(name):
                by = self._block.ops[self._given[name][-1]]
                if operator is not by:
                    raise written_again(name, operator, by)
                raise ProgramError(
                    f"backward: variable {name!r} expected to be what {operator.type!r} was given, it stands for what "
                    f"that operator made of it; give the operator a copy, opsdk.assign, and ask for gradients of "
                    f"{name!r}"
                )

    def check_kept(self, operator: Operator, name: str, *, is_input: bool) -> None:
        """Checks that what a backward reads at the end is what its operator read, or gave.

        Raises:
            ProgramError: it was changed in place, or written once more; or it is a view of what was.
        """
        self._check(operator, name, self._written, is_input)
        if name in self._stale:
            source, by = self._stale[name]
            raise ProgramError(
                f"backward: variable {name!r}, a view of {source!r}, expected unchanged after {operator.type!r} used "
                f"it, {source!r} is written again by {by.type!r}; ask for gradients before that, or use a clone()"
            )

    def check_sizes(self, operator: Operator) -> None:
        """Checks that no variable of an operator whose sizes are open holds another array at the end.

        Raises:
            ProgramError: one does; gradients would take its sizes.
        """
        for is_input, names in ((True, operator.input_arg_names), (False, operator.output_arg_names)):
            for name in names:
                if None in self._block.vars[name].spec.shape:
                    self._check(operator, name, self._made, is_input)

    def _check(self, operator: Operator, name: str, writes: dict[str, list[int]], is_input: bool) -> None:
        side = bisect_left if is_input else bisect_right
        later = side(writes[name], self._place[id(operator)])
        if later < len(writes[name]):
            raise written_again(name, operator, self._block.ops[writes[name][-1]])


def written_again(name: str, operator: Operator, by: Operator) -> ProgramError:
    """Returns the error of a value that is needed and not there any more."""
    return ProgramError(
        f"backward: variable {name!r} expected unchanged after {operator.type!r} used it, it is written "
        f"again by {by.type!r}; ask for gradients before that, or write to a variable of its own"
    )


def without_gradient(operator: Operator, name: str, *, is_declared: bool) -> ProgramError:
    """Returns the error of a value that needs a gradient and has none, since a change in place passes none on."""
    if is_declared:
        return ProgramError(
            f"backward: {operator.type!r} expected to change no value that needs a gradient, since its schema passes "
            f"none on, got {name!r}, which the targets depend on after; change a detach().clone(), or call it inside "
            "opsdk.no_grad()",
            at=str(operator.origin),
        )
    return ProgramError(
        f"backward: {operator.type!r} expected to write no value that needs a gradient into {name!r}, a frozen "
        "parameter that the targets depend on, got one; write its detach(), or compute a variable of its own",
        at=str(operator.origin),
    )


def carrying(operator: Operator) -> Iterator[tuple[OutputDecl, str]]:
    """Yields the outputs of an operator that carry gradients: what declares each, and its name."""
    frozen = operator.opdef.traits.nondifferentiable
    return ((decl, name) for decl, name in outputs(operator) if decl.name not in frozen)


def outputs(operator: Operator) -> Iterator[tuple[OutputDecl, str]]:
    """Yields what an operator writes to as an output: its declaration, and the name."""
    for decl, names in zip(operator.opdef.schema.outputs, operator.outputs.values(), strict=True):
        for name in filter(None, names):
            yield decl, name

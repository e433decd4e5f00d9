"""Program: blocks, and what is done with a Program as a whole: print, clone, prune."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import count
from opsdk.core.errors import ProgramError
from opsdk.static.block import Block
from opsdk.static.operator import FORWARD, Operator
from opsdk.static.variable import Parameter, Variable

_numbers = count()


class Program:
    """A computation as data: it is built once and run many times."""

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.version = 0
        self.random_seed = 0
        self.blocks = [Block(self, 0)]
        self._current = 0

    def touch(self) -> None:
        """Counts a change, so that what was compiled before is not used after."""
        self.version += 1

    def global_block(self) -> Block:
        """Returns block 0."""
        return self.blocks[0]

    def current_block(self) -> Block:
        """Returns the block that calls are appended to."""
        return self.blocks[self._current]

    def block(self, index: int) -> Block:
        """Returns a block by its number."""
        return self.blocks[index]

    @property
    def num_blocks(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    def all_parameters(self) -> list[Parameter]:
        """Returns the parameters in the order of their creation."""
        return self.global_block().all_parameters()

    def list_vars(self) -> Iterator[Variable]:
        """Iterates over the variables of all blocks."""
        return (variable for block in self.blocks for variable in block.vars.values())

    def clone(self, for_test: bool = False) -> Program:
        """Returns a copy; parameters are shared through the Scope, by name.

        Args:
            for_test: drops the backward and the updates, and sets attributes `is_test`.
        """
        made = Program()
        made.random_seed = self.random_seed
        made.blocks = [_copied(block, made, for_test) for block in self.blocks]
        made._current = self._current
        return made

    def prune(self, targets: list[Variable]) -> Program:
        """Returns a copy with only the operators that the targets need.

        Raises:
            ProgramError: a target is not in the Program.
        """
        made = self.clone()
        block = made.global_block()
        for target in targets:
            if target.name not in block.vars:
                raise ProgramError(f"prune: variable {target.name!r} expected in the Program, it is not there")
        needed = {target.name for target in targets}
        kept: list[Operator] = []
        for operator in reversed(block.ops):
            if needed & set(operator.output_arg_names):
                kept.append(operator)
                needed |= {*operator.input_arg_names, *operator.like.values()}
        block.ops = kept[::-1]
        used = needed | {name for operator in kept for name in operator.output_arg_names}
        block.vars = {name: variable for name, variable in block.vars.items() if name in used}
        return made

    def to_string(self, throw_on_error: bool = True, with_details: bool = False) -> str:
        """Returns the Program as text: per block its variables, then its operators."""
        lines = []
        for block in self.blocks:
            lines.append(f"{{ // block_idx:{block.idx}  parent_idx:{block.parent_idx}")
            lines += [f"    {variable.to_string()}" for variable in block.vars.values()]
            lines.append("")
            lines += [f"    {operator.to_string()}" for operator in block.ops]
            lines.append("}")
        return "\n".join(lines)

    __str__ = to_string

    def __repr__(self) -> str:
        block = self.global_block()
        return f"<program {self.number}: {len(block.vars)} variables, {len(block.ops)} operators>"


def _copied(block: Block, program: Program, for_test: bool) -> Block:
    made = Block(program, block.idx, block.parent_idx)
    kept = [operator for operator in block.ops if not for_test or operator.role == FORWARD]
    used = {name for operator in kept for name in (*operator.input_arg_names, *operator.output_arg_names)}
    for name, variable in block.vars.items():
        if for_test and name not in used and not variable.is_data and not isinstance(variable, Parameter):
            continue
        twin = copy.copy(variable)
        twin.block = made
        made.vars[name] = twin
    for operator in kept:
        twin_op = copy.copy(operator)
        twin_op.inputs = {slot: list(names) for slot, names in operator.inputs.items()}
        twin_op.outputs = {slot: list(names) for slot, names in operator.outputs.items()}
        twin_op.attrs = dict(operator.attrs)
        if for_test and "is_test" in twin_op.attrs:
            twin_op.attrs["is_test"] = True
        made.ops.append(twin_op)
    return made

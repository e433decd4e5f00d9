"""Program: blocks, and what is done with a Program as a whole: print, clone, prune; the default Programs."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from opsdk.core.current import Current
from opsdk.core.errors import ProgramError, VariableNotFoundError
from opsdk.core.suggest import alternatives
from opsdk.static.ir.block import Block
from opsdk.static.ir.operator import FORWARD, Operator, tested
from opsdk.static.ir.variable import Parameter, Variable

if TYPE_CHECKING:
    from opsdk.static.run.scope import Scope

_numbers = count()


class Program:
    """A computation as data: it is built once and run many times.

    Several threads may build one, call by call: each call is appended whole or not at all, in the order in which they
    come. Running it meanwhile runs what is there.

    Attributes:
        ran_in: the Scopes that runs of it have written to.
        updated_by: the optimizers whose updates are in it, which live as long: a schedule gives each its next rate.
    """

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.lock = threading.RLock()  # whoever builds or reads it as a whole has it
        self.version = 0
        self._random_seed = 0
        self._block = Block(self, 0)
        self.ran_in: WeakSet[Scope] = WeakSet()
        self.updated_by: list[Any] = []  # Any: optimizers, which are built on Programs

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuses to be pickled or copied, and with it all that belongs to a Program.

        Raises:
            ProgramError: always.
        """
        raise ProgramError(
            "Program: expected to stay in its process, got pickled or copied; the functions of its ops do not travel: "
            "use clone() here, and build it where it is run there"
        )

    def touch(self) -> None:
        """Counts a change, so that what was compiled before is not used after."""
        self.version += 1

    @property
    def random_seed(self) -> int:
        """Decides the random numbers of every run, by the ops' places; 0 leaves them to the seeds that ops have.

        Ops of equal seeds, such as an op and its gradient, draw equal numbers either way.
        """
        return self._random_seed

    @random_seed.setter
    def random_seed(self, value: int) -> None:
        if not isinstance(value, int) or value < 0:
            raise ProgramError(f"random_seed: expected an integer ≥ 0, got {value!r}")
        self._random_seed = value
        self.touch()

    def global_block(self) -> Block:
        """Returns block 0, whose operators a run calls."""
        return self._block

    def current_block(self) -> Block:
        """Returns the block that calls are appended to: block 0, since bodies are Programs of their own."""
        return self._block

    @property
    def blocks(self) -> list[Block]:
        """Block 0, then those of the bodies of its branches and loops, each before what is inside of it."""
        return [block for _, block in self._numbered()]

    def _numbered(self) -> list[tuple[int, Block]]:
        """Returns the blocks, each with the number of the one that it is inside of."""
        found = [(-1, self._block)]
        for parent, (_, block) in enumerate(found):  # which grows meanwhile
            for inner in [body.program.global_block() for operator in block.ops for body in operator.bodies]:
                if not any(inner is known for _, known in found):  # an op and its gradient have it both
                    found.append((parent, inner))
        return found

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
            for_test: drops the backward, the updates and what is computed from them, and gives attributes that tell of
                training (`is_test`, `training` and the like, of anybody's ops) the value of a test.

        Raises:
            ProgramError: an operator says otherwise than by a bool that it is one of training.
        """
        made = Program()
        with self.lock:
            made._random_seed = self._random_seed
            made._block = _copied(self._block, made, for_test)
            made.updated_by = [*self.updated_by]
        return made

    def prune(self, targets: Variable | str | Sequence[Variable | str]) -> Program:
        """Returns a copy with only the operators that the targets need.

        Args:
            targets: variables of this Program or their names, one or several.

        Raises:
            VariableNotFoundError: a target is not in the Program.
        """
        made = self.clone()
        block = made.global_block()
        entries = [targets] if isinstance(targets, (Variable, str)) else targets
        names = [entry if isinstance(entry, str) else entry.name for entry in entries]
        for name in names:
            if name not in block.vars:
                known = alternatives(name, block.vars)
                raise VariableNotFoundError(f"prune: target {name!r} expected in the Program; it has {known}")
        block.ops = needed_for(names, block.ops)
        used = {name for op in block.ops for name in (*op.needed_arg_names, *op.output_arg_names)}
        used.update(names)
        block.vars = {name: variable for name, variable in block.vars.items() if name in used}
        return made

    def to_string(self, throw_on_error: bool = True, with_details: bool = False) -> str:
        """Returns the Program as text: per block its variables, then its operators."""
        lines = []
        with self.lock:
            for number, (parent, block) in enumerate(self._numbered()):
                lines.append(f"{{ // block_idx:{number}  parent_idx:{parent}")
                lines += [f"    {variable.to_string()}" for variable in block.vars.values()]
                lines.append("")
                lines += [f"    {operator.to_string()}" for operator in block.ops]
                lines.append("}")
        return "\n".join(lines)

    __str__ = to_string

    def __repr__(self) -> str:
        block = self.global_block()
        return f"<program {self.number}: {len(block.vars)} variables, {len(block.ops)} operators>"


_DEFAULTS = Current("program_guard", (Program(), Program()))


def default_main_program() -> Program:
    """Returns the Program that building functions append to."""
    return _DEFAULTS.get()[0]


def default_startup_program() -> Program:
    """Returns the Program that initialises parameters."""
    return _DEFAULTS.get()[1]


def defaults_held(main_program: Program, startup_program: Program | None = None) -> AbstractContextManager[None]:
    """Makes Programs the default ones inside a `with` block, and nothing else.

    Raises:
        ProgramError: an argument is not a Program.
    """
    for role, program in (("main_program", main_program), ("startup_program", startup_program)):
        if not isinstance(program, Program) and not (program is None and role == "startup_program"):
            raise ProgramError(f"program_guard: {role} expected a Program, got {type(program).__name__}")
    return _DEFAULTS.held((main_program, startup_program or default_startup_program()))


def needed_for(names: Sequence[str], operators: Sequence[Operator]) -> list[Operator]:
    """Returns the operators that the values of some variables depend on, in order."""
    needed = set(names)
    kept: list[Operator] = []
    for operator in reversed(operators):
        if not needed.isdisjoint((*operator.written_arg_names, *operator.guards, *operator.gives.values())):
            kept.append(operator)
            needed.update((*operator.needed_arg_names, *operator.reads.values()))
    return kept[::-1]


def _forward_only(block: Block) -> list[Operator]:
    """Returns the operators of the forward, without those that read what the others make."""
    kept: list[Operator] = []
    gone: set[str] = set()
    for operator in block.ops:
        made = [name for name in operator.written_arg_names if not block.vars[name].persistable]
        if operator.role == FORWARD and gone.isdisjoint(operator.needed_arg_names):
            kept.append(operator)
            gone.difference_update(made)
        else:
            gone.update(made)
    return kept


def _copied(block: Block, program: Program, for_test: bool) -> Block:
    made = Block(program, block.idx, block.parent_idx)
    kept = tested(_forward_only(block)) if for_test else block.ops
    used = {name for operator in kept for name in (*operator.input_arg_names, *operator.output_arg_names)}
    for name, variable in block.vars.items():
        if for_test and name not in used and not variable.is_data and not isinstance(variable, Parameter):
            continue
        twin = copy.copy(variable)
        twin.block = made
        made.add(twin)
    read = {key for operator in kept for key in operator.reads.values()}
    calls: dict[int, Operator] = {}
    for operator in kept:
        twin_op = _twin(operator)
        twin_op.residuals = {name: key for name, key in twin_op.residuals.items() if key in read}
        if operator.part_of is not None:
            twin_op.part_of = calls.setdefault(id(operator.part_of), _twin(operator.part_of))
        made.ops.append(twin_op)
    return made


def _twin(operator: Operator) -> Operator:
    twin = replace(operator)
    twin.inputs = {slot: list(names) for slot, names in operator.inputs.items()}
    twin.outputs = {slot: list(names) for slot, names in operator.outputs.items()}
    twin.of = {slot: list(names) for slot, names in operator.of.items()}
    twin.specs = {name: (kind, list(names)) for name, (kind, names) in operator.specs.items()}
    twin.residuals = dict(operator.residuals)
    return twin

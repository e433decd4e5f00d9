"""Programs saved to be trained on, and the values of their variables."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opsdk.core.errors import (
    FileMissingError,
    NotInitializedError,
    ProgramError,
    SavedFileError,
    ShapeError,
)
from opsdk.core.files import tensors
from opsdk.core.files.atomic import replacing
from opsdk.core.fit import as_numbers, fitted
from opsdk.core.suggest import alternatives
from opsdk.static.files.model import MODEL, packed, prefix_of
from opsdk.static.files.written import described, packages_of, text_of
from opsdk.static.ir.program import Program
from opsdk.static.ir.variable import Parameter, Variable
from opsdk.static.run.scope import Scope, global_scope
from opsdk.static.run.steps import RANDOM_COUNTER

PARAMS, OPT = ".pdparams", ".pdopt"
_MODES: Mapping[str, Callable[[Variable], bool]] = {
    "all": lambda variable: True,
    "param": lambda variable: isinstance(variable, Parameter),
    "opt": lambda variable: not isinstance(variable, Parameter),
}


def state_of(program: Program, mode: str = "all", scope: Scope | None = None) -> dict[str, np.ndarray]:
    """Returns copies of the values that a Scope has of a Program's persistable variables.

    With all but parameters comes how many runs drew random numbers, so that the next one draws those that come next.

    Args:
        program: the Program.
        mode: `param` for parameters, `opt` for the others, or `all`.
        scope: the global one unless given.

    Raises:
        ProgramError: another mode.
        NotInitializedError: a variable has no value: the startup Program was not run.
    """
    if mode not in _MODES:
        raise ProgramError(f"state_dict: mode expected 'param', 'opt' or 'all', got {mode!r}")
    wanted = [v for v in program.list_vars() if v.persistable and _MODES[mode](v)]
    scope = scope or global_scope()
    names = [*[v.name for v in wanted], *([RANDOM_COUNTER] if mode != "param" else [])]
    with scope.turn:
        copies = scope.take_in({v.name: v.held for v in wanted if v.held is not None})
        held = {**scope.snapshot(names), **copies}
        found = {name: np.array(value) for name, value in held.items() if value is not None}
    missing = [v.name for v in wanted if v.name not in found]
    if missing:
        raise NotInitializedError(
            f"variable {missing[0]!r}: expected a value in the Scope, it has none; run the startup program first: "
            "exe.run(startup_program)"
        )
    return found


# Any, in this file: tensors and arrays; variables, or what a user passed instead.
def set_program_state(program: Program, state_dict: Mapping[str, Any], scope: Scope | None = None) -> None:
    """Gives persistable variables of a Program values, all of them or none; those that are not named keep theirs.

    Args:
        program: whose variables they are.
        state_dict: tensors or arrays by name.
        scope: where they are put; the global one unless given.

    Raises:
        ProgramError: the Program has no persistable variable of a name.
        ShapeError: a value of another shape.
        DTypeError: numbers that the variable's dtype does not hold.
    """
    known = {v.name: v for v in program.list_vars() if v.persistable}
    known[RANDOM_COUNTER] = Variable(program.global_block(), RANDOM_COUNTER, [], "int64")
    made: dict[str, np.ndarray] = {}
    for name, value in state_dict.items():
        if name not in known:
            raise ProgramError(
                f"set_program_state: {name!r} expected in the Program; it has {alternatives(name, known)}"
            )
        numbers = as_numbers(np.asarray(value), f"set_program_state, {name!r}")
        if not known[name].spec.admits(numbers.shape):
            raise ShapeError(f"set_program_state, {name!r}: expected shape {known[name].shape}, got {numbers.shape}")
        made[name] = np.array(fitted(numbers, known[name].dtype, f"set_program_state, {name!r}"))
    scope = scope or global_scope()
    with scope.turn:
        scope.take_in({name: known[name].held for name in made if known[name].held is not None})
        scope.commit(made)


def save(program: Program, model_path: str, protocol: int = 4) -> None:
    """Saves a Program to be trained on: `model_path.pdmodel`, `.pdparams` with parameters, `.pdopt` with the rest.

    Args:
        program: the Program, whose values the global Scope has.
        model_path: what the names of the files begin with; folders on the way are made.
        protocol: accepted for programs written for Paddle; nothing is pickled.

    Raises:
        ProgramError: an operator is of a callable, or of an op that lost its name.
        NotInitializedError: a variable has no value.
        FileWriteError: a file cannot be written.
    """
    prefix = prefix_of(model_path, "static.save")
    data = {
        MODEL: text_of({"main": described(program, "static.save")}, packages_of(program)).encode(),
        PARAMS: packed(state_of(program, "param")),
        OPT: packed(state_of(program, "opt")),
    }
    for suffix, content in data.items():
        with replacing(prefix + suffix, "static.save") as file:
            file.write(content)


def load(program: Program, model_path: str, executor: Any = None, var_list: Sequence[Variable] | None = None) -> None:
    """Gives the variables of a Program the values that `save` saved, in the global Scope: all of them or none.

    Args:
        program: built as the one that was saved.
        model_path: what the names of the files begin with.
        executor: accepted for programs written for Paddle.
        var_list: the variables that are given values; all persistable ones unless given.

    Raises:
        FileMissingError: a file is not there.
        SavedFileError: one is damaged, or has no value of a variable.
        ShapeError: a value of another shape.
    """
    found = load_program_state(model_path)
    wanted = [v for v in program.list_vars() if v.persistable] if var_list is None else list(var_list)
    missing = [v.name for v in wanted if v.name not in found]
    if missing:
        raise SavedFileError(
            f"static.load {model_path!r}: expected a value of {missing[0]!r}; the files have "
            f"{alternatives(missing[0], found)}"
        )
    names = [*[v.name for v in wanted], *([RANDOM_COUNTER] if var_list is None and RANDOM_COUNTER in found else [])]
    set_program_state(program, {name: found[name] for name in names})


def load_program_state(model_path: str, var_list: Sequence[Variable] | None = None) -> dict[str, np.ndarray]:
    """Returns by name the arrays of the files that `save`, or `opsdk.save` of a state dictionary, wrote.

    Args:
        model_path: what the names of the files begin with.
        var_list: the variables that are wanted; all unless given.

    Raises:
        FileMissingError: there is no `.pdparams`.
        SavedFileError: a file is damaged.
    """
    prefix = prefix_of(model_path, "load_program_state")
    found: dict[str, np.ndarray] = {}
    for suffix in (PARAMS, OPT):
        try:
            content = Path(prefix + suffix).read_bytes()
        except FileNotFoundError:
            if suffix == OPT:
                continue
            raise FileMissingError(
                f"load_program_state: expected the file {prefix + suffix!r}, nothing is there"
            ) from None
        found |= tensors.read(io.BytesIO(content), f"load_program_state {prefix + suffix!r}").arrays
    return found if var_list is None else {v.name: found[v.name] for v in var_list if v.name in found}

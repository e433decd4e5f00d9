"""Programs saved to be run: what computes some variables from others, as files and as bytes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from opsdk.core.errors import FileMissingError, ProgramError, SavedFileError
from opsdk.core.files import tensors
from opsdk.core.files.atomic import replacing
from opsdk.static.files import values
from opsdk.static.files.model import FORWARD, Function, Kept, Model, packed, prefix_of, write_model
from opsdk.static.files.reading import Document
from opsdk.static.files.saved import set_program_state, state_of
from opsdk.static.files.written import described, packages_of, text_of
from opsdk.static.ir.program import Program, default_main_program, needed_for
from opsdk.static.ir.variable import Parameter, Variable
from opsdk.static.run.scope import Scope, global_scope

# Any, in this file: variables, or what a user passed instead.
_MAIN = "main"


def normalize_program(program: Program, feed_vars: Any, fetch_vars: Any) -> Program:
    """Returns a copy with what computes some variables from others, as it is where nothing is trained.

    Args:
        program: the Program.
        feed_vars: data variables, one or several.
        fetch_vars: variables, one or several.

    Raises:
        ProgramError: an entry is no variable of the Program, or something else has to be fed.
    """
    feeds, fetches = (
        _listed(program, entry, role) for entry, role in ((feed_vars, "feed_vars"), (fetch_vars, "fetch_vars"))
    )
    made = program.clone(for_test=True)
    block = made.global_block()
    kept = [v.name for v in fetches]
    for name in kept:
        if name not in block.vars:
            raise ProgramError(
                f"normalize_program: fetch_vars expected what a test computes, got {name!r}, which training gives"
            )
    block.ops = needed_for(kept, block.ops)
    read = {name for operator in block.ops for name in operator.needed_arg_names}
    named = {v.name for v in feeds}
    for name in read:
        if block.vars[name].is_data and name not in named:
            raise ProgramError(
                f"normalize_program: feed_vars expected every variable that the fetches need, {name!r} is missing; "
                "add it"
            )
    used = {*read, *named, *kept, *(n for operator in block.ops for n in operator.output_arg_names)}
    block.vars = {name: variable for name, variable in block.vars.items() if name in used}
    made.touch()
    return made


def _listed(program: Program, entry: Any, role: str) -> list[Variable]:
    several = list(entry) if isinstance(entry, (list, tuple)) else [entry]
    known = program.global_block().vars
    for variable in several:
        if not isinstance(variable, Variable) or variable.name not in known:
            shown = repr(variable.name) if isinstance(variable, Variable) else type(variable).__name__
            raise ProgramError(f"{role} expected variables of the Program, got {shown}")
        if role == "feed_vars" and not variable.is_data:
            raise ProgramError(f"feed_vars expected variables of static.data, got {variable.name!r}")
    return several


def save_inference_model(
    path_prefix: str, feed_vars: Any, fetch_vars: Any, executor: Any = None, program: Program | None = None
) -> None:
    """Saves what computes some variables from others: `path_prefix.pdmodel`, `.pdiparams` and `.pdiparams.info`.

    `load_inference_model`, `opsdk.inference.Predictor` and `opsdk.jit.load` load it.

    Args:
        path_prefix: what the names of the files begin with; folders on the way are made.
        feed_vars: data variables, one or several.
        fetch_vars: variables, one or several.
        executor: accepted for programs written for Paddle.
        program: the default main Program unless given; its values are those of the global Scope.

    Raises:
        ProgramError: an operator is of a callable, as a py_func; a fetch needs something else than the feeds.
        NotInitializedError: a variable has no value.
        FileWriteError: a file cannot be written.
    """
    subject = "save_inference_model"
    prefix = prefix_of(path_prefix, subject)
    made = normalize_program(program or default_main_program(), feed_vars, fetch_vars)
    feeds, fetches = (_names(entry) for entry in (feed_vars, fetch_vars))
    outputs = values.tree(fetches, lambda value: value if isinstance(value, str) else None)
    known = made.global_block().vars
    arrays = {name: value for name, value in state_of(made).items() if name in known}
    state = {
        name: Kept(
            name,
            "parameter" if isinstance(known[name], Parameter) else "buffer",
            not known[name].stop_gradient,
        )
        for name in arrays
    }
    write_model(prefix, {FORWARD: Function(made, feeds, outputs)}, arrays, state, subject)


def _names(entry: Any) -> list[str]:
    return [variable.name for variable in (entry if isinstance(entry, (list, tuple)) else [entry])]


def load_inference_model(path_prefix: str, executor: Any = None) -> list[Any]:
    """Loads what `save_inference_model` or `jit.save` saved; its values come to the global Scope.

    Where the Scope has another value under a name, as that of the layer that was saved, the variable of the loaded
    Program has another name: nothing that is there is overwritten.

    Args:
        path_prefix: what the names of the files begin with.
        executor: accepted for programs written for Paddle.

    Returns:
        The Program, the names of its feeds, and its fetches as Variables.

    Raises:
        FileMissingError: a file is not there.
        SavedFileError: one is damaged, cut off, or of a newer version.
        UnknownOpError: nobody here provides an op.
    """
    model = Model(path_prefix, "load_inference_model")
    function = model.function(FORWARD)
    program, block = function.program, function.program.global_block()
    scope = global_scope()
    with scope.turn:
        made: dict[str, np.ndarray] = {}
        for variable in [v for v in block.vars.values() if v.persistable]:
            array, held = model.arrays[variable.name], scope.lookup(variable.name)
            if held is not None and not _is_equal(held, array):
                block.rename(variable, _free(block, scope, variable.name))
            made[variable.name] = array
        scope.commit(made)
    return [program, list(function.inputs), [block.vars[name] for name in function.names]]


def _is_equal(held: np.ndarray, array: np.ndarray) -> bool:
    return (held.shape, held.dtype, held.tobytes()) == (array.shape, array.dtype, array.tobytes())


def _free(block: Any, scope: Scope, name: str) -> str:
    number = 1
    while scope.lookup(f"{name}@{number}") is not None or f"{name}@{number}" in block.vars:
        number += 1
    return f"{name}@{number}"


def serialize_program(feed_vars: Any = None, fetch_vars: Any = None, program: Program | None = None) -> bytes:
    """Returns a Program as bytes, a text in UTF-8, without the values of its variables.

    Args:
        feed_vars: as of `normalize_program`, whose result it is of.
        fetch_vars: likewise; without any it is the whole Program.
        program: the default main Program unless given.

    Raises:
        ProgramError: an operator is of a callable, or of an op that lost its name.
    """
    made = program or default_main_program()
    if fetch_vars is not None:
        made = normalize_program(made, [] if feed_vars is None else feed_vars, fetch_vars)
    return text_of({_MAIN: described(made, "serialize_program")}, packages_of(made)).encode()


def deserialize_program(data: bytes | str) -> Program:
    """Returns the Program that `serialize_program` gave, or that a `.pdmodel` of `static.save` holds.

    Raises:
        SavedFileError: it is none, damaged, or of a newer version.
        UnknownOpError: nobody here provides an op.
    """
    try:
        text = data if isinstance(data, str) else bytes(data).decode()
    except (UnicodeDecodeError, TypeError) as error:
        raise SavedFileError(f"deserialize_program: expected a text in UTF-8, {error}") from None
    document = Document(text, "deserialize_program")
    names = list(document.programs)
    if len(names) != 1:
        raise SavedFileError(f"deserialize_program: expected one Program, got {', '.join(names) or 'none'}")
    return document.program(names[0])


def serialize_persistables(
    feed_vars: Any = None, fetch_vars: Any = None, executor: Any = None, program: Program | None = None
) -> bytes:
    """Returns the values of a Program's persistable variables as the bytes of a file of arrays.

    Args:
        feed_vars: as of `normalize_program`, whose variables it is.
        fetch_vars: likewise; without any it is the whole Program.
        executor: accepted for programs written for Paddle.
        program: the default main Program unless given.

    Raises:
        NotInitializedError: a variable has no value.
    """
    made = program or default_main_program()
    if fetch_vars is not None:
        made = normalize_program(made, [] if feed_vars is None else feed_vars, fetch_vars)
    return packed(state_of(made))


def deserialize_persistables(program: Program, data: bytes, executor: Any = None) -> None:
    """Gives a Program's variables the values that `serialize_persistables` gave, in the global Scope.

    Raises:
        SavedFileError: the bytes are damaged.
        ProgramError: the Program has no variable of a name.
        ShapeError: a value of another shape.
    """
    set_program_state(program, tensors.read(io.BytesIO(data), "deserialize_persistables").arrays)


def save_to_file(path: str, content: bytes) -> None:
    """Writes bytes to a file, whole or not at all.

    Raises:
        FileWriteError: it cannot be written.
    """
    with replacing(path, "save_to_file") as file:
        file.write(content)


def load_from_file(path: str) -> bytes:
    """Returns the bytes of a file.

    Raises:
        FileMissingError: there is none.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise FileMissingError(f"load_from_file: expected the file {path!r}, nothing is there") from None

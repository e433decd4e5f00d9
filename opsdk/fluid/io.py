"""`fluid.io`: Programs and their values in a folder, as Paddle 1.x has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opsdk.io.reader import batch
from opsdk.static import (
    Executor,
    Program,
    Variable,
    default_main_program,
    deserialize_persistables,
    load_from_file,
    save_to_file,
)
from opsdk.static import load_inference_model as load_model
from opsdk.static import save_inference_model as save_model
from opsdk.static.files.model import packed
from opsdk.static.files.saved import state_of

# Any, in this file: Executors, which are not asked.
MODEL, PARAMS = "__model__", "__params__"


def save_inference_model(
    dirname: str,
    feeded_var_names: Sequence[str],
    target_vars: Sequence[Variable],
    executor: Any = None,
    main_program: Program | None = None,
) -> None:
    """Saves what computes the targets of what is fed, in a folder.

    Args:
        dirname: the folder, which is made.
        feeded_var_names: names of data variables.
        target_vars: what is computed.
        executor: accepted as in Paddle.
        main_program: the default main Program unless given.

    Raises:
        VariableNotFoundError: a name is not in the Program.
        ProgramError: as of `static.save_inference_model`.
    """
    program = main_program or default_main_program()
    feeds = [program.global_block().var(name) for name in feeded_var_names]
    save_model(str(Path(dirname) / MODEL), feeds, list(target_vars), executor, program=program)


def load_inference_model(dirname: str, executor: Executor | None = None) -> list[Any]:
    """Loads what `save_inference_model` saved: the Program, the names of its feeds, its targets.

    Raises:
        FileMissingError, SavedFileError: as of `static.load_inference_model`.
    """
    return load_model(str(Path(dirname) / MODEL), executor)


def save_params(executor: Any, dirname: str, main_program: Program | None = None) -> None:
    """Saves the values of a Program's parameters, in a folder."""
    _save(dirname, main_program, "param")


def save_persistables(executor: Any, dirname: str, main_program: Program | None = None) -> None:
    """Saves the values of all that a Program keeps between runs, in a folder."""
    _save(dirname, main_program, "all")


def _save(dirname: str, main_program: Program | None, mode: str) -> None:
    save_to_file(str(Path(dirname) / PARAMS), packed(state_of(main_program or default_main_program(), mode)))


def load_persistables(executor: Any, dirname: str, main_program: Program | None = None) -> None:
    """Gives a Program's variables the values that `save_params` or `save_persistables` saved.

    Raises:
        FileMissingError, SavedFileError: there is no file, or it is damaged.
        ProgramError: the Program has no variable of a name.
    """
    data = load_from_file(str(Path(dirname) / PARAMS))
    deserialize_persistables(main_program or default_main_program(), data)


load_params = load_persistables

__all__ = [
    "batch",
    "load_inference_model",
    "load_params",
    "load_persistables",
    "save_inference_model",
    "save_params",
    "save_persistables",
]

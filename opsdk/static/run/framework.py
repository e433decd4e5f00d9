"""Default Programs, and the guard that changes them inside a `with` block."""

from __future__ import annotations

from contextlib import AbstractContextManager

from opsdk.core.current import Current
from opsdk.core.errors import ProgramError
from opsdk.static.ir.program import Program

_DEFAULTS = Current("program_guard", (Program(), Program()))


def default_main_program() -> Program:
    """Returns the Program that building functions append to."""
    return _DEFAULTS.get()[0]


def default_startup_program() -> Program:
    """Returns the Program that initialises parameters."""
    return _DEFAULTS.get()[1]


def program_guard(main_program: Program, startup_program: Program | None = None) -> AbstractContextManager[None]:
    """Makes Programs the default ones inside a `with` block.

    Args:
        main_program: takes variables and operators.
        startup_program: takes the initialisation of parameters; the default one unless given.

    Raises:
        ProgramError: an argument is not a Program.
    """
    for role, program in (("main_program", main_program), ("startup_program", startup_program)):
        if not isinstance(program, Program) and not (program is None and role == "startup_program"):
            raise ProgramError(f"program_guard: {role} expected a Program, got {type(program).__name__}")
    return _DEFAULTS.held((main_program, startup_program or default_startup_program()))

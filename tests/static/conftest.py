"""Every test here gets Programs, names and a Scope of its own."""

import numpy as np
import pytest

from opsdk import static
from opsdk.core.names import name_guard


@pytest.fixture(autouse=True)
def fresh():
    """Default Programs that are empty, names that start at 0, and a Scope that ends with the test."""
    main, startup = static.Program(), static.Program()
    with name_guard(), static.program_guard(main, startup), static.scope_guard(static.Scope()):
        yield


@pytest.fixture
def main():
    """The default main Program."""
    return static.default_main_program()


@pytest.fixture
def block(main):
    """The block of the default main Program."""
    return main.global_block()


@pytest.fixture
def startup():
    """The default startup Program."""
    return static.default_startup_program()


@pytest.fixture
def exe():
    """An Executor."""
    return static.Executor()


@pytest.fixture
def fetch(exe, startup):
    """Initialises, runs the default main Program once with feeds given by name, and gives one array or a list."""

    def run(targets, **feed):
        exe.run(startup)
        found = exe.run(feed={name: np.asarray(value) for name, value in feed.items()}, fetch_list=targets)
        return found if isinstance(targets, list) else found[0]

    return run


@pytest.fixture
def state():
    """What a Program holds, as text and names: two states are equal if nothing was added, removed or changed."""

    def read(program):
        block = program.global_block()
        return str(program), list(block.vars), [id(operator) for operator in block.ops]

    return read

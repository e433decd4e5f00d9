"""Files that define ops are made up of their text."""

import numpy as np
import pytest

import opsdk


@pytest.fixture
def run_file():
    """Runs a text as if it were the file of that name, and gives its globals."""

    def run(file, text, module="my_ops", scope=None):
        scope = {"opsdk": opsdk, "np": np, "__name__": module} if scope is None else scope
        exec(compile(text, file, "exec"), scope)
        return scope

    return run

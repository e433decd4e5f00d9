"""The source trees of the contracts: parsed once in a process, whichever contracts it runs, and then let go."""

import pytest

from tests.contracts import tree


@pytest.fixture(scope="package", autouse=True)
def _parsed_once():
    yield
    tree.forget()

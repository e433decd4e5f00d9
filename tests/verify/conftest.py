import pytest

import opsdk


@pytest.fixture
def define():
    """Registers an op called `f` from a forward and a backward."""

    def define(forward, backward=None, **options):
        made = opsdk.op(name="f", namespace="planted", **options)(forward)
        if backward is not None:
            made.backward(backward)
        return made

    return define

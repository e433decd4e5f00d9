"""Ops that a test defines are forgotten after it."""

import pytest

from opsdk.define.op import REGISTRY


@pytest.fixture(autouse=True)
def scope():
    """Forgets what the test registers."""
    with REGISTRY.scoped():
        yield

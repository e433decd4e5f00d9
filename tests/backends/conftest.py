"""Ops that a test defines are forgotten after it, and flags are as they were."""

import pytest

from opsdk.core.flags import get_flags, set_flags
from opsdk.define.op import REGISTRY


@pytest.fixture(autouse=True)
def scope():
    """Forgets what the test registers and sets."""
    before = get_flags()
    with REGISTRY.scoped():
        yield
    if get_flags() != before:
        set_flags(**before)


@pytest.fixture
def debug():
    """Checks every call in full."""
    set_flags(debug=True)

"""Ops that a test defines are gone after it."""

import pytest

from opsdk.define.op import REGISTRY


@pytest.fixture(autouse=True)
def _registry_as_before():
    with REGISTRY.scoped():
        yield

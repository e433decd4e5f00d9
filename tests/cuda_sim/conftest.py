"""Ops that a test defines are forgotten after it, and flags are as they were; outside the simulator nothing runs."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.cuda.runtime import is_simulated
from opsdk.core.flags import get_flags, set_flags
from opsdk.define.op import REGISTRY


def pytest_collection_modifyitems(items):
    here = [item for item in items if "cuda_sim" in item.path.parts]
    assert not here or is_simulated(), "set NUMBA_ENABLE_CUDASIM=1"


@pytest.fixture(autouse=True)
def scope():
    """Forgets what the test registers and sets."""
    before = get_flags()
    with REGISTRY.scoped():
        yield
    if get_flags() != before:
        set_flags(**before)


@pytest.fixture
def on_device():
    """Moves an array to the simulated device, as a tensor."""

    def move(array, **options):
        return opsdk.to_tensor(np.asarray(array), place=opsdk.CUDAPlace(0), **options)

    return move

"""Outside the simulator nothing runs."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.cuda.runtime import is_simulated


def pytest_collection_modifyitems(items):
    here = [item for item in items if "cuda_sim" in item.path.parts]
    assert not here or is_simulated(), "set NUMBA_ENABLE_CUDASIM=1"


@pytest.fixture
def on_device():
    """Moves an array to the simulated device, as a tensor."""

    def move(array, **options):
        return opsdk.to_tensor(np.asarray(array), place=opsdk.CUDAPlace(0), **options)

    return move

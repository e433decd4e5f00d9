"""Proofs of the CUDA kernels of the examples, apart from test_language.py, so that two processes share the work."""

import pytest

from tests.cuda_sim.simulator import OF_EXAMPLES, simulate

pytest.importorskip("numba")


@pytest.mark.slow  # 5 minutes, of which softmax takes most: the simulator runs a thread at a time
def test_the_proofs_of_the_examples_hold_in_the_simulator():
    assert simulate(OF_EXAMPLES) >= 5

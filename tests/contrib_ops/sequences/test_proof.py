import pytest

from tests.contrib_ops.proof import proven_thoroughly
from tests.thorough import assert_proven_thoroughly

pytest.importorskip("numba")


@proven_thoroughly("sequences")
def test_a_thorough_proof_passes_and_leaves_nothing_out(op):
    assert_proven_thoroughly(op)

import pytest

from tests.contrib_ops.proof import assert_proven, proven, proven_thoroughly
from tests.thorough import assert_proven_thoroughly

pytest.importorskip("numba")


@proven("linear_algebra")
def test_verify_passes(op):
    assert_proven(op)


@proven_thoroughly("linear_algebra")
def test_a_thorough_proof_passes_and_leaves_nothing_out(op):
    assert_proven_thoroughly(op)

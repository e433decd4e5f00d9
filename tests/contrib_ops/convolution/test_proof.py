import pytest

from tests.contrib_ops.proof import assert_proven, proven

pytest.importorskip("numba")


@proven("convolution")
def test_verify_passes(op):
    assert_proven(op)

import pytest

from tests.contrib_ops.proof import assert_proven, named, ops_of

pytest.importorskip("numba")


@named(ops_of("normalization"))
def test_verify_passes(op):
    assert_proven(op)

from tests.contrib_ops.proof import assert_proven, proven


@proven("implicit")
def test_verify_passes(op):
    assert_proven(op)

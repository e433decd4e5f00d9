"""The ops of contrib_ops for the tests that prove them, a family in each file, so that processes share the work."""

import pytest

import contrib_ops
import opsdk

PLAIN = [op for op in opsdk.REGISTRY if op.opdef.name.startswith("contrib::") and op.opdef.gradient_of is None]


def named(ops):
    return pytest.mark.parametrize("op", [pytest.param(op, id=op.__name__) for op in ops])


def ops_of(family):
    """Gives the ops that are defined in a folder of contrib_ops."""
    return [op for op in PLAIN if op.opdef.origin.module.startswith(f"{contrib_ops.__name__}.{family}.")]


def assert_proven(op):
    report = opsdk.verify(op, budget=300)
    assert report.verdict == "pass", str(report)

"""What `verify` says of an op whose compiled kernel takes positions that the reference refuses."""

import numpy as np
import pytest

import opsdk

TAKE = "t::take(Tensor x, Tensor<int> index) -> Tensor y"


def take(forward=lambda x, index: x[index]):
    op = opsdk.op(TAKE, domain={"index": opsdk.domain.positions(of="x")})(forward)
    op.infer(lambda x, index: opsdk.TensorSpec(index.shape, x.dtype))
    op.samples(lambda rng: [opsdk.Sample(rng.random(5), np.array([4, 0]), reason="plain")])
    return op


def compiled(op):
    def take_numba(x, index, y):
        for i in range(index.size):
            y[i] = x[index[i]]

    op.kernel("cpu", take_numba, language="numba")
    return op


def told(op):
    report = opsdk.verify(op)
    assert report.findings == ()
    return [text for text in report.coverage.warnings if "position" in text]


def test_it_warns_where_nothing_refuses_a_position_outside_before_a_compiled_kernel_runs():
    assert told(compiled(take())) == [
        "t::take: a position in 'index' outside of 'x' is refused by the reference, and by nothing before its numba "
        "kernel runs, which may read beyond its arrays; refuse it in @take.check"
    ]


@pytest.mark.parametrize("form", ["a check", "no compiled kernel", "a reference that takes all"])
def test_it_says_nothing_where_a_position_outside_does_no_harm(form):
    op = take(lambda x, index: np.take(x, index, mode="clip")) if form == "a reference that takes all" else take()
    if form != "no compiled kernel":
        compiled(op)
    if form == "a check":
        op.check(lambda x, index: None if (index < len(x)).all() else f"index expected below {len(x)}, got {index}")
    assert told(op) == []

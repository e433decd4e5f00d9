import numpy as np
import pytest

import opsdk
from opsdk import errors
from opsdk.ops.nets.dropout import drop_block, dropout, kept


def test_a_mask_is_false_with_the_probability_asked_for():
    rng, x = np.random.default_rng(0), np.ones(1)
    assert not kept(rng, [3], 1.0, x).any()
    assert kept(rng, [3], 0.0, x).all()
    assert (~kept(rng, [100_000], 0.2, x)).mean() == pytest.approx(0.2, abs=0.005)


def test_nothing_is_kept_for_the_backward():
    rule = dropout.opdef.grad
    assert [source.kind for source in rule.sources] == ["cotangent"]


def test_an_axis_that_is_none_and_maps_that_are_none_are_refused():
    with pytest.raises(errors.ShapeError, match="axis"):
        dropout(np.ones((2, 3)), axis=[2])
    with pytest.raises(errors.ShapeError, match=r"x expected shape \(N, C, H, W\), got \(2, 3\)"):
        drop_block(np.ones((2, 3)))


def test_a_dropped_nan_has_no_part_in_result_and_gradient():
    x = opsdk.to_tensor([np.nan] * 4, stop_gradient=False)
    y = dropout(x, p=1.0)
    y.backward(opsdk.to_tensor([np.inf] * 4))
    assert (y.numpy().tolist(), x.grad.numpy().tolist()) == ([0.0] * 4, [0.0] * 4)

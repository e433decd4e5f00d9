"""F4, F7, F10: Python's own control flow, places, and what hooks show of a net."""

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.backends.cuda.runtime import can_run
from opsdk.core.errors import PlaceError


def test_f04_python_decides_by_the_values_of_tensors():
    x = opsdk.to_tensor([3.0], stop_gradient=False)
    steps = 0
    y = x
    while y < 20:  # 3, 6, 12, 24
        y = y * 2
        steps += 1
    if y > 23 and y != 25:
        y = y + 1
    y.backward()
    assert (steps, y.item(), x.grad.item()) == (3, 25.0, 8.0)
    assert bool(opsdk.to_tensor([1])) is True
    with pytest.raises(ValueError, match="bool: expected a tensor of one element"):
        bool(opsdk.to_tensor([1, 2]))


@pytest.mark.skipif(can_run(), reason="a device is there")
def test_f07_a_place_that_is_not_there_is_said_with_what_is_missing():
    with pytest.raises((PlaceError, ImportError), match=r"(?i)cuda|cupy"):
        opsdk.to_tensor([1.0], place=opsdk.CUDAPlace(0))


def test_f10_hooks_show_the_output_of_each_layer():
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    seen = {}
    for name, layer in net.named_sublayers():
        layer.register_forward_post_hook(lambda layer, args, out, name=name: seen.__setitem__(name, out))
    out = net(opsdk.ones([5, 4]))
    assert {name: made.shape for name, made in seen.items()} == {"0": [5, 3], "1": [5, 3], "2": [5, 2]}
    assert seen["2"] is out
    np.testing.assert_array_equal(seen["1"].numpy(), np.maximum(seen["0"].numpy(), 0))

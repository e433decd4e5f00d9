import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import HookError


class Product(nn.Layer):
    def forward(self, x, factor, y):
        return x * y * factor


class Two(nn.Layer):
    def forward(self, x):
        return {"twice": x * 2.0, "thrice": x * 3.0, "name": "two"}


def leaf(value):
    return opsdk.to_tensor([value], stop_gradient=False)


def values(grads):
    return [None if grad is None else grad.item() for grad in grads]


def test_a_hook_sees_the_gradients_of_inputs_and_outputs_once():
    layer, seen = Product(), []
    handle = layer.register_full_backward_hook(lambda *call: seen.append((call[0], values(call[1]), values(call[2]))))
    x, y = leaf(2.0), leaf(5.0)
    (layer(x, 3.0, y) * 7.0).backward()
    assert seen == [(layer, [105.0, None, 42.0], [7.0])]
    assert (x.grad.item(), y.grad.item()) == (105.0, 42.0)
    assert (handle.remove(), handle.remove()) == (True, False)
    layer(x, 3.0, y).backward()
    assert len(seen) == 1


def test_a_hook_sees_this_use_of_its_input_alone():
    layer, seen = nn.Sequential(), []
    layer.register_full_backward_hook(lambda layer, inputs, outputs: seen.append(values(inputs)))
    x = leaf(1.0)
    (layer(x) * 2.0 + x * 10.0).backward()
    assert (seen, x.grad.item()) == ([[2.0]], 12.0)


def test_a_hook_may_replace_what_goes_on_and_a_pre_hook_what_comes():
    layer, x = nn.Sequential(), leaf(1.0)
    layer.register_full_backward_hook(lambda layer, inputs, outputs: (inputs[0] * 10.0,))
    layer.register_full_backward_hook(lambda layer, inputs, outputs: inputs[0] + 1.0)
    layer.register_full_backward_pre_hook(lambda layer, outputs: (outputs[0] * 3.0,))
    layer(x).backward()
    assert x.grad.item() == 31.0
    layer.register_backward_hook(lambda layer, inputs, outputs: (inputs[0] * 0.0 + outputs[0],), prepend=True)
    x.clear_grad()
    layer(x).backward()
    assert x.grad.item() == 31.0


def test_parameters_get_their_gradients_where_the_input_needs_none():
    fc, seen = nn.Linear(1, 1), []
    fc.register_full_backward_hook(lambda layer, inputs, outputs: seen.append((inputs, values(outputs))))
    fc(opsdk.ones([1, 1])).backward()
    assert (seen, fc.weight.grad.item()) == ([((None,), [1.0])], 1.0)


def test_outputs_in_a_dictionary_keep_their_places():
    layer, seen = Two(), []
    layer.register_full_backward_hook(lambda layer, inputs, outputs: seen.append((values(inputs), values(outputs))))
    found = layer(leaf(1.0))
    assert (list(found), found["name"]) == (["twice", "thrice", "name"], "two")
    found["thrice"].backward()
    assert seen == [([3.0], [None, 1.0])]


def test_gradients_of_gradients_go_through():
    layer, x = Product(), leaf(2.0)
    layer.register_full_backward_hook(lambda *call: None)
    (dx,) = opsdk.grad(layer(x, 1.0, x), x, create_graph=True)
    (ddx,) = opsdk.grad(dx, x)
    assert (dx.item(), ddx.item()) == (4.0, 2.0)


@pytest.mark.parametrize(
    "returned",
    [lambda x: np.ones(1), lambda x: (x, x), lambda x: x.astype("float64"), lambda x: x.sum()],
)
def test_what_is_no_gradient_is_refused_and_nothing_is_added(returned):
    layer, x = nn.Sequential(), leaf(1.0)
    layer.register_full_backward_hook(lambda layer, inputs, outputs: returned(inputs[0]))
    with pytest.raises(
        HookError, match=r"backward hook of Sequential: expected None or gradients \(float32\(1,\)\), got"
    ):
        layer(x).backward()
    assert x.grad is None
    with pytest.raises(HookError, match="register_full_backward_hook: expected a callable, got int"):
        layer.register_full_backward_hook(3)


def test_a_class_activation_map_is_made_of_two_hooks():
    """Grad-CAM: the output of an inner layer, weighted by the mean of its gradient."""
    net, held = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)), {}
    net[1].register_forward_post_hook(lambda layer, inputs, output: held.update(output=output))
    net[1].register_full_backward_hook(lambda layer, inputs, outputs: held.update(grad=outputs[0]))
    net(opsdk.ones([1, 3]))[0, 1].backward()
    assert np.allclose(held["grad"].numpy(), net[2].weight.numpy()[:, 1])
    assert (held["output"] * held["grad"]).shape == [1, 3]

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.autograd.functional import hvp, jvp, vjp, vmap
from opsdk.core.errors import AttributeValueError, ShapeError, StateDictError
from opsdk.nn import functional_call

X = np.random.default_rng(0).standard_normal((5, 3)).astype("float32")


def model():
    opsdk.seed(4)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def doubled(net):
    return {name: (value.detach() * 2.0) for name, value in net.state_dict().items()}


def by_hand(params, x):
    hidden = np.tanh(x @ params["0.weight"].numpy() + params["0.bias"].numpy())
    return hidden @ params["2.weight"].numpy() + params["2.bias"].numpy()


def test_a_layer_runs_with_other_parameters_and_keeps_its_own():
    net = model()
    own, others = dict(net.named_parameters()), doubled(net)
    before = net(opsdk.to_tensor(X)).numpy()
    made = functional_call(net, others, opsdk.to_tensor(X))
    np.testing.assert_allclose(made.numpy(), by_hand(others, X), rtol=1e-5)
    assert all(held is own[name] for name, held in net.named_parameters())
    np.testing.assert_array_equal(net(opsdk.to_tensor(X)).numpy(), before)
    part = functional_call(net, {"2.bias": opsdk.full([1], 7.0)}, (opsdk.to_tensor(X),), {})
    np.testing.assert_allclose(part.numpy() - before, 7.0 - net[2].bias.item(), rtol=1e-5)


def test_gradients_go_to_the_tensors_that_were_given():
    net = model()
    w = net[2].weight.detach() * 3.0
    w.stop_gradient = False
    functional_call(net, {"2.weight": w}, opsdk.to_tensor(X)).sum().backward()
    hidden = np.tanh(X @ net[0].weight.numpy() + net[0].bias.numpy())
    np.testing.assert_allclose(w.grad.numpy()[:, 0], hidden.sum(0), rtol=1e-5)
    assert net[2].weight.grad is None


def test_a_shared_parameter_is_replaced_wherever_it_is():
    class Tied(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2, bias_attr=False)
            self.b = nn.Linear(2, 2, bias_attr=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    made = functional_call(Tied(), {"a.weight": opsdk.to_tensor(2 * np.eye(2, dtype="float32"))}, opsdk.ones([1, 2]))
    assert made.tolist() == [[4.0, 4.0]]


def test_buffers_too_and_what_the_forward_changes_stays_with_the_call():
    class Counts(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", opsdk.zeros([1]))

        def forward(self, x):
            self.seen = self.seen + 1.0
            return x + self.seen

    layer = Counts()
    assert functional_call(layer, {"seen": opsdk.full([1], 10.0)}, opsdk.zeros([1])).tolist() == [11.0]
    assert layer.seen.tolist() == [0.0]


def test_gradients_of_each_example_and_products_with_the_hessian():
    net = model()
    params = {name: value.detach() for name, value in net.state_dict().items()}
    names, values = [*params], [*params.values()]

    def loss(x, *given):
        return functional_call(net, dict(zip(names, given, strict=True)), x.unsqueeze(0)).sum()

    each = vmap(lambda x: vjp(lambda *given: loss(x, *given), values)[1])(opsdk.to_tensor(X))
    for i, x in enumerate(X):
        net.clear_gradients()
        net(opsdk.to_tensor(x[None])).sum().backward()
        for (name, held), found in zip(net.named_parameters(), each, strict=True):
            np.testing.assert_allclose(found.numpy()[i], held.grad.numpy(), rtol=1e-4, atol=1e-6, err_msg=name)
    directions = [opsdk.ones(value.shape) for value in values]
    _, along = jvp(lambda *given: loss(opsdk.to_tensor(X[0]), *given), values, directions)
    step = 1e-2
    moved = [by_hand({n: v + s * step for n, v in params.items()}, X[:1].astype("float64")).sum() for s in (1.0, -1.0)]
    np.testing.assert_allclose(along.item(), (moved[0] - moved[1]) / (2 * step), rtol=1e-2)
    _, products = hvp(lambda *given: loss(opsdk.to_tensor(X[0]), *given), values, directions)
    assert [tuple(p.shape) for p in products] == [tuple(v.shape) for v in values]


def test_what_does_not_fit_is_an_error_and_changes_nothing():
    net = model()
    own, x = dict(net.named_parameters()), opsdk.to_tensor(X)
    with pytest.raises(StateDictError, match=r"functional_call: layer Sequential has no '2.wait'; there are "):
        functional_call(net, {"2.wait": opsdk.ones([4, 1])}, x)
    with pytest.raises(StateDictError, match=r"expected tensors for all names, got none for 0.weight, 0.bias, 2.bias"):
        functional_call(net, {"2.weight": opsdk.ones([4, 1])}, x, strict=True)
    with pytest.raises(AttributeValueError, match=r"functional_call: '2.weight' expected a tensor, got ndarray"):
        functional_call(net, {"2.weight": np.ones((4, 1))}, x)
    with pytest.raises(ShapeError, match=r"functional_call: '2.bias' expected shape \(1,\), got \(2,\)"):
        functional_call(net, {"2.bias": opsdk.ones([2])}, x)
    assert all(held is own[name] for name, held in net.named_parameters())

"""Training at the simulated device: losses, parameters, buffers and optimizer states are those of the host."""

import numpy as np
import pytest

import opsdk
import opsdk.nn.functional as F
from opsdk import nn

GPU = opsdk.CUDAPlace(0)


@opsdk.op("training::halved(Tensor x) -> Tensor y")
def halved(x):
    return x / 2


@halved.backward
def halved_grad(dy):
    return dy / 2


class Images(nn.Layer):
    """A convolution, its normalization, pooling, dropout, and an op of one's own."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(1, 2, 3, bias_attr=False)  # a bias that is subtracted again has a gradient of noise
        self.norm = nn.BatchNorm2D(2)
        self.pool = nn.MaxPool2D(2)
        self.drop = nn.Dropout(0.25)
        self.head = nn.Linear(2, 2)

    def forward(self, x):
        x = self.pool(F.relu(self.norm(self.conv(x))))
        return self.head(self.drop(halved(opsdk.flatten(x, 1))))


class Words(nn.Layer):
    """An embedding and an LSTM."""

    def __init__(self):
        super().__init__()
        self.table, self.cells, self.head = nn.Embedding(5, 3), nn.LSTM(3, 2), nn.Linear(2, 2)

    def forward(self, x):
        return self.head(self.cells(self.table(x))[0][:, -1])


class Block(nn.Layer):
    """Attention with dropout, and normalization of layers; a bias of keys has a gradient of noise."""

    def __init__(self):
        super().__init__()
        self.attend, self.norm = nn.MultiHeadAttention(4, 2, 0.25, bias_attr=False), nn.LayerNorm(4)

    def forward(self, x):
        return self.norm(x + self.attend(x, x, x)).mean(axis=1)[:, :2]


def images(rng):
    return rng.normal(size=(3, 1, 4, 4)).astype("float32")


def words(rng):
    return rng.integers(0, 5, (3, 2))


def sequences(rng):
    return rng.normal(size=(3, 2, 4)).astype("float32")


CASES = {"images": (Images, images), "words": (Words, words), "block": (Block, sequences)}


def trained(case, make, place, steps):
    """Returns the losses of some steps, and all that is left of them."""
    opsdk.seed(3)
    net, rng = CASES[case][0](), np.random.default_rng(0)
    net.to(place)
    optimizer, losses = make(net.parameters()), []
    x, label = (opsdk.to_tensor(each, place=place) for each in (CASES[case][1](rng), np.array([0, 1, 1])))
    for _ in range(steps):
        loss = F.cross_entropy(net(x), label)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert {each.place for each in (*net.parameters(), *net.buffers(), loss)} == {place}
    state = {name: held for name, held in optimizer.state_dict().items() if isinstance(held, opsdk.Tensor)}
    assert {held.place for held in state.values()} <= {place}
    return losses, {**net.state_dict(), **state}


def assert_as_on_the_host(case, make, steps):
    there, here = (trained(case, make, place, steps) for place in (GPU, opsdk.CPUPlace()))
    np.testing.assert_allclose(there[0], here[0], rtol=1e-5)
    assert there[1].keys() == here[1].keys()
    for name, held in here[1].items():
        np.testing.assert_allclose(there[1][name].numpy(), held.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)


OPTIMIZERS = opsdk.optimizer
TRAINED = {
    "SGD": lambda params: OPTIMIZERS.SGD(0.1, parameters=params),
    "Momentum": lambda params: OPTIMIZERS.Momentum(0.1, 0.9, parameters=params, weight_decay=0.01),
    "Adam": lambda params: OPTIMIZERS.Adam(0.01, parameters=params, grad_clip=nn.ClipGradByGlobalNorm(0.5)),
    "AdamW": lambda params: OPTIMIZERS.AdamW(0.01, parameters=params, weight_decay=0.1),
}


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("case", CASES)
def test_three_steps_are_those_of_the_host(case, name):
    assert_as_on_the_host(case, TRAINED[name], steps=3)


# Of each optimizer what it is made with; all that the module has are here.
OTHERS = {
    "Adadelta": {},
    "Adagrad": {"lr_decay": 0.1},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "Adamax": {},
    "Lamb": {},
    "Momentum": {"momentum": 0.9, "use_nesterov": True},
    "NAdam": {},
    "RAdam": {},
    "RMSProp": {"centered": True, "momentum": 0.5},
    "RMSprop": {"lr": 0.1},
    "Rprop": {},
    "SGD": {"weight_decay": 0.1},
}


def test_every_optimizer_is_swept():
    found = {name for name in OPTIMIZERS.__all__ if isinstance(getattr(OPTIMIZERS, name), type)}
    assert {*OTHERS} == found - {"Optimizer", "L2Decay"}


@pytest.mark.parametrize("name", OTHERS)
def test_a_step_of_every_optimizer_is_that_of_the_host(name):
    def after(place):
        w = nn.Parameter(opsdk.to_tensor(np.array([1.0, -2.0, 0.5]), place=place))
        options = {"learning_rate": 0.1, "parameters": [w], **OTHERS[name]}
        if "lr" in options:  # PyTorch's form, parameters first
            del options["learning_rate"]
            options["params"] = options.pop("parameters")
        optimizer = getattr(OPTIMIZERS, name)(**options)
        for factor in (1.0, 0.5):
            (w * w * factor).sum().backward()
            optimizer.step()
            optimizer.clear_grad()
        state = {key: held for key, held in optimizer.state_dict().items() if isinstance(held, opsdk.Tensor)}
        assert {w.place, *(held.place for held in state.values())} == {place}
        return {"w": w, **state}

    there, here = after(GPU), after(opsdk.CPUPlace())
    assert there.keys() == here.keys()
    for key, held in here.items():
        np.testing.assert_allclose(there[key].numpy(), held.numpy(), rtol=1e-12, err_msg=key)
        assert np.abs(held.numpy()).max() > 0 or key.endswith("mean_grad")


def test_mixed_precision_takes_the_steps_of_the_host():
    def after(place):
        w = nn.Parameter(opsdk.to_tensor(np.array([[1.0, -2.0]], np.float32), place=place))
        optimizer, scaler = OPTIMIZERS.SGD(0.1, parameters=[w]), opsdk.amp.GradScaler(init_loss_scaling=8.0)
        seen = []
        for factor in (1.0, np.inf, 0.5):
            with opsdk.amp.auto_cast(dtype="float16"):
                made = opsdk.matmul(w, w, transpose_y=True)
            seen.append(made.dtype.name)
            scaler.scale(made.astype("float32").sum() * factor).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
        return w, seen, scaler.get_scale()

    there, here = after(GPU), after(opsdk.CPUPlace())
    assert there[1:] == here[1:]
    assert there[1] == ["float16"] * 3
    np.testing.assert_allclose(there[0].numpy(), here[0].numpy(), rtol=1e-3)
    assert there[0].grad.place == there[0].place == GPU

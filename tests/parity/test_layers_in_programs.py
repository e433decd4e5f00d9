"""A layer called on Variables computes what it computes on tensors, to the bit, as do its gradients and its state."""

import numpy as np
import pytest

import opsdk
from opsdk import nn, static
from opsdk.core.names import name_guard


class Own(nn.Layer):
    """Calls on parameters alone, a list of them, a buffer, and an op of one's own in the middle."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(np.linspace(-1, 1, 9, dtype="float32").reshape(3, 3))
        self.factors = nn.ParameterList([nn.Parameter(np.full(3, value, "float32")) for value in (0.5, 2.0)])
        self.register_buffer("shift", opsdk.to_tensor([0.5, -0.5, 1.0]))
        self.cubed = define_cubed()

    def forward(self, x):
        for factor in self.factors:
            x = x * factor
        weight = self.weight / opsdk.sqrt((self.weight * self.weight).sum())
        return self.cubed(opsdk.matmul(x, opsdk.transpose(weight, [1, 0]))) + self.shift


def define_cubed():
    @opsdk.op("test_layers::cubed(Tensor x) -> Tensor y")
    def cubed(x):
        return x * x * x

    @cubed.backward
    def cubed_grad(x, dy):
        return 3 * x * x * dy

    return cubed


@pytest.fixture(autouse=True)
def own_names():
    with name_guard():
        yield


CASES = {
    "linear": (lambda: nn.Linear(4, 3), (5, 4)),
    "no bias": (lambda: nn.Linear(4, 3, bias_attr=False), (5, 2, 4)),
    "sequence": (lambda: nn.Conv1D(2, 3, 3), (2, 2, 8)),
    "groups": (lambda: nn.Conv2D(2, 4, 3, padding="SAME", groups=2), (2, 2, 6, 6)),
    "padding mode": (lambda: nn.Conv2D(2, 4, 3, padding=1, padding_mode="reflect"), (2, 2, 6, 6)),
    "transposed": (lambda: nn.Conv2DTranspose(2, 3, 3, stride=2), (2, 2, 4, 4)),
    "batch norm": (lambda: nn.BatchNorm2D(3), (4, 3, 5, 5)),
    "batch norm of features": (lambda: nn.BatchNorm1D(3), (6, 3)),
    "torch's batch norm": (lambda: nn.BatchNorm2d(3), (4, 3, 5, 5)),
    "mean of all batches": (lambda: nn.BatchNorm2d(3, momentum=None), (4, 3, 5, 5)),
    "batch norm, evaluated": (lambda: nn.BatchNorm2D(3).eval(), (4, 3, 5, 5)),
    "layer norm": (lambda: nn.LayerNorm([5, 4]), (3, 5, 4)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (3, 4, 5, 5)),
    "instance norm": (lambda: nn.InstanceNorm2D(3), (3, 3, 5, 5)),
    "rms norm": (lambda: nn.RMSNorm(4), (3, 4)),
    "embedding": (lambda: nn.Embedding(7, 3, padding_idx=0), [[0, 1, 2], [6, 1, 0]]),
    "lstm": (lambda: nn.LSTM(3, 4, num_layers=2, direction="bidirect"), (2, 5, 3)),
    "gru": (lambda: nn.GRU(3, 4), (2, 5, 3)),
    "cells": (lambda: nn.BiRNN(nn.LSTMCell(3, 4), nn.LSTMCell(3, 4)), (2, 3, 3)),
    "attention": (lambda: nn.MultiHeadAttention(8, 2), (2, 5, 8)),
    "weights of attention": (lambda: nn.MultiHeadAttention(8, 2, need_weights=True), (2, 5, 8)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), (2, 5, 8)),
    "pooling": (lambda: nn.Sequential(nn.Conv2D(1, 2, 3), nn.MaxPool2D(2), nn.AdaptiveAvgPool2D(1)), (2, 1, 6, 6)),
    "dropout, evaluated": (lambda: nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5)).eval(), (2, 4)),
    "own": (Own, (2, 3)),
}


def leaf(value):
    return leaf(value[0]) if isinstance(value, (tuple, list)) else value


@pytest.mark.parametrize("name", CASES)
def test_outputs_gradients_and_state_of_a_layer_are_those_on_tensors(name, rng):
    make, shape = CASES[name]
    array = rng.normal(size=shape).astype("float32") if isinstance(shape, tuple) else np.array(shape)
    layer, twin = make(), make()
    twin.set_state_dict(layer.state_dict())
    twin.train(layer.training)
    wanted = leaf(twin(opsdk.to_tensor(array)))
    (wanted * wanted).sum().backward()

    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        made = leaf(layer(static.data("x", [None, *array.shape[1:]], array.dtype)))
        pairs = static.append_backward((made * made).sum())
    exe = static.Executor()
    exe.run(startup)
    out, *grads = exe.run(main, feed={"x": array}, fetch_list=[made, *[grad for _, grad in pairs]])

    np.testing.assert_array_equal(out, wanted.numpy())
    found = {id(param.held): grad for (param, _), grad in zip(pairs, grads, strict=True)}
    for (path, own), other in zip(layer.named_parameters(), twin.parameters(), strict=True):
        assert (id(own) in found) is (other.grad is not None), path
        if other.grad is not None:
            np.testing.assert_array_equal(found[id(own)], other.grad.numpy(), err_msg=path)
    for path, value in twin.state_dict().items():
        np.testing.assert_array_equal(layer.state_dict()[path].numpy(), value.numpy(), err_msg=path)


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.0), nn.Linear(8, 3))


def small_lenet():
    return nn.Sequential(
        *(nn.Conv2D(1, 2, 3, padding=1), nn.BatchNorm2D(2), nn.ReLU(), nn.MaxPool2D(2)),
        *(nn.Conv2D(2, 4, 3), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(4, 3)),
    )


OPTIMIZERS = {
    "adam": lambda params: opsdk.optimizer.Adam(0.01, parameters=params),
    "clipped adamw": lambda params: opsdk.optimizer.AdamW(
        0.01, parameters=params, weight_decay=0.1, grad_clip=nn.ClipGradByGlobalNorm(0.1)
    ),
}


@pytest.mark.parametrize("make, shape", [(mlp, (5, 6)), (small_lenet, (5, 1, 8, 8))], ids=["mlp", "lenet"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_five_steps_of_training_are_the_same_to_the_bit_in_either_runtime_and_in_turns(make, shape, optimizer, rng):
    images = rng.normal(size=(5, *shape)).astype("float32")
    labels = rng.integers(0, 3, (5, 5, 1))

    def by_tape(net, update, number):
        loss = nn.functional.cross_entropy(net(opsdk.to_tensor(images[number])), opsdk.to_tensor(labels[number]))
        loss.backward()
        update.step()
        update.clear_grad()
        return loss.numpy()

    def program_of(net, update):
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            image, label = static.data("image", [None, *shape[1:]]), static.data("label", [None, 1], "int64")
            loss = nn.functional.cross_entropy(net(image), label)
            update.minimize(loss)
        exe = static.Executor()
        exe.run(startup)
        return lambda n: exe.run(main, feed={"image": images[n], "label": labels[n]}, fetch_list=[loss])[0]

    first = make()
    nets = [first, make(), make()]
    for net in nets[1:]:
        net.set_state_dict(first.state_dict())
    updates = [OPTIMIZERS[optimizer](net.parameters()) for net in nets]
    runs = [lambda n: by_tape(nets[0], updates[0], n), program_of(nets[1], updates[1])]
    losses = [[run(number) for number in range(5)] for run in runs]
    mixed = [by_tape(nets[2], updates[2], number) for number in (0, 1)]
    run = program_of(nets[2], updates[2])  # startup goes on from here
    mixed += [run(2), run(3), by_tape(nets[2], updates[2], 4)]
    states = [update.state_dict() for update in updates]
    for number, net in enumerate(nets[1:], 1):
        np.testing.assert_array_equal(losses[0], [*losses, mixed][number])
        for path, value in first.state_dict().items():
            np.testing.assert_array_equal(net.state_dict()[path].numpy(), value.numpy(), err_msg=path)
        assert list(states[number]) == list(states[0])
        for path, value in states[0].items():
            np.testing.assert_array_equal(np.asarray(states[number][path]), np.asarray(value), err_msg=path)
    assert losses[0][-1] != losses[0][0]

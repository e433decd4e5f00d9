"""The training program of document 004, with what resuming has to carry: a schedule, random numbers, an order of rows.

Run as a program it goes on from an epoch in a new process: `python training_run.py FOLDER EPOCH`.
"""

import sys
from pathlib import Path

import numpy as np

import opsdk
from opsdk import nn
from opsdk import optimizer as opt

EPOCH_NUM, BATCH_SIZE, IMAGE_SIZE, CLASS_NUM = 10, 8, 12, 4


@opsdk.op
def noisy(x, *, seed: int):
    """An op of the user's own with random numbers."""
    return x * (1 + 0.1 * np.random.default_rng(seed).standard_normal(x.shape).astype(x.dtype))


@noisy.backward
def noisy_grad(x, dy, *, seed: int):
    return dy * (1 + 0.1 * np.random.default_rng(seed).standard_normal(x.shape).astype(x.dtype))


class LinearNet(nn.Layer):
    def __init__(self):
        super().__init__()
        self._linear = nn.Linear(IMAGE_SIZE, CLASS_NUM)
        self.register_buffer("seen", opsdk.zeros([1]))

    def forward(self, x, seed):
        self.seen.set_value(self.seen + 1.0)
        return self._linear(noisy(x, seed=seed))


def made():
    layer = LinearNet()
    rate = opt.lr.ExponentialDecay(0.01, gamma=0.9)
    return layer, opt.Adam(learning_rate=rate, parameters=layer.parameters()), rate, opsdk.Generator(5)


def loader(draws):
    rng = np.random.default_rng(0)
    image = rng.standard_normal((32, IMAGE_SIZE)).astype("float32")
    label = image[:, :CLASS_NUM].argmax(axis=1)
    order = np.random.default_rng(draws.draw()).permutation(32)
    for start in range(0, 32, BATCH_SIZE):
        rows = order[start : start + BATCH_SIZE]
        yield opsdk.to_tensor(image[rows]), opsdk.to_tensor(label[rows])


def train(layer, adam, rate, draws, epochs, folder):
    loss_fn = nn.CrossEntropyLoss()
    for epoch_id in epochs:
        for batch_id, (image, label) in enumerate(loader(draws)):
            out = layer(image, draws.draw())
            loss = loss_fn(out, label)
            loss.backward()
            adam.step()
            adam.clear_grad()
            print(f"Epoch {epoch_id} batch {batch_id}: loss = {loss.numpy()}")
        rate.step()
        opsdk.save(layer.state_dict(), f"{folder}/epoch_{epoch_id}.pdparams")
        opsdk.save({**adam.state_dict(), "draws": draws}, f"{folder}/epoch_{epoch_id}.pdopt")


def resume(folder, epoch):
    layer, adam, rate, draws = made()
    layer.set_state_dict(opsdk.load(f"{folder}/epoch_{epoch}.pdparams"))
    state = opsdk.load(f"{folder}/epoch_{epoch}.pdopt")
    draws.load_state_dict(state.pop("draws").state_dict())
    adam.set_state_dict(state)
    train(layer, adam, rate, draws, range(epoch + 1, EPOCH_NUM), f"{folder}/resumed")


if __name__ == "__main__":
    resume(Path(sys.argv[1]), int(sys.argv[2]))

"""A convolutional net with an op of one's own inside: trained, saved after each epoch, resumed, handed to PyTorch.

python examples/digits_cnn.py [--epochs N] [--folder FOLDER] [--resume EPOCH]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from digits import batches, read_digits

import opsdk
from opsdk import nn


@opsdk.elementwise("example::squash(Tensor x, *, float slope=1.0) -> Tensor y")
def squash(x, *, slope):
    """x / (1 + |slope x|): a sign that is smooth, whose derivative opsdk finds."""
    return x / (1 + opsdk.vmath.abs(slope * x))


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2D(1, 16, 3, padding=1), nn.BatchNorm2D(16))
        self.pool = nn.MaxPool2D(2)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(16 * 4 * 4, 10)

    def forward(self, images):
        return self.head(self.drop(self.pool(squash(self.features(images))).flatten(1)))


def accuracy(net, images, labels):
    net.eval()
    with opsdk.no_grad():
        found = net(opsdk.to_tensor(images)).argmax(1).numpy()
    net.train()
    return float((found == labels[:, 0]).mean())


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--epochs", type=int, default=5)
    arguments.add_argument("--folder", type=Path, help="of checkpoints; one that is made and removed unless given")
    arguments.add_argument("--resume", type=int, help="the last epoch that was trained")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as made:
        train(given.folder or Path(made), given.epochs, given.resume)


def train(folder, epochs, resume):
    opsdk.seed(0)
    images, labels = (part.reshape(-1, 1, 8, 8) if i == 0 else part for i, part in enumerate(read_digits("train")))
    unseen, answers = (part.reshape(-1, 1, 8, 8) if i == 0 else part for i, part in enumerate(read_digits("test")))
    net = Net()
    rate = opsdk.optimizer.lr.CosineAnnealingDecay(0.003, epochs)
    adam = opsdk.optimizer.AdamW(rate, parameters=net.parameters(), weight_decay=0.01)
    start = 1
    if resume is not None:
        net.set_state_dict(opsdk.load(folder / f"epoch_{resume}.pdparams"))
        adam.set_state_dict(opsdk.load(folder / f"epoch_{resume}.pdopt"))
        opsdk.set_rng_state(opsdk.load(folder / f"epoch_{resume}.rng"))
        start = resume + 1
    for epoch in range(start, epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(images))
        for some, their in batches(images[order], labels[order], 64):
            loss = nn.functional.cross_entropy(net(opsdk.to_tensor(some)), opsdk.to_tensor(their))
            loss.backward()
            adam.step()
            adam.clear_grad()
        rate.step()
        opsdk.save(net.state_dict(), folder / f"epoch_{epoch}.pdparams")
        opsdk.save(adam.state_dict(), folder / f"epoch_{epoch}.pdopt")
        opsdk.save(opsdk.get_rng_state(), folder / f"epoch_{epoch}.rng")
        print(f"epoch {epoch}: loss {loss.item():.6f}, accuracy {accuracy(net, unseen, answers):.4f}")
    weights = net.to_torch_state_dict(numpy=True)
    print("for PyTorch:", ", ".join(f"{name} {list(value.shape)}" for name, value in weights.items()))


if __name__ == "__main__":
    main()

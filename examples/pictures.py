"""LeNet or ResNet-18 on the small digits, which are drawn larger for them.

python examples/pictures.py [--net lenet|resnet18] [--epochs N] [--seed N]
"""

import argparse

import numpy as np
from digits import batches, read_digits

import opsdk
from opsdk import nn
from opsdk.vision.models import LeNet, resnet18

# What each is trained with: images as large as it expects them, channels, digits to train on, rows of a batch.
NETS = {"lenet": (LeNet, 28, 1, 1500, 50), "resnet18": (resnet18, 32, 3, 200, 20)}


def drawn(part, size, channels):
    """Returns the images as large as asked for, float32 (N, channels, size, size), and labels, int64 (N, 1)."""
    images, labels = read_digits(part)
    small = opsdk.to_tensor(images.reshape(-1, 1, 8, 8))
    large = nn.functional.interpolate(small, size=[size, size], mode="bilinear")
    return np.repeat(large.numpy(), channels, axis=1), labels


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--net", choices=NETS, default="lenet")
    arguments.add_argument("--epochs", type=int, default=3)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    opsdk.seed(options.seed)
    make, size, channels, count, rows = NETS[options.net]
    net = make(num_classes=10)
    adam = opsdk.optimizer.Adam(0.001, parameters=net.parameters())
    images, labels = (part[:count] for part in drawn("train", size, channels))
    unseen, answers = (part[:count] for part in drawn("test", size, channels))
    rng = np.random.default_rng(options.seed)
    for epoch in range(1, options.epochs + 1):
        order, total = rng.permutation(len(images)), 0.0
        net.train()
        for x, label in batches(images[order], labels[order], rows):
            loss = nn.functional.cross_entropy(net(opsdk.to_tensor(x)), opsdk.to_tensor(label))
            loss.backward()
            adam.step()
            adam.clear_grad()
            total += loss.item() * len(x)
        net.eval()
        with opsdk.no_grad():
            found = np.concatenate(
                [net(opsdk.to_tensor(x)).argmax(1).numpy() for x, _ in batches(unseen, answers, rows)]
            )
        right = (found == answers[:, 0]).mean()
        print(f"epoch {epoch}: loss {total / len(images):.4f}, right of the unseen {right:.3f}")


if __name__ == "__main__":
    main()

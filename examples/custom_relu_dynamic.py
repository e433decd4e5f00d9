"""Training with dynamic tensors: a custom ReLU in a Layer, recorded on the tape like any other op."""

import argparse

import numpy as np
from digits import batches, read_digits

import opsdk


@opsdk.op
def relu(x):
    return np.maximum(x, 0)


@relu.backward
def relu_grad(y, dy):
    return dy * (y > 0)


class Net(opsdk.nn.Layer):
    def __init__(self):
        super().__init__()
        self.hidden = opsdk.nn.Linear(64, 100)
        self.output = opsdk.nn.Linear(100, 10)

    def forward(self, images):
        return self.output(relu(self.hidden(images)))


def accuracy(net, images, labels):
    """Returns the share of images that the network recognises."""
    with opsdk.no_grad():
        scores = net(opsdk.to_tensor(images)).numpy()
    return float((scores.argmax(axis=1) == labels[:, 0]).mean())


def train(epochs, seed):
    """Returns the test accuracy after each epoch."""
    opsdk.seed(seed)
    net = Net()
    optimizer = opsdk.optimizer.SGD(learning_rate=0.5, parameters=net.parameters())
    images, labels = read_digits("train")
    tested = read_digits("test")
    accuracies = []
    for epoch in range(epochs):
        for image_batch, label_batch in batches(images, labels, 64):
            scores = net(opsdk.to_tensor(image_batch))
            loss = opsdk.nn.functional.cross_entropy(scores, opsdk.to_tensor(label_batch))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        accuracies.append(accuracy(net, *tested))
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}, test accuracy {accuracies[-1]:.4f}")
    return accuracies


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    return train(options.epochs, options.seed)


if __name__ == "__main__":
    main()

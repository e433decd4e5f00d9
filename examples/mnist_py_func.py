"""A network for handwritten digits whose ReLU is a pair of Python functions, attached to a Program with py_func.

python examples/mnist_py_func.py FOLDER     MNIST, from its four IDX files (plain or .gz)
python examples/mnist_py_func.py            scikit-learn's small digits
"""

import argparse

import numpy as np
from digits import batches, read_digits
from mnist_idx import read_mnist

import opsdk
from opsdk import static


# Step 1: the forward and the backward.
def relu(x):
    return np.maximum(x, 0.0)


def relu_grad(y, dy):  # x is skipped below, so y is what the forward returned and dy its gradient
    dx = np.zeros_like(y)
    dx[y > 0] = 1.0
    return np.array(dy) * dx


# Step 2: the output of the forward, as a variable of the Program.
def create_tmp_var(name, dtype, shape):
    return static.default_main_program().current_block().create_var(name=name, dtype=dtype, shape=shape)


# Step 3: the network, with the pair between its two layers.
def network(x):
    x = static.nn.fc(x, size=100)
    output = create_tmp_var(name="relu", dtype=x.dtype, shape=x.shape)
    x = static.py_func(func=relu, x=x, out=output, backward_func=relu_grad, skip_vars_in_backward_input=x)
    return static.nn.fc(x, size=10, activation="softmax")


def train(data, epochs, batch_size, learning_rate):
    """Trains on data["train"], tests on data["test"] after every epoch; returns the test accuracies."""
    (images, labels), tested = data["train"], data["test"]
    steps = len(images) // batch_size
    accuracies = []
    with static.program_guard(static.Program(), static.Program()):
        x = static.data(name="X", shape=[None, images.shape[1]], dtype="float32")
        label = static.data(name="label", shape=[None, 1], dtype="int64")
        prediction = network(x)
        loss = opsdk.nn.functional.cross_entropy(prediction, label, use_softmax=False, reduction="none")
        loss = opsdk.mean(loss)
        acc = static.accuracy(prediction, label)
        opsdk.optimizer.SGD(learning_rate=learning_rate).minimize(loss)

        exe = static.Executor(opsdk.CPUPlace())
        exe.run(static.default_startup_program())
        for epoch in range(epochs):
            for step, (image_batch, label_batch) in enumerate(batches(images, labels, batch_size)):
                feed = {"X": image_batch, "label": label_batch}
                loss_value, acc_value = exe.run(feed=feed, fetch_list=[loss.name, acc.name])
                if step % 100 == 0:
                    print(f"iter [{step}]/[{steps}], loss:{loss_value}, acc:{acc_value}")
            test_program = static.default_main_program().clone(for_test=True)
            each = [
                exe.run(test_program, feed={"X": image_batch, "label": label_batch}, fetch_list=[acc.name])[0]
                for image_batch, label_batch in batches(*tested, batch_size)
            ]
            accuracies.append(float(np.mean(each)))
            print(f"\nEpoch:{epoch}, Test Done!, The accuracy is :{accuracies[-1]}\n")
    return accuracies


def mnist(folder):
    """Returns the training and test data of MNIST, with pixels from -1 to 1."""
    data = {part: read_mnist(folder, part) for part in ("train", "test")}
    return {part: (images * 2 - 1, labels) for part, (images, labels) in data.items()}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="where the four MNIST files are; the small digits without it")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    opsdk.seed(options.seed)
    if options.folder:
        return train(mnist(options.folder), options.epochs or 5, batch_size=256, learning_rate=0.01)
    data = {part: read_digits(part) for part in ("train", "test")}
    return train(data, options.epochs or 10, batch_size=64, learning_rate=0.1)


if __name__ == "__main__":
    main()

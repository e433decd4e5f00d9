"""A ReLU as a pair of NumPy functions: what the forward gives, and what the backward makes of a gradient."""

import numpy as np

import opsdk


@opsdk.op
def relu(x):
    return np.maximum(x, 0)


@relu.backward
def relu_grad(y, dy):  # y is the forward's output, dy the gradient that arrives at it
    return dy * (y > 0)


def main():
    x = np.array(
        [[-0.39115584, -0.7299341, -0.12647586, -0.5624508], [-0.8664403, -0.70393366, 0.04075145, -0.4767929]],
        dtype=np.float32,
    )
    dy = np.array(
        [[0.15134676, 0.45530593, 0.54943573, 0.10149622], [-0.9668464, -0.48074073, 0.34972975, -0.5144964]],
        dtype=np.float32,
    )
    y = relu(x)  # arrays in, array out: no tensor, no program
    print(f"input of relu:\n{x}\noutput of relu:\n{y}\n")
    dx = relu_grad(y, dy)
    print(f"gradient at the output:\n{dy}\ngradient at the input, by relu_grad:\n{dx}\n")

    tensor = opsdk.to_tensor(x, stop_gradient=False)
    relu(tensor).backward(opsdk.to_tensor(dy))
    print(f"the same through a recorded call: {np.array_equal(tensor.grad.numpy(), dx)}")
    return y, dx


if __name__ == "__main__":
    main()

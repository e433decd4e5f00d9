"""Second derivatives of custom ops: the three answers that an op can give.

cube    its backward has a backward of its own: order 2
power   its backward is made of registered ops: any order
opaque  its backward is NumPy code that nothing can look into: asking for order 2 is an error, never zeros
"""

import numpy as np

import opsdk
from opsdk.core.errors import DerivativeOrderError


@opsdk.op
def cube(x):
    return x**3


@cube.backward
def cube_grad(x, dy):
    return 3 * x**2 * dy


@cube_grad.backward
def cube_grad_grad(x, dy, ddx):  # ddx: the gradient that arrives at cube_grad's output, which is called dx
    return 6 * x * dy * ddx, 3 * x**2 * ddx


@opsdk.op
def power(x, *, exponent: int = 3):
    return x**exponent


@power.backward(composite=True)
def power_grad(x, dy, exponent):
    return dy * (x ** (exponent - 1) * float(exponent))


@opsdk.op
def opaque(x):
    return x**3


@opaque.backward
def opaque_grad(x, dy):
    return 3 * x**2 * dy


def second_derivative(function, value):
    """Returns f'' at a value, by differentiating the derivative."""
    x = opsdk.to_tensor(value, stop_gradient=False)
    (first,) = opsdk.grad(function(x).sum(), x, create_graph=True)
    (second,) = opsdk.grad(first.sum(), x)
    return second.numpy()


def main():
    at = np.array([-1.0, 0.5, 2.0])
    print(f"6x by hand      {6 * at}")
    print(f"cube            {second_derivative(cube, at)}")
    print(f"power           {second_derivative(power, at)}")
    try:
        second_derivative(opaque, at)
    except DerivativeOrderError as error:
        print(f"opaque          {error}")


if __name__ == "__main__":
    main()

"""Source of elementwise CUDA kernels: a grid-stride loop around a scalar function.

With two inputs, an attribute and one output, on arrays of two dimensions, it is

    def kernel(y0, x0, x1, a0):
        for i in range(cuda.grid(1), y0.size, cuda.gridsize(1)):
            i1 = i % y0.shape[1]
            i0 = i // y0.shape[1]
            t = scalar(real(x0[i0, i1]), real(x1[i0, i1]), real(a0))
            y0[i0, i1] = store(t)

Inputs are views of the output's shape, with steps of zero where they are broadcast. On one dimension no division is
left; that is the way of arrays which are contiguous, whatever their shape.
"""

from __future__ import annotations

from collections.abc import Sequence


def kernel_source(name: str, inputs: int, attrs: int, outputs: int, ndim: int) -> str:
    """Returns the source of a kernel over arrays.

    The code uses `cuda`, the function `scalar`, `real`, which makes a number one of the computation's precision, and
    `store`, which makes it one of the outputs' dtype; whoever compiles it supplies them.

    Args:
        name: of the kernel.
        inputs: how many there are; their parameters are `x0…`.
        attrs: likewise, `a0…`.
        outputs: likewise, `y0…`.
        ndim: dimensions of the arrays, at least 1.
    """
    ys, xs, numbers = _names("y", outputs), _names("x", inputs), _names("a", attrs)
    index = _names("i", ndim) if ndim > 1 else ["i"]
    lines = [
        f"def {name}({', '.join([*ys, *xs, *numbers])}):",
        "    for i in range(cuda.grid(1), y0.size, cuda.gridsize(1)):",
        *_unravelled(index),
        *_body(ys, xs, numbers, ", ".join(index)),
    ]
    return "\n".join([*lines, ""])


def pointer_source(name: str, inputs: int, attrs: int, outputs: int) -> str:
    """Returns the source of a kernel over contiguous memory: `y0…, x0…` are pointers, `a0…` numbers, `n` the size."""
    ys, xs, numbers = _names("y", outputs), _names("x", inputs), _names("a", attrs)
    lines = [
        f"def {name}({', '.join([*ys, *xs, *numbers, 'n'])}):",
        "    for i in range(cuda.grid(1), n, cuda.gridsize(1)):",
        *_body(ys, xs, numbers, "i"),
    ]
    return "\n".join([*lines, ""])


def _names(letter: str, count: int) -> list[str]:
    return [f"{letter}{k}" for k in range(count)]


def _unravelled(index: Sequence[str]) -> list[str]:
    """Returns the code that finds an element's place in each dimension, the last first."""
    if len(index) == 1:
        return []
    lines = ["        rest = i"]
    for axis in range(len(index) - 1, 0, -1):
        lines += [f"        {index[axis]} = rest % y0.shape[{axis}]", f"        rest = rest // y0.shape[{axis}]"]
    return [*lines, f"        {index[0]} = rest"]


def _body(ys: Sequence[str], xs: Sequence[str], numbers: Sequence[str], at: str) -> list[str]:
    operands = ", ".join([*(f"real({x}[{at}])" for x in xs), *(f"real({number})" for number in numbers)])
    lines = [f"        t = scalar({operands})"]
    if len(ys) == 1:
        return [*lines, f"        {ys[0]}[{at}] = store(t)"]
    return [*lines, *(f"        {y}[{at}] = store(t[{k}])" for k, y in enumerate(ys))]

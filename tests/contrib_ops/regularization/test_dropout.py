"""dropout: the mask is that of the draw's key and the place, in every language and runtime, and in every order."""

import numpy as np
import pytest

import opsdk
from contrib_ops import dropout
from opsdk import static
from opsdk.core.random import Draw, drawn
from opsdk.verify.kernels.launch import launch
from tests import philox

X = np.arange(1.0, 24.0)


def masked(x, key, p, dtype="float64"):
    kept = np.array([philox.uniform(int(key), i) >= p for i in range(x.size)])
    return np.where(kept, x.astype(dtype) * np.dtype(dtype).type(1 / (1 - p)), 0).astype(dtype)


@pytest.mark.parametrize("kernel", list(dropout.opdef.kernels), ids=lambda kernel: str(kernel.key))
def test_each_kernel_drops_what_key_and_place_say(kernel):
    dtype = "float64" if kernel.key.dtype is None else str(kernel.key.dtype)
    for key in (5, 2**40 + 3):
        (y,) = launch(dropout.opdef, kernel, [X.astype(dtype)], {"p": 0.3, "rng": Draw(key)})
        np.testing.assert_array_equal(y, masked(X, key, 0.3, dtype))


def test_each_call_takes_the_next_mask():
    rng = opsdk.Generator(5)
    for count in range(2):
        np.testing.assert_array_equal(dropout(X, p=0.3, rng=rng), masked(X, drawn(5, count), 0.3))


def test_the_backward_of_every_order_has_the_mask_of_its_forward():
    rng = opsdk.Generator(7)
    x, v = opsdk.to_tensor(X, stop_gradient=False), opsdk.to_tensor(X, stop_gradient=False)
    y = dropout(x, p=0.3, rng=rng)
    dropout(x, p=0.3, rng=rng)
    (dx,) = opsdk.grad(y, x, v, create_graph=True)
    np.testing.assert_array_equal(dx.numpy(), masked(X, 7, 0.3))
    np.testing.assert_array_equal(opsdk.grad(dx, v)[0].numpy(), masked(np.ones(X.size), 7, 0.3))


def test_a_program_drops_others_in_each_run_and_its_gradient_the_same():
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [23], "float64")
        x.stop_gradient = False
        y = dropout(x, p=0.3, rng=opsdk.Generator(5))
        (dx,) = static.gradients([y], [x])
    exe, scope = static.Executor(), static.Scope()
    for run in range(2):
        got = exe.run(program, feed={"x": X}, fetch_list=[y, dx], scope=scope)
        for value, base in zip(got, (X, np.ones(23)), strict=True):
            np.testing.assert_array_equal(value, masked(base, drawn(5, run), 0.3))

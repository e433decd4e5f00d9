from types import SimpleNamespace

import numpy as np
import pytest

from opsdk.backends.cuda.elementwise import kernel_source

HALF = SimpleNamespace(grid=lambda n: 1, gridsize=lambda n: 2)  # the second of two threads


def run(source, *arguments, scalar):
    """Runs a kernel's text as one thread of two would."""
    space = {"cuda": HALF, "scalar": scalar, "real": float, "store": float}
    exec(source, space)
    space["k"](*arguments)


def test_the_source_of_a_kernel_on_two_dimensions_reads_as_its_module_says():
    assert kernel_source("k", 2, 1, 1, 2) == (
        "def k(y0, x0, x1, a0, n):\n"
        "    for i in range(cuda.grid(1), n, cuda.gridsize(1)):\n"
        "        rest = i\n"
        "        i1 = rest % y0.shape[1]\n"
        "        rest = rest // y0.shape[1]\n"
        "        i0 = rest\n"
        "        t = scalar(real(x0[i0, i1]), real(x1[i0, i1]), real(a0))\n"
        "        y0[i0, i1] = store(t)\n"
    )


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 5), (1, 1, 1, 4)])
def test_a_thread_takes_every_second_element_in_c_order(shape):
    y, x = np.zeros(shape), np.arange(float(np.prod(shape))).reshape(shape)
    run(kernel_source("k", 1, 1, 1, len(shape)), y, x, 10, x.size, scalar=lambda a, b: a + b)
    wanted = np.where(np.arange(x.size) % 2 == 1, np.arange(x.size) + 10, 0)
    assert y.ravel().tolist() == wanted.tolist()


def test_several_results_go_to_several_arrays():
    a, b, x = np.zeros(3), np.zeros(3), np.arange(3.0)
    run(kernel_source("k", 1, 0, 2, 1), a, b, x, 3, scalar=lambda v: (v + 1, v + 2))
    assert (a.tolist(), b.tolist()) == ([0.0, 2.0, 0.0], [0.0, 3.0, 0.0])


def test_a_kernel_over_pointers_takes_the_size_last():
    y, x = np.zeros(5), np.arange(5.0)
    run(kernel_source("k", 1, 0, 1, 1), y, x, 4, scalar=lambda v: v + 1)
    assert y.tolist() == [0.0, 2.0, 0.0, 4.0, 0.0]

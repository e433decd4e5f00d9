"""Random numbers in CUDA kernels, on the simulated device: the reference's bits."""

import numpy as np
from numba import cuda

import opsdk
from opsdk import vmath
from tests import philox


def test_a_cuda_kernel_draws_what_the_reference_draws(on_device):
    op = opsdk.op("t::noise(Tensor x, *, Generator rng) -> Tensor y", infer=opsdk.infer.like("x"))
    noise = op(lambda x, rng: x + rng.random(x.shape, x.dtype))

    @noise.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y", threads=4))
    def kernel(x, rng, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = x[i] + vmath.uniform(rng, i, y.dtype)

    x, key = np.zeros(6), 2**40 + 3
    got = noise(on_device(x), rng=opsdk.Generator(key)).numpy()
    assert got.tolist() == [philox.uniform(key, i) for i in range(6)]
    assert noise(x, rng=opsdk.Generator(key)).tolist() == got.tolist()
    report = opsdk.verify(noise)
    assert report.findings == ()

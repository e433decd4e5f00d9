import numpy as np
import pytest

import opsdk
from opsdk.ops.nets.noise import gumbel_noise, random_slopes


@pytest.mark.parametrize("op", [random_slopes, gumbel_noise])
def test_verify_passes(op):
    assert opsdk.verify(op, level="quick").verdict == "pass"


def test_noise_is_distributed_as_gumbel_says():
    opsdk.seed(0)
    noise = gumbel_noise(np.zeros(20_000))
    assert np.isfinite(noise).all()
    assert noise.mean() == pytest.approx(np.euler_gamma, abs=0.03)
    assert noise.var() == pytest.approx(np.pi**2 / 6, abs=0.06)


def test_a_seed_repeats_what_was_drawn():
    opsdk.seed(5)
    first = random_slopes(np.zeros(4, np.float32), lower=0.0, upper=1.0)
    opsdk.seed(5)
    assert first.dtype == np.float32
    assert random_slopes(np.zeros(4, np.float32), lower=0.0, upper=1.0).tolist() == first.tolist()

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opsdk.core import random
from opsdk.core.errors import AttributeValueError
from opsdk.core.random import drawn

ROOT = Path(random.__file__).parents[2]


@pytest.fixture(autouse=True)
def as_before():
    before = list(random._generators)
    yield
    random._generators[:] = before


def test_the_same_seed_gives_the_same_seeds_again():
    random.seed(7)
    first = [random.next_seed() for _ in range(3)]
    random.seed(np.int32(7))
    assert [random.next_seed() for _ in range(3)] == first


def test_seeds_differ_from_one_another():
    assert len({random.next_seed() for _ in range(50)}) == 50


@pytest.mark.parametrize("value", [-1, 1.5, True, "7", None])
def test_what_is_no_seed_is_refused(value):
    with pytest.raises(AttributeValueError, match=r"^seed: expected an integer ≥ 0, got "):
        random.seed(value)


def test_a_process_without_a_seed_draws_its_own():
    code = "from opsdk.core.random import next_seed; print(next_seed())"
    drawn = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
        for _ in range(2)
    }
    assert len(drawn) == 2


@pytest.mark.parametrize("seed", [0, 1, 7, 2**31 - 2, 2**40 + 3])
def test_draws_from_one_seed_start_with_it_and_never_repeat(seed):
    seeds = [drawn(seed, count) for count in range(20_000)]
    assert seeds[0] == seed
    assert len(set(seeds)) == len(seeds)
    assert all(found >> 31 == seed >> 31 for found in seeds)


def test_draws_of_neighbouring_seeds_have_nothing_in_common():
    first, second = ({drawn(seed, count) for count in range(2_000)} for seed in (5, 6))
    assert len(first & second) <= 2


def test_draws_depend_on_seed_and_count_alone():
    assert [drawn(5, count) for count in (3, 1, 3)] == [drawn(5, 3), drawn(5, 1), drawn(5, 3)]
    bits = np.array([[drawn(5, count) >> bit & 1 for bit in range(31)] for count in range(4_000)])
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.05

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opsdk.core import random
from opsdk.core.errors import AttributeValueError

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

import math

import numpy as np
import pytest

from opsdk.core import philox
from opsdk.core.errors import DTypeError
from opsdk.core.philox import drawn, of_arrays
from tests import philox as paper

KEYS = [0, 5, 2**40 + 3, 2**63 - 1, -1]
PLACES = [0, 1, 7, 2**32 - 1, 2**32, 2**33 + 5, 2**63 - 1]


def draw(name, key, i, dtype="float64"):
    return drawn(name, key, i, dtype, "t")


@pytest.mark.parametrize(("counter", "key", "words"), paper.VECTORS)
def test_the_words_are_those_of_the_published_vectors(counter, key, words):
    assert tuple(map(int, of_arrays("float64").block(*map(np.uint64, (*key, *counter))))) == words
    assert tuple(paper.block(counter, key)) == words


@pytest.mark.parametrize("key", KEYS)
def test_bits_and_uniform_numbers_are_those_of_key_and_place(key):
    for i, got in zip(PLACES, draw("random_bits", key, PLACES), strict=True):
        assert int(got) == paper.words(key, i)[0] == int(draw("random_bits", key, i))
    assert draw("uniform", key, PLACES).tolist() == [paper.uniform(key, i) for i in PLACES]
    singles = draw("uniform", key, PLACES, "float32")
    assert singles.dtype == np.float32
    assert singles.tolist() == [(paper.words(key, i)[0] >> 40) / 2**24 for i in PLACES]


def test_a_normal_number_is_of_the_other_stream_and_of_both_its_words():
    for i in PLACES:
        u, v = ((word >> 11) / 2**53 for word in paper.words(5, i, stream=1))
        wanted = math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)
        assert draw("normal", 5, i) == pytest.approx(wanted, abs=1e-14)
        u, v = ((word >> 40) / 2**24 for word in paper.words(5, i, stream=1))
        wanted = math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)
        assert draw("normal", 5, i, "float32") == pytest.approx(wanted, abs=3e-6)


def test_uniform_numbers_stay_below_one_and_normal_ones_are_finite():
    most = np.uint64(2**64 - 1)
    for name, dtype in ((n, d) for n in ("uniform", "normal") for d in ("float32", "float64")):
        made = philox.functions(lambda f: f if f.__name__ != "numbered" else lambda *_: (most, most), *_numpy(dtype))
        value = getattr(made, name)(most, most)
        assert value.dtype == dtype
        assert value < 1 if name == "uniform" else math.isfinite(value) and abs(value) < 8.6


def _numpy(dtype):
    return np.dtype(dtype).type, np.log, np.cos, np.sqrt


def test_keys_and_places_broadcast_and_numbers_give_a_number():
    keys, places = np.array([[3], [4]], np.int32), np.arange(5)
    got = draw("uniform", keys, places)
    assert got.tolist() == [[paper.uniform(k, i) for i in range(5)] for k in (3, 4)]
    assert isinstance(draw("uniform", 3, 4), np.float64)
    assert draw("uniform", 3, np.zeros((0, 2), int)).shape == (0, 2)


def test_many_numbers_are_those_that_come_one_by_one():
    many = draw("random_bits", 9, np.arange(2 * philox._CHUNK + 3))
    for i in (0, philox._CHUNK - 1, philox._CHUNK, 2 * philox._CHUNK + 2):
        assert int(many[i]) == paper.words(9, i)[0]


def test_no_word_of_one_key_is_one_of_another():
    made = [draw("random_bits", key, np.arange(20_000)) for key in (1, 2, 2**31, 2**32 + 1)]
    assert len(np.unique(np.concatenate(made))) == 80_000


# A million numbers each; the words are the paper's, whose statistics are published, in every run.
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments_and_independence_are_those_of_the_distributions(dtype):
    n = 1_000_000
    u, z = (draw(name, 2**50 + 7, np.arange(n), dtype).astype(np.float64) for name in ("uniform", "normal"))
    for power in range(1, 7):
        assert abs((u**power).mean() - 1 / (power + 1)) < 5 / math.sqrt(n)
    for power, moment, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        assert abs((z**power).mean() - moment) < 5 * math.sqrt(spread / n)
    counts = np.bincount((u * 1000).astype(int), minlength=1000)
    assert abs(((counts - n / 1000) ** 2).sum() / (n / 1000) - 999) < 5 * math.sqrt(2 * 999)
    for a, b in ((u[:-1], u[1:]), (z[:-1], z[1:]), (u, z), (u, np.abs(z)), (u[:-4], u[4:])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / math.sqrt(n)


@pytest.mark.parametrize(
    ("key", "i", "dtype", "told"),
    [
        (1.5, 0, "float64", "t: key expected whole numbers, got float64; cast it to int64"),
        (1, [0.5], "float64", "t: i expected whole numbers, got float64"),
        (True, 0, "float64", "t: key expected whole numbers, got bool"),
        (2**64, 0, "float64", "t: key expected whole numbers, got object"),
        (1, 0, "float16", "t: dtype expected float32 or float64, got float16; draw in float32 and cast that"),
    ],
)
def test_what_is_no_whole_number_or_no_dtype_is_refused(key, i, dtype, told):
    with pytest.raises(DTypeError, match=told):
        draw("uniform", key, i, dtype)

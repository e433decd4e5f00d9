import copy
import pickle

import numpy as np
import pytest

from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.core.counted import CountedGenerator
from opsdk.core.errors import DTypeError, InputValueError
from opsdk.core.philox import drawn
from tests import philox as paper


def normals(key, count, start=0, dtype="float64"):
    return drawn("normal", key, np.arange(start, start + count), dtype, "t")


def test_element_i_is_number_offset_plus_i_of_the_key_in_c_order():
    rng = CountedGenerator(5)
    assert rng.random((2, 3)).ravel().tolist() == [paper.uniform(5, i) for i in range(6)]
    assert rng.random() == paper.uniform(5, 6)
    assert rng.random(2, dtype=np.float32).tolist() == [(paper.words(5, i)[0] >> 40) / 2**24 for i in (7, 8)]
    assert rng.standard_normal(3).tolist() == normals(5, 3, 9).tolist()
    assert rng.random(1).tolist() == [paper.uniform(5, 12)]
    assert CountedGenerator(6).random() == paper.uniform(6, 0)


def test_shapes_and_types_are_those_of_numpy():
    rng, theirs = CountedGenerator(5), np.random.default_rng(0)
    for size in (None, 3, (), (0,), (2, 3), [2, 2]):
        for name in ("random", "standard_normal", "uniform", "normal"):
            got, want = (getattr(each, name)(size=size) for each in (rng, theirs))
            assert (type(got), np.shape(got)) == (type(want), np.shape(want)), (name, size)


def test_intervals_and_means_broadcast():
    low, high = np.array([0.0, 10.0, -4.0]), np.array([1.0, 11.0, -2.0])
    u = drawn("uniform", 5, np.arange(3), "float64", "t")
    np.testing.assert_array_equal(CountedGenerator(5).uniform(low, high), low + (high - low) * u)
    np.testing.assert_array_equal(CountedGenerator(5).normal(low, 2.0), low + 2.0 * normals(5, 3))
    assert CountedGenerator(5).uniform(2, 4, (2, 3)).shape == (2, 3)


def test_numbers_are_written_where_that_is_asked():
    out = np.empty((2, 2), np.float32)
    rng = CountedGenerator(5)
    assert rng.standard_normal(dtype=np.float32, out=out) is out
    assert out.ravel().tolist() == normals(5, 4, dtype="float32").tolist()
    with pytest.raises(InputValueError, match=r"random: out expected float64 of shape \(3,\), got float32 of shape"):
        rng.random(3, out=out)
    assert rng.random() == paper.uniform(5, 4)


def test_a_copy_goes_on_where_the_generator_is():
    rng = CountedGenerator(5)
    rng.random(3)
    rng.integers(10, size=3)
    for again in (copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))):
        assert again.random() == paper.uniform(5, 3)
        assert again.integers(1000) == copy.deepcopy(rng).integers(1000)


def test_all_else_is_numpys_on_its_own_philox():
    rng, theirs = CountedGenerator(7), np.random.Generator(np.random.Philox(7))
    assert isinstance(rng, np.random.Generator)
    assert rng.permutation(9).tolist() == theirs.permutation(9).tolist()
    assert rng.gamma(2.0, size=3).tolist() == theirs.gamma(2.0, size=3).tolist()
    assert [each.random() for each in rng.spawn(2)] == [each.random() for each in theirs.spawn(2)]


def test_what_numpy_refuses_is_refused():
    with pytest.raises(DTypeError, match="random: dtype expected float32 or float64, got int64"):
        CountedGenerator(5).random(3, dtype=np.int64)
    with pytest.raises(InputValueError, match=r"normal: scale expected numbers ≥ 0, got -1\.0"):
        CountedGenerator(5).normal(0.0, -1.0)


def test_words_are_numpys_own_wherever_they_are_computed():
    rng, theirs = CountedGenerator(5), np.random.Generator(np.random.Philox(5))
    like = SimulatedArray(np.zeros(1))
    for shape in ((3, 5), (7,), (0,), (), (100, 9)):  # which begin and end inside of a block of eight
        words = rng.words(shape, like)
        wanted = theirs.integers(0, 2**32, shape, np.uint32)
        assert isinstance(words, SimulatedArray)
        assert (words.dtype, words.tolist()) == (np.uint32, np.asarray(wanted).tolist())
        rng = pickle.loads(pickle.dumps(rng))


def test_an_array_of_a_device_is_filled_there_with_the_same_numbers():
    there = SimulatedArray(np.empty((2, 3)))
    assert CountedGenerator(5).random(out=there) is there
    assert there.tolist() == CountedGenerator(5).random((2, 3)).tolist()
    narrow = SimulatedArray(np.empty(4, np.float32))
    CountedGenerator(5).standard_normal(out=narrow, dtype=np.float32)
    assert narrow.tolist() == CountedGenerator(5).standard_normal(4, np.float32).tolist()

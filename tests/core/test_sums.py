import itertools

import numpy as np
import pytest

import opsdk
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import DTypeError, InputValueError, ShapeError
from opsdk.core.sums import mean, running, sum_at, total

FLOATS = ["float16", "bfloat16", "float32", "float64", "complex64"]
EPS = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52, "complex64": 2**-23}
SHAPES = [(3,), (0, 4), (2, 3, 4), (5, 1, 7), (40, 50, 6), (300, 2, 3), ()]
LAYOUTS = {"rows": lambda x: x, "columns": lambda x: x.T, "gaps": lambda x: x[::2] if x.ndim else x}


def exact(x, axis=None, keepdims=False):
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return np.sum(x.astype(wide), axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_axis_of_every_layout_is_summed(name, layout, shape, rng):
    x = LAYOUTS[layout]((10 * rng.normal(size=shape)).astype(as_dtype(name)))
    for count in range(x.ndim + 1):
        for axis in [*itertools.combinations(range(x.ndim), count), None]:
            for keepdims in (False, True):
                got, want = total(x, axis, keepdims), exact(x, axis, keepdims)
                assert (got.shape, got.dtype) == (want.shape, x.dtype)
                bound = EPS[name] * np.abs(want) + 4 * min(EPS[name], 2**-23) * exact(np.abs(x), axis, keepdims)
                assert (np.abs(got.astype(want.dtype) - want) <= bound).all()


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1_000_000,), (1, 1_000_000), (1_000_000, 1), (500_000, 2), (2, 250_000, 2)])
@pytest.mark.parametrize("turned", [False, True])
def test_a_mean_of_many_equal_numbers_is_that_number(name, shape, turned):
    x = np.full(shape, 0.1, as_dtype(name))
    x = x.T if turned else x
    number = float(x.flat[0])
    for axis in [None, *((i,) for i in range(x.ndim))]:
        assert np.abs(mean(x, axis).astype(np.float64) / number - 1).max() <= 8 * min(EPS[name], 2**-23) + EPS[name] / 2


def test_sixteen_bits_saturate_only_where_the_sum_does():
    assert total(np.ones(65_000, np.float16)) == 64_992  # 65,000 lies between two of its numbers
    assert total(np.full((70_000, 2), 1.0, np.float16), (0,)).tolist() == [np.inf, np.inf]
    assert total(np.array([60_000, 60_000, -60_000, -60_000], np.float16)) == 0
    assert mean(np.full(1_000, 60_000, np.float16)) == np.float16(60_000)


def test_a_mean_of_nothing_is_nan_and_infinities_are_values():
    assert np.isnan(mean(np.zeros((0, 3)), (0,))).all()
    assert np.isnan(total(np.array([np.inf, -np.inf])))
    assert total(np.full((40, 2), 1e308), (0,)).tolist() == [np.inf, np.inf]


def test_whole_numbers_are_summed_as_they_are():
    x = np.full((40, 2), 2**53 + 1)
    assert total(x, (0,)).tolist() == [40 * (2**53 + 1)] * 2
    assert total(np.ones(300, np.bool_), dtype=np.dtype("int64")) == 300
    assert mean(np.full((70_000, 2), 3, np.int8), (0,), dtype=np.dtype("float64")).tolist() == [3.0, 3.0]


def test_the_result_may_have_another_dtype_than_the_array():
    assert total(np.ones((5000, 2), np.float16), (0,), dtype=np.dtype("float32")).tolist() == [5000, 5000]
    assert total(np.full((64, 2), 0.1), (0,), dtype=np.dtype("float32")).dtype == np.float32


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64", "int64"])
@pytest.mark.parametrize("rest", [(), (3,), (2, 2)])
@pytest.mark.parametrize("count", [0, 5, 400])
def test_values_are_summed_at_their_positions(name, rest, count, rng):
    values = (10 * rng.normal(size=(count, 2, *rest))).astype(as_dtype(name))
    index = rng.integers(0, 6, (count, 2))
    got = sum_at(values, index, 7)
    assert (got.shape, got.dtype) == ((7, *rest), values.dtype)
    for slot in range(7):
        chosen = values[index == slot].astype(np.complex128 if name == "complex64" else np.float64)
        bound = EPS.get(name, 0) * np.abs(chosen.sum(axis=0)) + 4 * 2**-23 * np.abs(chosen).sum(axis=0)
        assert (np.abs(got[slot].astype(chosen.dtype) - chosen.sum(axis=0)) <= bound).all()


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("rest", [(), (2,)])
def test_many_values_at_one_position_do_not_stop_to_add_up(name, rest):
    values = np.full((100_000, *rest), 0.1, as_dtype(name))
    got = sum_at(values, np.full(100_000, 3), 5).astype(np.float64)
    bound = EPS[name] / 2 + 8 * min(EPS[name], 2**-23)
    assert np.abs(got[3] / (100_000 * float(values.flat[0])) - 1).max() <= bound
    assert not got[:3].any()


@pytest.mark.parametrize("count", [3, 30])
@pytest.mark.parametrize("rest", [(), (2,)])
@pytest.mark.parametrize("bad", [-1, 4])
def test_a_position_outside_is_refused(count, rest, bad):
    index = np.zeros(count, int)
    index[-1] = bad
    with pytest.raises(InputValueError, match=r"sum_at: index expected in \[0, 4\), got"):
        opsdk.sum_at(np.ones((count, *rest)), index, 4)


def test_values_that_do_not_begin_with_the_shape_of_the_index_are_refused():
    with pytest.raises(ShapeError, match=r"sum_at: values expected shape \(3, …\) like index, got \(4, 2\)"):
        opsdk.sum_at(np.ones((4, 2)), np.zeros(3, int), 2)


@pytest.mark.parametrize("axis", [(2,), (-3,), (0, 0), (0, -2)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_an_axis_that_is_not_there_or_twice_is_refused(axis, dtype):
    with pytest.raises(ShapeError, match=r"sum: axis expected each once in \[-2, 2\), got"):
        total(np.ones((3, 40), dtype), axis)


@pytest.mark.parametrize("index", [np.array([True, False]), np.array([0.0, 1.0])])
def test_positions_are_integers(index):
    with pytest.raises(DTypeError, match=f"sum_at: index expected integers, got {index.dtype}; cast it to int64"):
        sum_at(np.ones(2), index, 2)


def test_lists_are_summed_by_their_positions_too():
    assert sum_at([1.0, 2.0, 4.0], [0, 2, 0], 3).tolist() == [5.0, 0.0, 2.0]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("count", [0, 1, 16, 17, 300])
def test_running_sums_are_numpys(count, axis, reverse):
    array = np.arange(2.0 * count).reshape(2, count)  # whole numbers, so that no order of adding matters
    turned = np.flip(array, axis) if reverse else array
    wanted = np.cumsum(turned, axis)
    got = running(array, axis, reverse)
    np.testing.assert_array_equal(got, np.flip(wanted, axis) if reverse else wanted)
    assert got.flags.c_contiguous


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_running_sums_do_not_stop_to_grow(name):
    values = np.full(5000, 0.1, as_dtype(name))
    got = running(values, 0).astype(np.float64)
    wanted = float(values[0]) * np.arange(1, 5001)
    assert np.abs(got / wanted - 1).max() <= EPS[name] / 2 + 16 * min(EPS[name], 2**-23)


def test_running_sums_of_whole_numbers_are_exact_and_take_the_dtype_asked_for():
    assert running(np.array([2**62, 1, 2]), 0).tolist() == [2**62, 2**62 + 1, 2**62 + 3]
    assert running(np.array([True, True]), 0, dtype=np.dtype("int64")).tolist() == [1, 2]
    with pytest.raises(ShapeError, match=r"sum: axis expected each once in \[-1, 1\), got \(1,\)"):
        running(np.ones(2), 1)

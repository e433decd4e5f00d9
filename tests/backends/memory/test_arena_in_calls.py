"""The arena in calls: what its arrays are to aliases, gradients, versions and fetches."""

import gc

import numpy as np
import pytest

import opsdk
from opsdk.backends.memory.arena import SMALLEST, empty, is_leased, is_new
from opsdk.core.errors import AliasError

N = SMALLEST // 4 + 100


def address(array):
    return array.__array_interface__["data"][0]


@pytest.fixture
def x(rng):
    made = empty((N,), np.dtype("float32"))
    made[:] = rng.standard_normal(N)
    return made


def double_of(schema="t::double(Tensor x) -> Tensor y"):
    """An op with a kernel that fills the buffer it is given."""
    pytest.importorskip("numba")

    @opsdk.op(schema)
    def double(x):
        raise AssertionError("the reference ran")

    @double.kernel("cpu", language="numba")
    def fill(x, y):
        for i in range(x.size):
            y[i] = 2 * x[i]

    return double


def test_what_a_kernel_fills_comes_from_the_arena_and_goes_back(x):
    double = double_of()
    double(x)  # compiles
    opsdk.memory.release()  # what earlier tests gave back
    first = double(x)
    assert is_leased(first, (x,)) and (first == 2 * x).all()
    where = address(first)
    del first
    second = double(x)
    assert (address(second), second.shape) == (where, x.shape)


def test_memory_of_the_arena_that_is_the_inputs_is_still_found(x):
    view, lent = x[:], np.ndarray((N,), np.dtype("float32"), x.base)
    assert is_leased(x, (view, None, [view], lent[:]))
    assert not is_leased(view, (x,)) and not is_leased(lent, (x,))


@pytest.mark.parametrize("given", [lambda x: x, lambda x: x[::-1], lambda x: np.ndarray(x.shape, x.dtype, x)])
def test_a_known_kind_of_call_that_hands_out_its_input_is_refused(x, given):
    made = [lambda x: x + 1]

    @opsdk.op("t::f(Tensor x) -> Tensor y")
    def f(x):
        return made[0](x)

    assert (f(x) == x + 1).all()
    assert (f(opsdk.Tensor(x)).numpy() == x + 1).all()
    made[0] = given
    for value in (x, opsdk.Tensor(x)):
        with pytest.raises(AliasError, match=r"^op 't::f', output 'y': expected a new array, got"):
            f(value)


def test_gradients_on_lent_memory_are_kept_as_they_are_and_views_of_it_copied(x):
    double = double_of()
    seen = x[:]
    seen.setflags(write=False)
    double(seen)  # compiles, for what a backward sees; the compiler's garbage holds frames, and so what they hold
    ways = {
        "new": lambda dy: double(dy),
        "view": lambda dy: double(dy)[:],
        "the cotangent": lambda dy: dy,
        "view of the cotangent": lambda dy: dy[:],
    }
    way = []

    @opsdk.op("t::g(Tensor x) -> Tensor y")
    def g(x):
        return x + 0

    @g.backward
    def g_grad(y, dy):
        return ways[way[0]](dy)

    seed = opsdk.Tensor(x + 1)
    for name in (*ways, *ways):
        way[:] = [name]
        leaf = opsdk.Tensor(x, stop_gradient=False)
        g(g(leaf)).backward(seed)
        for found in (leaf.grad._array, opsdk.grad(g(g(leaf)), leaf, seed)[0]._array):
            assert np.array_equal(found, seed._array * (1 if "cotangent" in name else 4))
            assert not np.may_share_memory(found, seed._array)
            assert (found.base is None, is_leased(found, ())) == (name != "new", name == "new")


def test_a_version_is_a_tensors_and_not_its_memorys(x):
    double = double_of()

    @double.backward
    def double_grad(y, dy):
        return dy + dy

    leaf = opsdk.Tensor(x, stop_gradient=False)
    kept = double(leaf)
    gc.collect()  # what lies in cycles must not come back in between
    opsdk.memory.release()  # what compiling and earlier tests gave back
    dropped = double(leaf)
    where = address(dropped._array)
    del dropped
    other = double(opsdk.Tensor(x))
    assert address(other._array) == where
    other.fill_(0.0)
    kept.backward()
    assert (leaf.grad.numpy() == 2).all()


def test_a_fetched_array_owns_its_memory(x):
    double = double_of()
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        data = opsdk.static.data("x", [N], "float32")
        made = double(data)
    executor = opsdk.static.Executor()
    for _ in range(2):
        (found,) = executor.run(main, feed={"x": x}, fetch_list=[made])
        assert found.flags.owndata and np.array_equal(found, 2 * x)


def test_an_array_is_new_where_its_memory_is_its_own_and_no_inputs(x):
    view, lent, small = x[:], np.ndarray((N,), np.dtype("float32"), x.base), np.ones(3)
    made = empty((N,), np.dtype("float32"))
    assert is_new(made, (x, None, [x, view])) and is_new(small, (x, [x])) and is_new(made, ())
    assert not is_new(x, (x,)) and not is_new(x, (None, [view, x])) and not is_new(small, (x, [small]))
    assert not is_new(lent, (x,)) and not is_new(lent, ([None, x],))  # memory of the arena, which an input has too
    assert not is_new(view, ()) and not is_new(small[:], ()) and not is_new(1.0, ()) and not is_new(None, (None,))
    assert not is_new(np.recarray((2,), [("a", "f4")]), ())  # a subclass, of which nothing is known

import copy
import gc
import mmap
import pickle
import weakref

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdk.backends.memory import arena as module
from opsdk.backends.memory.arena import HUGE, SMALLEST, Arena, Lease, is_leased, mapped, rounded

MIB = 1 << 20
BYTE = np.dtype("int8")


@pytest.fixture
def arena():
    return Arena(64 * MIB)


def address(array):
    return array.__array_interface__["data"][0]


# -- what is made -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bool", "int8", "float16", "float32", "float64", "complex64", "complex128", "M8[s]"])
def test_an_array_has_its_shape_and_dtype_and_is_aligned_and_contiguous(arena, name):
    made = arena.empty((512, 257), np.dtype(name))
    assert (type(made), made.shape, made.dtype) == (np.ndarray, (512, 257), np.dtype(name))
    assert made.flags.c_contiguous and made.flags.writeable and made.flags.aligned
    assert address(made) % 64 == 0


def test_bfloat16_holds_what_it_is_given(arena):
    made = arena.empty((MIB,), np.dtype(ml_dtypes.bfloat16))
    made[:] = 1.5
    assert made.dtype == ml_dtypes.bfloat16 and (made == 1.5).all()


@pytest.mark.parametrize("shape", [(), (0,), (0, 1 << 40), (SMALLEST - 1,)])
def test_small_arrays_are_numpys_own(arena, shape):
    made = arena.empty(shape, BYTE)
    assert (made.base, made.shape, arena.stats().allocations) == (None, shape, 0)


def test_python_objects_never_stand_on_used_memory(arena):
    made = arena.empty((SMALLEST,), np.dtype(object))
    assert made.base is None and made[0] is None and made[-1] is None


def test_a_size_below_zero_or_beyond_all_memory_is_refused_as_numpy_refuses_it(arena):
    with pytest.raises(ValueError, match="negative dimensions"):
        arena.empty((-1024, -1024), BYTE)
    with pytest.raises(ValueError, match=r"too big|dimension"):
        arena.empty((1 << 62,), np.dtype("float64"))
    assert arena.stats().in_use == 0


# -- what comes back --------------------------------------------------------------------------------------------------


def test_the_block_that_came_back_last_is_lent_first(arena):
    first, second = arena.empty((MIB,), BYTE), arena.empty((MIB,), BYTE)
    earlier, later = address(first), address(second)
    assert earlier != later
    del first, second
    again = [arena.empty((MIB,), BYTE) for _ in range(2)]
    assert [address(array) for array in again] == [later, earlier]


def test_arrays_of_nearly_the_same_size_share_a_block(arena):
    first = arena.empty((MIB,), BYTE)
    held = address(first)
    del first
    assert address(arena.empty((MIB - MIB // 8 + 1,), BYTE)) == held


class Marked(np.ndarray):
    pass


KEEPERS = {
    "slice": lambda a: a[5:],
    "slice of a slice": lambda a: a[5:][::2][1:],
    "reshape": lambda a: a.reshape(2, -1).T,
    "other dtype": lambda a: a.view("complex64").real,
    "subclass": lambda a: a.view(Marked)[1:],
    "strides": lambda a: np.lib.stride_tricks.as_strided(a, (3,), (4,)),
    "broadcast": lambda a: np.broadcast_to(a, (2, a.size)),
    "memoryview": memoryview,
    "array of a memoryview": lambda a: np.asarray(memoryview(a)),
    "array of a buffer": lambda a: np.frombuffer(a, "int8"),
    "array on an array": lambda a: np.ndarray((3,), BYTE, a),
    "DLPack": np.from_dlpack,
    "pickle without a copy": lambda a: [buffers := [], pickle.dumps(a, 5, buffer_callback=buffers.append)],
    "iterator": lambda a: a.flat,
    "pointer": lambda a: a.ctypes,
    "lease": lambda a: a.base,
    "array on the lease": lambda a: np.asarray(a.base),
    "part of the lease": lambda a: a.base[3:],
}


@pytest.mark.parametrize("kind", KEEPERS)
def test_whatever_looks_into_an_array_keeps_its_block(arena, kind):
    array = arena.empty((MIB // 4,), np.dtype("float32"))
    keeper = KEEPERS[kind](array)
    del array
    assert (arena.stats().in_use, arena.stats().held) == (MIB, 0)
    del keeper
    assert (arena.stats().in_use, arena.stats().held) == (0, MIB)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, np.array, lambda a: pickle.loads(pickle.dumps(a))])
def test_a_copy_keeps_no_block(arena, copied):
    array = arena.empty((MIB,), BYTE)
    array[:] = 3
    kept = copied(array)
    del array
    assert arena.stats().in_use == 0
    arena.empty((MIB,), BYTE)[:] = 9
    assert (kept == 3).all()


def test_a_copy_or_a_part_of_a_lease_gives_nothing_back(arena):
    array = arena.empty((MIB,), BYTE)
    part, double = array.base[3:], array.base.copy()
    assert (type(part), type(double)) == (Lease, Lease)
    del part, double
    assert (arena.stats().in_use, arena.stats().held) == (MIB, 0)


def test_an_array_cannot_be_resized_and_can_be_locked_and_unlocked(arena):
    array = arena.empty((MIB,), BYTE)
    with pytest.raises(ValueError, match="does not own its data"):
        array.resize((4 * MIB,))
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    array.flags.writeable = True
    array[0] = 1


def test_an_exception_keeps_the_arrays_of_its_frames_and_no_longer(arena):
    def fails():
        array = arena.empty((MIB,), BYTE)
        raise RuntimeError(array.shape)

    with pytest.raises(RuntimeError) as caught:
        fails()
    assert arena.stats().in_use == MIB
    del caught
    gc.collect()
    assert arena.stats().in_use == 0


def test_an_array_in_a_cycle_comes_back_when_the_cycle_is_collected(arena):
    cycle = [arena.empty((MIB,), BYTE)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert (arena.stats().in_use, arena.stats().held) == (0, MIB)


def test_an_array_outlives_its_arena():
    arena = Arena(MIB)
    array = arena.empty((MIB,), BYTE)
    gone = weakref.ref(arena)
    del arena
    gc.collect()
    array[:] = 4
    assert (array == 4).all()
    del array
    gc.collect()
    assert gone() is None


# -- what is held -----------------------------------------------------------------------------------------------------


def test_over_the_limit_the_longest_unused_blocks_go():
    arena = Arena(3 * MIB)
    arrays = [arena.empty((size * MIB // 4,), BYTE) for size in (4, 5, 6)]
    _, middle, latest = map(address, arrays)
    for _ in range(3):
        del arrays[0]
    assert arena.stats().held == 11 * MIB // 4  # 1.25 + 1.5 MiB; the first went
    assert address(arena.empty((5 * MIB // 4,), BYTE)) == middle
    assert address(arena.empty((6 * MIB // 4,), BYTE)) == latest
    assert arena.stats().reuses == 2


def test_of_one_size_too_the_longest_unused_blocks_go():
    arena = Arena(2 * MIB)
    arrays = [arena.empty((MIB,), BYTE) for _ in range(3)]
    _, middle, latest = map(address, arrays)
    for _ in range(3):
        del arrays[0]
    again = [arena.empty((MIB,), BYTE) for _ in range(2)]
    assert [address(array) for array in again] == [latest, middle]


def test_a_block_over_the_limit_goes_at_once_and_drives_nothing_out():
    arena = Arena(MIB)
    small, large = arena.empty((MIB,), BYTE), arena.empty((2 * MIB,), BYTE)
    del small, large
    assert (arena.stats().held, arena.stats().in_use) == (MIB, 0)


def test_the_peak_stays_and_a_lower_limit_takes_hold_at_once(arena):
    arrays = [arena.empty((MIB,), BYTE) for _ in range(3)]
    del arrays
    arena.keep_at_most(MIB)
    assert (arena.stats().held, arena.stats().peak) == (MIB, 3 * MIB)


def test_what_the_os_refuses_is_asked_for_again_without_the_free_blocks(arena, monkeypatch):
    del [arena.empty((MIB,), BYTE)][:]
    held = []

    def scarce(size):
        held.append(arena.stats().held)
        if held[-1]:
            raise OSError(12, "no memory")
        return real(size)

    real = module.mapped
    monkeypatch.setattr(module, "mapped", scarce)
    assert is_leased(arena.empty((2 * MIB,), BYTE), ())
    assert held == [MIB, 0]


def test_what_the_os_refuses_for_good_is_asked_of_numpy(arena, monkeypatch):
    def none_left(size):
        raise OSError(12, "no memory")

    monkeypatch.setattr(module, "mapped", none_left)
    assert arena.empty((MIB,), BYTE).base is None
    assert (arena.stats().in_use, arena.stats().allocations) == (0, 0)
    with pytest.raises(MemoryError):
        arena.empty((1 << 60,), BYTE)


def test_a_loop_that_makes_the_same_sizes_again_takes_no_more_memory(arena, rng):
    sizes = rng.integers(SMALLEST, 4 * MIB, 12).tolist()

    def step():
        kept = [arena.empty((size,), BYTE) for size in sizes]
        return [array[1:] for array in kept]

    step()
    first = arena.stats()
    for _ in range(500):
        step()
    last = arena.stats()
    assert (last.peak, last.held, last.in_use) == (first.peak, first.held, 0)
    assert last.reuses - first.reuses == last.allocations - first.allocations == 6000


# -- blocks ------------------------------------------------------------------------------------------------------------


@given(st.integers(5, 1 << 45))
def test_a_block_is_large_enough_and_at_most_a_quarter_larger(count):
    assert count <= rounded(count) <= count * 5 / 4


@pytest.mark.parametrize(("count", "size"), [(64, 64), (65, 80), (80, 80), (81, 96), (97, 112), (113, 128), (129, 160)])
def test_there_are_four_sizes_in_every_power_of_two(count, size):
    assert rounded(count) == size


@pytest.mark.parametrize(("size", "alignment"), [(5 << 14, mmap.PAGESIZE), (HUGE, HUGE), (5 * HUGE // 2, HUGE)])
def test_a_block_begins_at_a_page_and_a_large_one_at_a_huge_page(size, alignment):
    made = mapped(size)
    bytes_ = np.ndarray((made.capacity,), np.uint8, made, made.offset)
    assert (made.capacity, bytes_.ctypes.data % alignment, bytes_.any()) == (size, 0, False)


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="huge pages are asked for on Linux")
def test_a_kernel_without_huge_pages_is_served_all_the_same(monkeypatch):
    asked = []

    class Refusing(module.Block):
        def madvise(self, *advice):
            asked.append(advice)
            raise OSError(22, "no such advice")

    monkeypatch.setattr(module, "Block", Refusing)
    made = mapped(HUGE)
    assert (made.capacity, asked) == (HUGE, [(mmap.MADV_HUGEPAGE, made.offset, HUGE)])

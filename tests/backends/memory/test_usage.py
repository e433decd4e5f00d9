import numpy as np
import pytest

import opsdk
from opsdk.backends.memory.arena import empty
from opsdk.core.flags import get_flags, set_flags

MIB = 1 << 20


@pytest.fixture(autouse=True)
def nothing_held():
    opsdk.memory.release()
    yield
    opsdk.memory.release()


def test_the_counts_are_those_of_what_was_made():
    before = opsdk.memory.stats()
    first = empty((MIB,), np.dtype("int8"))
    during = opsdk.memory.stats()
    del first
    second = empty((MIB,), np.dtype("int8"))
    after = opsdk.memory.stats()
    del second
    assert during.in_use - before.in_use == MIB
    assert (during.held, after.held, opsdk.memory.stats().held) == (0, 0, MIB)
    assert (after.allocations - before.allocations, after.reuses - before.reuses) == (2, 1)
    assert after.peak >= during.in_use


def test_released_memory_is_counted_and_no_longer_held():
    del [empty((MIB,), np.dtype("int8")) for _ in range(3)][:]
    assert (opsdk.memory.stats().held, opsdk.memory.release(), opsdk.memory.stats().held) == (3 * MIB, 3 * MIB, 0)


def test_the_flag_bounds_what_is_held_from_then_on():
    assert 0 < get_flags()["arena_limit_bytes"] <= 1 << 30
    del [empty((MIB,), np.dtype("int8")) for _ in range(3)][:]
    set_flags(arena_limit_bytes=2 * MIB)
    assert opsdk.memory.stats().held == 2 * MIB
    set_flags(arena_limit_bytes=0)
    del [empty((MIB,), np.dtype("int8"))][:]
    assert opsdk.memory.stats().held == 0

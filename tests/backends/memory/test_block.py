import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsdk.backends.memory import block
from opsdk.backends.memory.block import HUGE, mapped, rounded


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

    class Refusing(block.Block):
        def madvise(self, *advice):
            asked.append(advice)
            raise OSError(22, "no such advice")

    monkeypatch.setattr(block, "Block", Refusing)
    made = mapped(HUGE)
    assert (made.capacity, asked) == (HUGE, [(mmap.MADV_HUGEPAGE, made.offset, HUGE)])

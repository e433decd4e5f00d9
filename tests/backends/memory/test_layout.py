import numpy as np

from opsdk.backends.memory.layout import is_plain, plain


def test_what_compiled_code_can_read_where_it_lies():
    whole = np.zeros((4, 6))
    unaligned = np.zeros(17, "u1")[1:].view("f8")
    swapped = whole.astype(whole.dtype.newbyteorder("S"))
    record = np.zeros(3, [("a", "f8"), ("b", "i4")])["a"]  # 12 bytes apart, and so no multiple of 8
    between = np.zeros(3, [("a", "c16"), ("b", "f8")])["a"]  # aligned, 24 bytes apart, and so no multiple of 16
    cases = [whole, whole[1], whole.T, whole[:, ::2], unaligned, swapped, record, np.zeros((0, 3)).T, np.zeros(())]
    assert between.flags.aligned
    assert [is_plain(between, contiguous=kind) for kind in (True, False)] == [False, False]
    assert [is_plain(array, contiguous=True) for array in cases] == [1, 1, 0, 0, 0, 0, 0, 1, 1]
    assert [is_plain(array, contiguous=False) for array in cases] == [1, 1, 1, 1, 0, 0, 0, 1, 1]
    for array in cases:
        copy = plain(array)
        assert is_plain(copy, contiguous=True)
        assert copy.tolist() == array.tolist()
        assert not np.shares_memory(copy, array) or not array.size

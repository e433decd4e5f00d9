import numpy as np
import pytest

from opsdk.backends.c.signature import TYPES
from opsdk.backends.c.slots import HoleSlot, ListSlot, TensorSlot

cffi = pytest.importorskip("cffi")


@pytest.fixture(scope="module")
def ffi():
    made = cffi.FFI()
    made.cdef(TYPES)
    return made


def described(struct):
    return (
        [struct.shape[i] for i in range(struct.ndim)],
        [struct.strides[i] for i in range(struct.ndim)],
        (struct.dtype.code, struct.dtype.bits, struct.dtype.lanes),
        int(cffi.FFI().cast("uintptr_t", struct.data)),
        (struct.device.device_type, struct.device.device_id, struct.byte_offset),
    )


def expected(array, code):
    return (
        list(array.shape),
        [stride // array.itemsize for stride in array.strides],
        (code, array.itemsize * 8, 1),
        array.__array_interface__["data"][0],
        (1, 0, 0),
    )


def test_a_slot_describes_whatever_it_was_filled_with_last(ffi):
    slot = TensorSlot(ffi)
    whole = np.zeros((4, 6))
    arrays = [whole, whole, whole.T, whole[::2, 1:], whole[::-1], np.zeros((4, 6)), np.zeros(()), np.zeros((0, 3))]
    arrays += [np.zeros((2, 3, 4)), whole[1:3, 2:5].T]
    for array in arrays:
        slot.fill(array)
        assert described(slot.struct) == expected(array, 2)
    slot.fill(np.zeros(3, "int32"))
    assert described(slot.struct)[2] == (0, 32, 1)


def test_a_slot_says_whether_shape_or_dtype_changed(ffi):
    slot = TensorSlot(ffi)
    square = np.arange(9.0).reshape(3, 3)
    given = [square, square.copy(), square.T, square[:2], square[:2].astype("float32"), square[:2].astype("float32")]
    assert [slot.fill(array) for array in given] == [True, False, False, True, True, False]


def test_the_tensors_of_a_list_are_pointed_to(ffi):
    slot = ListSlot(ffi)
    for arrays in ([np.zeros(2), np.zeros((3, 1))], [np.zeros(4)], []):
        assert slot.fill(arrays) or not arrays
        pointers, count = slot.arguments
        assert count == len(arrays)
        assert [described(pointers[i]) for i in range(count)] == [expected(array, 2) for array in arrays]


def test_the_pointers_of_holes_are_null(ffi):
    slot, arrays = HoleSlot(ffi), [np.zeros(2), np.zeros((2, 3))]
    assert slot.fill([None, *arrays])
    pointers, length = slot.arguments
    assert [pointers[i] == ffi.NULL for i in range(length)] == [True, False, False]
    assert described(pointers[2]) == expected(arrays[1], 2)
    assert not slot.fill([None, np.ones(2), np.ones((2, 3))])
    assert slot.fill([arrays[0], None, arrays[1]])
    assert slot.fill([arrays[0], None])
    assert slot.fill([None, None])
    assert slot.fill([])
    assert slot.arguments[1] == 0

import sys
import traceback

import numpy as np
import pytest

from opsdk.backends.c.frame import ListSlot, TensorSlot, call_at
from opsdk.backends.c.signature import TYPES
from opsdk.core.origin import Origin

cffi = pytest.importorskip("cffi")


def test_a_call_gives_what_the_function_gives():
    assert call_at(Origin("ops.py", 7), "f, c kernel")(lambda a, b: a - b, [5, 2]) == 3


def test_its_frame_stands_at_the_row():
    seen = []

    def look():
        frame = sys._getframe(1)
        seen.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))

    call_at(Origin("ops.py", 7), "f, c kernel")(look, [])
    assert seen == [("ops.py", 7, "f, c kernel")]


def test_an_exception_shows_it_in_its_traceback():
    def fail():
        raise OverflowError("planted")

    with pytest.raises(OverflowError, match="planted") as caught:
        call_at(Origin("ops.py", 7), "f, c kernel")(fail, [])
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert ("ops.py", 7, "f, c kernel") in [(frame.filename, frame.lineno, frame.name) for frame in frames]


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

"""Arrays as Paddle's C++ core writes them: the parameter files of 1.x, and `.pdiparams`."""

from __future__ import annotations

import math
import os
from typing import IO

import numpy as np

from opsdk.core.dtype import as_dtype
from opsdk.core.errors import SavedFileError
from opsdk.core.files.tensors import bytes_of

# The numbers of `VarType.Type` in Paddle's framework.proto, as far as tensors have them.
_DTYPES = {
    **dict(enumerate(("bool", "int16", "int32", "int64", "float16", "float32", "float64"))),
    **{20: "uint8", 21: "int8", 22: "bfloat16", 23: "complex64", 24: "complex128"},
}


def is_dense(head: bytes) -> bool:
    """Whether a file that begins like this may be one: version 0, then how many levels of offsets, few."""
    return len(head) >= 12 and head[:4] == b"\0\0\0\0" and head[5:12] == bytes(7)


def read(file: IO[bytes], subject: str) -> list[np.ndarray]:
    """Reads the arrays that stand one behind the other in a file; names are not in it.

    Raises:
        SavedFileError: it is cut off, or holds something else.
    """
    room = file.seek(0, os.SEEK_END)
    file.seek(0)
    arrays = []
    while file.tell() < room:
        arrays.append(_one(file, room, subject))
    return arrays


def _one(file: IO[bytes], room: int, subject: str) -> np.ndarray:
    """Reads one array: offsets of sequences, which are skipped, its description, its bytes."""

    def number(size: int) -> int:
        data = file.read(size)
        if len(data) < size:
            raise SavedFileError(f"{subject}: expected an array behind byte {file.tell()}, the file ends; cut off?")
        return int.from_bytes(data, "little")

    def within(size: int) -> int:
        if size > room - file.tell():
            raise SavedFileError(f"{subject}: expected {size} bytes at {file.tell()}, the file has {room}; cut off?")
        return size

    versions = [number(4)]
    for _ in range(within(number(8))):
        file.seek(within(number(8)), os.SEEK_CUR)
    versions.append(number(4))
    if any(versions):
        raise SavedFileError(f"{subject}: expected arrays of version 0, as Paddle writes them, got {max(versions)}")
    dtype, shape = _description(file.read(within(number(4))), subject)
    if math.prod(max(size, 1) for size in shape) >= 2**56:
        raise SavedFileError(f"{subject}: expected an array within the file, got one of shape {tuple(shape)[:8]}")
    within(math.prod(shape) * dtype.itemsize)
    array = np.empty(shape, dtype)
    file.readinto(bytes_of(array))  # type: ignore[attr-defined]
    return array


def _description(packed: bytes, subject: str) -> tuple[np.dtype[np.generic], list[int]]:
    """Returns dtype and shape of a `TensorDesc`: field 1 is the dtype's number, field 2 a size, or all of them."""
    place, code, shape = 0, -1, []

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while place < len(packed) and shift < 63:
            byte = packed[place]
            place, value, shift = place + 1, value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value
        raise SavedFileError(f"{subject}: expected the description of an array, its numbers do not end; damaged?")

    while place < len(packed):
        key = varint()
        if key == 8:
            code = varint()
        elif key == 16:
            shape.append(varint())
        elif key == 18:
            end = varint() + place
            while place < end:
                shape.append(varint())
        else:
            raise SavedFileError(f"{subject}: expected dtype and shape of an array, got field {key >> 3}; damaged?")
    if code not in _DTYPES or len(shape) > 32:
        raise SavedFileError(f"{subject}: expected the number of a dtype, got {code}; damaged?")
    return as_dtype(_DTYPES[code], subject), shape

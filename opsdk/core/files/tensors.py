"""The file format of opsdk: safetensors, with a text that says what the arrays are of, and a checksum of everything.

A file is eight bytes with the length of a header, the header in JSON, and the arrays' bytes in the order in which the
header has them. Any reader of safetensors reads these files; a `complex128` array is stored as `F64`, with a last axis
of two.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

import numpy as np

from opsdk.core.dtype import as_dtype, as_native
from opsdk.core.errors import DTypeError, SavedFileError

VERSION = 1
_FORMAT, _TEXT, _COMPLEX, _CHECK = "opsdk.format", "opsdk.text", "opsdk.complex128", "opsdk.crc32"
_HEAD = f'{{"__metadata__":{{"{_CHECK}":"'.encode()  # every file of ours begins so; eight digits follow
_DIGITS = slice(8 + len(_HEAD), 16 + len(_HEAD))
_LONGEST = 1 << 26  # bytes of a header; that of a hundred thousand arrays has a tenth of it

_CODES = {
    "bool": "BOOL",
    **{f"{word}{bits}": f"{word[0].upper()}{bits}" for word in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
    "bfloat16": "BF16",
    "complex64": "C64",
}
_NAMES = {code: name for name, code in _CODES.items()}


class Content(NamedTuple):
    """What a file holds.

    Attributes:
        arrays: by name, each in memory of its own.
        text: what was written beside them; None in a file that opsdk did not write.
    """

    arrays: dict[str, np.ndarray]
    text: str | None


def write(file: IO[bytes], arrays: Mapping[str, np.ndarray], text: str) -> None:
    """Writes arrays with a text beside them.

    Args:
        file: binary, and able to seek.
        arrays: by name, of any strides.
        text: whatever says what they are.

    Raises:
        DTypeError: a dtype that tensors do not have.
    """
    header = _header(arrays, text)
    start = file.tell()
    check = zlib.crc32(header)
    file.write(header)
    for array in arrays.values():
        data = _stored(array)
        check = zlib.crc32(data, check)
        file.write(data)
    end = file.tell()
    file.seek(start + _DIGITS.start)
    file.write(b"%08x" % check)
    file.seek(end)


def _header(arrays: Mapping[str, np.ndarray], text: str) -> bytes:
    """Returns the length and the header, with zeros for the checksum."""
    doubled = [name for name, array in arrays.items() if array.dtype == np.complex128]
    known = {_CHECK: "0" * 8, _FORMAT: str(VERSION), _TEXT: text, _COMPLEX: json.dumps(doubled)}
    entries: dict[str, Any] = {"__metadata__": known}  # Any: what JSON has
    offset = 0
    for name, array in arrays.items():
        is_doubled = array.dtype == np.complex128
        code = "F64" if is_doubled else _CODES.get(array.dtype.name)
        if code is None:
            raise DTypeError(f"save, {name!r}: expected an array of {', '.join(_CODES)}, got {array.dtype}")
        shape = [*array.shape, 2] if is_doubled else list(array.shape)
        entries[name] = {"dtype": code, "shape": shape, "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    packed = json.dumps(entries, separators=(",", ":")).encode()
    packed += b" " * (-len(packed) % 8)  # so that arrays begin at multiples of eight
    return len(packed).to_bytes(8, "little") + packed


def _stored(array: np.ndarray) -> memoryview:
    """Returns the bytes of an array in C order."""
    return bytes_of(np.ascontiguousarray(as_native(array)))


def bytes_of(array: np.ndarray) -> memoryview:
    """Returns the memory of an array in C order, to be written to or read into."""
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def is_tensors(head: bytes) -> bool:
    """Whether a file that begins like this may be of the format: a length below 2⁴⁰, then a JSON object."""
    return head[5:9] == b"\0\0\0{"


def read(file: IO[bytes], subject: str) -> Content:
    """Reads all arrays of a file, which is compared with its checksum before anything of it is believed.

    No more memory is asked for than the file has bytes.

    Args:
        file: binary, and able to seek.
        subject: whose file it is, for messages.

    Raises:
        SavedFileError: the file is damaged, cut off, of a newer version, or not of the format.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(8)
    length = int.from_bytes(head, "little")
    if len(head) < 8 or not 2 <= length <= min(size - 8, _LONGEST):
        raise SavedFileError(f"{subject}: expected a header within {size} bytes of file, got one of {length}; cut off?")
    packed = file.read(length)
    header = _parsed(packed, subject)
    known = header.pop("__metadata__", {})
    is_ours = packed.startswith(_HEAD)
    if not is_ours and any(name.startswith("opsdk") for name in known):
        raise _damaged(subject)
    places = _places(header, size - 8 - length, subject)
    unchecked = head + packed
    check = zlib.crc32(unchecked[: _DIGITS.start] + b"0" * 8 + unchecked[_DIGITS.stop :])
    arrays = {}
    for name, (dtype, shape, count) in places.items():
        array = np.empty(shape, dtype)
        data = bytes_of(array)
        if file.readinto(data) != count:  # type: ignore[attr-defined]
            raise _damaged(subject)
        check = zlib.crc32(data, check)
        arrays[name] = array
    if not is_ours:
        return Content(arrays, None)
    if unchecked[_DIGITS] != b"%08x" % check:
        raise _damaged(subject)
    return Content(*_own(arrays, known, subject))


def _damaged(subject: str) -> SavedFileError:
    return SavedFileError(f"{subject}: expected the bytes that were written, got others by the checksum; damaged?")


def _own(arrays: dict[str, np.ndarray], known: Mapping[str, str], subject: str) -> tuple[dict[str, np.ndarray], str]:
    """Returns arrays as they were given to `write`, and the text."""
    if known.get(_FORMAT) != str(VERSION):
        raise SavedFileError(
            f"{subject}: expected format {VERSION} of opsdk's files, got {str(known.get(_FORMAT))[:20]!r}; "
            "a newer opsdk wrote it: update opsdk"
        )
    try:
        for name in json.loads(known[_COMPLEX]):
            arrays[name] = arrays[name].view(np.complex128)[..., 0]
        return arrays, known[_TEXT]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _damaged(subject) from error


# Any, from here on: what a file's JSON holds, which is looked at before it is used.
def _parsed(packed: bytes, subject: str) -> dict[str, Any]:
    """Returns the header, of which every name stands there once."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        named = dict(pairs)
        if len(named) < len(pairs):
            raise ValueError("one name stands there twice")
        return named

    try:
        header = json.loads(packed.decode(), object_pairs_hook=unique)
        known = header.get("__metadata__", {})
        if not all(isinstance(text, str) for text in known.values()):
            raise ValueError("__metadata__ holds something else than texts")
    except (ValueError, AttributeError, RecursionError) as error:
        raise SavedFileError(f"{subject}: expected a header in JSON, {error}; damaged?") from error
    assert isinstance(header, dict)
    return header


def _places(header: dict[str, Any], room: int, subject: str) -> dict[str, tuple[np.dtype[Any], tuple[int, ...], int]]:
    """Returns dtype, shape and number of bytes of each array, which lie one behind the other and fill the room.

    Raises:
        SavedFileError: they do not.
    """
    known = sorted((_place(name, entry, subject) for name, entry in header.items()), key=lambda place: place[:2])
    end = 0
    for start, stop, name, _, _ in known:
        if start != end:
            raise SavedFileError(f"{subject}, {name!r}: expected its data at byte {end}, got {start}")
        end = stop
    if end != room:
        raise SavedFileError(f"{subject}: expected {end} bytes of arrays, as its header says, got {room}; cut off?")
    return {name: (dtype, shape, stop - start) for start, stop, name, dtype, shape in known}


def _place(name: str, entry: Any, subject: str) -> tuple[int, int, str, np.dtype[Any], tuple[int, ...]]:
    def is_count(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62

    fits = isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"}
    if fits:
        shape, offsets = entry["shape"], entry["data_offsets"]
        fits = isinstance(shape, list) and isinstance(offsets, list) and len(offsets) == 2 and len(shape) <= 32
        fits = fits and all(map(is_count, [*shape, *offsets])) and isinstance(entry["dtype"], str)
    if not fits:
        raise SavedFileError(f"{subject}, {name[:80]!r}: expected dtype, shape and data_offsets; damaged?")
    if entry["dtype"] not in _NAMES:
        raise SavedFileError(
            f"{subject}, {name!r}: dtype expected one of {', '.join(_NAMES)}, got {entry['dtype'][:20]!r}"
        )
    dtype = as_dtype(_NAMES[entry["dtype"]], subject)
    is_absurd = math.prod(max(size, 1) for size in shape) >= 2**56  # also of an array without elements
    if is_absurd or math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise SavedFileError(
            f"{subject}, {name!r}: {dtype} of shape {tuple(shape)} expected {math.prod(shape) * dtype.itemsize} bytes, "
            f"got {offsets[1] - offsets[0]}"
        )
    return offsets[0], offsets[1], name, dtype, tuple(shape)

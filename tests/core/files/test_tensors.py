import io
import json
import random
import zlib

import numpy as np
import pytest

from opsdk.core.dtype import NATIVE, bfloat16
from opsdk.core.errors import DTypeError, SavedFileError
from opsdk.core.files import tensors

DTYPES = [dtype.name for dtype in NATIVE]


def written(arrays, text="text"):
    file = io.BytesIO()
    tensors.write(file, arrays, text)
    return file.getvalue()


def read(data):
    return tensors.read(io.BytesIO(data), "load 'x'")


def made(header, data=b"", length=None):
    packed = json.dumps(header).encode() if isinstance(header, dict) else header
    return (len(packed) if length is None else length).to_bytes(8, "little") + packed + data


def refused(data, match):
    with pytest.raises(SavedFileError, match=match) as error:
        read(data)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_come_back_bit_for_bit_in_every_dtype(dtype):
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 255, (3, 4, 16), dtype=np.uint8)
    array = (whole % 2 == 1) if dtype == "bool" else whole.reshape(-1).view(dtype).reshape(3, -1)
    arrays = {"a": array, "strided": array[::2, ::-1], "empty": array[:0], "0-d": array[0, 0, ...], "F": array.T}
    found = read(written(arrays))
    assert found.text == "text"
    assert list(found.arrays) == list(arrays)
    for name, expected in arrays.items():
        assert (found.arrays[name].dtype, found.arrays[name].shape) == (expected.dtype, expected.shape)
        assert found.arrays[name].tobytes() == np.ascontiguousarray(expected).tobytes()
        assert found.arrays[name].flags.writeable


def test_bfloat16_and_foreign_byte_orders_are_written_as_numbers():
    found = read(written({"b": np.array([1.5, -2], bfloat16()), ">": np.array([1, 2], ">i4")})).arrays
    assert (found["b"].dtype, found["b"].astype(float).tolist()) == (bfloat16(), [1.5, -2.0])
    assert (found[">"].dtype, found[">"].tolist()) == (np.int32, [1, 2])


def test_the_library_of_the_format_reads_our_files_and_we_read_its():
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays = {"fc.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.array(3), "e": np.zeros((0, 2))}
    theirs = safetensors.load(written(arrays))
    assert {name: array.tolist() for name, array in theirs.items()} == {n: a.tolist() for n, a in arrays.items()}
    ours = read(safetensors.save(arrays, {"format": "np"}))
    assert ours.text is None
    assert {name: array.tolist() for name, array in ours.arrays.items()} == {n: a.tolist() for n, a in arrays.items()}


def test_a_complex128_array_is_stored_as_pairs_of_float64():
    safetensors = pytest.importorskip("safetensors.numpy")
    assert safetensors.load(written({"z": np.array([1 + 2j])}))["z"].tolist() == [[1.0, 2.0]]


def test_a_dtype_that_tensors_do_not_have_is_refused():
    with pytest.raises(DTypeError, match="save, 'x': expected an array of bool, int8"):
        written({"x": np.array(["a"])})


def test_every_cut_and_every_flipped_bit_is_found():
    data = written({"w": np.arange(3.0), "b": np.ones(2, np.int8)}, '{"w":{"$tensor":"w"}}')
    for length in range(len(data)):
        with pytest.raises(SavedFileError):
            read(data[:length])
    for place in range(len(data)):
        for bit in (0, 3, 7):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            with pytest.raises(SavedFileError):
                read(bytes(flipped))
    with pytest.raises(SavedFileError):
        read(data + b"\0")


def test_the_message_says_what_was_found():
    data = written({"w": np.arange(3.0)})
    refused(data[:5], r"load 'x': expected a header within 5 bytes of file, got one of \d+; cut off\?")
    refused(data[:-8], r"expected 24 bytes of arrays, as its header says, got 16; cut off\?")
    refused(data[:-1] + b"x", r"expected the bytes that were written, got others by the checksum; damaged\?")
    renamed = data.replace(b'"opsdk.crc32"', b'"apsdk.crc32"')
    refused(renamed, "got others by the checksum")


def rechecked(data):
    """A file with the checksum that its bytes have, as somebody would make it who means ill."""
    place = data.index(b'"opsdk.crc32":"') + 15
    zeroed = data[:place] + b"0" * 8 + data[place + 8 :]
    return data[:place] + b"%08x" % zlib.crc32(zeroed) + data[place + 8 :]


def test_a_newer_format_is_named():
    newer = rechecked(written({}).replace(b'"opsdk.format":"1"', b'"opsdk.format":"7"'))
    refused(newer, r"expected format 1 of opsdk's files, got '7'; a newer opsdk wrote it: update opsdk")
    refused(rechecked(written({}).replace(b'"opsdk.text"', b'"apsdk.text"')), "got others by the checksum")


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("header", "match"),
    [
        (b'{"a":', r"expected a header in JSON, .*; damaged\?"),
        (b"[" * 100_000, "expected a header in JSON"),
        (b'["a"]  ', "expected a header in JSON"),
        ("{}  ".encode("utf-16-le"), "expected a header in JSON"),
        (b'{"a":{"dtype":"F32"},"a":1}', "one name stands there twice"),
        ({"__metadata__": {"a": 1}}, "holds something else than texts"),
        ({"__metadata__": 3}, "expected a header in JSON"),
        ({"a": 3}, r"'a': expected dtype, shape and data_offsets; damaged\?"),
        ({"a": {**ENTRY, "shape": [-2]}}, "expected dtype, shape and data_offsets"),
        ({"a": {**ENTRY, "shape": [True]}}, "expected dtype, shape and data_offsets"),
        ({"a": {**ENTRY, "shape": [1] * 40}}, "expected dtype, shape and data_offsets"),
        ({"a": {**ENTRY, "data_offsets": [0]}}, "expected dtype, shape and data_offsets"),
        ({"a": {**ENTRY, "dtype": "F8_E4M3"}}, "'a': dtype expected one of BOOL, .*, got 'F8_E4M3'"),
        ({"a": {**ENTRY, "shape": [3]}}, r"'a': float32 of shape \(3,\) expected 12 bytes, got 8"),
        ({"a": {**ENTRY, "shape": [2**60, 2**60]}}, "float32 of shape"),
        ({"a": {**ENTRY, "shape": [2**61, 0], "data_offsets": [0, 0]}}, "float32 of shape"),
        ({"a": {**ENTRY, "data_offsets": [8, 16]}}, "'a': expected its data at byte 0, got 8"),
        ({"a": ENTRY, "b": {**ENTRY, "data_offsets": [4, 12]}}, "'b': expected its data at byte 8, got 4"),
        ({"a": {**ENTRY, "shape": [2**40], "data_offsets": [0, 2**42]}}, f"expected {2**42} bytes of arrays"),
    ],
)
def test_a_header_that_is_not_of_the_format_is_refused(header, match):
    refused(made(header, b"\0" * 8), match)


def test_absurd_lengths_of_headers_are_not_believed():
    refused(made(b"{}", length=2**63), "expected a header within 10 bytes of file")
    refused(made(b"{}", length=0), "expected a header within")
    refused(b"", "expected a header within 0 bytes of file")


def test_a_thousand_random_damages_raise_nothing_else():
    data, draw = written({"w": np.arange(40.0), "b": np.ones(7, np.float16)}), random.Random(0)
    for _ in range(1000):
        damaged = bytearray(data)
        for _ in range(draw.randrange(1, 8)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        if damaged != data:
            with pytest.raises(SavedFileError):
                read(bytes(damaged))

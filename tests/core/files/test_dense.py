import base64
import io
import zlib

import numpy as np
import pytest

from opsdk.core.errors import SavedFileError
from opsdk.core.files import dense

# the .pdiparams of paddle.jit.save of a Linear(2, 1) with weight [[1.4], [-2.1]] and bias [0.15], Paddle 3.3.1
WRITTEN = zlib.decompress(base64.b85decode("c-muNKm{y7%)u(aIBTY)9hwva8$^ytfYI1^vwd0`+W`PgO$5y"))


def read(data):
    return dense.read(io.BytesIO(data), "load 'x'")


def one(description, data=b"", lod=b"", version=0):
    head = version.to_bytes(4, "little") + (1 if lod else 0).to_bytes(8, "little")
    if lod:
        head += len(lod).to_bytes(8, "little") + lod
    return head + bytes(4) + len(description).to_bytes(4, "little") + description + data


def test_what_paddle_wrote_is_read():
    bias, weight = read(WRITTEN)
    assert (bias.dtype, bias.tolist()) == (np.float32, [pytest.approx(0.15)])
    assert weight.tolist() == [[pytest.approx(1.4)], [pytest.approx(-2.1)]]


def test_offsets_of_sequences_are_skipped_and_sizes_may_be_packed():
    data = np.arange(6, dtype=np.int64)
    (found,) = read(one(b"\x08\x03\x12\x02\x02\x03", data.tobytes(), lod=bytes(16)))
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (WRITTEN[:-1], r"expected \d+ bytes at \d+, the file has 61; cut off\?"),
        (WRITTEN[:21], "cut off"),
        (bytes(14), r"expected an array behind byte 14, the file ends; cut off\?"),
        (one(b"\x08\x05", version=3), "expected arrays of version 0, as Paddle writes them, got 3"),
        (one(b"\x08\x07\x10\x01", b"abcd"), r"expected the number of a dtype, got 7; damaged\?"),
        (one(b"\x18\x07"), r"expected dtype and shape of an array, got field 3; damaged\?"),
        (one(b"\x08\x85"), r"expected the description of an array, its numbers do not end; damaged\?"),
        (
            one(b"\x08\x05\x10" + b"\xff" * 8 + b"\x7f" + b"\x10\x00"),
            "expected an array within the file, got one of shape",
        ),
        (one(b"\x08\x05\x10\xff\xff\xff\xff\x0f"), "the file has"),
        (bytes(4) + (2**40).to_bytes(8, "little"), "the file has"),
    ],
)
def test_a_file_that_is_cut_off_or_damaged_is_refused(data, match):
    with pytest.raises(SavedFileError, match=match):
        read(data)

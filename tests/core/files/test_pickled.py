import base64
import io
import os
import pickle
import random
import zlib
from collections import OrderedDict

import numpy as np
import pytest

from opsdk.core.errors import SavedFileError
from opsdk.core.files import pickled

# paddle.save({"w": [paddle.to_tensor([1., 2.])], "b": paddle.ones([2], "bfloat16")}, path) of Paddle 3.3.1
NESTED = zlib.decompress(
    base64.b85decode(
        "c-n1_K}*9x5QR6f!K%fBg8qf#A&7VsBJ^e;2k)|MlC@iCHes`i<RIh{wJ^6nf3I%SLp?Z$fnnZz-|HveHvt>x9dioa@B*6VZnd^6-GU<Pnzh6hbg`"
        "6L8ewJ0t<-I8_$}y4yQ=A8Uerd$mGdTHjOai!Ze&sG)*4sXojn?rpkrO`C0nFyz#_=;iD%5yAPonoQ;JI4H6t;6y~pNj|2?AM0a=zk{rDMI$}IBDV"
        "#-*b`1X(R=LZI_7UV-!L}yYgrQx<}d{uR#W;>ud|BJh%(A^y%>iR##q)+<f5bxq&+`4>="
    )
)


def read(data):
    return pickled.read(io.BytesIO(data), "load 'x'", lambda array, name: (name, array.tolist(), str(array.dtype)))


class Evil:
    def __init__(self, *what):
        self._what = what

    def __reduce__(self):
        return self._what


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_arrays_numbers_and_containers_are_read(protocol):
    shared = [1, 2.5, 10**30]
    value = OrderedDict(
        {
            "w": np.arange(6, dtype=">f4").reshape(2, 3),
            "F": np.asfortranarray(np.arange(6).reshape(2, 3)),
            "e": np.zeros((0, 3), np.float16),
            "flag": np.array(True),
            "z": np.array([1j], np.complex64),
            "s": np.float32(0.5),
            "deep": (shared, shared, {"a": None, 3: (True, b"x")}),
        }
    )
    found = read(pickle.dumps(value, protocol=protocol))
    assert (found["w"].dtype, found["w"].tolist()) == (np.float32, [[0, 1, 2], [3, 4, 5]])
    assert (found["F"].tolist(), found["e"].shape, found["flag"].item()) == ([[0, 1, 2], [3, 4, 5]], (0, 3), True)
    assert (found["z"].tolist(), found["s"], type(found["s"])) == ([1j], 0.5, np.float32)
    assert found["deep"] == (shared, shared, {"a": None, 3: (True, b"x")})
    assert found["w"].flags.writeable


def test_what_paddle_wrote_is_read():
    found = read(NESTED)
    assert found["w"] == [("generated_tensor_0", [1.0, 2.0], "float32")]
    assert found["b"][1:] == ([16256, 16256], "uint16")  # bfloat16, as Paddle writes it


@pytest.mark.parametrize(
    ("evil", "name"),
    [
        (Evil(os.system, ("touch {}",)), "posix.system"),
        (Evil(eval, ("open('{}', 'w')",)), "(builtins|__builtin__).eval"),
        (Evil(exec, ("open('{}', 'w')",)), "(builtins|__builtin__).exec"),
        (Evil(getattr, (1, "real")), "(builtins|__builtin__).getattr"),
        (np.dtype, None),
        (Evil(np.load, ("x",)), "numpy"),
    ],
)
def test_code_is_never_run(evil, name, tmp_path):
    mark = tmp_path / "executed"
    if isinstance(evil, Evil) and isinstance(evil._what[1][0], str):
        evil._what = (evil._what[0], (evil._what[1][0].format(mark),))
    for protocol in (2, 4):
        data = pickle.dumps({"w": np.ones(2), "x": evil}, protocol=protocol)
        match = f"the pickle names {name}" if name else "something stands there that is no value"
        with pytest.raises(SavedFileError, match=match):
            read(data)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"\x80\x02c__builtin__\neval\n.", "expected arrays, numbers, texts and containers of them, the pickle names"),
        (b"\x80\x02c__builtin__\ntuple\nX\1\0\0\0a\x85b.", "something else than an array is filled"),
        (b"\x80\x02}X\1\0\0\0a\x85R.", "something else than arrays is called"),
        (b"\x80\x04cnumpy\ndtype\nX\1\0\0\0O\x85R.", "dtype 'O' is none of numbers"),
        (b"\x80\x04cnumpy\ndtype\nX\2\0\0\0f4\x85R(K\3X\1\0\0\0xtb.", "a dtype has no byte order"),
        (b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f.", "expected a pickle of arrays"),  # BYTEARRAY8, 2**63 bytes
        (b"\x80\x04B\xff\xff\xff\x7fabc.", "expected a pickle of arrays"),  # BINBYTES of 2 GiB
        (b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\0\0abc.", "expected a pickle of arrays"),
        (b"\x80\x02]q\0h\0a.", "a container holds itself"),
        (b"\x80\x02Nr\xff\xff\xff\xff.", None),  # the memo's four-billionth entry is one entry
        (b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b".", r"RecursionError.*; damaged\?"),
        (b"\x80\x02" + b"(" * 101 + b"t" * 101 + b".", "more than 100 containers are in one another"),
        # a tuple of one tuple twice, and so on: 2**60 hashes, once as a key of each way to fill a dictionary
        *[
            (b"\x80\x02)q\0" + b"h\0h\0\x86q\0" * 60 + filled, "a key is neither a text nor a number, but a tuple")
            for filled in (b"}h\0Ns.", b"}(h\0Nu.", b"ccollections\nOrderedDict\n](h\0Nta\x85R.")
        ],
        (b"\x80\x02C\1xC\1y.", None),
        (b"\x80\x02Q.", "expected a pickle of arrays"),  # a persistent id
        (b"\x80\x02\x82\1.", "expected a pickle of arrays"),  # an extension
        (b"\x80\x02c_codecs\nencode\nX\1\0\0\0aX\3\0\0\0hex\x86R.", "bytes are not those of protocol 2"),
        (b"\x80\x02", "expected a pickle of arrays"),
    ],
)
def test_pickles_that_mean_ill_are_refused(data, match):
    if match is None:
        assert read(data) in (None, b"y")
        return
    with pytest.raises(SavedFileError, match=match):
        read(data)


def array_pickle(shape, data):
    make = np.zeros(1).__reduce__()[0]
    return pickle.dumps(Evil(make, (np.ndarray, (0,), b"b"), (1, shape, np.dtype("f4"), False, data)), 4)


@pytest.mark.parametrize("shape", [(2**40,), (-1,), (2, 2), (2**60, 0), [2], (True,), (1,) * 40])
def test_an_array_has_the_bytes_that_its_shape_says(shape):
    with pytest.raises(SavedFileError, match=r"an array (of shape .* has 8 bytes|has no shape, dtype and bytes)"):
        read(array_pickle(shape, b"\0" * 8))


def test_a_number_has_the_bytes_of_its_dtype():
    scalar = np.float64(1).__reduce__()[0]
    with pytest.raises(SavedFileError, match="a number has other bytes than its dtype"):
        read(pickle.dumps(Evil(scalar, (np.dtype("f8"), b"abc")), 4))


def test_a_thousand_random_damages_raise_nothing_else():
    draw = random.Random(0)
    for _ in range(1000):
        damaged = bytearray(NESTED)
        for _ in range(draw.randrange(1, 4)):
            damaged[draw.randrange(2, len(damaged))] = draw.randrange(256)
        try:
            read(bytes(damaged[: draw.randrange(2, len(damaged) + 1)]))
        except SavedFileError:
            continue

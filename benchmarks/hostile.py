"""`python -m benchmarks.hostile`: damaged and hostile files, of every format that `opsdk.load` and `jit.load` read.

A file is loaded, or refused with an error of opsdk. Anything else is a fault: another exception, something that was run
or opened, more memory than twice the file's size beside what every load takes.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import io
import json
import pickle
import random
import struct
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import opsdk
from benchmarks.report import machine
from opsdk import jit, nn
from opsdk.core.errors import OpsdkError
from opsdk.core.files import tensors
from opsdk.nn.layer.state import NAME_TABLE
from opsdk.static import InputSpec
from opsdk.static.files.model import INFO, MODEL, PARAMS, Model, sealed

# What a load takes beside arrays: containers, which are tens of bytes in Python for one in a file, messages, layers.
SLACK = 1 << 19  # bytes
_CHUNK = 2000  # files of one piece of work
_ACTS = ("exec", "compile", "open", "os.", "subprocess.", "socket.", "ctypes.", "marshal.", "shutil.", "pty.", "import")


# -- files that are whole ---------------------------------------------------------------------------------------------


class Format(NamedTuple):
    """A format, and how its files are damaged.

    Attributes:
        whole: a right file.
        classes: those that loading is told of.
        splices: what a hostile file has at any place of it.
        content: what a file of opsdk holds, to be written anew with another text: its checksum is right then.
        load: what reads it.
        is_json: its text is JSON, of which two files in three have other values, and are JSON still.
    """

    whole: bytes
    classes: tuple[type, ...]
    splices: tuple[bytes, ...]
    content: tensors.Content | None = None
    load: Callable[..., Any] = opsdk.load  # Any: a value
    is_json: bool = False


class Net(nn.Layer):
    """A small model with a layer of every kind of state."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1D(4))
        self.sizes = [3, (4, None)]
        self.register_buffer("steps", opsdk.zeros([1], "int64"))


def _trained() -> dict[str, Any]:  # Any: states of several types
    net = Net()
    optimizer = opsdk.optimizer.Adam(opsdk.optimizer.lr.StepDecay(0.1, 2), parameters=net.parameters())
    net.body(opsdk.ones([2, 3])).sum().backward()
    optimizer.step()
    return {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "seen": {(1, 2): b"\0"}}


_JSON = (
    *(b'{"$layer":"os:system"}', b'{"$record":"subprocess:Popen","fields":{}}', b'{"$op":"os::system"}', b"1e999"),
    *(b'{"$function":"__import__"}', b'{"$same":99999999}', b'{"$same":-1}', b'{"$tensor":"../../etc/passwd"}'),
    *(b'{"$dict":[[[],{}]]}', b'{"$bytes":"zz"}', b'{"$generator":{}}', b"[" * 3000, b'"shape":[4611686018427387904],'),
    *(b'"data_offsets":[0,4611686018427387904],', b'{"$unset":{},"dtype":7,"persistable":[]}', b"9" * 5000, b"\\ud800"),
    *(b'"__class__":', b'"__dict__":', b'"_parameters":', b'"forward":', b'{"$dtype":"O"}', b'{"$set":[[]]}'),
)
_PICKLE = (
    *(b"cos\nsystem\n(X\x04\x00\x00\x00trueltR.", b"cbuiltins\neval\nX\x03\x00\x00\x001+1\x85R"),
    *(b"c__main__\nNet\n)\x81", b"\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R", b"(lp0\n0g0\n", b"Pid\n"),
    *(
        b"cnumpy\nload\nX\x0b\x00\x00\x00/etc/passwd\x85R",
        b"\x8d" + b"\xff" * 7 + b"\x7f",
        b"\x8e" + b"\xff" * 6 + b"\0\0",
    ),
    *(b"\x8b\xff\xff\xff\x7f", b"r\xff\xff\xff\x7f", b"j\xff\xff\xff\x7f", b"\x95" + b"\xff" * 7 + b"\x7f"),
    *(b"cnumpy\nndarray\n", b"cnumpy.core.multiarray\n_reconstruct\n", b"b", b"R", b"\x93", b"\x94h\x00a"),
    *(b"(" * 2000, b"]" * 2000 + b"a" * 1999),
    b")q\xf0" + b"h\xf0h\xf0\x86q\xf0" * 60 + b"}h\xf0Ns",  # a key whose hash would take for ever
)
_PROGRAM = (
    *(b'"op": "os::system@1"', b'"op": "opsdk::relu@9"', b'"packages": {"os": "\\u001b[2J"}', b'"check": true,'),
    *(
        b'"gradient_of": "opsdk::relu@1",',
        b'"part_of": 0,',
        b'"residuals": {"a": "b"},',
        b'"specs": {"x": ["list", []]},',
    ),
    *(b'"shape": [1099511627776, 1099511627776],', b'"shape": [-1],', b'"dtype": "bool",', b'"persistable": true,'),
    *(b'"constant": {"dtype": "int8", "shape": [99999999999], "base64": ""},', b'"parameter": [1.0, null, true],'),
    *(
        b'{"op": "opsdk::relu@1", "in": {}, "out": {}},',
        b'"variable": "nowhere"',
        b'"opsdk.program": 2,',
        b"-0.0",
        b"null",
    ),
)
_VALUES = (
    None,
    True,
    -1,
    0,
    1,
    2**63,
    1e308,
    float("nan"),
    "",
    "x",
    "nowhere",
    "opsdk::relu@1",
    "os::system@1",
    [],
    {},
    [[]],
)
_NUMBERS = (*(struct.pack("<Q", n) for n in (2**63 - 1, 2**62, 2**40, 2**31, 2**64 - 1)), b"\x10" + b"\xff" * 9)


def _own(value: Any, *classes: type) -> Format:  # Any: whatever can be saved
    """Returns the format of a value that `opsdk.save` saves."""
    file = io.BytesIO()
    opsdk.save(value, file)
    return Format(file.getvalue(), classes, _JSON + _NUMBERS, tensors.read(file, "benchmark"))


def _foreign() -> bytes:
    """Returns a file of safetensors as others write it, without opsdk's text and checksum."""
    header = b'{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"n":{"dtype":"I64","shape":[],'
    header += b'"data_offsets":[24,32]},"__metadata__":{"format":"pt"}}'
    return struct.pack("<Q", len(header)) + header + np.arange(6, dtype="<f4").tobytes() + struct.pack("<q", 7)


def _dense() -> bytes:
    """Returns two arrays as Paddle's core writes them: no offsets, the description, the bytes."""
    made = b""
    for array in (np.arange(6, dtype="<f4").reshape(2, 3), np.arange(4, dtype="<i8")):
        code = {"f": 5, "i": 3}[array.dtype.kind]
        said = bytes((8, code)) + b"".join(bytes((16, size)) for size in array.shape)
        made += bytes(16) + struct.pack("<I", len(said)) + said + array.tobytes()
    return made


class _Held(Model):
    """A model whose files are in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files
        super().__init__("held", "benchmark")

    def _read(self, path: str) -> bytes:
        return self._files[path.removeprefix("held")]


def _model_formats() -> dict[str, Format]:
    """Returns each file of a model, beside the other two as they were; checksums are those of what is damaged."""
    with tempfile.TemporaryDirectory() as folder:
        jit.save(Net().body, f"{folder}/held", [InputSpec([None, 3])])
        files = {suffix: Path(f"{folder}/held{suffix}").read_bytes() for suffix in (MODEL, PARAMS, INFO)}

    def loads(suffix: str) -> Callable[..., Any]:  # Any: a layer
        def load(file: io.BytesIO, classes: Sequence[type]) -> Any:
            held = {**files, suffix: file.read()}
            if suffix != INFO:
                info = json.loads(held[INFO])
                info["sha256"][suffix] = hashlib.sha256(held[suffix]).hexdigest()
                held[INFO] = sealed(info)
            else:
                with suppress(ValueError, TypeError, AttributeError, RecursionError):
                    held[INFO] = sealed(json.loads(held[INFO]))  # so that what is in it is looked at
            return jit.TranslatedLayer(_Held(held))

        return load

    arrays = tensors.read(io.BytesIO(files[PARAMS]), "benchmark")
    return {
        f"a model's {MODEL}": Format(files[MODEL], (), _PROGRAM + _JSON, load=loads(MODEL), is_json=True),
        f"a model's {PARAMS}": Format(files[PARAMS], (), _JSON + _NUMBERS, arrays, loads(PARAMS)),
        f"a model's {INFO}": Format(files[INFO], (), _PROGRAM + _JSON, load=loads(INFO), is_json=True),
    }


def formats() -> dict[str, Format]:
    """Returns every format by what it is called."""
    state = {"fc.weight": np.ones((3, 2), "float32"), "fc.bias": np.zeros(2), "step": 3, "lr": [0.1, None, "x", 2**70]}
    state[NAME_TABLE] = {"fc.weight": "linear_0.w_0"}
    named = {name: (f"linear_0.{name}", value) for name, value in state.items() if name.startswith("fc")}
    arrays = {**state, **named}
    return {
        "a state, by opsdk.save": _own(_trained()),
        "a model, by opsdk.save": _own(Net(), Net),
        "safetensors of others": Format(_foreign(), (), _JSON + _NUMBERS),
        "a state, by paddle.save, protocol 2": Format(pickle.dumps(arrays, 2), (), _PICKLE),
        "a state, by paddle.save, protocol 4": Format(pickle.dumps(arrays, 4), (), _PICKLE),
        "parameters of Paddle's core": Format(_dense(), (), _NUMBERS),
        **_model_formats(),
    }


# -- files that are not -----------------------------------------------------------------------------------------------


def damaged(form: Format, draw: random.Random) -> bytes:
    """Returns a file that differs from a right one; of opsdk's own two in three are whole, and their text differs."""
    if draw.random() < 1 / 3 or (form.content is None and not form.is_json):
        return _damaged(form.whole, form.splices, draw)
    if form.content is None:
        return _changed(form.whole, draw)
    arrays, text = form.content
    file = io.BytesIO()
    tensors.write(file, arrays, _damaged((text or "").encode(), form.splices, draw).decode(errors="replace"))
    return file.getvalue()


def _changed(whole: bytes, draw: random.Random) -> bytes:
    """Returns JSON of which some values are others, those of other places, gone, or twice."""
    document = json.loads(whole)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        places = _places(document)
        (held, key), (other, name) = draw.choice(places), draw.choice(places)
        match draw.randrange(4):
            case 0:
                held[key] = draw.choice(_VALUES)
            case 1 if isinstance(held, list):
                held.insert(key, copy.deepcopy(other[name]))
            case 2:
                del held[key]
            case _:
                held[key] = copy.deepcopy(other[name])
        if not document:
            break
    return json.dumps(document).encode()


def _places(node: Any) -> list[tuple[Any, Any]]:  # Any: JSON
    """Returns the places of a document: containers and keys."""
    pairs = list(node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ())
    return [(node, key) for key, _ in pairs] + [place for _, value in pairs for place in _places(value)]


def _damaged(whole: bytes, splices: Sequence[bytes], draw: random.Random) -> bytes:
    """Returns bytes of which some are flipped, others, cut off, gone, twice, or those of a hostile file."""
    data = bytearray(whole)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 8))):
        at = draw.randrange(len(data)) if data else 0
        splice = draw.choice(splices)
        match draw.randrange(8):
            case 0 | 1 if data:
                data[at] ^= 1 << draw.randrange(8)
            case 2 if data:
                data[at] = draw.randrange(256)
            case 3:
                del data[at:]
            case 4:
                del data[at : at + draw.randrange(1, 40)]
            case 5:
                data[at:at] = data[draw.randrange(len(data) + 1) :][: draw.randrange(1, 200)]
            case 6:
                data[at:at] = splice
            case _:
                data[at : at + len(splice)] = splice
    return bytes(data)


# -- judging ----------------------------------------------------------------------------------------------------------


class _Watch:
    """What the interpreter says that a load did beside reading; hooks stay for good, so there is one of them."""

    def __init__(self) -> None:
        self.seen: list[str] | None = None
        self._is_hooked = False

    def begin(self) -> None:
        """Listens."""
        if not self._is_hooked:
            sys.addaudithook(self._heard)
            self._is_hooked = True
        self.seen = []

    def end(self) -> list[str]:
        """Returns what was heard."""
        heard, self.seen = self.seen or [], None
        return heard

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:  # Any: of any event
        path = str(arguments[0]) if arguments else ""
        asks = "-info/" in path or path in sys.path
        # An op by a name that is not known: which installed packages have ops is read from what they say of themselves.
        if self.seen is not None and event.startswith(_ACTS) and not asks:
            self.seen.append(f"{event} {str(arguments)[:80]}")


_WATCH = _Watch()


@dataclass
class Tally:
    """What came of the files of a format.

    Attributes:
        outcomes: how many were loaded, and how many refused with which error.
        faults: what happened otherwise, with the file in hexadecimal.
        most: bytes that a load took beside twice the file.
        seconds: of processor time.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    most: int = 0
    seconds: float = 0.0

    def add(self, other: Tally) -> None:
        """Counts what another counted."""
        self.outcomes += other.outcomes
        self.faults += other.faults
        self.most = max(self.most, other.most)
        self.seconds += other.seconds


def judge(data: bytes, form: Format, load: Callable[..., Any] | None = None) -> tuple[str, str, int]:  # Any: a value
    """Loads a file.

    Args:
        data: its bytes.
        form: which format it once was of.
        load: what reads it; that of the format unless given.

    Returns:
        The outcome; what is wrong about it, empty where nothing is; the bytes it took beside twice the file.
    """
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    outcome, fault = "loaded", ""
    _WATCH.begin()
    try:
        (load or form.load)(io.BytesIO(data), classes=form.classes)
    except OpsdkError as error:
        outcome = type(error).__name__
    except BaseException as error:  # whatever it is: that is what is looked for
        outcome = fault = f"{type(error).__name__}: {str(error)[:120]}"
    heard = _WATCH.end()
    took = tracemalloc.get_traced_memory()[1] - before - 2 * len(data)
    if heard:
        fault = f"did {heard[0]}"
    elif took > SLACK and not fault:
        fault = f"took {took} bytes beside twice its {len(data)}"
    return outcome, fault, took


def tally(name: str, count: int, seed: int) -> Tally:
    """Judges so many damaged files of a format; whatever a first load imports is there before."""
    form, draw, made = formats()[name], random.Random(f"{name} {seed}"), Tally()
    with suppress(OpsdkError):
        opsdk.find_op("os::system")  # the first such question looks which packages have ops
    tracemalloc.start()
    for data in (form.whole, *(damaged(form, draw) for _ in range(200))):
        judge(data, form)
    started = time.process_time()
    for _ in range(count):
        data = damaged(form, draw)
        outcome, fault, took = judge(data, form)
        made.outcomes[outcome] += 1
        made.most = max(made.most, took)
        if fault:
            made.faults.append(f"{name}: {fault}: {data.hex()}")
    tracemalloc.stop()
    made.seconds = time.process_time() - started
    return made


# -- the command ------------------------------------------------------------------------------------------------------


def lines(tallies: dict[str, Tally]) -> list[str]:
    """Returns the page."""
    text = ["# Hostile files", "", machine(), ""]
    text += [
        "Written by `python -m benchmarks.hostile`. Files with flipped bits, other bytes, parts cut off, gone, twice, "
        "or of a hostile file; in two thirds of opsdk's own the text alone, with its checksum. A fault is an error "
        "other than opsdk's, anything that was run, imported or opened, but for what says which installed packages "
        "have ops, and more memory than twice the file and "
        f"{SLACK // 1024} KiB.",
        "",
        "| format | files | loaded | refused | faults | most memory beside twice the file | µs a file |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, made in tallies.items():
        count, loaded = made.outcomes.total(), made.outcomes["loaded"]
        most, micros = f"{max(made.most, 0) / 1024:.0f} KiB", 1e6 * made.seconds / max(count, 1)
        text.append(
            f"| {name} | {count:,} | {loaded:,} | {count - loaded:,} | {len(made.faults)} | {most} | {micros:.0f} |"
        )
    faults = [fault for made in tallies.values() for fault in made.faults]
    return [*text, "", *(f"- `{fault[:400]}`" for fault in faults[:50]), *([""] if faults else [])]


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    made = argparse.ArgumentParser("python -m benchmarks.hostile", description="Loads damaged and hostile files.")
    made.add_argument("--count", type=int, default=10_000, help="files of each format")
    made.add_argument("--jobs", type=int, default=2, help="processes")
    made.add_argument("--seed", type=int, default=0, help="of the first piece of work")
    made.add_argument("--only", default="", help="formats whose name holds this")
    made.add_argument("--out", type=Path, help="where the page is written; printed without it")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 1 where there is a fault."""
    options = parser().parse_args(arguments)
    names = [name for name in formats() if options.only in name]
    pieces = [*range(0, options.count, _CHUNK), options.count]
    tallies = {name: Tally() for name in names}
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        asked = [
            (name, pool.submit(tally, name, stop - start, options.seed + number))
            for name in names
            for number, (start, stop) in enumerate(pairwise(pieces))
        ]
        for name, future in asked:
            tallies[name].add(future.result())
    text = "\n".join(lines(tallies)).rstrip() + "\n"
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    return int(any(made.faults for made in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())

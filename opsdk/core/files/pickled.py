"""Paddle's pickles of arrays, read without Python's `pickle` being able to call anything.

Of the machine that a pickle is a program for, those instructions are here that arrays, numbers, texts and containers
need. Its names are looked up in a short table, whose functions are this module's.
"""

from __future__ import annotations

import math
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, Any, ClassVar

import numpy as np

from opsdk.core.dtype import NATIVE
from opsdk.core.errors import SavedFileError

# Any, in this file: what a pickle holds, which is looked at before it is used.
_DEEPEST = 100  # containers in one another, as in files of opsdk
_DTYPES = {dtype.str[1:] for dtype in NATIVE}


class _DType:
    """What stands for a dtype while a pickle is read."""

    def __init__(self, code: Any = None, *_options: Any) -> None:
        if code not in _DTYPES:
            raise ValueError(f"dtype {str(code)[:20]!r} is none of numbers")
        self.dtype = np.dtype(code)

    def build(self, state: Any) -> None:
        """Takes the byte order."""
        if state[1] not in ("<", ">", "|"):
            raise ValueError("a dtype has no byte order")
        self.dtype = self.dtype.newbyteorder(state[1])


class _Array:
    """What stands for an array while a pickle is read."""

    def __init__(self, *_options: Any) -> None:
        self.array: np.ndarray | None = None

    def build(self, state: Any) -> None:
        """Takes shape, dtype, order and bytes, which have to be as many as they say."""
        _, shape, dtype, is_fortran, data = state
        sizes = isinstance(shape, tuple) and len(shape) <= 32 and all(type(n) is int and 0 <= n < 2**56 for n in shape)
        if not (sizes and isinstance(dtype, _DType) and isinstance(data, bytes)):
            raise ValueError("an array has no shape, dtype and bytes")
        if math.prod(shape) * dtype.dtype.itemsize != len(data) or math.prod(max(n, 1) for n in shape) >= 2**56:
            raise ValueError(f"an array of shape {shape} has {len(data)} bytes")
        flat = np.frombuffer(data, dtype.dtype).reshape(shape, order="F" if is_fortran else "C")
        self.array = np.array(flat, dtype.dtype.newbyteorder("="), order="C")


def _array(*_options: Any) -> _Array:
    """Stands for NumPy's function of that name, which makes an array of nothing."""
    return _Array()


def _scalar(dtype: Any, data: Any) -> Any:
    if not (isinstance(dtype, _DType) and isinstance(data, bytes) and len(data) == dtype.dtype.itemsize):
        raise ValueError("a number has other bytes than its dtype")
    return np.frombuffer(data, dtype.dtype)[0]


def _encoded(text: Any, codec: Any) -> bytes:
    if codec != "latin1" or not isinstance(text, str):
        raise ValueError("bytes are not those of protocol 2")
    return text.encode("latin1")


def _nothing() -> bytes:
    """Stands for `bytes`, by which protocol 2 says that an array is empty."""
    return b""


def _tuple(*entries: Any) -> tuple[Any, ...]:
    """Stands for `tuple`, with which Paddle makes the pair that a tensor is."""
    return tuple(*entries)


def _ordered(*pairs: Any) -> OrderedDict[Any, Any]:
    return OrderedDict((_key(key), value) for key, value in (pairs[0] if pairs else ()))


def _key(key: Any) -> Any:
    """Returns a key; a tuple of one tuple twice, which is one of one twice, and so on, has a hash that never ends."""
    if not isinstance(key, (str, bytes, int, float, type(None))):
        raise ValueError(f"a key is neither a text nor a number, but a {type(key).__name__}")
    return key


_NAMES: dict[str, Any] = {
    **{
        f"{module}.multiarray {name}": function
        for module in ("numpy.core", "numpy._core")
        for name, function in (("_reconstruct", _array), ("scalar", _scalar))
    },
    "numpy ndarray": _Array,
    "numpy dtype": _DType,
    "_codecs encode": _encoded,
    "collections OrderedDict": _ordered,
    "__builtin__ bytes": _nothing,
    "builtins tuple": _tuple,
    "__builtin__ tuple": _tuple,
}
_CALLED = {_array, _scalar, _encoded, _ordered, _nothing, _tuple, _DType}

# What the pickles of state dictionaries are made of, protocols 2 to 5. Not here: classes, persistent ids, extensions,
# buffers outside of the pickle, byte arrays, whose length is believed before it is looked at.
_INSTRUCTIONS = """
PROTO FRAME STOP MARK POP POP_MARK MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET NONE NEWTRUE NEWFALSE BININT
BININT1 BININT2 LONG1 LONG4 BINFLOAT BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8
EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS GLOBAL STACK_GLOBAL REDUCE
BUILD
"""


class _Reader(pickle._Unpickler):
    """The machine, in Python: its memo is a dictionary, so that no number in a file is a size to be allocated."""

    dispatch: ClassVar[dict[int, Any]] = {
        code: pickle._Unpickler.dispatch[code] for code in (getattr(pickle, name)[0] for name in _INSTRUCTIONS.split())
    }
    stack: list[Any]
    metastack: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        """Returns what stands for a name of the table."""
        if f"{module} {name}" not in _NAMES:
            raise _RefusedNameError(f"{module}.{name}")
        return _NAMES[f"{module} {name}"]

    def load_reduce(self) -> None:
        """Calls one of the functions of the table; nothing else is a function here, whatever a file says."""
        arguments, function = self.stack.pop(), self.stack[-1]
        if not isinstance(arguments, tuple) or not any(function is known for known in _CALLED):
            raise ValueError("something else than arrays is called")
        self.stack[-1] = function(*arguments)

    def load_mark(self) -> None:
        """Begins a container, which takes hundreds of bytes of memory for one in the file."""
        if len(self.metastack) >= _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} containers are in one another")
        super().load_mark()  # type: ignore[misc]

    def load_setitem(self) -> None:
        """Puts one item into a dictionary."""
        _key(self.stack[-2])
        super().load_setitem()  # type: ignore[misc]

    def load_setitems(self) -> None:
        """Puts several items into a dictionary."""
        for key in self.stack[::2]:
            _key(key)
        super().load_setitems()  # type: ignore[misc]

    def load_build(self) -> None:
        """Fills an array or a dtype."""
        state, made = self.stack.pop(), self.stack[-1]
        if not isinstance(made, (_Array, _DType)) or not isinstance(state, tuple):
            raise ValueError("something else than an array is filled")
        made.build(state)

    for _name in ("REDUCE", "BUILD", "MARK", "SETITEM", "SETITEMS"):
        dispatch[getattr(pickle, _name)[0]] = locals()[f"load_{_name.lower()}"]


class _RefusedNameError(ValueError):
    """A pickle names something outside of the table."""


def is_pickle(head: bytes) -> bool:
    """Whether a file that begins like this is a pickle of protocol 2 or later."""
    return head[:1] == b"\x80" and head[1:2] in (b"\2", b"\3", b"\4", b"\5")


class _Bounded:
    """A file of which no more is read than it has, whatever length was asked for: Python allocates what is asked."""

    def __init__(self, file: IO[bytes]) -> None:
        self._left = file.seek(0, os.SEEK_END)
        file.seek(0)
        self._file = file

    def read(self, count: int = -1) -> bytes:
        """Returns so many bytes, fewer at the end."""
        data = self._file.read(self._left if count < 0 else min(count, self._left))
        self._left -= len(data)
        return data

    def readline(self) -> bytes:
        """Returns a line."""
        line = self._file.readline(self._left)
        self._left -= len(line)
        return line


def read(file: IO[bytes], subject: str, tensor: Callable[[np.ndarray, str | None], Any]) -> Any:
    """Reads a pickle of arrays, numbers, texts, lists, tuples and dictionaries.

    Args:
        file: binary, and able to seek.
        subject: whose it is, for messages.
        tensor: makes what a `(name, array)` pair is, Paddle's way to write a tensor.

    Raises:
        SavedFileError: the file holds anything else, or is damaged.
    """
    try:
        content = _Reader(_Bounded(file)).load()
        return _Shown(tensor).value(content)
    except _RefusedNameError as error:
        raise SavedFileError(
            f"{subject}: expected arrays, numbers, texts and containers of them, the pickle names {str(error)[:80]}; "
            "opsdk runs nothing that a file names: save what is needed of it as arrays"
        ) from None
    except Exception as error:  # of a damaged file, whichever part of the machine it reached
        raise SavedFileError(
            f"{subject}: expected a pickle of arrays, numbers, texts and containers of them, "
            f"{type(error).__name__}: {str(error)[:120]}; damaged?"
        ) from error


class _Shown:
    """What was read, with arrays in place of what stood for them; what is shared is shown once."""

    def __init__(self, tensor: Callable[[np.ndarray, str | None], Any]) -> None:
        self._tensor = tensor
        self._made: dict[int, Any] = {}

    def value(self, held: Any) -> Any:
        """Returns a value; one that holds itself is refused."""
        if isinstance(held, (str, bytes, bool, int, float, complex, type(None), np.generic)):
            return held
        if id(held) in self._made:
            if self._made[id(held)] is _UNFINISHED:
                raise ValueError("a container holds itself")
            return self._made[id(held)]
        self._made[id(held)] = _UNFINISHED
        self._made[id(held)] = made = self._container(held)
        return made

    def _container(self, held: Any) -> Any:
        if isinstance(held, _Array) and held.array is not None:
            return held.array
        if isinstance(held, tuple) and len(held) == 2 and isinstance(held[0], str) and isinstance(held[1], _Array):
            return self._tensor(self.value(held[1]), held[0])
        if isinstance(held, (list, tuple)):
            return type(held)(self.value(entry) for entry in held)
        if isinstance(held, dict):
            return {self.value(key): self.value(entry) for key, entry in held.items()}
        raise ValueError("something stands there that is no value")


_UNFINISHED: Any = object()

"""Counter-based random numbers: a function of a key and a counter, the same bits in every language that kernels have.

Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011, *Parallel random numbers: as easy as 1, 2, 3*, section 3.3) turns a
key of 64 bits and a counter of 128 bits into four words of 32. Number i of a key has the counter (low half of i, high
half of i, stream, 0), so that any number can be had without the ones before it. Uniform numbers and raw bits are of
stream 0, normal ones of stream 1: what a kernel draws at one place for a choice and for a value is independent.

One text serves NumPy's arrays, Numba's kernels and CUDA's: `functions` is given what compiles a function.
`opsdk.h` has it for C.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from opsdk.core.errors import DTypeError

Function = Callable[..., Any]  # Any: of words as uint64, each a number or an array, as whatever compiled it takes them

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)  # table 2 of the paper
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)  # the golden ratio and √3 − 1
_PLAIN, _NORMAL = np.uint64(0), np.uint64(1)  # streams
_CHUNK = 4096  # numbers at once in NumPy: their words stay in the first two caches, which makes it four times as fast


class Functions(NamedTuple):
    """What draws the number of a key and a counter, both uint64.

    Attributes:
        block: the four words of a key's two halves and a counter's four.
        random_bits: 64 bits, uint64.
        uniform: in [0, 1), a multiple of 2⁻⁵³, of float32 of 2⁻²⁴: that of float64, rounded down.
        normal: of mean 0 and variance 1, by Box and Muller (1958); finite, at most 8.6 from 0, of float32 5.8.
    """

    block: Function
    random_bits: Function
    uniform: Function
    normal: Function


# Any: NumPy's type of the numbers.
def functions(
    compiled: Callable[[Function], Function],
    real: Any,
    log: Function,
    cos: Function,
    root: Function,
    cast: Function | None = None,
) -> Functions:
    """Returns the functions for one language and float32 or float64.

    Args:
        compiled: makes of a Python function one that the language calls.
        real: NumPy's type of what they give.
        log: of numbers of that type, in the language.
        cos: as well.
        root: the square root.
        cast: makes numbers of words; `real` unless given.
    """
    bits, step = (24, real(2.0**-24)) if real is np.float32 else (53, real(2.0**-53))
    rest = np.uint64(64 - bits)
    number = cast or real
    one, minus_two, turn = real(1.0), real(-2.0), real(2.0 * np.pi)

    @compiled
    def mixed(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
        first, second = _M0 * c0, _M1 * c2
        return (second >> _HALF) ^ c1 ^ k0, second & _LOW, (first >> _HALF) ^ c3 ^ k1, first & _LOW

    @compiled
    def bumped(k0: Any, k1: Any) -> Any:
        return (k0 + _W0) & _LOW, (k1 + _W1) & _LOW

    @compiled
    def block(k0: Any, k1: Any, c0: Any, c1: Any, c2: Any, c3: Any) -> Any:
        c0, c1, c2, c3 = mixed(c0, c1, c2, c3, k0, k1)
        k0, k1 = bumped(k0, k1)
        c0, c1, c2, c3 = mixed(c0, c1, c2, c3, k0, k1)
        k0, k1 = bumped(k0, k1)
        c0, c1, c2, c3 = mixed(c0, c1, c2, c3, k0, k1)
        k0, k1 = bumped(k0, k1)
        c0, c1, c2, c3 = mixed(c0, c1, c2, c3, k0, k1)
        k0, k1 = bumped(k0, k1)
        c0, c1, c2, c3 = mixed(c0, c1, c2, c3, k0, k1)
        k0, k1 = bumped(k0, k1)
        c0, c1, c2, c3 = mixed(c0, c1, c2, c3, k0, k1)
        k0, k1 = bumped(k0, k1)
        c0, c1, c2, c3 = mixed(c0, c1, c2, c3, k0, k1)
        k0, k1 = bumped(k0, k1)
        c0, c1, c2, c3 = mixed(c0, c1, c2, c3, k0, k1)
        k0, k1 = bumped(k0, k1)
        c0, c1, c2, c3 = mixed(c0, c1, c2, c3, k0, k1)
        k0, k1 = bumped(k0, k1)
        return mixed(c0, c1, c2, c3, k0, k1)  # written out: a loop over rounds keeps the one over numbers from SIMD

    @compiled
    def numbered(key: Any, i: Any, stream: Any) -> Any:
        w0, w1, w2, w3 = block(key & _LOW, key >> _HALF, i & _LOW, i >> _HALF, stream, _PLAIN)
        return w1 << _HALF | w0, w3 << _HALF | w2

    @compiled
    def scaled(word: Any) -> Any:
        return number(word >> rest) * step

    @compiled
    def random_bits(key: Any, i: Any) -> Any:
        return numbered(key, i, _PLAIN)[0]

    @compiled
    def uniform(key: Any, i: Any) -> Any:
        return scaled(numbered(key, i, _PLAIN)[0])

    @compiled
    def normal(key: Any, i: Any) -> Any:
        radius, angle = numbered(key, i, _NORMAL)
        return root(minus_two * log(one - scaled(radius))) * cos(turn * scaled(angle))

    return Functions(block, random_bits, uniform, normal)


@cache
def of_arrays(dtype: str) -> Functions:
    """Returns the functions of NumPy's arrays, for the name of a dtype."""
    real = np.dtype(dtype).type
    return functions(lambda function: function, real, np.log, np.cos, np.sqrt, lambda words: words.astype(real))


# Any: whole numbers or arrays of them; what NumPy takes for a dtype.
def drawn(name: str, key: Any, i: Any, dtype: Any, subject: str) -> Any:
    """Returns numbers of a key as an array, or a number for two numbers.

    Args:
        name: `random_bits`, `uniform` or `normal`.
        key: whole numbers, of which the lowest 64 bits count.
        i: whole numbers, which broadcast against the key.
        dtype: float32 or float64.
        subject: who asks, for messages.

    Raises:
        DTypeError: another dtype, or numbers that are not whole.
    """
    kind = real_of(dtype, subject)
    keys, counters = _words(key, "key", subject), _words(i, "i", subject)
    function = getattr(of_arrays(kind), name)
    if not isinstance(counters, np.ndarray):  # of a device, which has no caches to stay in
        return function(keys[()], counters)
    shape = np.broadcast_shapes(keys.shape, counters.shape)
    made = np.empty(shape, np.uint64 if name == "random_bits" else kind)
    line = made.reshape(-1)
    spread = [each if each.ndim == 0 else np.broadcast_to(each, shape).reshape(-1) for each in (keys, counters)]
    for start in range(0, line.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        line[part] = function(*(each[()] if each.ndim == 0 else each[part] for each in spread))
    return made[()]


# Any: the key's words as NumPy's generator has them; an array of a device.
def numpy_words(key: Any, start: int, stop: int, like: Any) -> Any:
    """Returns words of 32 bits of `numpy.random.Philox`, computed where an array is.

    That is Philox4x64-10: block b of a key has the counter b + 1, and its words of 64 bits give two each, the low half
    first. The number of a word is all that it depends on, as of ours.

    Args:
        key: two words of 64 bits.
        start: the first word, ≥ 0.
        stop: the end.
        like: where they are computed.
    """
    first = start // 8
    zero = np.zeros(-(-stop // 8) - first, np.uint64, like=like)
    c0, c1, c2, c3 = np.arange(first + 1, first + 1 + zero.size, dtype=np.uint64, like=like), zero, zero, zero
    k0, k1 = map(int, key)
    for _ in range(10):
        high0, high1 = _high(0xD2E7470EE14C6C93, c0), _high(0xCA5A826395121157, c2)
        low0, low1 = c0 * np.uint64(0xD2E7470EE14C6C93), c2 * np.uint64(0xCA5A826395121157)
        c0, c1, c2, c3 = high1 ^ c1 ^ np.uint64(k0), low1, high0 ^ c3 ^ np.uint64(k1), low0
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) % 2**64, (k1 + 0xBB67AE8584CAA73B) % 2**64
    halves = [half for word in (c0, c1, c2, c3) for half in (word & _LOW, word >> _HALF)]
    return np.stack(halves, axis=-1).astype(np.uint32).reshape(-1)[start - 8 * first : stop - 8 * first]


def _high(factor: int, x: Any) -> Any:
    """Returns the upper 64 bits of a product with words of 64 bits, of which no partial sum leaves 64 bits."""
    low, high = np.uint64(factor & 0xFFFFFFFF), np.uint64(factor >> 32)
    x0, x1 = x & _LOW, x >> _HALF
    middle = high * x0 + (low * x0 >> _HALF)
    return high * x1 + (middle >> _HALF) + ((middle & _LOW) + low * x1 >> _HALF)


def real_of(dtype: Any, subject: str) -> str:
    """Returns the name of a dtype that numbers are drawn in.

    Raises:
        DTypeError: it is neither float32 nor float64.
    """
    name: str = np.dtype(dtype).name
    if name not in ("float32", "float64"):
        raise DTypeError(f"{subject}: dtype expected float32 or float64, got {name}; draw in float32 and cast that")
    return name


def _words(value: Any, name: str, subject: str) -> np.ndarray:
    array = value if hasattr(value, "dtype") else np.asarray(value)
    if array.dtype.kind not in "iu":
        raise DTypeError(f"{subject}: {name} expected whole numbers, got {array.dtype}; cast it to int64")
    return array.astype(np.uint64, copy=False)

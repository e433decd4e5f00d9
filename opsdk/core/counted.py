"""NumPy's generator whose numbers are counted: number i is a function of its key and i, which kernels compute too.

It is imported where something is drawn: numpy.random takes 7 ms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opsdk.core.errors import InputValueError
from opsdk.core.philox import drawn, numpy_words, real_of


# Any, in this file: what NumPy's methods take, and arrays or numbers.
class CountedGenerator(np.random.Generator):
    """A `numpy.random.Generator` that draws `random`, `uniform`, `standard_normal` and `normal` by counting.

    The first number that it draws is number 0 of its key, element i of `random(shape)` is `vmath.uniform(key, n + i)`
    in C order where n were drawn before, and one of `standard_normal(shape)` is `vmath.normal(key, n + i)`. All other
    methods are NumPy's own, on `numpy.random.Philox(key)`, whose numbers no compiled kernel draws. What is drawn into
    an array of a device, `random(out=…)` and `standard_normal(out=…)`, is computed there, and is the same numbers.

    Args:
        key: integer from 0 to 2**63 - 1.
    """

    def __init__(self, key: int) -> None:
        super().__init__(np.random.Philox(key))
        self._key = key
        self._count = self._words = 0

    @property
    def key(self) -> int:
        """The draw whose numbers these are."""
        return self._key

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Draws uniform numbers in [0, 1) of float32 or float64, as NumPy's does."""
        return self._next("uniform", size, dtype, out)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Draws normal numbers of float32 or float64, of mean 0 and variance 1; in compiled kernels other roundings."""
        return self._next("normal", size, dtype, out)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Draws uniform numbers in [low, high), which broadcast."""
        return _moved(self.random(_size(size, low, high)), np.subtract(high, low), low)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draws normal numbers of a mean and a standard deviation, which broadcast."""
        if np.any(np.signbit(scale)):
            raise InputValueError(f"normal: scale expected numbers ≥ 0, got {scale!r}")
        return _moved(self.standard_normal(_size(size, loc, scale)), scale, loc)

    # Any: an array of a device.
    def words(self, shape: tuple[int, ...], like: Any) -> Any:
        """Draws where an array is what `integers(0, 2**32, shape, numpy.uint32)` draws of a generator that is new.

        Several draws follow each other as there; other methods neither count these words nor are counted.
        """
        state: Any = self.bit_generator.state
        first, self._words = self._words, self._words + math.prod(shape)
        return numpy_words(state["state"]["key"], first, self._words, like).reshape(shape)

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Returns NumPy's own generators, whose numbers no compiled kernel draws."""
        return np.random.Generator(self.bit_generator).spawn(n_children)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._key, self._count, self._words, self.bit_generator.state)

    def _next(self, name: str, size: Any, dtype: Any, out: Any) -> Any:
        subject = "random" if name == "uniform" else "standard_normal"
        kind = real_of(dtype, subject)
        shape = np.shape(out) if size is None else tuple(np.atleast_1d(np.asarray(size, int)).tolist())
        if out is not None and (out.shape, out.dtype.name) != (shape, kind):
            raise InputValueError(
                f"{subject}: out expected {kind} of shape {shape}, got {out.dtype} of shape {out.shape}"
            )
        count = int(np.prod(shape, dtype=np.int64))
        here = {} if out is None else {"like": out}
        numbers = np.arange(self._count, self._count + count, dtype=np.uint64, **here).reshape(shape)
        made = drawn(name, self._key, numbers, kind, subject)
        self._count += count
        if out is None:
            return float(made) if size is None else np.asarray(made)
        out[...] = made
        return out


def _size(size: Any, *operands: Any) -> Any:
    shape = np.broadcast_shapes(*map(np.shape, operands))
    return size if size is not None or not shape else shape


def _moved(numbers: Any, scale: Any, shift: Any) -> Any:
    made = np.asarray(np.add(shift, np.multiply(scale, numbers)))
    return made if isinstance(numbers, np.ndarray) else float(made)


def _restored(key: int, count: int, words: int, state: Any) -> CountedGenerator:
    made = CountedGenerator(key)
    made._count, made._words, made.bit_generator.state = count, words, state
    return made

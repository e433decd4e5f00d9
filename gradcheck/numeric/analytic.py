"""An array that carries a tiny imaginary part, and refuses every operation that would not carry it on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradcheck.model.dtypes import Array

# Functions that are analytic, or choose, compare and move values by their real parts; nothing else is let through.
_UFUNCS = """
    add subtract multiply divide true_divide negative positive power float_power square sqrt reciprocal exp exp2
    expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh matmul
    greater greater_equal less less_equal equal not_equal maximum minimum isfinite isnan isinf
"""
_FUNCTIONS = """
    sum mean prod cumsum cumprod dot inner outer tensordot einsum trace diagonal diag reshape ravel transpose
    swapaxes moveaxis expand_dims squeeze broadcast_to concatenate stack hstack vstack split take take_along_axis
    where repeat tile roll flip diff pad tril triu zeros_like ones_like full_like empty_like copy shape ndim size
    amax max amin min argmax argmin argsort sort
"""


class NotAnalytic(Exception):
    """The function does something to its input that may drop the imaginary part."""


# NumPy's mixin has no types; every operator it adds ends in __array_ufunc__ below.
class Analytic(np.lib.mixins.NDArrayOperatorsMixin):  # type: ignore[misc, unused-ignore]
    """A complex array in the place of a real one.

    It is no ndarray, so that nothing can turn it into one: what is not listed here raises.

    Args:
        parts: complex128.
        peak: a list of one number that all arrays of one run share: the largest imaginary part met so far.
    """

    def __init__(self, parts: Array, peak: list[float]) -> None:
        self.parts, self.peak = parts, peak
        self.shape, self.ndim, self.size, self.dtype = parts.shape, parts.ndim, parts.size, np.dtype(np.float64)

    def __array__(self, *_: object, **__: object) -> Array:
        raise NotAnalytic

    def __bool__(self) -> bool:
        raise NotAnalytic

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc.__name__ not in _UFUNCS.split() or method not in ("__call__", "reduce", "accumulate"):
            raise NotAnalytic
        return self._wrap(getattr(ufunc, method)(*_bare(inputs), **_bare(kwargs)))

    def __array_function__(self, function: Callable[..., Any], _: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ not in _FUNCTIONS.split() or not function.__module__.startswith("numpy"):
            raise NotAnalytic
        return self._wrap(function(*_bare(args), **_bare(kwargs)))

    def __getitem__(self, key: Any) -> Any:
        return self._wrap(self.parts[_bare(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.parts[_bare(key)] = _bare(value)

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    @property
    def T(self) -> Any:
        """The transpose."""
        return self._wrap(self.parts.T)

    def __getattr__(self, name: str) -> Any:
        if name not in ("sum", "mean", "prod", "cumsum", "reshape", "ravel", "transpose", "max", "min", "copy", "dot"):
            raise AttributeError(name)
        method = getattr(self.parts, name)
        return lambda *args, **kwargs: self._wrap(method(*_bare(args), **_bare(kwargs)))

    def _wrap(self, result: Any) -> Any:
        if isinstance(result, (tuple, list)) and any(isinstance(part, np.ndarray) for part in result):
            return [self._wrap(part) for part in result]
        if not isinstance(result, (np.ndarray, np.generic)) or result.dtype.kind != "c":
            return result
        array = np.asarray(result)
        self.peak[0] = max(self.peak[0], float(np.max(np.abs(array.imag), initial=0.0)))
        return Analytic(array, self.peak)


def _bare(value: Any) -> Any:
    if isinstance(value, Analytic):
        return value.parts
    if isinstance(value, (tuple, list)):
        return type(value)(_bare(part) for part in value)
    if isinstance(value, dict):
        return {key: _bare(part) for key, part in value.items()}
    return value

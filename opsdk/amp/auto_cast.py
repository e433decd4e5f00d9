"""auto_cast: in which dtype each op computes, inside of a `with` block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from opsdk.amp.rules import LOW, WIDE
from opsdk.core.blocks import decorated
from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import AttributeValueError
from opsdk.core.fit import as_bool
from opsdk.core.nested import each, flat
from opsdk.define.frontend import dispatch
from opsdk.define.interceptors import Interceptor, switch
from opsdk.define.op import Op, find_op
from opsdk.define.opdef import OpDef
from opsdk.ops.shape import cast

F = TypeVar("F", bound=Callable[..., Any])
_FLOATS = ("float16", "bfloat16", "float32")  # what is cast; float64 was asked for by somebody


# Any, in this file: the values of a call.
class auto_cast(Interceptor):
    """Has products (matmul, convolution, attention, recurrent nets) compute in 16 bits, inside of it.

    What needs more (exponentials, sums, normalisation, losses) computes in float32, all other ops in what they are
    given: their inputs of 16 and 32 bits give 32. Parameters stay what they are, and so do their gradients, since a
    cast is an op. A backward runs in the dtypes of its call, wherever it is called. Float64 is left alone. Inside of
    another block the inner one holds alone. Used as `with auto_cast():`, or as a decorator.

    Args:
        enable: False: all ops compute in what they are given.
        custom_white_list: further ops that compute in 16 bits: ops, or their names.
        custom_black_list: further ones that compute in float32.
        level: `O1`; `O0` is the same as `enable=False`.
        dtype: `float16`, whose gradients want a GradScaler, or `bfloat16`.

    Raises:
        AttributeValueError: another level or dtype, or an op in both lists.
        UnknownOpError: a name that no op has.
    """

    __slots__ = ("_args", "_enabled", "_low", "_lower", "_undo", "_wider")

    def __init__(
        self,
        enable: bool = True,
        custom_white_list: Iterable[Op | str] | None = None,
        custom_black_list: Iterable[Op | str] | None = None,
        level: str = "O1",
        dtype: DTypeLike = "float16",
    ) -> None:
        self._args = (enable, custom_white_list, custom_black_list, level, dtype)
        if level not in ("O0", "O1"):
            raise AttributeValueError(f"auto_cast: level expected 'O0' or 'O1', got {level!r}")
        self._low = as_dtype(dtype)
        if self._low.name not in ("float16", "bfloat16"):
            raise AttributeValueError(f"auto_cast: dtype expected float16 or bfloat16, got {self._low.name}")
        self._enabled = as_bool(enable, "auto_cast: enable") and level == "O1"
        lower, wider = _names(custom_white_list), _names(custom_black_list)
        if lower & wider:
            raise AttributeValueError(
                f"auto_cast: expected an op in one list, got {', '.join(sorted(lower & wider))} in both"
            )
        self._lower, self._wider = LOW - wider | lower, WIDE - lower | wider
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> auto_cast:
        self._undo.append(switch(auto_cast, self if self._enabled else None))
        return self

    def __exit__(self, *raised: object) -> None:
        self._undo.pop()()

    def __call__(self, function: F) -> F:
        """Returns a function run inside of the block."""
        return decorated(function, lambda: auto_cast(*self._args), "auto_cast")

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Casts the inputs of a call to what its op computes in."""
        if opdef.name in self._lower:
            inputs = _cast(inputs, self._low)
        elif opdef.name in self._wider:
            inputs = _cast(inputs, np.dtype("float32"))
        return dispatch(opdef, inputs, attrs)


def _cast(inputs: Sequence[Any], dtype: np.dtype[Any]) -> Sequence[Any]:
    """Returns the inputs of a call with its floats of up to 32 bits in a dtype; all as they are where one has more."""
    if any(value.dtype == np.float64 for value in flat(inputs)):
        return inputs
    made: list[Any] = each(
        inputs,
        lambda value: cast(value, dtype=dtype) if value.dtype.name in _FLOATS and value.dtype != dtype else value,
    )
    return made


def _names(ops: Iterable[Op | str] | None) -> frozenset[str]:
    if isinstance(ops, (str, Op)):
        raise AttributeValueError(f"auto_cast: a list of ops expected several, got {ops!r}; put it into a list")
    return frozenset((op if isinstance(op, Op) else find_op(op)).opdef.name for op in ops or ())

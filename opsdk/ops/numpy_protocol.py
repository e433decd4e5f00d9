"""NumpyProtocol: what NumPy's own functions do with tensors and Program variables.

A function that has an op is that op, so that `np.exp(x)` is recorded as `opsdk.exp(x)` is. Any other would need the
values, outside of the graph: it gets them where nothing is lost by it, and is refused where a gradient would be.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from opsdk.core.errors import DTypeError, NotRecordedError, ShapeError
from opsdk.core.nested import flat
from opsdk.core.origin import trimmed, warn
from opsdk.core.spec import OpenSize
from opsdk.define.infer import normalize_axes
from opsdk.ops import functions, joining, logical
from opsdk.ops.elementwise import scale


class Obstacle(NamedTuple):
    """Why NumPy may not take a value out of its graph, and what to write instead."""

    reason: str
    remedy: str
    has_values: bool = True  # False where nothing can be read at all


# Any, in this file: NumPy passes on whatever its caller gave it.
class NumpyProtocol:
    """NumPy's dispatch protocols. `np.asarray(x)`, and all that NumPy makes of a list, asks `check_leaves`."""

    __slots__ = ()

    def _numpy_obstacle(self) -> Obstacle | None:
        """Returns why NumPy may not have the values now, or None."""
        return None

    def _values(self) -> np.ndarray:
        """Returns the values outside of the graph, whether or not a gradient is needed."""
        return np.asarray(self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Calls the op of a NumPy ufunc; without one, NumPy itself on the values.

        Raises:
            NotRecordedError: there is no op, and a value needs a gradient or is a Program's; or it would be changed.
        """
        op = UFUNCS.get(ufunc)
        if op is not None and method == "__call__" and not options:
            return op(*inputs)
        name = f"np.{ufunc.__name__}" if method == "__call__" else f"np.{ufunc.__name__}.{method}"
        if method == "at" and isinstance(inputs[0], NumpyProtocol):
            raise trimmed(_written_to(name))
        try:
            return _on_arrays(getattr(ufunc, method), name, inputs, options, judge=ufunc not in _WITHOUT_GRADIENT)
        except NotRecordedError as error:
            raise trimmed(error)  # noqa: B904 - the same error, without the frames below the user's

    def __array_function__(
        self, function: Callable[..., Any], types: Sequence[type], args: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        """Calls the ops of a NumPy function; without any, NumPy itself on the values.

        Raises:
            NotRecordedError: there is no op, and a value needs a gradient or is a Program's; or it would be changed.
        """
        ours = FUNCTIONS.get(function)
        if ours is not None and _binds(ours, args, options):
            return ours(*args, **options)
        name = f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"
        if name in WRITES and isinstance(next(iter((*args, *options.values())), None), NumpyProtocol):
            raise trimmed(_written_to(name))
        try:
            return _on_arrays(function, name, args, options, judge=function not in _WITHOUT_GRADIENT)
        except NotRecordedError as error:
            raise trimmed(error)  # noqa: B904 - the same error, without the frames below the user's


def check_leaves(value: NumpyProtocol) -> None:
    """Checks that no gradient is lost where NumPy makes an array of a value, of a list of them, or of a part of it.

    NumPy asks nothing else for `np.exp([a, b])`, and does not tell which function it is.

    Raises:
        NotRecordedError: the value needs a gradient.
    """
    obstacle = value._numpy_obstacle()
    if obstacle is not None:
        raise NotRecordedError(
            f"NumPy array: expected a value outside of the graph, and {obstacle.reason}, which would end in the array; "
            "pass x.numpy() where it may, make one tensor of a list with opsdk.stack"
        )


def tell_leaving(value: NumpyProtocol) -> None:
    """Warns where a float is made of a value that needs a gradient: `float(x)`, `array[i] = x`, `math.exp(x)`."""
    obstacle = value._numpy_obstacle()
    if obstacle is not None:
        warn(f"float: {obstacle.reason}, which ends in the number; x.item() or x.detach() say that it may")


def values_of(value: Any) -> Any:
    """Returns the values of a tensor, to be kept or compared outside of the graph; other values as they are."""
    return value._values() if isinstance(value, NumpyProtocol) else value


def _on_arrays(
    function: Callable[..., Any], name: str, args: Sequence[Any], options: Mapping[str, Any], *, judge: bool
) -> Any:
    for value in flat([*args, *options.values()]):
        if not isinstance(value, NumpyProtocol):
            continue
        obstacle = value._numpy_obstacle()
        if obstacle is not None and (judge or not obstacle.has_values):
            called = f"{name} with {', '.join(f'{key}=' for key in options)}" if options else name
            raise NotRecordedError(f"{called}: no op is recorded for it, and {obstacle.reason}; {obstacle.remedy}")
    if any(isinstance(value, NumpyProtocol) for value in flat(options.get("out"))):
        raise NotRecordedError(f"{name}: out expected a NumPy array, got a tensor; assign with x.set_value({name}(…))")
    return function(*_as_arrays(args), **{key: _as_arrays(value) for key, value in options.items()})


# What NumPy writes to its first argument, whose graph and Program would not know of it; what to write instead.
WRITES = {
    "np.add.at": "index_add(x, index, axis, value) and scatter_add of opsdk give a new value, "
    "sum_at(values, index, size) the sums alone",
    "np.put_along_axis": "put_along_axis(x, index, values, axis) of opsdk gives a new value",
    "np.copyto": "x.set_value(values) of a tensor",
    "np.fill_diagonal": "x[index] = values",
    "np.place": "x[mask] = values",
    "np.put": "x[index] = values",
    "np.putmask": "x[mask] = values",
}


def _written_to(name: str) -> NotRecordedError:
    instead = WRITES.get(name, "compute a new value")
    return NotRecordedError(f"{name}: expected a NumPy array to change, got a tensor or Variable; {instead}")


def _as_arrays(given: Any) -> Any:
    if isinstance(given, NumpyProtocol):
        return given._values()
    if type(given) in (list, tuple):
        return type(given)(_as_arrays(item) for item in given)
    return given


def _binds(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> bool:
    """Whether a call uses nothing that the op does not have, such as `out=` or `where=`."""
    try:
        inspect.signature(function).bind(*args, **options)
    except TypeError:
        return False
    return True


# -- NumPy's functions by our ops; the parameters are called as NumPy calls them ---------------------------------------


def _over(name: str) -> Callable[..., Any]:
    """Returns NumPy's form of a reduction: no axes, `axis=()`, are none of them, where ours are all."""

    def reduced(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        if isinstance(axis, (tuple, list)) and not axis:
            return getattr(a.unsqueeze(0), name)(0, False)  # over one element each, which also gives the dtype
        return getattr(a, name)(axis, keepdims)

    return reduced


def _reshape(a: Any, shape: Any) -> Any:
    sizes = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    has_zero = any(not isinstance(size, OpenSize) and size == 0 for size in sizes)
    if has_zero and 0 not in a.shape:  # to ours the input's own size, to NumPy a size
        raise ShapeError(
            f"np.reshape: expected sizes that hold the elements of shape {tuple(a.shape)}, got {tuple(sizes)}"
        )
    return a.reshape(sizes)


def _squeeze(a: Any, axis: Any = None) -> Any:
    if axis is None:
        return a.squeeze()
    axes = normalize_axes(axis, len(a.shape), "np.squeeze") if axis != () else ()
    if any(a.shape[i] != 1 for i in axes):
        raise ShapeError(
            f"np.squeeze: expected axes of size 1, got {axis} of shape {tuple(a.shape)}; x.squeeze takes any"
        )
    return a.squeeze(list(axes)) if axes else a.clone()


def _concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    if axis is None:
        return joining.concat([array.reshape([-1]) for array in arrays], axis=0)
    return joining.concat(list(arrays), axis=axis)


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if isinstance(indices_or_sections, (int, np.integer)):
        return functions.split(ary, int(indices_or_sections), axis)
    ends = [0, *np.asarray(indices_or_sections).tolist()]
    sizes = [after - before for before, after in itertools.pairwise(ends)]
    if any(size < 0 for size in sizes):
        raise ShapeError(f"np.split: expected positions that ascend from 0 on, got {ends[1:]}; slice x[a:b] instead")
    return functions.split(ary, [*sizes, -1], axis)


def _pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: float = 0.0) -> Any:
    if isinstance(pad_width, (tuple, list)) and len(pad_width) == 2 and not np.ndim(pad_width[0]):
        pad_width = [pad_width] * len(array.shape)
    widths = np.broadcast_to(np.asarray(pad_width), (len(array.shape), 2)).tolist()
    mode = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
    return functions.pad(array, widths, mode, constant_values)


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns NumPy's form of a sort: no axis is the array flattened, and every kind is the stable one."""

    def sorted_along(a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Any:
        return function(a.reshape([-1]), 0) if axis is None else function(a, axis)

    return sorted_along


def _take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None:
        return functions.take_along_axis(functions.reshape(arr, [-1]), indices, 0)
    return functions.take_along_axis(arr, indices, axis)


def _reciprocal(x: Any) -> Any:
    dtype = getattr(x, "dtype", None)
    if dtype is not None and dtype.kind in "biu":
        raise DTypeError(f"np.reciprocal: expected floats, got {dtype}, of which NumPy drops the fraction; cast it")
    return functions.reciprocal(x)


_INVERSE = ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")  # names that NumPy has had since 2.0
# An op that is called as a ufunc of NumPy is that ufunc.
UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    **{ufunc: op for name, op in vars(functions).items() if isinstance(ufunc := getattr(np, name, None), np.ufunc)},
    **{getattr(np, f"arc{name[1:]}"): getattr(functions, name) for name in _INVERSE},
    np.power: functions.pow,
    np.reciprocal: _reciprocal,
    np.negative: lambda x: scale(x, scale=-1.0),
    np.not_equal: logical.not_equal,
    np.less: logical.less_than,
    np.less_equal: logical.less_equal,
    np.greater: logical.greater_than,
    np.greater_equal: logical.greater_equal,
    np.logical_not: logical.logical_not,
}

FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.shape: lambda a: tuple(a.shape),
    np.ndim: lambda a: int(a.ndim),
    np.sum: _over("sum"),
    np.mean: _over("mean"),
    np.max: _over("max"),
    np.amax: _over("max"),
    np.min: _over("min"),
    np.amin: _over("min"),
    np.reshape: _reshape,
    np.transpose: lambda a, axes=None: a.T if axes is None else a.transpose(axes),
    np.squeeze: _squeeze,
    np.expand_dims: lambda a, axis: a.unsqueeze(axis),
    np.concatenate: _concatenate,
    np.stack: lambda arrays, axis=0: joining.stack(list(arrays), axis=axis),
    np.where: lambda condition, x, y: functions.where(condition, x, y),
    np.broadcast_to: lambda array, shape: functions.expand(array, shape),
    np.cumsum: lambda a, axis=None, dtype=None: functions.cumsum(a, axis, dtype),
    np.split: _split,
    np.pad: _pad,
    np.sort: _along(functions.sort),
    np.argsort: _along(functions.argsort),
    np.take_along_axis: _take_along_axis,
    np.angle: lambda z: functions.angle(z),
    np.real: lambda val: functions.real(val),
    np.imag: lambda val: functions.imag(val),
}

# Their results say whether, where or how, which no gradient flows through; a tensor's values are theirs to read.
_WITHOUT_GRADIENT: set[Callable[..., Any]] = {
    np.signbit,
    np.argmax,
    np.argmin,
    np.nonzero,
    np.count_nonzero,
    np.any,
    np.all,
    np.allclose,
    np.isclose,
    np.array_equal,
    np.array_equiv,
    np.array2string,
    np.array_repr,
    np.array_str,
    np.size,
    np.result_type,
    np.shares_memory,
    np.may_share_memory,
    np.zeros_like,
    np.ones_like,
    np.empty_like,
}

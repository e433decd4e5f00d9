"""vjp: products of vectors with the Jacobian of a function of ops, whatever the values are that it is taken at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import ArityError, AttributeValueError, MixedRuntimeError
from opsdk.core.nested import flat
from opsdk.core.origin import trimming
from opsdk.define.frontend import over_arrays, owner_of
from opsdk.define.schema.binding import name_of

# Any, in this file: values of one runtime, and functions of them.
Pull = Callable[[Callable[..., Any], Sequence[Any], Any, "bool | None"], tuple[Sequence[Any], Sequence[Any]]]
_PULLS: dict[str, Pull] = {}


def register_vjp(runtime: str, pull: Pull) -> None:
    """Makes known how a runtime, by the name of its values, takes products with Jacobians.

    Args:
        runtime: the name of its frontend.
        pull: takes a function that returns a list, its inputs, a cotangent for each output or None for ones, and
            whether the products are recorded, None for as calls are; gives outputs, and a gradient for each input.
    """
    _PULLS[runtime] = pull


@trimming
def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool | None = None) -> tuple[Any, Any]:
    """Returns what a function gives, and the product of a vector with its Jacobian: the gradients of its inputs.

    Arrays give arrays, tensors tensors, and Variables of a Program Variables, to which operators are appended, so that
    a backward of either kind, in NumPy or composite, calls back a function that it was given.

    Args:
        func: a function of ops, of as many values as there are inputs, that returns one value or several; of one that
            Numba compiled the Python function is taken.
        inputs: a value, or a list or tuple of them. Of whole numbers there is no gradient: None.
        v: the cotangent of each output, of its shape and dtype; ones unless given.
        create_graph: of tensors, whether the gradients are recorded; unless given they are as calls are, where an
            input or a cotangent needs a gradient. Tensors that `func` reads otherwise count with True.

    Returns:
        The outputs, and the gradients; each alone where it was given alone. An input that the outputs do not depend on
        gets zeros. Differentiable, to any order.

    Raises:
        AttributeValueError: `func` is not callable.
        ArityError: not one cotangent for each output.
        MixedRuntimeError: the values are of two runtimes, or of one without derivatives.
        GradientMissingError, DerivativeOrderError: an op that `func` calls has no backward, or one too few.

    Example:
        >>> vjp(lambda x: x * x, np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        (array([1., 4.]), array([ 2., 40.]))
    """
    if not callable(func):
        raise AttributeValueError(f"vjp: func expected a callable, got {type(func).__name__}")
    is_one = not isinstance(inputs, (list, tuple))
    values = [inputs] if is_one else list(inputs)
    given = v if v is None or isinstance(v, (list, tuple)) else [v]
    owners = dict.fromkeys(filter(None, map(owner_of, flat([values, given or []]))))
    owners.pop("CUDA arrays", None)  # bare arrays too
    if len(owners) > 1 or not owners.keys() <= _PULLS.keys():
        raise MixedRuntimeError(f"vjp: expected values of one runtime with derivatives, got {' and '.join(owners)}")
    shape: list[bool] = []  # whether the function returned one value

    def listing(*taken: Any) -> list[Any]:
        made = getattr(func, "py_func", func)(*taken)
        shape[:] = [not isinstance(made, (list, tuple))]
        outputs = [made] if shape[0] else list(made)
        if given is not None and len(given) != len(outputs):
            raise ArityError(
                f"vjp: expected a cotangent for each of the {len(outputs)} outputs of {name_of(func)}, got {len(given)}"
            )
        return outputs

    if owners:
        (runtime,) = owners
        outputs, gradients = _PULLS[runtime](listing, values, given, create_graph)
    else:
        outputs, gradients = _on_arrays(listing, values, given)
    return outputs[0] if shape[0] else tuple(outputs), gradients[0] if is_one else tuple(gradients)


def _on_arrays(function: Callable[..., Any], values: Sequence[Any], given: Any) -> tuple[Any, Any]:
    """Returns the same of bare arrays, which are taken as tensors meanwhile."""
    arrays = [_array(value) for value in values]

    def pulled(*taken: Any) -> Any:
        count = len(arrays)
        runtime = owner_of(taken[0]) or ""
        return tuple(map(tuple, _PULLS[runtime](function, taken[:count], taken[count:] or None, False)))

    return over_arrays(pulled)(*arrays, *map(_array, given or ()))  # type: ignore[no-any-return]


def _array(value: Any) -> Any:
    return value if owner_of(value) else np.asarray(value)

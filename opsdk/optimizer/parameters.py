"""What an optimizer was given, parameters by name and their weight decay, and the slots that it keeps for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import computed_in
from opsdk.core.errors import AttributeValueError, NameClashError
from opsdk.static.ir.variable import Variable

RATE = "learning_rate"
WEIGHT_DECAY = "weight_decay"


# Any, in this file: what a user passed; parameters are tensors or Program variables.
def listed(parameters: Any) -> Any:
    """Returns parameters that can be looped over more than once: iterators as lists, a group's one tensor in a list."""
    if _is_used_up(parameters):
        parameters = list(parameters)
    if not isinstance(parameters, (list, tuple)) or not any(isinstance(entry, Mapping) for entry in parameters):
        return parameters
    made = []
    for entry in parameters:
        own: Any = entry.get("params") if isinstance(entry, Mapping) else None
        params: Any = own
        if isinstance(own, Tensor) or _is_used_up(own):
            params = [own] if isinstance(own, Tensor) else [*own]
        made.append(entry if params is own else {**entry, "params": params})
    return made


def _is_used_up(values: Any) -> bool:
    """Whether a loop empties it; `layer.parameters()` is a list that `next` takes too."""
    return isinstance(values, Iterator) and not isinstance(values, list)


def as_groups(parameters: Any, subject: str) -> list[Mapping[str, Any]] | None:
    """Returns parameters that came as dictionaries with `params`; None where they came otherwise.

    Raises:
        AttributeValueError: dictionaries and parameters are mixed, or one has no `params`.
    """
    entries = list(parameters) if isinstance(parameters, (list, tuple)) else []
    kinds = {isinstance(entry, Mapping) for entry in entries}
    if True not in kinds:
        return None
    if False in kinds or not all("params" in entry for entry in entries):
        raise AttributeValueError(
            f"{subject}: groups of parameters expected a list of dictionaries, each with params, got other entries"
        )
    return entries


def as_named(parameters: Any, subject: str) -> dict[str, Any]:
    """Returns parameters by the name under which their state is kept.

    Args:
        parameters: tensors or variables; `layer.parameters()`, which knows their names; `(name, tensor)` pairs; a
            mapping; or groups of those. Without names they are called by their position.
        subject: who asks, for the messages.

    Raises:
        AttributeValueError: one bare tensor, something that is no parameter, or an interior tensor.
        NameClashError: one name for two.
    """
    named: dict[str, Any] = {}
    for group in as_groups(parameters, subject) or [{"params": parameters}]:
        _add_named(group["params"], named, subject)
    return named


def _add_named(parameters: Any, named: dict[str, Any], subject: str) -> None:
    if isinstance(parameters, (Tensor, Variable, np.ndarray, str)) or not hasattr(parameters, "__iter__"):
        raise AttributeValueError(
            f"{subject}: parameters expected a list of them, got one {type(parameters).__name__}; "
            "pass layer.parameters()"
        )
    known = getattr(parameters, "names", {})
    for entry in list(parameters.items() if isinstance(parameters, Mapping) else parameters):
        is_pair = isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)
        name, value = entry if is_pair else (known.get(id(entry)) or str(len(named)), entry)
        if not is_pair and name in named:  # of two layers with parameters of the same names
            name = f"{len(named)}.{name}"
        if not isinstance(value, (Tensor, Variable)):
            raise AttributeValueError(
                f"{subject}, parameter {name}: expected a tensor or a (name, tensor) pair, got {type(value).__name__}"
            )
        if isinstance(value, Tensor) and not value.is_leaf:
            raise AttributeValueError(
                f"{subject}, parameter {name}: expected a leaf, got a tensor that an op made; its gradient is not kept"
            )
        if any(value is other for other in named.values()):
            continue
        if name in named:
            raise NameClashError(f"{subject}: expected names that differ, got {name!r} twice")
        named[name] = value


def key_of(param: Any) -> int:
    """Returns the id by which a parameter is known: of a Variable that stands for a tensor, the tensor's."""
    held = getattr(param, "held", None)
    return id(param if held is None else held)


class L2Decay:
    """Adds `coeff` times the parameter to its gradient.

    Args:
        coeff: ≥ 0.
    """

    def __init__(self, coeff: float = 0.0) -> None:
        self.coeff = float(coeff)

    def __repr__(self) -> str:
        return f"L2Decay({self.coeff})"


# Any: a number, an object with `coeff`, or what a user passed instead.
def decay_coefficient(value: Any, subject: str) -> float:
    """Returns the coefficient of a weight decay; 0 for None.

    Raises:
        AttributeValueError: no number ≥ 0, and no object with one in `coeff`.
    """
    if value is None:
        return 0.0
    number = getattr(value, "coeff", value)
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not number >= 0:
        raise AttributeValueError(f"{subject}: weight_decay expected a number ≥ 0 or an L2Decay, got {value!r}")
    return float(number)


class Slot(NamedTuple):
    """One value that an optimizer keeps for each parameter.

    Attributes:
        name: unique in the optimizer.
        value: every element at first.
        is_scalar: whether it has one element, of float64; else it is of the parameter's shape and of the dtype that is
            computed with, float32 for float16 and bfloat16: moments of the gradient do not fit into 16 bits.
        paddle: what Paddle's files call it, where that is another word.
    """

    name: str
    value: float = 0.0
    is_scalar: bool = False
    paddle: str = ""

    def dtype(self, param: Any) -> np.dtype[Any]:
        """Returns the dtype of the slot of a parameter."""
        return np.dtype("float64") if self.is_scalar else computed_in(param.dtype)

    def filling(self, param: Any) -> tuple[Any, float, np.dtype[Any]]:
        """Returns shape, value and dtype of the slot of a parameter at first."""
        return [1] if self.is_scalar else param.shape, self.value, self.dtype(param)


def as_rate(value: Any, subject: str) -> float:
    """Returns a learning rate.

    Raises:
        AttributeValueError: no number ≥ 0.
    """
    number = isinstance(value, (int, float, np.floating, np.integer)) and not isinstance(value, bool)
    if not number or not 0 <= float(value) < 2.0**1000:
        is_number = value is None or isinstance(value, (int, float, str, complex, np.generic))
        told = repr(value) if is_number else f"{type(value).__name__}; parameters are given as parameters="
        raise AttributeValueError(f"{subject}: learning_rate expected a number ≥ 0, got {told}")
    return float(value)


def learning_rate_factor(param: Any) -> float:
    """Returns a parameter's own factor on the learning rate; 1 for plain tensors."""
    attr: dict[str, float] = getattr(param, "optimize_attr", None) or {}
    return float(attr.get(RATE, 1.0))


def rate_dtype(dtype: np.dtype[Any]) -> str:
    """Returns the dtype of the learning rate for parameters of a dtype."""
    return "float64" if dtype in (np.float64, np.complex128) else "float32"

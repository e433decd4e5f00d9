"""What an optimizer was given to optimize, as parameters by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import AttributeValueError, NameClashError
from opsdk.static.ir.variable import Variable


# Any, in this file: what a user passed; parameters are tensors or Program variables.
def as_named(parameters: Any, subject: str) -> dict[str, Any]:
    """Returns parameters by the name under which their state is kept.

    Args:
        parameters: tensors or variables; `(name, tensor)` pairs, as `layer.named_parameters()` yields them; or a
            mapping. Without names they are called by their position.
        subject: who asks, for the messages.

    Raises:
        AttributeValueError: one bare tensor, something that is no parameter, or an interior tensor.
        NameClashError: one name for two.
    """
    if isinstance(parameters, (Tensor, Variable, np.ndarray, str)) or not hasattr(parameters, "__iter__"):
        raise AttributeValueError(
            f"{subject}: parameters expected a list of them, got one {type(parameters).__name__}; "
            "pass layer.parameters()"
        )
    entries = list(parameters.items() if isinstance(parameters, Mapping) else parameters)
    named: dict[str, Any] = {}
    for position, entry in enumerate(entries):
        is_pair = isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)
        name, value = entry if is_pair else (str(position), entry)
        if not isinstance(value, (Tensor, Variable)):
            raise AttributeValueError(
                f"{subject}, parameter {name}: expected a tensor or a (name, tensor) pair, got {type(value).__name__}"
            )
        if isinstance(value, Tensor) and not value.is_leaf:
            raise AttributeValueError(
                f"{subject}, parameter {name}: expected a leaf, got a tensor that an op made; its gradient is not kept"
            )
        if name in named:
            raise NameClashError(f"{subject}: expected names that differ, got {name!r} twice")
        if not any(value is other for other in named.values()):
            named[name] = value
    return named

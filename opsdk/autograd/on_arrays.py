"""Functions of tensors, as composites are, run over arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from opsdk.autograd.device_tensor import tensor_of
from opsdk.autograd.tensor import Tensor
from opsdk.backends.memory.device import is_device_array
from opsdk.core.modes import GradMode
from opsdk.define.frontend import MAKER


# Any, in this file: arrays, lists of them or None, and what a user's function makes of tensors.
def on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of arrays that does what a function of tensors does.

    A composite runs on tensors without a graph, so that methods and operators are opsdk's everywhere.
    """

    @wraps(function)
    def run(*values: Any, **attrs: Any) -> Any:
        if MAKER.get() is not None:  # a Program that is being built has no part in what runs on arrays meanwhile
            with MAKER.held(None):
                return run(*values, **attrs)
        with GradMode(False):
            return _lowered(function(*map(_lifted, values), **attrs))

    return run


def _lifted(value: Any) -> Any:
    if value.__class__ is list:
        return [_lifted(item) for item in value]
    return tensor_of(value) if value.__class__ is np.ndarray or is_device_array(value) else value


def _lowered(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value._array
    if isinstance(value, Mapping):
        return {name: _lowered(held) for name, held in value.items()}
    return type(value)(map(_lowered, value)) if value.__class__ in (list, tuple) else value

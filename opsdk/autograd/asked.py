"""PyTorch's keywords of the functions that make tensors: what is made as ever, and then as it is asked for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from opsdk.autograd.tensor import Tensor, needs_float
from opsdk.core.errors import AttributeValueError
from opsdk.core.fit import as_bool
from opsdk.core.random import Generator


# Any: arguments of every kind; a tensor, or a Variable where a Program is built.
def as_asked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that takes `requires_grad`, `device`, `size` and, where it draws, `generator` too."""
    own = inspect.signature(function).parameters
    name = function.__name__

    @functools.wraps(function)
    def call(
        *args: Any, requires_grad: bool = False, device: Any = None, pin_memory: bool = False, **options: Any
    ) -> Any:
        if "size" in options and "shape" in own:
            options["shape"] = options.pop("size")
        if "seed" in own and (generator := options.pop("generator", None)) is not None:
            if not isinstance(generator, Generator):
                raise AttributeValueError(
                    f"{name}: generator expected an opsdk.Generator or None, got {type(generator).__name__}"
                )
            options["seed"] = int(generator.draw()) or 1  # 0 is the global one
        made = function(*args, **options)
        if device is not None and isinstance(made, Tensor):
            made = made.to(device)
        if as_bool(requires_grad, f"{name}: requires_grad"):
            if isinstance(made, Tensor):
                needs_float(made, name)
            made.stop_gradient = False
        return made

    return call

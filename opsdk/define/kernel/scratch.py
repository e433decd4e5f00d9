"""Scratch: memory that a CUDA kernel works in, beside inputs and outputs, as its row declares it.

A kernel on a device allocates nothing that is large, and a result that grows with the inputs may need more on its way
than what comes out, such as all states of a scan for its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from opsdk.core.errors import DefinitionError, LaunchError
from opsdk.core.spec import TensorSpec
from opsdk.define.schema.binding import called_by_name, check_names, parameters_of
from opsdk.define.schema.schema import OpSchema


@dataclass(frozen=True)
class Scratch:
    """One array of a row.

    Attributes:
        function: of inputs and attributes by name; returns a TensorSpec (Any: arrays of a device, attribute values).
        subject: the row and the array, for messages.
    """

    function: Callable[..., Any]
    subject: str

    def spec(self, values: Mapping[str, Any]) -> tuple[tuple[int, ...], Any]:
        """Returns shape and dtype for a call.

        Raises:
            LaunchError: the function gave no spec, or one with a dimension that is not known.
        """
        made = called_by_name(self.function)(values)
        if not isinstance(made, TensorSpec) or None in made.shape:
            raise LaunchError(f"{self.subject}: expected opsdk.TensorSpec(shape, dtype) of known sizes, got {made!r}")
        return tuple(size or 0 for size in made.shape), made.dtype


# Any: a user may pass anything, and what is none is refused.
def as_scratch(value: Any, schema: OpSchema, subject: str) -> dict[str, Scratch]:
    """Returns the arrays that a row works in, by the names of the kernel's parameters.

    Raises:
        DefinitionError: it is no dict from new names to functions.
        BindingError: a function asks for something that is no input or attribute.
    """
    named = (*schema.input_names, *schema.output_names, *schema.attr_names)
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise DefinitionError(
            f"{subject}: scratch expected a dict from names to functions, got {value!r}; write "
            "scratch={'states': lambda x: opsdk.TensorSpec(x.shape, 'float64')}"
        )
    for name, function in value.items():
        if name in named or not callable(function):
            got = "the name of an input, output or attribute" if name in named else f"{function!r} for it"
            raise DefinitionError(f"{subject}: scratch {name!r} expected a name of its own and a function, got {got}")
        known = (*schema.input_names, *schema.attr_names)
        check_names(function, parameters_of(function), known, f"{subject}, scratch {name!r}")
    return {name: Scratch(function, f"{subject}, scratch {name!r}") for name, function in value.items()}

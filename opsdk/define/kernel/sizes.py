"""Sizes that data decide: what tells how large the buffers of a kernel are, where the infer rule leaves a size open.

    sizes=count     `count` gives the sizes; buffers of these sizes are made, and the kernel fills them
    bound=most      `most` gives upper bounds; the kernel fills the beginning, and the results are cut to what it filled

Both are functions of inputs and attributes by name. What they give is one whole number for all open sizes (the None of
the infer rule), or one for each: outputs in their order, the axes of each in theirs. Either way the kernel says how
many it filled, in the same form: it returns it, or where kernels return nothing it writes it to an array, `sizes`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opsdk.core.errors import DefinitionError
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.schema.binding import name_of, parameters_among
from opsdk.define.schema.schema import OpSchema

SIZE_OPTIONS = ("sizes", "bound")


@dataclass(frozen=True)
class SizeFunction:
    """What decides the open sizes of a kernel.

    Attributes:
        option: `sizes`, or `bound` where the kernel may fill less.
        function: of inputs and attributes by name; of a C kernel also the name of a function in its source (any
            signature, hence Any).
    """

    option: str
    function: Callable[..., Any] | str

    def __str__(self) -> str:
        return f"{self.option}={self.function if isinstance(self.function, str) else name_of(self.function)}"


def size_function(kernel: Kernel) -> SizeFunction | None:
    """Returns what decides the open sizes of a kernel; None where all sizes follow from those of its inputs."""
    found: SizeFunction | None = kernel.options.get("sizes") or kernel.options.get("bound")
    return found


def size_parameter(taken: Container[str]) -> str:
    """Returns what the parameter is called to which a kernel writes how many it filled, beside the names of others."""
    return "sizes_" if "sizes" in taken else "sizes"


# Any: what the caller of `kernel` wrote.
def as_sizes(
    given: Mapping[str, Any],
    schema: OpSchema,
    subject: str,
    *,
    in_source: bool = False,
    beside: Sequence[str] = (),
) -> dict[str, SizeFunction]:
    """Returns the option that decides a kernel's open sizes, ready to be kept; nothing where there is none.

    Args:
        given: all options of the kernel.
        schema: of the op.
        subject: the kernel, for messages.
        in_source: whether it may be the name of a function in the kernel's source.
        beside: what it may ask for beside inputs and attributes.

    Raises:
        DefinitionError: it is no function, or there are both.
        BindingError: it asks for something that is no input or attribute.
    """
    told = {name: given[name] for name in SIZE_OPTIONS if name in given}
    if len(told) > 1:
        raise DefinitionError(
            f"{subject}: expected sizes=, which are filled, or bound=, of which a part is, got both; keep one"
        )
    for name, value in told.items():
        if in_source and isinstance(value, str) and value.isidentifier() and value != schema.name:
            continue
        if not callable(value):
            source = ", or the name of one in the source that is not the kernel's own" if in_source else ""
            raise DefinitionError(
                f"{subject}: {name} expected a function of inputs and attributes that gives whole numbers{source}, "
                f"got {value!r}"
            )
        parameters_among(value, (*schema.input_names, *schema.attr_names, *beside), f"{subject}, {name}")
    return {name: SizeFunction(name, value) for name, value in told.items()}

"""Tracing: a function of tensors, run once on Variables, is a Program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import AttributeValueError, ReturnError
from opsdk.core.names import unique_name
from opsdk.core.random import untaken
from opsdk.static.build.building import program_guard
from opsdk.static.build.input import InputSpec
from opsdk.static.ir.program import Program
from opsdk.static.ir.variable import Variable

# Any, in this file: arguments and results of every kind.
_CONTAINERS = (list, tuple, dict)


class Traced:
    """A function as a Program.

    Args:
        program: its calls.
        inputs: the data Variables, in the order of the leaves of the arguments.
        outputs: what the function returned, with Variables for its tensors.

    Attributes:
        names: those of the inputs.
        wanted: those of the Variables among the outputs.
        state: by name of a Variable the tensor of a layer that it stands for.
    """

    def __init__(self, program: Program, inputs: list[Variable], outputs: Any) -> None:
        self.program = program
        self.inputs = inputs
        self.outputs = outputs
        self.names = [variable.name for variable in inputs]
        self.wanted = [leaf.name for leaf in leaves(outputs) if isinstance(leaf, Variable)]
        every = program.global_block().vars.values()
        self.state: dict[str, Tensor] = {v.name: v.held for v in every if v.held is not None}


def trace(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any], subject: str) -> Traced:
    """Runs a function on Variables.

    What draws random numbers draws anew wherever the Program runs; no generator moves meanwhile.

    Args:
        function: of tensors, and whatever else.
        args: an InputSpec wherever it takes a tensor.
        options: the same, by name.
        subject: who traces, for messages.

    Raises:
        ReturnError: it returns something else than tensors, plain values and containers of them.
        ProgramError: it asks for the value of a tensor, at whose line the error says so.
    """
    program, startup = Program(), Program()
    names = iter(argument_names(function, args, options))
    inputs: list[Variable] = []

    def declared(spec: InputSpec) -> Variable:
        block = program.global_block()
        name = block.free_name(spec.name or next(names, unique_name("input")))
        inputs.append(
            block.create_var(name, spec.spec.shape, spec.dtype, stop_gradient=spec.stop_gradient, is_data=True)
        )
        return inputs[-1]

    with program_guard(program, startup), untaken():
        given = mapped([*args], InputSpec, declared)
        named = mapped(dict(options), InputSpec, declared)
        outputs = function(*given, **named)
    for leaf in leaves(outputs):
        if isinstance(leaf, (Tensor, np.ndarray)):
            continue  # what does not depend on the inputs; its value stands in the Program
        if not isinstance(leaf, (Variable, bool, int, float, str)) and leaf is not None:
            raise ReturnError(
                f"{subject}: expected tensors, numbers, texts and None, in lists, tuples and dictionaries, "
                f"{getattr(function, '__qualname__', 'the function')} returned {type(leaf).__name__}"
            )
    block = program.global_block()

    def constant(value: Any) -> Variable:
        held = block.standing_for(value)
        return held if held is not None else block.create_constant(np.asarray(value))

    return Traced(program, inputs, mapped(outputs, (Tensor, np.ndarray), constant))


def argument_names(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
    """Returns what the tensors among the arguments are called: by their parameter, numbered where it has several."""
    try:
        bound = inspect.signature(function).bind(*args, **options)
    except TypeError as error:
        called = getattr(function, "__qualname__", "the function")
        raise AttributeValueError(f"input_spec: expected what {called} takes, {error}") from None
    found: list[str] = []
    for name, value in bound.arguments.items():
        count = len([leaf for leaf in leaves(value) if isinstance(leaf, InputSpec)])
        found += [name] if count == 1 else [f"{name}_{number}" for number in range(count)]
    return found


def leaves(value: Any) -> list[Any]:
    """Returns what lists, tuples and dictionaries in one another hold, in order."""
    if isinstance(value, dict):
        return [leaf for entry in value.values() for leaf in leaves(entry)]
    if isinstance(value, (list, tuple)):
        return [leaf for entry in value for leaf in leaves(entry)]
    return [value]


def mapped(value: Any, kind: type | tuple[type, ...], function: Callable[[Any], Any]) -> Any:
    """Returns the same structure with a function applied to the leaves of a kind."""
    if isinstance(value, kind):
        return function(value)
    if isinstance(value, dict):
        return {key: mapped(entry, kind, function) for key, entry in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[mapped(entry, kind, function) for entry in value])
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(entry, kind, function) for entry in value)
    return value

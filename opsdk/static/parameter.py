"""Persistable variables: parameters and global values, with their initialisation in the startup Program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.names import unique_name
from opsdk.core.spec import as_shape
from opsdk.ops.creation import fill_constant
from opsdk.ops.initializer import Constant, Initializer, ParamAttr, XavierUniform
from opsdk.static.framework import default_main_program, default_startup_program
from opsdk.static.program import Program
from opsdk.static.recording import connect
from opsdk.static.variable import Parameter, Variable


def create_parameter(
    shape: Sequence[int],
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: ParamAttr | None = None,
    is_bias: bool = False,
    default_initializer: Initializer | None = None,
) -> Parameter:
    """Creates a parameter in the main Program and its initialisation in the startup Program.

    Args:
        shape: known sizes.
        dtype: element type.
        name: unique in the Program; a parameter of that name that exists already is shared.
        attr: name, initialiser, learning-rate factor, trainability.
        is_bias: starts at zero where nothing else is said.
        default_initializer: used where `attr` gives none; Xavier uniform unless given.

    Raises:
        ProgramError: a size is unknown, or the name belongs to a variable of another shape or dtype.
    """
    attr = attr or ParamAttr()
    final = attr.name or name or unique_name("create_parameter") + ".w_0"
    block = default_main_program().global_block()
    is_new = not block.has_var(final)
    made = block.create_parameter(
        final,
        shape,
        dtype,
        trainable=attr.trainable,
        learning_rate=attr.learning_rate,
        regularizer=attr.regularizer,
    )
    if is_new:
        initializer = attr.initializer or default_initializer or (Constant(0.0) if is_bias else XavierUniform())
        op, attrs = initializer.op([size for size in made.spec.shape if size is not None], made.dtype)
        initialize(default_startup_program(), made, op, attrs)
    return made


def initialize(startup: Program, variable: Variable, op: Any, attrs: dict[str, Any]) -> None:
    """Appends to a startup Program the creation op (Any: its handle) that gives a persistable variable its value."""
    block = startup.global_block()
    if block.has_var(variable.name):
        return
    twin = block.create_var(variable.name, variable.spec.shape, variable.dtype, persistable=True, stop_gradient=True)
    opdef = op.opdef
    complete = {decl.name: attrs.get(decl.name, decl.default) for decl in opdef.schema.attrs}
    connect(block, opdef, [], [twin], complete, "forward")


def create_global_var(
    shape: Sequence[int],
    value: float,
    dtype: DTypeLike,
    persistable: bool = False,
    force_cpu: bool = False,
    name: str | None = None,
) -> Variable:
    """Creates a variable in the main Program that the startup Program fills with one value.

    Args:
        shape: known sizes.
        value: every element.
        dtype: element type.
        persistable: kept in the Scope between runs.
        force_cpu: accepted for programs written for Paddle; host memory is all there is.
        name: unique in the Program; one is made unless given.
    """
    sizes = [size or 0 for size in as_shape(shape)]
    final = name or unique_name("global_var")
    block = default_main_program().global_block()
    made = block.create_var(final, sizes, dtype, persistable=True, stop_gradient=True)
    attrs = {"shape": tuple(sizes), "value": float(value), "dtype": as_dtype(dtype)}
    initialize(default_startup_program(), made, fill_constant, attrs)
    return made

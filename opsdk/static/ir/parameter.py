"""Persistable variables: parameters and global values, with their initialisation in the startup Program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdk.core.dtype import DTypeLike
from opsdk.core.errors import ProgramError
from opsdk.core.names import unique_name
from opsdk.core.spec import as_shape
from opsdk.define.call import complete_attrs
from opsdk.define.identity.digest import digest_of
from opsdk.ops.creation import constant
from opsdk.ops.initializer import Constant, Initializer, ParamAttr, XavierUniform, as_param_attr
from opsdk.static.build.recording import connect, infer
from opsdk.static.ir.operator import FORWARD
from opsdk.static.ir.program import Program, default_main_program, default_startup_program
from opsdk.static.ir.variable import Parameter, Variable

_SAID = ("initializer", "regularizer", "trainable", "need_clip")


def create_parameter(
    shape: Sequence[int],
    dtype: DTypeLike = "float32",
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Initializer | None = None,
) -> Parameter:
    """Creates a parameter in the main Program and its initialisation in the startup Program.

    Args:
        shape: known sizes.
        dtype: element type.
        name: unique in the Program; a parameter of that name that exists already is shared.
        attr: name, initialiser, learning-rate factor, trainability, as a `ParamAttr`; or an initialiser or a name
            (Any: each of these).
        is_bias: starts at zero where nothing else is said.
        default_initializer: used where `attr` gives none; Xavier uniform unless given.

    Raises:
        ProgramError: a size is unknown, or the name belongs to a variable of another shape or dtype, or to a
            parameter of which something else was said; nothing is created then.
    """
    wanted = as_param_attr(attr, "create_parameter: attr")
    if wanted is None:
        raise ProgramError("create_parameter: attr expected a parameter to be wanted, got False")
    startup = default_startup_program()
    block = default_main_program().global_block()
    final = wanted.name or name or block.free_name(unique_name("create_parameter") + ".w_0")
    held = block.vars.get(final)
    with block.all_or_nothing(), startup.global_block().all_or_nothing():
        made = block.create_parameter(
            final,
            shape,
            dtype,
            trainable=wanted.trainable,
            learning_rate=wanted.learning_rate,
            regularizer=wanted.regularizer,
            need_clip=wanted.need_clip,
        )
        if held is None:
            initializer = wanted.initializer or default_initializer or (Constant(0.0) if is_bias else XavierUniform())
            made.initializer = initializer
            op, attrs = initializer.op([size for size in made.spec.shape if size is not None], made.dtype)
            initialize(startup, made, op, attrs, is_told=wanted.initializer is not None)
        else:
            _check_shared(made, wanted)
    return made


def _check_shared(parameter: Parameter, wanted: ParamAttr) -> None:
    """Checks that who shares a parameter repeats what was said of it, or says nothing.

    Raises:
        ProgramError: something else is said.
    """
    plain = ParamAttr()
    for name, held in {**parameter.optimize_attr, **{name: getattr(parameter, name) for name in _SAID}}.items():
        said = getattr(wanted, name)
        if not any(said == one or digest_of(said) == digest_of(one) for one in (getattr(plain, name), held)):
            raise ProgramError(
                f"parameter {parameter.name!r}: {name} expected {held}, as it was created, or nothing said, since it is"
                f" shared by name, got {said}; give both the same ParamAttr, or two names"
            )


def initialize(startup: Program, variable: Variable, op: Any, attrs: dict[str, Any], *, is_told: bool = False) -> None:
    """Appends to a startup Program the creation op (Any: its handle) that gives a persistable variable its value.

    What the startup Program initialises already, for another main Program, it does not initialise twice.

    Args:
        startup: the Program.
        variable: of the main Program.
        op: what makes the value.
        attrs: those of its call.
        is_told: whether somebody asked for this value, so that another one there is an error.

    Raises:
        ProgramError: it initialises a variable of that name and another shape or dtype, or with another value.
        InputValueError: the op does not take the attributes.
    """
    block = startup.global_block()
    is_new = not block.has_var(variable.name)
    twin = block.create_var(variable.name, variable.spec.shape, variable.dtype, persistable=True, stop_gradient=True)
    if not is_new and not is_told:
        return
    complete = complete_attrs(op.opdef, attrs)
    if is_new:
        infer(op.opdef, [], complete)
        connect(block, op.opdef, [], [twin], complete, FORWARD).repeats = True
        return
    wanted = digest_of(op.opdef.schema.name, {**complete, "seed": None})  # seeds may differ
    for operator in block.ops:
        is_its_own = variable.name in operator.output_arg_names
        if is_its_own and digest_of(operator.type, {**operator.attrs, "seed": None}) != wanted:
            raise ProgramError(
                f"variable {variable.name!r}: expected the first value that another main Program gave it in the same "
                f"startup Program, {operator.type}, got another; use a startup Program or a name of its own"
            )


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
        persistable: accepted for programs written for Paddle; the value is kept in the Scope either way, since the
            main Program could not read it otherwise.
        force_cpu: accepted for programs written for Paddle; host memory is all there is.
        name: unique in the Program; one is made unless given.

    Raises:
        ProgramError: a size is unknown, or the name belongs to a variable of another shape, dtype or kind.
        DTypeError: the dtype does not hold the value.
    """
    sizes = as_shape(shape, "create_global_var: shape")
    if None in sizes:
        given = (shape,) if isinstance(shape, int) else tuple(shape)
        raise ProgramError(f"create_global_var: shape expected known sizes, got {given}")
    startup = default_startup_program()
    block = default_main_program().global_block()
    final = name or block.free_name(unique_name("global_var"))
    with block.all_or_nothing(), startup.global_block().all_or_nothing():
        made = block.create_var(final, sizes, dtype, persistable=True, stop_gradient=True)
        known = [size for size in sizes if size is not None]
        initialize(startup, made, *constant(value, dtype, "create_global_var", known), is_told=True)
    return made

"""Building: what calls mean while a Program is built, in a `program_guard` and after `enable_static`.

A call on a parameter or buffer of a layer is appended, with a Variable that stands for the tensor; what is made of
nothing is a Variable. So a layer's `forward` appends what it computes, and its state is one in both runtimes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opsdk.core.errors import InPlaceError, NameClashError, PlaceError, ProgramError
from opsdk.core.nested import each, flat
from opsdk.core.place import CPU
from opsdk.define.frontend import MAKER, dispatch
from opsdk.define.interceptors import Interceptor, active, switch
from opsdk.define.opdef import OpDef
from opsdk.ops.shape import assign
from opsdk.static.build.frontend import Maker
from opsdk.static.build.recording import connect
from opsdk.static.ir.block import Block
from opsdk.static.ir.operator import FORWARD
from opsdk.static.ir.parameter import initialize
from opsdk.static.ir.program import Program, default_main_program, default_startup_program, defaults_held
from opsdk.static.ir.variable import Parameter, Variable


# Any, in this file: tensors and Variables, lists of them; attribute values.
class _Building(Interceptor):
    """Appends calls on the state of layers to the default main Program."""

    __slots__ = ()

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Hands a call on, with Variables in the place of a layer's tensors; both Programs stay if it raises."""
        values = flat(inputs)
        is_built = any(isinstance(value, Variable) for value in values)
        if not any(map(is_state, values)) or not (is_built or all(map(is_state, filter(_is_tensor, values)))):
            return dispatch(opdef, inputs, attrs)
        changed = [one for i in opdef.schema.mutated_inputs for one in flat(inputs[i]) if is_state(one)]
        if changed and not is_built:
            raise InPlaceError(
                f"{opdef.subject}: expected a Variable beside {changed[0].name!r}, which is a layer's and would be "
                "changed in each run of the Program that is built here, got none; to change it now, do so outside of "
                "program_guard, or by set_value"
            )
        main, startup = default_main_program().global_block(), default_startup_program().global_block()
        with main.all_or_nothing(), startup.all_or_nothing():
            return dispatch(opdef, [each(entry, _stand_in) for entry in inputs], attrs)


class _Making:
    """Makes Variables of the default main Program where something is made of nothing."""

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Appends a call without inputs."""
        return Maker(default_main_program().current_block()).apply(opdef, inputs, attrs)

    def constant(self, array: Any) -> Variable:
        """Returns an array as a constant."""
        return Maker(default_main_program().current_block()).constant(array)


_BUILDING, MAKING = _Building(), _Making()


def is_state(value: Any) -> bool:
    """Whether a value is a tensor that a layer keeps: a parameter or a buffer."""
    return getattr(value, "_is_state", False) is True


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "_is_state")


def _stand_in(value: Any) -> Any:
    return stand_in(value) if is_state(value) else value


def stand_in(tensor: Any) -> Variable:
    """Returns the Variable of the default main Program that stands for a tensor, of a layer as a rule.

    Where it is new, the startup Program gives the tensor the value that it has now.

    Raises:
        ProgramError: the layer was cast since it was made, or a buffer is part of a graph.
        PlaceError: the tensor lives at a device.
        NameClashError: something else of the Program has its name.
    """
    block = default_main_program().global_block()
    known = block.standing_for(tensor)
    subject = f"parameter {tensor.name!r}"
    if known is not None:
        if known.dtype != tensor.dtype:
            raise ProgramError(
                f"{subject}: expected {known.dtype}, as it was when the Program took it in, got {tensor.dtype}; cast "
                "a layer before it is used in a Program"
            )
        return known
    if tensor.place is not CPU:
        raise PlaceError(f"{subject}: expected host memory, where Programs run, got {tensor.place}; use layer.cpu()")
    trained = hasattr(tensor, "optimize_attr")
    if not tensor.is_leaf or not (trained or tensor.stop_gradient):
        raise ProgramError(
            f"{subject}: expected a Parameter, or a buffer that needs no gradient, got one that does; make it a "
            "Parameter, or register its detach()"
        )
    _check_free(block, tensor, subject)
    if trained:
        options = {"regularizer": tensor.regularizer, "need_clip": tensor.need_clip, **tensor.optimize_attr}
        made: Variable = Parameter(
            block, tensor.name, tensor.shape, tensor.dtype, trainable=not tensor.stop_gradient, **options
        )
    else:
        made = Variable(block, tensor.name, tensor.shape, tensor.dtype, persistable=True, stop_gradient=True)
    made.held = tensor
    block.add(made)
    _begin(default_startup_program(), made)
    return made


def _check_free(block: Block, tensor: Any, subject: str) -> None:
    other = block.vars.get(tensor.name)
    if other is not None and other.held is not tensor:
        raise NameClashError(
            f"{subject}: expected a name that is free in the Program, another variable has it; give each parameter a "
            "name of its own"
        )


def _begin(startup: Program, made: Variable) -> None:
    """Has the startup Program give a layer's tensor the value that it has now: by its initializer, else by a copy."""
    block, tensor = startup.global_block(), made.held
    _check_free(block, tensor, f"parameter {made.name!r}")
    if block.has_var(made.name):
        return
    first = getattr(tensor, "_initial", None)
    if first is not None and not tensor._version[0]:  # nothing has changed it since
        initialize(startup, made, *first)
        block.vars[made.name].held = tensor
        return
    spec = made.spec
    twin = Variable(block, made.name, spec.shape, spec.dtype, persistable=True, stop_gradient=True)
    twin.held = tensor
    block.add(twin)
    connect(block, assign.opdef, [block.create_constant(tensor._array)], [twin], {}, FORWARD)


@contextmanager
def program_guard(main_program: Program, startup_program: Program | None = None) -> Iterator[None]:
    """Makes Programs the default ones inside a `with` block, and has calls build them.

    Calls on Variables, and on parameters and buffers of layers beside these or alone, are appended; what is made of
    nothing, as by `opsdk.zeros`, is a Variable. Calls on other tensors run at once.

    Args:
        main_program: takes variables and operators.
        startup_program: takes the initialisation of parameters; the default one unless given.

    Raises:
        ProgramError: an argument is not a Program.
    """
    with defaults_held(main_program, startup_program), MAKER.held(MAKING), _Building():
        yield


def enable_static() -> None:
    """Has calls build the default Programs from here on, as inside of `program_guard`, in this thread or task."""
    switch(_Building, _BUILDING)
    MAKER.change(MAKING)


def disable_static() -> None:
    """Ends what `enable_static` began: calls on parameters run at once, what is made of nothing is a tensor."""
    switch(_Building, None)
    MAKER.change(None)


def in_dynamic_mode() -> bool:
    """Whether calls run at once here: neither inside of `program_guard`, nor after `enable_static`."""
    return not any(isinstance(each, _Building) for each in active())

"""Block: variables by name, and the operators over them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import chain, count
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from opsdk.core.dtype import DTypeLike
from opsdk.core.errors import ProgramError, VariableNotFoundError
from opsdk.core.names import unique_name
from opsdk.core.spec import TensorSpec, as_shape, shape_text
from opsdk.core.suggest import alternatives
from opsdk.define.op import find_op
from opsdk.static.build.recording import append_explicit
from opsdk.static.ir.operator import Operator
from opsdk.static.ir.variable import Parameter, Variable

if TYPE_CHECKING:
    from opsdk.static.ir.program import Program


F = TypeVar("F", bound=Callable[..., Any])


def alone(method: F) -> F:
    """Has a method of a Block wait until no other thread builds the Program."""

    # Any: whatever the method takes.
    @wraps(method)
    def waiting(self: Block, *args: Any, **options: Any) -> Any:
        with self.program.lock:
            return method(self, *args, **options)

    return waiting  # type: ignore[return-value]  # of the method's own signature


class Block:
    """One scope of variables and a sequence of operators."""

    def __init__(self, program: Program, idx: int, parent_idx: int = -1) -> None:
        self.program = program
        self.idx = idx
        self.parent_idx = parent_idx
        self.vars: dict[str, Variable] = {}
        self._standing: dict[int, Variable] = {}  # by id of a layer's tensor, what stands for it
        self.ops: list[Operator] = []

    # -- variables ----------------------------------------------------------------------------------------------------

    @alone
    def create_var(
        self,
        name: str | None = None,
        shape: Sequence[int | None] | None = None,
        dtype: DTypeLike | None = None,
        persistable: bool = False,
        stop_gradient: bool = False,
        is_data: bool = False,
    ) -> Variable:
        """Creates a variable, or returns the one of that name if it agrees.

        Args:
            name: unique in the Program, not empty; one is made unless given.
            shape: sizes, -1 or None for any size; mandatory.
            dtype: element type; mandatory.
            persistable: kept in the Scope between runs.
            stop_gradient: no gradient flows through it, whatever it is made from.
            is_data: `feed` must give it.

        Raises:
            ProgramError: no shape or dtype, or the name belongs to a variable of another shape, dtype or kind.
        """
        if name is not None and (not isinstance(name, str) or not name):
            raise ProgramError(f"create_var: name expected a text that is not empty, got {name!r}")
        if shape is None or dtype is None:
            missing = "shape" if shape is None else "dtype"
            raise ProgramError(
                f"create_var {name!r}: expected a {missing}, got none; a variable needs name, shape and dtype"
            )
        spec = TensorSpec(shape, dtype)
        held = self.vars.get(name) if name is not None else None
        if held is not None:
            self._check_same(held, spec)
            if (held.persistable, held.is_data) != (persistable, is_data):
                raise ProgramError(
                    f"variable {name!r}: expected a free name, got that of a {_kind(held.persistable, held.is_data)} "
                    f"variable for a {_kind(persistable, is_data)} one"
                )
            return held
        made = Variable(
            self,
            name or self.free_name(unique_name("_generated_var")),
            spec.shape,
            spec.dtype,
            persistable=persistable,
            stop_gradient=stop_gradient,
            is_data=is_data,
        )
        made.is_cut = stop_gradient
        return self.add(made)

    @alone
    def create_parameter(self, name: str, shape: Sequence[int | None], dtype: DTypeLike, **options: Any) -> Parameter:
        """Creates a parameter, or returns the one of that name if it agrees: that is how parameters are shared.

        Any: `options` are those of `Parameter`.

        Raises:
            ProgramError: a size is unknown, or the name belongs to a variable of another shape or dtype.
        """
        if None in as_shape(shape):
            given = (shape,) if isinstance(shape, int) else tuple(shape)
            raise ProgramError(f"parameter {name!r}: expected known sizes, got {given}")
        held = self.vars.get(name)
        if held is not None:
            self._check_same(held, TensorSpec(shape, dtype))
            if isinstance(held, Parameter):
                return held
            raise ProgramError(f"parameter {name!r}: expected a free name, got that of a variable")
        made = Parameter(self, name, shape, dtype, **options)
        self.add(made)
        return made

    @alone
    def create_constant(self, array: np.ndarray) -> Variable:
        """Creates a variable that holds a copy of an array: a constant beside Variables."""
        name = self.free_name(unique_name("constant"))
        value = array.copy()
        return self.add(Variable(self, name, value.shape, value.dtype, stop_gradient=True, value=value))

    @alone
    def add(self, variable: Variable) -> Variable:
        """Puts a variable into the block."""
        self.vars[variable.name] = variable
        if variable.held is not None:
            self._standing[id(variable.held)] = variable
        self.program.touch()
        return variable

    def _check_same(self, held: Variable, spec: TensorSpec) -> None:
        if held.spec != spec:
            raise ProgramError(
                f"variable {held.name!r}: expected {held.dtype} {shape_text(held.spec.shape)}, "
                f"as it was created before, got {spec.dtype} {shape_text(spec.shape)}"
            )

    def var(self, name: str) -> Variable:
        """Returns the variable of a name.

        Raises:
            VariableNotFoundError: the block has none.
        """
        if name not in self.vars:
            raise VariableNotFoundError(f"variable {name!r}: not in this block; it has {alternatives(name, self.vars)}")
        return self.vars[name]

    # Any: a tensor of a layer.
    def standing_for(self, tensor: Any) -> Variable | None:
        """Returns the variable that stands for a tensor of a layer, or None."""
        found = self._standing.get(id(tensor))
        return found if found is not None and self.vars.get(found.name) is found else None

    # Any: a Variable, a name, a tensor of a layer, or what a user passed instead.
    def meant(self, entry: Any) -> Any:
        """Returns the variable of a name, or the one that stands for a tensor; whatever else as it is.

        Raises:
            VariableNotFoundError: the block has none.
        """
        found = self.var(entry) if isinstance(entry, str) else self.standing_for(entry)
        return entry if found is None else found

    def has_var(self, name: str) -> bool:
        """Whether the block has a variable of that name."""
        return name in self.vars

    def free_name(self, name: str) -> str:
        """Returns the name, or with `_1`, `_2` … behind it the first that is not taken."""
        names = chain([name], (f"{name}_{number}" for number in count(1)))
        return next(free for free in names if free not in self.vars)

    @alone
    def rename(self, variable: Variable, name: str) -> None:
        """Gives a variable another name, which is free, here and in every operator."""
        old = variable.name
        self.vars = {name if key == old else key: held for key, held in self.vars.items()}
        variable.rename(name)
        for operator in self.ops:
            operator.rename(old, name)
        self.program.touch()

    def all_parameters(self) -> list[Parameter]:
        """Returns the parameters in the order of their creation."""
        return [variable for variable in list(self.vars.values()) if isinstance(variable, Parameter)]

    def iter_parameters(self) -> Iterator[Parameter]:
        """Iterates over the parameters."""
        return iter(self.all_parameters())

    # -- operators ----------------------------------------------------------------------------------------------------

    @alone
    def append_op(
        self,
        type: str,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Operator:
        """Appends a call of a registered op; the Block stays as it was if anything about it is wrong.

        Args:
            type: name of the op.
            inputs: by the schema's names a Variable, its name, or a list of them.
            outputs: the same, for variables that exist already.
            attrs: attributes.

        Raises:
            UnknownOpError: no op has that name.
            VariableNotFoundError: a variable is not in the block.
            ProgramError: an input or output is missing, unknown, or of another shape or dtype than the op gives.
        """
        return append_explicit(self, find_op(type).opdef, inputs or {}, outputs or {}, attrs or {})

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Puts variables and operators back as they were if the `with` block raises; it may only append."""
        with self.program.lock:
            variables, operators = len(self.vars), len(self.ops)
            try:
                yield
            except BaseException:
                for name in {name for operator in self.ops[operators:] for name in operator.freed}:
                    self.vars[name].stop_gradient = True
                for name in list(self.vars)[variables:]:
                    del self.vars[name]
                del self.ops[operators:]
                self.program.touch()
                raise

    @alone
    def insert(self, index: int, operator: Operator) -> None:
        """Puts an operator in at a position."""
        self.ops.insert(index, operator)
        self.program.touch()

    def __repr__(self) -> str:
        return f"<block {self.idx}: {len(self.vars)} variables, {len(self.ops)} operators>"


def _kind(persistable: bool, is_data: bool) -> str:
    return "data" if is_data else "persistable" if persistable else "temporary"

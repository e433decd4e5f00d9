"""Variable: a value of a Program, known by name, shape and dtype before it exists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from opsdk.core.dtype import DTypeLike
from opsdk.core.errors import ProgramError
from opsdk.core.fit import as_bool
from opsdk.core.origin import caller
from opsdk.core.place import as_place
from opsdk.core.spec import TensorSpec, shown_shape
from opsdk.define.infer import normalize_axes
from opsdk.ops.composites.dtype_methods import DtypeMethods
from opsdk.ops.methods import ValueMethods
from opsdk.ops.numpy_protocol import Obstacle
from opsdk.ops.shape import detach

if TYPE_CHECKING:
    from opsdk.static.ir.block import Block


# Any: a method of whatever arguments and result, which it never comes to.
def _refused(wanted: str, instead: str = "") -> Any:
    """Returns a method that refuses what would need a value."""

    def refused(self: Variable, *_: Any, **__: Any) -> NoReturn:
        raise ProgramError(
            f"variable {self.name!r}: expected {wanted}, but it has no value before an Executor runs the Program; "
            f"{instead}fetch it with exe.run(program, feed=..., fetch_list=[...])",
            at=str(caller()),
        )

    return refused


# What tensors have, and what does that in a Program.
_OF_TENSORS = {
    "backward": "optimizer.minimize(loss) or static.append_backward(loss) adds it to the Program",
    "grad": "static.gradients(loss, x) gives its Variable",
    "item": "fetch it: exe.run(program, feed=..., fetch_list=[...])",
    "register_hook": "static.gradients(loss, x) gives the gradient, to go on with",
}
_OF_TENSORS |= dict.fromkeys(("cpu", "cuda"), "the Executor's place is where a Program runs")


class Variable(DtypeMethods, ValueMethods):
    """One value of a Block. It has no elements until an Executor runs the Program.

    Compared with `==` it gives another Variable, as arrays do; who it is, `is` tells.

    Args:
        block: where it lives.
        name: unique in its Program.
        shape: sizes; -1 or None for any size.
        dtype: element type.
        persistable: kept in the Scope between runs.
        stop_gradient: no gradient flows through it.
        is_data: a value that `feed` must give.
        value: the elements of a constant.

    Attributes:
        held: the tensor of a layer that it stands for, whose values it has in the Scope of the process; or None.
    """

    def __init__(
        self,
        block: Block,
        name: str,
        shape: Sequence[int | None],
        dtype: DTypeLike,
        *,
        persistable: bool = False,
        stop_gradient: bool = False,
        is_data: bool = False,
        value: np.ndarray | None = None,
    ) -> None:
        self.block = block
        self._name = name
        self.spec = TensorSpec(shape, dtype)
        self._persistable = persistable
        self.is_data = is_data
        self.value = value
        self.held: Any = None  # Any: a tensor, of the other runtime
        self.is_cut = False  # whether a user stopped the gradient here, which no request for gradients overrides
        self._stop_gradient = as_bool(stop_gradient, f"variable {name!r}: stop_gradient")

    @property
    def name(self) -> str:
        """The name by which its Program knows it."""
        return self._name

    def rename(self, name: str) -> None:
        """Takes another name, as its block does, which tells all who know the old one."""
        self._name = name

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes; one that is known only at run time prints as -1, equals -1, and refuses to be computed with.

        `spec.shape` has None there.
        """
        return shown_shape(self.spec.shape, self)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.spec.ndim

    @property
    def persistable(self) -> bool:
        """Whether the value is kept in the Scope between runs."""
        return self._persistable

    @persistable.setter
    def persistable(self, value: bool) -> None:
        self._persistable = bool(value)
        self.block.program.touch()

    @property
    def stop_gradient(self) -> bool:
        """Whether no gradient flows through this value."""
        return self._stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        self._stop_gradient = as_bool(value, f"variable {self.name!r}: stop_gradient")
        self.is_cut = bool(value)

    def mark_stop(self, value: bool) -> None:
        """Sets `stop_gradient` as it follows from the inputs, not as a user's wish."""
        self._stop_gradient = value

    def detach(self) -> Any:
        """Returns the same value, of the same memory, that no gradient flows through."""
        view = detach(self)
        view.stop_gradient = True
        return view

    __bool__ = _refused(
        "a truth value",
        "choose with opsdk.where(condition, x, y), branch or loop with static.nn.cond and while_loop, or ",
    )
    __len__ = _refused("a length")
    __iter__ = _refused("elements to iterate over")
    __float__ = __int__ = _refused("a number")
    __array__ = _refused("an array", "call an op, such as opsdk.exp(x), or ")

    def _numpy_obstacle(self) -> Obstacle | None:
        return Obstacle(
            f"variable {self.name!r} has no value before an Executor runs the Program",
            "use the ops of opsdk, such as opsdk.exp and opsdk.where, or define one",
            has_values=False,
        )

    def numpy(self) -> np.ndarray:
        """Raises: a Program's value exists only while an Executor runs it.

        Raises:
            ProgramError: always.
        """
        made: np.ndarray = _refused("an array")(self)
        return made

    def size(self, dim: int | None = None) -> Any:
        """Returns the shape, or the size of an axis, which a run may have to tell.

        Raises:
            AxisError: the axis lies outside.
        """
        return self.shape if dim is None else self.shape[normalize_axes([dim], self.ndim, "size")[0]]

    # Any: dtypes, or values whose dtype is meant; the same value, or another Variable.
    def to(self, *wanted: Any, dtype: DTypeLike | None = None) -> Any:
        """Returns the value in a dtype, or that of another value. Differentiable between floats.

        Raises:
            ProgramError: a place is asked for, which is the Executor's to say.
        """
        for each in wanted:
            if as_place(each) is not None:
                raise ProgramError(
                    f"variable {self.name!r}: to: expected a dtype, got place {each!r}; a Program runs where its "
                    "Executor is: static.Executor(opsdk.CUDAPlace(0))"
                )
            dtype = each if isinstance(each, (str, type, np.dtype)) else each.dtype
        return self if dtype is None else self._in_dtype(dtype)

    def __getattr__(self, name: str) -> Any:
        """Returns a method that refuses what would change a tensor in place."""
        if name in _OF_TENSORS:
            raise AttributeError(
                f"variable {self.__dict__.get('_name')!r}: .{name} is of tensors, this is a value of a Program; "
                f"{_OF_TENSORS[name]}"
            )
        base = name[:-1]
        if not name.endswith("_") or name.startswith("_") or not hasattr(ValueMethods, base):
            raise AttributeError(f"a Variable has no attribute {name!r}", name=name, obj=self)

        def refused(*_: Any, **__: Any) -> NoReturn:
            raise ProgramError(
                f"variable {self.name!r}: {name}: expected a tensor, whose memory can change; of a value of a Program "
                f"write x = x.{base}(...)"
            )

        return refused

    __hash__ = object.__hash__

    def to_string(self) -> str:
        """Returns the line that a printed Program shows."""
        kind = "persist trainable param" if isinstance(self, Parameter) and self.trainable else "var"
        if kind == "var" and self.persistable:
            kind = "persist var"
        if self.value is not None:
            kind = "const var"
        return (
            f"{kind} {self.name} : DENSE_TENSOR.shape{self.shape}.dtype({self.dtype})"
            f".stop_gradient({self.stop_gradient})"
        )

    __repr__ = to_string
    __str__ = to_string


class Parameter(Variable):
    """A persistable Variable that training changes.

    Args:
        block, name, shape, dtype: as for any Variable; all sizes are known.
        trainable: False keeps `minimize` from updating it; it is the opposite of `stop_gradient`.
        learning_rate: factor on the optimizer's learning rate.
        regularizer: a weight decay that takes the place of the optimizer's.
        need_clip: whether gradient clipping counts it.
    """

    def __init__(
        self,
        block: Block,
        name: str,
        shape: Sequence[int | None],
        dtype: DTypeLike,
        *,
        trainable: bool = True,
        learning_rate: float = 1.0,
        regularizer: Any = None,  # Any: a weight decay of the optimizer's kinds
        need_clip: bool = True,
    ) -> None:
        super().__init__(block, name, shape, dtype, persistable=True)
        self._stop_gradient = not as_bool(trainable, f"parameter {name!r}: trainable")
        self.optimize_attr = {"learning_rate": learning_rate}
        self.regularizer = regularizer
        self.need_clip = need_clip
        self.initializer: Any = None  # Any: an Initializer; what its first values are by, where it has some

    @property
    def trainable(self) -> bool:
        """Whether `minimize` updates it."""
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self.stop_gradient = not as_bool(value, f"parameter {self.name!r}: trainable")

"""Tensor: the dynamic value, an array with a place in the tape."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from opsdk.autograd.accumulate import LOCK, ZERO, accumulate
from opsdk.autograd.conversions import Conversions
from opsdk.autograd.engine import ArrayAlgebra, edge_of, run_backward, seed_of
from opsdk.autograd.hooks import Hook, HookHandle, Hooks, Retain
from opsdk.autograd.in_place import InPlaceMethods
from opsdk.autograd.node import GradNode
from opsdk.autograd.views import share
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import AttributeValueError, DTypeError, GraphError, ShapeError
from opsdk.core.fast import FAST
from opsdk.core.fit import as_bool
from opsdk.core.modes import is_grad_enabled
from opsdk.core.names import unique_name
from opsdk.core.origin import trimmed
from opsdk.core.place import CPU, Place
from opsdk.core.spec import SizeList
from opsdk.core.spellings import ELSEWHERE, Absent
from opsdk.define.infer import normalize_axes
from opsdk.ops.methods import ValueMethods
from opsdk.ops.numpy_protocol import Obstacle, check_leaves, tell_leaving

PRINTING: dict[str, Any] = {"precision": 8}  # any: numbers that NumPy's printing takes


class Count(int):
    """A number of elements that gives the sizes behind it when it is called."""

    shape: tuple[int, ...]

    def __new__(cls, shape: Sequence[int]) -> Count:
        """Returns the number of elements of a shape."""
        made = super().__new__(cls, math.prod(shape))
        made.shape = tuple(shape)
        return made

    # Any: a list of sizes, or one.
    def __call__(self, dim: int | None = None) -> Any:
        """Returns the shape, or the size of an axis.

        Raises:
            AxisError: the axis lies outside.
        """
        return list(self.shape) if dim is None else self.shape[normalize_axes([dim], len(self.shape), "size")[0]]


_ARRAY = np.ndarray


def _is_wrong(array: object) -> bool:
    """Whether something is no array of any memory; None stands for values that are yet to come."""
    return isinstance(array, Tensor) or not (array is None or hasattr(array, "dtype"))


class Tensor(InPlaceMethods, Conversions, ValueMethods):
    """An n-dimensional array that the tape can follow.

    Made by `opsdk.to_tensor`, which checks and copies what it is given, and by ops. The class itself takes a plain
    array of this machine's byte order as it is and looks at nothing, since every call of an op makes one.
    `stop_gradient` is True unless a gradient was asked for; `grad` holds what `backward` accumulated. Arithmetic,
    comparison, indexing and the methods of `ValueMethods` are ops. `InPlaceMethods` change the values.
    """

    __slots__ = ()
    persistable = False
    _is_state = False  # whether a layer keeps it: a parameter or a buffer, which Programs take in
    _initial: tuple[Any, dict[str, Any]] | None = None  # what made its first values: an op (any) and its attributes
    _name: str | None = None
    _algebra: ClassVar[ArrayAlgebra]  # how a backward from here computes

    def __init__(self, array: np.ndarray, stop_gradient: bool = True, edge: tuple[GradNode, int] | None = None) -> None:
        if array.__class__ is not _ARRAY and _is_wrong(array):
            raise DTypeError(
                f"Tensor: expected an array, whose memory the tensor shares, got {type(array).__name__}; opsdk.tensor "
                "and opsdk.to_tensor make one of numbers, lists and tensors, opsdk.empty(2, 3) one of sizes"
            )
        self._array = array
        self._stop = stop_gradient
        self._edge = edge  # the node that made this tensor and the output that it is; None for a leaf
        self._version = [0]
        self._grad: Any = None  # any: a tensor, None, or ZERO
        self._hooks: Hooks | None = None

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> list[int]:
        """Sizes, as a list; a tuple of the same sizes is equal to it."""
        return SizeList(self._array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._array.ndim

    @property
    def size(self) -> Count:
        """Number of elements; called, as in PyTorch, the shape, or the size of one axis."""
        return Count(self._array.shape)

    def __format__(self, form: str) -> str:
        """Returns the text of a tensor, or with a format that of its one element.

        Raises:
            ShapeError: a format is given, and the elements are several.
        """
        return format(self.item(), form) if form else str(self)

    @property
    def place(self) -> Place:
        """Where the array lives."""
        return CPU

    @property
    def name(self) -> str:
        """The tensor's name; one is made when it is first asked for."""
        if self._name is None:
            self._name = unique_name("generated_tensor")
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made this tensor."""
        return self._edge is None

    @property
    def stop_gradient(self) -> bool:
        """Whether no gradient is asked for. Setting anything but True or False is refused."""
        return self._stop

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        self._stop = as_bool(value, "tensor: stop_gradient")

    @property
    def requires_grad(self) -> bool:
        """The opposite of `stop_gradient`, in PyTorch's words."""
        return not self.stop_gradient

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.stop_gradient = not as_bool(value, "tensor: requires_grad")

    @property
    def inplace_version(self) -> int:
        """How often the tensor was changed in place."""
        return self._version[0]

    # -- values -------------------------------------------------------------------------------------------------------

    def numpy(self) -> np.ndarray:
        """Returns a copy of the values, outside of the graph; changing it does not change the tensor."""
        return self._array.copy()

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray:
        """Returns the values for NumPy: a read-only view, or a copy where one is asked for or a dtype differs.

        Where the tensor needs a gradient that is not explicit enough, since NumPy asks so for a list of tensors too:
        `numpy()`, `detach()` and `opsdk.no_grad()` are.

        Raises:
            NotRecordedError: the tensor needs a gradient, and recording is on.
        """
        check_leaves(self)
        if copy or (dtype is not None and dtype != self._array.dtype):
            return self._array.astype(dtype or self._array.dtype)
        view = self._array.view()
        view.flags.writeable = False
        return view

    def _values(self) -> np.ndarray:
        return np.asarray(self.detach())

    def _numpy_obstacle(self) -> Obstacle | None:
        if self.stop_gradient or not is_grad_enabled():
            return None
        called = f"tensor {self._name!r}" if self._name else "a tensor"
        return Obstacle(
            f"{called} of shape {tuple(self._array.shape)} needs a gradient", "use x.detach().numpy(), or define an op"
        )

    def item(self) -> Any:
        """Returns the one element as a Python number (any of int, float, bool, complex).

        Raises:
            ShapeError: the tensor has not exactly one element.
        """
        if self._array.size != 1:
            raise ShapeError(f"item: expected a tensor of one element, got shape {self._array.shape}")
        return self._array.item()

    def tolist(self) -> Any:
        """Returns the values as nested lists of Python numbers."""
        return self._array.tolist()

    def __float__(self) -> float:
        tell_leaving(self)
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        if self._array.size != 1:
            raise ShapeError(
                f"bool: expected a tensor of one element, got shape {self._array.shape}; x.any() and x.all() tell of "
                "several; where Python's max, min or sorted asked, write x.max(), x.min() or x.sort(), or of two "
                "values opsdk.maximum and opsdk.minimum, element by element"
            )
        return bool(self.item())

    def __len__(self) -> int:
        if not self._array.ndim:
            raise ShapeError("len: expected a tensor of at least one dimension, got a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        prefix = " " * 7
        values = np.array2string(self._array, prefix=prefix, separator=", ", **PRINTING)
        return (
            f"Tensor(shape={list(self._array.shape)}, dtype={self._array.dtype}, place={self.place}, "
            f"stop_gradient={self.stop_gradient},\n{prefix}{values})"
        )

    # -- its memory ---------------------------------------------------------------------------------------------------

    def detach(self) -> Tensor:
        """Returns a tensor of the same memory that the tape does not follow."""
        view = self._beside(self._array)
        share(self, view, is_detached=True)
        return view

    @property
    def data(self) -> Tensor:
        """The same memory outside of the tape: changing it needs no `no_grad`. What it is set to is copied here."""
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        own = self.shape, self.dtype, self.place
        if not isinstance(value, Tensor) or (value.shape, value.dtype, value.place) != own:
            got = f"{value.dtype} {value.shape} at {value.place}" if isinstance(value, Tensor) else type(value).__name__
            raise AttributeValueError(
                f"data: expected a tensor of {self.dtype} {self.shape} at {self.place}, got {got}; another shape, "
                "dtype or place needs another tensor, or layer.to(place, dtype)"
            )
        self.set_value(value.detach())

    # -- gradients ----------------------------------------------------------------------------------------------------

    @property
    def grad(self) -> Tensor | None:
        """What `backward` accumulated, of this shape and dtype; None before the first, zeros after `clear_grad`.

        A later backward, `clear_grad` or assignment puts another tensor there; one that was looked at stays as it is.
        Assigning one of another shape or dtype raises ShapeError or DTypeError.
        """
        if self._grad is ZERO:
            with LOCK:
                if self._grad is ZERO:
                    self._grad = self._beside(np.zeros_like(self._array))
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            array: Any = getattr(value, "_array", None)
            if array.__class__ is not self._array.__class__:
                where = f" at {value.place}" if isinstance(value, Tensor) else ", make one with opsdk.to_tensor"
                raise DTypeError(f"grad: expected a tensor at {self.place} or None, got {type(value).__name__}{where}")
            if array.shape != self._array.shape:
                raise ShapeError(f"grad: expected shape {self._array.shape} like the tensor, got {array.shape}")
            if array.dtype != self._array.dtype:
                raise DTypeError(f"grad: expected dtype {self._array.dtype} like the tensor, got {array.dtype}")
        self._grad = value

    def backward(self, grad_tensor: Tensor | None = None, retain_graph: bool = False) -> None:
        """Adds the gradient of this tensor to `grad` of every leaf that it depends on.

        Args:
            grad_tensor: the cotangent to start from, of this shape and dtype; ones unless given.
            retain_graph: keeps what was saved, so that backward can run again.

        Raises:
            GraphError: nothing was recorded for this tensor, or its graph was freed.
            ShapeError: `grad_tensor` has another shape.
            GradientMissingError: an op on the way has no backward.
            VersionError: a saved value was changed in place.
        """
        try:
            if FAST is None:
                run_backward((edge_of(self),), (seed_of(self, grad_tensor),), self._algebra, retain_graph)
                return
            left = FAST.backward(self, grad_tensor, retain_graph)
            if left is not None:  # the fast path ends somewhere on the way
                edge, gradient, visited = left
                run_backward((edge,), (gradient,), self._algebra, retain_graph, visited)
        except Exception as error:
            raise trimmed(error)  # noqa: B904 - the same error, without the frames below the user's

    def register_hook(self, hook: Hook) -> HookHandle:
        """Registers a function that sees this tensor's gradient once per backward, when it is complete.

        Args:
            hook: takes the gradient; returns None to keep it, or a tensor of the same shape and dtype to replace it.

        Returns:
            A handle whose `remove()` takes the hook off.

        Raises:
            GraphError: the tensor needs no gradient.
            HookError: the hook is not callable.
        """
        if self.stop_gradient:
            raise GraphError("register_hook: expected a tensor that needs a gradient, got one with stop_gradient=True")
        with LOCK:
            if self._edge is None:
                self._hooks = self._hooks or Hooks()
                hooks = self._hooks
            else:
                node, index = self._edge
                node.hooks = {} if node.hooks is None else node.hooks
                hooks = node.hooks.setdefault(index, Hooks())
        return hooks.add(hook)

    def retain_grads(self) -> None:
        """Keeps the gradient of an interior tensor in `grad`, as it is after the hooks registered so far."""
        if self._edge is None:
            return
        self.register_hook(Retain(self))

    def accumulate(self, grad: Tensor) -> None:
        """Adds a gradient to `grad`, in new memory.

        Args:
            grad: of this shape and dtype.
        """
        accumulate({0: (self, grad._array)}, self._beside)

    def _beside(self, array: Any) -> Tensor:
        """Returns an array of this tensor's place as a tensor."""
        return Tensor(array)

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Sets `grad` to zeros, or to None."""
        self._grad = ZERO if set_to_zero and self._grad is not None else None

    clear_grad = clear_gradient

    def gradient(self) -> np.ndarray | None:
        """Returns a copy of `grad` as an array, or None."""
        grad = self.grad
        return None if grad is None else grad.numpy()


for _name in ELSEWHERE["opsdk.Tensor"]:
    setattr(Tensor, _name, Absent("opsdk.Tensor", _name))


def needs_float(tensor: Tensor, subject: str) -> None:
    """Checks that a tensor's dtype can carry a gradient.

    Raises:
        AttributeValueError: it is an integer or bool tensor.
    """
    if not is_differentiable(tensor._array.dtype):
        raise AttributeValueError(f"{subject}: stop_gradient=False expected a float dtype, got {tensor._array.dtype}")

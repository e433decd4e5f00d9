"""vmap: a function of one example, run over a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opsdk.autograd.derivatives import apart, grad
from opsdk.autograd.tensor import Tensor
from opsdk.autograd.transform.batch_rules import RULES, Unruled, aligned
from opsdk.autograd.transform.forward_mode import is_elementwise
from opsdk.autograd.transform.leveled import Leveled, Transform, body_of
from opsdk.core.errors import AttributeValueError, GraphError
from opsdk.core.nested import flat
from opsdk.core.origin import warn
from opsdk.core.random import Draw, next_seed
from opsdk.core.random import drawn as random_drawn
from opsdk.define.frontend import dispatch
from opsdk.define.opdef import OpDef
from opsdk.ops.functions import expand, stack, transpose

RANDOMNESS = ("error", "different", "same")


# Any, in this file: the values of a call; arguments of a function, in lists, tuples and dicts.
class Batched(Leveled):
    """A tensor for each example; the first axis of what stands for it is that of the batch."""

    __slots__ = ()

    def _sizes(self) -> tuple[int, ...]:
        return tuple(self._value.shape)[1:]


class Batching(Transform):
    """A run of `vmap`.

    An expression batches by itself, a composite by the ops that it is made of, others by a rule (`batch_rules`); what
    has none runs example by example, with a notice.

    Args:
        size: how many examples there are.
        randomness: what a call that draws does: `error`, `different` numbers for each example, or the `same`.
    """

    name = "vmap"
    spreads = True

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__()
        self.size, self._randomness = size, randomness

    def serve(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Returns what a call gives for each example.

        Raises:
            GraphError: the op draws, and nobody said how.
        """
        if opdef.is_composite:
            with self:
                return body_of(opdef, inputs, attrs)
        drawn = [*opdef.schema.generators, *[decl.name for decl in opdef.schema.attrs if decl.type.is_random]]
        seeds = {name: attrs.get(name) or next_seed() for name in drawn}
        if drawn and self._randomness == "error":
            raise GraphError(
                f"{opdef.subject}: expected no random numbers inside of vmap, it draws some; say "
                "randomness='different' for others in each example, or 'same'"
            )

        def one(i: int, *given: Any) -> Any:
            is_same = self._randomness == "same"
            own = {name: Draw(seed if is_same else random_drawn(seed, i)) for name, seed in seeds.items()}
            return dispatch(opdef, given, {**attrs, **own})

        if drawn and self._randomness == "same":
            return self._looped(one, inputs)
        values, flags = self.beneath(inputs), [any(map(self.owns, flat(value))) for value in inputs]
        try:
            if is_elementwise(opdef):
                made = dispatch(opdef, aligned(values, flags), attrs)
            elif opdef.name in RULES:
                made = RULES[opdef.name](opdef, self._whole(inputs, values, flags), flags, dict(attrs))
            else:
                raise Unruled
        except Unruled:
            warn(f"vmap: {opdef.subject} has no rule for this batch and runs example by example")
            return self._looped(one, inputs)
        return self._each(made, self._batched)

    def serve_function(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Returns what a PyLayer gives for each example, one by one."""
        warn("vmap: a PyLayer has no rule for a batch and runs example by example")
        return self._looped(lambda i, *given: function(*given), args)

    def _whole(self, inputs: Sequence[Any], values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
        """Returns values where all tensors of a list with one example have the axis of the batch."""
        made = []
        for value, given, is_batched in zip(values, inputs, flags, strict=True):
            is_list = isinstance(given, (list, tuple))
            made.append([self.spread(item)._value for item in given] if is_list and is_batched else value)
        return made

    def spread(self, value: Any) -> Any:
        """Returns a value for each example: itself, or the same for all."""
        if self.owns(value):
            return value
        return self._batched(expand(value, [self.size, *value.shape]))

    def _batched(self, value: Any) -> Any:
        return value if value is None else Batched(self, value)

    def _looped(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        def at(value: Any, i: int) -> Any:
            return self._each(value, lambda item: item._value[i] if self.owns(item) else item)

        return self._joined([function(i, *at(list(args), i)) for i in range(self.size)])

    def _joined(self, made: Sequence[Any]) -> Any:
        first = made[0]
        if isinstance(first, (list, tuple)):
            return type(first)([self._joined(items) for items in zip(*made, strict=True)])
        return self._batched(stack(list(made))) if isinstance(first, Tensor) else first

    def _each(self, value: Any, function: Callable[[Any], Any]) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)([self._each(item, function) for item in value])
        return function(value)

    def detached(self, value: Any) -> Tensor:
        """Returns a value outside of the graph."""
        return Batched(self, value._value.detach())

    def apart(self, value: Any, is_recorded: bool) -> Tensor:
        """Returns a value as a leaf for each example."""
        return Batched(self, apart(self.spread(value)._value, is_recorded))

    def grad(
        self, outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], **options: Any
    ) -> list[Any]:
        """Returns the gradients of each example.

        Raises:
            GraphError: of a tensor that all examples share, whose gradient would be their sum.
        """
        if not all(map(self.owns, inputs)):
            raise GraphError(
                "vmap: expected gradients with respect to values of each example, got a tensor that all share; take "
                "them by vjp of a function of it, which gives one for each"
            )
        ends = [self.spread(value)._value for value in outputs]
        seeds = [None if value is None else self.spread(value)._value for value in cotangents]
        found = grad(ends, [value._value for value in inputs], seeds, **options)
        return [self._batched(value) for value in found]


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error"
) -> Callable[..., Any]:
    """Returns a function of a batch that does for each example what a function of one does.

    Inside, a tensor has the shape of one example. Differentiable, from outside and from inside: a gradient that is
    taken there (`vjp`) is one for each example. Ops that are expressions, and composites, batch by themselves, many
    others by a rule; one without runs example by example, and a warning says so. It nests.

    Args:
        func: takes tensors of one example, alone or in lists, tuples and dicts; returns tensors in the same ways.
        in_dims: the axis of the batch in each argument, None where all examples share it; one for all, or a tuple with
            one, or a list, tuple or dict of some, for each argument.
        out_dims: the axis of the batch in each result; one, or a tuple.
        randomness: `error`, `different` or `same`: what a call that draws random numbers does.

    Raises:
        AttributeValueError: `randomness` is something else.
        GraphError: in a call, the arguments have no batch, or batches of different sizes; something draws, and nobody
            said how; a value is read.
        InPlaceError: in a call, a value is changed in place.

    Example:
        >>> from opsdk.autograd.creation import to_tensor
        >>> vmap(lambda x, y: (x * y).sum())(to_tensor([[1.0, 2.0], [3.0, 4.0]]), to_tensor([[1.0, 1.0], [10.0, 1.0]]))
        Tensor(shape=[2], dtype=float32, place=Place(cpu), stop_gradient=True,
               [ 3., 34.])
    """
    if randomness not in RANDOMNESS:
        raise AttributeValueError(f"vmap: randomness expected one of {', '.join(RANDOMNESS)}, got {randomness!r}")

    def batched(*args: Any) -> Any:
        dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        if len(dims) != len(args):
            raise GraphError(f"vmap: expected in_dims for each of the {len(args)} arguments, got {len(dims)}")
        sizes = [size for value, dim in zip(args, dims, strict=True) for size in _sizes(value, dim)]
        if not sizes or len({*sizes}) > 1 or not sizes[0]:
            raise GraphError(
                f"vmap: expected arguments with a batch of one size, at least 1, got {sorted({*sizes}) or 'none'}"
            )
        run = Batching(sizes[0], randomness)
        entering = [_entering(run, value, dim) for value, dim in zip(args, dims, strict=True)]
        with run:
            made = func(*entering)
        return _leaving(run, made, out_dims)

    return batched


def _sizes(value: Any, dim: Any) -> list[int]:
    """Returns the sizes of the batch that an argument has.

    Raises:
        GraphError: it has no such axis.
    """
    if isinstance(value, (list, tuple, dict)):
        return [size for item, its in _items(value, dim) for size in _sizes(item, its)]
    if dim is None:
        return []
    if not isinstance(value, Tensor) or not -value.ndim <= dim < value.ndim:
        got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise GraphError(f"vmap: expected a tensor with axis {dim}, by in_dims, got {got}; None is for what all share")
    return [value.shape[dim]]


def _items(value: Any, dim: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return [(item, dim[key] if isinstance(dim, dict) else dim) for key, item in value.items()]
    return [(item, dim[i] if isinstance(dim, (list, tuple)) else dim) for i, item in enumerate(value)]


def _entering(run: Batching, value: Any, dim: Any) -> Any:
    if isinstance(value, (list, tuple, dict)):
        items = [_entering(run, item, its) for item, its in _items(value, dim)]
        if isinstance(value, dict):
            return dict(zip(value, items, strict=True))
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value if dim is None else Batched(run, _moved(value, dim % value.ndim, 0))


def _leaving(run: Batching, made: Any, dims: Any) -> Any:
    """Returns results with the axis of the batch.

    Raises:
        GraphError: one is no tensor.
    """
    if isinstance(made, (list, tuple, dict)):
        items = [_leaving(run, item, its) for item, its in _items(made, dims)]
        return dict(zip(made, items, strict=True)) if isinstance(made, dict) else type(made)(items)
    if not isinstance(made, Tensor):
        raise GraphError(f"vmap: expected the function to return tensors, got {type(made).__name__}")
    value = run.spread(made)._value
    return _moved(value, 0, dims % value.ndim)


def _moved(value: Tensor, source: int, target: int) -> Tensor:
    if source == target:
        return value
    perm = [axis for axis in range(value.ndim) if axis != source]
    perm.insert(target, source)
    moved: Tensor = transpose(value, perm)
    return moved

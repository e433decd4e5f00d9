"""saved_tensors_hooks: what is kept for a backward goes through two functions; recompute: it is computed twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

from opsdk.autograd.modes.seen import new_nodes, number, pack_saved
from opsdk.autograd.tensor import Tensor
from opsdk.autograd.tensor_state import BEFORE_CHANGE
from opsdk.backends.call.normalise import shares
from opsdk.core.current import Current
from opsdk.core.errors import GraphError, HookError, InPlaceError, VersionError
from opsdk.core.modes import GradMode, is_grad_enabled
from opsdk.core.nested import flat
from opsdk.core.origin import trimming
from opsdk.core.random import recorded, replayed
from opsdk.define.frontend import dispatch
from opsdk.define.interceptors import Interceptor, restored, stack
from opsdk.define.opdef import OpDef

_IS_TAKEN: Current[bool] = Current("saved tensors", False)  # whether hooks further inside have what a call saves


# Any, in this file: the values and arguments of calls, and what hooks make of tensors.
class saved_tensors_hooks(Interceptor):
    """Has each tensor that calls keep for their backward packed, and unpacked when the backward needs it.

    Inside of `with`, or in what it decorates; of several the innermost is asked. A tensor that is changed in place
    after it was packed is an error in the backward, as without hooks.

    Args:
        pack_hook: takes a tensor, and gives whatever is to be kept, as a path or an array.
        unpack_hook: takes that, and gives a tensor of the same values, shape, dtype and place.

    Raises:
        HookError: one of them is not callable; later, unpack gives something else.

    Example:
        >>> from opsdk.autograd.creation import to_tensor
        >>> x = to_tensor([3.0], stop_gradient=False)
        >>> with saved_tensors_hooks(lambda tensor: tensor.numpy(), to_tensor):
        ...     y = x.exp()
        >>> y.backward()
        >>> x.grad.numpy().round(3)
        array([20.086], dtype=float32)
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Any]) -> None:
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise HookError(f"saved_tensors_hooks: {name} expected a callable, got {type(hook).__name__}")
        self._hooks = pack_hook, unpack_hook

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Packs what a call saved."""
        return self.function(dispatch, (opdef, inputs, attrs))

    def function(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Packs what a call saved."""
        if _IS_TAKEN.get():
            return function(*args)
        start = number()
        with _IS_TAKEN.held(True):
            made = function(*args)
            for node in new_nodes(made, start):
                pack_saved(node, *self._hooks)
        return made


class _Run:
    """One run of a function of which nothing is kept for the backward but its arguments."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._call = function, args, kwargs
        self._given = [*_tensors(args), *_tensors(kwargs)]
        self._versions = [tensor._version[0] for tensor in self._given]
        self._stack = stack()
        self._draws: list[int] | None = None
        self._saved: list[tuple[Any, Any]] = []  # shape and dtype of each tensor that was not kept
        self._made: dict[int, Tensor] = {}
        self._state: list[tuple[Any, Any]] = []  # what it changed in place: tensor, by weak reference, values before
        self._known: set[int] = set()

    def first(self, keeps_draws: bool) -> Any:
        """Returns what the function gives, and forgets what it saves."""
        function, args, kwargs = self._call
        self._draws = [] if keeps_draws else None
        noting = _noted(BEFORE_CHANGE.get(), self._note)
        with recorded(self._draws), saved_tensors_hooks(self._forget, self._again), BEFORE_CHANGE.held(noting):
            made = function(*args, **kwargs)
        self._state = [(held, before) for held, before in self._state if _is_state(held())]
        if self._changed():
            raise InPlaceError(
                "recompute: expected a function that leaves its arguments as they are, since it runs twice, it changed "
                f"tensor {self._changed()[0]} among them in place; change a clone()"
            )
        return made

    def _note(self, tensor: Tensor) -> None:
        if id(tensor) not in self._known and tensor._edge is None:
            self._known.add(id(tensor))
            self._state.append((ref(tensor), tensor._array.copy()))

    @contextmanager
    def _state_before(self) -> Iterator[list[Tensor]]:
        """Puts back, for a second run, the state that the first one moved; it moves once, and is as it was after."""
        held = [(tensor, before) for at, before in self._state if (tensor := at()) is not None]
        now = [(tensor, tensor._array.copy(), tensor._version[0]) for tensor, _ in held]
        for tensor, before in held:
            tensor._array[...] = before
        try:
            yield [tensor for tensor, _ in held]
        finally:
            for tensor, values, version in now:
                tensor._array[...] = values
                tensor._version[0] = version

    def _changed(self) -> list[int]:
        return [i for i, (t, v) in enumerate(zip(self._given, self._versions, strict=True)) if t._version[0] != v]

    def _forget(self, tensor: Tensor) -> int:
        self._saved.append((tensor._array.shape, tensor._array.dtype))
        return len(self._saved) - 1

    def _again(self, i: int) -> Tensor:
        if i not in self._made:
            self._compute()
        return self._made.pop(i)

    def _compute(self) -> None:
        if self._changed():
            raise VersionError(
                "recompute: backward needs the arguments of the function as they were, tensor "
                f"{self._changed()[0]} among them was changed in place since; change a copy instead"
            )
        found: list[Tensor] = []
        function, args, kwargs = self._call
        draws = self._draws
        state: list[Tensor] = []

        def collect(tensor: Tensor) -> None:  # a copy of what holds other values again after the run
            is_state = any(shares(tensor._array, each._array) for each in state)
            found.append(tensor._beside(tensor._array.copy()) if is_state else tensor)

        collecting = saved_tensors_hooks(collect, self._again)
        with (
            restored(self._stack),
            GradMode(True),
            _IS_TAKEN.held(False),
            replayed(draws),
            self._state_before() as state[:],
            collecting,
        ):
            function(*args, **kwargs)
        specs = [(tensor._array.shape, tensor._array.dtype) for tensor in found]
        if specs != self._saved:
            raise GraphError(
                f"recompute: expected the function to keep the {len(self._saved)} tensors that it kept at first, it "
                f"kept {len(specs)}, or others; it has to do the same each time, whatever changed outside of it"
            )
        self._made.update(enumerate(found))


@trimming
def recompute(
    function: Callable[..., Any],
    *args: Any,
    preserve_rng_state: bool = True,
    use_reentrant: bool = False,
    **kwargs: Any,
) -> Any:
    """Returns what a function gives; what its calls would keep for the backward is computed again when that needs it.

    Activation checkpointing: memory for the price of a second forward. Gradients are the same to the bit, those of what
    the function reads beside its arguments too, and of every order. What is drawn at random is drawn again: by
    counter, so that no generator moves.

    Args:
        function: a function of tensors, such as a layer, that does the same when it runs again. What it changes in
            place beside its arguments, as batch normalisation its running statistics, it changes once: the second run
            has the values that were there before the first, and leaves those that are there now.
        args: its arguments.
        preserve_rng_state: whether random numbers are the same in the second run.
        use_reentrant: taken, and without an effect: there is one way, that of PyTorch's `use_reentrant=False`.
        kwargs: its arguments by name.

    Raises:
        InPlaceError: the function changes an argument in place.
        GraphError: in the backward, the function did something else than at first.
        VersionError: in the backward, an argument was changed in place since.
    """
    if not is_grad_enabled():
        return function(*args, **kwargs)
    return _Run(function, args, kwargs).first(preserve_rng_state)


def _noted(outer: Callable[[Tensor], None] | None, note: Callable[[Tensor], None]) -> Callable[[Tensor], None]:
    """Returns what tells of a change here, and around, where a function that is run again runs another one."""

    def told(tensor: Tensor) -> None:
        note(tensor)
        if outer is not None:
            outer(tensor)

    return told


def _is_state(tensor: Tensor | None) -> bool:
    """Whether a tensor that a function changed may outlive it as state: it is there, and no recorded call made it."""
    return tensor is not None and tensor._edge is None


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Mapping):
        value = [*value.values()]
    return [item for item in flat(value) if isinstance(item, Tensor)]

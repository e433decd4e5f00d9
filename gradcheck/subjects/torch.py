"""PyTorch functions as subjects: autograd.Function classes, custom ops, and any callable of tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.dtypes import Array
from gradcheck.report import Report
from gradcheck.subjects.case import Arguments, Case, as_tensors, parameter_names
from gradcheck.subjects.tape import Recorder, Tape, Tensor, is_subclass, read_function

try:
    import torch
    import torch.autograd.forward_ad as forward_ad
    from torch.autograd import Function
except ImportError as error:
    raise ImportError(
        f"gradcheck.subjects.torch: expected PyTorch, got {error}; install it with pip install torch"
    ) from error

_BFLOAT16 = "bfloat16"  # known to NumPy once ml_dtypes is imported

_KINDS = "a subclass of torch.autograd.Function, a custom op or a callable of tensors"


def check(
    fn: object,
    inputs: Sequence[object],
    *,
    raw: bool = True,
    second_order: bool = True,
    **options: Any,  # Any: gradcheck.check reads and judges them
) -> Report:
    """Judges the derivative of a PyTorch function as it stands.

    Args:
        fn: see `subject`.
        inputs: see `subject`.
        raw: see `subject`.
        second_order: see `subject`.
        options: those of `gradcheck.check`; `names` and the like count the tensors and arrays among the inputs.

    Returns:
        The report of `gradcheck.check`.

    Raises:
        UsageError: see `subject` and `gradcheck.check`.
    """
    return subject(fn, inputs, raw=raw, second_order=second_order).check(**options)


def subject(fn: object, inputs: Sequence[object], *, raw: bool = True, second_order: bool = True) -> Case:
    """Gives a PyTorch function in the form that `gradcheck.check` takes.

    A jvp is judged where a Function has its own. Of memory, it is judged whether inputs, results or cotangents are
    changed, and whether a result shares the memory of an input without torch knowing; torch itself looks after
    results that are views, and after gradients.

    Args:
        fn: a subclass of torch.autograd.Function, a custom op, a module, or any callable of tensors.
        inputs: one per argument. Differentiated are floating tensors that require their gradient, and floating NumPy
            arrays; other floating tensors and whatever is no tensor stay as they are.
        raw: whether to judge what the backward of a Function returns; otherwise what the engine makes of it, which sums
            and casts a gradient of another shape or dtype without a word.
        second_order: whether to judge the gradient of the gradient, where torch can take it.

    Returns:
        The case; its inputs are the tensors and arrays among `inputs`.

    Raises:
        UsageError: fn is of another kind, no input is differentiable, or a tensor is bfloat16 and NumPy does not know
            that dtype.
    """
    call = read_function(fn, Function, _KINDS)
    _check_some_require(inputs)
    arguments = Arguments.read(inputs, _varied)
    if not any(_is_differentiable(array.dtype.name) for array in arguments.arrays):
        kinds = ", ".join(array.dtype.name for array in arguments.arrays)
        raise UsageError(f"inputs: expected a floating tensor that requires its gradient, got {kinds}; pass one")
    devices = [getattr(inputs[k], "device", torch.device("cpu")) for k in arguments.places]
    recorder = _recorder(fn, arguments.places) if raw and is_subclass(fn, Function) else None
    tape = _TorchTape(call, arguments, recorder, devices)
    has_jvp = is_subclass(fn, Function) and fn.jvp is not Function.jvp  # type: ignore[attr-defined]
    options = {"jvp": tape.jvp} if has_jvp else {}
    notes = []
    if isinstance(fn, torch.library.CustomOpDef):
        notes.append("jvp: a custom op can have none, and torch's forward mode gives zeros for it without an error")
    return tape.case(_parameters(fn), options, notes, second_order=second_order)


class _TorchTape(Tape):
    kind = torch.Tensor

    def __init__(
        self,
        fn: Callable[..., object],
        arguments: Arguments,
        recorder: Recorder | None,
        devices: Sequence[object],
    ) -> None:
        super().__init__(fn, arguments, recorder)
        self._devices = tuple(devices)

    def leaf(self, array: Array, k: int) -> Tensor:
        tensor = _to_tensor(array).to(self._devices[k])
        return self.wanting(tensor) if tensor.is_floating_point() or tensor.is_complex() else tensor

    def constant(self, array: Array, like: Tensor) -> Tensor:
        return _to_tensor(array).to(like.device)

    def to_array(self, tensor: Tensor) -> Array:
        return _to_array(tensor)

    def output(self, tensor: Tensor, leaves: Sequence[Tensor]) -> Array:
        array = _to_array(tensor)
        known = tensor._is_view() or any(tensor is leaf for leaf in leaves)
        return np.array(array) if known else array

    def follows(self, tensor: Tensor) -> bool:
        return bool(tensor.requires_grad)

    def wanting(self, tensor: Tensor) -> Tensor:
        return tensor.requires_grad_()

    def grad(
        self, outputs: list[Tensor], leaves: list[Tensor], cotangents: list[Tensor], create_graph: bool
    ) -> Sequence[Tensor | None]:
        found: Sequence[Tensor | None] = torch.autograd.grad(
            outputs, leaves, cotangents, allow_unused=True, create_graph=create_graph
        )
        if create_graph:
            _refuse_once_differentiable(found)
        return found

    def judged(self, gradient: Tensor | None, raw: Tensor | None) -> Tensor | None:
        if gradient is None or raw is None or raw.is_complex() != gradient.is_complex():
            return gradient  # taking the real part for a real input is what the engine is meant for
        return raw

    def jvp(self, inputs: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, ...]:
        with forward_ad.dual_level(), warnings.catch_warnings():
            for category in (DeprecationWarning, FutureWarning):  # torch's own, when it first makes a dual tensor
                warnings.simplefilter("ignore", category)
            leaves = [self.leaf(array, k) for k, array in enumerate(inputs)]
            # Detached: with a tape beside the dual numbers torch takes other ways than in forward mode alone.
            duals = [
                forward_ad.make_dual(t.detach(), self.constant(d, t)) if self.follows(t) else t
                for t, d in zip(leaves, tangents, strict=True)
            ]
            made = as_tensors(self.fn(*self.arguments.fill(duals)), torch.Tensor, "a tensor")
            parts = [forward_ad.unpack_dual(tensor) for tensor in made]
            return tuple(
                np.zeros_like(_to_array(p.primal)) if p.tangent is None else np.array(_to_array(p.tangent))
                for p in parts
            )


def _recorder(fn: Any, places: Sequence[int]) -> Recorder:  # Any: a Function class, whose base has no types
    return Recorder.of(fn, "backward" if fn.backward is not Function.backward else "vjp", places)


def _parameters(fn: Any) -> list[str]:  # Any: one of several kinds, told apart by their attributes
    if is_subclass(fn, Function):
        takes_ctx = fn.setup_context is Function.setup_context
        return parameter_names(fn.forward)[1 if takes_ctx else 0 :]
    overload = getattr(fn, "_opoverload", getattr(fn, "default", fn))
    if isinstance(overload, torch._ops.OpOverload):
        return [argument.name for argument in overload._schema.arguments]
    if isinstance(fn, torch.nn.Module):
        return parameter_names(fn.forward)
    return parameter_names(fn)


def _refuse_once_differentiable(gradients: Sequence[Tensor | None]) -> None:
    """Raises where a gradient's history ends in a node that stands for an error.

    torch.autograd.grad never comes to such a node, as no input lies behind it, and gives None as if nothing depended.
    """
    waiting = [gradient.grad_fn for gradient in gradients if gradient is not None]
    seen = set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if type(node).__name__ in ("Error", "DelayedError", "NotImplemented"):
            raise RuntimeError("a backward marked with once_differentiable, or without a derivative, has no second one")
        waiting += [before for before, _ in node.next_functions]


def _check_some_require(inputs: Sequence[object]) -> None:
    """Refuses tensors of which none is differentiated only because none requires its gradient."""
    listed = inputs if isinstance(inputs, (tuple, list)) else ()
    tensors = [value for value in listed if isinstance(value, torch.Tensor)]
    could = [tensor for tensor in tensors if tensor.is_floating_point() or tensor.is_complex()]
    arrays = [value for value in listed if isinstance(value, np.ndarray) and _is_differentiable(value.dtype.name)]
    if could and not arrays and not any(tensor.requires_grad for tensor in could):
        raise UsageError(
            f"inputs: expected a tensor that requires its gradient, got {len(could)} floating of which none does; "
            "call .requires_grad_() on each that is to be judged"
        )


def _varied(value: object) -> Array | None:
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, torch.Tensor):
        return None
    is_continuous = value.is_floating_point() or value.is_complex()
    return np.array(_to_array(value)) if value.requires_grad or not is_continuous else None


def _is_differentiable(name: str) -> bool:
    return name == _BFLOAT16 or np.dtype(name).kind in "fc"


def _to_array(tensor: Tensor) -> Array:
    plain = tensor.detach().resolve_conj().resolve_neg().cpu()
    if plain.dtype != torch.bfloat16:
        array: Array = plain.numpy()
        return array
    try:
        short = np.dtype(_BFLOAT16)
    except TypeError:
        raise UsageError(
            "inputs: expected dtypes that NumPy knows, got torch.bfloat16; import ml_dtypes first "
            "(pip install ml_dtypes), or pass float32"
        ) from None
    return np.asarray(plain.view(torch.int16).numpy().view(short))


def _to_tensor(array: Array) -> Tensor:
    """Gives a tensor on the array's memory, with its strides where torch has such; else on a copy."""
    if array.dtype.name == _BFLOAT16:
        return _to_tensor(array.view(np.int16)).view(torch.bfloat16)
    repeated = [stride == 0 and length > 1 for stride, length in zip(array.strides, array.shape, strict=True)]
    base = array[tuple(slice(0, 1) if again else slice(None) for again in repeated)]
    whole = all(stride >= 0 and stride % max(1, base.itemsize) == 0 for stride in base.strides)
    if not (base.flags.writeable and base.flags.aligned and base.dtype.isnative and whole):
        base = np.array(base, dtype=base.dtype.newbyteorder("="))
    tensor = torch.from_numpy(base)
    return tensor.expand(array.shape) if any(repeated) else tensor

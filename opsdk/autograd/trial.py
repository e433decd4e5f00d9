"""The trial of dynamic tensors: a call and its backward, not recorded and recorded."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from opsdk.autograd.derivatives import grad
from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import DerivativeOrderError
from opsdk.core.modes import enable_grad
from opsdk.define.frontend import BACKWARD, OUTPUTS, Attempt, Tried, register_trial
from opsdk.define.opdef import OpDef


# Any, in this file: arrays.
class TapeTrial:
    """How dynamic tensors are tried."""

    check = "dynamic"
    where = "on tensors"
    has_float32 = True

    def takes(self, opdef: OpDef) -> bool:
        """Whether a call has a tensor."""
        return bool(opdef.schema.inputs)

    def differentiates(self, opdef: OpDef) -> bool:
        """Whether there is a rule to follow."""
        return opdef.grad is not None

    def attempts(self, arrays: Sequence[Any]) -> Sequence[Attempt]:
        """Returns the only way."""
        return (Attempt(_run),)


def _run(tried: Tried) -> Generator[tuple[str, Sequence[Any]], None, None]:
    with enable_grad():
        tensors = [Tensor(array, not asked) for array, asked in zip(tried.arrays, tried.asked, strict=True)]
        every = zip(tensors, tried.asked, tried.changed, strict=True)
        made = tried.apply([tensor.clone() if asked and changed else tensor for tensor, asked, changed in every])
        yield OUTPUTS, [tensor.numpy() for tensor in made]
        if tried.opdef.grad is None:
            return
        yield BACKWARD, ()
        seeded = zip(made, tried.cotangents, strict=True)
        pairs = [(y, Tensor(dy)) for y, dy in seeded if not y.stop_gradient and dy is not None]
        if not pairs or any(y.dtype.kind == "c" for y, _ in pairs):
            return
        leaves = [tensor for tensor in tensors if not tensor.stop_gradient]
        for check, is_recorded in (("dynamic", False), ("recorded", True)):
            try:
                found = grad(
                    [y for y, _ in pairs],
                    leaves,
                    [dy for _, dy in pairs],
                    create_graph=is_recorded,
                    retain_graph=True,
                    allow_unused=True,
                )
            except DerivativeOrderError:  # an opaque backward, of which second derivatives are judged elsewhere
                continue
            yield check, [None if gradient is None else gradient.numpy() for gradient in found]


register_trial(TapeTrial())

"""GradScaler: a loss times a number, so that gradients in float16 neither vanish nor overflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opsdk.autograd.device_tensor import tensor_of
from opsdk.core.errors import AttributeValueError, GraphError, StateDictError
from opsdk.core.fit import as_bool

_STATE = (
    "scale",
    "incr_ratio",
    "decr_ratio",
    "incr_every_n_steps",
    "decr_every_n_nan_or_inf",
    "incr_count",
    "decr_count",
)


# Any, in this file: tensors, optimizers, and what is saved.
class GradScaler:
    """Scales losses and gradients; leaves out a step whose gradients are not finite, and scales less from then on.

    `scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()`; between, `unscale_` gives gradients to be
    clipped.

    Args:
        enable: False: everything passes as it is.
        init_loss_scaling: the first scale.
        incr_ratio: by how much it grows after `incr_every_n_steps` steps in a row with finite gradients.
        decr_ratio: by how much it falls after `decr_every_n_nan_or_inf` in a row without.
        incr_every_n_steps: as said.
        decr_every_n_nan_or_inf: as said.
        use_dynamic_loss_scaling: False: it stays.

    Raises:
        AttributeValueError: a number that is none, or a ratio on the wrong side of 1.
    """

    def __init__(
        self,
        enable: bool = True,
        init_loss_scaling: float = 65536.0,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.5,
        incr_every_n_steps: int = 2000,
        decr_every_n_nan_or_inf: int = 1,
        use_dynamic_loss_scaling: bool = True,
    ) -> None:
        self._enable = as_bool(enable, "GradScaler: enable")
        self._dynamic = as_bool(use_dynamic_loss_scaling, "GradScaler: use_dynamic_loss_scaling") and self._enable
        counts = (incr_every_n_steps, decr_every_n_nan_or_inf, 0, 0)
        self._state = _checked(dict(zip(_STATE, (init_loss_scaling, incr_ratio, decr_ratio, *counts), strict=True)))
        self._unscaled: dict[int, tuple[Any, bool]] = {}  # by id the optimizer, and whether its gradients are finite

    def is_enable(self) -> bool:
        """Whether it scales."""
        return self._enable

    def is_use_dynamic_loss_scaling(self) -> bool:
        """Whether the scale changes."""
        return self._dynamic

    def get_scale(self) -> float:
        """Returns the scale; 1 where it does not scale."""
        return float(self._state["scale"]) if self._enable else 1.0

    def scale(self, var: Any) -> Any:
        """Returns a loss times the scale, in float32 at least.

        Args:
            var: a float tensor.
        """
        return (var if var.dtype == np.float64 else var.astype("float32")) * self.get_scale() if self._enable else var

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the scale, and looks whether they are finite.

        Raises:
            GraphError: they were divided already since the last `update`.
        """
        if not self._enable:
            return
        if id(optimizer) in self._unscaled:
            raise GraphError("GradScaler.unscale_: expected update() after the last unscale_ or step, got none")
        factor, finite = 1.0 / self.get_scale(), True
        for param in optimizer.named().values():
            if param.grad is not None:
                array = param.grad._array
                finite = finite and bool(np.isfinite(array).all())
                param.grad = tensor_of((array * factor).astype(array.dtype))
        self._unscaled[id(optimizer)] = optimizer, finite

    def step(self, optimizer: Any) -> None:
        """Makes a step of an optimizer with its gradients divided by the scale; none where one is not finite.

        Raises:
            GraphError: a step was made already since the last `update`.
        """
        if not self._enable:
            return optimizer.step()  # type: ignore[no-any-return]
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        held, finite = self._unscaled[id(optimizer)]
        if held is None:
            raise GraphError("GradScaler.step: expected update() after the last step, got none")
        if finite:
            optimizer.step()
        self._unscaled[id(optimizer)] = None, finite

    def update(self) -> None:
        """Changes the scale, by what the gradients since the last `update` were."""
        found = [finite for _, finite in self._unscaled.values()]
        self._unscaled.clear()
        if not self._dynamic or not found:
            return
        state, good = self._state, all(found)
        mine, other = ("incr_count", "decr_count") if good else ("decr_count", "incr_count")
        state[mine], state[other] = state[mine] + 1, 0
        if state[mine] == state["incr_every_n_steps" if good else "decr_every_n_nan_or_inf"]:
            scaled = state["scale"] * state["incr_ratio" if good else "decr_ratio"]
            state["scale"], state[mine] = scaled if np.isfinite(np.float32(scaled)) and scaled else state["scale"], 0

    def minimize(self, optimizer: Any, scaled_loss: Any) -> None:
        """Makes a step for a loss that was scaled, and whose `backward()` was called; then updates the scale.

        Args:
            optimizer: whose parameters are changed.
            scaled_loss: as `scale` gave it.
        """
        self.step(optimizer)
        self.update()

    def state_dict(self) -> dict[str, Any]:
        """Returns the scale, the settings and the counts; nothing where it does not scale."""
        return {**self._state, "use_dynamic_loss_scaling": self._dynamic} if self._enable else {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on as the scaler did whose state this is.

        Args:
            state_dict: as `state_dict` gives it.

        Raises:
            StateDictError: an entry is missing.
            AttributeValueError: an entry is no number of its range.
        """
        if not self._enable:
            return
        missing = [name for name in (*_STATE, "use_dynamic_loss_scaling") if name not in state_dict]
        if missing:
            raise StateDictError(f"GradScaler.load_state_dict: expected {', '.join(missing)}, got none")
        state = _checked({name: state_dict[name] for name in _STATE})
        self._dynamic = as_bool(state_dict["use_dynamic_loss_scaling"], "GradScaler: use_dynamic_loss_scaling")
        self._state = state
        self._unscaled.clear()


def _checked(state: dict[str, Any]) -> dict[str, Any]:
    bounds = {"scale": (0, np.inf), "incr_ratio": (1, np.inf), "decr_ratio": (0, 1)}
    for name, value in state.items():
        low, high = bounds.get(name, (-1 if name.endswith("_count") else 0, np.inf))
        is_count = name not in bounds
        if (
            not isinstance(value, int if is_count else (int, float))
            or isinstance(value, bool)
            or not low < value < high
        ):
            what = f"an integer > {low}" if is_count else f"a number between {low} and {high}"
            raise AttributeValueError(f"GradScaler: {name} expected {what}, got {value!r}")
    return state

"""Precision: in which dtypes a Model computes, as `prepare(amp_configs=...)` says."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from opsdk.amp import GradScaler, auto_cast
from opsdk.core.errors import AttributeValueError
from opsdk.core.suggest import alternatives

_OF_CAST = ("level", "dtype", "custom_white_list", "custom_black_list")
_OF_SCALER = tuple(inspect.signature(GradScaler).parameters)[1:]


# Any, in this file: settings, losses, optimizers.
class Precision:
    """Mixed precision, or none.

    Args:
        configs: None for none; a level; or a dictionary of the arguments of `auto_cast` and of `GradScaler`.

    Raises:
        AttributeValueError: something else, or a name that neither takes.
    """

    def __init__(self, configs: Any = None) -> None:
        given: Any = configs
        if configs is None or isinstance(configs, str):
            given = {"level": configs or "O0"}
        if not isinstance(given, Mapping):
            raise AttributeValueError(
                f"Model.prepare: amp_configs expected a level or a dictionary, got {type(given).__name__}"
            )
        for name in given:
            if name not in _OF_CAST + _OF_SCALER:
                known = alternatives(str(name), [*_OF_CAST, *_OF_SCALER])
                raise AttributeValueError(f"Model.prepare: amp_configs expected {known}, got {name!r}")
        self._settings: dict[str, Any] = {name: value for name, value in given.items() if name in _OF_CAST}
        is_on = given.get("level", "O1") != "O0" and str(given.get("dtype", "float16")) != "bfloat16"
        scaled: dict[str, Any] = {name: value for name, value in given.items() if name in _OF_SCALER}
        self.scaler = GradScaler(is_on, **scaled)
        self.cast()

    def cast(self) -> auto_cast:
        """Returns what the network runs in."""
        return auto_cast(**self._settings)

    def backward(self, loss: Any) -> None:
        """Goes back from a loss, scaled where gradients want it."""
        self.scaler.scale(loss).backward()

    def update(self, optimizer: Any) -> None:
        """Makes a step of an optimizer, and clears its gradients."""
        self.scaler.step(optimizer)
        self.scaler.update()
        optimizer.clear_grad()

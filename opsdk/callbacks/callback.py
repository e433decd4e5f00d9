"""Callbacks: what happens beside training, at the beginning and end of each part of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from opsdk.core.errors import AttributeValueError

if TYPE_CHECKING:
    from opsdk.model.model import Model

Logs = Mapping[str, Any]  # Any, in this file: measures are numbers or lists of them


class Callback:
    """What a subclass does at the beginning and end of training, evaluation and prediction, their epochs and batches.

    `model` is the Model; `params` has `epochs`, `steps` (None where the data has no length), `batch_size`, `verbose`,
    `metrics` and `save_dir`. The logs of a batch have `loss`, the metrics so far, `step` and `batch_size`.
    """

    model: Model
    params: Mapping[str, Any]

    def set_model(self, model: Model) -> None:
        """Tells which Model it serves."""
        self.model = model

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Tells what `fit`, `evaluate` or `predict` was called with."""
        self.params = params

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Training begins."""

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Training has ended."""

    def on_eval_begin(self, logs: Logs | None = None) -> None:
        """An evaluation begins; `logs` has `steps`."""

    def on_eval_end(self, logs: Logs | None = None) -> None:
        """An evaluation has ended; `logs` is what `evaluate` returns."""

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """A prediction begins; `logs` has `steps`."""

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """A prediction has ended."""

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """An epoch of training begins; the first is 0."""

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """An epoch of training has ended, before its evaluation."""

    def on_train_batch_begin(self, step: int, logs: Logs | None = None) -> None:
        """A batch of training begins."""

    def on_train_batch_end(self, step: int, logs: Logs | None = None) -> None:
        """A batch of training has ended."""

    def on_eval_batch_begin(self, step: int, logs: Logs | None = None) -> None:
        """A batch of an evaluation begins."""

    def on_eval_batch_end(self, step: int, logs: Logs | None = None) -> None:
        """A batch of an evaluation has ended."""

    def on_predict_batch_begin(self, step: int, logs: Logs | None = None) -> None:
        """A batch of a prediction begins."""

    def on_predict_batch_end(self, step: int, logs: Logs | None = None) -> None:
        """A batch of a prediction has ended."""


class Callbacks:
    """Several callbacks, told in their order.

    Args:
        given: one, several, or None.
        own: those that come with `fit`, unless one of their class was given.
        model, params: what each is told.
    """

    def __init__(self, given: Any, own: Iterable[Callback], model: Model, params: Mapping[str, Any]) -> None:
        chosen = [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
        for each in chosen:
            if not isinstance(each, Callback):
                raise AttributeValueError(f"Model: callbacks expected Callbacks, got {type(each).__name__}")
        classes = {type(each) for each in chosen}
        self._all = [*(each for each in own if type(each) not in classes), *chosen]
        for each in self._all:
            each.set_model(model)
            each.set_params(params)

    def tell(self, what: str, *args: Any) -> None:
        """Calls the method `on_<what>` of each."""
        for each in self._all:
            getattr(each, f"on_{what}")(*args)

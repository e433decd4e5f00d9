"""What belongs to a training: checkpoints, the schedule's steps, and an end when nothing becomes better."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from opsdk.callbacks.callback import Callback, Logs
from opsdk.core.errors import AttributeValueError


class ModelCheckpoint(Callback):
    """Saves the Model after epochs, as `<save_dir>/<epoch>`, and as `<save_dir>/final` at the end.

    Args:
        save_freq: after how many epochs.
        save_dir: a folder; nothing is saved without one.
    """

    def __init__(self, save_freq: int = 1, save_dir: str | os.PathLike[str] | None = None) -> None:
        self.save_freq, self.save_dir = save_freq, save_dir

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Saves, when it is time."""
        if self.save_dir is not None and epoch % self.save_freq == 0:
            self.model.save(Path(self.save_dir) / str(epoch))

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Saves."""
        if self.save_dir is not None:
            self.model.save(Path(self.save_dir) / "final")


class LRScheduler(Callback):
    """Takes the optimizer's schedule, if it has one, a step on; `fit` does so after each batch unless one is given.

    Args:
        by_step: after each batch of training.
        by_epoch: after each epoch.

    Raises:
        AttributeValueError: both.
    """

    def __init__(self, by_step: bool = True, by_epoch: bool = False) -> None:
        if by_step and by_epoch:
            raise AttributeValueError("LRScheduler: expected by_step or by_epoch, got both; set one to False")
        self.by_step, self.by_epoch = by_step, by_epoch

    def on_train_batch_end(self, step: int, logs: Logs | None = None) -> None:
        """Takes the schedule on, if it goes by steps."""
        self._go_on(self.by_step)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Takes the schedule on, if it goes by epochs."""
        self._go_on(self.by_epoch)

    def _go_on(self, is_time: bool) -> None:
        schedule = self.model.optimizer.schedule
        if is_time and schedule is not None:
            schedule.step()


class EarlyStopping(Callback):
    """Ends training when a measure of the evaluations has not become better for so many of them.

    Args:
        monitor: `loss`, or the name of a metric.
        mode: `min` or `max` is better; `auto` takes `max` for a name with `acc` in it.
        patience: after how many evaluations in a row without a better value; 0 is after the first.
        verbose: 0 prints nothing.
        min_delta: by how much a better value has to be better.
        baseline: what the first value has to be better than.
        save_best_model: saves the best one as `<save_dir>/best_model`, where `fit` has a `save_dir`.

    Raises:
        AttributeValueError: another mode, or, in an evaluation, a measure that there is not.
    """

    def __init__(
        self,
        monitor: str = "loss",
        mode: str = "auto",
        patience: int = 0,
        verbose: int = 1,
        min_delta: float = 0,
        baseline: float | None = None,
        save_best_model: bool = True,
    ) -> None:
        if mode not in ("auto", "min", "max"):
            raise AttributeValueError(f"EarlyStopping: mode expected 'auto', 'min' or 'max', got {mode!r}")
        self.monitor, self.patience, self.verbose = monitor, patience, verbose
        self.min_delta, self.baseline, self.save_best_model = abs(min_delta), baseline, save_best_model
        self._sign = 1 if mode == "max" or (mode == "auto" and "acc" in monitor) else -1
        self._start()

    def _start(self) -> None:
        self.best_value = -self._sign * float("inf") if self.baseline is None else self.baseline
        self.wait_epoch = self.stopped_epoch = 0

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Forgets an earlier training."""
        self._start()

    def on_eval_end(self, logs: Logs | None = None) -> None:
        """Looks at the measure, and has training end if it is time."""
        found = dict(logs or {})
        if self.monitor not in found:
            known = ", ".join(["loss", *self.params["metrics"]])
            raise AttributeValueError(f"EarlyStopping: monitor expected one of {known}, got {self.monitor!r}")
        current = found[self.monitor]
        current = float(current[0] if isinstance(current, (list, tuple)) else current)
        self.stopped_epoch += 1
        saved = self.params["save_dir"] if self.save_best_model else None
        if self._sign * (current - self.best_value) > self.min_delta:
            self.best_value, self.wait_epoch = current, 0
            if saved is not None:
                self.model.save(Path(saved) / "best_model")
            return
        self.wait_epoch += 1
        if self.wait_epoch >= self.patience:
            self.model.stop_training = True
            if self.verbose:
                sys.stdout.write(f"Epoch {self.stopped_epoch}: Early stopping.\n")

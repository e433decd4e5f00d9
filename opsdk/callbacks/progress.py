"""ProgBarLogger: prints how far training is, as a bar or in lines."""

from __future__ import annotations

import sys
import time

from opsdk.callbacks.callback import Callback, Logs


class ProgBarLogger(Callback):
    """Prints how far training, evaluation and prediction are.

    Args:
        log_freq: after how many batches.
        verbose: 0 prints nothing, 1 one line that changes, 2 a line each time.
    """

    def __init__(self, log_freq: int = 1, verbose: int = 2) -> None:
        self.log_freq, self.verbose = log_freq, verbose
        self._steps: int | None = None
        self._since, self._rows = 0.0, 0

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Prints the number of the epoch."""
        self._begin(self.params["steps"], f"Epoch {epoch + 1}/{self.params['epochs']}")

    def on_eval_begin(self, logs: Logs | None = None) -> None:
        """Prints that it begins."""
        self._begin((logs or {}).get("steps"), "Eval begin...")

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        """Prints that it begins."""
        self._begin((logs or {}).get("steps"), "Predict begin...")

    def on_train_batch_end(self, step: int, logs: Logs | None = None) -> None:
        """Prints the step and the measures, when it is time."""
        self._step(step, logs or {})

    on_eval_batch_end = on_train_batch_end
    on_predict_batch_end = on_train_batch_end

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Prints the last step and its measures."""
        self._end(logs or {})

    def on_eval_end(self, logs: Logs | None = None) -> None:
        """Prints the measures, and of how many samples they are."""
        self._end(logs or {}, "Eval")

    def on_predict_end(self, logs: Logs | None = None) -> None:
        """Prints of how many samples it was."""
        self._end(logs or {}, "Predict")

    def _begin(self, steps: int | None, text: str) -> None:
        self._steps, self._since, self._rows, self._last = steps, time.perf_counter(), 0, -1
        self._print(text + "\n")

    def _step(self, step: int, logs: Logs) -> None:
        self._last, self._rows = step, self._rows + logs.get("batch_size", 0)
        if (step + 1) % self.log_freq == 0 and step + 1 != self._steps:
            self._print(self._line(logs))

    def _end(self, logs: Logs, what: str = "") -> None:
        if self._last >= 0:
            self._print(self._line(logs) + ("\n" if self.verbose == 1 else ""))
        if what:
            self._print(f"{what} samples: {self._rows}\n")

    def _line(self, logs: Logs) -> str:
        done, of = self._last + 1, self._steps
        text = f"step {done}/{of}" if of else f"step {done}"
        if self.verbose == 1 and of:
            filled = 30 * done // of
            text += f" [{'=' * (filled - 1)}{'=' if done >= of else '>'}{'.' * (30 - max(filled, 1))}]"
        for name in ("loss", *self.params["metrics"]):
            values = logs.get(name, [])
            for value in values if isinstance(values, (list, tuple)) else [values]:
                text += f" - {name}: {value:.4f}"
        each = (time.perf_counter() - self._since) / done
        text += f" - {each:.0f}s/step" if each >= 1 else f" - {each * 1e3:.0f}ms/step"
        return f"\r{text}" if self.verbose == 1 else f"{text}\n"

    def _print(self, text: str) -> None:
        if self.verbose:
            sys.stdout.write(text)
            sys.stdout.flush()

"""Model: trains, evaluates, predicts, saves and loads a network in one call each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opsdk.callbacks.callback import Callbacks
from opsdk.callbacks.progress import ProgBarLogger
from opsdk.callbacks.training import LRScheduler, ModelCheckpoint
from opsdk.core.errors import AttributeValueError, GraphError, ShapeError
from opsdk.core.modes import no_grad
from opsdk.io.sampler import as_count
from opsdk.metric.metric import Metric
from opsdk.model.data import array, batches_of, flattened, length, listed, positional, tensors
from opsdk.model.summary import summary
from opsdk.nn.layer.layer import Layer
from opsdk.optimizer.optimizer import Optimizer
from opsdk.saving.checkpoint import load, save

TRAIN, EVAL, PREDICT = "train", "eval", "predict"


# Any, in this file: batches of tensors or arrays, losses, metrics, datasets.
class Model:
    """A network, with what trains it.

    Args:
        network: a Layer.
        inputs: a spec for each input of the network, in a list, or one; what a batch has after them are labels. Unless
            given the parameters of the network's `forward` without defaults are counted.
        labels: a spec for each label, or one.

    Raises:
        AttributeValueError: the network is no Layer.

    Attributes:
        network, optimizer, loss, metrics: as they were given.
        stop_training: ends `fit` after the epoch, once it is True.
    """

    def __init__(self, network: Layer, inputs: Any = None, labels: Any = None) -> None:
        if not isinstance(network, Layer):
            raise AttributeValueError(f"Model: network expected a Layer, got {type(network).__name__}")
        self.network = network
        self.optimizer: Any = None
        self.loss: Callable[..., Any] | None = None
        self.metrics: list[Metric] = []
        self.stop_training = False
        self._inputs = None if inputs is None else len(listed(inputs))
        self._labels = None if labels is None else len(listed(labels))

    def prepare(
        self, optimizer: Optimizer | None = None, loss: Callable[..., Any] | None = None, metrics: Any = None
    ) -> None:
        """Gives what trains and measures the network.

        Args:
            optimizer: of its parameters.
            loss: takes the outputs, then the labels; a scalar tensor, or several, which are added.
            metrics: a Metric, or several.

        Raises:
            AttributeValueError: one of them is something else; nothing is changed then.
        """
        if optimizer is not None and not isinstance(optimizer, Optimizer):
            raise AttributeValueError(f"Model.prepare: optimizer expected one, got {type(optimizer).__name__}")
        if loss is not None and not callable(loss):
            raise AttributeValueError(f"Model.prepare: loss expected a Layer or a function, got {type(loss).__name__}")
        for each in listed(metrics):
            if not isinstance(each, Metric):
                raise AttributeValueError(f"Model.prepare: metrics expected Metrics, got {type(each).__name__}")
        self.optimizer, self.loss, self.metrics = optimizer, loss, listed(metrics)

    def parameters(self) -> list[Any]:
        """Returns the network's parameters."""
        return list(self.network.parameters())

    # -- one batch ----------------------------------------------------------------------------------------------------

    def train_batch(self, inputs: Any, labels: Any = None, update: bool = True) -> Any:
        """Trains on one batch.

        Args:
            inputs: an input of the network, or several.
            labels: a label, or several.
            update: makes a step of the optimizer, and clears the gradients; False leaves them, to be added to.

        Returns:
            The losses, as a list of arrays; with metrics a pair of it and the metrics of the batch.

        Raises:
            GraphError: `prepare` was called without optimizer or loss, or not at all.
        """
        self._needs("train_batch", optimizer=self.optimizer, loss=self.loss)
        self.network.train()
        outputs, losses = self._run(inputs, labels)
        sum(losses[1:], losses[0]).backward()
        if update:
            self._update()
        return self._measured(outputs, labels, losses)

    def _update(self) -> None:
        self.optimizer.step()
        self.optimizer.clear_grad()

    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        """Evaluates one batch.

        Args:
            inputs: an input of the network, or several.
            labels: a label, or several.

        Returns:
            As `train_batch`; without a loss the metrics alone.
        """
        self.network.eval()
        with no_grad():
            outputs, losses = self._run(inputs, labels)
        return self._measured(outputs, labels, losses)

    def predict_batch(self, inputs: Any) -> list[np.ndarray]:
        """Returns the network's outputs for one batch, as arrays.

        Args:
            inputs: an input of the network, or several.
        """
        self.network.eval()
        with no_grad():
            return [array(each) for each in listed(self.network(*tensors(inputs)))]

    def _run(self, inputs: Any, labels: Any) -> tuple[list[Any], list[Any]]:
        outputs = listed(self.network(*tensors(inputs)))
        return outputs, [] if self.loss is None else listed(self.loss(*outputs, *tensors(labels)))

    def _measured(self, outputs: list[Any], labels: Any, losses: list[Any]) -> Any:
        measures = []
        with no_grad():
            for metric in self.metrics:
                computed = metric.compute(*outputs, *tensors(labels))
                found = metric.update(*[array(each) for each in listed(computed)])
                measures.append(metric.accumulate() if found is None else found)
        values = [array(loss) for loss in losses]
        return (values, measures) if values and measures else values or measures

    def _needs(self, what: str, **needed: Any) -> None:
        missing = [name for name, value in needed.items() if value is None]
        if missing:
            raise GraphError(f"Model.{what}: expected prepare() with {' and '.join(missing)} before, got none")

    # -- whole data ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        batch_size: int = 1,
        epochs: int = 1,
        eval_freq: int = 1,
        log_freq: int = 10,
        save_dir: str | os.PathLike[str] | None = None,
        save_freq: int = 1,
        verbose: int = 2,
        drop_last: bool = False,
        shuffle: bool = True,
        num_workers: int = 0,
        callbacks: Any = None,
        accumulate_grad_batches: int = 1,
        num_iters: int | None = None,
    ) -> None:
        """Trains.

        Args:
            train_data: a Dataset, a DataLoader, or anything that gives batches when it is iterated over.
            eval_data: evaluated after epochs.
            batch_size: how many samples make a batch, of a Dataset, as the next arguments are.
            drop_last: leaves out a last batch that is not full.
            shuffle: whether the order is another one each epoch.
            num_workers: how many processes make batches.
            epochs: how often all of the data is used.
            eval_freq: after how many epochs there is an evaluation.
            log_freq: after how many batches something is printed.
            save_dir: where checkpoints go, as `<save_dir>/<epoch>.pdparams` and `.pdopt`, and `final`.
            save_freq: after how many epochs.
            verbose: 0 prints nothing, 1 a progress bar, 2 lines.
            callbacks: a Callback, or several.
            accumulate_grad_batches: makes a step after so many batches, with the sum of their gradients.
            num_iters: ends after so many batches of all epochs.

        Raises:
            GraphError: `prepare` was called without optimizer or loss, or not at all.
        """
        self._needs("fit", optimizer=self.optimizer, loss=self.loss)
        as_count(epochs, "Model.fit: epochs")
        every = as_count(accumulate_grad_batches, "Model.fit: accumulate_grad_batches")
        loader = batches_of(train_data, batch_size, shuffle, drop_last, num_workers)
        tested = None if eval_data is None else batches_of(eval_data, batch_size, False, False, num_workers)
        own = [ProgBarLogger(log_freq, verbose), LRScheduler(), ModelCheckpoint(save_freq, save_dir)]
        told = self._told(callbacks, own, loader, batch_size, verbose, epochs=epochs, save_dir=save_dir)
        self.stop_training, left = False, num_iters
        told.tell("train_begin", {})
        logs: Mapping[str, Any] = {}
        for epoch in range(epochs):
            told.tell("epoch_begin", epoch, {})
            logs = self._pass(loader, TRAIN, told, left, every)
            told.tell("epoch_end", epoch, logs)
            left = None if left is None else left - logs.get("step", -1) - 1
            if tested is not None and (epoch + 1) % eval_freq == 0:
                self._evaluated(tested, told, None)
            if self.stop_training or left == 0:
                break
        told.tell("train_end", logs)

    def evaluate(
        self,
        eval_data: Any,
        batch_size: int = 1,
        log_freq: int = 10,
        verbose: int = 2,
        num_workers: int = 0,
        callbacks: Any = None,
        num_iters: int | None = None,
    ) -> dict[str, Any]:
        """Evaluates.

        Args:
            eval_data: data as of `fit`.
            batch_size: how many samples make a batch, of a Dataset.
            log_freq: after how many batches something is printed.
            verbose: 0 prints nothing, 1 a progress bar, 2 lines.
            num_workers: how many processes make batches, of a Dataset.
            callbacks: a Callback, or several.
            num_iters: ends after so many batches.

        Returns:
            `loss`, a list of the means over all samples, where there is a loss; and each metric by its name.
        """
        loader = batches_of(eval_data, batch_size, False, False, num_workers)
        told = self._told(callbacks, [ProgBarLogger(log_freq, verbose)], loader, batch_size, verbose)
        return self._evaluated(loader, told, num_iters)

    def _evaluated(self, loader: Any, told: Callbacks, num_iters: int | None) -> dict[str, Any]:
        told.tell("eval_begin", {"steps": length(loader)})
        logs = self._pass(loader, EVAL, told, num_iters)
        told.tell("eval_end", logs)
        return {name: value for name, value in logs.items() if name not in ("step", "batch_size")}

    def predict(
        self,
        test_data: Any,
        batch_size: int = 1,
        num_workers: int = 0,
        stack_outputs: bool = False,
        verbose: int = 1,
        callbacks: Any = None,
    ) -> list[Any]:
        """Returns the network's outputs for all of the data.

        Args:
            test_data: data as of `fit`.
            batch_size: how many samples make a batch, of a Dataset.
            num_workers: how many processes make batches, of a Dataset.
            stack_outputs: joins the batches of each output to one array.
            verbose: 0 prints nothing, 1 a progress bar, 2 lines.
            callbacks: a Callback, or several.

        Returns:
            For each output the arrays of all batches, in a tuple; one array where they are joined.
        """
        loader = batches_of(test_data, batch_size, False, False, num_workers)
        told = self._told(callbacks, [ProgBarLogger(10, verbose)], loader, batch_size, verbose)
        told.tell("predict_begin", {"steps": length(loader)})
        batches = []
        for step, batch in enumerate(loader):
            told.tell("predict_batch_begin", step, {})
            batches.append(self.predict_batch(self._parts(batch, PREDICT)[0]))
            told.tell("predict_batch_end", step, {"step": step, "batch_size": len(batches[-1][0])})
        told.tell("predict_end", {})
        outputs = list(zip(*batches, strict=True))
        return [np.concatenate(each) for each in outputs] if stack_outputs else outputs

    def _told(
        self, callbacks: Any, own: Sequence[Any], loader: Any, batch_size: int, verbose: int, **more: Any
    ) -> Callbacks:
        names = [name for metric in self.metrics for name in listed(metric.name())]
        params = {"epochs": None, "save_dir": None, "steps": length(loader), "batch_size": batch_size}
        return Callbacks(callbacks, own, self, {**params, "verbose": verbose, "metrics": names, **more})

    def _pass(self, loader: Any, mode: str, told: Callbacks, most: int | None, every: int = 1) -> dict[str, Any]:
        """Goes through the data once; returns the logs of the last batch, of an evaluation with the mean losses."""
        for metric in self.metrics:
            metric.reset()
        logs: dict[str, Any] = {}
        totals, rows = np.zeros(()), 0
        step = -1
        for step, batch in enumerate(loader):
            told.tell(f"{mode}_batch_begin", step, logs)
            inputs, labels = self._parts(batch, mode)
            if mode == TRAIN:
                found = self.train_batch(inputs, labels, (step + 1) % every == 0)
            else:
                found = self.eval_batch(inputs, labels)
            count = int(inputs[0].shape[0]) if len(inputs[0].shape) else 1
            losses = [] if self.loss is None else [float(each) for each in (found[0] if self.metrics else found)]
            totals, rows = totals + np.multiply(losses, count), rows + count
            shown = losses if mode == TRAIN else (totals / rows).tolist()
            logs = {**({"loss": shown} if self.loss else {}), **self._accumulated(), "step": step, "batch_size": count}
            told.tell(f"{mode}_batch_end", step, logs)
            if most == step + 1:
                break
        if mode == TRAIN and (step + 1) % every:  # gradients of a last group that is not full
            self._update()
        return logs

    def _accumulated(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for metric in self.metrics:
            found.update(zip(listed(metric.name()), listed(metric.accumulate()), strict=True))
        return found

    def _parts(self, batch: Any, mode: str) -> tuple[list[Any], list[Any]]:
        """Returns inputs and labels of a batch."""
        parts = list(flattened(batch))
        count = self._inputs
        if count is None:
            taken = positional(self.network.forward)
            labels = self._labels if self._labels is not None else 0 if mode == PREDICT else 1
            count = len(parts) - labels if taken is None else taken
        if len(parts) < max(count, 1):
            raise ShapeError(f"Model: expected at least {max(count, 1)} parts of a batch, got {len(parts)}")
        return parts[:count], parts[count:]

    # -- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], training: bool = True) -> None:
        """Saves the network's state as `<path>.pdparams`, and the optimizer's, if there is one, as `<path>.pdopt`.

        Args:
            path: without a suffix; folders on the way are made.
            training: True. A network on its own is saved by `opsdk.save(model.network, path)`.

        Raises:
            AttributeValueError: the path names a folder, or `training` is False.
        """
        if not training:
            raise AttributeValueError(
                "Model.save: training expected True, got False; save the network: opsdk.save(model.network, path)"
            )
        if not Path(path).name or str(path).endswith(os.sep):
            raise AttributeValueError(f"Model.save: path expected a folder and a name, got {os.fspath(path)!r}")
        save(self.network.state_dict(), f"{os.fspath(path)}.pdparams")
        if self.optimizer is not None:
            save(self.optimizer.state_dict(), f"{os.fspath(path)}.pdopt")

    def load(self, path: str | os.PathLike[str], skip_mismatch: bool = False, reset_optimizer: bool = False) -> None:
        """Puts back what `save` saved; also Paddle's files of the same names.

        Args:
            path: without a suffix.
            skip_mismatch: leaves out what is missing, unknown or of another shape; the rest of the network stays.
            reset_optimizer: leaves the optimizer as it is, also where its file is there.

        Raises:
            FileMissingError: there are no parameters at the path.
            StateDictError: names are missing or unknown; nothing of the network is changed.
            ShapeError: a value has another shape; nothing of the network is changed.
        """
        base = os.fspath(path).removesuffix(".pdparams")
        state, own = load(f"{base}.pdparams"), self.network.state_dict()
        if skip_mismatch:
            state = {name: value for name, value in state.items() if _fits(value, own.get(name))}
        optimized = f"{base}.pdopt"
        optimizer = None
        if self.optimizer is not None and not reset_optimizer and Path(optimized).exists():
            optimizer = load(optimized)
        self.network.load_state_dict(state, strict=not skip_mismatch)
        if optimizer is not None:
            self.optimizer.set_state_dict(optimizer)

    def summary(self, input_size: Any = None, dtype: Any = None) -> dict[str, int]:
        """Prints the network's layers, as `opsdk.summary` does.

        Args:
            input_size: the shape of the input, or of each of several.
            dtype: of the inputs.
        """
        return summary(self.network, input_size, dtype)


def _fits(value: Any, own: Any) -> bool:
    return own is not None and tuple(np.shape(value)) == tuple(own.shape)

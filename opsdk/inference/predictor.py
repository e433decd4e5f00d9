"""Predictor: a saved model, run on arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import ArityError, FetchError
from opsdk.core.suggest import alternatives
from opsdk.static.files.model import FORWARD, Model
from opsdk.static.files.values import read_tree
from opsdk.static.run.executor import Executor
from opsdk.static.run.scope import Scope

# Any, in this file: what the model that was saved returns.


class Predictor:
    """Runs what `jit.save` or `static.save_inference_model` saved, on arrays.

    Several threads may call one; several may be made of one file. What a call of one kind needs is kept, so that calls
    of other sizes, as of another batch, do not wait for each other's.

    Args:
        path: what the names of the three files begin with.

    Raises:
        FileMissingError: a file is not there.
        SavedFileError: one is damaged, cut off, tampered with, or of a newer version.
        UnknownOpError: nobody here provides an op; the message says who, by what the file claims.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        model = Model(path, "Predictor")
        self._subject = model.subject
        function = model.function(FORWARD)
        self._program, self._outputs = function.program, function.outputs
        self._inputs, self._names = function.inputs, function.names
        self._scope = Scope()
        kept = [v.name for v in self._program.list_vars() if v.persistable]
        self._scope.commit({name: model.arrays[name] for name in kept})
        self._executor = Executor()

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Returns what the model's `forward` does, with arrays for its tensors.

        Args:
            arrays: the inputs, by position; tensors are taken too.
            named: inputs by name.

        Raises:
            ArityError: other inputs than the model has.
            FeedError: one is of another dtype or shape.
        """
        made = Predictor.run(self, self._fed_by(arrays, named))
        return read_tree(self._outputs, dict(zip(self._names, made, strict=True)).__getitem__)

    def _fed_by(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        feed = dict(zip(self._inputs, arrays, strict=False))
        if len(arrays) > len(self._inputs) or feed.keys() & named.keys():
            raise ArityError(
                f"{self._subject}: expected inputs {', '.join(self._inputs)}, got {len(arrays)} by position"
            )
        return {**feed, **named}

    def run(self, feed: Mapping[str, Any]) -> list[np.ndarray]:
        """Returns the outputs, as a list, for arrays by the names of inputs.

        Raises:
            FeedError: one is missing, unknown, or of another dtype or shape.
        """
        fed = {name: np.asarray(value) for name, value in feed.items()}
        return self._executor.run(self._program, fed, self._names, self._scope)

    def get_input_names(self) -> list[str]:
        """Returns the names of the inputs."""
        return list(self._inputs)

    def get_output_names(self) -> list[str]:
        """Returns the names of the outputs, in the order of `run`."""
        return list(self._names)


class Config:
    """Where a model is, in Paddle's words.

    Args:
        prog_file: the `.pdmodel`, or what the names of the files begin with.
        params_file: the `.pdiparams` beside it.
    """

    def __init__(self, prog_file: str | os.PathLike[str], params_file: str | os.PathLike[str] | None = None) -> None:
        self.prog_file = os.fspath(prog_file)
        self.params_file = params_file


class _Handle:
    """An input or output of a `PaddlePredictor`, by name."""

    def __init__(self, values: dict[str, np.ndarray], name: str) -> None:
        self._values, self._name = values, name

    def copy_from_cpu(self, array: Any) -> None:
        """Takes a copy of an array."""
        self._values[self._name] = np.array(array)

    def copy_to_cpu(self) -> np.ndarray:
        """Returns a copy of the array.

        Raises:
            FetchError: there was no run.
        """
        if self._name not in self._values:
            raise FetchError(f"output {self._name!r}: expected a run before, there was none; call run()")
        return np.array(self._values[self._name])

    def reshape(self, shape: Any) -> None:
        """Accepted as in Paddle: an array brings its own shape."""

    def shape(self) -> list[int]:
        """Returns the sizes of the array that is there."""
        return list(self.copy_to_cpu().shape)


class PaddlePredictor(Predictor):
    """A Predictor with inputs and outputs by handles, as Paddle's; each belongs to one thread."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._fed: dict[str, np.ndarray] = {}
        self._made: dict[str, np.ndarray] = {}

    def get_input_handle(self, name: str) -> _Handle:
        """Returns what takes an input.

        Raises:
            FetchError: the model has none of that name.
        """
        return self._handle(self._fed, name, self._inputs)

    def get_output_handle(self, name: str) -> _Handle:
        """Returns what gives an output.

        Raises:
            FetchError: the model has none of that name.
        """
        return self._handle(self._made, name, self._names)

    def _handle(self, values: dict[str, np.ndarray], name: str, known: list[str]) -> _Handle:
        if name not in known:
            raise FetchError(f"{self._subject}: {name!r} expected among {alternatives(name, known)}")
        return _Handle(values, name)

    # Any: arrays, in the order of the inputs.
    def run(self, feed: Any = None) -> Any:
        """Runs the model on what the handles took, or on a list of arrays, which gives a list of arrays."""
        if isinstance(feed, Mapping):
            return super().run(feed)
        made = super().run(self._fed if feed is None else self._fed_by(feed, {}))
        self._made.update(zip(self._names, made, strict=True))
        return True if feed is None else made


def create_predictor(config: Config) -> PaddlePredictor:
    """Returns a predictor of the model that a `Config` names, in Paddle's words.

    Raises:
        FileMissingError, SavedFileError, UnknownOpError: as of `Predictor`.
    """
    return PaddlePredictor(config.prog_file)

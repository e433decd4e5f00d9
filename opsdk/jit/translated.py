"""TranslatedLayer: a layer whose `forward` is a Program that was loaded."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from opsdk.autograd.creation import to_tensor
from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import ArityError, DTypeError, LayerNameError, ProgramError, SavedFileError, ShapeError
from opsdk.core.spec import shape_text
from opsdk.jit.replay import Replay
from opsdk.jit.tracing import leaves
from opsdk.nn.layer.layer import Layer
from opsdk.nn.parameter import Parameter
from opsdk.static.build.input import InputSpec
from opsdk.static.files.model import FORWARD, Function, Kept, Model, write_model
from opsdk.static.files.values import read_tree
from opsdk.static.ir.program import Program
from opsdk.static.ir.variable import Variable

EVALUATED, TRAINED = FORWARD, f"{FORWARD}.train"  # the names of a layer's functions in a file

# Any, in this file: what a layer takes and gives.


def state_of(owner: Layer) -> list[tuple[str, Any, str]]:
    """Returns all that a layer keeps: the dotted name, the tensor, and which kind of state it is."""
    saved = owner.state_dict()
    pairs = [*owner.named_parameters(remove_duplicate=False), *owner.named_buffers(remove_duplicate=False)]
    return [(path, tensor, "transient" if path not in saved else kind_of(tensor)) for path, tensor in pairs]


def kind_of(tensor: Any) -> str:
    """Returns whether a tensor is a parameter or a buffer."""
    return "parameter" if isinstance(tensor, Parameter) else "buffer"


class TranslatedLayer(Layer):
    """What `jit.load` gives: a layer with the parameters and buffers of the one that was saved, under its names.

    It is called, trained, saved and used in Programs like any layer. It is in evaluation mode at first.

    Args:
        model: the files.

    Raises:
        SavedFileError: a Program in them is damaged.
        UnknownOpError: nobody here provides an op.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._subject = model.subject
        self._functions = {name: model.function(name) for name in model.names if name in (EVALUATED, TRAINED)}
        if EVALUATED not in self._functions:
            raise SavedFileError(f"{model.subject}: expected function {EVALUATED!r}, got {', '.join(model.names)}")
        self._evaluated_only = model.evaluated_only
        self._tensors: dict[str, Tensor] = {}
        for path, kept in model.state.items():
            try:
                self._place(path, kept, model)
            except LayerNameError as error:
                raise SavedFileError(
                    f"{model.subject}: {path[:60]!r} expected to be a part of a layer, {error}"
                ) from None
        self._replays = {name: self._replay(function) for name, function in self._functions.items()}
        Layer.train(self, False)

    def _place(self, path: str, kept: Kept, model: Model) -> None:
        """Gives the layer one tensor of its state, in a layer for each part of the dotted name."""
        name, kind, trainable = kept
        array = model.arrays[name]
        *parents, last = path.split(".")
        owner: Layer = self
        for part in parents:
            if part not in owner._sub_layers:
                owner.add_sublayer(part, Layer())
            owner = owner._sub_layers[part]
        if name not in self._tensors:  # which two paths may have in common
            self._tensors[name] = Parameter(array, trainable) if kind == "parameter" else to_tensor(array)
        held = self._tensors[name]
        if kind == "parameter":
            owner.add_parameter(last, held)  # type: ignore[arg-type]  # of that kind
        else:
            owner.register_buffer(last, held, kind == "buffer")

    def _replay(self, function: Function) -> Replay:
        for variable in function.program.list_vars():
            if variable.persistable and variable.name not in self._tensors:
                raise SavedFileError(f"{self._subject}: {variable.name!r} expected to be part of the state; damaged?")
        return Replay(function.program, function.names, self._subject)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Computes what the layer that was saved did.

        Raises:
            ArityError: other inputs than the layer was saved with.
            DTypeError, ShapeError: one does not fit its spec.
        """
        name = TRAINED if self.training and TRAINED in self._functions else EVALUATED
        function = self._functions[name]
        given = self._given(function, inputs, named)
        state = {name: tensor for name, tensor in self._tensors.items() if name in function.program.global_block().vars}
        made = self._replays[name]({**state, **given}, function.names)
        return read_tree(function.outputs, made.__getitem__)

    def _given(self, function: Function, inputs: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        known, names = function.program.global_block().vars, function.inputs
        flat = leaves(list(inputs))
        given = dict(zip(names, flat, strict=False))
        wrong = len(flat) > len(names) or any(name in given or name not in names for name in named)
        given |= named
        if wrong or len(given) < len(names):
            got = ", ".join([*[f"{len(flat)} by position"], *named])
            raise ArityError(f"{self._subject}: expected inputs {', '.join(names)}, got {got}")
        return {name: self._fitted(known[name], value) for name, value in given.items()}

    def _fitted(self, variable: Variable, value: Any) -> Any:
        value = to_tensor(value) if isinstance(value, (np.ndarray, list, int, float)) else value
        if not isinstance(value, (Tensor, Variable)):
            raise ArityError(
                f"{self._subject}, input {variable.name!r}: expected a tensor or an array, got {type(value).__name__}"
            )
        if value.dtype != variable.dtype:
            raise DTypeError(
                f"{self._subject}, input {variable.name!r}: expected {variable.dtype}, as it was saved, got "
                f"{value.dtype}; cast it"
            )
        sizes = value.spec.shape if isinstance(value, Variable) else tuple(value.shape)
        fits = len(sizes) == len(variable.spec.shape) and all(
            a is None or b is None or a == b for a, b in zip(sizes, variable.spec.shape, strict=True)
        )
        if not fits:
            raise ShapeError(
                f"{self._subject}, input {variable.name!r}: expected shape {shape_text(variable.spec.shape)}, as it "
                f"was saved, got {shape_text(sizes)}"
            )
        return value

    def train(self, mode: bool = True) -> TranslatedLayer:
        """Switches to training, or with False to evaluation; returns self.

        Raises:
            ProgramError: the layer could not be traced as it is trained, when it was saved.
        """
        if mode and self._evaluated_only:
            raise ProgramError(
                f"{self._subject}: expected to be evaluated only: tracing the layer as it is trained raised "
                f"{self._evaluated_only!r} when it was saved; mend that, and save it again"
            )
        return Layer.train(self, mode)

    def program(self, method_name: str = EVALUATED) -> Program:
        """Returns the Program of a function: `forward`, or `forward.train`.

        Raises:
            SavedFileError: the model has none of that name.
        """
        if method_name not in self._functions:
            raise SavedFileError(f"{self._subject}: expected one of {', '.join(self._functions)}, got {method_name!r}")
        return self._functions[method_name].program

    def input_spec(self) -> list[InputSpec]:
        """Returns what `forward` takes."""
        known = self._functions[EVALUATED].program.global_block().vars
        names = self._functions[EVALUATED].inputs
        return [InputSpec(known[name].spec.shape, known[name].dtype, name) for name in names]

    def save_to(self, path: str | os.PathLike[str]) -> None:
        """Saves the layer as `jit.save` does, with the values that it has now."""
        names = {id(tensor): name for name, tensor in self._tensors.items()}
        state = {
            path_to: Kept(names[id(tensor)], kind, not tensor.stop_gradient) for path_to, tensor, kind in state_of(self)
        }
        arrays = {name: tensor._values() for name, tensor in self._tensors.items()}
        write_model(path, self._functions, arrays, state, "jit.save", self._evaluated_only)

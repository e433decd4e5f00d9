"""`jit.save` and `jit.load`: a layer as three files, which are run and trained on without its Python code."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.core.origin import trimming
from opsdk.jit.to_static import StaticFunction, as_spec, traced_in
from opsdk.jit.tracing import Traced, trace
from opsdk.jit.translated import EVALUATED, TRAINED, TranslatedLayer, kind_of, state_of
from opsdk.nn.layer.layer import Layer
from opsdk.static.build.input import InputSpec
from opsdk.static.files import values
from opsdk.static.files.model import Function, Kept, Model, write_model
from opsdk.static.ir.variable import Variable


@trimming
def save(
    layer: Layer | Callable[..., Any],
    path: str | os.PathLike[str],
    input_spec: Sequence[Any] | None = None,
    output_spec: Sequence[Any] | None = None,
) -> None:
    """Saves a layer, or a function of tensors, with its structure: `path.pdmodel`, `.pdiparams`, `.pdiparams.info`.

    It is traced twice, as it is evaluated and as it is trained, so that what is loaded can be trained on. Ops stand in
    the file by name and version: whoever loads it needs the packages that they come from, and no code of the model.

    Args:
        layer: a layer, in either mode, hooks included; a function, of `to_static` or not; or what `jit.load` gave.
        path: what the names of the files begin with; folders on the way are made.
        input_spec: an `InputSpec` for each argument of `forward` that is a tensor, with None for sizes that may be any;
            tensors and arrays stand for their own shapes. Left out, it is what `to_static` was told, or its last call.
        output_spec: those of the outputs that are kept, by position; all unless given.

    Raises:
        AttributeValueError: there is no `input_spec`, it does not fit `forward`, or `layer` is neither.
        ProgramError: a call is of a callable that is no registered op, such as a py_func; or `forward` asks for the
            value of a tensor.
        ReturnError: `forward` returns something else than tensors, plain values and containers of them.
        FileWriteError: a file cannot be written.
    """
    subject = "jit.save"
    if isinstance(layer, TranslatedLayer) and input_spec is None:
        return layer.save_to(path)
    function = layer.forward if isinstance(layer, Layer) else layer
    if not callable(function):
        raise AttributeValueError(f"{subject}: layer expected a layer or a function, got {type(layer).__name__}")
    specs = _declared(function, input_spec, subject)
    if isinstance(function, StaticFunction):
        function = function.function
    called = layer if isinstance(layer, Layer) else function  # a layer's hooks are part of it
    owner = layer if isinstance(layer, Layer) else getattr(function, "__self__", None)
    modes = {EVALUATED: False, TRAINED: True} if isinstance(owner, Layer) else {EVALUATED: False}
    functions: dict[str, Function] = {}
    held: dict[str, Any] = {}  # Any: tensors by name
    reason = ""
    for name, mode in modes.items():
        try:
            traced = _traced(called, function, owner, specs, mode, subject)
        except Exception as error:  # of whatever a forward does while it is trained
            if not mode:
                raise
            reason = f"{type(error).__name__}: {error}"
            continue
        held |= traced.state
        functions[name] = _function(traced, output_spec, subject)
    state: dict[str, Kept] = {}
    for path_to, tensor, kind in state_of(owner) if isinstance(owner, Layer) else ():
        held[tensor.name] = tensor
        state[path_to] = Kept(tensor.name, kind, not tensor.stop_gradient)
    known = {kept.variable for kept in state.values()}
    for name in held.keys() - known:  # of a layer that a function calls
        state[name] = Kept(name, kind_of(held[name]), not held[name].stop_gradient)
    write_model(path, functions, {name: tensor._values() for name, tensor in held.items()}, state, subject, reason)


def load(path: str | os.PathLike[str]) -> TranslatedLayer:
    """Loads what `jit.save`, or `static.save_inference_model`, saved, as a layer in evaluation mode.

    Nothing of the files is run: ops are found by their names, in packages that are installed and announce them, or that
    were imported.

    Args:
        path: what the names of the files begin with.

    Raises:
        FileMissingError: a file is not there.
        SavedFileError: one is damaged, cut off, tampered with, or of a newer version.
        UnknownOpError: nobody here provides an op; the message says who, by what the file claims.
    """
    return TranslatedLayer(Model(path, "jit.load"))


# Any, below: arguments of every kind; functions of every signature.
def _declared(function: Any, input_spec: Sequence[Any] | None, subject: str) -> list[Any]:
    if input_spec is None and isinstance(function, StaticFunction):
        if function.input_spec is not None:
            input_spec = function.input_spec
        elif function._latest is not None:
            return [
                InputSpec(v.spec.shape, v.dtype, v.name, stop_gradient=v.stop_gradient) for v in function._latest.inputs
            ]
    if input_spec is None:
        raise AttributeValueError(
            f"{subject}: input_spec expected an InputSpec for each tensor that forward takes, got none; pass "
            "input_spec=[InputSpec([None, 784], 'float32')]"
        )
    if isinstance(input_spec, InputSpec) or not isinstance(input_spec, (list, tuple)):
        raise AttributeValueError(
            f"{subject}: input_spec expected a list, one entry for each argument, got {type(input_spec).__name__}"
        )
    return [as_spec(entry) for entry in input_spec]


def _traced(called: Any, function: Any, owner: Any, specs: list[Any], mode: bool, subject: str) -> Traced:
    def run(*args: Any) -> Any:
        return called(*args)

    run.__wrapped__ = function  # type: ignore[attr-defined]  # whose signature names the inputs
    run.__qualname__ = getattr(function, "__qualname__", "the function")
    if not isinstance(owner, Layer):
        return trace(run, specs, {}, subject)
    with traced_in(owner, mode):
        return trace(run, specs, {}, subject)


def _function(traced: Traced, output_spec: Sequence[Any] | None, subject: str) -> Function:
    outputs = traced.outputs
    if output_spec is not None:
        every = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        if not all(isinstance(at, int) and -len(every) <= at < len(every) for at in output_spec):
            raise AttributeValueError(
                f"{subject}: output_spec expected positions among {len(every)} outputs, got {list(output_spec)}"
            )
        outputs = [every[at] for at in output_spec]

    def name_of(value: Any) -> str | None:
        return value.name if isinstance(value, Variable) else None

    return Function(traced.program, [variable.name for variable in traced.inputs], values.tree(outputs, name_of))

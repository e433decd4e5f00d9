"""`fluid.dygraph`: from tensors to Programs and back, in the words of Paddle 1.8."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from opsdk.autograd.creation import to_tensor
from opsdk.core.errors import AttributeValueError
from opsdk.jit import enable_to_static, save, to_static
from opsdk.jit.to_static import StaticFunction
from opsdk.nn import Layer
from opsdk.static import disable_static

# Any, in this file: functions of every signature, places, arrays.
declarative = to_static
enable_imperative = disable_static


def guard(place: Any = None) -> AbstractContextManager[None]:
    """Returns a `with` block that changes nothing: calls on tensors run at once anywhere."""
    return nullcontext()


def to_variable(value: Any, name: str | None = None, zero_copy: bool | None = None) -> Any:
    """Returns a tensor of an array."""
    return to_tensor(value)


class ProgramTranslator:
    """What says whether `declarative` functions run as Programs, and saves them."""

    def enable(self, enable_declarative: bool = True) -> None:
        """Has `declarative` functions run as Programs, or with False as they are."""
        enable_to_static(enable_declarative)

    def save_inference_model(self, dirname: str, layer: Any = None, feed: Any = None, fetch: Any = None) -> None:
        """Saves what a layer or function computed at its last call, by `jit.save`.

        Args:
            dirname: what the names of the files begin with.
            layer: a `declarative` function, or a layer with a `forward` that is one.
            feed: accepted as in Paddle: all inputs are fed.
            fetch: positions of the outputs that are kept; all unless given.

        Raises:
            AttributeValueError: it is neither.
        """
        function = layer.forward if isinstance(layer, Layer) else layer
        if not isinstance(function, StaticFunction):
            raise AttributeValueError(
                "ProgramTranslator.save_inference_model: layer expected a declarative function, or a layer whose "
                f"forward is one, got {type(layer).__name__}"
            )
        save(layer, dirname, output_spec=fetch)


__all__ = ["Layer", "ProgramTranslator", "declarative", "enable_imperative", "guard", "to_variable"]

"""The tree that a layer prints as."""

from __future__ import annotations

from typing import Any


# Any: a layer of whichever class.
def layer_text(layer: Any) -> str:
    """Returns a layer and everything below it as text, children indented by two spaces."""
    extra = layer.extra_repr()
    children = [f"({name}): {layer_text(child)}" for name, child in layer._sub_layers.items() if child is not None]
    head = type(layer).__name__
    if not children and "\n" not in extra:
        return f"{head}({extra})"
    first, *rest = extra.split("\n")
    lines = [line for entry in (*rest, *children) for line in entry.split("\n")]
    return "\n".join([f"{head}({first}", *(f"  {line}" for line in lines), ")"])

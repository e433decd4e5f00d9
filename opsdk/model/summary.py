"""summary: the layers of a network, what they give for an input, and how many parameters they have."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from opsdk.autograd.creation import zeros
from opsdk.core.errors import AttributeValueError
from opsdk.core.modes import no_grad
from opsdk.nn.layer.layer import Layer


# Any, in this file: sizes and dtypes of one input or several, what layers take and give.
def summary(net: Layer, input_size: Any = None, dtypes: Any = None, input: Any = None) -> dict[str, int]:
    """Prints a table of a network's layers, as they run for an input of zeros, in evaluation mode.

    Args:
        net: the network.
        input_size: the shape of its input, or a list of the shapes of several; None or -1 is 1.
        dtypes: of the inputs, one for all or one each; float32 unless given.
        input: an input to run instead, or several.

    Returns:
        `total_params` and `trainable_params`, the numbers of elements.

    Raises:
        AttributeValueError: neither a size nor an input.
    """
    rows: list[tuple[str, str, str, int]] = []
    handles = [
        layer.register_forward_post_hook(_noted(rows)) for layer in net.sublayers() if not list(layer.children())
    ]
    modes = [(layer, layer.training) for layer in net.sublayers(include_self=True)]
    try:
        net.eval()
        with no_grad():
            net(*_inputs(input_size, dtypes, input))
    finally:
        for handle in handles:
            handle.remove()
        for layer, mode in modes:
            layer.training = mode
    sizes = [(int(param.size), not param.stop_gradient) for param in net.parameters()]
    total, trainable = sum(size for size, _ in sizes), sum(size for size, trained in sizes if trained)
    table = [("Layer (type)", "Input Shape", "Output Shape", "Param #"), *[(*row[:3], f"{row[3]:,}") for row in rows]]
    widths = [max(len(row[i]) for row in table) + 3 for i in range(4)]
    lines = ["".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
    rule = "=" * sum(widths)
    counts = (
        f"Total params: {total:,}",
        f"Trainable params: {trainable:,}",
        f"Non-trainable params: {total - trainable:,}",
    )
    sys.stdout.write("\n".join(["-" * sum(widths), lines[0], rule, *lines[1:], rule, *counts, ""]))
    return {"total_params": total, "trainable_params": trainable}


def _noted(rows: list[tuple[str, str, str, int]]) -> Callable[..., None]:
    def note(layer: Any, inputs: Any, outputs: Any) -> None:
        count = sum(int(param.size) for param in layer.parameters())
        rows.append((f"{type(layer).__name__}-{len(rows) + 1}", _shapes(inputs), _shapes(outputs), count))

    return note


def _shapes(values: Any) -> str:
    if isinstance(values, (list, tuple)):
        return f"[{', '.join(_shapes(each) for each in values)}]"
    return str(list(values.shape)) if hasattr(values, "shape") else type(values).__name__


def _inputs(input_size: Any, dtypes: Any, given: Any) -> Sequence[Any]:
    if given is not None:
        return given if isinstance(given, (list, tuple)) else [given]
    if input_size is None:
        raise AttributeValueError("summary: expected an input_size or an input, got neither")
    several = isinstance(input_size, list) and all(isinstance(each, (list, tuple)) for each in input_size)
    sizes = input_size if several else [input_size]
    kinds = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes or "float32"] * len(sizes)
    return [
        zeros([1 if each in (None, -1) else each for each in ([size] if isinstance(size, int) else size)], kind)
        for size, kind in zip(sizes, kinds, strict=True)
    ]

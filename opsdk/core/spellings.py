"""Keywords that PyTorch and NumPy have for arguments of functions here: one table, for functions and built-in ops."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

# A keyword that a function does not have, and what it may be called there.
KEYWORDS = {
    "a_max": ("max",),
    "a_min": ("min",),
    "anchor": ("input",),
    "axis": ("dim",),
    "boundaries": ("sorted_sequence",),
    "dilation": ("dilations",),
    "dim": ("axis", "axes"),
    "dim0": ("axis0",),
    "dim1": ("axis1",),
    "dim2": ("axis2",),
    "dims": ("axis", "axes", "perm"),
    "elements": ("x",),
    "end_dim": ("stop_axis",),
    "eps": ("epsilon",),
    "exponent": ("y",),
    "indices": ("index",),
    "indices_or_sections": ("num_or_indices",),
    "input": ("x",),
    "input1": ("x1",),
    "input2": ("x2",),
    "keepdims": ("keepdim",),
    "kernel_size": ("kernel_sizes",),
    "lambd": ("threshold",),
    "logits": ("x",),
    "max_val": ("max",),
    "min_val": ("min",),
    "other": ("y", "value"),
    "output_size": ("output_sizes",),
    "pad": ("padding",),
    "padding": ("paddings",),
    "repeats": ("repeat_times",),
    "self": ("x", "input"),
    "size": ("shape", "out_shape"),
    "sizes": ("shape",),
    "source": ("values", "value"),
    "split_size_or_sections": ("num_or_sections",),
    "src": ("values", "updates", "value"),
    "start_dim": ("start_axis",),
    "stride": ("strides",),
    "target": ("label", "labels"),
    "target_lengths": ("label_lengths",),
    "targets": ("labels",),
    "tau": ("temperature",),
    "tensors": ("x", "inputs"),
    "test_elements": ("test_x",),
    "unflattened_size": ("shape",),
    "var": ("variance",),
    "vec2": ("y",),
    "x": ("input",),
    "x1": ("x",),
    "x2": ("y",),
}


def own_word(name: str, known: Collection[str]) -> str:
    """Returns what a function calls an argument, of the names that it has; the name itself where it has none."""
    return name if name in known else next((each for each in KEYWORDS.get(name, ()) if each in known), name)


# Any: the values of a call.
def renamed(options: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Returns keyword arguments under the names that a function has for them; those without one as they are."""
    made = dict(options)
    for name in [name for name in options if name not in known]:
        here = next((each for each in KEYWORDS.get(name, ()) if each in known and each not in made), None)
        if here is not None:
            made[here] = made.pop(name)
    return made


def spelled(function: Callable[..., Any], torchs: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Returns a function that takes the keywords of this table too.

    Args:
        function: of named parameters.
        torchs: takes the call where `dim` or `dim0` is among the keywords, or a number stands for it after the value:
            what only PyTorch spells so has PyTorch's result.
    """
    known = frozenset(inspect.signature(function).parameters)
    by_place = torchs is not None and getattr(torchs, "by_place", False)
    asked = None if torchs is None else frozenset(inspect.signature(torchs).parameters)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if torchs is not None and asked is not None:
            is_torchs = "dim" in options or "dim0" in options or (by_place and len(args) > 2 and type(args[1]) is int)
            if is_torchs:
                return torchs(*args, **renamed(options, asked))
        if options and not known.issuperset(options):
            options = renamed(options, known)
        return function(*args, **options)

    return call

"""Keywords that PyTorch and NumPy have for arguments of functions here: one table, for functions and built-in ops."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, MutableMapping
from types import FunctionType
from typing import Any

# A keyword that a function does not have, and what it may be called there.
KEYWORDS = {
    "N": ("n",),
    "a_max": ("max",),
    "a_min": ("min",),
    "anchor": ("input",),
    "axis": ("dim",),
    "b": ("y",),
    "batch1": ("x",),
    "batch2": ("y",),
    "boundaries": ("sorted_sequence",),
    "diagonal": ("offset",),
    "dilation": ("dilations",),
    "dim": ("axis", "axes"),
    "dim0": ("axis0",),
    "dim1": ("axis1",),
    "dim2": ("axis2",),
    "dimension": ("axis",),
    "dims": ("axis", "axes", "perm", "repeat_times"),
    "elements": ("x",),
    "end": ("stop", "y"),
    "end_dim": ("stop_axis",),
    "eps": ("epsilon",),
    "exponent": ("y",),
    "indices": ("index", "num_or_indices"),
    "indices_or_sections": ("num_or_indices",),
    "input": ("x",),
    "input1": ("x1",),
    "input2": ("x2", "other"),
    "keepdims": ("keepdim",),
    "kernel_size": ("kernel_sizes",),
    "lambd": ("threshold",),
    "logits": ("x",),
    "m": ("num_columns",),
    "mat1": ("x",),
    "mat2": ("y",),
    "max_val": ("max",),
    "maxnorm": ("max_norm",),
    "min_val": ("min",),
    "n": ("num_rows",),
    "other": ("y", "value"),
    "output_size": ("output_sizes",),
    "pad": ("padding",),
    "padding": ("paddings",),
    "repeats": ("repeat_times",),
    "return_indices": ("return_mask",),
    "sections": ("num_or_indices",),
    "self": ("x", "input"),
    "size": ("shape", "out_shape"),
    "sizes": ("shape",),
    "source": ("values", "value"),
    "split_size": ("num_or_sections",),
    "split_size_or_sections": ("num_or_sections",),
    "src": ("values", "updates", "value", "y"),
    "start_dim": ("start_axis",),
    "steps": ("num",),
    "storage_offset": ("offset",),
    "stride": ("strides",),
    "target": ("label", "labels"),
    "target_lengths": ("label_lengths",),
    "targets": ("labels",),
    "tau": ("temperature",),
    "tensor": ("y",),
    "tensors": ("x", "inputs"),
    "test_elements": ("test_x",),
    "unflattened_size": ("shape",),
    "value": ("values",),
    "values": ("value", "y"),
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
    """Returns keyword arguments under the names that a function has for them; those without one as they are.

    `name`, which Paddle has everywhere, is taken where it means nothing.
    """
    made = dict(options)
    if "name" in made and "name" not in known and isinstance(made["name"], (str, type(None))):
        del made["name"]
    for name in [name for name in made if name not in known]:
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


def spell(names: MutableMapping[str, Any]) -> None:
    """Makes every public function of a module, by whose names it is called, take the keywords of this table too."""
    for name, value in list(names.items()):
        if isinstance(value, FunctionType) and value.__module__ == names["__name__"] and not name.startswith("_"):
            names[name] = spelled(value)

"""One call of the sweep in one library, and what two libraries gave beside each other."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.peers.inputs import CONSTANT, arrays
from tests.peers.library import Library

# What a call draws at random is compared by shape and dtype alone.
_RANDOM = """
    bernoulli bernoulli_ cauchy_ dropout dropout2d dropout3d alpha_dropout empty empty_like exponential_ geometric_
    gumbel_softmax AlphaDropout RReLU log_normal
    log_normal_ multinomial new_empty normal normal_ poisson rand rand_like randint randint_like randn randn_like
    random_ randperm rrelu rrelu_ standard_normal uniform uniform_ Dropout Dropout1d Dropout2d Dropout3d Dropout2D
    Dropout3D
"""
RANDOM = frozenset(_RANDOM.split())
_TOLERANCE = {"float64": (1e-6, 1e-9), "float32": (2e-3, 1e-4)}


class NotOfThis(Exception):
    """The call has no tensor first, so it is none of a method."""


@dataclass
class Outcome:
    """What came of a call: leaves in order, gradients by input, or what was raised."""

    leaves: list[Any] = field(default_factory=list)
    gradients: dict[str, Any] = field(default_factory=dict)
    raised: BaseException | None = None


class _Values(dict):
    """Tensors by name, made when a call asks for them."""

    def __init__(self, library: Library, dtype: str, extra: Mapping[str, Any]) -> None:
        super().__init__(extra)
        self.library, self.dtype = library, dtype
        self.leaves: dict[str, Any] = {}

    def __missing__(self, name: str) -> Any:
        if name == "numpy_array":
            return arrays()["x"].copy()
        if name not in arrays():
            raise KeyError(name)
        array = arrays()[name]
        if array.dtype.kind == "f":
            array = array.astype(self.dtype)
        if array.dtype.kind == "c":
            array = array.astype({"float32": "complex64", "float64": "complex128"}[self.dtype])
        needs = array.dtype.kind in "fc" and (name == "z" or name not in CONSTANT)
        self.leaves[name] = self[name] = self.library.tensor(array.copy(), needs)
        return self[name]


def run(
    library: Library,
    surface: str,
    name: str,
    text: str,
    dtype: str,
    state: Any = None,
    words: Sequence[str] = (),
) -> Outcome:
    """Runs one call, then a backward of what it gave.

    Args:
        state: of a layer: called with the layer that was made, sets its parameters and keeps hold of it.
        words: what all arguments but the first are called, where they are to be given by name.
    """
    target = None if surface == "method" else getattr(library.owners[surface], name)
    in_place = name.endswith("_")
    changed: list[Any] = []

    def call(*args: Any, **options: Any) -> Any:
        if words:
            args, options = args[:1], {**dict(zip(words, args[1:], strict=False)), **options}
        if surface == "method":
            if not args or not library.is_tensor(args[0]):
                raise NotOfThis
            first, *args = args
            first = _apart(first, changed) if in_place else first
            return getattr(first, name)(*args, **options)
        if surface == "layer":
            made = target(*args, **options)
            state(made)
            return made
        if in_place and library.is_tensor(args[0]):
            args = (_apart(args[0], changed), *args[1:])
        return target(*args, **options)

    values = _Values(library, dtype, {"f": call})
    outcome = Outcome()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            given = eval("f" + text, {}, values)
            outcome.leaves = [_leaf(library, each) for each in [*_flat(library, given), *changed]]
            outcome.leaves += [
                ("changed", library.array(values[n])) for n in values.leaves if n in ("means", "variances")
            ]
        except NotOfThis:
            raise
        except Exception as error:
            return Outcome(raised=error)
        try:
            outcome.gradients = _gradients(library, _flat(library, given), values.leaves)
        except Exception as error:
            outcome.gradients = {"": error}
    return outcome


def _apart(first: Any, changed: list[Any]) -> Any:
    first = first.clone()
    changed.append(first)
    return first


def _flat(library: Library, value: Any) -> list[Any]:
    if library.is_tensor(value):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for each in value for leaf in _flat(library, each)]
    return [value]


def _leaf(library: Library, value: Any) -> tuple[str, Any]:
    if library.is_tensor(value):
        if str(value.dtype).endswith("bfloat16"):
            value = value.float() if library.name == "torch" else value.astype("float32")
            return "tensor", library.array(value).astype("float32")
        return "tensor", library.array(value).copy()
    if isinstance(value, np.ndarray):
        return "array", value
    return "plain", value


def _gradients(library: Library, values: list[Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    total = None
    for value in values:
        if library.is_tensor(value) and library.is_tracked(value):
            array = library.array(value)
            if array.dtype.kind not in "fc" or not array.size:
                continue
            weight = np.cos(np.arange(array.size) * 1.3 + 0.2).reshape(array.shape).astype(array.dtype)
            term = (value * library.tensor(weight, False)).sum()
            if array.dtype.kind == "c":
                term = term.real if library.name == "torch" else term.real()
            term = term.double() if library.name == "torch" else term.astype("float64")
            total = term if total is None else total + term
    if total is None:
        return {}
    total.backward()
    found = {}
    for name, tensor in inputs.items():
        if tensor.grad is not None:
            found[name] = library.array(tensor.grad)
    return found


def compare(name: str, ours: Outcome, theirs: Outcome, dtype: str) -> dict[str, str]:
    """Returns how two outcomes differ, by aspect."""
    if len(ours.leaves) != len(theirs.leaves):
        return {"structure": f"{len(ours.leaves)} results here, {len(theirs.leaves)} there"}
    found: dict[str, str] = {}
    for (kind, here), (kind_there, there) in zip(ours.leaves, theirs.leaves, strict=True):
        if kind != kind_there:
            found.setdefault("kind", f"{kind} here, {kind_there} there")
            here, there = np.asarray(here), np.asarray(there)
        elif kind == "plain":
            if not _is_same_plain(here, there):
                found.setdefault("value", "other value")
            continue
        found |= {k: v for k, v in _array_difference(name, here, there, dtype).items() if k not in found}
    if name not in RANDOM and "value" not in found:
        found |= _gradient_difference(ours.gradients, theirs.gradients, dtype)
    return found


def _is_same_plain(here: Any, there: Any) -> bool:
    if isinstance(here, (bool, int, float, complex, str, type(None))):
        return bool(here == there) or str(here) == str(there) or (here != here and there != there)
    return True


def _array_difference(name: str, here: np.ndarray, there: np.ndarray, dtype: str) -> dict[str, str]:
    if here.shape != there.shape:
        return {"shape": "other shape"}
    found = {}
    if here.dtype != there.dtype:
        found["dtype"] = f"{here.dtype} here, {there.dtype} there"
    if name not in RANDOM and not _is_close(here, there, dtype):
        found["value"] = "other value"
    return found


def _is_close(here: np.ndarray, there: np.ndarray, dtype: str) -> bool:
    if here.dtype.kind not in "fciub" or there.dtype.kind not in "fciub":
        return str(here) == str(there)
    relative, absolute = _TOLERANCE[dtype]
    if here.dtype.itemsize < 4 or there.dtype.itemsize < 4 or np.float16 in (here.dtype, there.dtype):
        relative = absolute = 2e-2
    elif "float32" in (str(here.dtype), str(there.dtype)):
        relative, absolute = _TOLERANCE["float32"]
    scale = absolute * (1 + np.max(np.abs(there[np.isfinite(there)]), initial=0))
    return bool(np.allclose(here, there, rtol=relative, atol=scale, equal_nan=True))


def _gradient_difference(ours: dict[str, Any], theirs: dict[str, Any], dtype: str) -> dict[str, str]:
    if "" in theirs:
        return {}
    if "" in ours:
        return {"gradient": f"refused here: {type(ours['']).__name__}"}
    for name in sorted(theirs.keys() | ours.keys()):
        here, there = ours.get(name), theirs.get(name)
        if here is None or there is None:
            one = here if there is None else there
            side = (
                ("none", "zeros" if not np.any(one) else "one")
                if here is None
                else ("zeros" if not np.any(one) else "one", "none")
            )
            return {"gradient": f"{side[0]} here, {side[1]} there"}
        if here.shape != there.shape or not _is_close(here, there, dtype):
            return {"gradient": "other gradient"}
    return {}


def _said(gradient: Any) -> str:
    return "none" if gradient is None else "one" if np.any(gradient) else "zeros"

"""The sweep: every name that opsdk shares with PyTorch or Paddle, called in both, and how the results differ.

`python -m tests.peers.sweep torch` writes `tests/peers/torch.json`, where PyTorch is installed beside opsdk and
what it needs; `paddle` the other. No test needs either: they hold the page and the reasons to what was recorded.
"""

from __future__ import annotations

import inspect
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.peers.calls import CALLS, FUNCTIONAL
from tests.peers.layers import LAYERS
from tests.peers.library import SURFACES, Library
from tests.peers.running import NotOfThis, Outcome, compare, run

HERE = Path(__file__).parent
DIM = {"torch": ("dim", "dim1", "dim2"), "paddle": ("axis", "axis1", "axis2")}
# Keywords that say where and how a result lies, or what a library no longer wants; opsdk takes some of them.
_WORDS = """
    out device layout pin_memory memory_format requires_grad size_average reduce _stacklevel generator non_blocking
    dtype place blocking copy inplace use_cudnn data_format sparse names self input x weight_attr bias_attr is_test
    scale_grad_by_freq
"""
UNCOMPARED_WORDS = frozenset(_WORDS.split())


def texts(peer: str, surface: str, name: str) -> list[str]:
    """Returns the calls of a name in one peer's words."""
    tables = {"layer": [LAYERS], "functional": [FUNCTIONAL, CALLS]}.get(surface, [CALLS, FUNCTIONAL])
    for base in dict.fromkeys((name, name.rstrip("_"))):
        found = [
            text.removeprefix(f"{peer} ").format(**dict(zip(("dim", "dim1", "dim2"), DIM[peer], strict=True)))
            for table in tables
            for text, names in table.items()
            if (text[0] == "(" or text.startswith(f"{peer} ")) and {base, f"{peer}:{base}"} & set(names.split())
        ]
        if found:
            return list(dict.fromkeys(found))
    return []


class Sweep:
    """Calls names in both libraries.

    Args:
        peer: "torch" or "paddle".
    """

    def __init__(self, peer: str) -> None:
        self.ours, self.theirs = Library("opsdk"), Library(peer)
        self.peer = peer
        self.good: list[str] = []  # the calls of a name that the peer takes

    def all(self, only: str | None = None) -> dict[str, Any]:
        """Returns the peer's public names, and what was found of the shared ones."""
        names = {surface: sorted(self.theirs.public(surface)) for surface in SURFACES}
        found = {}
        for surface in SURFACES:
            for name in sorted(set(names[surface]) & self.ours.public(surface)):
                if only is None or only == f"{surface}.{name}":
                    found[f"{surface}.{name}"] = self.name(surface, name)
        return {"version": self.theirs.root.__version__, "names": names, "found": found}

    def name(self, surface: str, name: str) -> dict[str, Any]:
        """Returns the number of compared calls of a name, and the differences by aspect."""
        record: dict[str, Any] = {"calls": 0}
        differs: dict[str, list[str]] = {}
        self.good, refused = [], []
        for text in texts(self.peer, surface, name):
            try:
                result = self._pair(surface, name, text)
            except NotOfThis:
                continue
            if result is None:
                refused.append(text)
                continue
            record["calls"] += 1
            self.good.append(text)
            for aspect, said in result.items():
                differs.setdefault(aspect, []).append(f"{text}: {said}")
        if self.good:
            good = self.good[0]
            said_of = (
                self._keywords(surface, name, good),
                self._misuse(surface, name, good),
                self._by_name(surface, name),
            )
            for aspect, said in itertools.chain(*said_of):
                differs.setdefault(aspect, []).append(said)
        if differs:
            record["differs"] = differs
        if refused and not record["calls"]:
            record["refused"] = refused
        return record

    def _pair(self, surface: str, name: str, text: str) -> dict[str, str] | None:
        """Compares one call in both dtypes; None where the peer refuses it."""
        found: dict[str, str] | None = None
        for dtype in ("float64", "float32") if surface != "layer" else ("float32",):
            ours, theirs = self._run(surface, name, text, dtype)
            if theirs.raised is not None:
                continue
            found = {} if found is None else found
            if ours.raised is not None:
                found.setdefault("refused", f"{type(ours.raised).__name__}: {str(ours.raised)[:90]}")
            else:
                for aspect, said in compare(name, ours, theirs, dtype).items():
                    found.setdefault(aspect, said)
        return found

    def _run(self, surface: str, name: str, text: str, dtype: str) -> tuple[Outcome, Outcome]:
        if surface != "layer":
            return run(self.ours, surface, name, text, dtype), run(self.theirs, surface, name, text, dtype)
        kept: list[Any] = []
        ours = run(self.ours, surface, name, text, dtype, lambda layer: kept.append(self._fill(layer)))
        kept_there: list[Any] = []
        state = kept[0][1] if kept else {}
        theirs = run(self.theirs, surface, name, text, dtype, lambda layer: kept_there.append(self._load(layer, state)))
        if kept and kept_there and not ours.raised and not theirs.raised:
            ours.gradients |= self._of_parameters(kept[0][0])
            theirs.gradients |= {
                f"parameter {n.lstrip('_')}": self.theirs.array(p.grad)
                for n, p in kept_there[0].named_parameters()
                if p.grad is not None
            }
        return ours, theirs

    def _fill(self, layer: Any) -> tuple[Any, dict[str, np.ndarray]]:
        for number, parameter in enumerate(layer.parameters()):
            count = int(np.prod(parameter.shape))
            value = 0.4 * np.sin(np.arange(count) * 1.7 + number + 0.3).reshape(parameter.shape)
            parameter.set_value(value.astype(str(parameter.numpy().dtype)))
        return layer, self._state(layer)

    def _state(self, layer: Any) -> dict[str, np.ndarray]:
        if self.peer == "torch":
            return layer.to_torch_state_dict(numpy=True)
        return {name: tensor.numpy().copy() for name, tensor in layer.state_dict().items()}

    def _load(self, layer: Any, state: dict[str, np.ndarray]) -> Any:
        tensors = {name: self.theirs.tensor(np.array(array), False) for name, array in state.items()}
        if self.peer == "torch":
            layer.load_state_dict(tensors)
        else:
            own = layer.state_dict()  # which has the weights of a recurrent layer under two names each
            unknown = layer.set_state_dict({name if name in own else f"_{name}": t for name, t in tensors.items()})[1]
            assert not unknown, unknown
        return layer

    def _of_parameters(self, layer: Any) -> dict[str, np.ndarray]:
        """Returns the gradients of a layer under the peer's names, in its layout: as values of the parameters."""
        named = dict(layer.named_parameters())
        gradients = {name: each.grad.numpy().copy() for name, each in named.items() if each.grad is not None}
        for name, gradient in gradients.items():
            named[name].set_value(gradient)
        state = self._state(layer)
        if self.peer == "paddle":
            return {f"parameter {n}": state[n] for n in gradients}
        buffers = ("running_mean", "running_var", "num_batches_tracked")
        return {f"parameter {n}": array for n, array in state.items() if not n.endswith(buffers)}

    def _by_name(self, surface: str, name: str) -> list[tuple[str, str]]:
        """Gives the arguments after the first by the peer's names, which have to be taken."""
        found: dict[str, None] = {}
        for text in self.good if surface != "layer" else ():
            for words in parameters(self.theirs, surface, name):
                theirs = run(self.theirs, surface, name, text, "float32", words=words)
                if theirs.raised is None:
                    ours = run(self.ours, surface, name, text, "float32", words=words)
                    plain = run(self.ours, surface, name, text, "float32")
                    if isinstance(ours.raised, TypeError) and plain.raised is None:
                        found[str(ours.raised).split("; ")[0][:90]] = None
                    break
        return [("keyword", said) for said in found]

    def _keywords(self, surface: str, name: str, text: str) -> list[tuple[str, str]]:
        """Gives the peer's keywords with their defaults: they have to be taken, and to change nothing."""
        if name.endswith("_"):
            return []
        head, tail = (text, "") if surface != "layer" else (text[: text.index(")") + 1], text[text.index(")") + 1 :])
        plain_ours, plain_theirs = self._run(surface, name, text, "float32")
        found = []
        for word, default in defaults(self.theirs, surface, name):
            if word in UNCOMPARED_WORDS or f"{word}=" in text:
                continue
            said = head[:-1] + (", " if head[:-1].strip("(") else "") + f"{word}={default!r})" + tail
            ours, theirs = self._run(surface, name, said, "float32")
            if theirs.raised or compare(name, theirs, plain_theirs, "float32"):
                continue
            if ours.raised:
                found.append(("keyword", f"{word}={default!r}"))
            elif not plain_ours.raised and compare(name, ours, plain_ours, "float32"):
                found.append(("default", f"{word}={default!r} there"))
        return found

    def _misuse(self, surface: str, name: str, text: str) -> list[tuple[str, str]]:
        cut = text.index(")") if surface == "layer" else len(text) - 1
        joint = ", " if text[:cut].strip("(") else ""
        wrong = {"an unknown keyword": text[:cut] + f"{joint}nonsense=1" + text[cut:]}
        if surface not in ("method", "layer"):
            wrong["an object that is none"] = "(object())"
        dim = DIM[self.peer][0]
        with_dim = [each for each in texts(self.peer, surface, name) if f"{dim}=0" in each or f"{dim}=1" in each]
        if with_dim and surface != "layer":
            wrong["an axis out of range"] = with_dim[0].replace(f"{dim}=0", f"{dim}=9").replace(f"{dim}=1", f"{dim}=9")
        if text.startswith("(x, y"):
            wrong["shapes that do not fit"] = text.replace("(x, y", "(x, v3", 1)
        if surface == "layer" and text.endswith("(x)"):
            wrong["an object that is none"] = text[:-3] + "(object())"
        found = []
        for what, said in wrong.items():
            try:
                ours, theirs = self._run(surface, name, said, "float32")
            except NotOfThis:
                continue
            if theirs.raised is None and ours.raised is None:
                continue
            here, there = _builtin(ours.raised), _builtin(theirs.raised)
            if theirs.raised is None:
                found.append(("error", f"{what}: {here} here, nothing there"))
            elif ours.raised is None:
                found.append(("error", f"{what}: nothing here, {there} there"))
            elif not isinstance(ours.raised, _class(theirs.raised)):
                found.append(("error", f"{what}: {here} here, {there} there"))
        return found


def _class(error: BaseException) -> type:
    return next(each for each in type(error).__mro__ if each.__module__ == "builtins")


def _builtin(error: BaseException | None) -> str:
    return "" if error is None else _class(error).__name__


def defaults(library: Library, surface: str, name: str) -> list[tuple[str, Any]]:
    """Returns the parameters of a peer's name that have plain defaults."""
    target = getattr(library.owners[surface], name)
    target = target.__init__ if surface == "layer" else target
    try:
        parameters = inspect.signature(target).parameters.values()
        found = [(p.name, p.default) for p in parameters if p.default is not p.empty]
    except (TypeError, ValueError):
        found = _of_schemas(library, name)
    plain = (bool, int, float, str, type(None))
    return [(word, value) for word, value in dict(found).items() if isinstance(value, plain)]


def parameters(library: Library, surface: str, name: str) -> list[list[str]]:
    """Returns what the parameters after the first are called, in each form that a peer's name has."""
    target = getattr(library.owners[surface], name)
    try:
        return [[*inspect.signature(target).parameters][1:]]
    except (TypeError, ValueError):
        get = getattr(library.root._C, "_jit_get_schemas_for_operator", lambda name: [])
        return [[each.name for each in schema.arguments][1:] for schema in get(f"aten::{name}")]


def _of_schemas(library: Library, name: str) -> list[tuple[str, Any]]:
    if library.name != "torch":
        return []
    get = library.root._C._jit_get_schemas_for_operator
    found: dict[str, list[Any]] = {}
    for schema in get(f"aten::{name}"):
        for each in schema.arguments:
            if each.has_default_value():
                found.setdefault(each.name, []).append(each.default_value)
    return [(word, values[0]) for word, values in found.items() if all(v == values[0] for v in values)]


def written(found: dict[str, Any]) -> str:
    """Returns what was found as the text that is kept: a name a line."""
    lines = [f'{{"version": {json.dumps(found["version"])},', '"names": {']
    lines.append(",\n".join(f"{json.dumps(s)}: {json.dumps(' '.join(names))}" for s, names in found["names"].items()))
    lines += ["},", '"found": {']
    lines.append(",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in found["found"].items()))
    return "\n".join([*lines, "}}"]) + "\n"


if __name__ == "__main__":
    PEER = sys.argv[1]
    MADE = Sweep(PEER).all(*sys.argv[2:3])
    if len(sys.argv) > 2:
        print(json.dumps(MADE["found"], indent=1))
    else:
        (HERE / f"{PEER}.json").write_text(written(MADE), encoding="utf-8")

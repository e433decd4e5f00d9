"""`device=` and `dtype=` for the layers that PyTorch gives them: where parameters lie, and what they are numbers of."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from functools import wraps
from typing import Any

from opsdk.nn.layer.layer import Layer
from opsdk.nn.layer.tree import DTYPE

_WORDS = {"device": "Any", "dtype": "DTypeLike | None"}


def place(layers: Iterable[type[Layer]]) -> None:
    """Makes layers with parameters take `device=` and `dtype=`, where they have no such word of their own.

    The dtype is that of every parameter and buffer that the layer makes while it begins, in the layers that it is made
    of too; initial values are drawn in it. A subclass that hands the words on to these constructors has them as well.
    """
    for layer in layers:
        begin = layer.__init__
        signature = inspect.signature(begin)
        missing = [word for word in _WORDS if word not in signature.parameters]
        if missing and not any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values()):
            layer.__init__ = _placing(begin, signature, missing)  # type: ignore[method-assign]


# Any: constructors of every signature.
def _placing(begin: Any, signature: inspect.Signature, missing: list[str]) -> Any:
    @wraps(begin)
    def __init__(self: Layer, *args: Any, **options: Any) -> None:
        told = {word: options.pop(word) for word in missing if word in options}
        if told.get("dtype") is None:
            begin(self, *args, **options)
        else:
            with DTYPE.held(told["dtype"]):
                begin(self, *args, **options)
        if told.get("device") is not None:
            self.to(told["device"])

    rest = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    more = [each for each in signature.parameters.values() if each.kind is each.VAR_KEYWORD]
    added = [
        inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_WORDS[word])
        for word in missing
    ]
    __init__.__signature__ = signature.replace(parameters=[*rest, *added, *more])  # type: ignore[attr-defined]
    return __init__

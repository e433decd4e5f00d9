"""Anomaly mode: a backward that fails, or gives nan, says which call it belongs to, and where that was made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opsdk.autograd.modes.seen import new_nodes, number, see
from opsdk.core.fit import as_bool
from opsdk.core.origin import caller
from opsdk.define.frontend import dispatch
from opsdk.define.interceptors import Interceptor, switch
from opsdk.define.opdef import OpDef


# Any, in this file: the values of a call.
class detect_anomaly(Interceptor):
    """Has the backward of each call made inside of it say where that call was made, and refuse nan.

    It is the call that has to be inside; where the backward is does not matter. Of a call in a recorded backward both
    places are said: that of the backward, and that of the call which it goes back through.

    Args:
        check_nan: whether a gradient with nan is an error, where none entered.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = as_bool(check_nan, "detect_anomaly: check_nan")

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Notes where a call was made."""
        return self.function(dispatch, (opdef, inputs, attrs))

    def function(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Notes where a call was made."""
        start = number()
        made = function(*args)
        at = str(caller())
        for node in new_nodes(made, start):
            see(node)
            if node.used_at is None or node.used_at == at:
                node.used_at, node.finds_nan = at, self._check_nan  # type: ignore[attr-defined]
        return made


class set_detect_anomaly(detect_anomaly):
    """Switches anomaly mode on or off: from here on as a statement, or for the length of a `with` block.

    Args:
        mode: whether calls are watched.
        check_nan: as of `detect_anomaly`.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        self._undo = switch(detect_anomaly, self if as_bool(mode, "set_detect_anomaly: mode") else None)

    def __enter__(self) -> set_detect_anomaly:
        return self

    def __exit__(self, *raised: object) -> None:
        self._undo()

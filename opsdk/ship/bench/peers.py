"""Peers: what others offer for the same op, from a file of the user's, timed beside its kernels.

The file has a dictionary PEERS: by name of an op, or of its gradient op, and name of a peer, a function that makes what
is timed. It names what it wants, as a backward does: inputs and attributes of the op, for a gradient op also outputs
and `d<output>`; `threads` is how many threads it may use. What it imports, it imports inside, so that one that is not
installed is known by the ImportError.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from opsdk.core.errors import TargetError
from opsdk.core.origin import shorten
from opsdk.define.opdef import OpDef
from opsdk.define.schema.binding import called_by_name, parameters_among
from opsdk.ship.bench.result import Measured
from opsdk.ship.bench.right import Truth
from opsdk.ship.targets.loading import broken

THREADS = "threads"
# By op and peer: takes arrays and attributes, returns what is timed, which returns arrays (any: of the peer's kind).
Peers = Mapping[str, Mapping[str, Callable[..., Callable[[], Any]]]]
_FORM = 'PEERS = {"opsdk::relu": {"torch": function}}'


def load_peers(path: str) -> Peers:
    """Returns the PEERS of a file.

    Raises:
        TargetError: there is no such file, or no such dictionary in it.
        BrokenDefinitionError: the file raises.
    """
    if not Path(path).is_file():
        raise TargetError(f"--peers: expected a file, there is none at {path}; it holds {_FORM}")
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        found = runpy.run_path(path).get("PEERS")
    except Exception as error:
        raise broken(error, shorten(path)) from error
    finally:
        sys.path.pop(0)
    if not isinstance(found, Mapping) or not all(
        isinstance(peers, Mapping) and all(map(callable, peers.values())) for peers in found.values()
    ):
        raise TargetError(f"--peers: expected functions by op and peer in {shorten(path)}; write {_FORM}")
    return found


def check_peers(peers: Peers, forward: OpDef, *, backward: bool) -> str:
    """Checks that the peers of an op ask for nothing that it does not have; returns the op that they belong to.

    Raises:
        BindingError: one does.
    """
    schema, grad = forward.schema, forward.grad
    known = [THREADS, *schema.input_names, *schema.attr_names]
    if backward:
        known += [*schema.output_names, *(f"d{name}" for name in schema.output_names)]
    timed = grad.op.opdef if backward and grad is not None else forward
    for name, make in peers.get(timed.name, {}).items():
        parameters_among(make, known, f"{timed.subject}, peer {name!r}")
    return timed.name


# Any: arrays and attributes of the call, by name.
def ready(
    name: str, make: Callable[..., Callable[[], Any]], values: Mapping[str, Any], truth: Truth
) -> tuple[Measured, Callable[[], Any] | None]:
    """Returns a peer with what is timed of it; None where it is not timed, for the reason told."""
    try:
        call = called_by_name(make)(values)
        made = call()
    except ImportError as error:
        return Measured(name, note=f"not installed ({error})"), None
    except Exception as error:
        return Measured(name, note=f"raised {type(error).__name__}: {error}"), None
    given = list(made) if isinstance(made, (tuple, list)) else [made]
    wanted = len(truth.opdef.schema.outputs)
    if len(given) != wanted:
        return Measured(name, note=f"expected {wanted} results as the op has, got {len(given)}"), None
    problem = truth.unlike([None if value is None else host(value) for value in given])
    if problem:
        return Measured(name, note=problem), None
    return Measured(name), call


def host(value: Any) -> np.ndarray:  # Any: an array of whichever framework
    """Returns a peer's result as an array; a tensor that is part of a graph is taken out of it."""
    detached = value.detach() if hasattr(value, "detach") else value
    return np.asarray(detached.cpu() if hasattr(detached, "cpu") else detached)

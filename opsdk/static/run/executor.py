"""Executor: runs a Program on fed arrays and returns fetched ones."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from opsdk.core.bounded import Bounded
from opsdk.core.dtype import as_native
from opsdk.core.errors import DTypeError, FeedError, FetchError, ProgramError
from opsdk.core.fit import as_numbers, check_unmasked, fitted
from opsdk.core.origin import trimmed
from opsdk.core.place import CPU, Place
from opsdk.core.spec import shape_text
from opsdk.core.suggest import alternatives
from opsdk.static.ir.program import Program, default_main_program, needed_for
from opsdk.static.ir.shared_memory import late
from opsdk.static.ir.variable import Variable
from opsdk.static.run.scope import Scope, global_scope
from opsdk.static.run.steps import Compiled

_NO_TURN = nullcontext()
_MOST = 64  # what is kept of one Program, compiled for as many sets of fetches


class Executor:
    """Runs Programs.

    A run that raises leaves the Scope as it was. Several threads may run Programs with one Executor, in one Scope too:
    runs that write to it take turns.

    Args:
        place: host memory; the default, and all that is served yet.
    """

    def __init__(self, place: Place | None = None) -> None:
        self.place = place or CPU
        if self.place.kind != "cpu":
            raise ProgramError(f"Executor: place expected CPUPlace(), got {self.place}; Programs run in host memory")
        self._compiled: WeakKeyDictionary[Program, Bounded[Any, Compiled]] = WeakKeyDictionary()
        self._lock = threading.Lock()  # around what was compiled; runs themselves share nothing
        self._is_closed = False

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuses to be pickled or copied.

        Raises:
            ProgramError: always.
        """
        raise ProgramError(
            "Executor: expected to stay in its process, got pickled or copied; what it compiled does not travel, make "
            "another: Executor(place)"
        )

    # Any: what users feed and fetch is checked here.
    def run(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Any] | Variable | str | None = None,
        scope: Scope | None = None,
        return_numpy: bool = True,
        use_program_cache: bool = True,
        use_prune: bool = False,
    ) -> list[np.ndarray]:
        """Runs every operator of a Program once, in order.

        Args:
            program: the default main Program unless given.
            feed: an array for every `data` variable that is read, of its dtype and shape; lists are converted.
            fetch_list: variables or names whose values are wanted, or parameters of layers.
            scope: where persistable values live; the global Scope unless given.
            return_numpy: accepted for programs written for Paddle; arrays are returned either way.
            use_program_cache: accepted likewise; a Program is compiled once and again only when it changed.
            use_prune: runs only what the fetches need, so no updates unless they are fetched; all without fetches.

        Returns:
            One array per fetch, in memory of its own.

        Raises:
            FeedError: a feed is missing, unknown, or of another dtype or shape.
            FetchError: a fetch is not in the Program.
            ProgramError: one is a view of what is changed in place after it was taken.
            NotInitializedError: a parameter has no value: the startup program was not run.
            ProgramError: the Executor is closed, an argument is of another kind, or the Scope holds a value of another
                shape or dtype than the Program was built for.
        """
        if program is None:
            program = default_main_program()
        if scope is None:
            scope = global_scope()
        try:
            if self._is_closed:
                raise ProgramError("Executor: expected one that is open, this one was closed; make a new one")
            if not isinstance(program, Program):
                raise ProgramError(f"Executor.run: program expected a Program, got {type(program).__name__}")
            if not isinstance(scope, Scope):
                raise ProgramError(f"Executor.run: scope expected a Scope, got {type(scope).__name__}")
            fetches = fetch_names(program, fetch_list)
            compiled = self._compile(program, fetches if use_prune and fetches else None)
            for name in fetches:
                if name in compiled.stale:
                    source, by = compiled.stale[name]
                    raise late(f"fetch {name!r}: expected a view", source, by, str(by.origin))
            fed = checked_feed(compiled, {} if feed is None else feed)
            with scope.turn if compiled.writes or compiled.tensors else _NO_TURN:
                copies = scope.take_in(compiled.tensors) if compiled.tensors else {}
                resting = (name for name in fetches if name in compiled.resting)
                held = {**scope.snapshot([*compiled.persistable, *resting]), **copies}
                values = compiled.run(held, fed)
                found = [fetched(name, values[compiled.slots[name]]) for name in fetches]
                if compiled.writes or copies:
                    scope.commit({**copies, **compiled.changes(held, values)})
                    program.ran_in.add(scope)
            return found
        except Exception as error:
            raise trimmed(error)  # noqa: B904 - the same error, without the frames below the user's

    def close(self) -> None:
        """Gives up what was compiled; the Executor cannot run any more."""
        self._compiled.clear()
        self._is_closed = True

    def _compile(self, program: Program, targets: list[str] | None) -> Compiled:
        """Returns the Program, or what its targets need of it, ready to run; compiled when it is new or changed."""
        with self._lock, program.lock:
            key = (program.version, None if targets is None else tuple(targets))
            plans = self._compiled.setdefault(program, Bounded(_MOST))
            compiled = plans.get(key)
            if compiled is None:
                operators = program.global_block().ops
                compiled = Compiled(program, operators if targets is None else needed_for(targets, operators))
                for stale in [held for held in plans if held[0] != program.version]:
                    del plans[stale]
                plans[key] = compiled
        return compiled


def fetch_names(program: Program, fetch_list: Any) -> list[str]:
    """Returns the names of what is to be fetched; nested lists are read through.

    Raises:
        FetchError: an entry is neither a Variable nor the name of one.
    """
    entries = [] if fetch_list is None else fetch_list if isinstance(fetch_list, (list, tuple)) else [fetch_list]
    names: list[str] = []
    block = program.global_block()
    known = block.vars
    for position, entry in enumerate(entries):
        if isinstance(entry, (list, tuple)):
            names += fetch_names(program, entry)
            continue
        meant = entry if isinstance(entry, str) else block.meant(entry)
        if not isinstance(meant, (Variable, str)):
            raise FetchError(f"fetch_list[{position}]: expected a Variable or a name, got {type(entry).__name__}")
        name = meant if isinstance(meant, str) else meant.name
        if name not in known:
            raise FetchError(f"fetch {name!r}: not in the Program; it has {alternatives(name, known)}")
        names.append(name)
    return names


def checked_feed(compiled: Compiled, feed: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Returns the fed arrays, each held to its variable.

    Raises:
        FeedError: a feed is missing, unknown, or of another dtype or shape.
    """
    if not isinstance(feed, Mapping):
        raise FeedError(f"feed: expected a dict from names to arrays, got {type(feed).__name__}")
    data = compiled.data
    fed: dict[str, np.ndarray] = {}
    for name, value in feed.items():
        if name not in data:
            raise FeedError(f"feed {name!r}: no data variable has that name; there are {alternatives(str(name), data)}")
        spec = data[name]
        array = as_fed(name, value, spec.dtype)
        if array.dtype != spec.dtype:
            raise FeedError(
                f"feed {name!r}: expected dtype {spec.dtype}, got {array.dtype}; feed value.astype('{spec.dtype}')"
            )
        if not spec.admits(array.shape):
            raise FeedError(f"feed {name!r}: expected shape {shape_text(spec.shape)}, got {array.shape}")
        fed[name] = array
    missing = [name for name in compiled.feeds if name not in fed]
    if missing:
        got = f"one for {', '.join(map(repr, fed))} only" if fed else "none"
        raise FeedError(
            f"feed: expected a value for {', '.join(map(repr, missing))}, got {got}; add it to the feed, or run what "
            "the fetches need alone, with use_prune=True"
        )
    return fed


# Any: what a user feeds.
def as_fed(name: str, value: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """Returns a fed value as an array; Python's numbers and lists take the variable's dtype, arrays keep their own.

    Raises:
        FeedError: it is no array of numbers, or the variable's dtype cannot hold its numbers.
    """
    check_unmasked(value, f"feed {name!r}", FeedError)
    if isinstance(value, (np.ndarray, np.generic)):
        return as_native(np.asarray(value))
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise FeedError(f"feed {name!r}: expected an array of {dtype}, got {value!r}") from error
    if not isinstance(value, (bool, int, float, complex, list, tuple)) and array.dtype != object:
        return array
    try:
        return fitted(as_numbers(value, f"feed {name!r}"), dtype, f"feed {name!r}")
    except DTypeError as error:
        raise FeedError(f"feed {name!r}: expected numbers that {dtype} can hold, got {value!r}") from error


def fetched(name: str, value: Any) -> np.ndarray:
    """Returns a fetched value in memory that nothing else holds.

    Raises:
        FetchError: nothing in this run gave the variable a value.
    """
    if value is None:
        raise FetchError(f"fetch {name!r}: expected a value, nothing that ran gives it one")
    return np.array(value)

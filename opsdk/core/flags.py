"""Process-wide switches, readable from the environment as `OPSDK_<NAME>`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields

from opsdk.core.errors import AttributeValueError


def _an_eighth_of_memory() -> int:
    if not hasattr(os, "sysconf"):  # Windows
        return 1 << 30
    return min(1 << 30, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8)


@dataclass
class Flags:
    """The switches and their defaults."""

    debug: bool = False  # full validation on every call instead of the first call of each kind only
    traceback: str = "user"  # "full" keeps opsdk's own frames in tracebacks
    # How much free memory is kept for later outputs, at most; 0 keeps none. An eighth of the machine's, or 1 GiB.
    arena_limit_bytes: int = field(default_factory=_an_eighth_of_memory)
    threads: int = 0  # threads that share a large kernel; 0 is as many as the process may use


def _from_environment() -> Flags:
    flags = Flags()
    flags.debug = os.environ.get("OPSDK_DEBUG", "").lower() in {"1", "true", "on", "yes"}
    flags.traceback = os.environ.get("OPSDK_TRACEBACK", flags.traceback)
    for name in ("arena_limit_bytes", "threads"):
        text = os.environ.get(f"OPSDK_{name.upper()}", "")
        if text.isdigit():  # what is no count is no wish
            setattr(flags, name, int(text))
    return flags


FLAGS = _from_environment()
_listeners: list[Callable[[], None]] = []


def on_change(listener: Callable[[], None]) -> Callable[[], None]:
    """Registers a function that is called after any flag changed (call plans depend on `debug`)."""
    _listeners.append(listener)
    return listener


def get_flags() -> dict[str, object]:
    """Returns all flags by name."""
    return {flag.name: getattr(FLAGS, flag.name) for flag in fields(FLAGS)}


def set_flags(**values: object) -> None:
    """Sets flags by name, for the whole process.

    Raises:
        AttributeValueError: a name is not a flag, or a value has the wrong type; nothing is set then.

    Example:
        >>> set_flags(debug=False)
    """
    known = get_flags()
    for name, value in values.items():
        if name not in known:
            raise AttributeValueError(f"set_flags: expected one of {', '.join(known)}, got {name!r}")
        if type(value) is not type(known[name]):
            want = type(known[name]).__name__
            raise AttributeValueError(f"set_flags: flag {name!r} expected {want}, got {value!r}")
    for name, value in values.items():
        setattr(FLAGS, name, value)
    for listener in _listeners:
        listener()

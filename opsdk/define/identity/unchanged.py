"""Whether what a function reads is what it was: two readings of one function in one process, compared by name.

An expression or a compiled kernel is read again for new attributes or dtypes, and has to find what it found. What
cannot be read is known by its identity here; of what has no value yet the first one that it gets counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from opsdk.define.identity.digest import UNSEEN, Reader, digest_of, python_of
from opsdk.define.identity.libraries import installed_name


# Any, in this file: functions of any signature, and whatever they refer to.
class _Here(Reader):
    """A reading that is compared with others of this process.

    Args:
        absent: the names that count as not there yet.
    """

    def __init__(self, absent: frozenset[Hashable] = frozenset()) -> None:
        super().__init__()
        self.missing: set[Hashable] = set()
        self.known: list[Any] = []  # they live, so that nothing else gets their ids
        self._counted = absent
        self._whole: list[Any] = []  # objects that are read by what they are made of, the outermost first
        self._depth = 0

    def unread(self, what: str, value: Any) -> str:
        """Returns the text of a value that cannot be read: which one it is."""
        if self._whole:  # what was made by asking is another object each time
            value = self._whole[0]
        self.known.append(value)
        return f"{UNSEEN} {what} #{id(value)}"

    def absent(self, what: str, *key: Any) -> str:
        """Returns the text of a name that has no value yet, and notes it."""
        self.missing.add(key)
        return f"{UNSEEN} {what}"

    def is_absent(self, *key: Any) -> bool:
        """Whether a name counts as not there yet."""
        return key in self._counted

    def stock(self, value: Any) -> str:
        """Returns the name of what does not change under it, as what is installed does not while a process runs."""
        return super().stock(value) or installed_name(value)

    def unordered(self, items: set[Any] | frozenset[Any]) -> list[str]:
        """Returns the texts of a set's items: a set that is what it was has them in the order in which they were."""
        return [self.value(item) for item in items]

    def remembering(self, function: str) -> str:
        """Returns the text of a function that keeps its results; of one object they are what they were."""
        return f"cached {function}"

    def made_anew(self, parts: Any, of: Any) -> str:
        """Returns the text of what an object says that it can be made of."""
        self._whole.append(of)
        try:
            return super().made_anew(parts, of)
        finally:
            self._whole.pop()

    def chained(self, value: Any, chains: frozenset[tuple[str, ...]]) -> str:
        """Returns the text of what attributes lead to; of what raises when it is looked at, which one it is."""
        self._depth += 1
        try:
            return super().chained(value, chains)
        except Exception as error:
            if self._depth > 1:
                raise
            return self.unread(type(error).__name__, value)
        finally:
            self._depth -= 1


class Reads(dict[str, str]):
    """By name, hashes of what a Python function reads from outside.

    Attributes:
        missing: what had no value yet, in the function itself and in what it leads to.
        known: values that are known by their identity.
    """

    def __init__(self) -> None:
        super().__init__()
        self.missing: frozenset[Hashable] = frozenset()
        self.known: list[Any] = []

    def renew(self, function: Callable[..., Any]) -> None:
        """Enters what a function reads now."""
        now = reads(function)
        self.update(now)
        self.missing, self.known = now.missing, now.known


def reads(function: Callable[..., Any]) -> Reads:
    """Returns what a Python function reads from outside, as far as it is there."""
    return _read(function, frozenset())


def _read(function: Callable[..., Any], absent: frozenset[Hashable]) -> Reads:
    made = Reads()
    inner = python_of(function)
    if inner is None:
        return made
    reader = _Here(absent)
    made.update({name: digest_of(text) for name, text in reader.surroundings(inner).items()})
    made.missing, made.known = frozenset(reader.missing), reader.known
    return made


def changed(function: Callable[..., Any], known: Reads) -> list[str]:
    """Returns the names of what a function reads that is another value than when `reads` told of it.

    What was not there yet, as a global that is assigned below the function, is entered into `known` when it is.
    """
    now = _read(function, known.missing)
    others = [name for name in known.keys() | now.keys() if now.get(name) != known.get(name)]
    if not others and known.missing:
        known.renew(function)
    return sorted(name.rpartition(" ")[2] for name in others)

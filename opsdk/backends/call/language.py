"""Languages: from a kernel row to one callable, by the name that the row carries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from opsdk.core.errors import KernelNotFoundError
from opsdk.core.lazy import slow
from opsdk.define.kernel.kernel import LANGUAGES, Kernel
from opsdk.define.opdef import OpDef

# Takes one array per tensor input by position, attributes by keyword; returns what the row's source returns.
# Any: arrays, lists of arrays for variadic inputs, None for absent ones; attribute values.
Launch = Callable[..., Any]


class Language(Protocol):
    """How rows of one language become callable."""

    name: str
    reads_python: bool  # whether a launch runs the author's Python, so that read-only views can guard the inputs
    fills: bool  # whether a launch gives new arrays as the infer rule has them, so that nothing needs to be settled

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Returns the callable of a row; compilation itself may wait until the first launch."""
        ...


_LANGUAGES: dict[tuple[str, str], Language] = {}  # by name and kind of place
# Languages whose modules are imported, and enter themselves, when a row of theirs is first launched.
_DEFERRED = {("numba", "cpu"): "opsdk.backends.numba.cpu", ("numba", "cuda"): "opsdk.backends.cuda.language"}
for _name, _place in _DEFERRED:
    LANGUAGES[_name] = (*LANGUAGES.get(_name, ()), _place)


def register_language(language: Language, places: tuple[str, ...] = ("cpu",)) -> None:
    """Makes a language known under its name, with the kinds of place that it compiles rows for."""
    known = LANGUAGES.get(language.name, ())
    LANGUAGES[language.name] = (*known, *(place for place in places if place not in known))
    _LANGUAGES.update({(language.name, place): language for place in places})


def language_of(opdef: OpDef, kernel: Kernel) -> Language:
    """Returns the language of a row.

    Raises:
        KernelNotFoundError: nothing here reads that language.
    """
    key = (kernel.language, kernel.key.place)
    if key not in _LANGUAGES and key in _DEFERRED:
        slow(_DEFERRED[key])
    language = _LANGUAGES.get(key)
    if language is None:
        raise KernelNotFoundError(
            f"{opdef.subject}: row {kernel} at {kernel.origin} is written in {kernel.language!r}; "
            f"languages here: {', '.join(sorted(LANGUAGES))}"
        )
    return language

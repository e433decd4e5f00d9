"""Languages: from a kernel row to one callable, by the name that the row carries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from opsdk.core.errors import KernelNotFoundError
from opsdk.define.kernel import LANGUAGES, Kernel
from opsdk.define.opdef import OpDef

# Takes one array per tensor input by position, attributes by keyword; returns what the row's source returns.
# Any: arrays, lists of arrays for variadic inputs, None for absent ones; attribute values.
Launch = Callable[..., Any]


class Language(Protocol):
    """How rows of one language become callable."""

    name: str
    reads_python: bool  # whether a launch runs the author's Python, so that read-only views can guard the inputs

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Returns the callable of a row; compilation itself may wait until the first launch."""
        ...


_LANGUAGES: dict[str, Language] = {}


def register_language(language: Language, places: tuple[str, ...] = ("cpu",)) -> None:
    """Makes a language known under its name, with the kinds of place that its rows run on."""
    _LANGUAGES[language.name] = language
    LANGUAGES[language.name] = places


def language_of(opdef: OpDef, kernel: Kernel) -> Language:
    """Returns the language of a row.

    Raises:
        KernelNotFoundError: nothing here reads that language.
    """
    language = _LANGUAGES.get(kernel.language)
    if language is None:
        raise KernelNotFoundError(
            f"{opdef.subject}: row {kernel} at {kernel.origin} is written in {kernel.language!r}; "
            f"languages here: {', '.join(sorted(_LANGUAGES))}"
        )
    return language

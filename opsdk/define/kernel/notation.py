"""Notations: how the kernels of a language are written, which is all that a definition knows of the language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opsdk.core.errors import DefinitionError
from opsdk.core.origin import Origin
from opsdk.define.identity.sameness import Reads
from opsdk.define.kernel.launch import DEVICE_OPTIONS
from opsdk.define.opdef import OpDef
from opsdk.define.schema.schema import OpSchema


class Notation:
    """How kernels of one language are written; the backends' `Language` adds how they run.

    Attributes:
        name: what `op.kernel(language=)` calls the language, and what reports show.
        places: the kinds of place that it has kernels for.
        form: of the sources that it reads: empty for functions and texts, else `Kernel.form`.
        takes_text: whether a source is a text or the name of a file, and no Python function.
        fills: whether a kernel gives new arrays as the infer rule has them: of a text row, parameters that it fills.
        freezes: whether compiled code keeps what a function read from outside when it was registered.
        flags: options that are True or False; `options` says what others there are.
    """

    name: str
    places: tuple[str, ...] = ("cpu",)
    form: str = ""
    takes_text: bool = False
    fills: bool = False
    freezes: bool = False
    flags: tuple[str, ...] = ()

    # Any: what the caller of `kernel` wrote.
    def options(self, given: Mapping[str, Any], schema: OpSchema, subject: str) -> Mapping[str, Any]:
        """Returns the options of a row as the language wants to find them.

        Raises:
            DefinitionError: there is no such option, or it is no truth value.
        """
        for name, what in DEVICE_OPTIONS.items():
            if name in given:
                places = " or ".join(map(repr, self.places))
                raise DefinitionError(f"{subject}: {what} is for rows of place 'cuda', got one for {places}")
        for name, value in given.items():
            if name not in self.flags or not isinstance(value, bool):
                known = f"options {' and '.join(self.flags)}, each True or False" if self.flags else "no options"
                raise DefinitionError(f"{subject}: expected {known}, got {name}={value!r}")
        return dict(given)

    # Any: a function has any signature.
    def reads(self, function: Callable[..., Any]) -> Reads:
        """Returns what a function reads from outside, where it has to be found as it was when the row is compiled."""
        return Reads(function) if self.freezes else Reads()

    # Any: as for `options`.
    def text(
        self, source: str, given: Mapping[str, Any], opdef: OpDef, origin: Origin
    ) -> tuple[str, Mapping[str, Any]]:
        """Returns source and options of a row that is a text, or the name of a file; it compiles nothing.

        Args:
            source: what the caller of `kernel` wrote.
            given: the options that he gave.
            opdef: the op.
            origin: the place of that call, beside which files are looked for.

        Raises:
            DefinitionError: an option is none, or there is no such file.
        """
        return source, self.options(given, opdef.schema, f"{opdef.subject}, {self.name} row")


LANGUAGES: dict[tuple[str, str, str], Notation] = {}  # by name, kind of place and form; backends enter theirs


def notation_of(opdef: OpDef, place: str, language: str) -> Notation:
    """Returns how a language writes the kernels that authors give it for a place.

    Raises:
        DefinitionError: there is no such language for the place.
    """
    found = LANGUAGES.get((language, place, ""))
    if found is None:
        known = sorted((name, here) for name, here, form in LANGUAGES if not form)
        raise DefinitionError(
            f"{opdef.subject}: kernel expected a place and language that exist here, got ({place!r}, {language!r}); "
            f"there are {', '.join(f'({here!r}, {name!r})' for name, here in known)}"
        )
    return found

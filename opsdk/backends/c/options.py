"""The options of a C kernel, checked when the kernel is registered."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from opsdk.core.dtype import as_dtype
from opsdk.core.errors import DefinitionError, OpsdkError
from opsdk.core.suggest import alternatives
from opsdk.define.kernel.sizes import SIZE_OPTIONS, SizeFunction

_WORDS = ("flags", "include_dirs", "libraries", "library_dirs")


@dataclass(frozen=True)
class COptions:
    """How a C source is compiled and what its functions take.

    Attributes:
        flags: passed to the compiler, after opsdk's own, so that they win.
        openmp: whether `#pragma omp` is obeyed.
        include_dirs, library_dirs: folders of headers and libraries; relative ones start at the registering file.
        libraries: names to link with, without `lib` and suffix.
        define: macros, as names, `NAME=value`, or a dict.
        contiguous: True gives the functions C-contiguous arrays, and copies what is not; None does so too and says on
            standard error when such a copy is large; False gives arrays as they lie, with their strides.
        dtypes: the dtypes of inputs that need not have the first one's; or the input whose dtype one has.
        checks: whether the functions ask for themselves what the op's value check asks, and return a status if so.
        optional: whether the op's other kernels serve where no C compiler is and nothing was built ahead of time.
        sizes, bound: what decides the sizes that the infer rule leaves open; one of them at most.
    """

    flags: tuple[str, ...] = ()
    openmp: bool = False
    include_dirs: tuple[str, ...] = ()
    library_dirs: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    contiguous: bool | None = None
    dtypes: tuple[tuple[str, tuple[str, ...] | str], ...] = ()
    checks: bool = False
    optional: bool = False
    sizes: SizeFunction | None = None
    bound: SizeFunction | None = None

    @property
    def decides(self) -> SizeFunction | None:
        """What decides open sizes; None where all follow from those of the inputs."""
        return self.sizes or self.bound

    @property
    def uses_openmp(self) -> bool:
        """Whether the library may run threads of OpenMP."""
        return self.openmp or any(flag.startswith("-fopenmp") for flag in self.flags)


# Any: what the caller of `kernel` wrote.
def c_options(subject: str, given: Mapping[str, Any], folder: str, inputs: tuple[str, ...]) -> COptions:
    """Returns the options of a kernel.

    Args:
        subject: who has them, for messages.
        given: what the caller wrote; `sizes` and `bound` ready to be kept.
        folder: where relative paths start.
        inputs: the names of the op's inputs.

    Raises:
        DefinitionError: there is no such option, or it is of another type.
    """
    known = [field.name for field in fields(COptions)]
    read: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise DefinitionError(
                f"{subject}: expected an option of a C kernel, got {name!r}; there are {alternatives(name, known)}"
            )
        if name in SIZE_OPTIONS:
            read[name] = value
        elif name in _WORDS:
            read[name] = _words(subject, name, value)
        elif name == "define":
            read[name] = _macros(subject, value)
        elif name == "dtypes":
            read[name] = _dtypes(subject, value, inputs)
        elif value is not None or name != "contiguous":
            if not isinstance(value, bool):
                raise DefinitionError(f"{subject}: {name} expected True or False, got {value!r}")
            read[name] = value
    for name in ("include_dirs", "library_dirs"):
        read[name] = tuple(os.path.normpath(os.path.join(folder, path)) for path in read.get(name, ()))  # noqa: PTH118
    return COptions(**read)


def _words(subject: str, name: str, value: Any) -> tuple[str, ...]:
    words = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (None,)
    if not all(isinstance(word, (str, os.PathLike)) for word in words):
        raise DefinitionError(f"{subject}: {name} expected a list of texts, got {value!r}")
    return tuple(map(os.fspath, words))


def _macros(subject: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, Mapping):
        return tuple(name if v is None else f"{name}={_literal(subject, name, v)}" for name, v in value.items())
    return _words(subject, "define", value)


def _literal(subject: str, name: str, value: Any) -> str:
    """Returns what C reads as a value; a text is C already."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return plain
    if isinstance(plain, bool) or (isinstance(plain, int) and -(2**63) < plain < 2**64):
        return f"{int(plain)}{'u' if plain >= 2**63 else ''}"
    if isinstance(plain, float) and math.isfinite(plain):
        return repr(plain)
    raise DefinitionError(
        f"{subject}: define[{name!r}] expected a number that C can write, or a text that is C, got {value!r}"
    )


def _dtypes(subject: str, value: Any, inputs: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...] | str], ...]:
    if not isinstance(value, Mapping):
        raise DefinitionError(f"{subject}: dtypes expected a dict from inputs to dtypes, got {value!r}")
    for name in value:
        if name not in inputs:
            raise DefinitionError(f"{subject}: dtypes names {name!r}, which is no input; there are {', '.join(inputs)}")
    return tuple((name, _declared(subject, name, told, inputs)) for name, told in value.items())


def _declared(subject: str, name: str, told: Any, inputs: tuple[str, ...]) -> tuple[str, ...] | str:
    """Returns the names of the dtypes that an input may have, or of the other input whose dtype it has."""
    if isinstance(told, str) and told in inputs and told != name:
        return told
    several = tuple(told) if isinstance(told, (tuple, list)) else (told,)
    if not several or told == name:
        raise DefinitionError(
            f"{subject}: dtypes[{name!r}] expected a dtype, several, or the name of another input, got {told!r}"
        )
    try:
        return tuple(dict.fromkeys(as_dtype(dtype).name for dtype in several))
    except OpsdkError as error:
        raise DefinitionError(f"{subject}: dtypes[{name!r}]: {error}") from error

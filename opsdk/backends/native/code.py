"""Code: one kernel for one combination of dtypes, compiled or taken from the cache, ready to be called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from opsdk.backends.cache.store import cached_bytes
from opsdk.backends.native.loader import Image, host_key, load
from opsdk.backends.native.runtime import PROTOTYPE, ffi
from opsdk.backends.native.versions import sources_key
from opsdk.core.lazy import optional, slow
from opsdk.expr.exact import check_whole

_images: WeakValueDictionary[str, Image] = WeakValueDictionary()


@dataclass(frozen=True)
class KernelText:
    """What is compiled.

    Args:
        name: of the C symbol; what is not ASCII in it is replaced.
        source: Python text that defines `kernel(start, stop, sizes, *pointers, *numbers)`.
        pointers: names of the dtypes of inputs and results.
        attrs: names of the numbers that it takes.
        compute: name of the dtype that it computes in.
    """

    name: str
    source: str
    pointers: tuple[str, ...]
    attrs: tuple[str, ...]
    compute: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", "".join(char if char.isascii() else "_" for char in self.name))

    def compiled(self) -> tuple[bytes, str]:
        """Returns the object file and the assembly, compiled now."""
        optional("numba", extra="numba", subject=f"compiling {self.name}")
        build = slow("opsdk.backends.native.compiler").build
        made: tuple[bytes, str] = build(self.name, self.source, self.pointers, len(self.attrs), self.compute)
        return made

    def loaded(self) -> Image:
        """Returns the kernel in memory, from the cache where it is there; equal texts share one image."""
        key = "\n".join([host_key(), sources_key(), self.name, self.compute, *self.pointers, self.source])
        found = _images.get(key)
        if found is None:
            data = cached_bytes("native", key, ".o", lambda: self.compiled()[0])
            found = _images.setdefault(key, load(data, [self.name]))
        return found


class Code:
    """A kernel in memory.

    Attributes:
        text: what it was compiled from.
        image: holds the memory that it is in.
        address: of its entry, as long as the image is there.
        call: the entry, callable with cffi arrays (Any: cffi has no types).
        kind: the cffi type of its pointers.
    """

    def __init__(self, text: KernelText) -> None:
        self.text = text
        self.image = text.loaded()
        self.address = self.image.addresses[text.name]
        self.call: Any = ffi().cast(PROTOTYPE, self.address)
        self.kind: Any = ffi().typeof(f"void *[{len(text.pointers)}]")


class Numbers:
    """Attribute values as the arrays that kernels read, kept for the values that come again."""

    def __init__(self, names: Sequence[str], compute: str = "float64") -> None:
        self._names = tuple(names)
        self._compute = np.dtype(compute)
        self._known: dict[tuple[float, ...], Any] = {}  # Any: cffi arrays

    def of(self, attrs: dict[str, Any]) -> Any:  # Any: attribute values; a cffi array
        """Returns the numbers of a call."""
        if not self._names:
            return ffi().NULL
        values = tuple([attrs[name] for name in self._names])
        found = self._known.get(values)
        if found is None or 0.0 in values:  # 0.0 and -0.0 are one key
            check_whole(self._names, values, self._compute)
            if len(self._known) > 64:
                self._known.clear()
            found = self._known[values] = ffi().new("double[]", values)
        return found

"""KernelId: which kernel of an op something is about, as reports, selections and expectations name it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opsdk.core.dtype import NAMES
from opsdk.define.kernel.kernel import Kernel

ANY = "*"
_TRIED = ("float32", "float64")  # the dtypes at which a kernel of every dtype is tried


@dataclass(frozen=True)
class KernelId:
    """A kernel of an op, at one dtype or at any: as text `cpu,float64,numpy`.

    Attributes:
        place: the kind of place.
        dtype: a name, or `*` for any.
        language: what it is written in.
        op: qualified name of the op; empty where that is known, and no part of the text.
    """

    place: str
    dtype: str
    language: str
    op: str = ""

    @classmethod
    def of(cls, kernel: Kernel, dtype: object, op: str = "") -> KernelId:
        """Returns the identity of a kernel at a dtype, at any where that is None."""
        return cls(kernel.key.place, ANY if dtype is None else str(dtype), kernel.language, op)

    @classmethod
    def parse(cls, text: str, op: str = "") -> KernelId:
        """Returns the identity that a text is of; what names no kernel, such as `*`, is about any."""
        parts = text.split(",")
        place, dtype, language = parts if len(parts) == 3 else (ANY, ANY, ANY)
        return cls(place, dtype, language, op)

    @property
    def at_any_dtype(self) -> KernelId:
        """The kernel, whatever the dtype."""
        return replace(self, dtype=ANY)

    def has(self, words: str) -> bool:
        """Whether words such as `numba` or `float32,numba` are all parts of it."""
        return set(words.split(",")) <= set(self.parts)

    def is_selected(self, words: str) -> bool:
        """Whether words select the kernel that it is of; every dtype at which a kernel is tried selects it too."""
        tried = NAMES if self.dtype == ANY else _TRIED
        return set(words.split(",")) - {ANY, *tried} <= set(self.parts)

    @property
    def parts(self) -> tuple[str, str, str]:
        """What its text is made of."""
        return self.place, self.dtype, self.language

    def __str__(self) -> str:
        return ",".join(self.parts)

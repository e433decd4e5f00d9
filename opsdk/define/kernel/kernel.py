"""Kernels: how an op is computed, as data that nothing compiles before the first launch, and how each is named."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeVar
from weakref import WeakSet

import numpy as np

from opsdk.core.bounded import Bounded
from opsdk.core.dtype import NAMES
from opsdk.core.errors import DefinitionError
from opsdk.core.origin import Origin
from opsdk.define.identity.sameness import Reads

T = TypeVar("T", bound="ByItsOp")

ANY = "*"  # dtype, of a KernelId
_TRIED = ("float32", "float64")  # the dtypes at which a kernel of every dtype is tried

REFERENCE, COMPOSITE = "numpy", "composite"  # the languages of the kernels that define what is right


@dataclass(frozen=True, eq=False)
class KernelKey:
    """Where a kernel applies: a kind of place and a dtype of the first tensor.

    `dtype=None` is every dtype, or with `floating` every call on real numbers of which at least one is floating.
    """

    place: str
    dtype: np.dtype[np.generic] | None = None
    floating: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KernelKey) and str(self) == str(other)  # np.dtype("float64") == None, says NumPy

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"({self.place}, {self.dtype.name if self.dtype is not None else 'floating' if self.floating else '*'})"

    def serves(self, place: str, dtype: np.dtype[np.generic] | None, others: Sequence[np.dtype[np.generic]]) -> bool:
        """Whether a call belongs here: its place, the dtype of its first tensor, the dtypes of all.

        Only a kernel of every dtype, such as the reference, serves a byte order that is not the machine's own.
        """
        if self.place != place:
            return False
        if (self.floating or self.dtype is not None) and not all(other.isnative for other in others):
            return False
        if self.floating:
            return all(is_real(other) for other in others) and any(is_floating(other) for other in others)
        return self.dtype is None or (dtype is not None and self.dtype.name == dtype.name)


def is_floating(dtype: np.dtype[np.generic]) -> bool:
    """Whether a dtype holds real numbers with a fraction."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def is_real(dtype: np.dtype[np.generic]) -> bool:
    """Whether a dtype holds truth values, whole numbers or real numbers."""
    return dtype.kind in "biuf" or dtype.name == "bfloat16"


class ByItsOp:
    """A part of an op, with functions of its author in it, that is had from the op and never from a pickle."""

    def __reduce__(self) -> NoReturn:
        """Refuses: an op is pickled by its name.

        Raises:
            DefinitionError: always.
        """
        at = f" of {self.origin}" if hasattr(self, "origin") else ""
        raise DefinitionError(
            f"pickle: expected an op, which goes by its name, got the {type(self).__name__}{at}, with functions in it; "
            "pickle the op, and take what belongs to it from there"
        )

    def __copy__(self: T) -> T:
        return self

    def __deepcopy__(self: T, memo: dict[int, Any]) -> T:
        return self  # what points at it means this one


@dataclass(frozen=True, eq=False)
class Kernel(ByItsOp):
    """One kernel: a key, a language and the source in that language, not yet compiled.

    Two that say the same are two: what each was compiled to follows from what its function read by then.

    Args:
        key: place and dtype that the kernel serves.
        language: the name of what it is written in: `numpy`, `numba`, `c`, `composite`.
        source: a Python callable (any signature, hence Any), or text; `module:function` while `load` is there.
        origin: where it was written.
        parameters: the names that the source takes, in its own order: inputs, outputs (preallocated), attributes.
        options: what only this language understands, such as a launch shape.
        load: imports the function and returns the kernel with it; None where the function is here.
        owner: who registered it, as `registrar` says; empty for those that come with the op.
        reads: of a Python function that is compiled, what it read from outside when it was registered; what was not
            there yet is entered when a kernel of the op is first compiled.
    """

    key: KernelKey
    language: str
    source: Callable[..., Any] | str
    origin: Origin
    parameters: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    load: Callable[[], Kernel] | None = None
    owner: str = ""
    reads: Reads = field(default_factory=Reads)

    def __str__(self) -> str:
        return f"{self.language} {self.key}"

    @property
    def slot(self) -> tuple[KernelKey, str]:
        """What one kernel of an op has alone: a later one with the same takes its place."""
        return self.key, self.language

    @property
    def is_reference(self) -> bool:
        """Whether it is of the languages that define what is right."""
        return self.language in (REFERENCE, COMPOSITE)

    @property
    def form(self) -> str:
        """What the source is: empty for a function or a text, else as the source says of itself, `elements`."""
        form: str = getattr(self.source, "kernel_form", "")
        return form


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


# Kinds of call of one op that are remembered: dtypes, texts and truth values among attributes, lengths of lists.
MOST_PLANS = 512


class PlanCache(Bounded[Any, Any]):
    """Call plans by kind of call, kept by the backends and runtimes (Any: keys and plans are theirs).

    The oldest gives way where there are too many: what comes again is checked and planned again.
    Calls of one value find theirs by dtype alone, in `recorded` where a gradient may be asked for, else in `plain`.
    `repeat` serves a call of several that is like the one before; None where nothing does.
    """

    __slots__ = ("__weakref__", "plain", "recorded", "repeat")
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(MOST_PLANS)
        self.recorded: dict[Any, Any] = {}
        self.plain: dict[Any, Any] = {}
        self.repeat: Any = None

    def clear(self) -> None:
        """Forgets every plan."""
        super().clear()
        self.recorded.clear()
        self.plain.clear()
        self.repeat = None


class KernelTable(ByItsOp):
    """The kernels of one op. It grows from outside; a kernel is never changed, only superseded by a later one."""

    def __init__(self, rows: Iterable[Kernel] = ()) -> None:
        self._rows = list(rows)
        self._before: KernelTable | None = None  # that this one continues, with kernels of its own
        self._lock = threading.Lock()
        self.plans: WeakSet[PlanCache] = WeakSet()  # what was planned on these kernels, forgotten when they change

    def add(self, kernel: Kernel) -> None:
        """Adds a kernel; one with the same key and language takes the place of the earlier one."""
        with self._lock:
            kept = [row for row in self._rows if row.slot != kernel.slot]
            self._rows = [*kept, kernel]
        self.forget()

    def continued(self) -> KernelTable:
        """Returns a table of the same kernels; those that come later count on what graphs with this one do not know.

        What was planned on these kernels is forgotten, so that calls from now on know it.
        """
        self.forget()
        made = KernelTable(self)
        made._before = self
        return made

    def remove(self, kernel: Kernel) -> None:
        """Takes a kernel away, from what this table continues too."""
        if self._before is not None:
            self._before.remove(kernel)
        self.restore(row for row in self if row is not kernel)

    def forget(self) -> None:
        """Forgets what was planned on these kernels, or with the op that has them as its gradient op."""
        for cache in list(self.plans):
            cache.clear()

    @property
    def rows(self) -> Sequence[Kernel]:
        """The kernels as they are now, in a sequence that stays as it is: the same one until they change."""
        return self._rows

    def __iter__(self) -> Iterator[Kernel]:
        return iter(tuple(self._rows))

    def __len__(self) -> int:
        return len(self._rows)

    def select(
        self,
        place: str,
        dtype: np.dtype[np.generic] | None,
        others: Sequence[np.dtype[np.generic]] | None = None,
        usable: Callable[[Kernel], bool] | None = None,
    ) -> Kernel | None:
        """Returns the kernel that serves a call, or None.

        An exact dtype comes before a wildcard, a faster language before the reference, a later kernel before an older.
        The function of the chosen kernel is imported where it is not yet.

        Args:
            place: the kind of place.
            dtype: of the first tensor; None where there is none.
            others: the dtypes of all tensors; those of the first alone unless given.
            usable: tells of a kernel whether it can run here; every kernel unless given.
        """
        every = others if others is not None else () if dtype is None else (dtype,)
        fitting = [
            (row.key.dtype is not None, not row.is_reference, order, row)
            for order, row in enumerate(self._rows)
            if row.key.serves(place, dtype, every) and (usable is None or usable(row))
        ]
        return self.loaded(max(fitting, key=lambda entry: entry[:3])[3]) if fitting else None

    def loaded(self, row: Kernel) -> Kernel:
        """Returns one of these kernels with its function, imported where it is not yet."""
        if row.load is None:
            return row
        made = row.load()
        with self._lock:
            self._rows = [made if held is row else held for held in self._rows]
        return made

    def restore(self, rows: Iterable[Kernel]) -> None:
        """Makes these the kernels."""
        with self._lock:
            self._rows = list(rows)
        self.forget()

    def reference(self) -> Kernel | None:
        """Returns the kernel that defines what is right: the NumPy or composite one."""
        return next((self.loaded(row) for row in self if row.is_reference), None)

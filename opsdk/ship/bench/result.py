"""Results of a bench: what was measured of one op at one size, kernel by kernel, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from opsdk.ship.bench.timing import Ratio, Samples, Spread, ratio, spread

COPIES = ("copy, one thread", "copy, all threads")


@dataclass(frozen=True)
class Measured:
    """One kernel or peer.

    Args:
        name: what the table calls it.
        row: the kernel, or nothing for a peer.
        first: seconds of the first call; None where it was not the first in this process, or nothing is compiled.
        built: `compiled`, or `cached` where the first call found what it needs on disk.
        note: why it was not timed; empty where it was.
        is_wrong: whether that is because its results are.
    """

    name: str
    row: str = ""
    first: float | None = None
    built: str = ""
    note: str = ""
    is_wrong: bool = False


@dataclass(frozen=True)
class Benched:
    """One op at one size.

    Args:
        op: qualified name of the op that was timed, a gradient op for `--backward`.
        target: what names it on the command line.
        call: its inputs, in words.
        elements: of its largest input.
        moved: bytes that it has to read and write at least.
        rows: kernels and peers, in the order of the table; the reference is the first.
        note: what a reader of the table has to know.
        samples: seconds per call, of what was timed and of copies of as many bytes; one per round.
    """

    op: str
    target: str
    call: str
    elements: int
    moved: int
    rows: tuple[Measured, ...]
    note: str = ""
    samples: Samples = field(default_factory=dict)

    @property
    def reference(self) -> Measured:
        """What the others are compared with."""
        return self.rows[0]

    @property
    def timed(self) -> tuple[Measured, ...]:
        """What was timed."""
        return tuple(row for row in self.rows if row.name in self.samples)

    @property
    def wrong(self) -> tuple[Measured, ...]:
        """Kernels of the op that gave wrong results; a peer may compute something else and is no fault of the op."""
        return tuple(row for row in self.rows if row.is_wrong and row.row)

    @property
    def copy(self) -> str:
        """The faster of the copies."""
        return min((name for name in COPIES if name in self.samples), key=lambda name: self.spread_of(name).median)

    def spread_of(self, name: str) -> Spread:
        """Returns median and spread of what was timed."""
        return spread(self.samples[name])

    def speed_of(self, name: str) -> float:
        """Returns bytes per second."""
        return self.moved / self.spread_of(name).median

    def times(self, name: str, than: str) -> Ratio:
        """Returns how many times faster one is than another."""
        return ratio(self.samples, than, name)

    # Any: values of JSON.
    def as_dict(self) -> dict[str, Any]:
        """Returns the same for machines, with every sample."""
        rows = []
        for row in self.rows:
            entry = asdict(row)
            if row.name in self.samples:
                found, factor = self.spread_of(row.name), self.times(row.name, self.reference.name)
                entry |= {
                    "median": found.median,
                    "iqr": found.share,
                    "ns_per_element": 1e9 * found.median / self.elements,
                    "gb_per_second": self.speed_of(row.name) / 1e9,
                    "of_copy": ratio(self.samples, self.copy, row.name).value,
                    "times_reference": [factor.value, factor.low, factor.high],
                    "is_same": factor.is_same,
                    "seconds": self.samples[row.name],
                }
            rows.append(entry)
        copies = {name: self.samples[name] for name in COPIES if name in self.samples}
        return {
            "op": self.op,
            "call": self.call,
            "elements": self.elements,
            "bytes": self.moved,
            "note": self.note,
            "rows": rows,
            "copies": copies,
        }

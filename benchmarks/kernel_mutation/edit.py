"""Edits of a source: one replaced span of its text each, and the mutant that follows from one."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.kernel_mutation.units import Unit

# What an edit is about, in the order of tables.
KINDS = {
    "bounds": "a loop or a slice ends one earlier or later",
    "comparison": "another comparison, a condition turned, min for max",
    "index": "an index beside the right one",
    "axis": "another axis, or two indices swapped",
    "constant": "another number",
    "operator": "another sign or operator",
    "start": "another start value, or none",
    "iteration": "an iteration left out",
    "statement": "a statement left out",
    "cast": "a conversion left out, or to float32",
    "arguments": "two arguments swapped",
    "synchronisation": "a barrier, an atomic or a reduction left out",
}


@dataclass(frozen=True)
class Edit:
    """One change of a text.

    Args:
        kind: one of KINDS.
        start: where the replaced span begins, in characters.
        end: where it ends.
        new: what takes its place.
    """

    kind: str
    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        """Returns the edited text."""
        return text[: self.start] + self.new + text[self.end :]


@dataclass(frozen=True)
class Mutant:
    """A kernel with one edit.

    Args:
        id: `file:function/kind-digest`; it stays what it is while the edited lines do.
        unit: the function.
        edit: the change.
        before: the lines concerned.
        after: the same, edited.
    """

    id: str
    unit: Unit
    edit: Edit
    before: str
    after: str

    @property
    def text(self) -> str:
        """The whole edited file."""
        return self.edit.applied(self.unit.text)


def mutants(unit: Unit, edits: Iterable[Edit]) -> Iterator[Mutant]:
    """Yields the mutants of a function; edits that give one text, or the text as it is, count once or not at all."""
    seen = {unit.text}
    same: Counter[str] = Counter()
    for edit in edits:
        made = edit.applied(unit.text)
        if made in seen:
            continue
        seen.add(made)
        before, after = _lines(unit.text, edit)
        told = "\n".join((unit.language, unit.file, unit.name, edit.kind, before, after))
        same[told] += 1  # two such lines in one function
        digest = hashlib.sha256(f"{told}\n{same[told]}".encode()).hexdigest()[:6]
        yield Mutant(f"{unit.file}:{unit.name}/{edit.kind}-{digest}", unit, edit, before, after)


def drawn(every: Iterable[Mutant], limit: int, seed: int) -> list[Mutant]:
    """Returns at most so many mutants of a function, of each kind in turn, at random; a greater limit adds to them."""
    by_kind: defaultdict[str, list[Mutant]] = defaultdict(list)
    for mutant in every:
        by_kind[mutant.edit.kind].append(mutant)
    chosen: list[Mutant] = []
    waiting = [found for _, found in sorted(by_kind.items())]
    draw = random.Random(f"{seed} {waiting[0][0].unit if waiting else ''}")
    for each in (*waiting, waiting):
        draw.shuffle(each)
    while waiting:
        chosen += [found.pop() for found in waiting]
        waiting = [found for found in waiting if found]
    return chosen[:limit]


def _lines(text: str, edit: Edit) -> tuple[str, str]:
    """Returns the lines that an edit touches, before and after it, without what surrounds them."""
    start = text.rfind("\n", 0, edit.start) + 1
    end = text.find("\n", edit.end)
    end = len(text) if end < 0 else end
    after = text[start : edit.start] + edit.new + text[edit.end : end]
    return _plain(text[start:end]), _plain(after)


def _plain(lines: str) -> str:
    return " ".join(line.rstrip("\\").strip() for line in lines.splitlines()).strip()

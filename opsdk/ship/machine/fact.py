"""Fact: one thing that `opsdk info` says of a machine, and whether it works."""

from __future__ import annotations

from dataclasses import dataclass

OK, MISSING, BROKEN = "ok", "missing", "broken"


@dataclass(frozen=True)
class Fact:
    """One line, or one entry of a line.

    Args:
        name: what it is about.
        text: what was found.
        state: `ok`, `missing`, `broken`, or nothing where it was only read.
        remedy: what to do where it does not work.
        how: by what it was seen to work.
        section: the line that it stands on, with others; its own where empty.
    """

    name: str
    text: str
    state: str = ""
    remedy: str = ""
    how: str = ""
    section: str = ""

    @property
    def short(self) -> str:
        """The fact beside others on a line."""
        return f"{self.name} {self}"

    def __str__(self) -> str:
        said = " ".join(part for part in (self.text, self.state, f"({self.how})" if self.how else "") if part)
        return f"{said} – {self.remedy}" if self.remedy else said

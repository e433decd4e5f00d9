"""Slow marks: a test that `make test` leaves out says why, beside its mark."""

import re

MARK = re.compile(r"\bmark\.slow\b")
COMMENT = re.compile(r"(^|\s)#\s*\w")


def without_reason(folder):
    """Finds slow marks without a comment, on their line or above it with no empty line between."""
    return [
        f"{file.relative_to(folder).as_posix()}:{number + 1}: marked slow; say beside it what is exhaustive, and what "
        "stands for it in make test"
        for file in sorted(folder.rglob("test_*.py"))
        for lines in [file.read_text(encoding="utf-8").splitlines()]
        for number, line in enumerate(lines)
        if MARK.search(line) and not any(map(COMMENT.search, _paragraph(lines, number)))
    ]


def _paragraph(lines, number):
    """A line, and those above it as far as an empty one."""
    first = next((n + 1 for n in range(number, -1, -1) if not lines[n].strip()), 0)
    return lines[first : number + 1]

"""Exit codes of every command: an interface that scripts rely on."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What a command's exit status says."""

    PASS = 0
    FINDING = 1  # at least one op is wrong
    USAGE = 2  # a bad option, no such op, or a definition that cannot be loaded
    INTERNAL = 3  # an error of opsdk itself
    INCONCLUSIVE = 4  # nothing wrong, and at least one op could not be judged
    NOTHING = 5  # there was nothing to check
    INTERRUPTED = 130


TABLE = """\
exit codes: 0 pass · 1 a finding · 2 usage, or a definition not loaded
            3 internal error · 4 inconclusive only · 5 nothing checked"""


def of_verdicts(verdicts: list[str], *, strict: bool = False, allow_inconclusive: bool = False) -> Exit:
    """Returns the exit code of several verdicts.

    Args:
        verdicts: `pass`, `fail` or `inconclusive`, one per op.
        strict: an inconclusive op counts as a finding.
        allow_inconclusive: an inconclusive op counts as a pass.
    """
    if not verdicts:
        return Exit.NOTHING
    if "fail" in verdicts or (strict and "inconclusive" in verdicts):
        return Exit.FINDING
    if "inconclusive" in verdicts and not allow_inconclusive:
        return Exit.INCONCLUSIVE
    return Exit.PASS

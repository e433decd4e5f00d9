"""Judges ops of contrib_ops, as `opsdk check` does, and ends at the first finding: what follows says no more.

A process of its own runs it in the folder of a changed copy: `python planted.py KEYWORD`. What Numba would compile of
the ops runs as Python, which computes the same.
"""

import sys

from opsdk.backends.numba import cpu
from opsdk.define.identity.uncompiled import uncompiled
from opsdk.ship.check.command import judged_ops
from opsdk.ship.targets.keyword import matcher
from opsdk.ship.targets.target import resolve
from opsdk.verify.run import verify
from opsdk.verify.session import Case

_find = Case.find


class Found(BaseException):
    """The first finding; no exception that a check takes for one of an op."""


def find_and_end(case, *given, **beside):
    """Keeps a finding as ever, and ends the work unless it was about invented inputs and is only doubted."""
    _find(case, *given, **beside)
    assert not case.opdef.expectations  # which make a note of a finding, when all checks have run
    if case.session.findings:
        raise Found(next(iter(case.session.findings.values())).id)


def in_python(opdef, kernel, *, is_checked):
    """Returns a kernel in place of its dispatcher; Python checks indices in any case."""
    return uncompiled(getattr(kernel.source, "py_func", kernel.source), {})


def main(keyword):
    """Prints the first finding, if there is any; returns the exit status of `opsdk check`."""
    fits = matcher(keyword)
    ops = [op for op in judged_ops(resolve("contrib_ops")) if fits(op.opdef.name)]
    assert ops
    Case.find, cpu._compiled = find_and_end, in_python
    try:
        for op in ops:
            report = verify(op)
            assert report.verdict != "fail", report  # each finding comes through Case.find
    except Found as found:
        print("FAIL", found)
        return 1
    return 0


if __name__ == "__main__":
    sys.path[0] = ""
    sys.exit(main(sys.argv[1]))

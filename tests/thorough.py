"""Thorough proofs of ops with kernels: what `opsdk check --thorough` has to have looked at, beside finding nothing."""

import pytest

import opsdk
from opsdk.backends.call.language import language_of
from opsdk.define.kernel.kernel import KernelId
from opsdk.verify.run import chain

MISSING = (" has no AddressSanitizer ", " has no ThreadSanitizer ", "which counts lines, got none")  # no fault of an op


def assert_proven_thoroughly(op):
    """Proves an op; skips with the one line of the report that says what this compiler lacks."""
    report = opsdk.verify(op, level="thorough")
    assert report.verdict == "pass", str(report)
    none("left out", left_out(report))
    lacking = [text for text in report.coverage.skipped if any(words in text for words in MISSING)]
    if lacking:
        pytest.skip(lacking[0])
    none("not looked at", not_looked_at(report))
    none("not watched", not_watched(op, report))


def none(what, texts):
    """Fails with the texts, which pytest does not show of an assertion in a module that is no test."""
    assert texts == [], f"{what}: " + "; ".join(texts)


def left_out(report):
    """What a report says of lines and choices that no call reached, and of which no comment says why that is well."""
    return [text for text in report.coverage.warnings if "no call reached" in text]


def not_looked_at(report):
    """What a report says was not watched or counted."""
    told = (" not looked at by a watched run, ", ": lines not counted, ", " is not watched, ")
    return [text for text in report.coverage.skipped if any(words in text for words in told)]


def not_watched(op, report):
    """The kernels of the host that did not pass what they are watched for, of an op and its gradient ops."""
    kernels = [(opdef.name, kernel) for opdef in chain(op.opdef) for kernel in opdef.kernels]
    left = []
    for name, kernel in kernels:
        kinds = set(language_of(kernel).watches(kernel)) if kernel.key.place == "cpu" else set()
        rows = [row for row in report.rows if row.op == name and is_of(row.row, kernel)]
        if kinds and not any(kinds <= set(row.passed) for row in rows):
            left.append(f"{name}, {kernel}: " + ", ".join(sorted(kinds)))
    return left


def is_of(row, kernel):
    """Whether a line of a report's table is about a kernel."""
    there = KernelId.parse(row)
    same = (there.place, there.language) == (kernel.key.place, kernel.language)
    return same and str(kernel.key.dtype) in ("None", str(there.dtype))

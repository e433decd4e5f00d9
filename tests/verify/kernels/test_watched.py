"""Kernels that are compiled once more to watch themselves, where `verify` is asked to be thorough."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.c.language import CffiC
from opsdk.backends.call.language import Fault, NotWatchedError
from opsdk.verify.inputs.calls import Call
from opsdk.verify.kernels.elsewhere import check_elsewhere
from opsdk.verify.kernels.rows import check_rows
from opsdk.verify.kernels.watched import watch
from opsdk.verify.session import Session
from tests.verify.kernels.test_memory import GOOD, doubling

numba = pytest.importorskip("numba")


def checked(op, *inputs, **options):
    session = Session(op.opdef, [], 0, 1500, **{"level": "thorough", **options})
    session.calls = [Call([array], {}) for array in inputs or [np.arange(1.0, 8)]]
    check_rows(session)
    return session


@pytest.fixture
def watching(monkeypatch):
    """Has the watched run of a C kernel find faults; gives the calls that it is given."""

    def watch(*faults):
        given = []

        def watched(self, opdef, kernel, calls, *, compiles):
            given.extend(calls)
            for fault in faults:
                if isinstance(fault, Exception):
                    raise fault
                yield fault

        monkeypatch.setattr(CffiC, "watched", watched)
        return given

    return watch


def test_what_a_watched_run_finds_is_a_finding_at_its_call_and_line(watching):
    given = watching(Fault(2, "undefined", "signed integer overflow: …", "f.c:7"), Fault(2, "race", "one thread …"))
    session = checked(doubling(GOOD), np.ones(3), np.ones(4))
    assert [inputs[0].shape for inputs, _ in given] == [(3,), (3,), (4,), (4,)]  # in both floats
    first, second = session.findings.values()
    assert (first.check, first.at) == ("undefined", "f.c:7")
    assert first.message == (
        "op 't::f', kernel c (cpu, *): expected nothing that C leaves undefined at sample (float64(4,)), "
        "signed integer overflow: …"
    )
    assert "expected no two threads at one element, of which one writes, at sample (float64(4,)), one" in second.message


def test_what_could_not_be_watched_is_said_and_has_not_passed(watching):
    watching(NotWatchedError("cc has no AddressSanitizer (no such file); install GCC"))
    session = checked(doubling(GOOD))
    assert [text for text in session.skipped if "watched run" in text] == [
        "t::f[cpu,*,c]: bounds, undefined not looked at by a watched run, cc has no AddressSanitizer (no such file); "
        "install GCC"
    ]
    assert "undefined" not in session.lines["cpu,float64,c"].checks


@pytest.mark.parametrize(("options", "calls"), [({}, 1), ({"level": "default"}, 0), ({"rows": ("numba",)}, 0)])
def test_it_runs_where_it_is_asked_for(watching, options, calls):
    given = watching()
    session = checked(doubling(GOOD), **options)
    line = session.lines.get("cpu,float64,c")
    assert len(given) == 2 * calls
    assert (line is not None and "undefined" in line.checks) == bool(calls)


def test_a_kernel_that_leaves_memory_of_its_own_is_not_run_in_this_process():
    keeps = "volatile double *kept = malloc(n * sizeof *kept);\nfor (int64_t i = 0; i <= n; ++i)\nkept[i] = 1;"
    made = doubling(f"{GOOD}\n{keeps}")
    session = checked(made, np.ones(6))  # malloc has room for 7
    told = [text for text in session.skipped if " has no " in text]
    if told:
        pytest.skip(told[0])
    (finding,) = session.findings.values()
    assert (finding.check, finding.at) == ("bounds", "<C source of t::f>:11")
    assert "stay inside its memory at sample (float64(6,)), it wrote byte 48 of memory of 48 bytes" in finding.message
    assert "runs" not in session.lines["cpu,float64,c"].checks


def test_nothing_else_runs_a_kernel_that_leaves_its_memory(watching, monkeypatch):
    watching(Fault(0, "bounds", "it wrote byte 48 of memory of 48 bytes", "f.c:7"))
    monkeypatch.setattr(CffiC, "launch_into", lambda *_: pytest.fail("it ran"))
    report = opsdk.verify(doubling(GOOD), samples=[opsdk.Sample(np.ones(6))], level="thorough")
    assert [finding.check for finding in report.findings] == ["bounds"]


def test_an_overflow_that_no_number_shows_is_found_by_its_line():
    wrapping = "int32_t last = 2147483647;\nfor (int64_t i = 0; i < n; ++i) last += 1;\nif (last == 7) out[0] = 7;"
    session = checked(doubling(f"{GOOD}\n{wrapping}"))
    told = [text for text in session.skipped if " has no " in text]
    if told:
        pytest.skip(told[0])
    (finding,) = session.findings.values()
    assert "signed integer overflow: " in finding.message
    assert (finding.id, finding.at) == ("t::f[cpu,float64,c]::undefined", "<C source of t::f>:10")


@pytest.mark.parametrize("compiles", [False, True])
def test_a_race_of_a_numba_kernel_is_found_in_every_run(compiles):
    op = doubling()

    @op.kernel("cpu", language="numba", parallel=True)
    def f_numba(x, y):
        y[:] = 0
        for i in numba.prange(2 * x.size):
            y[i // 2] += x[i % x.size]

    session = Session(op.opdef, [], 0, 1500)
    assert watch([session.case([*op.opdef.kernels][-1], Call([np.arange(1.0, 8)], {}))], compiles=compiles) is None
    (finding,) = session.findings.values()
    assert finding.id == "t::f[cpu,float64,numba]::race"
    assert "steps 0 and 1 of the parallel loop both write y[0], of shape (7,)" in finding.message


@pytest.mark.parametrize("level", ["thorough", "default"])
def test_calls_of_other_sizes_are_watched_too(watching, level):
    given = watching()
    session = Session(doubling(GOOD).opdef, [Call([np.arange(1.0, 8)], {})], 0, 1500, level=level)
    check_elsewhere(session)
    assert ({inputs[0].size for inputs, _ in given} - {7} != set()) == (level == "thorough")


@pytest.mark.parametrize("refuses", [False, True])
def test_calls_that_are_too_large_to_be_watched_are_made_smaller_or_named(watching, monkeypatch, refuses):
    monkeypatch.setattr(CffiC, "watches", lambda *_, compiles: ("bounds", "race"))
    monkeypatch.setattr(CffiC, "watched_most", lambda *_: 50)
    given = watching()
    op = doubling(GOOD)
    op.check(lambda x: "expected 100 elements" if refuses and x.size != 100 else None)
    session = checked(op, np.arange(100.0))
    assert {inputs[0].shape for inputs, _ in given} == ({(100,)} if refuses else {(100,), (50,)})
    assert [text for text in session.skipped if "race" in text] == [
        "t::f[cpu,*,c]: race not looked at by a watched run of 2 of 2 calls, of more than 50 elements, which no "
        "smaller ones stand for; give a sample"
    ][:refuses]
    assert ("race" in session.lines["cpu,float64,c"].checks) != refuses

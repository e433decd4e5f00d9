"""What cannot run on this machine, for want of a package or a compiler, is skipped and said; the rest is judged."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import opsdk
from opsdk.verify.session import cannot_run_here
from tests.contracts.tree import REPOSITORY

HIDE = """\
import importlib.machinery, sys

class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {hidden!r} else super().find_spec(name, path, target)

sys.meta_path[:] = [Finder if f is importlib.machinery.PathFinder else f for f in sys.meta_path]
"""
OPS = """
import json
import numpy as np
import opsdk
from opsdk import vmath


@opsdk.elementwise
def derived(x, *, beta: float = 1.0):
    return x * vmath.sigmoid(beta * x)


@opsdk.op
def written(x):
    return np.maximum(x, 0)


@written.backward
def written_grad(y, dy):
    return dy * (y > 0)


@written.kernel("cpu", language="numba")
def written_numba(x, y):
    for i in range(x.size):
        y.flat[i] = max(x.flat[i], 0)


@opsdk.op
def wrong(x):
    return np.maximum(x, 0)


@wrong.backward
def wrong_grad(y, dy):
    return dy * (y >= 0)


reports = [opsdk.verify(op) for op in (derived, written, wrong)]
print(json.dumps([[r.verdict, len(r.findings), r.coverage.tested, r.coverage.skipped] for r in reports]))
"""


# A process each, which compiles; the other way round is left to the sweeps.
WITHOUT_C = pytest.param(("cffi", "_cffi_backend"), marks=pytest.mark.slow)


@pytest.mark.parametrize("hidden", [("numba", "llvmlite"), WITHOUT_C], ids=["numba", "cffi"])
def test_ops_that_run_by_numpy_are_judged_there_without_compilers(hidden, tmp_path):
    file = tmp_path / "ops.py"
    file.write_text(HIDE.format(hidden=hidden) + OPS)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (derived, written, wrong) = json.loads(done.stdout)
    for verdict, findings, tested, _ in (derived, written):
        assert (verdict, findings) == ("pass", 0)
        assert tested > 0
    assert wrong[:2] == ["fail", 1]
    assert any("[cpu,float64,numba]: native kernel needs " in text for text in derived[3])
    if "numba" in hidden:
        said = "ops::written[cpu,float64,numba]: op 'ops::written', numba kernel needs numba"
        assert any(said in text for text in written[3])


def test_without_a_c_compiler_c_kernels_are_skipped_and_said(monkeypatch):
    pytest.importorskip("cffi")
    monkeypatch.setenv("OPSDK_CC", "/no/such/compiler")

    @opsdk.op
    def doubled(x):
        return x * 2

    doubled.kernel("cpu", language="c", source="int32_t doubled_f64(const DLTensor *x, DLTensor *y) { return 0; }")
    report = opsdk.verify(doubled)
    assert report.findings == ()
    assert any("doubled[cpu,float64,c]" in text and "OPSDK_CC" in text for text in report.coverage.skipped)
    assert [row.verdict for row in report.rows if row.row == "cpu,float64,c"] == ["skipped"]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (opsdk.errors.MissingDependencyError("planted"), True),
        (opsdk.errors.CompileError("planted", code="OP402"), True),
        (opsdk.errors.CompileError("planted", code="OP403"), True),
        (opsdk.errors.CompileError("planted"), False),
        (ImportError("planted"), False),
    ],
)
def test_what_the_machine_lacks_is_told_from_what_the_op_does_wrong(error, expected):
    assert cannot_run_here(error) is expected


def test_an_op_whose_only_kernel_cannot_run_here_is_not_judged_and_not_failed(monkeypatch):
    pytest.importorskip("cffi")
    monkeypatch.setenv("OPSDK_CC", "/no/such/compiler")

    @opsdk.op
    def missing(x):
        raise opsdk.errors.MissingDependencyError("missing: needs a package")

    @missing.samples
    def _():
        yield opsdk.Sample(np.ones(3))

    report = opsdk.verify(missing)
    assert (report.verdict, report.findings) == ("inconclusive", ())
    assert any("missing: needs a package" in text for text in report.coverage.skipped)

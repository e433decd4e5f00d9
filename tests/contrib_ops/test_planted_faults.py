"""`opsdk check` finds what an author of these ops may get wrong: a sign, a factor, an index, a term, a stale value."""

import shutil
import subprocess
import sys

import pytest

from tests.contracts.tree import REPOSITORY

pytest.importorskip("numba")

FAULTS = {
    "scatter_mean": [
        ("segments/scatter.py", "shares = lines_of(wide(dy), axis)", "shares = -lines_of(wide(dy), axis)"),
        ("segments/scatter.py", ".reshape(-1) / counts_of(cells, dy.size)", ".reshape(-1)"),
        ("segments/scatter.py", "shares[cells]", "shares[cells[::-1]]"),
        ("segments/scatter.py", "return scatter_mean(ddsrc, index", "return scatter_mean(2 * ddsrc, index"),
        (
            "segments/scatter_numba.py",
            "np.zeros((size, after)), np.zeros((size, after))",
            "*[np.zeros((size, after))] * 2",
        ),
        ("segments/scatter_numba.py", "sums / np.maximum(counts, 1)", "sums / counts.max()"),
        ("segments/scatter_numba.py", "arriving[b, s, j] / counts[s, j]", "arriving[b, s, j] / counts[s, 0]"),
    ],
    "scatter_max": [
        ("segments/scatter.py", "np.arange(count)[:, None], count))", "np.arange(count)[::-1, None], count))"),
        ("segments/scatter.py", "np.put_along_axis(dsrc, arg, dy,", "np.put_along_axis(dsrc, arg, -dy,"),
        (
            "segments/scatter.py",
            "np.put_along_axis(dsrc, arg, dy,",
            "np.put_along_axis(dsrc, np.maximum(arg - 1, 0), dy,",
        ),
        ("segments/scatter.py", "np.pad(values, [(0, 1), (0, 0)])", "np.vstack([values, values[:1]])"),
        ("segments/scatter_numba.py", "at[b, s, j] == count or value > best", "value > best"),
        ("segments/scatter_numba.py", "value > best or", "value >= best or"),
        ("segments/scatter_numba.py", "made[:] = 0\n", "made[:, :1] = 0\n"),
    ],
}


# Half a minute each: an op is judged as a whole.
@pytest.mark.slow
@pytest.mark.parametrize(("op", "file", "right", "wrong"), [(op, *fault) for op in FAULTS for fault in FAULTS[op]])
def test_a_planted_fault_is_found(op, file, right, wrong, tmp_path):
    shutil.copytree(REPOSITORY / "contrib_ops", tmp_path / "contrib_ops", ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path / "contrib_ops" / file
    text = target.read_text(encoding="utf-8")
    assert text.count(right) >= 1
    target.write_text(text.replace(right, wrong), encoding="utf-8")
    command = [sys.executable, "-m", "opsdk", "check", "contrib_ops", "-k", op]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL" in done.stdout

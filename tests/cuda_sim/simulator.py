"""The simulator of CUDA, which needs processes of its own: runs files of this folder in one, or tests of them.

Proofs take more time than all others; those of contrib_ops and of the examples are run apart, so that two can share it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from opsdk.backends.cuda.runtime import SIMULATOR
from tests.contracts.tree import REPOSITORY

FILES = sorted(path.name for path in Path(__file__).parent.glob("sim_*.py"))
OF_CONTRIB_OPS = "sim_thorough.py::test_no_line_of_a_kernel_of_contrib_ops_is_left"
OF_EXAMPLES = "sim_thorough.py::test_no_line_of_a_kernel_of_an_example_is_left"
PLAIN = [name for name in FILES if name != "sim_thorough.py"]


def simulate(*files):
    """Runs files of this folder, or tests, by their names; gives how many tests passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "python_files=sim_*.py"]
    run = subprocess.run(
        [*command, *(f"tests/cuda_sim/{file}" for file in files)],
        cwd=REPOSITORY,
        env={**os.environ, SIMULATOR: "1", "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    summary = (run.stdout.strip().splitlines() or [""])[-1]
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert re.fullmatch(r"\d+ passed(, \d+ skipped)? in .*", summary), summary
    return int(summary.split()[0])

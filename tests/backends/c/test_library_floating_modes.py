import subprocess
import sys

from tests.contracts.tree import REPOSITORY

# In a process of its own: what the library does to the thread would stay
FAST = """
import numpy as np
from tests.backends.c_rows import nothing, op
made = op("f(Tensor x) -> Tensor y", nothing("f", "const DLTensor *x, DLTensor *y"), flags=["-ffast-math"])
tiny = np.array([2.0**-1070])
print((tiny * 0.5).view("int64")[0])  # bits: comparisons and texts, too, may take subnormal numbers for zeros
made(np.ones(1, "float32"))
print((tiny * 0.5).view("int64")[0])
"""


def test_a_library_with_fast_math_leaves_the_subnormal_numbers_of_its_thread_alone(tmp_path):
    environment = {"PYTHONPATH": str(REPOSITORY), "OPSDK_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", FAST], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{2**3}\n{2**3}\n"  # 2⁻¹⁰⁷¹ in units of 2⁻¹⁰⁷⁴

"""The CUDA kernels, run in a process of their own: on a GPU, or in Numba's simulator, chosen for a whole process.

The simulator runs each thread as Python, so the array is tiny, and nothing is said about speed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import opsdk
from opsdk.backends.call.language import is_installed
from opsdk.backends.cuda.runtime import SIMULATOR, is_simulated, missing_device
from opsdk.ship.targets.target import resolve

X = np.array([[-1.5, 0.0, 2.0, -0.25, 4.0], [3.0, -4.0, 0.5, -0.5, 1.0]], np.float32)
SECONDS = 120  # after which the process is given up; it needs two


@dataclass(frozen=True)
class OnDevice:
    """What became of the CUDA kernels.

    Args:
        simulated: whether the simulator ran them.
        elements: of the array that they were tried on.
        right: by name of the op, whether value and gradient equal NumPy's.
        problem: why the process did not answer; empty where it did.
    """

    simulated: bool
    elements: int = 0
    right: tuple[tuple[str, bool], ...] = ()
    problem: str = ""

    @property
    def where(self) -> str:
        """Where they ran."""
        return "in the simulator" if self.simulated else "on the GPU"

    @property
    def holds(self) -> bool:
        """Whether all were right."""
        return not self.problem and bool(self.right) and all(right for _, right in self.right)


def run(path: Path) -> OnDevice:
    """Runs the CUDA kernels of all ops in a file, forward and backward.

    Args:
        path: a file of ops of one input that are ReLUs.
    """
    simulated = bool(missing_device()) or not is_installed("cupy")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    environment.pop(SIMULATOR, None)
    if simulated:
        environment[SIMULATOR] = "1"
    command = [sys.executable, "-m", "opsdk.ship.demo.device", str(path)]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS, encoding="utf-8", check=False
        )
        if done.returncode:
            # The line of what was raised last; its notes stand below it, indented.
            said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith(" ")]
            return OnDevice(simulated, problem=said[-1] if said else f"exit {done.returncode}")
        found = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        return OnDevice(simulated, problem=f"{type(error).__name__}: {error}")
    return OnDevice(found["simulated"], found["elements"], tuple(map(tuple, found["right"])))


def main(path: Path) -> None:
    """Runs the CUDA kernels in this process, and prints what came of it as JSON."""
    dy = np.arange(1, X.size + 1, dtype=np.float32).reshape(X.shape)
    right = []
    for op in resolve(str(path)).ops:
        x = opsdk.to_tensor(X, place=opsdk.CUDAPlace(0), stop_gradient=False)
        y = op(x)
        y.backward(opsdk.to_tensor(dy, place=opsdk.CUDAPlace(0)))
        assert x.grad is not None, op.opdef.name
        is_right = np.array_equal(y.numpy(), np.maximum(X, 0)) and np.array_equal(x.grad.numpy(), dy * (X > 0))
        right.append((op.opdef.name, is_right))
    print(json.dumps({"simulated": is_simulated(), "elements": X.size, "right": right}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

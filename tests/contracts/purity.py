"""Import purity: what a fresh interpreter holds after one import."""

import json
import os
import subprocess
import sys

from tests.contracts.tree import REPOSITORY

COMPILERS = {"numba", "llvmlite", "cffi", "_cffi_backend", "cupy"}
FRAMEWORKS = {"torch", "jax", "paddle", "onnx", "onnxruntime"}
ASKED_FOR = {"ml_dtypes", "cloudpickle"}  # of an element type, or a worker process, that most programs never have
TOOLS = {"click", "rich", "jinja2", "matplotlib", "sklearn", "scipy", "mpi4py"}

_SCRIPT = """
import importlib, json, sys
before = set(sys.modules)
importlib.import_module(sys.argv[1])
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def loaded_by(package, root=REPOSITORY):
    """Gives the top-level modules that `import package` loads; none where the package does not exist."""
    if not (root / package.replace(".", "/") / "__init__.py").is_file():
        return set()
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-W", "error", "-c", _SCRIPT, package]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"import {package}: expected no error, got\n{done.stderr}")
    return set(json.loads(done.stdout.splitlines()[-1]))


def foreign(names, allowed):
    """Gives those of the names that are neither allowed nor in the standard library."""
    return {name for name in names if name not in allowed and name not in sys.stdlib_module_names}

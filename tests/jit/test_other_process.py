"""A model in a process that has imported neither the net nor the package of its op."""

import os
import subprocess
import sys

import numpy as np
import pytest

from opsdk import jit, nn
from opsdk.define.op import find_op
from opsdk.static import InputSpec
from tests.contracts.tree import REPOSITORY
from tests.installed import install, path_without_metadata

PACKAGE = """
import opsdk

@opsdk.op("far::half(Tensor x) -> Tensor y")
def half(x):
    return x / 2

@half.backward
def half_grad(dy):
    return dy / 2
"""
SERVER = """
import sys
import numpy as np
import opsdk
from opsdk import jit
from opsdk.inference import Predictor

path, rows = sys.argv[1], np.ones((2, 3), "float32")
assert "far_ops" not in sys.modules
made = Predictor(path)(rows)
assert "far_ops" in sys.modules
loaded = jit.load(path)
loaded.train()
loss = loaded(opsdk.to_tensor(rows)).sum()
loss.backward()
print(made.tolist(), loaded.weight.grad.numpy().tolist())
"""


def served(path, site):
    """Runs the server in a process that sees one folder beside opsdk."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(REPOSITORY)])}
    command = [sys.executable, "-c", SERVER, str(path)]
    return subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """A model with an op of an installed package, and the folder that it is installed in."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setattr(sys, "path", [str(site), *path_without_metadata()])
    (site / "far_ops.py").write_text(PACKAGE)
    install(site, "far-ops", {"far": "far_ops"})
    half = find_op("far::half")

    class Net(nn.Linear):
        def forward(self, x):
            return half(super().forward(x))

    net = Net(3, 2)
    net.weight.set_value(np.float32([[1, 2], [3, 4], [5, 6]]))
    net.bias.set_value(np.float32([1, -2]))
    jit.save(net, tmp_path / "m", [InputSpec([None, 3])])
    return tmp_path / "m", site


def test_the_op_is_found_by_its_name_where_its_package_is_installed(saved):
    run = served(*saved)
    assert run.stdout.strip() == "[[5.0, 5.0], [5.0, 5.0]] [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]", run.stderr


def test_where_it_is_missing_the_error_names_what_the_file_claims(saved, tmp_path):
    (tmp_path / "empty").mkdir()
    run = served(saved[0], tmp_path / "empty")
    assert "UnknownOpError: Predictor '" in run.stderr
    assert "op 'far::half': not registered" in run.stderr
    assert "the file says that 'far-ops 1.0' provides it" in run.stderr

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DefinitionError, UnknownOpError
from opsdk.define.op import REGISTRY
from tests.contracts.tree import REPOSITORY


@pytest.fixture
def square():
    with REGISTRY.scoped():

        @opsdk.elementwise("t::square(Tensor x) -> Tensor y")
        def square(x):
            return x * x

        yield square


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_belongs_to_an_op_is_refused_by_its_name_and_the_way_out(square, protocol):
    row, *_ = square.opdef.kernels
    parts = {"OpDef": square.opdef, "Kernel": row, "KernelTable": square.opdef.kernels, "GradRule": square.opdef.grad}
    for name, part in parts.items():
        text = rf"^pickle: expected an op, which goes by its name, got the {name}\b.* with functions in it; pickle the"
        with pytest.raises(DefinitionError, match=text):
            pickle.dumps([part], protocol)
    assert pickle.loads(pickle.dumps(square, protocol)) is square
    assert pickle.loads(pickle.dumps(square.opdef.schema, protocol)) == square.opdef.schema


def test_copies_of_the_parts_that_cannot_change_are_the_parts(square):
    for part in (square.opdef, *square.opdef.kernels, square.opdef.grad):
        assert copy.copy(part) is part
        assert copy.deepcopy({"part": part})["part"] is part


def test_an_op_that_only_another_process_made_is_said_to_be_so(tmp_path):
    text = (
        "import pickle, opsdk\n"
        "def make(k):\n"
        "    return opsdk.op(namespace='worker', name=f'times{k}')(lambda x: k * x)\n"
        "open('made.pickle', 'wb').write(pickle.dumps(make(3)))\n"
    )
    (tmp_path / "made.py").write_text(text)
    root = str(Path(opsdk.__file__).parents[1])
    subprocess.run([sys.executable, "made.py"], cwd=tmp_path, env={"PYTHONPATH": root}, check=True)
    said = (tmp_path / "made.pickle").read_bytes()
    with pytest.raises(UnknownOpError) as caught:
        pickle.loads(said)
    assert str(caught.value).startswith(
        "op 'worker::times3': expected the op that was pickled, by its name, to be defined in the process that loads "
        "it too, got none; define it at the top of a module that both import, where "
    )
    assert "made.py:3 was run by the other alone" in str(caught.value)
    with REGISTRY.scoped():
        k = 3
        made = opsdk.op(namespace="worker", name="times3")(lambda x: k * x)
        np.testing.assert_array_equal(made(np.ones(1)), [3])


SCRIPT = """
import multiprocessing
import numpy as np
import opsdk

@opsdk.op
def scaled(x):
    return x * 2.0

def use(op):
    return op(np.ones(1)).tolist()

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply_async(use, [scaled]).get(60), scaled.schema)
"""


def test_an_op_of_a_script_has_one_name_in_the_script_and_in_its_workers(tmp_path):
    script = tmp_path / "study.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "[2.0] study::scaled@1(Tensor x) -> Tensor y\n", done.stderr

import pytest

from tests.contracts import floors
from tests.contracts.surface import public_names
from tests.contracts.tree import plant, read_tree


# In no variable of this module: parsed sources are a million objects, which every process would keep to its end.
@pytest.fixture(scope="module")
def modules():
    return read_tree()


def test_imports_go_down(modules):
    assert floors.floor_violations(modules) == []


def test_gradcheck_knows_numpy_only(modules):
    assert floors.gradcheck_violations(modules) == []


def test_imports_inside_gradcheck_go_down(modules):
    assert floors.gradcheck_floor_violations(modules) == []


def test_contrib_ops_uses_public_names_only(modules):
    assert floors.contrib_violations(modules, public_names("opsdk")) == []


def test_imports_inside_functions_stay_where_they_are_meant(modules):
    assert floors.deferral_violations(modules) == []


def test_no_import_cycles(modules):
    assert floors.cycles(modules) == []


HOUSE = {
    "opsdk/core/errors.py": "class OpError(Exception): ...\n",
    "opsdk/define/schema.py": "from opsdk.core.errors import OpError\n",
    "opsdk/expr/nodes.py": "from ..define import schema\n",
    "opsdk/backends/dispatch.py": "import opsdk.expr.nodes as nodes\n",
    "opsdk/ops/relu.py": "from opsdk.define import schema\n",
    "opsdk/autograd/tensor.py": "from opsdk.backends.dispatch import nodes\n",
    "opsdk/static/program.py": "from opsdk.core import errors\n",
    "opsdk/nn/layer.py": "from opsdk.static import program\nfrom opsdk.autograd import tensor\n",
    "opsdk/jit/save.py": "from opsdk.nn.layer import program\n",
    "opsdk/verify.py": "import gradcheck\nfrom opsdk.jit import save\n",
    "opsdk/ship/cli.py": "import opsdk\nfrom opsdk import verify\n",
}


def test_a_house_in_order_has_no_violation(tmp_path):
    modules = plant(tmp_path, HOUSE)
    assert floors.floor_violations(modules) == []
    assert floors.cycles(modules) == []


@pytest.mark.parametrize(
    ("path", "source", "words"),
    [
        ("opsdk/core/up.py", "from opsdk.define import schema\n", "core (floor 0) imports opsdk.define.schema"),
        ("opsdk/core/up.py", "from ..define.schema import OpError\n", "core (floor 0) imports opsdk.define.schema"),
        ("opsdk/core/up.py", "def f():\n    import opsdk.jit.save as s\n", "core (floor 0) imports opsdk.jit.save"),
        (
            "opsdk/core/up.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from opsdk.nn import layer\n",
            "core (floor 0) imports opsdk.nn.layer",
        ),
        ("opsdk/core/up.py", "m = lazy('opsdk.static.program')\n", "core (floor 0) imports opsdk.static.program"),
        ("opsdk/ops/far.py", "from opsdk.backends import dispatch\n", "ops imports opsdk.backends.dispatch"),
        ("opsdk/backends/far.py", "from opsdk.ops import relu\n", "backends imports opsdk.ops.relu"),
        ("opsdk/static/far.py", "from opsdk.autograd import tensor\n", "the two runtimes do not know each other"),
        ("opsdk/autograd/far.py", "from opsdk.static import program\n", "the two runtimes do not know each other"),
        ("opsdk/jit/far.py", "from opsdk.verify import save\n", "jit imports the leaf opsdk.verify"),
        ("opsdk/nn/far.py", "import opsdk\n", "imports the facade"),
        ("opsdk/nn/far.py", "from opsdk import core\n", "imports the facade"),
        ("opsdk/nn/far.py", "from .. import core\n", "imports the facade"),
        ("opsdk/nn/far.py", "import opsdk.core.errors\n", "imports the facade"),
        ("opsdk/nn/far.py", "import contrib_ops\n", "opsdk imports contrib_ops"),
        ("opsdk/attic/x.py", "import os\n", "opsdk.attic stands on no floor"),
    ],
)
def test_a_step_off_the_stairs_is_reported(tmp_path, path, source, words):
    (violation,) = floors.floor_violations(plant(tmp_path, {**HOUSE, path: source}))
    assert violation.startswith(f"{path}:")
    assert words in violation


@pytest.mark.parametrize("path", ["gradcheck/numeric.py", "gradcheck/subjects/torch.py"])
def test_gradcheck_importing_opsdk_is_reported(tmp_path, path):
    modules = plant(tmp_path, {path: "import numpy\ndef f():\n    import opsdk.core\n"})
    (violation,) = floors.gradcheck_violations(modules)
    assert violation == f"{path}:3: gradcheck imports opsdk.core; it knows NumPy and the standard library only"


def test_a_step_up_inside_gradcheck_is_reported(tmp_path):
    sources = {
        "gradcheck/numeric/noise.py": "from gradcheck.checks import state\n",
        "gradcheck/checks/state.py": "from gradcheck.numeric import noise\n",
        "gradcheck/helpers.py": "",
    }
    assert sorted(floors.gradcheck_floor_violations(plant(tmp_path, sources))) == [
        "gradcheck.helpers stands on no floor; move it into a folder that does",
        "gradcheck/numeric/noise.py:1: numeric imports gradcheck.checks.state; imports go down",
    ]


def test_only_a_gradcheck_subject_may_import_its_framework(tmp_path):
    source = "import torch\n"
    modules = plant(tmp_path, {"gradcheck/subjects/torch.py": source, "gradcheck/numeric.py": source})
    assert [v.split(":")[0] for v in floors.gradcheck_violations(modules)] == ["gradcheck/numeric.py"]


def test_only_gradchecks_pytest_plugin_may_import_pytest(tmp_path):
    source = "import pytest\n"
    modules = plant(tmp_path, {"gradcheck/pytest_plugin.py": source, "gradcheck/door.py": source})
    assert [v.split(":")[0] for v in floors.gradcheck_violations(modules)] == ["gradcheck/door.py"]


@pytest.mark.parametrize(
    "source", ["from opsdk.define import schema\n", "import opsdk.define\n", "opsdk.define\n", "import opsdk._op\n"]
)
def test_a_private_name_in_contrib_ops_is_reported(tmp_path, source):
    modules = plant(tmp_path, {"contrib_ops/act/snake.py": "import opsdk\nfrom opsdk import op\nopsdk.op\n" + source})
    assert len(floors.contrib_violations(modules, {"op"})) == 1


@pytest.mark.parametrize("source", ["def f():\n    import numba\n", "f = lambda: import_module('numba')\n"])
def test_a_deferred_import_is_reported_outside_its_places(tmp_path, source):
    places = ["opsdk/core/lazy.py", "opsdk/bridges/torch.py", "opsdk/ship/cli.py", "gradcheck/subjects/jax.py"]
    modules = plant(tmp_path, dict.fromkeys([*places, "opsdk/__init__.py", "opsdk/backends/c.py"], source))
    (violation,) = floors.deferral_violations(modules)
    assert violation.startswith("opsdk/backends/c.py:")


def test_a_cycle_is_reported(tmp_path):
    files = {"opsdk/expr/a.py": "from . import b\n", "opsdk/expr/b.py": "from opsdk.expr.a import x\n"}
    assert floors.cycles(plant(tmp_path, files)) == [["opsdk.expr.a", "opsdk.expr.b"]]


def test_a_cycle_through_a_package_is_reported(tmp_path):
    files = {
        "opsdk/define/__init__.py": "from opsdk.define.decorators import op\n",
        "opsdk/define/decorators.py": "from opsdk.expr.trace import trace\n",
        "opsdk/define/schema.py": "",
        "opsdk/expr/trace.py": "from opsdk.define.schema import parse\n",
    }
    assert floors.cycles(plant(tmp_path, files)) == [["opsdk.define", "opsdk.define.decorators", "opsdk.expr.trace"]]


def test_imports_that_do_not_run_make_no_cycle(tmp_path):
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from opsdk.expr.a import x\n"
    modules = plant(tmp_path, {"opsdk/expr/a.py": "from . import b\n", "opsdk/expr/b.py": source})
    assert floors.cycles(modules) == []

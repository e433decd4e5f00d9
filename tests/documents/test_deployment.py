"""Documents 000 and 004, item by item: structure and parameters on disk, to serve and to go on with."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk import jit, nn, static
from opsdk.core.errors import DTypeError, ProgramError, ShapeError
from opsdk.inference import Predictor
from opsdk.static import InputSpec
from tests.contracts.tree import REPOSITORY

IMAGES = np.random.default_rng(0).standard_normal((5, 784)).astype("float32")
SERVED = """
import sys
import numpy as np
from opsdk.inference import Predictor
np.save(sys.argv[3], Predictor(sys.argv[1])(np.load(sys.argv[2])))
print("training" in sys.modules, "opsdk.jit" in sys.modules)
"""


class LinearNet(nn.Layer):
    """The document's net."""

    def __init__(self):
        super().__init__()
        self._linear = nn.Linear(784, 10)

    def forward(self, x):
        return self._linear(x)


@pytest.fixture
def layer():
    opsdk.seed(1)
    return LinearNet()


@pytest.fixture
def path(layer, tmp_path):
    """What the document's call saves."""
    path = str(tmp_path / "inference" / "linear")
    jit.save(layer=layer, path=path, input_spec=[InputSpec(shape=[None, 784], dtype="float32")])
    return path


class Keeps(nn.Layer):
    """One tensor that is a plain attribute, and one that is a buffer."""

    def __init__(self):
        super().__init__()
        self.plain, self.fc = opsdk.full([1], 2.0), nn.Linear(2, 2)
        self.register_buffer("saved_tensor", opsdk.full([1], 3.0), persistable=True)

    def forward(self, inputs):
        return self.fc(inputs) * self.plain + self.saved_tensor


def test_a14_a_buffer_is_recorded_as_state_and_a_plain_tensor_as_its_value(tmp_path):
    net, x = Keeps(), np.ones((1, 2), "float32")
    jit.save(net, tmp_path / "m", [InputSpec([None, 2])])
    loaded = jit.load(tmp_path / "m")
    assert list(loaded.state_dict()) == ["saved_tensor", "fc.weight", "fc.bias"]
    assert np.array_equal(loaded(x).numpy(), net(opsdk.to_tensor(x)).numpy())
    before = loaded(x).numpy()
    loaded.saved_tensor.set_value(np.float32([13.0]))
    assert np.allclose(loaded(x).numpy() - before, 10.0, atol=1e-5)


def test_a23_the_structure_is_saved_beside_the_parameters(layer, path):
    text = Path(path + ".pdmodel").read_text()
    assert [word in text for word in ('"opsdk::matmul@1"', '"opsdk::elementwise_add@1"')] == [True, True]
    state = opsdk.load(path + ".pdiparams", return_numpy=True)
    assert sorted(value.shape for value in state.values()) == [(10,), (784, 10)]


def test_e08_jit_save_converts_a_layer_and_compiles_its_structure(layer, path):
    program = jit.load(path).program()
    assert [operator.type for operator in program.global_block().ops] == ["matmul", "elementwise_add"]
    assert program.global_block().vars["x"].spec.shape == (None, 784)


def test_e09_exactly_three_files_with_the_suffixes_of_the_document(path):
    folder = Path(path).parent
    assert sorted(each.name for each in folder.iterdir()) == [
        "linear.pdiparams",
        "linear.pdiparams.info",
        "linear.pdmodel",
    ]
    assert all(each.stat().st_size > 100 for each in folder.iterdir())


def test_e10_an_input_spec_leaves_sizes_open_and_holds_inputs_to_shape_and_dtype(path):
    loaded = jit.load(path)
    assert [tuple(loaded(IMAGES[:rows]).shape) for rows in (1, 3, 5)] == [(1, 10), (3, 10), (5, 10)]
    with pytest.raises(ShapeError, match=r"input 'x': expected shape \(\?, 784\), as it was saved, got \(5, 783\)"):
        loaded(IMAGES[:, 1:])
    with pytest.raises(DTypeError, match="input 'x': expected float32, as it was saved, got float64; cast it"):
        loaded(IMAGES.astype("float64"))


def test_e11_a_forward_that_asks_a_tensor_for_its_truth_is_refused_with_its_line(tmp_path):
    class NotRecommended(LinearNet):
        def forward(self, x, label=None):
            out = self._linear(x)
            if label:
                return nn.functional.cross_entropy(out, label).mean()
            return out

    specs = [InputSpec([None, 784]), InputSpec([None, 1], "int64")]
    with pytest.raises(ProgramError, match="expected a truth value, but it has no value") as caught:
        jit.save(NotRecommended(), tmp_path / "m", specs)
    line = NotRecommended.forward.__code__.co_firstlineno + 2
    assert any(f"test_deployment.py:{line}" in note for note in caught.value.__notes__)
    jit.save(NotRecommended(), tmp_path / "m", specs[:1])
    assert tuple(jit.load(tmp_path / "m")(IMAGES).shape) == (5, 10)


def test_e12_what_is_loaded_infers_and_is_trained_further(layer, path):
    loaded = jit.load(path)
    assert loaded is not layer
    assert np.array_equal(loaded(IMAGES).numpy(), layer(opsdk.to_tensor(IMAGES)).numpy())
    label, losses = opsdk.to_tensor(np.arange(5)[:, None]), []
    loaded.train()
    adam = opsdk.optimizer.Adam(learning_rate=0.01, parameters=loaded.parameters())
    for _ in range(5):
        loss = nn.CrossEntropyLoss()(loaded(opsdk.to_tensor(IMAGES)), label)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_e14_a_static_model_is_saved_directly(tmp_path):
    main, startup, exe = static.Program(), static.Program(), static.Executor()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        image = static.data("image", [None, 784], "float32")
        made = static.nn.fc(image, 10)
        exe.run(startup)
        (expected,) = exe.run(feed={"image": IMAGES}, fetch_list=[made])
        static.save_inference_model(str(tmp_path / "m"), [image], [made], exe)
    with static.scope_guard(static.Scope()):
        program, feeds, fetches = static.load_inference_model(str(tmp_path / "m"), exe)
        (found,) = exe.run(program, feed={feeds[0]: IMAGES}, fetch_list=fetches)
    assert np.array_equal(found, expected)


def test_e16_a_runner_of_another_process_serves_it_without_the_code(layer, path, tmp_path):
    np.save(tmp_path / "in.npy", IMAGES)
    command = [sys.executable, "-c", SERVED, path, tmp_path / "in.npy", tmp_path / "out.npy"]
    run = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["False", "False"]
    assert np.array_equal(np.load(tmp_path / "out.npy"), layer(opsdk.to_tensor(IMAGES)).numpy())


def test_f11_a_server_needs_the_files_alone(layer, path):
    predictor = Predictor(path)
    layer._linear.weight.set_value(np.zeros((784, 10), "float32"))
    assert predictor(IMAGES).any()

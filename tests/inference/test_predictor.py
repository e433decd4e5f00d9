import subprocess
import sys
import threading

import numpy as np
import pytest

import opsdk
from opsdk import jit, nn, static
from opsdk.core.errors import ArityError, FeedError, FetchError, FileMissingError
from opsdk.inference import Config, Predictor, create_predictor
from opsdk.static import InputSpec


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.line, self.drop = nn.Linear(3, 2), nn.Dropout(0.5)

    def forward(self, x):
        y = self.drop(self.line(x))
        return {"y": y, "all": (y.sum(), None, 3)}


@pytest.fixture
def net():
    opsdk.seed(1)
    made = Net()
    made.eval()
    return made


@pytest.fixture
def prefix(net, tmp_path):
    jit.save(net, tmp_path / "m", [InputSpec([None, 3])])
    return str(tmp_path / "m")


def rows(count):
    return np.random.default_rng(count).standard_normal((count, 3)).astype("float32")


def test_a_process_that_knows_the_predictor_alone_finds_the_ops_of_nets(tmp_path):
    jit.save(nn.BatchNorm1D(3), tmp_path / "m", [InputSpec([None, 3])])
    code = (
        "import sys, numpy; from opsdk.inference import Predictor; assert 'opsdk.nn' not in sys.modules;"
        "print(Predictor(sys.argv[1])(numpy.ones((2, 3), 'float32')).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("(2, 3)\n", "")


def test_arrays_go_in_and_come_out_as_the_layer_gives_them(net, prefix):
    predictor, x = Predictor(prefix), rows(4)
    found, expected = predictor(x), net(opsdk.to_tensor(x))
    assert type(found["y"]) is np.ndarray
    assert np.array_equal(found["y"], expected["y"].numpy())
    assert found["all"][1:] == (None, 3)
    assert np.array_equal(predictor(x=x)["y"], found["y"])
    assert np.array_equal(predictor(opsdk.to_tensor(x))["y"], found["y"])
    assert (predictor.get_input_names(), len(predictor.get_output_names())) == (["x"], 2)
    assert np.array_equal(predictor.run({"x": x})[0], found["y"])


def test_what_it_has_is_its_own(net, prefix):
    first, second, x = Predictor(prefix), Predictor(prefix), rows(2)
    expected = first(x)["y"].copy()
    first(x)["y"][:] = 0
    net.line.weight.set_value(np.zeros((3, 2), "float32"))
    assert np.array_equal(second(x)["y"], expected)
    assert static.global_scope().lookup(net.line.weight.name) is None or np.array_equal(first(x)["y"], expected)


def test_threads_call_one_predictor_with_batches_of_their_own(prefix):
    predictor = Predictor(prefix)
    expected = {count: Predictor(prefix)(rows(count))["y"] for count in range(1, 9)}
    wrong = []

    def serve(count):
        try:
            x = rows(count)
            wrong.extend(count for _ in range(20) if not np.array_equal(predictor(x)["y"], expected[count]))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=serve, args=(count,)) for count in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("args", "named", "error", "words"),
    [
        ((rows(1), rows(1)), {}, ArityError, "Predictor '.*m': expected inputs x, got 2 by position"),
        ((rows(1),), {"x": rows(1)}, ArityError, "Predictor '.*m': expected inputs x, got 1 by position"),
        ((), {}, FeedError, "x"),
        ((), {"z": rows(1)}, FeedError, "z"),
        ((rows(1).astype("float64"),), {}, FeedError, "float64"),
        ((np.ones((1, 4), "float32"),), {}, FeedError, "4"),
    ],
)
def test_other_inputs_are_told(prefix, args, named, error, words):
    with pytest.raises(error, match=words):
        Predictor(prefix)(*args, **named)


def test_a_model_that_is_missing_is_told(tmp_path):
    with pytest.raises(FileMissingError, match=r"Predictor '.*m': expected the files .pdmodel, .pdiparams and"):
        Predictor(tmp_path / "m")


def test_what_a_static_program_saved_is_served(tmp_path):
    main, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        x = static.data("image", [None, 3], "float32")
        y = static.nn.fc(x, 2)
        exe = static.Executor()
        exe.run(startup)
        static.save_inference_model(str(tmp_path / "s"), [x], [y, x])
        expected = exe.run(main, feed={"image": rows(3)}, fetch_list=[y])[0]
    found, image = Predictor(tmp_path / "s")(rows(3))
    assert np.array_equal(found, expected)
    assert np.array_equal(image, rows(3))


# -- Paddle's words ----------------------------------------------------------------------------------------------------


def test_handles_take_and_give_arrays(net, prefix):
    predictor, x = create_predictor(Config(prefix + ".pdmodel", prefix + ".pdiparams")), rows(2)
    expected = net(opsdk.to_tensor(x))["y"].numpy()
    taken = predictor.get_input_handle("x")
    taken.reshape([2, 3])
    taken.copy_from_cpu(x)
    given = predictor.get_output_handle(predictor.get_output_names()[0])
    with pytest.raises(FetchError, match=r"output '.*': expected a run before, there was none; call run\(\)"):
        given.copy_to_cpu()
    assert predictor.run() is True
    assert np.array_equal(given.copy_to_cpu(), expected)
    assert given.shape() == [2, 2]
    assert np.array_equal(predictor.run([x])[0], expected)
    assert np.array_equal(predictor.run({"x": x})[0], expected)
    with pytest.raises(ArityError, match="expected inputs x, got 2 by position"):
        predictor.run([x, x])
    with pytest.raises(FetchError, match=r"Predictor '.*m': 'y' expected among x"):
        predictor.get_input_handle("y")

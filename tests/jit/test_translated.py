import copy

import numpy as np
import pytest

import opsdk
from opsdk import jit, nn
from opsdk.core.errors import ArityError, DTypeError, SavedFileError, ShapeError
from opsdk.static import InputSpec


class Two(nn.Layer):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(2, 2)
        self.tied = self.line

    def forward(self, x, y):
        return self.line(x) + y


@pytest.fixture
def loaded(tmp_path):
    jit.save(Two(), tmp_path / "m", [InputSpec([None, 2]), InputSpec([None, 2])])
    return jit.load(tmp_path / "m")


X = np.ones((1, 2), "float32")


def test_it_is_a_layer_in_evaluation_mode_with_the_names_of_the_original(loaded):
    assert isinstance(loaded, nn.Layer)
    assert not loaded.training
    assert list(loaded.state_dict()) == ["line.weight", "line.bias", "tied.weight", "tied.bias"]
    assert loaded.line.weight is loaded.tied.weight
    assert loaded.train() is loaded
    assert loaded.training


def test_a_copy_of_it_is_trained_by_itself(loaded):
    other = copy.deepcopy(loaded)
    before = loaded(X, X).numpy()
    with opsdk.no_grad():
        other.line.weight.fill_(0.0)
        other.line.bias.fill_(0.0)
    assert np.array_equal(other(X, X).numpy(), X.repeat(1, 0))
    assert np.array_equal(loaded(X, X).numpy(), before)


def test_it_says_what_it_takes(loaded):
    assert loaded.input_spec() == [InputSpec([None, 2], "float32", "x"), InputSpec([None, 2], "float32", "y")]
    assert loaded.program().global_block().ops[0].type == "matmul"
    assert loaded.program("forward.train").global_block().ops


def test_inputs_by_position_by_name_and_as_arrays(loaded):
    expected = loaded(opsdk.to_tensor(X), opsdk.to_tensor(X)).numpy()
    for found in (loaded(X, X), loaded(x=X, y=X), loaded(X, y=X), loaded([X, X])):
        assert np.array_equal(found.numpy(), expected)


@pytest.mark.parametrize(
    ("args", "named", "words"),
    [
        ((X,), {}, "expected inputs x, y, got 1 by position"),
        ((X, X, X), {}, "expected inputs x, y, got 3 by position"),
        ((X, X), {"x": X}, "expected inputs x, y, got 2 by position, x"),
        ((X,), {"z": X}, "expected inputs x, y, got 1 by position, z"),
        ((X, "a"), {}, "input 'y': expected a tensor or an array, got str"),
    ],
)
def test_other_inputs_are_told(loaded, args, named, words):
    with pytest.raises(ArityError) as caught:
        loaded(*args, **named)
    assert words in str(caught.value)


def test_an_input_of_another_kind_is_told(loaded):
    with pytest.raises(DTypeError, match="input 'y': expected float32, as it was saved, got float64; cast it"):
        loaded(X, X.astype("float64"))
    for shape, shown in (((1, 3), r"\(1, 3\)"), ((2,), r"\(2,\)")):
        with pytest.raises(ShapeError, match=rf"input 'y': expected shape \(\?, 2\), as it was saved, got {shown}"):
            loaded(X, np.ones(shape, "float32"))


def test_a_function_that_is_missing_is_told(loaded):
    with pytest.raises(SavedFileError, match=r"jit.load '.*m': expected one of forward, forward.train, got 'backward'"):
        loaded.program("backward")


def test_two_layers_of_one_file_share_nothing(tmp_path):
    jit.save(nn.Linear(2, 2), tmp_path / "m", [InputSpec([None, 2])])
    first, second = jit.load(tmp_path / "m"), jit.load(tmp_path / "m")
    expected = second(X).numpy()
    first.weight.set_value(np.zeros((2, 2), "float32"))
    assert np.array_equal(second(X).numpy(), expected)

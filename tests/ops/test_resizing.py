import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AttributeValueError, ProgramError, ShapeError
from opsdk.ops import resizing

X = np.arange(6.0).reshape(2, 3)


def gradient(function, x):
    """The gradient of the sum of a function, weighted so that every place counts by itself."""
    tensor = opsdk.to_tensor(x, stop_gradient=False)
    made = function(tensor)
    (found,) = opsdk.grad((made * np.arange(1.0, made.size + 1).reshape(made.shape)).sum(), tensor)
    return found.numpy()


@pytest.mark.parametrize("shape", [(4, 2, 3), (4, -1, 3), [2, 3], (2, -1), np.array([1, 2, 3])])
def test_expand_is_a_broadcast_and_1_below_0_keeps_a_size(shape):
    wanted = np.broadcast_to(X, [X.shape[i - len(shape)] if n == -1 else n for i, n in enumerate(shape)])
    for got in (opsdk.expand(X, shape), opsdk.to_tensor(X).expand(shape), opsdk.to_tensor(X).expand(*shape)):
        np.testing.assert_array_equal(np.asarray(got), wanted)


def test_what_is_expanded_is_memory_of_its_own():
    assert not np.shares_memory(opsdk.expand(X, [2, 3]), X)


def test_numbers_expand_and_numpys_broadcast_is_recorded():
    assert opsdk.expand(2.0, [2]).tolist() == [2.0, 2.0]
    np.testing.assert_array_equal(gradient(lambda x: np.broadcast_to(x, (2, 3)), X[:1]), [[5.0, 7.0, 9.0]])


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([3], r"expand: expected a size for each axis of shape \(2, 3\), got \(3,\)"),
        ([4, 3], r"expand: size 0 expected -1, or 2, got 4, from shape \(2, 3\)"),
        ([-1, 2, 3], "expand: size 0 expected a number, as x has no axis there, got -1"),
        ([2, -3], "expand: size 1 expected -1, or 3, got -3"),
        ("a", "expand: expected sizes, got 'a'"),
    ],
)
def test_sizes_that_x_does_not_broadcast_to_are_refused(shape, message):
    with pytest.raises(ShapeError, match=message):
        opsdk.expand(X, shape)


def test_every_size_of_another_value_names_its_value_and_axis():
    with pytest.raises(ShapeError, match=r"expand: expected a value and its axis for each size -2, got \(-2, 3\), ax"):
        resizing.expand(X[0], [X], shape=[-2, 3])


def test_sizes_that_only_a_run_can_tell_are_those_of_their_variables():
    with static.program_guard(static.Program()):
        x, v = static.data("x", [None, 3], "float64"), static.data("v", [3, None], "float64")
        made = [opsdk.expand(v[:, :1], [3, x.shape[0]]), opsdk.expand(x, [2, x.shape[0], 3]), v.expand(v.shape)]
        assert [tuple(m.spec.shape) for m in made] == [(3, None), (2, None, 3), (3, None)]
        feed = {"x": np.ones((4, 3)), "v": np.arange(6.0).reshape(3, 2)}
        found = static.Executor().run(feed=feed, fetch_list=made)
    np.testing.assert_array_equal(found[0], np.broadcast_to([[0.0], [2.0], [4.0]], (3, 4)))
    assert found[1].shape == (2, 4, 3)
    np.testing.assert_array_equal(found[2], feed["v"])


def test_a_size_of_what_is_no_value_has_no_number():
    size = static.InputSpec([None, 3], "float32", "images").shape[0]
    with pytest.raises(ProgramError, match="size 0 of 'images': expected a number for expand"):
        opsdk.expand(X, [size, 2, 3])


PADDED = {
    "constant": {"constant_values": 7.0},
    "reflect": {},
    "edge": {},
    "wrap": {},
}
OURS = {"edge": "replicate", "wrap": "circular"}


@pytest.mark.parametrize("mode", PADDED)
@pytest.mark.parametrize("widths", [[(1, 0), (2, 1)], [(0, 0), (0, 2)], [(1, 1), (2, 2)]])
def test_pad_is_numpys(mode, widths):
    wanted = np.pad(X, widths, mode, **PADDED[mode])
    np.testing.assert_array_equal(opsdk.pad(X, widths, OURS.get(mode, mode), 7.0), wanted)
    np.testing.assert_array_equal(np.pad(opsdk.to_tensor(X), widths, mode, **PADDED[mode]).numpy(), wanted)


@pytest.mark.parametrize("width", [1, (1, 1), (1, 2), ((1, 2),), ((1, 2), (0, 1)), np.array([[1], [2]])])
def test_numpys_pad_takes_widths_as_numpy_does(width):
    np.testing.assert_array_equal(np.pad(opsdk.to_tensor(X), width).numpy(), np.pad(X, width))


def test_numbers_are_of_the_last_axis_first_as_in_pytorch_and_paddle():
    x = np.zeros((1, 1, 2, 2))
    assert opsdk.pad(x, [1, 2]).shape == (1, 1, 2, 5)
    assert opsdk.pad(x, [1, 2, 3, 4]).shape == (1, 1, 9, 5)
    assert opsdk.pad(np.zeros(2), [1, 2]).shape == (5,)
    assert opsdk.pad(X, 1).shape == (4, 5)
    assert opsdk.pad(X, [2, 1, 2, 1]).shape == (5, 6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 1, 2, 2], "which PyTorch reads from the last axis on and Paddle from the first"),
        ([1] * 6, r"pad: expected pairs, \[\(before, after\), …\] from the first axis on, or numbers for fewer than a"),
        ([1], r"pad: expected a pair for each axis, \[\(before, after\), …\], got \[1\]"),
        ([(1, 1), 2], "pad: expected a pair for each axis"),
        ("a", "pad: expected a pair for each axis"),
        ([(1, 1)], "pad expected two numbers ≥ 0 for each axis of shape"),
        ([(-1, 0), (0, 0)], r"pad expected two numbers ≥ 0 .* got \[-1, 0, 0, 0\]; take slices, x\[1:\], to leave out"),
    ],
)
def test_widths_that_are_none_or_could_mean_two_things_are_refused(given, message):
    with pytest.raises(ShapeError, match=message):
        opsdk.pad(X, given)


def test_another_mode_and_repeating_nothing_are_refused():
    with pytest.raises(AttributeValueError, match="mode expected one of constant, reflect, replicate, circular, got"):
        opsdk.pad(X, 1, "edge")
    with pytest.raises(ShapeError, match=r"op 'opsdk::pad': reflect expected elements to repeat, got shape \(0, 2\)"):
        opsdk.pad(np.zeros((0, 2)), 1, "reflect")


def test_the_gradient_of_what_was_repeated_is_where_it_was_taken_from():
    np.testing.assert_array_equal(gradient(lambda x: opsdk.pad(x, [2, 1]), np.zeros(3)), [3, 4, 5])
    np.testing.assert_array_equal(gradient(lambda x: opsdk.pad(x, [2, 1], "replicate"), np.zeros(3)), [6, 4, 5 + 6])
    np.testing.assert_array_equal(gradient(lambda x: opsdk.pad(x, [2, 1], "reflect"), np.zeros(3)), [3, 2 + 4 + 6, 6])
    np.testing.assert_array_equal(gradient(lambda x: opsdk.pad(x, [2, 1], "circular"), np.zeros(3)), [3 + 6, 5, 7])


def test_an_open_size_is_padded_when_it_is_known():
    with static.program_guard(static.Program()):
        x = static.data("x", [None, 3], "float64")
        made = opsdk.pad(x, [(1, 0), (0, 2)])
        assert tuple(made.spec.shape) == (None, 5)
        assert static.Executor().run(feed={"x": X}, fetch_list=[made])[0].shape == (3, 5)

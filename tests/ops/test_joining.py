import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ArityError, DTypeError, ShapeError
from opsdk.ops import joining

X = np.arange(24.0).reshape(2, 3, 4)


def gradient(op, x, *others, **attrs):
    """The gradient of a call with respect to its first input, for a cotangent of ones."""
    tensor = opsdk.to_tensor(x, stop_gradient=False)
    (found,) = opsdk.grad(op(tensor, *others, **attrs), tensor)
    return found.numpy()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat_and_stack_are_numpys(axis, rng):
    parts = [rng.normal(size=(2, 3)), rng.normal(size=(2, 3))]
    np.testing.assert_array_equal(joining.concat(parts, axis=axis), np.concatenate(parts, axis))
    np.testing.assert_array_equal(joining.stack(parts, axis=axis), np.stack(parts, axis))


def test_concat_promotes_and_each_gradient_has_its_own_dtype():
    parts = [opsdk.to_tensor(np.ones(n, dtype), stop_gradient=False) for n, dtype in ((1, "float32"), (2, "float64"))]
    for op in (joining.concat, lambda x: joining.stack([x[0], x[1][:1]])):
        joined = op(parts)
        assert joined.dtype == np.float64
        assert [g.dtype for g in opsdk.grad(joined, parts)] == [np.float32, np.float64]


def test_the_same_tensor_joined_twice_gets_both_gradients():
    x = opsdk.to_tensor(np.zeros(2), stop_gradient=False)
    (dx,) = opsdk.grad(joining.concat([x, x]), x)
    np.testing.assert_array_equal(dx.numpy(), [2, 2])


def test_joining_nothing_is_refused():
    with pytest.raises(ArityError, match="concat: expected at least one tensor, got none"):
        joining.concat([])
    with pytest.raises(ArityError, match="stack: expected at least one tensor, got none"):
        joining.stack([])


def specs(*shapes):
    return [[opsdk.TensorSpec(shape, "float32") for shape in shapes]]


def test_shapes_that_do_not_fit_are_refused():
    concat, stack = joining.concat.opdef, joining.stack.opdef
    with pytest.raises(ShapeError, match="concat: expected shapes equal but for axis 0, got"):
        concat.infer(concat.schema, specs((2, 3), (2, 4)), {"axis": 0})
    with pytest.raises(ShapeError, match="stack: expected equal shapes, got"):
        stack.infer(stack.schema, specs((2, 3), (1, 3)), {"axis": 0})


def test_an_open_size_along_the_axis_leaves_the_sum_open():
    concat = joining.concat.opdef
    (spec,) = concat.infer(concat.schema, specs((None, 3), (2, 3)), {"axis": 0})
    assert spec.shape == (None, 3)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("index", [np.array([1, 0, 1]), np.array(0), np.array([[0], [1]]), np.zeros((0,), np.int64)])
def test_gather_is_numpys_take(axis, index):
    np.testing.assert_array_equal(joining.gather(X, index, axis=axis), np.take(X, index, axis=axis))


def test_gradients_of_repeated_positions_add_up():
    np.testing.assert_array_equal(gradient(joining.gather, np.zeros(3), np.array([2, 0, 2, 2])), [1, 0, 3])


def test_gather_refuses_positions_outside():
    with pytest.raises(ShapeError, match=r"gather: index expected in \[0, 2\), got -1 to 1"):
        joining.gather(X, np.array([-1, 1]))
    with pytest.raises(ShapeError, match=r"gather: index expected in \[0, 2\), got 0 to 2"):
        joining.gather(X, np.array([0, 2]))


def test_gather_refuses_positions_that_are_no_integers():
    with pytest.raises(DTypeError, match="op 'opsdk::gather': index expected integers, got float64; cast it to int64"):
        joining.gather(X, np.array([0.0]))


def test_where_takes_from_either_and_broadcasts():
    condition = np.array([[True], [False]])
    np.testing.assert_array_equal(joining.where(condition, np.arange(3.0), np.array(-1.0)), [[0, 1, 2], [-1, -1, -1]])


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_a_cotangent_of_what_was_taken_does_not_reach_what_was_not(bad):
    x, y = (opsdk.to_tensor(np.ones(2), stop_gradient=False) for _ in range(2))
    out = joining.where(opsdk.to_tensor(np.array([True, False])), x, y)
    out.backward(opsdk.to_tensor(np.array([bad, bad])))
    np.testing.assert_array_equal(x.grad.numpy(), [bad, 0.0])
    np.testing.assert_array_equal(y.grad.numpy(), [0.0, bad])


def test_a_cotangent_stays_out_of_what_was_not_taken_in_a_program_too():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [2], "float64")
        x.stop_gradient = False
        condition = static.data("condition", [2], "bool")
        out = joining.where(condition, x, x * x) / 0.0
        (dx,) = static.gradients([out], [x])
    given = {"x": np.array([1.0, 3.0]), "condition": np.array([True, False])}
    (got,) = static.Executor(opsdk.CPUPlace()).run(main, feed=given, fetch_list=[dx])
    np.testing.assert_array_equal(got, [np.inf, np.inf])


def test_nan_that_is_not_taken_does_not_reach_the_gradient():
    condition, bad = np.array([True, False]), np.array([1.0, np.nan])
    x, y = (opsdk.to_tensor(value, stop_gradient=False) for value in (bad, np.array([np.inf, 2.0])))
    dx, dy = opsdk.grad(joining.where(opsdk.to_tensor(condition), x, y), [x, y])
    np.testing.assert_array_equal(dx.numpy(), [1, 0])
    np.testing.assert_array_equal(dy.numpy(), [0, 1])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gradients_of_many_equal_positions_do_not_stop_to_add_up(dtype, axis):
    x = opsdk.to_tensor(np.ones((3, 2)), dtype, stop_gradient=False)
    opsdk.gather(x, np.ones(3000, np.int64), axis=axis).sum().backward()
    expected = np.zeros((3, 2))
    expected[(slice(None),) * (axis % 2) + (1,)] = 3000
    np.testing.assert_array_equal(x.grad.numpy(), expected.astype(x.dtype))


def test_a_number_beside_a_mask_takes_the_dtype_of_the_other_value():
    condition, x = np.array([True, False]), np.array([1.0, 1.0])
    for given in (lambda a: a, opsdk.to_tensor):
        made = opsdk.where(given(condition), given(x), 0.1)
        np.testing.assert_array_equal(np.asarray(made), [1.0, 0.1])


def test_a_choice_between_ops_sends_zero_to_what_was_not_taken_and_its_docstring_says_what_to_do():
    x = opsdk.to_tensor([0.0, 2.0], stop_gradient=False)
    opsdk.where(x > 0, opsdk.log(x), x).sum().backward()
    assert np.isnan(x.grad.numpy()[0])
    x.clear_grad()
    opsdk.where(x > 0, opsdk.log(opsdk.where(x > 0, x, 1.0)), x).sum().backward()
    assert x.grad.tolist() == [1.0, 0.5]
    assert "log(where(x > 0, x, 1.0))" in opsdk.where.__doc__


def test_split_counts_pieces_or_lists_their_sizes_as_paddle_does():
    for pieces in (opsdk.split(X, 3, 1), opsdk.to_tensor(X).split(3, axis=1), np.split(opsdk.to_tensor(X), 3, 1)):
        assert [np.asarray(piece).tolist() for piece in pieces] == [piece.tolist() for piece in np.split(X, 3, 1)]
    assert [piece.shape for piece in opsdk.split(X, [1, -1, 0], -1)] == [(2, 3, 1), (2, 3, 3), (2, 3, 0)]
    assert [piece.shape for piece in np.split(opsdk.to_tensor(X), [1, 3], 2)] == [[2, 3, 1], [2, 3, 2], [2, 3, 1]]


def test_pieces_are_memory_of_their_own_and_those_that_nobody_used_get_zeros():
    assert not np.shares_memory(opsdk.split(X, 2)[0], X)
    assert gradient(lambda x: opsdk.split(x, [1, 2])[1] * 2.0, np.ones(3)).tolist() == [0.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (0, "split: expected a number of pieces > 0, or sizes ≥ 0 and -1 once, got 0"),
        ([-1, -1], r"split: expected a number of pieces > 0, or sizes ≥ 0 and -1 once, got \[-1, -1\]"),
        (3, "split: expected a size that 3 pieces share, got 4; list the sizes"),
        ([1, 2], r"split: expected sizes that add up to 4, got \[1, 2\]"),
        ([5, -1], r"split: expected sizes that add up to 4, got \[5, -1\]"),
    ],
)
def test_pieces_that_do_not_make_up_the_axis_are_refused(given, message):
    with pytest.raises(ShapeError, match=message):
        opsdk.split(X, given, 2)


def test_positions_of_numpys_split_ascend():
    with pytest.raises(ShapeError, match=r"np.split: expected positions that ascend from 0 on, got \[2, 1\]; slice"):
        np.split(opsdk.to_tensor(X), [2, 1], 2)


def test_an_open_size_is_split_when_it_is_known():
    with static.program_guard(static.Program()):
        x = static.data("x", [None, 2], "float64")
        made = [*opsdk.split(x, 2), *opsdk.split(x, [1, -1])]
        assert [tuple(piece.spec.shape) for piece in made] == [(None, 2), (None, 2), (1, 2), (None, 2)]
        found = static.Executor().run(feed={"x": np.ones((4, 2))}, fetch_list=made)
    assert [piece.shape for piece in found] == [(2, 2), (2, 2), (1, 2), (3, 2)]

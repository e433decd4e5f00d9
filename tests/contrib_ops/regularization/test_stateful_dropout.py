"""stateful_dropout: the numbers are Philox's, no mask comes twice, and the backward draws the forward's once more."""

import numpy as np
import pytest

import opsdk
from contrib_ops import stateful_dropout
from contrib_ops.regularization.stateful_dropout import dropped
from opsdk import static
from tests import philox


def kept(key, number, count, p):
    drawn = philox.words(key, number)[0]
    return np.array([philox.uniform(drawn, i) >= p for i in range(count)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("key", "number", "p"), [(5, 0, 0.5), (-3, 2**40, 0.1), (2**62, 7, 0.9)])
def test_what_is_kept_is_told_by_key_number_and_place(key, number, p, dtype):
    x = np.arange(1.0, 24.0).astype(dtype)
    state = np.array([key, number])
    y, used = stateful_dropout(x, state, p=p)
    wanted = np.where(kept(key, number, x.size, p), x * x.dtype.type(1 / (1 - p)), 0)
    assert y.tolist() == wanted.tolist()
    assert (used.tolist(), state.tolist()) == ([key, number], [key, number + 1])
    assert dropped(x, used, p=p).tolist() == y.tolist()


def test_the_share_that_is_kept_is_the_one_that_was_asked_for():
    y, _ = stateful_dropout(np.ones(100_000), np.array([1, 0]), p=0.3)
    assert abs((y > 0).mean() - 0.7) < 5 * np.sqrt(0.21 / y.size)
    assert y[y > 0].tolist() == [1 / 0.7] * int((y > 0).sum())


def test_the_backward_draws_the_mask_of_its_forward_whatever_was_drawn_since():
    x, state = opsdk.to_tensor(np.ones(32), stop_gradient=False), opsdk.to_tensor(np.array([9, 0]))
    first, _ = stateful_dropout(x, state)
    second, _ = stateful_dropout(first, state)
    assert state.numpy().tolist() == [9, 2]
    second.sum().backward()
    masks = kept(9, 0, 32, 0.5), kept(9, 1, 32, 0.5)
    assert masks[0].tolist() != masks[1].tolist()
    assert x.grad.numpy().tolist() == (4.0 * (masks[0] & masks[1])).tolist()


def test_runs_of_a_program_draw_what_calls_on_tensors_draw_and_a_test_draws_nothing(rng):
    values = rng.normal(size=(3, 10))
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None], "float64")
        x.stop_gradient = False
        state = static.create_global_var([2], 0, "int64", persistable=True, name="state")
        y, _ = stateful_dropout(x, state, p=0.25)
        test = main.clone(for_test=True)
        (dx,) = static.gradients((y * y).sum(), x)
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    mine = opsdk.to_tensor(np.zeros(2, "int64"))
    for row in values:
        found = exe.run(main, feed={"x": row}, fetch_list=[y, dx, state], scope=scope)
        assert exe.run(test, feed={"x": row}, fetch_list=[y], scope=scope)[0].tolist() == row.tolist()
        leaf = opsdk.to_tensor(row, stop_gradient=False)
        out, _ = stateful_dropout(leaf, mine, p=0.25)
        (out * out).sum().backward()
        expected = [out.numpy(), leaf.grad.numpy(), mine.numpy()]
        assert [a.tobytes() for a in found] == [b.tobytes() for b in expected]
    assert mine.numpy().tolist() == [0, 3]


def test_a_run_that_raises_takes_back_its_draw(rng):
    main, startup = static.Program(), static.Program()

    def refuse(array):
        raise ArithmeticError("no")

    with static.program_guard(main, startup):
        x = static.data("x", [4], "float64")
        state = static.create_global_var([2], 0, "int64", persistable=True, name="state")
        y, _ = stateful_dropout(x, state)
        static.py_func(refuse, y, main.global_block().create_var("z", [4], "float64"))
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    with pytest.raises(ArithmeticError):
        exe.run(main, feed={"x": np.ones(4)}, scope=scope)
    assert np.array(scope.find_var("state").get_tensor()).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("state", "p", "text"),
    [
        (np.array([1, 2, 3]), 0.5, r"expected int64 of shape \(2,\), the key and the number of draws, got int64\(3,\)"),
        (np.array([1, 2], np.int32), 0.5, r"expected int64 of shape \(2,\), .*, got int32\(2,\)"),
        (np.array([1, 2]), 1.0, "attribute 'p' expected 0 <= float < 1, got 1.0"),
    ],
)
def test_another_state_or_share_is_refused_and_changes_nothing(state, p, text):
    before = state.copy()
    with pytest.raises(ValueError, match=text):
        stateful_dropout(np.ones(4), state, p=p)
    assert state.tolist() == before.tolist()

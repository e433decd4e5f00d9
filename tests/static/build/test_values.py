"""Gradients through changes in place: a Program gives what the tape gives, or refuses where it refuses."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import InPlaceError, ProgramError, VersionError
from opsdk.static.build.values import Values
from tests.static.changing_ops import define_add, define_decay, define_scaled_lists, define_tracked

W, X = np.array([1.5, -2.0, 0.25]), np.array([3.0, 0.5, -1.0])


def on_tape(build):
    w, x = opsdk.to_tensor(W, stop_gradient=False), opsdk.to_tensor(X)
    loss, wanted = build(w, x)
    found = opsdk.grad(loss, [w, *wanted], allow_unused=True)
    return [loss.numpy(), *[None if value is None else value.numpy() for value in found]]


def in_program(build):
    with static.program_guard(static.Program(), static.Program()):
        w, x = (static.data(name, [3], "float64") for name in "wx")
        w.stop_gradient = False
        loss, wanted = build(w, x)
        found = static.gradients(loss, [w, *wanted])
        fetches = [loss, *[value for value in found if value is not None]]
        values = iter(static.Executor().run(feed={"w": W, "x": X}, fetch_list=fetches))
        return [next(values), *[None if value is None else next(values) for value in found]]


def a_change(w, x):
    h = w * x
    before = h + x  # the sum keeps nothing
    define_decay()(h, rate=0.75)
    return (before * 2.0 + h * 3.0).sum(), []


def two_changes_with_a_read_between(w, x):
    decay_ = define_decay()
    h = w * x
    first = h + 0.0
    decay_(h, rate=0.75)
    second = h + x
    decay_(h, rate=0.5)
    return (first * 2.0 + second * 3.0 + h * 5.0).sum(), []


def what_is_there_now(w, x):
    h = w * x
    before = h + 0.0
    define_decay()(h, rate=0.75)
    return (before * 2.0 + h * 3.0).sum(), [h]


def nothing_after(w, x):
    h = w * x
    before = h + 0.0
    define_decay()(h)
    return before.sum(), [h]


def a_sum_of_squares(w, x):
    s = opsdk.zeros_like(x)
    define_add()(s, w)
    define_add()(s, w * x)
    return (s * s).sum(), []


def into_what_was_given(w, x):
    define_add()(x, w)
    return (x * x).sum(), []


def what_was_given_and_stopped_again(w, x):
    define_add()(x, w)
    x.stop_gradient = True
    return (x * w).sum(), []


def stopped_and_changed(w, x):
    h = w * x
    h.stop_gradient = True
    before = h + w
    define_add()(h, w)
    return (h * 3.0 + before).sum(), []


def without_recording(w, x):
    h = w * x
    with opsdk.no_grad():
        define_decay()(h, rate=0.75)
    return (h * 3.0).sum(), [h]


def statistics_beside(w, x):
    seen = opsdk.zeros_like(x)
    y = define_tracked()(w * x, seen)
    return (y * seen).sum() + define_tracked()(w).sum(), []


def lists(w, x):
    k = w + 1.0
    xs = [w * x, w * 2.0]
    ys, total = define_scaled_lists()(xs, k)
    return (ys[0] * 3.0 + xs[1] * x + total * 5.0).sum(), xs


def written_where_it_was_read(w, x):
    h = w * x
    define_add()(h, h + 0.0)
    return h.sum(), [h]


ALIKE = [
    a_change, two_changes_with_a_read_between, what_is_there_now, nothing_after, a_sum_of_squares, into_what_was_given,
    what_was_given_and_stopped_again, stopped_and_changed, without_recording, statistics_beside, lists,
    written_where_it_was_read,
]  # fmt: skip
EXPECTED = {
    a_change: [X * 2.75],
    two_changes_with_a_read_between: [X * (2 + 0.75 + 0.625)],
    what_is_there_now: [X * 2.75, np.full(3, 3.0)],
    nothing_after: [X, None],
    a_sum_of_squares: [4 * W**3 * (1 + X * X) ** 2],
    into_what_was_given: [4 * W * (W * W + X)],
    what_was_given_and_stopped_again: [X + W * W],
    stopped_and_changed: [6 * W + 1],
    without_recording: [X * 3.0, np.full(3, 3.0)],
    statistics_beside: [2 * W * X**2 * (W * X) + 2 * W],
    written_where_it_was_read: [X + 2 * W * X * X, np.ones(3)],
    # 3 w x k + 2 w k x + 5 (w x + 2 w), with k = w + 1
    lists: [5 * X * (2 * W + 1) + 5 * (X + 2), np.full(3, 3.0), X],
}


@pytest.mark.parametrize("build", ALIKE, ids=lambda build: build.__name__)
def test_a_program_gives_the_bits_of_the_tape(build):
    tape, program = on_tape(build), in_program(build)
    assert [v is None for v in tape] == [v is None for v in program]
    assert [v.tobytes() for v in tape if v is not None] == [v.tobytes() for v in program if v is not None]
    for got, expected in zip(tape[1:], EXPECTED[build], strict=True):
        assert got is expected is None or np.allclose(got, expected, rtol=1e-14)


def saved_and_changed(w, x):
    h = w * x
    loss = (h * h).sum()
    define_decay()(h)
    return loss, []


def an_output_that_was_saved_and_changed(w, x):
    h = opsdk.exp(w)
    define_decay()(h)
    return h.sum(), []


def read_and_changed_by_one_op(w, x):
    h = w * x
    define_add()(h, h)
    return h.sum(), []


def a_saved_list_that_was_changed(w, x):
    xs = [w * x, w * 2.0]
    ys, _ = define_scaled_lists()(xs, w + 1.0)
    define_decay()(xs[1])
    return ys[0].sum(), []


def a_change_that_passes_no_gradient_on(w, x):
    h = w * x
    define_tracked()(w, h)
    return h.sum(), []


def a_view_that_was_saved(w, x):
    h = x * 2.0
    view = h.reshape([3, 1])
    y = w.reshape([3, 1]) * view
    define_decay()(h)
    return y.sum(), []


REFUSED = {
    saved_and_changed: "'elementwise_mul' used it, it is written again by 'decay_'",
    an_output_that_was_saved_and_changed: "'exp' used it, it is written again by 'decay_'",
    read_and_changed_by_one_op: "'add_square_' used it, it is written again by 'add_square_'",
    a_saved_list_that_was_changed: "'scale_all_' used it, it is written again by 'decay_'",
    a_change_that_passes_no_gradient_on: "'tracked' expected to change no value that needs a gradient, since its",
    a_view_that_was_saved: "a view of '.*', expected unchanged after 'elementwise_mul' used it, '.*' is written again",
}


@pytest.mark.parametrize("build", REFUSED, ids=lambda build: build.__name__)
def test_a_program_refuses_what_the_tape_refuses(build):
    with pytest.raises((VersionError, InPlaceError)):
        on_tape(build)
    with pytest.raises(ProgramError, match=REFUSED[build]):
        in_program(build)


def test_a_refused_pass_leaves_the_program_as_it_was(main):
    w = static.data("w", [3], "float64")
    h = w * w
    loss = (h * h).sum()
    define_decay()(h)
    before = str(main)
    with pytest.raises(ProgramError, match="written again"):
        static.gradients(loss, w)
    assert str(main) == before


def test_a_leaf_that_a_change_was_differentiated_of_is_no_source_since_it_stands_for_two_values():
    w = static.data("w", [3], "float64")
    y = w * 2.0
    define_decay()(w)
    with pytest.raises(ProgramError, match="'w' expected unchanged after 'scale' used it, it is written again"):
        static.gradients((y + w).sum(), w)
    leaf = opsdk.to_tensor(W, stop_gradient=False)
    with pytest.raises(InPlaceError, match="got a leaf that needs a gradient"):
        define_decay()(leaf)


def test_an_overwritten_variable_has_the_gradients_of_its_first_value(block, exe):
    w = static.data("w", [3], "float64")
    h = block.create_var("h", [3], "float64")
    block.append_op("scale", {"x": w}, {"out": h}, {"scale": 3.0})
    first = h + 0.0
    block.append_op("exp", {"x": w}, {"out": h})
    (dw,) = static.gradients((first + h).sum(), w)
    np.testing.assert_allclose(exe.run(feed={"w": W}, fetch_list=[dw])[0], 3.0 + np.exp(W), rtol=1e-15)


def test_sizes_that_are_open_are_those_of_what_is_there_at_the_end(block):
    w = static.data("w", [None], "float64")
    h = block.create_var("h", [None], "float64")
    block.append_op("scale", {"x": w}, {"out": h}, {"scale": 3.0})
    first = h + 0.0
    block.append_op("exp", {"x": w}, {"out": h})
    with pytest.raises(ProgramError, match="'h' expected unchanged after 'scale' used it, it is written again"):
        static.gradients(first.sum(), w)


def test_every_value_of_a_name_is_told_by_the_operators_before(block):
    decay_ = define_decay()
    w = static.data("w", [3], "float64")
    h = w * 2.0
    decay_(h)
    with opsdk.no_grad():
        decay_(h)
    values = Values(block)
    made, changed, quiet = block.ops
    name = h.name
    assert [values.gave(operator, name)[1] for operator in (made, changed, quiet)] == [1, 2, 2]
    assert [values.read(operator, name)[1] for operator in (changed, quiet)] == [1, 2]
    assert values.last("w") == ("w", 0)
    values.check_kept(quiet, name, is_input=False)
    with pytest.raises(ProgramError, match="after 'decay_' used it, it is written again by 'decay_'"):
        values.check_kept(changed, name, is_input=False)


def test_a_gradient_of_what_an_op_was_given_and_changed_is_asked_of_a_copy():
    @opsdk.op("t::raise_(Tensor x, Tensor(a!) r) -> (Tensor y, Tensor(a!) s)", infer=lambda x, r: (x, r))
    def raise_(x, r):
        r += x
        return r * 3

    raise_.backward(lambda dy, ds: (3 * dy + ds, 3 * dy + ds))
    program = static.Program()
    with static.program_guard(program):
        x, h = (static.data(name, [2], "float64") for name in "xh")
        x.stop_gradient = h.stop_gradient = False
        y, _ = raise_(x, opsdk.assign(h))
        (grad,) = static.gradients([y], [h])
        y, _ = raise_(x, h)
        with pytest.raises(ProgramError) as caught:
            static.gradients([y], [h])
    assert str(caught.value).startswith(
        "backward: variable 'h' expected to be what 'raise_' was given, it stands for what that operator made of it; "
        "give the operator a copy, opsdk.assign, and ask for gradients of 'h'"
    )
    feed = {"x": np.ones(2), "h": np.ones(2)}
    assert static.Executor().run(program, feed=feed, fetch_list=[grad])[0].tolist() == [3.0, 3.0]

"""Gradients through changes in place: a Program gives what the tape gives, or refuses where it refuses."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import InPlaceError, OpsdkError, ProgramError, VersionError
from opsdk.static.build.values import Values

W, X = np.array([1.5, -2.0, 0.25]), np.array([3.0, 0.5, -1.0])


@pytest.fixture(autouse=True)
def _forgets():
    with opsdk.scoped_registry():
        yield


def define_decay():
    @opsdk.op("v::decay_(Tensor(a!) x, *, float rate=0.5) -> Tensor(a!) y")
    def decay_(x, *, rate):
        x *= 1 - rate

    @decay_.backward
    def decay_grad(dy, rate):
        return dy * (1 - rate)

    return decay_


def define_add():
    @opsdk.op("v::add_square_(Tensor(a!) s, Tensor x) -> Tensor(a!) y")
    def add_square_(s, x):
        s += x * x

    @add_square_.backward
    def add_square_grad(x, dy):
        return dy, 2 * x * dy

    return add_square_


def define_tracked():
    @opsdk.op("v::tracked(Tensor x, Tensor(a!)? seen=None) -> Tensor y", nondifferentiable=["seen"])
    def tracked(x, seen):
        if seen is not None:
            seen += x
        return x * x

    @tracked.backward
    def tracked_grad(x, dy):
        return 2 * x * dy

    return tracked


def define_scaled_lists():
    @opsdk.op("v::scale_all_(Tensor(a!)[] xs, Tensor k) -> (Tensor(a!)[] ys, Tensor total)")
    def scale_all_(xs, k):
        total = sum(xs).copy()
        for x in xs:
            x *= k
        return total

    @scale_all_.infer
    def scale_all_specs(xs, k):
        return list(xs), xs[0]

    @scale_all_.backward
    def scale_all_grad(ys, k, dys, dtotal):
        return [dy * k + dtotal for dy in dys], sum(dy * y / k for dy, y in zip(dys, ys, strict=True))

    return scale_all_


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
    what_was_given_and_stopped_again, without_recording, statistics_beside, lists, written_where_it_was_read,
]  # fmt: skip
EXPECTED = {
    a_change: [X * 2.75],
    two_changes_with_a_read_between: [X * (2 + 0.75 + 0.625)],
    what_is_there_now: [X * 2.75, np.full(3, 3.0)],
    nothing_after: [X, None],
    a_sum_of_squares: [4 * W**3 * (1 + X * X) ** 2],
    into_what_was_given: [4 * W * (W * W + X)],
    what_was_given_and_stopped_again: [X + W * W],
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


# -- states ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def seen(startup):
    """A state of zeros."""
    return static.create_global_var([3], 0.0, "float64", persistable=True, name="seen")


def test_training_goes_through_an_op_that_keeps_statistics(exe, startup, main, seen):
    w = static.create_parameter([3], "float64", name="w", default_initializer=opsdk.nn.initializer.Assign(W))
    loss = define_tracked()(w, seen).sum()
    opsdk.optimizer.SGD(0.25).minimize(loss)
    exe.run(startup)
    history = [exe.run(main, fetch_list=["w", seen, loss]) for _ in range(3)]
    for step, (value, total, error) in enumerate(history):
        assert np.array_equal(value, W / 2 ** (step + 1))
        assert np.array_equal(total, sum(W / 2**i for i in range(step + 1)))
        assert error == (W / 2**step) @ (W / 2**step)


def test_what_is_fetched_alone_brings_along_the_change_that_is_part_of_it(exe, startup, main, seen):
    x = static.data("x", [3], "float64")
    y = define_tracked()(x, seen)
    later = y * 2.0
    apart = x * 3.0
    exe.run(startup)
    run = lambda *wanted: [v.tolist() for v in exe.run(main, feed={"x": X}, fetch_list=[*wanted], use_prune=True)]  # noqa: E731
    assert run(apart) == [(X * 3).tolist()]
    assert run(later) == [(2 * X * X).tolist()]
    assert run(seen) == [(2 * X).tolist()]  # the second change, of which nothing but the state is wanted
    assert [operator.type for operator in main.prune(seen).global_block().ops] == ["tracked"]


def test_a_frozen_parameter_that_an_op_keeps_statistics_in_leaves_it_in_the_forward(main):
    x = static.data("x", [3], "float64")
    kept, trained = (static.create_parameter([3], "float64", name=name) for name in ("kept", "trained"))
    kept.trainable = False
    tracked = define_tracked()
    for state in (kept, trained):
        tracked(x, state)
    assert [operator.role for operator in main.global_block().ops] == ["forward", "optimize"]


def test_a_test_clone_reads_nothing_of_what_a_dropped_operator_changed(main):
    x = static.data("x", [3], "float64")
    p = static.create_parameter([3], "float64", name="p")
    h = x * 1.0
    _ = define_tracked()(p, h) * 0.0
    define_decay()(p)  # an update
    made = [operator.type for operator in main.clone(for_test=True).global_block().ops]
    assert made == ["scale", "tracked", "scale"]


def test_a_run_that_raises_changes_no_state(exe, startup, main, seen):
    x = static.data("x", [3], "float64")
    y = define_tracked()(x, seen)
    out = main.global_block().create_var("out", [3], "float64")

    def refuse(array):
        raise ArithmeticError("no")

    static.py_func(refuse, y, out)
    exe.run(startup)
    with pytest.raises(ArithmeticError):
        exe.run(main, feed={"x": X})
    assert not np.array(static.global_scope().find_var("seen").get_tensor()).any()


def test_a_call_that_is_taken_back_leaves_stopped_what_was():
    x = static.data("x", [3], "float64")
    w = static.data("w", [3], "float64")
    w.stop_gradient = False
    add_ = define_add()

    @opsdk.op("v::fails(Tensor(a!) x, Tensor w) -> Tensor(a!) y", composite=True)
    def fails(x, w):
        add_(x, w)
        raise OSError("no")

    with pytest.raises(OSError):
        fails(x, w)
    assert (x.stop_gradient, x.is_cut) == (True, True)


def test_a_state_of_another_shape_is_refused_before_anything_is_changed():
    @opsdk.op("v::mean_of(Tensor x, Tensor(a!) m) -> (Tensor y, Tensor(a!) kept)", nondifferentiable=("m", "kept"))
    def mean_of(x, m):
        m += x.mean(axis=0)
        return x * 2.0

    @mean_of.infer
    def mean_specs(x):
        return x, opsdk.TensorSpec(x.shape[1:], x.dtype)

    x = np.ones((2, 3))
    wrong = {
        "input 'm' expected shape \\(3,\\), as its infer rule has 'kept', which is what it becomes": np.zeros(1),
        "input 'm' expected float64, as its infer rule has 'kept', .* got float32; make it so": np.zeros(3, "f"),
    }
    for text, mean in wrong.items():
        with pytest.raises(OpsdkError, match=text):
            mean_of(x, mean)
        with pytest.raises(OpsdkError, match=text):
            mean_of(opsdk.to_tensor(x), opsdk.to_tensor(mean))
        with pytest.raises(OpsdkError, match=text):
            mean_of(static.data("x", [None, 3], "float64"), static.data(f"mean{mean.size}", mean.shape, mean.dtype))
        assert not mean.any()


def test_a_variable_is_not_changed_in_two_places_of_one_call(main, seen):
    k = static.data("k", [3], "float64")
    before = len(main.global_block().ops)
    with pytest.raises(
        InPlaceError, match=r"'xs' and 'xs' expected variables of their own, .* got 'seen' twice; give a"
    ):
        define_scaled_lists()([seen, seen], k)
    assert len(main.global_block().ops) == before


def define_composite():
    @opsdk.op("v::move_(Tensor(a!) mean, Tensor batch) -> ()", nondifferentiable=["mean", "batch"])
    def move_(mean, batch):
        mean += 0.5 * (batch - mean)

    @opsdk.op(
        "v::centred(Tensor x, Tensor(a!) mean, *, bool training=True) -> Tensor y", composite=True, constant=["mean"]
    )
    def centred(x, mean, *, training):
        if not training:
            return x - mean
        batch = x.mean(axis=0)
        move_(mean, batch)
        return x - batch

    return centred


def test_a_composite_keeps_statistics_in_both_runtimes_and_a_test_clone_moves_none(exe, startup, main):
    centred, rows = define_composite(), np.array([[1.0, 2.0], [3.0, 8.0]])
    mean = opsdk.to_tensor(np.zeros(2))
    x = opsdk.to_tensor(rows, stop_gradient=False)
    (centred(x, mean) ** 2.0).sum().backward()
    state = static.create_global_var([2], 0.0, "float64", persistable=True, name="mean")
    fed = static.data("x", [None, 2], "float64")
    y = centred(fed, state)
    (dx,) = static.gradients((y**2.0).sum(), fed)
    exe.run(startup)
    got, moved = exe.run(main, feed={"x": rows}, fetch_list=[dx, state])
    assert (got.tolist(), moved.tolist()) == (x.grad.numpy().tolist(), [1.0, 2.5])
    assert mean.numpy().tolist() == [1.0, 2.5]
    tested = main.clone(for_test=True)
    for _ in range(2):
        assert exe.run(tested, feed={"x": rows}, fetch_list=[y.name])[0].tolist() == (rows - [1.0, 2.5]).tolist()


def test_a_composite_takes_no_tensor_that_needs_a_gradient_for_what_it_cuts_off():
    hidden = opsdk.to_tensor(np.ones(2), stop_gradient=False) * 2.0
    with pytest.raises(
        InPlaceError, match="'mean': expected a tensor outside of the graph, since no output passes its"
    ):
        define_composite()(opsdk.to_tensor(np.ones((2, 2))), hidden)
    assert hidden.numpy().tolist() == [2.0, 2.0]

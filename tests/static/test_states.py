"""States: variables that ops of a Program change beside what they give, in the Scope and in test clones."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import InPlaceError, OpsdkError
from tests.static.changing_ops import define_add, define_scaled_lists, define_tracked

W, X = np.array([1.5, -2.0, 0.25]), np.array([3.0, 0.5, -1.0])


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
    @opsdk.op("v::update_(Tensor(a!) p, Tensor(b!) used) -> ()", nondifferentiable=["p", "used"])
    def update_(p, used):
        p -= used
        used *= 0

    p = static.create_parameter([3], "float64", name="p")
    h = static.data("x", [3], "float64") * 1.0
    before = opsdk.exp(h)
    update_(p, h)
    after = before + h
    made = [operator.type for operator in main.clone(for_test=True).global_block().ops]
    assert made == ["scale", "exp"]
    assert after.name not in main.clone(for_test=True).global_block().vars


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
    y = centred(x, mean)
    (y * y).sum().backward()
    state = static.create_global_var([2], 0.0, "float64", persistable=True, name="mean")
    fed = static.data("x", [None, 2], "float64")
    y = centred(fed, state)
    (dx,) = static.gradients((y * y).sum(), fed)
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


# -- residuals of what is changed ------------------------------------------------------------------------------------


def define_scrambled(kept):
    @opsdk.op("v::scrambled(Tensor x, Tensor<int>(a!) state) -> Tensor y, residuals (Tensor<int> key)")
    def scrambled(x, state):
        key = kept(state)
        y = x * x.dtype.type(state[0])
        state += 1
        return y, key

    @scrambled.infer
    def scrambled_specs(x, state):
        return x, state

    @scrambled.backward
    def scrambled_grad(key, dy):
        return dy * dy.dtype.type(key[0])

    return scrambled


def test_a_residual_is_what_a_state_was_in_both_runtimes(exe):
    op = define_scrambled(np.copy)
    x, state = opsdk.to_tensor(X, stop_gradient=False), opsdk.to_tensor(np.array([2]))
    op(op(x, state), state).sum().backward()
    fed, held = static.data("x", [3], "float64"), static.data("state", [1], "int64")
    (dx,) = static.gradients(op(op(fed, held), held).sum(), fed)
    got, moved = exe.run(feed={"x": X, "state": np.array([2])}, fetch_list=[dx, held])
    assert x.grad.numpy().tolist() == got.tolist() == [6.0] * 3  # 2 · 3
    assert state.numpy().tolist() == moved.tolist() == [4]


def test_a_residual_that_is_the_state_itself_is_refused():
    op = define_scrambled(lambda state: state)
    with pytest.raises(
        OpsdkError, match="residual 'key': expected a new array, got input 'state' itself; return a copy"
    ):
        op(opsdk.to_tensor(X, stop_gradient=False), opsdk.to_tensor(np.array([2])))

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ProgramError

Assign = opsdk.nn.initializer.Assign

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
B = np.array([0.3, -0.6, 0.9])


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float64")


@pytest.fixture
def b():
    return static.create_parameter([3], "float64", name="b", default_initializer=Assign(B))


def close(result, expected):
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


# -- where gradients stop ----------------------------------------------------------------------------------------------


def test_a_stopped_interior_variable_cuts(fetch, x):
    y = opsdk.exp(x)
    y.stop_gradient = True
    (grad,) = static.gradients((y * x).sum(), x)
    close(fetch(grad, x=X), np.exp(X))


def test_a_detached_copy_cuts(fetch, x):
    (grad,) = static.gradients((opsdk.exp(x).detach() * x).sum(), x)
    close(fetch(grad, x=X), np.exp(X))


def test_a_stopped_variable_takes_its_own_gradient_and_passes_none_on(x):
    y = opsdk.exp(x)
    y.stop_gradient = True
    of_x, of_y = static.gradients((y * y).sum(), [x, y])
    assert (of_x is None, of_y is None) == (True, False)


@pytest.mark.parametrize("by_name", [False, True])
def test_a_no_grad_set_cuts(fetch, x, by_name):
    y = opsdk.exp(x)
    (grad,) = static.gradients((y * x).sum(), x, no_grad_set={y.name if by_name else y})
    close(fetch(grad, x=X), np.exp(X))


def test_an_integer_on_the_way_cuts(x):
    assert static.gradients(x.astype("int64").astype("float64").sum(), x) == [None]


def test_a_comparison_on_the_way_cuts(x):
    assert static.gradients((x > 0.0).astype("float64"), x) == [None]


# -- several passes ----------------------------------------------------------------------------------------------------


def test_gradients_can_be_asked_for_after_append_backward(fetch, x, b):
    loss = (x * b * b).sum()
    ((_, of_b),) = static.append_backward(loss)
    (of_x,) = static.gradients(loss, x)
    result = fetch([of_b, of_x], x=X)
    close(result[0], 2 * B * X.sum(axis=0))
    close(result[1], np.broadcast_to(B * B, X.shape))


def test_a_second_pass_gives_the_same_numbers_under_new_names(fetch, b):
    loss = (b * b * b).sum()
    ((_, first),) = static.append_backward(loss)
    ((_, second),) = static.append_backward(loss)
    assert (first.name, second.name) == ("b@GRAD", "b@GRAD_1")
    for result in fetch([first, second]):
        close(result, 3 * B * B)


def test_a_pass_after_the_parameter_was_updated_is_refused(main, state, x, b):
    loss = (x * b).sum()
    opsdk.optimizer.SGD(0.1).minimize(loss)
    before = state(main)
    with pytest.raises(
        ProgramError, match="'b' expected unchanged after 'elementwise_mul' used it, it is written again"
    ):
        static.append_backward(loss)
    assert state(main) == before


def test_a_variable_that_is_written_twice_is_refused(block, x, b):
    out = block.create_var("out", [None, 3], "float64")
    block.append_op("elementwise_mul", {"x": x, "y": b}, {"out": out})
    loss = out.sum()
    block.append_op("elementwise_add", {"x": x, "y": b}, {"out": out})
    with pytest.raises(ProgramError, match="variable 'out' expected unchanged after 'reduce_sum' used it"):
        static.append_backward(loss)


def test_an_operator_that_overwrites_its_input_is_refused(block, b):
    y = b * 2.0
    block.append_op("square", {"x": y}, {"out": y})
    with pytest.raises(ProgramError, match="after 'square' used it, it is written again by 'square'"):
        static.append_backward(y.sum())


def test_a_source_that_is_overwritten_is_refused(block, x):
    y = x * 2.0
    block.append_op("square", {"x": y}, {"out": y})
    with pytest.raises(ProgramError, match="expected to be what 'square' was given, it stands for what that operator"):
        static.gradients(y.sum(), y)


def test_a_change_of_what_the_gradient_does_not_need_is_allowed(block, fetch, x, b):
    other = block.create_var("other", [None, 3], "float64")
    for _ in range(2):
        block.append_op("relu", {"x": x}, {"out": other})
    ((_, grad),) = static.append_backward((x * b).sum())
    close(fetch(grad, x=X), X.sum(axis=0))


@opsdk.op("bp::square_times(Tensor x) -> Tensor y", composite=True)
def square_times(x):
    with opsdk.no_grad():
        square = x * x
    return square * x


@pytest.mark.parametrize("is_op", [False, True], ids=["calls", "a composite op"])
def test_what_no_grad_is_around_passes_no_gradient(is_op):
    x = static.data("x", [3], "float64")
    x.stop_gradient = False
    if is_op:
        out = square_times(x)
    else:
        with opsdk.no_grad():
            square = x * x
        assert square.stop_gradient
        out = square * x
    assert not out.stop_gradient
    (dx,) = static.gradients([out], [x])
    (got,) = static.Executor(opsdk.CPUPlace()).run(feed={"x": np.array([1.0, 2.0, 3.0])}, fetch_list=[dx])
    assert got.tolist() == [1.0, 4.0, 9.0]


def test_a_backward_that_is_appended_inside_no_grad_can_be_differentiated():
    x = static.data("x", [2], "float64")
    x.stop_gradient = False
    out = x * x * x
    with opsdk.no_grad():
        (dx,) = static.gradients([out], [x])
    (ddx,) = static.gradients([dx], [x])
    (got,) = static.Executor(opsdk.CPUPlace()).run(feed={"x": np.array([1.0, 2.0])}, fetch_list=[ddx])
    assert got.tolist() == [6.0, 12.0]


def test_a_clone_keeps_what_no_grad_was_around():
    x = static.data("x", [2], "float64")
    x.stop_gradient = False
    with opsdk.no_grad():
        square = x * x
    out = square * x
    twin = static.default_main_program().clone()
    with static.program_guard(twin):
        block = twin.global_block()
        (dx,) = static.gradients([block.var(out.name)], [block.var("x")])
        (got,) = static.Executor(opsdk.CPUPlace()).run(twin, feed={"x": np.array([1.0, 2.0])}, fetch_list=[dx])
    assert got.tolist() == [1.0, 4.0]


@opsdk.op("bp::accumulate_(Tensor(a!) s, Tensor x) -> Tensor(a!) y")
def accumulate_(s, x):
    s += x


@accumulate_.backward
def accumulate_grad(dy):
    return dy, dy


@pytest.mark.parametrize("kind", ["data", "global variable"])
@pytest.mark.parametrize("reads", ["the variable", "what the op gave", "what was made of it"])
def test_what_is_written_in_place_into_a_stopped_variable_has_its_gradient_as_on_the_tape(kind, reads, startup):
    w = static.data("w", [2], "float64")
    w.stop_gradient = False
    s = static.data("s", [2], "float64") if kind == "data" else static.create_global_var([2], 0.0, "float64", name="s")
    out = accumulate_(s, w * w)
    read = {"the variable": s, "what the op gave": out, "what was made of it": s * 2.0 + 1.0}[reads]
    (dw,) = static.gradients([(read * read).sum() + w.sum()], [w])
    exe = static.Executor(opsdk.CPUPlace())
    with static.scope_guard(static.Scope()):
        exe.run(startup)
        feed = {"w": np.array([1.0, 2.0])} | ({"s": np.zeros(2)} if kind == "data" else {})
        (got,) = exe.run(feed=feed, fetch_list=[dw])
    # loss = w⁴ + w, or (2w² + 1)² + w
    assert got.tolist() == ([25.0, 145.0] if reads == "what was made of it" else [5.0, 33.0])
    assert not s.stop_gradient


def test_what_needs_a_gradient_is_not_written_in_place_into_a_frozen_parameter():
    w = static.data("w", [2], "float64")
    w.stop_gradient = False
    s = static.create_parameter([2], "float64", name="s")
    s.trainable = False
    accumulate_(s, w * w)
    with pytest.raises(ProgramError, match=r"'accumulate_' expected to write no value that needs a gradient into 's'"):
        static.gradients([(s * s).sum()], [w])


@pytest.mark.parametrize("how", ["detach", "no_grad", "a set of variables", "nobody reads it"])
def test_what_is_written_in_place_on_purpose_without_a_gradient_is_a_constant(how, startup):
    w = static.data("w", [2], "float64")
    w.stop_gradient = False
    s = static.create_global_var([2], 0.0, "float64", name="s")
    square = w * w
    if how == "no_grad":
        with opsdk.no_grad():
            accumulate_(s, square)
    else:
        accumulate_(s, square.detach() if how == "detach" else square)
    loss = w.sum() if how == "nobody reads it" else (s * s).sum() + w.sum()
    (dw,) = static.gradients([loss], [w], no_grad_set={s} if how == "a set of variables" else None)
    exe = static.Executor(opsdk.CPUPlace())
    with static.scope_guard(static.Scope()):
        exe.run(startup)
        (got,) = exe.run(feed={"w": np.array([1.0, 2.0])}, fetch_list=[dw])
    assert got.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("how", ["trainable", "stop_gradient"])
@pytest.mark.parametrize("as_names", [False, True])
def test_frozen_parameters_of_a_list_are_left_out(how, as_names):
    a, b = (static.create_parameter([1], "float64", name=name) for name in "ab")
    setattr(b, how, how != "trainable")
    loss = (a * b).sum()
    pairs = static.append_backward(loss, parameter_list=["a", "b"] if as_names else [a, b])
    assert [param.name for param, _ in pairs] == ["a"]
    with pytest.raises(ProgramError, match=r"append_backward: loss .* expected to depend on a trainable parameter"):
        static.append_backward((a * b).sum(), parameter_list=[b])

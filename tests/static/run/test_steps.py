import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import MutationError, ProgramError, ShapeError
from opsdk.static.run.steps import Compiled

ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float32")


@pytest.fixture
def add_one():
    """Adds 1 in place."""

    @opsdk.op("test_ops::add_one(Tensor(a!) x) -> Tensor(a!) out", nondifferentiable=("x", "out"))
    def add_one(x):
        x += 1

    return add_one


def test_a_value_that_nothing_writes_is_refused(exe, block, x):
    orphan = block.create_var("orphan", [None, 3], "float32")
    y = x + orphan
    text = "variable 'orphan': 'elementwise_add' reads it, expected an operator before that writes it, there is none"
    with pytest.raises(ProgramError, match=text):
        exe.run(feed={"x": ROWS}, fetch_list=[y])


def test_data_is_listed_once_where_it_is_read(main, x):
    static.data("unread", [2], "float32")
    x + x
    assert Compiled(main, main.global_block().ops).feeds == ["x"]


def test_a_persistable_value_that_is_written_first_need_not_be_there(startup):
    static.create_parameter([2], name="w")
    assert Compiled(startup, startup.global_block().ops).reads == {}


def test_a_persistable_value_that_is_read_first_must_be_there(main):
    static.create_parameter([2], name="w") * 2.0
    assert list(Compiled(main, main.global_block().ops).reads) == ["w"]


def test_an_update_of_data_leaves_the_fed_array(fetch, x, add_one):
    fed = ROWS.copy()
    np.testing.assert_array_equal(fetch(add_one(x), x=fed), ROWS + 1)
    np.testing.assert_array_equal(fed, ROWS)


def test_an_update_of_a_copied_view_leaves_the_fed_array(fetch, x, add_one):
    fed = ROWS.copy()
    np.testing.assert_array_equal(fetch(add_one(x.reshape([-1]).clone()), x=fed), ROWS.reshape(-1) + 1)
    np.testing.assert_array_equal(fed, ROWS)


def test_an_update_of_a_constant_leaves_it_for_the_next_run(fetch, block, add_one):
    result = add_one(block.create_constant(np.zeros(2, np.float32)))
    for _ in range(2):
        np.testing.assert_array_equal(fetch(result), [1.0, 1.0])


def test_a_copy_of_a_view_taken_before_an_update_stays_as_it_was(fetch):
    weight = static.create_parameter([2], default_initializer=opsdk.nn.initializer.Constant(1.0))
    before = weight.reshape([2, 1]).clone()
    opsdk.find_op("sgd")(weight, np.ones(2, np.float32), np.array([0.5], np.float32))
    np.testing.assert_array_equal(fetch(before), [[1.0], [1.0]])


def test_a_persistable_view_of_data_is_a_copy(exe, block, x):
    kept = block.create_var("kept", [None], "float32", persistable=True)
    block.append_op("reshape", {"x": x}, {"out": kept}, {"shape": [-1]})
    fed = ROWS.copy()
    exe.run(feed={"x": fed})
    fed[:] = 0.0
    np.testing.assert_array_equal(np.array(static.global_scope().find_var("kept").get_tensor()), ROWS.reshape(-1))


def test_an_error_in_a_run_names_the_line_that_appended_the_operator(exe, x):
    y = static.data("y", [None, 3], "float32")
    x + y
    with pytest.raises(ValueError) as caught:
        exe.run(feed={"x": ROWS, "y": np.ones((3, 3), np.float32)})
    notes = [note for note in caught.value.__notes__ if "where the Program got its 'elementwise_add'" in note]
    assert "test_steps.py:" in notes[0]


def test_the_random_seed_decides_what_is_drawn(exe, startup):
    weight = static.create_parameter([50], name="w")
    values = []
    for seed in (7, 8, 7):
        startup.random_seed = seed
        values.append(exe.run(startup, fetch_list=[weight.name])[0])
    assert (np.array_equal(values[0], values[2]), np.array_equal(values[0], values[1])) == (True, False)


def test_with_one_random_seed_two_parameters_differ(exe, startup):
    names = [static.create_parameter([50]).name for _ in range(2)]
    startup.random_seed = 7
    first, second = exe.run(startup, fetch_list=names)
    assert not np.array_equal(first, second)


def test_a_py_func_is_checked_at_every_run(exe, block, x):
    calls = []

    def second_time_wrong(x):
        calls.append(0)
        if len(calls) > 1:
            x[...] = 0
        return x * 2

    static.py_func(second_time_wrong, x, block.create_var("out", [None, 3], "float32"))
    exe.run(feed={"x": ROWS})
    with pytest.raises(MutationError, match="input 'x0' was changed in place, expected it untouched"):
        exe.run(feed={"x": ROWS})


def test_a_py_func_may_return_the_same_buffer_at_every_call(fetch, block, x):
    buffer = np.empty((2, 3), np.float32)

    def twice(x):
        return np.multiply(x, 2, out=buffer)

    first = static.py_func(twice, x, block.create_var("first", [None, 3], "float32"))
    second = static.py_func(twice, first, block.create_var("second", [None, 3], "float32"))
    found = fetch([first, second], x=ROWS)
    np.testing.assert_array_equal(found[0], ROWS * 2)
    np.testing.assert_array_equal(found[1], ROWS * 4)


def test_a_gradient_of_another_shape_is_refused(fetch, x):
    op = opsdk.register_op("test_ops::wrong", forward=lambda x: x * 2, backward=lambda dy: dy[:1])
    (grad,) = static.gradients(op(x), x)
    with pytest.raises(ValueError, match=r"gradient of 'x': expected \(2, 3\) like x, got \(1, 3\)"):
        fetch(grad, x=ROWS)


def test_a_gradient_of_another_dtype_is_refused(fetch, x):
    op = opsdk.register_op("test_ops::wrong", forward=lambda x: x * 2, backward=lambda dy: dy.astype("float64"))
    (grad,) = static.gradients(op(x), x)
    with pytest.raises(TypeError, match="gradient of 'x': expected float32 like x, got float64"):
        fetch(grad, x=ROWS)


def test_a_gradient_that_was_broadcast_is_summed(fetch, x):
    op = opsdk.register_op(
        "test_ops::plus(Tensor x, Tensor y) -> Tensor out",
        forward=lambda x, y: x + y,
        backward=lambda dout: (dout, dout * 1),
        infer=opsdk.infer.broadcast,
    )
    y = static.data("y", [1, 3], "float32")
    (grad,) = static.gradients(op(x, y), y)
    np.testing.assert_array_equal(fetch(grad, x=ROWS, y=ROWS[:1]), [[2.0, 2.0, 2.0]])


def test_too_few_gradients_of_a_list_are_refused(fetch, x):
    @opsdk.op("test_ops::total(Tensor[] x) -> Tensor out")
    def total(x):
        return x[0] + x[1]

    @total.backward
    def total_grad(dout):
        return [dout]

    (grad,) = static.gradients(total([x, x * 1.0]), x)
    with pytest.raises(TypeError, match="gradient of 'x': expected a list of 2, one per tensor, got 1"):
        fetch(grad, x=ROWS)


def test_gradients_that_are_the_cotangent_stay_what_they_are_when_that_is_changed(exe, add_one):
    x, y, w = (static.data(name, [2, 3], "float32") for name in ("x", "y", "w"))
    x.stop_gradient = y.stop_gradient = False
    dx, dy = static.gradients(x + y, [x, y], w)
    add_one(dx)
    add_one(w)
    values = exe.run(feed={"x": ROWS, "y": ROWS, "w": ROWS}, fetch_list=[dx, dy, w])
    assert [value.tolist() for value in values] == [(ROWS + 1).tolist(), ROWS.tolist(), (ROWS + 1).tolist()]


def test_the_gradient_op_of_a_sum_is_not_run(exe):
    x, b = static.data("x", [None, 3], "float32"), static.data("b", [3], "float32")
    x.stop_gradient = b.stop_gradient = False
    grads = static.gradients((x + b).sum(), [x, b])
    gradient = opsdk.find_op("elementwise_add_grad").opdef
    gradient.plans.clear()
    dx, db = exe.run(feed={"x": ROWS, "b": ROWS[0]}, fetch_list=grads)
    assert (dx.tolist(), db.tolist()) == ([[1.0] * 3] * 2, [2.0] * 3)
    assert not gradient.plans


@pytest.mark.parametrize("wanted", ["x", "y", "xy"])
def test_of_a_difference_only_what_is_not_the_cotangent_is_computed(exe, wanted):
    both = {name: static.data(name, [2, 3], "float32") for name in "xy"}
    for name, variable in both.items():
        variable.stop_gradient = name not in wanted
    grads = static.gradients((both["x"] - both["y"]).sum(), [both[name] for name in wanted])
    for name, found in zip(wanted, exe.run(feed={"x": ROWS, "y": ROWS}, fetch_list=grads), strict=True):
        assert found.tolist() == [[{"x": 1.0, "y": -1.0}[name]] * 3] * 2


def test_an_infer_rule_that_takes_an_open_size_for_another_than_a_number_is_found_out(exe, x):
    op = opsdk.op("tests::rows(Tensor x) -> Tensor y")(lambda x: x[:1] if len(x) == 1 else x + 1)
    op.infer(lambda x: x if x.shape[0] == 2 else opsdk.TensorSpec((1, *x.shape[1:]), x.dtype))
    y = op(x)
    text = r"op 'tests::rows', variable 'rows_0.tmp_0': expected float32\(1, 3\), as its infer rule"
    with pytest.raises(ShapeError, match=text):
        exe.run(feed={"x": ROWS}, fetch_list=[y])


def test_a_gradient_op_that_is_called_by_itself_takes_dtypes_of_both_kinds(exe):
    op = opsdk.op("tests::product(Tensor a, Tensor b) -> Tensor y", infer=opsdk.infer.broadcast)(lambda a, b: a * b)
    op.backward(lambda a, b, dy: (dy * b, dy * a))
    a = static.data("a", [None], "float32")
    b, dy = (static.data(name, [None], "float64") for name in ("b", "dy"))
    found = exe.run(feed={"a": [2.0], "b": [3.0], "dy": [5.0]}, fetch_list=list(op.grad(a, b, dy)))
    assert [array.tolist() for array in found] == [[15.0], [10.0]]

import gc
import weakref

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ProgramError

ROWS = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]], np.float32)


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float32")


@pytest.fixture
def make(block):
    """Creates an output variable."""

    def create(name="out", shape=(None, 3), dtype="float32"):
        return block.create_var(name=name, dtype=dtype, shape=list(shape))

    return create


# -- the documented relu -----------------------------------------------------------------------------------------------


RELU_X = np.array(
    [[-0.39115584, -0.7299341, -0.12647586, -0.5624508], [-0.8664403, -0.70393366, 0.04075145, -0.4767929]], np.float32
)
RELU_DY = np.array(
    [[0.15134676, 0.45530593, 0.54943573, 0.10149622], [-0.9668464, -0.48074073, 0.34972975, -0.5144964]], np.float32
)
RELU_Y = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.04075145, 0.0]], np.float32)
RELU_DX = np.array([[0.0, 0.0, 0.0, 0.0], [-0.0, -0.0, 0.34972975, -0.0]], np.float32)


def relu(x):
    return np.maximum(x, 0.0)


def relu_grad(y, dy):
    dx = np.zeros_like(y)
    dx[y > 0] = 1.0
    return np.array(dy) * dx


def by_py_func(x):
    out = x.block.create_var("relu", x.shape, x.dtype)
    return static.py_func(relu, x, out, backward_func=relu_grad, skip_vars_in_backward_input=x)


def by_registered_op(x):
    op = opsdk.op(namespace="test_ops")(relu)
    op.backward(relu_grad)
    return op(x)


@pytest.mark.parametrize("apply", [by_py_func, by_registered_op])
def test_the_relu_pair_gives_the_numbers_of_its_demo(fetch, apply):
    x = static.data("x", [None, 4], "float32")
    dy = static.data("dy", [None, 4], "float32")
    y = apply(x)
    (dx,) = static.gradients(y, x, target_gradients=dy)
    found = fetch([y, dx], x=RELU_X, dy=RELU_DY)
    assert [array.tobytes() for array in found] == [RELU_Y.tobytes(), RELU_DX.tobytes()]  # bytes: -0.0 is not 0.0


# -- in a Program ------------------------------------------------------------------------------------------------------


def test_an_output_that_is_its_input_is_changed(fetch, x):
    y = x * 2.0
    static.py_func(lambda y: y + 1, y, y)
    np.testing.assert_array_equal(fetch(y, x=ROWS), ROWS * 2 + 1)


def test_a_gradient_through_an_output_that_is_its_input_is_refused(x):
    y = x * 2.0
    static.py_func(lambda y: y + 1, y, y, lambda y, out, dy: dy)
    with pytest.raises(ProgramError, match="after 'py_func' used it, it is written again by 'py_func'"):
        static.gradients(y, x)


def test_the_operator_shows_its_inputs_and_outputs(block, x, make):
    static.py_func(relu, x, make())
    assert (block.ops[0].type, block.ops[0].input("x0"), block.ops[0].output("out0")) == ("py_func", ["x"], ["out"])


def test_a_test_clone_keeps_the_forward_and_drops_the_backward(main, x):
    static.gradients(by_py_func(x), x)
    assert [op.type for op in main.clone(for_test=True).global_block().ops] == ["py_func"]


def test_a_program_that_nothing_holds_frees_its_callables():
    def forward(x):
        return x * 1

    def backward(x, y, dy):
        return dy * 1

    alive = [weakref.ref(forward), weakref.ref(backward)]
    program = static.Program()
    exe = static.Executor()
    with static.program_guard(program):
        x = static.data("x", [None, 3], "float32")
        out = static.py_func(forward, x, x.block.create_var("out", [None, 3], "float32"), backward)
        grads = static.gradients(out, x)
    exe.run(program, {"x": ROWS}, grads)
    del forward, backward, program, x, out, grads
    for _ in range(2):  # the Program first; what an Executor compiled of it goes when it is gone
        gc.collect()
    assert [reference() for reference in alive] == [None, None]


def test_a_declared_shape_is_recorded_and_printed(main):
    made = main.current_block().create_var(name="output", dtype="float32", shape=[-1, 4])
    assert str(made) == "var output : DENSE_TENSOR.shape(-1, 4).dtype(float32).stop_gradient(False)"


# -- a network with a relu of its own ----------------------------------------------------------------------------------


CLASSES, PIXELS, BATCH = 10, 784, 256


@pytest.fixture(scope="module")
def digits():
    """Rows of 784 pixels around ten centres, in a fixed order, and their classes."""
    rng = np.random.default_rng(7)
    centres = rng.uniform(0, 1, (CLASSES, PIXELS))
    labels = rng.integers(0, CLASSES, 1280)
    images = np.clip(centres[labels] + rng.normal(0, 0.3, (1280, PIXELS)), 0, 1).astype(np.float32)
    return images, labels[:, None].astype(np.int64)


def trained(digits, activation, steps=20):
    """Trains 784 → 100 → 10 on all but the last batch; gives the losses, and loss and accuracy on the last one."""
    images, labels = digits
    weights = np.random.default_rng(1)

    def start(*shape):
        return opsdk.nn.initializer.Assign(weights.uniform(-0.1, 0.1, shape))

    with static.program_guard(static.Program(), static.Program()), static.scope_guard(static.Scope()):
        x = static.data(name="X", shape=[None, PIXELS], dtype="float32")
        label = static.data(name="label", shape=[None, 1], dtype="int64")
        hidden = activation(static.nn.fc(x, size=100, weight_attr=start(PIXELS, 100)))
        prediction = static.nn.fc(hidden, size=CLASSES, weight_attr=start(100, CLASSES), activation="softmax")
        loss = opsdk.mean(opsdk.find_op("cross_entropy")(prediction, label))
        acc = static.accuracy(prediction, opsdk.reshape(label, [-1, 1]))
        opsdk.optimizer.SGD(learning_rate=0.1).minimize(loss)
        exe = static.Executor(opsdk.CPUPlace())
        exe.run(static.default_startup_program())
        losses = []
        for step in range(steps):
            rows = slice(step % 4 * BATCH, (step % 4 + 1) * BATCH)
            feed = {"X": images[rows], "label": labels[rows]}
            losses.append(float(exe.run(feed=feed, fetch_list=[loss.name, acc.name])[0]))
        test_program = static.default_main_program().clone(for_test=True)
        feed = {"X": images[-BATCH:], "label": labels[-BATCH:]}
        return losses, exe.run(test_program, feed=feed, fetch_list=[loss.name, acc.name])


def test_a_network_with_a_py_func_learns(digits):
    losses, (_, accuracy) = trained(digits, by_py_func)
    assert losses[-1] < losses[0] / 4
    assert accuracy > 0.9


@pytest.mark.parametrize("other", [opsdk.relu, by_registered_op])
def test_a_network_with_a_py_func_trains_bit_by_bit_like_one_with_an_op(digits, other):
    losses, tested = trained(digits, by_py_func, steps=8)
    expected_losses, expected = trained(digits, other, steps=8)
    assert losses == expected_losses
    np.testing.assert_array_equal(tested, expected)

import sys
import threading

import numpy as np
import pytest

import opsdk
from opsdk.backends.memory.arena import ARENA
from opsdk.core.errors import DTypeError, ShapeError

THREADS = 8


@pytest.fixture
def eager_switching():
    """Threads that take turns after nearly every step of the interpreter."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def leaf(values, dtype="float64"):
    return opsdk.to_tensor(np.array(values, dtype), stop_gradient=False)


def in_threads(work):
    """Runs a function of a number in eight threads at once; what any raises is raised."""
    start, raised = threading.Barrier(THREADS), []

    def run(number):
        start.wait(60)
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


# -- several threads --------------------------------------------------------------------------------------------------


def test_backwards_in_several_threads_lose_no_addition_to_shared_leaves(eager_switching):
    x, w = leaf(np.ones(4)), leaf(np.full(4, 3.0))

    def work(number):
        for _ in range(60):
            ((x * w).sum() + w.sum() * float(number)).backward()

    in_threads(work)
    assert x.grad.tolist() == [60.0 * THREADS * 3.0] * 4
    assert w.grad.tolist() == [60.0 * sum(1.0 + number for number in range(THREADS))] * 4


def test_backwards_through_one_retained_graph_lose_no_addition(eager_switching):
    x = leaf([2.0])
    loss = (x * x * x).sum()
    in_threads(lambda _: [loss.backward(retain_graph=True) for _ in range(40)])
    assert x.grad.tolist() == [12.0 * 40 * THREADS]


def test_kept_gradients_of_an_interior_tensor_lose_no_addition(eager_switching):
    x = leaf([2.0])
    y = x * 3.0
    y.retain_grads()
    loss = (y * y).sum()
    in_threads(lambda _: [loss.backward(retain_graph=True) for _ in range(40)])
    assert y.grad.tolist() == [12.0 * 40 * THREADS]


def test_hooks_that_several_threads_register_are_all_called(eager_switching):
    x, called = leaf([1.0]), []
    in_threads(lambda number: [x.register_hook(lambda grad: called.append(1)) for _ in range(40)])
    x.sum().backward()
    assert len(called) == 40 * THREADS


def test_first_calls_and_their_gradients_agree_in_all_threads(eager_switching):
    square = opsdk.op("tests::square(Tensor x) -> Tensor y")(lambda x: x * x)
    square.backward(composite=True)(lambda x, dy: dy * x * 2.0)

    def work(number):
        x = leaf(np.full(5, float(number)))
        (first,) = opsdk.grad(square(x), x, create_graph=True)
        (second,) = opsdk.grad(first, x)
        assert (first.tolist(), second.tolist()) == ([2.0 * number] * 5, [2.0] * 5)

    in_threads(work)


def test_each_thread_trains_with_an_optimizer_of_its_own(eager_switching):
    found = []

    def work(number):
        weight = opsdk.nn.Parameter(np.full(3, 2.0))
        adam = opsdk.optimizer.Adam(0.1, parameters=[weight])
        for _ in range(20):
            (weight * weight).sum().backward()
            adam.step()
            adam.clear_grad()
        found.append(weight.tolist())

    in_threads(work)
    assert found == [found[0]] * THREADS
    work(0)
    assert found[-1] == found[0]


# -- what is added to -------------------------------------------------------------------------------------------------


def test_a_gradient_that_was_looked_at_stays_as_it_is():
    x = leaf([1.0, 2.0])
    (x * 2.0).sum().backward()
    first, array = x.grad, np.asarray(x.grad)
    (x * 3.0).sum().backward()
    x.clear_grad()
    (x * 5.0).sum().backward()
    assert (first.tolist(), array.tolist(), x.grad.tolist()) == ([2.0, 2.0], [2.0, 2.0], [5.0, 5.0])


@pytest.mark.parametrize("looks", [False, True])
def test_a_cleared_gradient_is_zeros_and_is_added_to(looks):
    x = leaf([1.0, 2.0], "float32")
    (x * 2.0).sum().backward()
    x.clear_grad()
    zeros = x.grad if looks else None
    if looks:
        assert (zeros.tolist(), str(zeros.dtype), zeros.stop_gradient) == ([0.0, 0.0], "float32", True)
        assert x.grad is zeros
    (x * 3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert zeros is None or zeros.tolist() == [0.0, 0.0]


def test_a_gradient_that_is_known_to_be_zero_takes_no_memory():
    x = leaf(np.ones(1 << 16))
    opsdk.relu(x).backward()
    for _ in range(3):
        x.clear_grad()
        start = ARENA.stats().allocations
        opsdk.relu(x).backward()
        assert ARENA.stats().allocations - start == 2  # the result and its gradient
    assert x.grad.tolist() == [1.0] * (1 << 16)


def test_a_sum_takes_the_memory_of_what_is_added():
    x = leaf(np.ones(1 << 16))
    opsdk.relu(x).backward()
    start = ARENA.stats()
    opsdk.relu(x).backward()
    now = ARENA.stats()
    assert now.allocations - start.allocations == 2  # the result and its gradient, and none for the sum
    assert now.in_use == start.in_use
    assert x.grad.numpy().min() == x.grad.numpy().max() == 2.0


def test_memory_that_a_backward_keeps_to_itself_is_not_taken_over():
    kept = np.zeros(3)

    @opsdk.op("tests_accumulate::keeping(Tensor x) -> Tensor y")
    def scaled(x):
        return x * 2

    @scaled.backward
    def scaled_grad(dy):
        kept[:] = dy * 2
        return kept

    x = leaf(np.ones(3))
    scaled(x).sum().backward()
    (scaled(x) * 5.0).sum().backward()
    assert (x.grad.tolist(), kept.tolist()) == ([12.0] * 3, [10.0] * 3)


def test_the_cotangent_of_a_leaf_is_not_taken_over():
    x, seed = leaf([1.0, 2.0]), opsdk.to_tensor(np.array([3.0, 4.0]))
    x.backward(seed)
    x.backward(seed)
    assert (x.grad.tolist(), seed.tolist()) == ([6.0, 8.0], [3.0, 4.0])


def test_sums_of_0d_gradients_are_tensors():
    x = leaf(2.0)
    for _ in range(3):
        (x * 3.0).backward()
    assert (x.grad.item(), x.grad.shape) == (9.0, [])


# -- what may be assigned ---------------------------------------------------------------------------------------------


def test_a_gradient_may_be_assigned_and_is_added_to():
    x, mine = leaf([1.0, 2.0]), opsdk.to_tensor(np.array([10.0, 20.0]))
    x.grad = mine
    (x * 2.0).sum().backward()
    assert (x.grad.tolist(), mine.tolist()) == ([12.0, 22.0], [10.0, 20.0])
    x.grad = None
    assert x.grad is None


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (np.ones(3), ShapeError, r"grad: expected shape \(2,\) like the tensor, got \(3,\)"),
        (np.ones((1, 2)), ShapeError, r"grad: expected shape \(2,\) like the tensor, got \(1, 2\)"),
        (np.ones(2, "float32"), DTypeError, "grad: expected dtype float64 like the tensor, got float32"),
    ],
)
def test_a_gradient_of_another_kind_is_not_assigned(value, kind, text):
    x = leaf([1.0, 2.0])
    with pytest.raises(kind, match=text):
        x.grad = opsdk.to_tensor(value)
    assert x.grad is None


@pytest.mark.parametrize("value", [np.ones(2), 0.0, "zero"])
def test_what_is_no_tensor_is_not_assigned_as_a_gradient(value):
    x = leaf([1.0, 2.0])
    with pytest.raises(DTypeError, match=r"grad: expected a tensor at Place\(cpu\) or None, got \w+, make one with"):
        x.grad = value

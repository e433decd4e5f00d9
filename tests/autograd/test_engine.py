import gc
import weakref

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DTypeError, GradientMissingError, GraphError, ShapeError


def leaf(values, dtype="float64"):
    return opsdk.to_tensor(np.array(values, dtype), stop_gradient=False)


@pytest.fixture
def half():
    """x / 2, whose backward counts its calls."""

    @opsdk.op("engine::half(Tensor x) -> Tensor y")
    def op(x):
        return x / 2

    op.calls = []

    @op.backward
    def half_grad(dy):
        op.calls.append(dy.tolist())
        return dy / 2

    return op


# -- sums -------------------------------------------------------------------------------------------------------------


def test_one_tensor_used_twice_in_a_call_gets_both_gradients():
    x = leaf([3.0])
    (x * x).backward()
    assert x.grad.tolist() == [6.0]


def test_gradients_of_a_fan_out_are_summed_before_they_go_on(half):
    x = leaf([1.0])
    y = half(x)
    (y * 2.0 + y * 3.0 + y * 5.0).backward()
    assert half.calls == [[10.0]]
    assert x.grad.tolist() == [5.0]


def test_a_node_waits_for_the_longest_way(half):
    x = leaf([1.0])
    y = half(x)
    long = y
    for _ in range(5):
        long = long * 1.0
    (y + long).backward()
    assert half.calls == [[2.0]]


def test_a_diamond_of_diamonds_visits_each_node_once(half):
    x = y = leaf([1.0])
    for _ in range(20):
        y = half(y)
        y = y + y
    y.backward()
    assert len(half.calls) == 20
    assert x.grad.tolist() == [1.0]


def test_a_deep_graph_needs_no_recursion():
    x = y = leaf([1.0])
    for _ in range(5000):
        y = y * 1.0
    y.backward()
    assert x.grad.tolist() == [1.0]
    assert opsdk.grad(x * 2.0, x)[0].tolist() == [2.0]


def test_several_tensors_go_backward_in_one_pass(half):
    x = leaf([1.0])
    y = half(x)
    opsdk.autograd.backward([y * 2.0, y * 4.0], [opsdk.to_tensor(np.array([10.0])), None])
    assert half.calls == [[24.0]]
    assert x.grad.tolist() == [12.0]


def test_a_list_of_tensors_may_hold_leaves_and_interior_tensors():
    x = leaf([1.0])
    opsdk.autograd.backward([x, x * 3.0])
    assert x.grad.tolist() == [4.0]


# -- the graph --------------------------------------------------------------------------------------------------------


def test_backward_frees_the_graph():
    x = leaf([2.0])
    y = (x * x).sum()
    y.backward()
    with pytest.raises(
        GraphError,
        match=r"backward: expected a graph that is still there, .* was freed by an earlier backward; pass retain_graph",
    ):
        y.backward()
    assert x.grad.tolist() == [4.0]


def test_retain_graph_keeps_it():
    x = leaf([2.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [8.0]


def test_a_shared_part_that_was_freed_is_reported():
    x = leaf([2.0])
    shared = x * x
    (shared * 2.0).backward()
    with pytest.raises(GraphError, match="freed by an earlier backward"):
        (shared * 3.0).backward()


def test_a_tensor_without_a_graph_has_no_backward():
    with pytest.raises(
        GraphError,
        match=r"backward: expected a tensor that was computed from one with stop_gradient=False, got shape \(2,\)",
    ):
        opsdk.to_tensor([1.0, 2.0]).backward()


def test_a_cotangent_has_the_shape_of_its_tensor():
    with pytest.raises(ShapeError, match=r"backward: cotangent expected shape \(1,\) like the tensor, got \(2,\)"):
        (leaf([1.0]) * 2.0).backward(opsdk.to_tensor(np.ones(2)))


def test_a_cotangent_has_the_dtype_of_its_tensor():
    with pytest.raises(DTypeError, match="backward: cotangent expected dtype float64 like the tensor, got float32"):
        (leaf([1.0]) * 2.0).backward(opsdk.to_tensor([1.0]))


def test_a_cotangent_is_a_tensor_or_array():
    with pytest.raises(DTypeError, match="backward: cotangent expected a tensor or array, got int"):
        (leaf([1.0]) * 2.0).backward(3)


def test_an_array_may_be_a_cotangent():
    x = leaf([1.0])
    (x * 2.0).backward(np.array([5.0]))
    assert x.grad.tolist() == [10.0]


# -- failures ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def failing():
    """The identity, whose backward raises until it is told not to."""

    @opsdk.op("engine::failing(Tensor x) -> Tensor y")
    def op(x):
        return x.copy()

    op.fails = True

    @op.backward
    def failing_grad(dy):
        if op.fails:
            raise ZeroDivisionError("planted")
        return dy

    return op


def test_a_failing_backward_adds_nothing_and_leaves_the_graph(failing):
    x, y = leaf([1.0]), leaf([2.0])
    loss = x * 3.0 + failing(y)
    with pytest.raises(ZeroDivisionError, match="planted"):
        loss.backward()
    assert x.grad is None
    assert y.grad is None
    failing.fails = False
    loss.backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([3.0], [1.0])


def test_a_failing_backward_keeps_what_was_accumulated_before(failing):
    x = leaf([1.0])
    (x * 3.0).backward()
    with pytest.raises(ZeroDivisionError):
        (x * 5.0 + failing(x)).backward()
    assert x.grad.tolist() == [3.0]


def test_an_exception_of_a_backward_names_the_op(failing):
    with pytest.raises(ZeroDivisionError) as caught:
        failing(leaf([1.0])).backward()
    assert "raised in op 'engine::failing_grad', backward of op 'engine::failing'" in caught.value.__notes__[0]


def test_a_missing_backward_is_reported_when_the_gradient_is_asked_for():
    @opsdk.op
    def cube(x):
        return x * x * x

    x = leaf([2.0])
    y = cube(x)
    assert y.tolist() == [8.0]
    with pytest.raises(
        GradientMissingError, match=r"no backward, and x needs a gradient; write @cube.backward or declare nondiff"
    ):
        (y * x).backward()
    assert x.grad is None


def test_a_missing_backward_does_not_matter_where_no_gradient_goes():
    @opsdk.op
    def cube(x):
        return x * x * x

    x = leaf([2.0])
    (cube(x.detach()) * x).backward()
    assert x.grad.tolist() == [8.0]


# -- memory -----------------------------------------------------------------------------------------------------------


def test_gradients_of_two_leaves_share_no_memory():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (x + y).backward()
    x.grad.fill_(0.0)
    assert y.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("way", [lambda x: x, lambda x: x.clone(), lambda x: x.reshape([1, 2]).reshape([2])])
def test_a_gradient_shares_no_memory_with_the_cotangent(way):
    x, start = leaf([1.0, 2.0]), opsdk.to_tensor(np.array([1.0, 1.0]))
    way(x).backward(start)
    start.fill_(7.0)
    assert x.grad.tolist() == [1.0, 1.0]
    x.grad.fill_(3.0)
    assert start.tolist() == [7.0, 7.0]


def test_a_gradient_shares_no_memory_with_what_a_backward_keeps():
    @opsdk.op("engine::pair(Tensor a, Tensor b) -> Tensor y")
    def pair(a, b):
        return a + b

    @pair.backward
    def pair_grad(dy):
        both = np.stack([dy, dy])
        return both[0], both[1]

    a, b = leaf([1.0]), leaf([2.0])
    pair(a, b).backward()
    assert not np.shares_memory(np.asarray(a.grad), np.asarray(b.grad))
    assert np.asarray(a.grad).flags.owndata or np.asarray(a.grad).base.flags.owndata


def test_accumulating_does_not_change_a_gradient_that_somebody_holds():
    x = leaf([1.0])
    (x * 2.0).backward()
    held = x.grad
    (x * 2.0).backward()
    assert held.tolist() == [2.0]


def test_the_graph_is_given_up_with_its_result():
    x = leaf([1.0])
    y = x * 2.0
    node = weakref.ref(y._edge[0])
    del y
    gc.collect()
    assert node() is None


def test_backward_gives_up_what_the_nodes_saved():
    x = leaf([1.0, 2.0])
    inner = x * 2.0
    array = weakref.ref(inner._array)
    loss = (inner * inner).sum()
    del inner
    loss.backward()
    gc.collect()
    assert array() is None
    assert loss._edge is not None


def test_a_gradient_holds_no_graph():
    x = leaf([1.0])
    y = x * 2.0
    node = weakref.ref(y._edge[0])
    y.backward()
    del y
    gc.collect()
    assert node() is None
    assert x.grad.is_leaf


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_contributions_of_sixteen_bits_are_added_in_float32_and_rounded_once(dtype):
    leaf = opsdk.to_tensor(np.ones(3), dtype, stop_gradient=False)
    inner = leaf * 1.0
    total = sum((inner * 1.0 for _ in range(3000)), leaf * 0.0)
    total.sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), np.full(3, 3000).astype(leaf.dtype))
    assert leaf.grad.dtype == leaf.dtype


def test_contributions_of_sixteen_bits_at_an_inner_value_and_at_hooks_are_rounded():
    leaf = opsdk.to_tensor(np.array(1.0), "bfloat16", stop_gradient=False)
    inner = leaf * 1.0
    seen = []
    inner.register_hook(lambda grad: seen.append(grad.numpy()))
    total = sum((inner * 1.0 for _ in range(999)), inner * 1.0)
    (wanted,) = opsdk.grad(total, inner, retain_graph=True)
    total.backward()
    for got in (wanted.numpy(), seen[0], leaf.grad.numpy()):
        np.testing.assert_array_equal(got, np.asarray(1000).astype(leaf.dtype))
        assert (type(got), got.shape, got.dtype) == (np.ndarray, (), leaf.dtype)


STARTS = [lambda y: y.backward(), lambda y: opsdk.autograd.backward([y]), lambda y: opsdk.grad(y, y)]


@pytest.mark.parametrize("start", STARTS)
def test_a_complex_tensor_is_no_loss_unless_its_cotangent_is_given(start):
    z = opsdk.to_tensor(np.array([1 + 2j, 3j]), stop_gradient=False)
    message = "expected a real tensor, since a complex one is no loss, got complex128 of shape"
    with pytest.raises(GraphError, match=message):
        start(z * z)
    y = z * z
    y.backward(opsdk.to_tensor(np.array([1, 1j])))
    np.testing.assert_allclose(z.grad.numpy(), [2 - 4j, 6])


def test_hooks_see_complex_gradients_and_may_change_them():
    z = opsdk.to_tensor(np.array([1 + 2j, 3j]), stop_gradient=False)
    seen = []
    z.register_hook(lambda grad: (seen.append(grad.numpy()), grad * 1j)[1])
    opsdk.real(z * z).sum().backward()
    np.testing.assert_allclose(seen[0], [2 - 4j, -6j])
    np.testing.assert_allclose(z.grad.numpy(), [4 + 2j, 6])


def test_a_backward_into_a_freed_part_of_a_graph_says_so_each_time():
    for _ in range(3):
        x = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
        inner = opsdk.exp(x)
        opsdk.grad(inner.sum(), x)
        with pytest.raises(GraphError, match=r"that of op 'opsdk::exp' was freed by an earlier backward"):
            opsdk.grad((inner * 2.0).sum(), x)

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import GraphError, HookError


def leaf(values):
    return opsdk.to_tensor(np.array(values, "float32"), stop_gradient=False)


def example():
    """o = z · (x + y), with x, y, z of four elements."""
    x, y, z = leaf([0, 1, 2, 3]), leaf([4, 5, 6, 7]), leaf([1, 2, 3, 4])
    w = x + y
    return x, y, z, w


def test_hooks_on_leaf_and_interior_tensors_compose():
    x, y, z, w = example()
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_hook(lambda g: g * 2)
    w.register_hook(lambda g: g * 2)
    z.matmul(w).backward()
    assert seen == [[2.0, 4.0, 6.0, 8.0]]
    assert x.grad.tolist() == [4.0, 8.0, 12.0, 16.0]
    assert y.grad.tolist() == [2.0, 4.0, 6.0, 8.0]
    assert z.grad.tolist() == [4.0, 6.0, 8.0, 10.0]
    assert w.grad is None


def test_retain_grads_before_a_hook_keeps_what_enters_it():
    _, _, z, w = example()
    w.retain_grads()
    w.register_hook(lambda g: g * 2)
    z.matmul(w).backward()
    assert w.grad.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_retain_grads_after_a_hook_keeps_what_leaves_it():
    _, _, z, w = example()
    w.register_hook(lambda g: g * 2)
    w.retain_grads()
    z.matmul(w).backward()
    assert w.grad.tolist() == [2.0, 4.0, 6.0, 8.0]


def test_retained_gradients_accumulate():
    _, _, z, w = example()
    w.retain_grads()
    loss = z.matmul(w)
    loss.backward(retain_graph=True)
    loss.backward()
    assert w.grad.tolist() == [2.0, 4.0, 6.0, 8.0]


def test_retain_grads_of_a_leaf_changes_nothing():
    x = leaf([1.0])
    x.retain_grads()
    (x * 3.0).backward()
    assert x.grad.tolist() == [3.0]


def test_hooks_run_in_the_order_of_registration_each_on_what_the_last_returned():
    x = leaf([1.0])
    seen = []
    x.register_hook(lambda g: seen.append(("first", g.item())) or g + 1.0)
    x.register_hook(lambda g: seen.append(("second", g.item())) or g * 10.0)
    (x * 3.0).backward()
    assert seen == [("first", 3.0), ("second", 4.0)]
    assert x.grad.item() == 40.0


@pytest.mark.parametrize("interior", [False, True])
def test_a_hook_sees_the_complete_gradient_once_per_backward(interior):
    x = leaf([2.0])
    t = x * 1.0 if interior else x
    seen = []
    t.register_hook(lambda g: seen.append(g.item()))
    loss = t * t + t * 5.0
    loss.backward(retain_graph=True)
    loss.backward()
    assert seen == [9.0, 9.0]


def test_a_removed_hook_is_not_called():
    x = leaf([1.0])
    handles = [x.register_hook(lambda g: g * 2.0) for _ in range(3)]
    (x * 1.0).backward()
    assert x.grad.item() == 8.0
    assert handles[1].remove()
    assert not handles[1].remove()
    x.clear_gradient(set_to_zero=False)
    (x * 1.0).backward()
    assert x.grad.item() == 4.0


def test_a_hook_may_remove_itself():
    x = leaf([1.0])
    handle = x.register_hook(lambda g: handle.remove() and None)
    other = []
    x.register_hook(other.append)
    for _ in range(2):
        (x * 1.0).backward()
    assert len(other) == 2


@pytest.mark.parametrize("interior", [False, True])
@pytest.mark.parametrize("wrong", [np.ones(1, "float32"), "text", [1.0], (1.0,), True, 2.0])
def test_a_hook_that_returns_no_tensor_is_refused(interior, wrong):
    x = leaf([1.0])
    t = x * 1.0 if interior else x
    t.register_hook(lambda g: wrong)
    with pytest.raises(HookError, match=f"tensor hook: expected None or a Tensor, got {type(wrong).__name__}"):
        (t * 2.0).backward()
    assert x.grad is None


@pytest.mark.parametrize(
    ("wrong", "got"), [(np.ones(3, "float32"), r"\(3,\) and float32"), (np.ones(1), r"\(1,\) and float64")]
)
def test_a_hook_that_returns_another_shape_or_dtype_is_refused(wrong, got):
    x = leaf([1.0])
    x.register_hook(lambda g: opsdk.to_tensor(wrong))
    with pytest.raises(
        HookError, match=rf"tensor hook: expected a gradient of shape \(1,\) and dtype float32, got {got}"
    ):
        (x * 2.0).backward()


def test_a_hook_that_changes_its_gradient_in_place_is_refused():
    x = leaf([1.0])
    x.register_hook(lambda g: g.fill_(0.0))
    with pytest.raises(HookError, match="tensor hook: expected its gradient untouched, it was changed in place"):
        (x * 2.0).backward()


def test_an_exception_in_a_hook_keeps_its_type_and_the_graph_stays():
    x, y = leaf([1.0]), leaf([1.0])
    handle = y.register_hook(lambda g: 1 // 0)
    loss = x * 2.0 + y * 3.0
    with pytest.raises(ZeroDivisionError):
        loss.backward()
    assert x.grad is None
    assert y.grad is None
    handle.remove()
    loss.backward()
    assert (x.grad.item(), y.grad.item()) == (2.0, 3.0)


def test_a_failing_backward_retains_no_interior_gradient():
    x = leaf([1.0])
    w = x * 2.0
    w.retain_grads()
    handle = x.register_hook(lambda g: 1 // 0)
    loss = w * 3.0
    with pytest.raises(ZeroDivisionError):
        loss.backward()
    assert w.grad is None
    handle.remove()
    loss.backward()
    assert w.grad.item() == 3.0


def test_what_a_hook_hands_out_and_keeps_is_not_the_gradient_itself():
    x = leaf([1.0])
    mine = opsdk.to_tensor(np.array([5.0], "float32"))
    x.register_hook(lambda g: mine)
    (x * 2.0).backward()
    mine.fill_(0.0)
    assert x.grad.item() == 5.0


def test_a_hook_needs_a_tensor_that_needs_a_gradient():
    with pytest.raises(GraphError, match="register_hook: expected a tensor that needs a gradient, got one with stop_g"):
        opsdk.to_tensor([1.0]).register_hook(print)


def test_a_hook_is_callable():
    with pytest.raises(HookError, match="register_hook: expected a callable, got int"):
        leaf([1.0]).register_hook(3)


def test_grad_calls_hooks_of_interior_tensors_but_not_of_the_leaf_asked_for():
    x = leaf([3.0])
    x.register_hook(lambda g: g * 100.0)
    w = x * 1.0
    w.register_hook(lambda g: g * 10.0)
    (dx,) = opsdk.grad(w * w, x)
    assert dx.item() == 60.0
    (dw,) = opsdk.grad(w * w, w)
    assert dw.item() == 60.0


def test_grad_touches_no_grad_attribute_not_even_a_retained_one():
    x = leaf([3.0])
    w = x * 1.0
    w.retain_grads()
    opsdk.grad(w * w, x)
    assert w.grad is None
    assert x.grad is None


def test_hooks_are_recorded_with_create_graph():
    x = leaf([3.0])
    w = x * 1.0
    w.register_hook(lambda g: g * g)
    (dx,) = opsdk.grad(w * w, x, create_graph=True)
    assert dx.item() == 36.0
    assert opsdk.grad(dx, x)[0].item() == 576.0  # 8w = 24 arrives at w, where the hook squares it again


def test_a_hook_may_run_a_backward_of_its_own():
    x, other = leaf([3.0]), leaf([5.0])

    def hook(g):
        (other * other).backward()

    x.register_hook(hook)
    (x * 2.0).backward()
    assert (x.grad.item(), other.grad.item()) == (2.0, 10.0)


def test_dropping_the_retained_tensor_drops_its_gradient():
    x = leaf([1.0])
    w = x * 2.0
    w.retain_grads()
    loss = w * 3.0
    del w
    loss.backward()
    assert x.grad.item() == 6.0

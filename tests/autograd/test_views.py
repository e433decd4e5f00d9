import copy
import gc
import weakref

import numpy as np
import pytest

import opsdk
from opsdk.autograd.views import base_of, sharing
from opsdk.core.errors import InPlaceError, VersionError

FACTORS = opsdk.to_tensor([1.0, 10.0, 100.0, 1000.0])


@pytest.fixture
def leaf():
    """A tensor that needs a gradient."""
    return opsdk.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=False)


def weighed(tensor):
    """The elements, flat, each with a factor of its own."""
    flat = tensor.reshape([-1])
    return (flat * FACTORS[: flat.size]).sum()


def test_indexing_gives_a_view_that_shares_memory_and_version():
    x = opsdk.to_tensor(np.zeros((2, 3)))
    row = x[1]
    row.fill_(2.0)
    assert x.numpy().tolist() == [[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]]
    assert (x.inplace_version, row.inplace_version) == (1, 1)
    x[:, 0].fill_(5.0)
    assert row.numpy().tolist() == [5.0, 2.0, 2.0]


def test_a_part_that_is_filled_sends_no_gradient_to_what_was_there(leaf):
    x = leaf * 2.0
    x[1:3].fill_(7.0)
    weighed(x).backward()
    assert leaf.grad.numpy().tolist() == [2.0, 0.0, 0.0, 2000.0]


def test_a_part_that_is_computed_with_changes_the_gradient_of_the_whole(leaf):
    x = leaf * 1.0
    x[::2].multiply_(leaf[1:3])  # 1 · 2, 3 · 3
    assert x.numpy().tolist() == [2.0, 2.0, 9.0, 4.0]
    weighed(x).backward()
    # x0 = w0 w1, x1 = w1, x2 = w2 w2, x3 = w3
    assert leaf.grad.numpy().tolist() == [2.0, 1.0 + 10.0, 600.0, 1000.0]


def test_every_view_of_what_was_changed_has_its_gradient(leaf):
    x = leaf * 1.0
    square, tail, reverse = x.reshape([2, 2]), x[2:], x[::-1]
    x[3] = leaf[0] * 5.0
    assert [tail.numpy().tolist(), reverse.numpy().tolist()] == [[3.0, 5.0], [5.0, 3.0, 2.0, 1.0]]
    weighed(square).backward(retain_graph=True)
    assert leaf.grad.numpy().tolist() == [1.0 + 5000.0, 10.0, 100.0, 0.0]
    leaf.clear_grad()
    weighed(tail).backward(retain_graph=True)
    assert leaf.grad.numpy().tolist() == [50.0, 0.0, 1.0, 0.0]
    leaf.clear_grad()
    weighed(reverse).backward()
    assert leaf.grad.numpy().tolist() == [5.0 + 1000.0, 100.0, 10.0, 0.0]


def test_a_change_of_the_base_is_one_of_its_views(leaf):
    base = opsdk.zeros([4])
    view = base.reshape([2, 2])[1]
    base.copy_(leaf * leaf)
    assert view.numpy().tolist() == [9.0, 16.0]
    weighed(view).backward()
    assert leaf.grad.numpy().tolist() == [0.0, 0.0, 6.0, 80.0]


def test_a_view_that_shares_no_element_with_the_change_stays_where_it_was(leaf):
    x = leaf * 1.0
    head, tail = x[:2], x[2:]
    before = head._edge
    tail.fill_(0.0)
    assert head._edge is before
    weighed(head).backward()
    assert leaf.grad.numpy().tolist() == [1.0, 10.0, 0.0, 0.0]


def test_a_constant_base_is_in_the_graph_once_a_view_is(leaf):
    x = opsdk.zeros([4])
    x[1:3] = leaf[:2] * 3.0
    assert not x.stop_gradient
    assert x.numpy().tolist() == [0.0, 3.0, 6.0, 0.0]
    weighed(x).backward()
    assert leaf.grad.numpy().tolist() == [30.0, 300.0, 0.0, 0.0]


def test_the_last_of_several_changes_counts(leaf):
    x = opsdk.zeros([4])
    for i in range(4):
        x[i] = leaf[i] * 2.0
    x[1] = 0.0
    x[3] = x[0] * 3.0 + x[2]
    weighed(x).backward()  # 2 w0 + 200 w2 + 6000 w0 + 2000 w2
    assert leaf.grad.numpy().tolist() == [6002.0, 0.0, 2200.0, 0.0]


def test_values_that_lie_where_they_are_put_are_those_of_before(leaf):
    x = leaf * 1.0
    x[1:] = x[:-1] * 1.0
    assert x.numpy().tolist() == [1.0, 1.0, 2.0, 3.0]
    x[:-1] = x[1:]
    assert x.numpy().tolist() == [1.0, 2.0, 3.0, 3.0]
    weighed(x).backward()
    assert leaf.grad.numpy().tolist() == [1.0, 10.0, 1100.0, 0.0]


def test_a_window_of_transposed_and_reversed_memory_is_the_right_one(leaf):
    base = opsdk.transpose((leaf * 1.0).reshape([2, 2]), perm=[1, 0]).clone()  # of another order than its memory's
    turned = base.transpose([1, 0])[::-1]  # rows (w2, w3), (w0, w1)
    turned[0] = leaf[:2] * 2.0
    assert base.numpy().tolist() == [[1.0, 2.0], [2.0, 4.0]]
    weighed(base).backward()  # w0, 2 w0, w1, 2 w1
    assert leaf.grad.numpy().tolist() == [21.0, 2100.0, 0.0, 0.0]


def test_the_base_may_lie_in_any_order(leaf):
    @opsdk.op("vw::fortran(Tensor x) -> Tensor y")
    def fortran(x):
        return np.asfortranarray(x.reshape(2, 2))

    fortran.infer(lambda x: opsdk.TensorSpec((2, 2), x.dtype))
    fortran.backward(lambda dy: dy.reshape(4), name="fortran_grad")
    base = fortran(leaf)
    base[1, :].fill_(0.0)
    assert base.numpy().tolist() == [[1.0, 2.0], [0.0, 0.0]]
    weighed(base).backward()
    assert leaf.grad.numpy().tolist() == [1.0, 10.0, 0.0, 0.0]


def test_a_change_in_a_recorded_pass_is_differentiated_again(leaf):
    x = leaf * leaf
    x[1:].multiply_(leaf[:3])  # w0², w1² w0, w2² w1, w3² w2
    (first,) = opsdk.grad(weighed(x), leaf, create_graph=True)
    w0, w1, w2, w3 = 1.0, 2.0, 3.0, 4.0
    slope = [2 * w0 + 10 * w1**2, 20 * w1 * w0 + 100 * w2**2, 200 * w2 * w1 + 1000 * w3**2, 2000 * w3 * w2]
    assert first.numpy().tolist() == slope
    first[0].backward()
    assert leaf.grad.numpy().tolist() == [2.0, 20.0 * w1, 0.0, 0.0]


def test_what_was_saved_of_a_view_says_that_it_changed(leaf):
    x = leaf * 1.0
    read = x[:2] * x[:2]
    x[1].fill_(0.0)
    with pytest.raises(VersionError, match="it was changed in place since"):
        read.sum().backward()


def test_without_recording_values_change_and_the_graph_does_not(leaf):
    x = leaf * 2.0
    with opsdk.no_grad():
        x[0] = 9.0
    assert x.numpy().tolist() == [9.0, 4.0, 6.0, 8.0]
    weighed(x).backward()
    assert leaf.grad.numpy().tolist() == [2.0, 20.0, 200.0, 2000.0]


def test_views_of_a_leaf_that_is_set_stay_views_of_it(leaf):
    tail = leaf[1:]
    leaf.set_value(np.array([5.0, 6.0, 7.0, 8.0]))
    assert tail.numpy().tolist() == [6.0, 7.0, 8.0]
    weighed(tail).backward()
    assert leaf.grad.numpy().tolist() == [0.0, 1.0, 10.0, 100.0]


def test_a_tensor_that_was_cut_off_stays_so_when_a_view_changes(leaf):
    x = leaf * 2.0
    x.stop_gradient = True
    x[1:].fill_(3.0)
    assert x.stop_gradient
    (x * leaf).sum().backward()
    assert leaf.grad.numpy().tolist() == [2.0, 3.0, 3.0, 3.0]


def test_a_view_taken_without_recording_still_tells_its_base(leaf):
    x = leaf * 2.0
    with opsdk.no_grad():
        view = x[0]
    view.fill_(5.0)
    weighed(x).backward()
    assert leaf.grad.numpy().tolist() == [0.0, 20.0, 200.0, 2000.0]


def test_a_shallow_copy_follows_as_a_view_does(leaf):
    x = leaf * 1.0
    twin = copy.copy(x)
    x[0] = 0.0
    weighed(twin).backward()
    assert leaf.grad.numpy().tolist() == [0.0, 10.0, 100.0, 1000.0]


def test_a_leaf_that_needs_a_gradient_holds_up_changes_of_its_memory(leaf):
    base = opsdk.zeros([4])
    part = base[:2]
    part.stop_gradient = False
    text = "x: expected a tensor whose memory is its own, got one that shares it with a leaf that needs a gradient"
    with pytest.raises(InPlaceError, match=text.replace("x:", r"x\[index\] = value:")):
        leaf[1:][0] = 5.0
    with pytest.raises(InPlaceError, match=r"copy_.*shares it with a leaf that needs a gradient"):
        base.copy_(leaf)
    assert base.numpy().tolist() == [0.0] * 4
    base.fill_(2.0)  # no part of any graph
    assert part.numpy().tolist() == [2.0, 2.0]


@opsdk.op("vw::bits(Tensor(a) x) -> Tensor(a) y", nondifferentiable=["x", "y"])
def bits(x):
    return x.view(np.int32)


bits.infer(lambda x: opsdk.TensorSpec(x.shape, "int32"))


def test_a_view_of_other_elements_holds_up_changes_that_the_graph_has_to_know(leaf):
    x = leaf * 1.0
    view = bits(x)
    with pytest.raises(InPlaceError, match=r"fill_: expected .* got one that shares it with a view of other elements"):
        x.fill_(0.0)
    with opsdk.no_grad():
        x.fill_(0.0)
    assert view.numpy().tolist() == [0, 0, 0, 0]


def test_what_shares_no_memory_is_no_view():
    turned = opsdk.to_tensor(np.arange(4.0).reshape(2, 2)).transpose([1, 0])
    flat = turned.reshape([4])  # a copy: no view of transposed memory is flat
    assert sharing(flat) == []
    flat.fill_(0.0)
    assert turned.numpy().tolist() == [[0.0, 2.0], [1.0, 3.0]]


def test_a_view_of_a_view_is_a_window_of_the_first(leaf):
    x = leaf * 1.0
    view = x[1:].reshape([3, 1])
    assert base_of(view) is x
    assert base_of(x) is x


def test_who_shares_memory_is_forgotten_with_the_last_view():
    base = opsdk.to_tensor(np.zeros(4, np.float32))
    views = [base[i] for i in range(4)] + [base.reshape([2, 2]) for _ in range(100)]
    assert len(sharing(base)) == 104
    del views
    assert sharing(base) == []


def test_views_die_without_the_garbage_collector(leaf):
    gc.disable()
    try:
        x = leaf * 1.0
        view = x[1:]
        view.multiply_(x[:-1] * 2.0)
        weighed(x).backward()
        alive = [weakref.ref(x), weakref.ref(view), weakref.ref(view._edge[0])]
        del x, view
        assert [one() for one in alive] == [None, None, None]
    finally:
        gc.enable()

import copy

import numpy as np
import pytest

import opsdk
from opsdk.autograd.tensor_state import check_in_place, check_unviewed
from opsdk.core.errors import InPlaceError, VersionError


@pytest.fixture
def leaf():
    """A tensor that needs a gradient."""
    return opsdk.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=False)


VIEWS = {
    "indexing": lambda t: t[1:],
    "reshape": lambda t: t.reshape([2, 2]),
    "transpose": lambda t: t.transpose([0]),
    "unsqueeze": lambda t: opsdk.unsqueeze(t, 0),
    "squeeze": lambda t: opsdk.squeeze(t),
    "flatten": lambda t: opsdk.flatten(t),
    "a view of a view": lambda t: t.reshape([2, 2]).reshape([4, 1]),
}


def test_a_leaf_that_needs_a_gradient_may_be_changed_only_without_recording(leaf):
    with pytest.raises(InPlaceError, match="here: expected a tensor without stop_gradient=False or recording off, got"):
        check_in_place(leaf, "here")
    with opsdk.no_grad():
        check_in_place(leaf, "here")


@pytest.mark.parametrize(
    ("has_backward", "remedy"),
    [
        (
            True,
            r"as state of an op that has a backward keep it in a layer by register_buffer\(\), or set its stop_gradi",
        ),
        (False, r"change it inside opsdk.no_grad\(\)\n"),  # which takes no gradient of another input
    ],
)
def test_a_parameter_that_is_the_state_of_an_op_is_to_be_a_buffer(leaf, has_backward, remedy):
    @opsdk.op("t::counted(Tensor x, Tensor(a!) count) -> Tensor y", constant=["count"], infer=lambda x: x)
    def counted(x, count):
        count += 1
        return x * 2

    if has_backward:
        counted.backward(lambda dy: 2 * dy)
    x = opsdk.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=not has_backward)
    with pytest.raises(
        InPlaceError, match=f"op 't::counted', input 'count': .*got a leaf that needs a gradient; {remedy}"
    ):
        counted(x, leaf)
    leaf.stop_gradient = True
    counted(x, leaf)
    np.testing.assert_array_equal(leaf.numpy(), [2.0, 3.0, 4.0, 5.0])


@pytest.mark.parametrize("taken", VIEWS.values(), ids=VIEWS)
def test_a_view_of_a_leaf_that_needs_a_gradient_may_be_changed_only_without_recording(leaf, taken):
    view = taken(leaf)
    text = "here: expected a tensor whose memory is its own, got one that shares it with a leaf that needs a gradient"
    for check in (check_in_place, check_unviewed):
        with pytest.raises(InPlaceError, match=text):
            check(view, "here")
        with opsdk.no_grad():
            check(view, "here")
        check(view.clone(), "here")


@pytest.mark.parametrize("taken", VIEWS.values(), ids=VIEWS)
def test_a_base_in_the_graph_and_its_views_may_be_changed(leaf, taken):
    base = leaf * 2.0
    for tensor in (base, taken(base)):
        check_in_place(tensor, "here")
        check_unviewed(tensor, "here")


@pytest.mark.parametrize("taken", VIEWS.values(), ids=VIEWS)
def test_outside_of_the_graph_a_view_and_its_base_change_together(taken):
    base = opsdk.to_tensor(np.zeros(4, np.float32))
    view = taken(base)
    check_in_place(view, "here")
    view.fill_(3.0)
    assert base.numpy().tolist()[1:] == [3.0] * 3
    base.fill_(5.0)
    assert set(view.numpy().ravel().tolist()) == {5.0}


def test_a_change_through_a_view_without_recording_is_seen_by_a_backward(leaf):
    base = leaf * 2.0
    square = base * base
    with opsdk.no_grad():
        base.reshape([2, 2]).fill_(0.0)
    with pytest.raises(VersionError, match="it was changed in place since"):
        square.sum().backward()


@opsdk.op("ip::add_square_(Tensor(a!) x, Tensor w) -> Tensor(a!) y")
def add_square_(x, w):
    x += w * w


@add_square_.backward
def add_square_grad(w, dy):
    return dy, 2 * w * dy


DETACHED = {"detach": lambda t: t.detach(), "a view of what was detached": lambda t: t.detach().reshape([4])}


@pytest.mark.parametrize("taken", DETACHED.values(), ids=DETACHED)
def test_a_change_that_needs_a_gradient_is_refused_where_a_tensor_outside_of_its_graph_would_change(leaf, taken):
    base = opsdk.to_tensor(np.zeros(4, np.float32))
    view = taken(base)
    with pytest.raises(InPlaceError, match="one that shares it with a tensor outside of its graph, which would change"):
        add_square_(view, leaf)
    assert view.stop_gradient
    assert base.numpy().tolist() == [0.0] * 4
    with opsdk.no_grad():
        add_square_(view, leaf)
    assert base.numpy().tolist() == [1.0, 4.0, 9.0, 16.0]
    del base
    add_square_(view, leaf)
    view.sum().backward()
    assert leaf.grad.numpy().tolist() == [2.0, 4.0, 6.0, 8.0]


def test_what_was_detached_from_a_tensor_holds_up_no_change_of_it(leaf):
    hidden = leaf * 1.0
    log = [hidden.detach(), hidden.detach().reshape([2, 2])]
    add_square_(hidden, leaf)
    hidden.sum().backward()
    assert leaf.grad.numpy().tolist() == [3.0, 5.0, 7.0, 9.0]
    assert [one.numpy().ravel().tolist() for one in log] == [[2.0, 6.0, 12.0, 20.0]] * 2


def test_a_deep_copy_shares_nothing_that_a_change_would_reach(leaf):
    base = opsdk.to_tensor(np.zeros(4, np.float32))
    twin = copy.deepcopy(base)
    add_square_(base, leaf)
    assert twin.numpy().tolist() == [0.0] * 4


@opsdk.op("ip::tracked(Tensor x, Tensor(a!) seen) -> Tensor y", nondifferentiable=["seen"])
def tracked(x, seen):
    seen += x
    return x * x


@tracked.backward
def tracked_grad(x, dy):
    return 2 * x * dy


def test_a_state_may_share_memory_since_its_change_needs_no_gradient(leaf):
    state = opsdk.to_tensor(np.zeros(4, np.float32))
    view = state.reshape([2, 2])
    tracked(leaf, state).sum().backward()
    assert leaf.grad.numpy().tolist() == [2.0, 4.0, 6.0, 8.0]
    assert view.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert (state.stop_gradient, state.inplace_version) == (True, 1)


def test_what_needs_a_gradient_is_no_state(leaf):
    hidden = leaf * 2.0
    text = r"input 'seen': expected a tensor outside of the graph, since no output passes its gradient on, got one"
    with pytest.raises(InPlaceError, match=text):
        tracked(opsdk.ones([4]), hidden)
    with opsdk.no_grad():
        tracked(opsdk.ones([4]), hidden)
    assert hidden.numpy().tolist() == [3.0, 5.0, 7.0, 9.0]


def test_only_what_was_saved_counts_as_changed_since(leaf):
    state = opsdk.to_tensor(np.zeros(4, np.float32))
    first = tracked(leaf, state)
    second = tracked(leaf * 3.0, state)  # changes the state once more, which nobody saved
    read = leaf * state
    (first + second + read).sum().backward()
    assert leaf.grad.numpy().tolist() == [24.0, 48.0, 72.0, 96.0]  # 2w + 18w + 4w
    late = (leaf * state).sum()
    tracked(opsdk.ones([4]), state)
    with pytest.raises(VersionError, match="it was changed in place since"):
        late.backward()

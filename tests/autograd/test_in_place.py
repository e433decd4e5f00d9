import numpy as np
import pytest

import opsdk
from opsdk.autograd.in_place import PartVersion, check_in_place, check_unviewed
from opsdk.core.errors import InPlaceError, VersionError


@pytest.fixture
def leaf():
    """A tensor that needs a gradient."""
    return opsdk.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=False)


VIEWS = {
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


@pytest.mark.parametrize("taken", VIEWS.values(), ids=VIEWS)
def test_a_view_in_the_graph_may_be_changed_only_without_recording(leaf, taken):
    view = taken(leaf * 2.0)
    with pytest.raises(InPlaceError, match=r"here: expected a tensor with memory of its own, got a view .* clone\(\)"):
        check_in_place(view, "here")
    with opsdk.no_grad():
        check_in_place(view, "here")
    check_in_place(view.clone(), "here")


@pytest.mark.parametrize("taken", VIEWS.values(), ids=VIEWS)
def test_the_base_of_a_view_in_the_graph_may_be_changed_only_without_recording(leaf, taken):
    base = leaf * 2.0
    view = taken(base)
    for check in (check_in_place, check_unviewed):
        with pytest.raises(InPlaceError, match="here: expected a tensor whose memory is its own, got one that shares"):
            check(base, "here")
        with opsdk.no_grad():
            check(base, "here")
    assert view.size == 4


@pytest.mark.parametrize("taken", VIEWS.values(), ids=VIEWS)
def test_outside_of_the_graph_a_view_and_its_base_change_together(taken):
    base = opsdk.to_tensor(np.zeros(4, np.float32))
    view = taken(base)
    check_in_place(view, "here")
    view.fill_(3.0)
    assert base.numpy().tolist() == [3.0] * 4
    base.fill_(5.0)
    assert view.numpy().ravel().tolist() == [5.0] * 4


def test_what_indexing_made_may_never_be_changed(leaf):
    part = leaf.detach()[1:]
    assert type(part._version) is PartVersion
    for check in (check_in_place, check_unviewed):
        with pytest.raises(InPlaceError, match="here: expected a whole tensor, got one that indexing made, a copy"):
            check(part, "here")
        with opsdk.no_grad(), pytest.raises(InPlaceError, match="change the whole one with set_value, or a clone"):
            check(part.reshape([3, 1]), "here")
    check_in_place(part.clone(), "here")


def test_a_change_through_a_view_without_recording_is_seen_by_a_backward(leaf):
    base = leaf * 2.0
    square = base * base
    with opsdk.no_grad():
        base.reshape([2, 2]).fill_(0.0)
    with pytest.raises(VersionError, match="it was changed in place since"):
        square.sum().backward()

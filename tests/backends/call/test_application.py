"""An application asks nothing of its values but where it unbroadcasts them, so that here they are words."""

from types import SimpleNamespace

import numpy as np
import pytest

import opsdk
from opsdk.backends.call.application import Application
from opsdk.core.errors import ArityError, DTypeError, ShapeError
from opsdk.define.opdef import GradRule, Source

F64 = np.dtype("float64")


@pytest.fixture
def forward():
    @opsdk.op("applied::f(Tensor x, Tensor? w, Tensor[] zs, *, int k=1) -> (Tensor y, Tensor[] us)")
    def f(x, w, zs, k):
        return x, zs

    return f.opdef


def rule(forward, **options):
    """A rule that reads x, both cotangents and w, and gives gradients of zs and x, in this order."""
    sources = (Source("input", 0), Source("cotangent", 1), Source("cotangent", 0), Source("input", 1))
    return GradRule(SimpleNamespace(opdef=forward), sources, ("k",), (2, 0), **options)


def applied(forward, cotangents=("dy", ["du"]), targets=("x", None, ["z0", "z1"]), attrs=None, **options):
    return Application(forward, rule(forward, **options), {"k": 3} if attrs is None else attrs, cotangents, targets)


def zeros(position, number):
    return f"zeros {position} {number}"


def hold(position, target, value):
    return f"{target} at {position}: {value}"


# -- what goes in -----------------------------------------------------------------------------------------------------


def test_inputs_come_in_the_order_of_the_rules_sources(forward):
    assert applied(forward).op_inputs(["x", "w"], zeros) == ["x", ["du"], "dy", "w"]


def test_an_undefined_cotangent_becomes_zeros(forward):
    made = applied(forward, (None, ["du", None])).op_inputs(["x", None], zeros)
    assert made == ["x", ["du", "zeros 1 1"], "zeros 0 0", None]


def test_without_materialize_an_undefined_cotangent_is_none_but_in_a_list(forward):
    made = applied(forward, (None, [None, "du"]), materialize=False).op_inputs(["x", "w"], zeros)
    assert made == ["x", ["zeros 1 0", "du"], None, "w"]


def test_attributes_are_those_of_the_call_and_the_two_masks(forward):
    application = applied(forward, (None, [None, "du"]), mask="needs", given="has")
    assert application.op_attrs() == {"k": 3, "needs": (True, False, True), "has": (False, True)}
    assert applied(forward).op_attrs() == {"k": 3}
    assert applied(forward, attrs={}).op_attrs() == {}


def test_of_a_list_any_is_enough(forward):
    application = applied(forward, (None, [None, None]), (None, "w", [None, "z1"]))
    assert (application.arrived, application.needed) == ((False, False), (False, True, True))
    assert applied(forward, targets=("x", "w", [None, None])).needed == (True, True, False)


def test_what_no_cotangent_reaches_is_left_out_but_for_ends(forward):
    def reaching(attrs):
        assert attrs == {"k": 3}
        return frozenset({1}), frozenset({0})

    application = applied(forward, ("dy", [None]), ("x", "w", ["z0", None, "end"]), reaching=reaching, given="has")
    assert application.leave_unreached(lambda target: target == "end")
    assert application.targets == ["x", "w", [None, None, "end"]]
    alone = applied(forward, (None, ["du"]), ("x", None, [None]), reaching=reaching, given="has")
    assert not alone.leave_unreached(lambda target: False)


def test_without_a_word_on_what_reaches_what_every_target_stays(forward):
    application = applied(forward, (None, ["du"]))
    assert application.leave_unreached(lambda target: False)
    assert application.targets == ("x", None, ["z0", "z1"])


# -- what comes out ---------------------------------------------------------------------------------------------------


def test_gradients_go_to_the_inputs_that_the_rule_names(forward):
    assert applied(forward).route((["dz0", "dz1"], "dx"), hold) == [
        "x at 0: dx",
        None,
        ["z0 at 2: dz0", "z1 at 2: dz1"],
    ]


def test_what_is_unneeded_is_dropped_whatever_was_given(forward):
    application = applied(forward, targets=(None, "w", ["z0", None]))
    assert application.route((["dz0", "dz1"], "dx"), hold) == [None, None, ["z0 at 2: dz0", None]]


def test_none_for_a_list_is_none_for_each(forward):
    assert applied(forward, targets=(None, None, [None, "z1"])).route((None, None), hold)[2] == [None, "z1 at 2: None"]


def test_a_list_needs_one_gradient_per_tensor(forward):
    wanted = r"^op 'applied::f', gradient of 'zs': expected a list of 2, one per tensor, got 1"
    with pytest.raises(ArityError, match=wanted):
        applied(forward).route((["dz0"], "dx"), hold)


def test_the_only_gradient_of_a_rule_comes_alone(forward):
    alone = GradRule(SimpleNamespace(opdef=forward), (), (), (0,))
    assert list(Application(forward, alone, {}, (), ("x",)).gradients(lambda attrs: "dx")) == ["dx"]
    assert applied(forward).gradients(lambda attrs: (["dz"], attrs["k"])) == (["dz"], 3)


# -- cotangents that are gradients ------------------------------------------------------------------------------------


def test_a_cotangent_that_is_the_gradient_is_not_computed(forward):
    application = applied(forward, mask="needs", passes=(None, 0))
    asked = []
    assert application.gradients(lambda attrs: asked.append(attrs) or ("dzs", "computed")) == ["dzs", "dy"]
    assert asked == [{"k": 3, "needs": (False, False, True)}]


def test_nothing_is_computed_where_all_that_is_needed_is_a_cotangent(forward):
    def refuse(attrs):
        raise AssertionError

    assert applied(forward, targets=("x", "w", [None]), passes=(None, 0)).gradients(refuse) == [None, "dy"]


def test_a_gradient_whose_cotangent_is_undefined_is_computed(forward):
    application = applied(forward, (None, ["du"]), mask="needs", passes=(None, 0))
    assert application.uncomputed() == (True, False, True)
    assert application.gradients(lambda attrs: ("dzs", "computed")) == ["dzs", "computed"]


# -- held to the inputs ----------------------------------------------------------------------------------------------


def conformed(value, shape=(2,), dtype=F64, position=0, **options):
    op = opsdk.op("t::f(Tensor x, Tensor w) -> Tensor y", replace=True, **options)(lambda x, w: x * w)
    op.backward(disconnected=("w",))(lambda dy: (dy, None))
    application = Application(op.opdef, op.opdef.grad, {}, (), (None, None))
    return application.unbroadcast(position, value, shape, dtype, opsdk.sum_to)


def test_a_gradient_like_its_input_is_passed_on_as_it_is():
    value = np.ones(2)
    assert conformed(value) is value


def test_a_gradient_of_an_input_that_was_broadcast_is_summed():
    assert conformed(np.ones((3, 2)), infer=opsdk.infer.broadcast).tolist() == [3.0, 3.0]


def test_without_a_broadcasting_rule_another_shape_is_refused_with_the_axes_to_sum():
    with pytest.raises(ShapeError) as caught:
        conformed(np.ones((3, 2)))
    assert str(caught.value) == "op 't::f', gradient of 'x': expected (2,) like x, got (3, 2); sum it over axis 0"


def test_another_dtype_is_refused():
    with pytest.raises(DTypeError, match="'t::f', gradient of 'x': expected float64 like x, got float32; cast it"):
        conformed(np.ones(2, "float32"))


def test_none_is_refused_with_how_to_declare_it():
    with pytest.raises(ArityError) as caught:
        conformed(None)
    assert str(caught.value) == (
        "op 't::f', gradient of 'x': expected an array, got None; if nothing depends on x, declare it: "
        '@f.backward(disconnected=("x",))'
    )


def test_none_is_passed_on_where_it_was_declared():
    assert conformed(None, position=1) is None


def test_an_array_where_none_was_declared_is_refused():
    with pytest.raises(ArityError, match="expected None, since it was declared disconnected, got an array of shape"):
        conformed(np.ones(2), position=1)

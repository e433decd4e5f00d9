import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ArityError, AxisError, BindingError, ProgramError, ReturnError, ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.define.infer import InferFunction, broadcast, first_spec, like, normalize_axes, reduce
from opsdk.define.schema.parse import parse_schema

TWO = parse_schema("f(Tensor x, Tensor? w=None, *, int[] axis=[], bool keepdim=False) -> Tensor y", "ns")
LIST = parse_schema("f(Tensor[] xs) -> Tensor y", "ns")
PAIR = parse_schema("f(Tensor x) -> (Tensor y, Tensor z)", "ns")
SPLIT = parse_schema("f(Tensor x) -> Tensor[] parts", "ns")


def spec(*shape, dtype="float32"):
    return TensorSpec(shape, dtype)


def test_like_gives_the_first_input_for_every_output():
    assert like()(PAIR, [spec(None, 3)], {}) == (spec(None, 3), spec(None, 3))


def test_a_stock_rule_says_what_it_does():
    assert repr(broadcast).startswith("<infer rule broadcast: Every output has the broadcast shape of all inputs")
    assert repr(broadcast.with_dtype("bool")).startswith("<infer rule broadcast.with_dtype('bool'): ")
    assert repr(broadcast.with_floating()).startswith("<infer rule broadcast.with_floating(): ")
    assert repr(reduce).startswith("<infer rule reduce: The first input with the axes of attribute `axis` dropped")


def test_like_gives_the_named_input():
    assert like("w")(TWO, [spec(2), spec(5)], {}) == (spec(5),)


def test_like_looks_into_a_list_of_inputs():
    assert like()(LIST, [[spec(4), spec(2)]], {}) == (spec(4),)


def test_without_any_tensor_there_is_nothing_to_be_like():
    with pytest.raises(ArityError, match=r"^op 'ns::f': expected at least one tensor to take the shape from, got none"):
        first_spec(LIST, [[]])


def test_like_an_input_that_does_not_exist_is_refused_when_it_is_defined():
    with pytest.raises(BindingError, match=r"^op 'tests::f', infer: like\('z'\) names no input; there are x"):
        opsdk.op(infer=like("z"), namespace="tests", name="f")(lambda x: x)


@pytest.mark.parametrize(
    ("left", "right", "out"),
    [
        ((2, 1), (3,), (2, 3)),
        ((None, 3), (1,), (None, 3)),
        ((None,), (5,), (5,)),
        ((5,), (None,), (5,)),
        ((None,), (None,), (None,)),
        ((1,), (None,), (None,)),
        ((0,), (1,), (0,)),
        ((), (2, 2), (2, 2)),
    ],
)
def test_broadcast_gives_the_shape_that_numpy_gives(left, right, out):
    assert broadcast(TWO, [spec(*left), spec(*right)], {}) == (spec(*out),)


def test_broadcast_leaves_an_absent_input_out():
    assert broadcast(TWO, [spec(2), None], {}) == (spec(2),)


def test_broadcast_takes_all_of_a_list():
    assert broadcast(LIST, [[spec(2, 1), spec(3)]], {}) == (spec(2, 3),)


def test_broadcast_of_nothing_is_refused():
    with pytest.raises(ArityError, match="expected at least one tensor to take the shape from"):
        broadcast(LIST, [[]], {})


def test_broadcast_gives_the_dtype_that_the_inputs_promote_to():
    assert broadcast(TWO, [spec(2, dtype="int32"), spec(2, dtype="float32")], {})[0].dtype == np.float32
    half = TensorSpec((2,), "bfloat16")
    assert broadcast(TWO, [half, spec(2, dtype="int32")], {})[0].dtype.name == "bfloat16"


def test_broadcast_with_a_dtype_gives_that():
    assert broadcast.with_dtype("bool")(TWO, [spec(2), spec(2)], {}) == (spec(2, dtype="bool"),)


@pytest.mark.parametrize(("dtype", "out"), [("int64", "float32"), ("int8", "float32"), ("float64", "float64")])
def test_broadcast_with_floating_turns_integers_into_floats_as_a_quotient_does(dtype, out):
    assert broadcast.with_floating()(TWO, [spec(2, dtype=dtype), None], {})[0].dtype == out


def test_shapes_that_do_not_broadcast_are_refused_with_both():
    with pytest.raises(ShapeError, match=r"^op 'ns::f': expected shapes that broadcast, got \(2, 3\) and \(\?, 4\)"):
        broadcast(TWO, [spec(2, 3), spec(None, 4)], {})


@pytest.mark.parametrize(
    ("attrs", "out"),
    [
        ({"axis": (0,)}, (3, 4)),
        ({"axis": (-1, 0)}, (3,)),
        ({"axis": (1,), "keepdim": True}, (None, 1, 4)),
        ({"axis": ()}, ()),
        ({}, ()),
        ({"keepdim": True}, (1, 1, 1)),
    ],
)
def test_reduce_drops_the_axes_or_keeps_them_with_size_one(attrs, out):
    assert reduce(TWO, [spec(None, 3, 4), None], attrs) == (spec(*out),)


@pytest.mark.parametrize(("axis", "found"), [(None, (0, 1)), (-1, (1,)), ([0, -1], (0, 1)), ((), (0, 1))])
def test_axes_become_positions(axis, found):
    assert normalize_axes(axis, 2, "sum") == found


@pytest.mark.parametrize("axis", [2, -3])
def test_an_axis_outside_of_the_array_is_refused(axis):
    with pytest.raises(AxisError, match=rf"^sum: axis expected in \[-2, 2\), got {axis}"):
        normalize_axes(axis, 2, "sum")


def test_an_axis_that_occurs_twice_is_refused():
    with pytest.raises(AxisError, match=r"^sum: axis expected each dimension once, got \(0, -2\)"):
        normalize_axes((0, -2), 2, "sum")


def test_a_users_rule_gets_specs_and_attributes_by_name():
    rule = InferFunction(lambda keepdim, x: TensorSpec(x.shape[:1], "bool" if keepdim else "int8"), TWO)
    assert rule(TWO, [spec(2, 3), None], {"axis": (), "keepdim": True}) == (spec(2, dtype="bool"),)


def test_a_users_rule_may_take_attributes_by_keyword_only():
    def rule(x, *, keepdim):
        return x

    assert InferFunction(rule, TWO)(TWO, [spec(2), None], {"keepdim": True}) == (spec(2),)


def test_a_users_rule_may_leave_a_size_or_a_whole_spec_open():
    rule = InferFunction(lambda x: (TensorSpec([None], x.dtype), None), PAIR)
    assert rule(PAIR, [spec(4)], {}) == (spec(None), None)


def test_a_users_rule_may_return_a_list_where_a_tuple_is_meant():
    assert InferFunction(lambda x: [x, x], PAIR)(PAIR, [spec(4)], {}) == (spec(4), spec(4))


def test_a_users_rule_returns_a_list_of_specs_for_an_output_that_is_a_list():
    assert InferFunction(lambda x: [x, x], SPLIT)(SPLIT, [spec(4)], {}) == ([spec(4), spec(4)],)


def test_a_rule_that_names_what_the_op_has_not_is_refused():
    with pytest.raises(BindingError) as caught:
        InferFunction(lambda x, axes: x, TWO)
    assert str(caught.value) == (
        "op 'ns::f', infer <lambda>(x, axes): nothing is called 'axes'; there are axis, keepdim, w, x"
    )


def test_a_rule_that_returns_too_few_specs_is_refused():
    with pytest.raises(ArityError, match=r"^op 'ns::f', infer: expected 2 specs for y, z, got 1"):
        InferFunction(lambda x: x, PAIR)(PAIR, [spec(4)], {})


def test_a_rule_that_returns_a_shape_is_refused():
    with pytest.raises(ReturnError, match=r"^op 'ns::f', infer: output 'z' expected a TensorSpec or None, got \(4,\)"):
        InferFunction(lambda x: (x, x.shape), PAIR)(PAIR, [spec(4)], {})


def test_a_rule_that_returns_one_spec_for_a_list_is_refused():
    with pytest.raises(ReturnError, match="output 'parts' expected a list of TensorSpec or None, got"):
        InferFunction(lambda x: x, SPLIT)(SPLIT, [spec(4)], {})


def test_an_exception_of_a_rule_keeps_its_type_and_names_the_op_and_the_rule():
    def rule(x):
        raise ZeroDivisionError("ouch")

    with pytest.raises(ZeroDivisionError, match=r"^op 'ns::f', infer: ouch\n") as caught:
        InferFunction(rule, TWO)(TWO, [spec(4), None], {})
    assert caught.value.__notes__[0].startswith("  raised in op 'ns::f', infer rule at ")
    assert f"test_infer.py:{rule.__code__.co_firstlineno}" in caught.value.__notes__[0]


def test_a_rule_that_meets_a_size_of_none_is_told_what_it_is():
    def rule(x):
        return TensorSpec(np.broadcast_shapes(x.shape, (3,)), x.dtype)

    with pytest.raises(TypeError) as caught:
        InferFunction(rule, TWO)(TWO, [spec(None), None], {})
    assert caught.value.__notes__[1].strip() == (
        "help     a size that is not known yet is None, which NumPy's own shape functions refuse; pass it on, or take "
        "a stock rule, such as infer=opsdk.infer.broadcast"
    )


def test_a_rule_that_refuses_a_call_on_purpose_is_told_nothing_of_open_sizes():
    def rule(x):
        raise ValueError(f"x expected two axes, got {x.shape}")

    with pytest.raises(ValueError, match=r"axes") as caught:
        InferFunction(rule, TWO)(TWO, [spec(None), None], {})
    assert str(caught.value) == "op 'ns::f', infer: x expected two axes, got (None,)"
    assert len(caught.value.__notes__) == 1


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (AssertionError(), "op 'ns::f', infer: raised AssertionError"),
        (KeyError("axis"), "'axis'"),
        (OSError(2, "gone"), "[Errno 2] gone"),
    ],
)
def test_the_op_is_named_before_what_a_rule_raises_where_its_text_is_its_argument(error, told):
    def rule(x):
        raise error

    with pytest.raises(type(error)) as caught:
        InferFunction(rule, TWO)(TWO, [spec(4), None], {})
    assert str(caught.value) == told
    assert caught.value.__notes__[0].startswith("  raised in op 'ns::f', infer rule at ")


def test_an_error_of_opsdk_inside_a_rule_gets_no_second_note():
    with pytest.raises(ShapeError) as caught:
        InferFunction(lambda x: TensorSpec([-5]), TWO)(TWO, [spec(4), None], {})
    assert [note.split()[0] for note in caught.value.__notes__] == ["code"]


@pytest.mark.parametrize("infer", [None, opsdk.infer.like("x")])
def test_a_list_has_a_length_that_only_a_rule_of_its_own_tells(infer):
    with opsdk.REGISTRY.scoped():
        op = opsdk.op("listed::again(Tensor x, *, int n=1) -> Tensor[] ys", infer=infer)(lambda x, *, n: [x + 0] * n)
        assert [len(op(np.ones(3), n=n)) for n in (1, 2, 1)] == [1, 2, 1]
        message = "op 'listed::again', output 'ys': expected a spec from its infer rule"
        with opsdk.static.program_guard(opsdk.static.Program()), pytest.raises(ProgramError, match=message):
            op(opsdk.static.data("x", [3], "float64"))


@pytest.mark.parametrize("given", [[None, None], [[None]], ["x"]])
def test_a_rule_that_gives_a_list_of_no_specs_is_refused(given):
    with opsdk.REGISTRY.scoped():
        op = opsdk.op("listed::odd(Tensor x) -> Tensor[] ys", infer=lambda x: given)(lambda x: [x + 0])
        with pytest.raises(ReturnError, match="op 'listed::odd', infer: output 'ys' expected a list of specs, or None"):
            op(np.ones(2))

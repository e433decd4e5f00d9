import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ArityError, AttributeValueError
from opsdk.define.call import bind, check_inputs, complete_attrs
from opsdk.define.opdef import MASK


def defined(text, function):
    return opsdk.op(text)(function).opdef


@pytest.fixture
def conv():
    return defined(
        "t::conv(Tensor x, Tensor weight, Tensor? bias=None, int stride=1, *, float pad=0.0) -> Tensor y",
        lambda x, weight, bias, stride, pad: x,
    )


@pytest.fixture
def join():
    return defined("t::join(Tensor x, Tensor[] rest, *, int axis) -> Tensor y", lambda x, rest, axis: x)


def test_positional_arguments_go_to_inputs_and_then_to_attributes(conv):
    assert bind(conv, ("x", "w", None, 2), {"pad": 1.0}) == (("x", "w", None), {"stride": 2, "pad": 1.0})


def test_optional_inputs_at_the_end_may_be_left_out_by_position_and_given_by_name(conv):
    assert bind(conv, ("x", "w"), {"stride": 3}) == (("x", "w", None), {"stride": 3})
    assert bind(conv, ("x", "w"), {"bias": "b"}) == (("x", "w", "b"), {})
    with pytest.raises(ArityError, match="expected input 'weight', got no value for it"):
        bind(conv, ("x",), {"stride": 3})
    with pytest.raises(ArityError, match="nothing is called 'strife'"):
        bind(conv, ("x", "w"), {"strife": 3})


def test_inputs_may_be_given_by_name(conv):
    assert bind(conv, (), {"weight": "w", "x": "x"}) == (("x", "w", None), {})


def test_a_last_list_takes_all_remaining_arguments(join):
    assert bind(join, ("x", "a", "b"), {"axis": 0}) == (("x", ["a", "b"]), {"axis": 0})


def test_a_last_list_takes_a_single_remaining_argument(join):
    assert bind(join, ("x", "a"), {"axis": 0}) == (("x", ["a"]), {"axis": 0})


def test_a_last_list_takes_one_list(join):
    assert bind(join, ("x", ["a", "b"]), {"axis": 0}) == (("x", ["a", "b"]), {"axis": 0})


def test_a_list_that_was_not_given_is_empty(join):
    assert bind(join, ("x",), {"axis": 0}) == (("x", []), {"axis": 0})


def test_attributes_that_stand_between_inputs_are_bound_where_they_stand():
    op = opsdk.op("t::mix(Tensor x, int k, Tensor w) -> Tensor y")(lambda x, k, w: x + k * w)
    assert op(np.array([1.0]), 3, np.array([2.0])).tolist() == [7.0]
    with pytest.raises(ArityError, match="expected input 'w', got no value for it"):
        op(np.array([1.0]), 3)


def test_too_many_arguments_are_refused_with_the_schema(conv):
    with pytest.raises(ArityError) as caught:
        bind(conv, ("x", "w", "b", 1, 0.0), {})
    assert str(caught.value) == f"op 't::conv': expected 4 arguments, got 5; pass pad=0.0 by name; it is {conv.schema}"


def test_one_argument_is_written_in_the_singular():
    with pytest.raises(ArityError, match=r"op 't::one': expected 1 argument, got 2; it is t::one@1"):
        bind(defined("t::one(Tensor x) -> Tensor y", lambda x: x), (1, 2), {})


def test_an_attribute_by_position_is_told_its_name():
    leaky = defined("t::leaky(Tensor x, *, float slope=0.1, bool on=True) -> Tensor y", lambda x, slope, on: x)
    for values, kwargs, remedy in (
        ((0.3,), {}, "; pass slope=0.3 by name; it is"),
        ((0.3, False), {}, "; pass slope=0.3, on=False by name; it is"),
        ((False,), {"slope": 1.0}, "; pass on=False by name; it is"),
        ((0.3, True, 2), {}, "; it is"),
        ((np.ones(1),), {}, "; it is"),
    ):
        with pytest.raises(ArityError) as caught:
            bind(leaky, (1, *values), kwargs)
        got = f"op 't::leaky': expected 1 argument, got {1 + len(values)}{remedy}"
        assert str(caught.value).startswith(got)


def test_an_argument_by_position_and_by_name_is_refused(conv):
    with pytest.raises(ArityError, match=r"^op 't::conv': expected 'x' once, got it by position and by name"):
        bind(conv, ("x", "w"), {"x": "x"})


def test_an_unknown_name_is_refused_with_the_nearest_first(conv):
    with pytest.raises(ArityError) as caught:
        bind(conv, ("x", "w"), {"strides": 1})
    assert str(caught.value) == "op 't::conv': nothing is called 'strides'; there are stride, bias, pad, weight, x"


def test_an_input_that_was_not_given_is_refused(conv):
    with pytest.raises(ArityError) as caught:
        bind(conv, ("x",), {})
    assert str(caught.value) == f"op 't::conv': expected input 'weight', got no value for it; it is {conv.schema}"


def test_attributes_are_completed_with_their_defaults_in_their_own_types(conv):
    assert complete_attrs(conv, {"pad": np.float32(0.5)}) == {"stride": 1, "pad": 0.5}


def test_an_attribute_of_another_type_is_refused(conv):
    with pytest.raises(AttributeValueError, match=r"^op 't::conv': attribute 'stride' expected int, got 1.5 \(float\)"):
        complete_attrs(conv, {"stride": 1.5})


def test_a_list_of_booleans_is_checked_as_every_other_attribute():
    op = defined("t::keep(Tensor x, *, bool[] flags) -> Tensor y", lambda x, flags: x)
    assert complete_attrs(op, {"flags": [True, np.False_]}) == {"flags": (True, False)}
    with pytest.raises(AttributeValueError, match=r"attribute 'flags' expected bool\[\], got 'ab'"):
        complete_attrs(op, {"flags": "ab"})


def test_the_mask_of_wanted_gradients_is_passed_on_as_it_is():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x)
    gradient = op.backward(lambda dy, needs_input_grad: dy)
    mask = (True,)
    assert complete_attrs(gradient.opdef, {MASK: mask})[MASK] is mask


def test_a_required_attribute_that_is_missing_is_refused(join):
    with pytest.raises(ArityError) as caught:
        complete_attrs(join, {})
    assert (
        str(caught.value) == f"op 't::join': expected attribute 'axis' (int), got no value for it; it is {join.schema}"
    )


def test_none_for_an_input_that_is_not_optional_is_refused(conv):
    with pytest.raises(ArityError, match=r"^op 't::conv': input 'weight' expected a tensor, got None"):
        check_inputs(conv, ("x", None, None))


def test_one_tensor_where_a_list_stands_is_refused(join):
    with pytest.raises(
        AttributeValueError, match=r"^op 't::join': input 'rest' expected a list of tensors, got ndarray"
    ):
        check_inputs(join, ("x", np.ones(2)))


def test_an_absent_tensor_of_a_list_is_an_error_in_every_runtime():
    @opsdk.op("t::join(Tensor[] xs) -> Tensor y", infer=lambda xs: xs[0])
    def join(xs):
        return xs[0] + xs[1]

    x = np.ones(2)
    with opsdk.static.program_guard(opsdk.static.Program()):
        variable = opsdk.static.data("v", [2], "float64")
        for value in (opsdk.to_tensor(x), opsdk.to_tensor(x, stop_gradient=False), variable):
            with pytest.raises(ArityError, match="op 't::join': input 'xs' expected tensors, got None at 1; leave it"):
                join([value, None])


CALLED = "t::called(Tensor x, *, Callable f) -> Tensor y"


@pytest.fixture
def called():
    op = opsdk.op(CALLED)(lambda x, f: np.asarray(f(x)))
    op.backward(composite=True)(lambda x, dy, f: opsdk.vjp(f, x, dy)[1])
    return op


def test_a_callable_that_holds_what_needs_a_gradient_is_refused(called):
    weight = opsdk.to_tensor([2.0], stop_gradient=False)
    wanted = r"op 't::called': attribute 'f' expected a callable that holds nothing that needs a gradient, .* 'weight'"
    for x in (opsdk.ones([1]), np.ones(1, np.float32)):
        with pytest.raises(AttributeValueError, match=wanted):
            called(x, f=lambda x: x * weight)
    held = weight.detach()
    assert called(opsdk.ones([1]), f=lambda x: x * held).tolist() == [2.0]
    with opsdk.no_grad():
        assert called(opsdk.ones([1]), f=lambda x: x * weight).tolist() == [2.0]


def test_one_that_holds_what_a_program_trains_is_refused_where_it_is_built(called):
    with opsdk.static.program_guard(opsdk.static.Program(), opsdk.static.Program()):
        x, weight = opsdk.static.data("x", [1]), opsdk.static.create_parameter([1], "float32")
        with pytest.raises(AttributeValueError, match="reads 'weight' of shape"):
            called(x, f=lambda x: x * weight)


def test_a_composite_is_given_the_python_function_of_what_numba_compiled(called):
    numba = pytest.importorskip("numba")
    square = numba.njit(lambda x: x * x)
    x = opsdk.to_tensor([3.0], stop_gradient=False)
    called(x, f=square).sum().backward()
    assert x.grad.tolist() == [6.0]
    op = opsdk.op(CALLED, composite=True)(lambda x, f: f(f(x)))
    assert op(np.array([3.0]), f=square).tolist() == [81.0]
    with opsdk.static.program_guard(opsdk.static.Program()):
        y = op(opsdk.static.data("x", [1]), f=square)
        assert opsdk.static.Executor().run(feed={"x": np.ones(1, "float32") * 3}, fetch_list=[y])[0].tolist() == [81.0]


def test_nothing_keeps_a_callable_alive_that_was_given(called):
    import gc
    import weakref

    def made():
        held = np.ones(3)

        def f(x):
            return x * held

        return f

    first = made()
    alive = weakref.ref(first)
    for _ in range(3):
        called(np.ones(3), f=first)
        called(opsdk.ones([3], "float64"), f=first)
    del first
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("decorator", [opsdk.elementwise, opsdk.rowwise])
def test_an_expression_has_no_callable(decorator):
    with pytest.raises(opsdk.errors.DefinitionError, match="'f' expected a value in an op made of an expression, got"):
        decorator("t::called(Tensor x, *, Callable f) -> Tensor y")(lambda x, f: x)

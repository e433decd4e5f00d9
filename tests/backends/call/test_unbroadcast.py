import numpy as np
import pytest

import opsdk
from opsdk.backends.call.unbroadcast import check_count, unbroadcast
from opsdk.core.errors import ArityError, DTypeError, ShapeError

F64 = np.dtype("float64")


def conformed(value, shape=(2,), dtype=F64, position=0, **options):
    op = opsdk.op("t::f(Tensor x, Tensor w) -> Tensor y", replace=True, **options)(lambda x, w: x * w)
    op.backward(disconnected=("w",))(lambda dy: (dy, None))
    return unbroadcast(op.opdef, op.opdef.grad, position, value, shape, dtype, opsdk.sum_to)


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


def test_a_list_of_gradients_has_one_per_tensor():
    op = opsdk.op("t::total(Tensor[] xs) -> Tensor y")(lambda xs: sum(xs))
    check_count(op.opdef, 0, 2, [np.ones(2), np.ones(2)])
    with pytest.raises(
        ArityError, match=r"^op 't::total', gradient of 'xs': expected a list of 2, one per tensor, got 1"
    ):
        check_count(op.opdef, 0, 2, [np.ones(2)])

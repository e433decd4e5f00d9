import numpy as np
import pytest

import opsdk

X = np.array([1.0, 2.0])


def define(function, schema="t::f(Tensor x) -> Tensor y"):
    return opsdk.op(schema, replace=True)(function)


def failing(x, k=0):
    if x.size > 1 + k:
        raise ZeroDivisionError("ouch")
    return x + 1


@pytest.mark.parametrize("size", [2, 1], ids=["first call", "later call"])
@pytest.mark.parametrize("attrs", [{}, {"k": 0}], ids=["short way", "with attributes"])
def test_an_exception_of_a_kernel_keeps_its_type_and_gets_a_note(size, attrs):
    schema = "t::f(Tensor x, *, int k=0) -> Tensor y" if attrs else "t::f(Tensor x) -> Tensor y"
    op = define(failing if attrs else lambda x: failing(x), schema)
    if size == 1:
        op(X[:1], **attrs)
    with pytest.raises(ZeroDivisionError, match="ouch") as caught:
        op(X, **attrs)
    (note,) = caught.value.__notes__
    assert note == f"  raised in op 't::f', numpy kernel at {op.opdef.origin}"


def test_an_exception_of_a_backward_names_the_op_too():
    op = define(lambda x: x + 1)
    op.backward(lambda dy: failing(dy))
    x = opsdk.to_tensor(X, stop_gradient=False)
    with pytest.raises(ZeroDivisionError) as caught:
        op(x).sum().backward()
    assert caught.value.__notes__[0].startswith("  raised in op 't::f_grad', backward of op 't::f', numpy kernel at ")

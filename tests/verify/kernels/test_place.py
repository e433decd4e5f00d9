"""The element of an input that an element of an output is named by is one that it depends on."""

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs.calls import Call
from opsdk.verify.kernels.place import element, place


@pytest.mark.parametrize(
    ("output", "told"), [("du", "u[1] = 4"), ("dw", "w[1] = 2"), ("dk", "dy[1] = 6"), ("dy", "dy[1] = 6")]
)
def test_a_gradient_is_looked_at_with_its_own_input_and_with_none_of_another(output, told):
    @opsdk.op("t::two(Tensor w, Tensor u, Tensor k, Tensor y) -> Tensor y2", infer=opsdk.infer.like("w"))
    def two(w, u, k, y):
        return w + u + k + y

    @two.backward
    def two_grad(w, u, dy2):
        return dy2, dy2, dy2, dy2

    call = Call([np.array(values) for values in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0])], {})
    assert element(two.grad.opdef, call, output, (2,), (1,)) == told.replace("dy", "dy2")
    assert element(two.grad.opdef, call, output, (3,), (1,)) == ""


def op_of(function):
    schema = "f(Tensor x, Tensor z) -> Tensor y"
    return opsdk.op(schema, namespace="planted", infer=opsdk.infer.like("z"))(function).opdef


SQUARE = np.arange(1.0, 10.0).reshape(3, 3)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x, z: x + z, "y[2, 0] at x[2, 0] = 7"),
        (lambda x, z: x.sum() + z, "y[2, 0] at x[2, 0] = 7"),
        (lambda x, z: np.minimum(x, 5) * np.ones_like(z), "y[2, 0] at x[2, 0] = 7"),
        (lambda x, z: np.sqrt(4 - z), "y[2, 0] at z[2, 0] = 14"),
        (lambda x, z: x.T.copy(), "y[2, 0]"),
        (lambda x, z: np.broadcast_to(z[0], (3, 3)).copy(), "y[2, 0]"),
    ],
    ids=["elementwise", "summed", "flat there", "nan there", "turned", "of another row"],
)
def test_an_input_that_happens_to_have_the_shape_is_not_named(function, told):
    with np.errstate(invalid="ignore"):
        assert place(op_of(function), Call([SQUARE, 2 * SQUARE], {}), "y", (3, 3), (2, 0)) == told


def test_numbers_that_the_op_refuses_tell_nothing_of_what_depends_on_them():
    def positive(x, z):
        if x.min() < 3.5 or x.max() > 9:
            raise ValueError("x expected in [3.5, 9]")
        return x + z

    call = Call([np.array([4.0, 4.0]), np.array([1.0, 2.0])], {})
    assert element(op_of(positive), call, "y", (2,), (1,)) == "x[1] = 4"


@pytest.mark.parametrize(("outputs", "name"), [("Tensor y", "usage"), ("(Tensor y, Tensor(a!) used)", "used")])
def test_what_is_changed_in_place_is_named_by_what_it_was(outputs, name):
    @opsdk.op(f"planted::f(Tensor x, Tensor codebook, Tensor(a!) usage) -> {outputs}", infer=opsdk.infer.like("x"))
    def f(x, codebook, usage):
        usage += codebook * x
        return x + 0

    call = Call([np.full((2, 3), 5.0), np.full((2, 3), 6.0), np.full((2, 3), 7.0)], {})
    assert element(f.opdef, call, name, (2, 3), (0, 1)) == "usage[0, 1] = 7 before the call"
    assert element(f.opdef, call, "y", (2, 3), (0, 1)) == "x[0, 1] = 5"

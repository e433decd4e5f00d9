import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec


def spec(*shape):
    return TensorSpec(shape, np.dtype("float64"))


def gradient_of(schema, infer, forward, backward):
    """Returns the gradient op of an op."""
    op = opsdk.op(schema, infer=infer, replace=True)(forward)
    return op.backward(backward)


def test_an_output_and_its_cotangent_have_one_shape_whatever_the_rule_says():
    gradient = gradient_of(
        "t::f(Tensor x) -> Tensor y", opsdk.infer.like("x"), lambda x: np.maximum(x, 0), lambda y, dy: dy * (y > 0)
    )
    gradient.kernel("cpu", lambda y, dy: pytest.fail("ran"), language="numpy", dtype="float64")
    for sizes in ((8, 4), (4, 8)):
        with pytest.raises(ShapeError, match=rf"^op 't::f_grad': expected dy of the shape of y, \({sizes[0]},\), got "):
            gradient(*map(np.ones, sizes))


def test_an_output_has_the_shape_that_the_forward_gives_it():
    gradient = gradient_of(
        "t::f(Tensor x, Tensor w) -> Tensor y",
        lambda x, w: TensorSpec(x.shape[:1], x.dtype),
        lambda x, w: x.sum(1) * w.sum(),
        lambda x, w, y, dy: (x * y[:, None], w * 0),
    )
    given = np.ones((2, 3)), np.ones(3), np.ones(7), np.ones(7)
    with pytest.raises(ShapeError) as caught:
        gradient(*given)
    assert str(caught.value) == ("op 't::f_grad': expected y of the shape that op 't::f' gives it, (2,), got (7,)")


def test_a_rule_is_asked_though_the_backward_does_not_read_all_that_it_names():
    infer = lambda x, w, n: TensorSpec((x.shape[0],), x.dtype)  # noqa: E731
    gradient = gradient_of(
        "t::f(Tensor x, Tensor w, *, int n=1) -> Tensor y",
        infer,
        lambda x, w, n: x.sum(1) * w.sum(),
        lambda x, dy: (dy[:, None] + x, x[0]),
    )
    with pytest.raises(ShapeError, match=r"expected dy of the shape of y, \(4,\), got \(2,\)"):
        gradient(np.ones((4, 3)), np.ones(2))
    assert gradient(np.ones((1, 3)), np.zeros(1))[0].tolist() == [[1.0, 1.0, 1.0]]


@pytest.mark.parametrize(
    "rule",
    [
        lambda x, w, n: TensorSpec((w.shape[0],), x.dtype),
        lambda x, w, n: TensorSpec((n,), x.dtype),
        lambda x, w, n: TensorSpec((3,) if n else (4,), x.dtype),
        lambda x, w, n: TensorSpec((3,) if n == 1 else (4,), x.dtype),
        lambda x, w, n: w,
    ],
)
def test_a_shape_that_hangs_on_what_is_not_read_is_left_alone(rule):
    opdef = gradient_of(
        "t::f(Tensor x, Tensor w, *, int n=1) -> Tensor y", rule, lambda x, w, n: x, lambda x, dy: (x, x)
    ).opdef
    assert opdef.infer(opdef.schema, [spec(2), spec(7)], {})[0] == spec(2)


def test_whether_an_input_or_a_flag_is_there_is_not_guessed():
    opdef = gradient_of(
        "t::f(Tensor x, Tensor? w, *, int? axis=None, bool keep=False) -> Tensor y",
        lambda x, w, axis, keep: TensorSpec((3,) if w is None or axis is None else (4,), x.dtype),
        lambda x, w, axis, keep: x,
        lambda x, dy: (x, x),
    ).opdef
    assert opdef.infer(opdef.schema, [spec(2), spec(7)], {})[0] == spec(2)


def test_a_backward_pass_meets_what_the_forward_gave():
    op = opsdk.op("t::g(Tensor x, Tensor w) -> Tensor y", infer=lambda x, w: TensorSpec((x.shape[0],), x.dtype))(
        lambda x, w: x.sum(1) * w.sum()
    )
    op.backward(lambda x, y, dy, w_spec: (x * (y * dy)[:, None], np.zeros(w_spec.shape)))
    x = opsdk.to_tensor(np.ones((2, 3)), stop_gradient=False)
    op(x, opsdk.to_tensor(np.ones(5), stop_gradient=False)).sum().backward()
    assert x.grad.numpy().tolist() == [[15.0] * 3] * 2

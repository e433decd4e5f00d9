import numpy as np
import pytest

import opsdk
from opsdk import errors, nn
from opsdk.nn import functional as F
from tests.nn.in_runtimes import check

X = np.array([[0.5, -1.2, 2.0, -0.3], [1.5, 0.7, -2.0, 0.1]])
IMAGES = np.sin(1 + np.arange(24.0)).reshape(2, 3, 2, 2)
SLOPES = np.array([0.1, 0.2, 0.5])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


CASES = {
    "glu": (lambda x: F.glu(x), [X], X[:, :2] * sigmoid(X[:, 2:])),
    "glu, along another axis": (lambda x: F.glu(x, dim=0), [X], X[:1] * sigmoid(X[1:])),
    "swiglu": (lambda x: F.swiglu(x), [X], X[:, :2] * sigmoid(X[:, :2]) * X[:, 2:]),
    "swiglu, of two": (lambda x, y: F.swiglu(x, y), [X, X[::-1]], X * sigmoid(X) * X[::-1]),
    "maxout": (lambda x: F.maxout(x, 2), [X], np.maximum(X[:, ::2], X[:, 1::2])),
    "softmin": (lambda x: F.softmin(x, dim=0), [X], np.exp(-X) / np.exp(-X).sum(0)),
    "threshold": (lambda x: F.threshold(x, 0.2, -9.0), [X], np.where(X > 0.2, X, -9)),
    "prelu, one slope": (lambda x, w: F.prelu(x, w), [X, np.array([0.3])], np.where(X > 0, X, 0.3 * X)),
    "prelu, one for each channel": (
        lambda x, w: F.prelu(x, w),
        [IMAGES, SLOPES],
        np.where(IMAGES > 0, IMAGES, SLOPES[:, None, None] * IMAGES),
    ),
    "prelu, channels last": (
        lambda x, w: F.prelu(x, w, data_format="NHWC"),
        [np.moveaxis(IMAGES, 1, -1), SLOPES],
        np.moveaxis(np.where(IMAGES > 0, IMAGES, SLOPES[:, None, None] * IMAGES), 1, -1),
    ),
    "rrelu, which does not train": (
        lambda x: F.rrelu(x, 0.1, 0.3, training=False),
        [X],
        np.where(X > 0, X, 0.2 * X),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_is_its_formula_in_every_runtime(name):
    check(*CASES[name])


def test_slopes_are_drawn_evenly_and_are_the_gradient():
    x = opsdk.to_tensor(np.full(4000, -1.0), stop_gradient=False)
    made = F.rrelu(x, 0.2, 0.6)
    made.sum().backward()
    slopes = -made.numpy()
    assert 0.2 <= slopes.min() < 0.21
    assert 0.59 < slopes.max() < 0.6
    assert slopes.mean() == pytest.approx(0.4, abs=0.01)
    assert x.grad.numpy().tolist() == slopes.tolist()
    assert F.rrelu(x, 0.2, 0.6).tolist() != made.tolist()


def test_draws_of_a_distribution_are_as_frequent_as_it_says():
    scores = opsdk.to_tensor(np.log(np.tile([0.1, 0.2, 0.7], (6000, 1))), stop_gradient=False)
    hard = F.gumbel_softmax(scores, tau=0.5, hard=True)
    assert set(hard.numpy().reshape(-1).tolist()) == {0.0, 1.0}
    assert hard.numpy().sum(1).tolist() == [1.0] * 6000
    assert hard.numpy().mean(0) == pytest.approx([0.1, 0.2, 0.7], abs=0.02)
    (hard[:, 0] * 2.0).sum().backward()
    assert abs(scores.grad.numpy()).max() > 0.1
    soft = F.gumbel_softmax(scores, temperature=0.5, axis=0)
    assert soft.numpy().sum(0) == pytest.approx(np.ones(3))


def test_a_soft_draw_has_the_gradient_of_softmax_at_what_was_drawn():
    opsdk.seed(3)
    x = opsdk.to_tensor([0.3, -0.2, 0.9], stop_gradient=False)
    y = F.gumbel_softmax(x.astype("float64"), temperature=2.0)
    y[0].backward()
    p = y.numpy()
    assert x.grad.numpy() == pytest.approx(p[0] * (np.eye(3)[0] - p) / 2, rel=1e-6)


IN_PLACE = {
    "relu_": ((), {}),
    "elu_": ((), {"alpha": 0.7}),
    "leaky_relu_": ((0.3,), {}),
    "hardtanh_": ((), {"min_val": -0.5}),
    "thresholded_relu_": ((), {}),
    "threshold_": ((0.2, -9.0), {}),
    "celu_": ((), {}),
    "selu_": ((), {}),
    "tanh_": ((), {}),
    "sigmoid_": ((), {}),
    "softmax_": ((), {}),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_one_in_place_gives_its_tensor_what_the_function_gives(name):
    args, kwargs = IN_PLACE[name]
    leaf = opsdk.to_tensor(X, stop_gradient=False)
    other = opsdk.to_tensor(X, stop_gradient=False)
    x = leaf * 1.0
    assert getattr(F, name)(x, *args, **kwargs) is x
    kwargs = {"min": -0.5} if name == "hardtanh_" else kwargs
    wanted = getattr(F, name[:-1])(other, *args, **kwargs)
    assert x.tolist() == wanted.tolist()
    x.sum().backward()
    wanted.sum().backward()
    assert leaf.grad.tolist() == other.grad.tolist()


def test_slopes_drawn_in_place_stay_within_their_range():
    x = opsdk.to_tensor(np.full(100, -1.0))
    assert F.rrelu_(x, 0.2, 0.6) is x
    assert -0.6 <= x.numpy().min() < x.numpy().max() <= -0.2


WRONG = {
    "groups": (lambda: F.maxout(X, 3), "maxout: groups expected to divide the size of axis 1, 4, got 3"),
    "slopes": (lambda: F.prelu(X, SLOPES), "prelu: weight expected one slope, or one for each channel of shape (2, 4)"),
    "layout": (lambda: F.prelu(IMAGES, SLOPES, "HWC"), "prelu: data_format expected one of NC, NCL"),
    "range": (lambda: F.rrelu(X, 0.5, 0.2), "rrelu: expected 0 ≤ lower ≤ upper ≤ 1, got 0.5 and 0.2"),
    "temperature": (lambda: F.gumbel_softmax(X, 0.0), "gumbel_softmax: temperature expected a number > 0, got 0.0"),
    "array in place": (lambda: F.relu_(X), "relu_: x expected a tensor to change, got ndarray; call relu"),
    "leaf in place": (lambda: F.elu_(nn.Parameter(X)), "elu_"),
    "both words": (lambda: F.softmin(X, axis=0, dim=1), "softmin: expected axis once, got it as dim too"),
    "no word": (lambda: F.glu(X, along=1), "glu() got an unexpected keyword argument 'along'"),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert text in str(caught.value)


def test_what_has_no_meaning_is_taken():
    assert F.threshold(X, 0.2, 1.0, inplace=False, name="t").tolist() == np.where(X > 0.2, X, 1).tolist()
    assert issubclass(errors.BindingError, TypeError)

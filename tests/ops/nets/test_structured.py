import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.nn import initializer


def filled(init, shape, dtype="float64"):
    p = nn.Parameter(np.zeros(shape, dtype))
    init(p)
    return p.numpy()


def test_truncated_normal_values_lie_within_their_bounds():
    opsdk.seed(0)
    values = filled(initializer.TruncatedNormal(1.0, 2.0, -1.0, 1.5), [4000])
    assert (-1.0 <= values.min() < -0.95, 3.9 < values.max() <= 4.0) == (True, True)
    assert values.mean() == pytest.approx(1.2279, abs=0.05)  # 1 + 2 (φ(-1) - φ(1.5)) / (Φ(1.5) - Φ(-1))
    w = nn.Parameter(np.zeros(1000))
    assert nn.init.trunc_normal_(w, mean=0.0, std=0.02, a=-0.02, b=0.04) is w
    assert (w.numpy().min() >= -0.02, w.numpy().max() <= 0.04) == (True, True)


@pytest.mark.parametrize("options", [{"std": 0}, {"a": 1.0, "b": -1.0}, {"a": 7.0, "b": 8.0}])
def test_bounds_that_hold_nothing_are_refused(options):
    with pytest.raises(
        AttributeValueError, match="expected std > 0 and bounds with at least one number in ten thousand"
    ):
        initializer.TruncatedNormal(**options)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal_rows_or_columns(shape):
    matrix = filled(initializer.Orthogonal(gain=2.0), shape).reshape(shape[0], -1)
    product = matrix @ matrix.T if matrix.shape[0] < matrix.shape[1] else matrix.T @ matrix
    assert np.allclose(product, 4 * np.eye(len(product)))


def test_dirac_passes_channels_on():
    values = filled(initializer.Dirac(groups=2), (4, 2, 3))
    expected = np.zeros((4, 2, 3))
    expected[[0, 1, 2, 3], [0, 1, 0, 1], 1] = 1.0  # as torch.nn.init.dirac_ has it
    assert np.array_equal(values, expected)
    assert np.array_equal(filled(initializer.Dirac(), (3, 2, 1)), np.eye(3, 2)[..., None])


def test_bilinear_kernels_are_paddles():
    assert np.allclose(filled(initializer.Bilinear(), (1, 1, 4, 4))[0, 0, 1], [0.1875, 0.5625, 0.5625, 0.1875])
    assert np.allclose(filled(initializer.Bilinear(), (1, 1, 3, 3))[0, 0, 1], [0.1875, 0.5625, 0.5625])


def test_init_has_pytorchs_words_for_them():
    w = nn.Parameter(np.zeros((2, 3)))
    assert nn.init.eye_(w).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert np.allclose(nn.init.orthogonal_(w).numpy() @ w.numpy().T, np.eye(2))
    assert nn.init.dirac_(nn.Parameter(np.zeros((1, 1, 1)))).tolist() == [[[1.0]]]


@pytest.mark.parametrize(
    ("init", "shape", "match"),
    [
        (initializer.Orthogonal(), (3,), r"Orthogonal: expected a shape of 2 or 3 or 4 or 5 dimensions, got \(3,\)"),
        (initializer.Dirac(3), (4, 2, 3), "expected channels that 3 groups divide, got 4"),
        (initializer.Bilinear(), (4, 2), "Bilinear: expected a shape of 4 dimensions"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(init, shape, match):
    with pytest.raises(ShapeError, match=match):
        filled(init, shape)
    with pytest.raises(AttributeValueError, match="initializer Dirac: groups expected an integer ≥ 1, got 0"):
        initializer.Dirac(0)


def test_a_global_initializer_is_for_parameters_that_name_none():
    initializer.set_global_initializer(initializer.Constant(2.0), initializer.Constant(3.0))
    try:
        fc = nn.Linear(1, 1)
        named = nn.Linear(1, 1, weight_attr=initializer.Constant(5.0))
    finally:
        initializer.set_global_initializer(None)
    assert (fc.weight.item(), fc.bias.item(), named.weight.item()) == (2.0, 3.0, 5.0)
    assert nn.Linear(1, 1).bias.item() == 0.0
    with pytest.raises(AttributeValueError, match="set_global_initializer: expected an initializer or None, got 3"):
        initializer.set_global_initializer(3)

import numpy as np
import pytest

import opsdk
from opsdk import errors, nn
from opsdk.nn.utils import clip_grad_norm_, clip_grad_value_, parameters_to_vector, vector_to_parameters


def model():
    """Gives two parameters with gradients (3, 4) and (12,), of norm 13 together, and one without."""
    made = [nn.Parameter(np.array([1.0, 2.0])), nn.Parameter(np.array([[3.0]])), nn.Parameter(np.ones(2))]
    made[0].grad, made[1].grad = opsdk.to_tensor([3.0, -4.0], "float64"), opsdk.to_tensor([[12.0]], "float64")
    return made


def test_gradients_are_scaled_to_a_norm_and_the_norm_that_they_had_comes_back():
    made = model()
    before = made[0].grad
    assert clip_grad_norm_(made, 6.5).item() == pytest.approx(13)
    assert made[0].grad is before
    assert made[0].grad.numpy() == pytest.approx([1.5, -2.0], rel=1e-6)
    assert made[1].grad.numpy() == pytest.approx(np.array([[6.0]]), rel=1e-6)
    assert made[2].grad is None


@pytest.mark.parametrize(("norm_type", "norm"), [(1.0, 19.0), (float("inf"), 12.0), (3.0, 1819 ** (1 / 3))])
def test_the_norm_is_any(norm_type, norm):
    made = model()
    assert clip_grad_norm_(made, 100.0, norm_type).item() == pytest.approx(norm)
    assert made[0].grad.tolist() == [3.0, -4.0]


def test_a_norm_that_is_not_finite_is_refused_before_anything_changes_where_that_is_asked_for():
    made = model()
    made[1].grad = opsdk.to_tensor([[np.inf]], "float64")
    with pytest.raises(errors.InputValueError, match="get_total_norm: expected a finite norm, got inf"):
        clip_grad_norm_(made, 1.0, error_if_nonfinite=True)
    assert made[0].grad.tolist() == [3.0, -4.0]
    clip_grad_norm_(made, 1.0)
    assert made[0].grad.tolist() == [0.0, 0.0]


def test_nothing_has_the_norm_zero():
    assert clip_grad_norm_([nn.Parameter(np.ones(2))], 1.0).item() == 0.0
    one = model()[0]
    clip_grad_norm_(one, 1.0)
    assert one.grad.numpy() == pytest.approx([0.6, -0.8], rel=1e-6)


def test_gradients_are_held_inside_a_value():
    made = model()
    clip_grad_value_(made, 3.5)
    assert [each.grad.tolist() for each in made[:2]] == [[3.0, -3.5], [[3.5]]]


def test_parameters_are_one_vector_and_come_back():
    made = model()
    vector = parameters_to_vector(made)
    assert vector.tolist() == [1.0, 2.0, 3.0, 1.0, 1.0]
    (vector * vector).sum().backward()
    assert made[2].grad.tolist() == [2.0, 2.0]
    vector_to_parameters(vector * 2.0, made)
    assert [each.tolist() for each in made] == [[2.0, 4.0], [[6.0]], [2.0, 2.0]]
    assert all(each.is_leaf for each in made)
    with pytest.raises(errors.ShapeError, match=r"vector_to_parameters: vec expected shape \(5,\), got \(4,\)"):
        vector_to_parameters(vector[:4], made)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (clip_grad_norm_, "clip_grad_norm_: max_norm expected a number ≥ 0, got -1"),
        (clip_grad_value_, "clip_grad_value_: clip_value expected a number ≥ 0, got -1"),
    ],
)
def test_a_bound_below_zero_is_refused(call, text):
    with pytest.raises(errors.AttributeValueError, match=text):
        call(model(), -1)

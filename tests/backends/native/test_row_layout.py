import numpy as np
import pytest

from opsdk.backends.native.row_layout import laid_out, result_shape, turned_back
from opsdk.core.errors import ShapeError
from opsdk.expr.row.row import COLUMN, FLAT, FULL, ROW
from opsdk.ops.loss import cross_entropy_with_logits
from opsdk.ops.normalization import layer_norm, softmax


def call(op, *arrays, **attrs):
    rows = op.opdef.kernels.reference().source
    return laid_out(op.opdef, rows, arrays, attrs, np.ascontiguousarray)


def test_rows_come_last_and_contiguous():
    x = np.arange(24.0).reshape(2, 3, 4)
    (given,), shape, at = call(softmax, x, axis=-2)
    assert (given.tolist(), shape, at) == (np.moveaxis(x, 1, 2).tolist(), (2, 4, 3), 1)
    assert given.flags.c_contiguous


def test_what_lies_right_is_not_copied():
    x = np.ones((2, 3))
    (given,), _, _ = call(softmax, x, axis=-1)
    assert np.shares_memory(given, x)


def test_numbers_per_row_stand_beside_rows_with_and_without_their_axis():
    x = np.ones((2, 3))
    for label in (np.zeros(2, int), np.zeros((2, 1), int)):
        (_, given), _, _ = call(cross_entropy_with_logits, x, label)
        assert given.shape == (2, 1)


def test_results_have_the_shape_of_their_role():
    shape = (2, 4, 3)
    assert [result_shape(role, shape) for role in (FULL, ROW, FLAT)] == [(2, 4, 3), (2, 4, 1), (2, 4)]


def test_a_result_is_turned_back_unless_its_rows_are_last_or_dropped():
    x = np.arange(24.0).reshape(2, 4, 3)
    back = turned_back(x, x.shape, 1, np.ascontiguousarray)
    assert back.tolist() == np.moveaxis(x, -1, 1).tolist()
    assert back.flags.c_contiguous
    assert turned_back(x, x.shape, 2, np.ascontiguousarray) is x
    flat = np.ones((2, 4))
    assert turned_back(flat, x.shape, 0, np.ascontiguousarray) is flat


@pytest.mark.parametrize(
    ("op", "arrays", "text"),
    [
        (layer_norm, ((2, 4), (4,), (3,)), r"op 'opsdk::layer_norm': input 'bias' expected shape \(4,\)"),
        (softmax, ((),), r"op 'opsdk::softmax': input 'x' expected at least one axis, got shape \(\)"),
        (softmax.grad, ((), ()), r"op 'opsdk::softmax_grad': input 'out' expected at least one axis, got \(\)"),
        (softmax.grad, ((2, 3), (2, 4)), r"softmax_grad': input 'dout' expected shape \(2, 3\), got \(2, 4\)"),
    ],
)
def test_shapes_that_do_not_fit_their_roles_are_refused(op, arrays, text):
    with pytest.raises(ShapeError, match=text):
        call(op, *map(np.ones, arrays))


def test_a_column_is_as_long_as_a_row():
    assert layer_norm.opdef.kernels.reference().source.roles == (FULL, COLUMN, COLUMN)
    (_, w, _), shape, _ = call(layer_norm, np.ones((2, 4)), np.arange(4.0), np.ones(4))
    assert (w.tolist(), shape) == ([0, 1, 2, 3], (2, 4))

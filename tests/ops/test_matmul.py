import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ShapeError
from opsdk.ops import matmul as products

SHAPES = [
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 2)),
    ((5, 2, 3), (3, 4)),
    ((2, 1, 2, 3), (4, 3, 2)),
    ((2, 0), (0, 3)),
    ((0, 2), (2, 3)),
    ((0, 2, 3), (3, 2)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_matmul_is_numpys_with_gradients_of_the_inputs_shapes(left, right, rng):
    x, y = rng.normal(size=left), rng.normal(size=right)
    np.testing.assert_array_equal(products.matmul(x, y), np.matmul(x, y))
    tensors = [opsdk.to_tensor(value, stop_gradient=False) for value in (x, y)]
    gradients = opsdk.grad(products.matmul(*tensors), tensors)
    assert [tuple(gradient.shape) for gradient in gradients] == [left, right]


@pytest.mark.parametrize(("flip_x", "flip_y"), [(False, True), (True, False), (True, True)])
def test_transposed_operands_are_as_if_transposed_before(flip_x, flip_y, rng):
    x, y = rng.normal(size=(2, 2, 3)), rng.normal(size=(3, 4))
    given = [np.swapaxes(x, -1, -2) if flip_x else x, np.swapaxes(y, -1, -2) if flip_y else y]
    result = products.matmul(*given, transpose_x=flip_x, transpose_y=flip_y)
    np.testing.assert_allclose(result, x @ y, rtol=1e-13)


def test_the_transposition_of_a_vector_means_nothing():
    x, y = np.arange(3.0), np.ones((3, 2))
    np.testing.assert_array_equal(products.matmul(x, y, transpose_x=True), x @ y)


def inferred(op, *shapes, **attrs):
    specs = [opsdk.TensorSpec(shape, "float32") for shape in shapes]
    complete = {decl.name: decl.default for decl in op.opdef.schema.attrs} | attrs
    return op.opdef.infer(op.opdef.schema, specs, complete)[0].shape


def test_open_sizes_pass_through():
    assert inferred(products.matmul, (None, 3), (3, 4)) == (None, 4)
    assert inferred(products.matmul, (None, 2, 3), (3,)) == (None, 2)
    assert inferred(products.mul, (None, 2, 3), (6, 4)) == (None, 4)


def test_inner_sizes_that_differ_are_refused():
    with pytest.raises(ShapeError, match=r"expected matrices whose inner sizes agree, got \(2, 3\) and \(2, 3\)"):
        inferred(products.matmul, (2, 3), (2, 3))
    with pytest.raises(ShapeError, match=r"expected matrices whose inner sizes agree, got \(\) and \(3,\)"):
        inferred(products.matmul, (), (3,))


def test_mul_flattens_both_sides(rng):
    x, y = rng.normal(size=(2, 3, 2)), rng.normal(size=(3, 2, 4))
    result = products.mul(x, y, y_num_col_dims=2)
    np.testing.assert_array_equal(result, x.reshape(2, 6) @ y.reshape(6, 4))
    assert products.mul(x, y[0], x_num_col_dims=2).shape == (2, 3, 4)


def test_mul_refuses_other_numbers_of_columns_and_rows():
    with pytest.raises(ShapeError, match=r"expected as many columns in x as rows in y, got \(2, 3\) flattened after"):
        inferred(products.mul, (2, 3), (4, 5))


@pytest.mark.parametrize("rows", [0, 2, -1])
def test_mul_refuses_a_split_outside_of_the_axes(rows):
    with pytest.raises(ShapeError, match=rf"x_num_col_dims expected in \[1, 2\) for x of shape \(2, 3\), got {rows}"):
        products.mul(np.zeros((2, 3)), np.zeros((3, 4)), x_num_col_dims=rows)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", [products.matmul, products.mul])
def test_products_of_sixteen_bits_are_added_in_float32_and_rounded_once(dtype, op, rng):
    x, y, d = (opsdk.to_tensor(rng.normal(size=size), dtype) for size in ((7, 300), (300, 5), (7, 5)))
    x.stop_gradient = y.stop_gradient = False
    made = op(x, y)
    dx, dy = opsdk.grad(made, [x, y], d)
    a, b, c = (value.numpy().astype(np.float64) for value in (x, y, d))
    for got, want, size in ((made, a @ b, np.abs(a) @ np.abs(b)), (dx, c @ b.T, 0), (dy, a.T @ c, 0)):
        eps = 2**-11 if dtype == "float16" else 2**-8
        assert got.dtype == x.dtype
        assert (np.abs(got.numpy().astype(np.float64) - want) <= eps * np.abs(want) * 1.01 + 1e-5 * (size + 1)).all()


def test_the_gradient_of_a_shared_factor_is_summed_over_the_batch_before_it_is_rounded():
    x = opsdk.to_tensor(np.ones((3000, 1, 2)), "bfloat16")
    for flags in ({}, {"transpose_y": True}):
        y = opsdk.to_tensor(np.ones((2, 2)), "bfloat16", stop_gradient=False)
        products.matmul(x, y, **flags).sum().backward()
        np.testing.assert_array_equal(y.grad.numpy(), np.full((2, 2), 3008).astype(y.dtype))  # the nearest to 3000


def test_both_dtypes_of_16_bits_give_float32():
    half, other = opsdk.to_tensor(np.ones((2, 2)), "bfloat16"), opsdk.to_tensor(np.ones((2, 2)), "float16")
    for op in (products.matmul, products.mul):
        made = op(half, other)
        assert (made.dtype, made.tolist()) == (np.float32, [[2.0, 2.0], [2.0, 2.0]])

"""masked_select: beside a walk in plain Python; its gradient puts back what it took."""

import numpy as np
import pytest

import opsdk
from contrib_ops import masked_select
from opsdk import static
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch
from tests.contrib_ops.proof import by_kernel, shapes_for

GRADIENT = masked_select.grad.opdef


def by_walk(x, mask):
    return [value for value, is_selected in zip(x.ravel().tolist(), mask.ravel().tolist(), strict=True) if is_selected]


@by_kernel(masked_select.opdef)
def test_every_kernel_takes_what_a_walk_takes(kernel, rng):
    dtype = kernel.key.dtype or np.dtype("int8")
    for shape in shapes_for(kernel):
        x = np.array(rng.integers(-99, 99, shape)).astype(dtype)
        for least in (0.0, 0.5, 1.0):  # all, some, nothing
            mask = np.array(rng.uniform(size=shape)) >= least
            (made,) = launch(masked_select.opdef, kernel, [x, mask], {})
            assert made.dtype == dtype
            assert made.tolist() == by_walk(x, mask)
    x, mask = np.arange(20.0).reshape(4, 5).astype(dtype)[::-1, ::2].T, rng.uniform(size=(3, 8))[:, ::2] > 0.4
    assert launch(masked_select.opdef, kernel, [x, mask], {})[0].tolist() == by_walk(x, mask)


@by_kernel(GRADIENT)
def test_every_kernel_of_the_gradient_puts_back_what_was_taken(kernel):
    mask = np.array([[True, False], [True, True], [False, False]])
    dy = np.array([5, 6, 7], kernel.key.dtype or "float64")
    (dx,) = launch(GRADIENT, kernel, [mask, dy], {})
    assert (dx.tolist(), dx.dtype) == ([[5, 0], [6, 7], [0, 0]], dy.dtype)


def test_its_gradient_is_that_of_the_selected_squares_to_the_second_order():
    x = opsdk.to_tensor(np.array([1.0, 2, 3]), stop_gradient=False)
    y = masked_select(x, np.array([True, False, True]))
    (first,) = opsdk.grad((y * y * y).sum(), x, create_graph=True)
    (second,) = opsdk.grad(first.sum(), x)
    assert first.numpy().tolist() == [3, 0, 27]
    assert second.numpy().tolist() == [6, 0, 18]


def test_a_program_selects_another_number_in_each_run():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, mask = static.data("x", [None], "float64"), static.data("mask", [None], "bool")
        x.stop_gradient = False
        y = masked_select(x, mask)
        (dx,) = static.gradients((y * y).sum(), x)
        assert y.shape == (-1,)
    run = static.Executor().run
    for selected in ([1, 0, 1], [0, 0], [1], []):
        values, chosen = np.arange(len(selected)) + 1.0, np.array(selected, bool)
        made, slope = run(main, feed={"x": values, "mask": chosen}, fetch_list=[y, dx])
        assert made.tolist() == by_walk(values, chosen)
        assert slope.tolist() == (2 * values * chosen).tolist()


def test_a_mask_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match=r"mask expected the shape of x, \(2, 3\), got \(3,\); broadcast it"):
        masked_select(np.ones((2, 3)), np.ones(3, bool))


def test_a_cotangent_of_another_length_is_refused_before_a_kernel_reads_beyond_it():
    with pytest.raises(InputValueError, match=r"dy expected shape \(2,\) as mask selects, got \(1,\)"):
        masked_select.grad(np.ones(3) > [2, 0, 0], np.ones(1))

"""nonzero: beside a walk over all positions in plain Python."""

import itertools

import numpy as np

import opsdk
from contrib_ops import nonzero
from opsdk import static
from opsdk.verify.kernels.launch import launch
from tests.contrib_ops.proof import by_kernel, shapes_for


def by_walk(x):
    return [list(at) for at in itertools.product(*map(range, x.shape)) if x[at] != 0]


@by_kernel(nonzero.opdef)
def test_every_kernel_gives_the_positions_of_a_walk(kernel, rng):
    dtype = kernel.key.dtype or np.dtype("int8")
    for shape in shapes_for(kernel):
        for density in (0, 1, 2):  # nothing, some, all
            x = np.array(rng.integers(density == 2, 1 + (density > 0), shape)).astype(dtype)
            (made,) = launch(nonzero.opdef, kernel, [x], {})
            assert (made.dtype, made.shape[1:]) == (np.int64, (x.ndim,))
            assert made.tolist() == by_walk(x)
        reversed_ = np.array(rng.integers(0, 2, (6, 5))).astype(dtype)[::-2, 1:].T
        assert launch(nonzero.opdef, kernel, [reversed_], {})[0].tolist() == by_walk(reversed_)


def test_nan_and_infinity_are_not_zero_and_minus_zero_is():
    assert nonzero(np.array([np.nan, -0.0, -np.inf])).tolist() == [[0], [2]]


def test_in_a_program_its_length_is_open():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        index = nonzero(static.data("x", [None, 2], "float64"))
        assert index.shape == (-1, 2)
    run = static.Executor().run
    for x in (np.eye(2), np.zeros((3, 2)), np.ones((1, 2)), np.zeros((0, 2))):
        (made,) = run(main, feed={"x": x}, fetch_list=[index])
        assert made.tolist() == by_walk(x)


def test_results_that_were_given_stay():
    first = nonzero(np.eye(2))
    nonzero(np.ones((2, 2)))
    assert first.tolist() == [[0, 0], [1, 1]]


def test_no_gradient_goes_through_positions():
    x = opsdk.to_tensor(np.eye(2), stop_gradient=False)
    assert nonzero(x).stop_gradient

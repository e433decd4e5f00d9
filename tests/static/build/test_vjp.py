"""Products with Jacobians in a Program are part of its forward."""

from collections.abc import Callable

import numpy as np
import pytest

import opsdk
from opsdk import static

X = np.array([-2.0, 3.0])


def cubed():
    """|x|³, whose backward reads signs."""

    @opsdk.op("t::cubed(Tensor x) -> Tensor y, residuals (Tensor<int> sign)")
    def cubed(x):
        return np.abs(x) ** 3, np.sign(x).astype(np.int8)

    cubed.infer(lambda x: (x, opsdk.TensorSpec(x.shape, "int8")))
    cubed.backward(composite=True)(lambda x, sign, dy: 3 * x * x * sign.astype("float64") * dy)
    return cubed


@pytest.mark.parametrize("is_trained", [False, True])
@pytest.mark.parametrize(("function", "wanted"), [(lambda x: x * x * x, 3 * X**2), (None, 3 * X * np.abs(X))])
def test_a_test_clone_keeps_the_product_that_a_composite_gives(is_trained, function, wanted):
    f = function or cubed()

    @opsdk.op("t::slope(Tensor x, *, Callable f) -> Tensor y", composite=True)
    def slope(x, f: Callable):
        return opsdk.vjp(f, x)[1]

    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [None], "float64")
        x.stop_gradient = not is_trained
        y = slope(x, f=f)
        found = static.gradients(y, [x]) if is_trained else []
    for program in (main, main.clone(), main.clone(for_test=True)):
        (value,) = static.Executor().run(program, feed={"x": X}, fetch_list=[y.name], scope=static.Scope())
        np.testing.assert_array_equal(value, wanted)
    for one in found:
        assert one.name not in main.clone(for_test=True).global_block().vars

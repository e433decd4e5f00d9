import ml_dtypes
import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.autograd.on_arrays import on_arrays
from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import DTypeError


@opsdk.op("oa::total(Tensor x) -> Tensor y", composite=True, infer=lambda x: opsdk.TensorSpec(x.shape[1:], x.dtype))
def total(x):
    return x.sum(axis=0)


@opsdk.op("oa::shifted(Tensor x) -> Tensor y", composite=True)
def shifted(x):
    y = opsdk.exp(x)
    z = y
    y += 1.0
    return y * z


def in_a_program(op, x, records):
    main = static.Program()
    with static.program_guard(main):
        data = static.data("x", x.shape, x.dtype)
        data.stop_gradient = not records
        made = op(data)
    (value,) = static.Executor().run(main, feed={"x": x}, fetch_list=[made])
    return value


WAYS = {
    "arrays": lambda op, x: op(x),
    "tensors": lambda op, x: op(opsdk.to_tensor(x)).numpy(),
    "a graph": lambda op, x: op(opsdk.to_tensor(x, stop_gradient=False)).numpy(),
    "a Program": lambda op, x: in_a_program(op, x, False),
    "a Program with a graph": lambda op, x: in_a_program(op, x, True),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("dtype", "count"), [(ml_dtypes.bfloat16, 1000), (np.float16, 5000)])
def test_a_method_of_a_composite_is_opsdks_in_every_runtime(way, dtype, count):
    assert way(total, np.ones((count, 2), dtype)).astype(float).tolist() == [count] * 2  # NumPy's stops at 256, 2048


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_augmented_assignment_in_a_composite_changes_no_other_name(way):
    assert way(shifted, np.array([0.0])).tolist() == [2.0]  # (e⁰ + 1) e⁰


def test_a_composite_backward_is_the_same_with_and_without_a_graph():
    @opsdk.op("oa::bias(Tensor x, Tensor b) -> Tensor y")
    def bias(x, b):
        return x + b

    @bias.backward(composite=True)
    def bias_grad(dy):
        return dy, dy.sum(axis=0)

    x = opsdk.to_tensor(np.ones((1000, 2), ml_dtypes.bfloat16))
    b = opsdk.to_tensor(np.zeros(2, ml_dtypes.bfloat16), stop_gradient=False)
    for create_graph in (False, True):
        (db,) = opsdk.grad(bias(x, b).sum(), b, create_graph=create_graph)
        assert db.numpy().astype(float).tolist() == [1000.0, 1000.0]


def test_a_whole_number_that_would_be_rounded_is_refused_on_arrays_too():
    is_odd = opsdk.op("oa::is_odd(Tensor x) -> Tensor y", composite=True)(
        lambda x: opsdk.cast(x == 2**24 + 1, "float32")
    )
    with pytest.raises(DTypeError, match="expected a whole number that float32 holds, got 16777217"):
        is_odd(np.array([2.0**24], "float32"))


def test_lists_absent_inputs_and_results_of_every_form_are_those_of_arrays():
    seen = []

    def body(x, others, absent, *, k):
        seen.extend([type(x), [type(one) for one in others], absent, k, opsdk.is_grad_enabled()])
        return [x, others[0] * 2.0], None, {"a": others[1]}

    x, y, z = np.ones(1), np.ones(2), np.ones(3)
    made = on_arrays(body)(x, [y, z], None, k=3)
    assert seen == [Tensor, [Tensor, Tensor], None, 3, False]
    assert made[0][0] is x
    assert made[0][1].tolist() == [2.0, 2.0]
    assert made[1] is None
    assert made[2]["a"] is z

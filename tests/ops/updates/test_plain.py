import numpy as np
import pytest

import opsdk
import opsdk.optimizer
from opsdk.core.errors import DTypeError
from opsdk.ops.updates import plain as update
from opsdk.ops.updates.plain import APART


def test_sgd_steps_down_the_gradient_in_place():
    param = np.array([1.0, 2.0])
    result = update.sgd(param, np.array([10.0, -10.0]), np.array([0.1]))
    np.testing.assert_allclose(param, [0, 3])
    assert result is param


def test_a_rate_of_another_dtype_and_shape_changes_neither():
    param = np.array(1.0, np.float32)
    update.sgd(param, np.array(1.0, np.float32), np.array([0.25]))
    assert (param.dtype, param.shape, float(param)) == (np.float32, (), 0.75)


def test_momentum_remembers_the_last_step():
    param, velocity = np.array([0.0]), np.array([1.0])
    update.momentum(param, np.array([2.0]), np.array([0.1]), velocity, mu=0.5)
    np.testing.assert_allclose(velocity, [2.5])
    np.testing.assert_allclose(param, [-0.25])


def test_momentum_looks_ahead_when_asked():
    param, velocity = np.array([0.0]), np.array([1.0])
    update.momentum(param, np.array([2.0]), np.array([0.1]), velocity, mu=0.5, use_nesterov=True)
    np.testing.assert_allclose(param, [-0.1 * (2 + 0.5 * 2.5)])


def adam_by_the_paper(param, gradients, rate, beta1=0.9, beta2=0.999, epsilon=1e-8):
    first = second = 0.0
    for t, gradient in enumerate(gradients, 1):
        first = beta1 * first + (1 - beta1) * gradient
        second = beta2 * second + (1 - beta2) * gradient**2
        param = param - rate * (first / (1 - beta1**t)) / (np.sqrt(second / (1 - beta2**t)) + epsilon)
    return param


@pytest.mark.parametrize("size", [1.0, 1e-6])
def test_adam_follows_the_paper_step_by_step(rng, size):
    gradients = size * rng.normal(size=(5, 3))
    param, first, second, power1, power2 = np.ones(3), np.zeros(3), np.zeros(3), np.ones(1), np.ones(1)
    for gradient in gradients:
        update.adam(param, gradient, np.array([0.1]), first, second, power1, power2)
    np.testing.assert_allclose(param, adam_by_the_paper(np.ones(3), gradients, 0.1), rtol=1e-10)
    np.testing.assert_allclose([power1[0], power2[0]], [0.9**5, 0.999**5])


def _each_step():
    rng = np.random.default_rng(7)
    for name in APART:
        opdef = opsdk.find_op(name).opdef
        for shape in ((3, 5), (), (0, 4), (1,)):
            for dtype in ("float32", "float64"):
                arrays = [np.array(np.abs(rng.normal(size=shape)), dtype) for _ in opdef.schema.inputs]
                for at, declared in enumerate(opdef.schema.input_names):
                    if declared in ("learning_rate", "beta1_pow", "beta2_pow", "steps", "mu_product"):
                        arrays[at] = np.array([0.25])
                yield pytest.param(name, arrays, {}, id=f"{name}{shape}{dtype}")
    arrays = [rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), np.array([0.1]), rng.normal(size=(2, 3))]
    yield pytest.param("opsdk::momentum", arrays, {"mu": 0.5, "use_nesterov": True}, id="nesterov")
    state = [rng.random((2, 3)) for _ in range(2)]
    arrays = [rng.random((2, 3)), rng.random((2, 3)), np.array([0.1]), *state, np.array([0.9]), np.array([0.99])]
    yield pytest.param("opsdk::adam", arrays, {"decay": 0.1}, id="decay")


@pytest.mark.parametrize(("name", "arrays", "attrs"), list(_each_step()))
def test_new_values_apart_are_those_in_place_and_leave_the_old(name, arrays, attrs):
    op = opsdk.find_op(name)
    complete = {decl.name: decl.default for decl in op.opdef.schema.attrs} | attrs
    changed = op.opdef.schema.mutated_inputs
    before = [array.copy() for array in arrays]
    made = APART[name]((None,) * len(changed), *arrays, **complete)
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)
    op(*arrays, **attrs)
    for at, value in zip(changed, made, strict=True):
        assert (type(value), value.dtype, value.shape) == (np.ndarray, arrays[at].dtype, arrays[at].shape)
        np.testing.assert_array_equal(value, arrays[at])


def test_adam_of_complex_numbers_is_refused_and_changes_nothing():
    z, ones = np.array([1 + 2j]), np.ones(1)
    with pytest.raises(DTypeError, match=r"op 'opsdk::adam': param expected a real dtype, .* got complex128"):
        update.adam(z, z.copy(), np.array([0.1]), np.zeros_like(z), np.zeros_like(z), ones, ones.copy())
    np.testing.assert_array_equal(z, [1 + 2j])


@pytest.mark.parametrize("optimizer", [opsdk.optimizer.SGD, opsdk.optimizer.Momentum])
def test_complex_parameters_step_against_both_parts_of_the_gradient(optimizer):
    z = opsdk.to_tensor(np.array([1 + 2j, 3 - 1j]), stop_gradient=False)
    stepper = optimizer(0.1, parameters=[z])
    opsdk.abs(z * z).sum().backward()  # |z|², of gradient 2 z
    stepper.step()
    np.testing.assert_allclose(z.numpy(), 0.8 * np.array([1 + 2j, 3 - 1j]), rtol=1e-15)

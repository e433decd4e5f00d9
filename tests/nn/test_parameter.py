import copy
import pickle

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, NotInitializedError
from opsdk.nn.parameter import UnsetTensor


def test_a_parameter_is_a_trained_leaf():
    p = nn.Parameter([1.0, 2.0])
    assert isinstance(p, opsdk.Tensor)
    assert (p.stop_gradient, p.trainable, p.persistable, p.is_leaf) == (False, True, True, True)
    assert p.optimize_attr == {"learning_rate": 1.0}


def test_a_parameter_prints_as_one():
    assert repr(nn.Parameter([1.0, 2.5])) == (
        "Parameter containing:\n"
        "Tensor(shape=[2], dtype=float32, place=Place(cpu), stop_gradient=False,\n       [1. , 2.5])"
    )


@pytest.mark.parametrize("frozen", [nn.Parameter([1.0], trainable=False), nn.Parameter([1.0], requires_grad=False)])
def test_a_frozen_parameter_stops_the_gradient(frozen):
    assert frozen.stop_gradient
    frozen.trainable = True
    assert not frozen.stop_gradient


def test_an_integer_parameter_cannot_be_trained():
    with pytest.raises(AttributeValueError, match="Parameter: stop_gradient=False expected a float dtype, got int64"):
        nn.Parameter([1, 2])
    assert nn.Parameter([1, 2], trainable=False).tolist() == [1, 2]


def test_a_parameter_copies_its_data():
    array = np.zeros(2)
    p = nn.Parameter(array)
    array[0] = 1
    assert p.tolist() == [0.0, 0.0]
    assert nn.Parameter([1.0], dtype="float64").dtype == np.float64


def test_ops_on_parameters_give_tensors_and_gradients():
    p = nn.Parameter([1.0, 2.0])
    out = (p * p).sum()
    assert type(out) is opsdk.Tensor
    out.backward()
    assert p.grad.tolist() == [2.0, 4.0]


def test_a_deep_copy_has_memory_name_and_settings_of_its_own():
    p = nn.Parameter([1.0], name="w", learning_rate=0.5)
    twin = copy.deepcopy(p)
    twin.set_value([3.0])
    twin.optimize_attr["learning_rate"] = 2.0
    assert isinstance(twin, nn.Parameter)
    assert p.tolist() == [1.0]
    assert p.optimize_attr == {"learning_rate": 0.5}
    assert twin.name != p.name
    assert twin.trainable


def test_a_parameter_survives_pickling():
    p = nn.Parameter([1.0, 2.0], name="w")
    twin = pickle.loads(pickle.dumps(p))
    assert (twin.tolist(), twin.name, twin.trainable) == ([1.0, 2.0], "w", True)


# -- tensors without values -------------------------------------------------------------------------------------------


def test_an_unset_tensor_says_so():
    t = UnsetTensor("saved")
    assert repr(t) == "Tensor(Not initialized)"
    with pytest.raises(NotInitializedError, match="tensor 'saved': expected values, it was created without; copy some"):
        t + 1.0
    with pytest.raises(NotInitializedError):
        t.numpy()
    assert repr(copy.deepcopy(t)) == "Tensor(Not initialized)"


def test_the_first_values_make_an_unset_tensor_a_plain_one():
    t = UnsetTensor("saved")
    opsdk.assign(opsdk.ones([2, 10]), t)
    assert type(t) is opsdk.Tensor
    assert (t.shape, t.name) == ([2, 10], "saved")
    assert (t + 1.0).tolist() == [[2.0] * 10] * 2


def test_an_unset_tensor_converts_to_the_dtype_that_it_was_created_with():
    t = UnsetTensor("saved", "float64")
    t.set_value([1, 2])
    assert t.dtype == np.float64

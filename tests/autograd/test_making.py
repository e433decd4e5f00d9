"""Tensors in PyTorch's words, indices of triangles, printing, and questions."""

import numpy as np
import pytest

import opsdk
from opsdk.autograd.tensor import PRINTING
from opsdk.core.errors import AttributeValueError, DTypeError, PlaceError


def test_a_tensor_is_made_in_the_words_of_pytorch():
    x = opsdk.tensor([1.0, 2.0], dtype="float64", device="cpu", requires_grad=True)
    assert (x.tolist(), x.dtype, x.requires_grad) == ([1, 2], np.float64, True)
    assert opsdk.tensor([1.0]).dtype == np.float32
    assert opsdk.as_tensor(x) is x
    assert opsdk.as_tensor(x, dtype="float32").dtype == np.float32
    assert opsdk.as_tensor([1, 2]).dtype == np.int64
    assert opsdk.asarray([1, 2]).tolist() == [1, 2]
    with pytest.raises(PlaceError, match="tensor: device expected 'cpu', 'cuda', 'cuda:0' or a place, got 'tpu'"):
        opsdk.tensor([1.0], device="tpu")


def test_the_memory_of_an_array_is_shared():
    array = np.arange(3.0)
    x = opsdk.from_numpy(array)
    x[0] = 7.0
    array[1] = 8.0
    assert x.tolist() == array.tolist() == [7, 8, 2]
    with pytest.raises(DTypeError, match="from_numpy: expected a NumPy array, got list; use to_tensor"):
        opsdk.from_numpy([1.0])
    with pytest.raises(DTypeError, match="from_numpy"):
        opsdk.from_numpy(np.array(["a"]))


def test_numbers_and_indices_are_those_of_numpy():
    np.testing.assert_allclose(opsdk.logspace(0, 3, 4, dtype="float64").numpy(), [1, 10, 100, 1000])
    np.testing.assert_allclose(opsdk.logspace(0, 3, 4, base=2).numpy(), [1, 2, 4, 8])
    np.testing.assert_array_equal(opsdk.tril_indices(3, 4, 1).numpy(), np.tril_indices(3, 1, 4))
    np.testing.assert_array_equal(opsdk.triu_indices(3).numpy(), np.triu_indices(3))


def test_questions_of_any_value():
    x = opsdk.to_tensor([1.0])
    assert (opsdk.is_tensor(x), opsdk.is_tensor(np.ones(1))) == (True, False)
    assert (opsdk.is_floating_point(x), opsdk.is_floating_point(np.ones(1, complex))) == (True, False)
    assert (opsdk.is_complex(x), opsdk.is_complex(np.ones(1, complex))) == (False, True)
    assert (opsdk.is_integer(x), opsdk.is_integer(np.ones(1, int))) == (False, True)
    assert opsdk.clone(x).tolist() == [1]


def test_the_seed_in_the_words_of_pytorch():
    opsdk.manual_seed(7)
    first = opsdk.rand([3]).tolist()
    opsdk.seed(7)
    assert opsdk.rand([3]).tolist() == first


def test_printing_follows_its_options():
    before = dict(PRINTING)
    try:
        opsdk.set_printoptions(precision=2, threshold=3, edgeitems=1)
        assert "[0.12, ..., 0.12]" in repr(opsdk.full([5], 0.123456))
        with pytest.raises(
            AttributeValueError, match="set_printoptions: precision expected a whole number >= 0, got -1"
        ):
            opsdk.set_printoptions(precision=-1)
    finally:
        PRINTING.clear()
        PRINTING.update(before)


def test_a_device_is_a_place_by_its_name():
    assert opsdk.device("cpu") == opsdk.CPUPlace()
    assert opsdk.device("cuda", 1) == opsdk.device("cuda:1") == opsdk.CUDAPlace(1)
    assert (opsdk.device("cuda:1").type, opsdk.device("cuda:1").index) == ("cuda", 1)
    assert opsdk.ones([2]).to(opsdk.device("cpu")).device == opsdk.device("cpu")
    for wrong in ("tpu", None):
        with pytest.raises(PlaceError, match="device expected 'cpu', 'cuda', 'cuda:0' or a place, got"):
            opsdk.device(wrong)
    assert (opsdk.long, opsdk.float, opsdk.half) == (opsdk.int64, opsdk.float32, opsdk.float16)


def test_name_is_taken_everywhere_and_means_nothing():
    x = opsdk.ones([2, 3], name="ones")
    assert opsdk.abs(x, name="a").tolist() == x.tanh(name=None).atanh(name="b").round(name="c").tolist()
    assert x.reshape(shape=[3, 2], name="d").shape == x.view(shape=[3, 2]).shape == [3, 2]
    assert x.expand(size=[2, 2, 3]).shape == [2, 2, 3] and x.new_zeros(size=[2]).shape == [2]
    assert opsdk.zeros(size=(2, 3)).shape == [2, 3]
    with pytest.raises(TypeError, match="name"):
        opsdk.abs(x, name=3)


@pytest.mark.parametrize("name", ["is_complex", "is_floating_point", "is_integer", "rand_like", "randn_like"])
def test_of_what_is_no_value_there_is_a_named_error(name):
    with pytest.raises(DTypeError, match=f"{name}: expected a tensor or array, got object"):
        getattr(opsdk, name)(object())

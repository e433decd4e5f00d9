"""Tensors in other dtypes and at other places, in PyTorch's words."""

import numpy as np
import pytest

import opsdk
from opsdk.autograd.conversions import as_place
from opsdk.backends.cuda.runtime import can_run
from opsdk.core.errors import DTypeError, GraphError, PlaceError
from opsdk.core.place import CPU, CUDAPlace


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("double", "float64"),
        ("float", "float32"),
        ("half", "float16"),
        ("long", "int64"),
        ("int", "int32"),
        ("bool", "bool"),
    ],
)
def test_a_dtype_has_a_method(name, dtype):
    made = getattr(opsdk.to_tensor([0.0, 1.5]), name)()
    assert made.dtype == dtype
    np.testing.assert_array_equal(made.numpy(), np.array([0.0, 1.5]).astype(dtype))


def test_a_gradient_flows_back_to_the_first_dtype():
    x = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
    (x.to("float64") * 3).sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (np.float32, [3.0, 3.0])


def test_what_is_as_it_is_asked_for_is_handed_back():
    x = opsdk.to_tensor([1.0])
    other = opsdk.zeros([2], "float64")
    for same in (x.to("cpu"), x.to(CPU), x.to("float32"), x.to(device="cpu"), x.cpu(), x.contiguous()):
        assert same is x
    assert x.to(other).dtype == x.type_as(other).dtype == np.float64
    assert x.to("cpu", "float16").dtype == x.to(dtype="float16").dtype == np.float16


def test_places_go_by_name():
    assert as_place("cpu") == CPU
    assert as_place("cuda") == as_place("gpu:0") == CUDAPlace(0)
    assert as_place("cuda:3") == CUDAPlace(3)
    assert as_place("float32") is as_place("cuda:") is as_place(3) is None


@pytest.mark.skipif(can_run(), reason="a device is there")
def test_a_device_that_is_not_there_is_said():
    for move in (lambda x: x.cuda(), lambda x: x.to("cuda:0"), lambda x: x.to(device="gpu")):
        with pytest.raises((PlaceError, ImportError), match=r"(?i)cuda|cupy"):
            move(opsdk.ones([1]))


def test_a_gradient_that_would_end_at_a_device_is_told():
    made = opsdk.ones([1]).requires_grad_() * 2
    with pytest.raises(GraphError, match="to: expected a tensor outside of the graph, got one that needs a gradient"):
        made.cuda()


def test_what_names_no_place_is_refused():
    with pytest.raises(PlaceError, match="to: device expected 'cpu', 'cuda', 'cuda:0' or a place, got 'tpu'"):
        opsdk.ones([1]).to(device="tpu")
    with pytest.raises(DTypeError, match="expected one of"):
        opsdk.ones([1]).to("tpu")


def test_sizes_and_kinds_are_told():
    x = opsdk.zeros([2, 3])
    assert (x.numel(), x.dim(), x.ndimension(), x.element_size()) == (6, 2, 2, 4)
    assert x.is_contiguous()
    assert x.is_floating_point()
    assert not x.long().is_floating_point()
    turned = x[:, ::2]
    assert not turned.is_contiguous()
    assert turned.contiguous().is_contiguous()


def test_a_gradient_is_asked_for_and_kept_in_pytorchs_words():
    x = opsdk.ones([2]).requires_grad_()
    y = x * 2
    y.retain_grad()
    (y * 3).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([6.0, 6.0], [3.0, 3.0])
    assert x.requires_grad_(False).stop_gradient

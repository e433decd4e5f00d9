"""Tensors in other dtypes and at other places, in PyTorch's words."""

import numpy as np
import pytest

import opsdk
from opsdk.autograd.conversions import as_place
from opsdk.autograd.device_tensor import DeviceTensor, put
from opsdk.backends.cuda.runtime import can_run
from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.core.errors import DTypeError, PlaceError, ShapeError
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
    for same in (x.to("cpu"), x.to(CPU), x.to("float32"), x.to("cpu", non_blocking=True), x.cpu(), x.contiguous()):
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


def test_a_leaf_that_was_moved_after_its_forward_gets_no_gradient_of_another_place():
    for compute in (opsdk.exp, lambda x: (x * x).sum(), lambda x: opsdk.relu(x).sum()):
        x = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
        y = compute(x)
        put(x, SimulatedArray(np.array([1.0, 2.0], np.float32)))
        assert (type(x), x.place) == (DeviceTensor, CUDAPlace(0))
        with pytest.raises(PlaceError) as caught:
            y.sum().backward()
        assert str(caught.value) == (
            "backward: expected a leaf where the forward saw it, got one that was moved to Place(cuda:0) since; call "
            "the forward again"
        )
        assert x.grad is None


def test_what_names_no_cuda_device_is_refused():
    for name in ("cpu", "float32", False):
        with pytest.raises(PlaceError, match=f"cuda: device expected a number, 'cuda:0' or CUDAPlace.0., got {name!r}"):
            opsdk.ones([1]).cuda(name)


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


def test_what_a_tensor_is_in_numbers_and_words():
    x = opsdk.to_tensor(np.arange(6.0).reshape(2, 3))
    assert (x.nbytes, x.itemsize, x.element_size(), x.nelement()) == (48, 8, 8, 6)
    assert (x.is_cpu, x.is_cuda, x.device) == (True, False, x.place)
    assert (x.stride(), x.stride(1), x.t().stride()) == ((3, 1), 1, (1, 3))
    assert (x.is_complex(), x.is_integer(), x.is_signed(), x.is_floating_point()) == (False, False, True, True)
    assert x.type() == "float64"
    for method, dtype in {"short": "int16", "char": "int8", "byte": "uint8", "cfloat": "complex64"}.items():
        assert getattr(x, method)().dtype == x.type(dtype).dtype == np.dtype(dtype)
    assert x.is_same_size(x + 1)
    assert not x.is_same_size(x[0])
    assert x[0, 1].is_nonzero()
    assert x.grad_fn is None
    y = opsdk.to_tensor([1.0], stop_gradient=False) * 2
    assert y.grad_fn is not None
    assert y.detach_() is y
    assert (y.grad_fn, y.stop_gradient) == (None, True)


def test_new_tensors_have_the_dtype_of_the_old_one():
    x = opsdk.to_tensor(np.arange(6))
    for made, values in (
        (x.new_zeros(2, 1), [[0], [0]]),
        (x.new_ones([2]), [1, 1]),
        (x.new_full((2,), 7), [7, 7]),
        (x.new_tensor([3.0]), [3]),
    ):
        assert made.tolist() == values
        assert made.dtype == np.int64
    assert x.new_zeros(1, dtype="float32").dtype == np.float32


def test_views_share_memory_and_count_changes_together():
    leaf = opsdk.to_tensor(np.arange(6.0).reshape(2, 3), stop_gradient=False)
    x = leaf * 1.0
    for view in (
        x.view(3, 2),
        x.view([-1]),
        x.permute(1, 0),
        x.transpose(0, 1),
        x.narrow(1, 0, 2),
        x.select(0, 1),
        x.movedim(0, 1),
        x.unflatten(1, [3, 1]),
        x.mT,
        x.view_as(opsdk.zeros([6])),
        x.ravel(),
        x.tensor_split(2)[1],
    ):
        assert np.shares_memory(view._array, x._array)
        assert view.inplace_version == x.inplace_version
        assert not view.stop_gradient
    part = x.narrow(1, 0, 2)
    part.mul_(10.0)
    assert x.tolist() == [[0, 10, 2], [30, 40, 5]]
    x.sum().backward()
    assert leaf.grad.tolist() == [[10, 10, 1], [10, 10, 1]]


def test_a_view_that_would_be_a_copy_is_refused():
    x = opsdk.to_tensor(np.arange(6.0).reshape(2, 3)).t()
    with pytest.raises(ShapeError, match=r"view: expected elements that lie in order for shape \(6,\), got strides"):
        x.view(-1)
    assert x.reshape(-1).tolist() == [0, 3, 1, 4, 2, 5]


def test_numbers_are_given_as_a_list_or_one_after_another():
    x = opsdk.to_tensor(np.arange(6.0).reshape(1, 2, 3))
    for one, other in (
        (x.permute(2, 0, 1), x.permute([2, 0, 1])),
        (x.tile(2, 1, 1), x.tile([2, 1, 1])),
        (x.repeat(2, 1, 1), x.tile([2, 1, 1])),
        (x.flip(0, 2), x.flip([0, 2])),
        (x.transpose(1, 2), x.transpose([0, 2, 1])),
        (x.add(x, alpha=2), x * 3),
        (x.sub(1.0, alpha=2), x - 2),
        (x[0].H, x[0].t()),
        (x.mH, x.mT),
        ((x > 1).where(x, -x), opsdk.where(x > 1, x, -x)),
    ):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    with pytest.raises(DTypeError, match="where: as a method it is of the condition and expected bools, got float64"):
        x.where(x > 1, 0.0)

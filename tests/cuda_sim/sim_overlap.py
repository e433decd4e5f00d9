"""In-place CUDA kernels: what they read lies apart from what they change."""

import numpy as np
import pytest
from numba import cuda
from numpy.lib.stride_tricks import as_strided

import opsdk
from opsdk.autograd.device_tensor import DeviceTensor
from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.core.errors import InPlaceError


def plus(x, w):
    x += w


@pytest.fixture(params=["reference", "cuda"])
def add(request):
    """x += w, by the reference or by a kernel that reads what it has written already where the two are one memory."""
    op = opsdk.op("t::add(Tensor(a!) x, Tensor w) -> Tensor(a!) y")(plus)
    if request.param == "cuda":

        @op.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("x", threads=1))
        def add_cuda(x, w):
            i = cuda.grid(1)
            if i < x.size:
                x[i] += w[i]

    return op


def test_device_arrays_that_overlap_give_what_numpy_gives_in_every_call(add):
    for _ in range(9):
        array = SimulatedArray(np.arange(6.0))
        assert add(array[1:], array[:-1]).tolist() == [1, 3, 5, 7, 9]
        array = SimulatedArray(np.arange(5.0))
        assert add(array, array[::-1]).tolist() == [4, 4, 4, 4, 4]
        assert add(array, array).tolist() == [8, 8, 8, 8, 8]


def test_device_tensors_that_share_memory_give_what_numpy_gives_in_every_call(add):
    for _ in range(9):
        tensor = opsdk.to_tensor(np.arange(4.0), place=opsdk.CUDAPlace(0))
        with opsdk.no_grad():
            add(tensor, DeviceTensor(tensor._array[::-1]))
        assert tensor.tolist() == [3, 3, 3, 3]


def test_host_arrays_that_overlap_are_read_as_they_were(add):
    """A kernel of the device on arrays of the host, which are copied there and back."""
    for _ in range(9):
        array = np.arange(5.0)
        add(array, array[::-1])
        assert array.tolist() == [4, 4, 4, 4, 4]


def test_a_device_array_whose_elements_share_memory_is_not_changed_in_place(add):
    array = np.arange(6.0)
    windows, ones = SimulatedArray(as_strided(array, (4, 3), (8, 8))), SimulatedArray(np.ones((4, 3)))
    for x, w in ((windows, ones), (DeviceTensor(windows), DeviceTensor(ones))):
        with pytest.raises(InPlaceError, match=r"input 'x': expected an array .* whose elements share memory, going"):
            add(x, w)
    assert array.tolist() == [0, 1, 2, 3, 4, 5]


# -- states, with gradients beside -----------------------------------------------------------------------------------


@pytest.fixture(params=["reference", "cuda"])
def tracked(request):
    """x², which adds x to a state where one is given."""

    @opsdk.op("t::tracked(Tensor x, Tensor(a!)? seen=None) -> Tensor y", nondifferentiable=["seen"])
    def tracked(x, seen):
        if seen is not None:
            seen += x
        return x * x

    @tracked.backward
    def tracked_grad(x, dy):
        return 2 * x * dy

    if request.param == "cuda":

        @tracked.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("x", threads=1))
        def tracked_cuda(x, seen, y):
            i = cuda.grid(1)
            if i < x.size:
                y[i] = x[i] * x[i]
                if seen is not None:
                    seen[i] += x[i]

    return tracked


def test_a_state_on_a_device_is_moved_on_beside_the_gradient(tracked):
    state = opsdk.to_tensor(np.zeros(3), place=opsdk.CUDAPlace(0))
    view = state.reshape([3, 1])
    for turn in range(1, 3):
        x = opsdk.to_tensor(np.arange(3.0), place=opsdk.CUDAPlace(0), stop_gradient=False)
        tracked(x, state).sum().backward()
        assert x.grad.tolist() == [0, 2, 4]
        assert view.numpy().ravel().tolist() == [0, turn, 2 * turn]
    assert tracked(x).tolist() == [0, 1, 4]
    with pytest.raises(
        InPlaceError, match="'seen': expected a tensor outside of the graph, since no output passes its"
    ):
        tracked(x, x * 2.0)


def test_the_gradient_of_a_list_that_is_changed_on_a_device_is_that_of_the_host():
    @opsdk.op("t::scale_all_(Tensor(a!)[] xs, *, float k) -> Tensor(a!)[] ys")
    def scale_all_(xs, *, k):
        for x in xs:
            x *= k

    @scale_all_.backward
    def scale_all_grad(dys, k):
        return [k * dy for dy in dys]

    found = []
    for place in (opsdk.CPUPlace(), opsdk.CUDAPlace(0)):
        w = opsdk.to_tensor(np.arange(3.0), place=place, stop_gradient=False)
        first, second = scale_all_([w * 1.0, w * w], k=3.0)
        (first * 2.0 + second).sum().backward()
        found.append(w.grad.tolist())
    assert found == [[6, 12, 18]] * 2

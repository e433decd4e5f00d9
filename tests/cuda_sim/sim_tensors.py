"""Tensors at the simulated device: calls, gradients, moving, and what may not be mixed."""

import copy

import numpy as np
import pytest
from numba import cuda

import opsdk
from opsdk.autograd.device_tensor import DeviceTensor
from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.core.errors import (
    AliasError,
    DTypeError,
    InPlaceError,
    KernelNotFoundError,
    MixedRuntimeError,
    PlaceError,
    ReturnError,
    ShapeError,
    VersionError,
)
from opsdk.core.flags import set_flags

GPU = opsdk.CUDAPlace(0)
X = np.array([[-1.0, 2.0], [3.0, -4.0]])


@pytest.fixture
def relu():
    """An op with kernels of both kinds, which say that they ran."""

    @opsdk.op(namespace="t")
    def relu(x):
        raise AssertionError("the reference ran")

    @relu.backward
    def relu_grad(y, dy):
        raise AssertionError("the reference of the gradient ran")

    @relu.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y", threads=4))
    def kernel(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = max(x[i], 0)

    @relu.grad.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("dx", threads=4))
    def grad_kernel(y, dy, dx):
        i = cuda.grid(1)
        if i < dx.size:
            dx[i] = dy[i] if y[i] > 0 else 0

    return relu


def test_a_tensor_says_where_it_is(on_device):
    x = on_device(X)
    assert isinstance(x, opsdk.Tensor)
    assert (x.place, x.shape, x.dtype, x.ndim, x.size) == (GPU, [2, 2], np.float64, 2, 4)
    assert repr(x) == (
        "Tensor(shape=[2, 2], dtype=float64, place=Place(cuda:0), stop_gradient=True,\n"
        "       [[-1.,  2.],\n        [ 3., -4.]])"
    )


def test_values_come_to_the_host_as_copies(on_device):
    x = on_device(X)
    copy = x.numpy()
    copy[:] = 0
    assert (x.tolist(), np.asarray(x).tolist(), x[0, 1].item(), float(x[0, 1])) == (X.tolist(), X.tolist(), 2.0, 2.0)
    assert np.asarray(x, "float32").dtype == np.float32
    with pytest.raises(PlaceError, match="tensor: expected one in host memory, got one at Place\\(cuda:0\\)"):
        np.array(x, copy=False)


def test_tensors_move_between_places(on_device):
    x = on_device(X)
    back = opsdk.to_tensor(x, place=opsdk.CPUPlace())
    assert (type(back), back.place, back.tolist()) == (opsdk.Tensor, opsdk.CPUPlace(), X.tolist())
    again = opsdk.to_tensor(x, stop_gradient=False)
    assert (again.place, again.stop_gradient) == (GPU, False)
    with opsdk.no_grad():
        again.fill_(0)
    assert x.tolist() == X.tolist()
    assert opsdk.to_tensor(x, "float32").dtype == np.float32
    assert opsdk.to_tensor([1, 2], "float32", GPU).dtype == np.float32
    with pytest.raises(opsdk.core.errors.AttributeValueError, match="stop_gradient=False expected a float dtype"):
        opsdk.to_tensor([1], place=GPU, stop_gradient=False)


def test_only_one_device_is_simulated():
    with pytest.raises(PlaceError) as caught:
        opsdk.to_tensor([1.0], place=opsdk.CUDAPlace(1))
    assert str(caught.value) == (
        "to_tensor: expected CUDAPlace(0), the one device that is simulated, got Place(cuda:1)"
    )


def test_forward_and_backward_run_the_rows_of_the_place(relu, on_device):
    x = on_device(X, stop_gradient=False)
    for count in (1, 2):  # the first call of a kind is checked, later ones take its plan
        y = relu(x)
        y.backward(opsdk.to_tensor(np.full((2, 2), 3.0), place=GPU))
        assert (y.place, y.tolist()) == (GPU, np.maximum(X, 0).tolist())
        assert (x.grad.place, x.grad.tolist()) == (GPU, (3.0 * count * (X > 0)).tolist())


def test_plans_of_two_places_do_not_mix(relu, on_device):
    def reference(x):
        return np.full_like(x, 7)

    both = opsdk.op(reference, name="both", namespace="t")
    both.kernel("cuda", lambda x, y: write(y), language="numba", launch=opsdk.launch.elementwise("y", threads=4))
    for _ in range(3):
        assert both(opsdk.to_tensor(X)).tolist() == np.full((2, 2), 7).tolist()
        assert both(on_device(X)).tolist() == np.full((2, 2), 5).tolist()
        assert both(X).tolist() == np.full((2, 2), 7).tolist()
        assert both(SimulatedArray(X)).tolist() == np.full((2, 2), 5).tolist()


@cuda.jit(device=True)
def write(y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = 5


def test_gradients_through_built_in_ops_are_those_of_the_host(on_device):
    def gradients(x):
        y = opsdk.sum(opsdk.matmul(opsdk.exp(x * 0.5), opsdk.transpose(x, [1, 0])) + x[0], axis=0)
        opsdk.mean(opsdk.square(y) / 3.0).backward()
        return y.numpy(), x.grad.numpy()

    there = gradients(on_device(X, stop_gradient=False))
    here = gradients(opsdk.to_tensor(X, stop_gradient=False))
    for a, b in zip(there, here, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding_running_sums_and_their_gradients_are_those_of_the_host(mode, on_device):
    def padded(x):
        y = opsdk.cumsum(opsdk.pad(x, [(1, 0), (3, 2)] if mode != "reflect" else [(1, 0), (1, 1)], mode), axis=1)
        (first,) = opsdk.grad(opsdk.sum(y * y * y), x, create_graph=True)
        (second,) = opsdk.grad(opsdk.sum(first * first), x)
        assert y.place == first.place == second.place == x.place
        return y.numpy(), first.numpy(), second.numpy()

    tensors = on_device(X, stop_gradient=False), opsdk.to_tensor(X, stop_gradient=False)
    for there, here in zip(*map(padded, tensors), strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-13)
    assert opsdk.pad(on_device(X), [(0, 1), (0, 0)], value=-2.5).tolist() == [[-1, 2], [3, -4], [-2.5, -2.5]]
    assert opsdk.full_like(on_device(X), -1.5).tolist() == [[-1.5, -1.5]] * 2


def test_what_a_dtype_does_not_hold_is_refused_on_the_device():
    ranges = opsdk.find_op("opsdk::arange")
    assert ranges(SimulatedArray(np.zeros(3)), start=1, step=0.5, dtype=np.dtype("int32")).tolist() == [1, 1, 2, 2]
    with pytest.raises(DTypeError, match=r"expected whole numbers that int8 holds, from -128 to 127, got 128\.0"):
        ranges(SimulatedArray(np.zeros(129)), dtype=np.dtype("int8"))
    with pytest.raises(DTypeError, match=r"expected numbers that float16 holds, up to 65504, got 65600\.0"):
        ranges(SimulatedArray(np.zeros(65700)), step=65600.0, dtype=np.dtype("float16"))


def test_second_derivatives_stay_on_the_device(on_device):
    x = on_device(X, stop_gradient=False)
    (first,) = opsdk.grad(opsdk.sum(x * x * x), x, create_graph=True)
    (second,) = opsdk.grad(opsdk.sum(first), x)
    assert (first.place, second.place) == (GPU, GPU)
    np.testing.assert_allclose(second.numpy(), 6 * X)
    (with_cotangent,) = opsdk.grad(x * x, x, grad_outputs=on_device(X))
    np.testing.assert_allclose(with_cotangent.numpy(), 2 * X * X)


def test_an_unused_output_gives_zeros_on_the_device(on_device):
    @opsdk.op("t::parts(Tensor x) -> (Tensor a, Tensor b)")
    def parts(x):
        return x * 2.0, x * 3.0

    @parts.backward
    def parts_grad(da, db):
        assert isinstance(da, SimulatedArray)
        assert isinstance(db, SimulatedArray)
        return 2.0 * da + 3.0 * db

    parts.grad.backward(lambda ddx: (ddx * 2.0, ddx * 3.0))
    for create_graph in (False, True):
        x = on_device(X, stop_gradient=False)
        (dx,) = opsdk.grad(opsdk.sum(parts(x)[1]), x, create_graph=create_graph)
        assert (dx.place, dx.tolist()) == (GPU, np.full((2, 2), 3.0).tolist())


def test_hooks_and_interior_gradients_see_the_device(on_device):
    x = on_device(X, stop_gradient=False)
    y = x * 2.0
    y.retain_grads()
    seen = []
    x.register_hook(lambda grad: seen.append(grad.place) or grad * 10.0)
    opsdk.autograd.backward([opsdk.sum(y), opsdk.sum(y * 1.0)])
    assert seen == [GPU]
    assert (y.grad.place, y.grad.tolist()) == (GPU, np.full((2, 2), 2.0).tolist())
    assert x.grad.tolist() == np.full((2, 2), 40.0).tolist()
    x.clear_gradient()
    assert (x.grad.place, x.grad.tolist()) == (GPU, np.zeros((2, 2)).tolist())
    x.clear_grad(False)
    assert x.grad is None
    y.accumulate(on_device(X))
    assert y.grad.tolist() == (2.0 + X).tolist()


def test_a_broadcast_input_gets_its_gradient_summed_on_the_device(on_device):
    x, b = on_device(X, stop_gradient=False), on_device(np.ones(2), stop_gradient=False)
    opsdk.sum(x + b).backward()
    assert (b.grad.place, b.grad.tolist()) == (GPU, [2.0, 2.0])


def test_a_tensor_takes_values_from_either_side(on_device):
    x = on_device(X)
    for value in (X + 1, opsdk.to_tensor(X + 1), on_device(X + 1), SimulatedArray(X + 1)):
        x.zero_()
        x.set_value(value)
        assert x.tolist() == (X + 1).tolist()
    with pytest.raises(ShapeError, match=r"set_value: expected shape \(2, 2\), got \(3,\)"):
        x.set_value(np.ones(3))


@pytest.mark.parametrize("of", [np.asarray, np.ndarray.tolist, SimulatedArray, opsdk.to_tensor])
def test_a_value_that_the_dtype_does_not_hold_is_refused_wherever_it_is(on_device, of):
    x = on_device(np.array([7, 8], np.int32))
    with pytest.raises(DTypeError, match=r"set_value: expected whole numbers that int32 holds, .* got 1\.5; cast"):
        x.set_value(of(np.array([1.0, 1.5])))
    assert x.tolist() == [7, 8]
    x.set_value(of(np.array([1.0, -2.0])))
    assert (x.dtype, x.tolist()) == (np.int32, [1, -2])


@pytest.mark.parametrize("place", [None, GPU, opsdk.CPUPlace()])
def test_copies_in_another_dtype_hold_every_number(on_device, place):
    with pytest.raises(DTypeError, match=r"to_tensor: expected whole numbers that int32 holds, .* got inf"):
        opsdk.to_tensor(on_device([1.5, np.inf]), "int32", place)
    assert opsdk.to_tensor(on_device([1.5, -2.5]), "int32", place).tolist() == [1, -2]


def test_a_value_that_was_changed_in_place_is_seen_in_the_backward(relu, on_device):
    x = on_device(X, stop_gradient=False)
    y = relu(x)
    with opsdk.no_grad():
        y.detach().fill_(1.0)
    with pytest.raises(VersionError, match="backward needs 'y' as it was at version 0"):
        y.backward()
    with pytest.raises(InPlaceError, match="got a leaf that needs a gradient"):
        x.zero_()


def test_constants_go_to_the_device(on_device):
    x = on_device(X)
    for constant in (2.0, np.float64(2), np.array([2.0, 3.0]), [2.0, 3.0], SimulatedArray(np.array([2.0, 3.0]))):
        beside = getattr(constant, "host", constant)
        for made, wanted in ((x * constant, X * beside), (opsdk.add(constant, x), X + beside)):
            assert (made.place, made.tolist()) == (GPU, np.asarray(wanted).tolist())
    assert opsdk.add(SimulatedArray(X), 1.0).tolist() == (X + 1).tolist()
    assert np.exp(x).place == GPU
    assert opsdk.concat([x, x]).shape == [4, 2]


def test_places_do_not_mix_in_one_call(relu, on_device):
    here, there = opsdk.to_tensor(X), on_device(X)
    add = opsdk.add
    assert add(here, here).place == opsdk.CPUPlace()
    message = (
        "op 'opsdk::elementwise_add': input 'y' expected at {} like 'x', got one at {}; "
        "move it: opsdk.to_tensor(y, place=...)"
    )
    for left, right in ((there, here), (here, there), (SimulatedArray(X), X), (X, SimulatedArray(X))):
        places = ["Place(cpu)" if v is here or v is X else "Place(cuda:0)" for v in (left, right)]
        for _ in range(2):
            with pytest.raises(PlaceError) as caught:
                add(left, right)
            assert str(caught.value) == message.format(*places)
    with pytest.raises(MixedRuntimeError, match="got CUDA tensors and dynamic tensors in one call"):
        opsdk.concat([there, here])


def test_a_cotangent_is_at_the_place_of_its_tensor(relu, on_device):
    y = relu(on_device(X, stop_gradient=False))
    with pytest.raises(DTypeError, match=r"cotangent expected a tensor or array at Place\(cuda:0\), got Tensor"):
        y.backward(opsdk.to_tensor(X))


def test_a_reference_that_leaves_the_device_is_refused(on_device):
    leaving = opsdk.op(lambda x: np.ones(x.shape), name="leaving", namespace="t")
    with pytest.raises(ReturnError) as caught:
        leaving(on_device(X))
    assert str(caught.value) == (
        "op 't::leaving', output 'y': expected an array at Place(cuda:0) like its inputs, got ndarray"
    )


def test_a_reference_that_needs_the_host_says_that_it_ran_on_a_device(on_device):
    reading = opsdk.op(lambda x: np.array(x.tolist()) + np.asarray(x), name="reading", namespace="t")
    for _ in range(2):
        with pytest.raises(TypeError, match="is not converted to a NumPy array implicitly") as caught:
            reading(on_device(X))
        assert "op 't::reading' has no kernel for cuda; its reference ran on arrays at Place(cuda:0)" in "".join(
            caught.value.__notes__
        )


def test_a_reference_that_needs_the_host_in_a_later_call_says_so_too(on_device):
    @opsdk.op(namespace="t")
    def sometimes(x):
        return x + (np.asarray(x) if x.sum() > 10 else 1)

    sometimes(on_device(np.ones(3)))
    with pytest.raises(TypeError) as caught:
        sometimes(on_device(np.full(3, 9.0)))
    assert "op 't::sometimes' has no kernel for cuda; its reference ran on arrays at Place(cuda:0)" in "".join(
        caught.value.__notes__
    )


def test_what_a_reference_gives_is_held_to_the_infer_rule_in_every_call(on_device):
    @opsdk.op(namespace="t", infer=lambda x: x)
    def positive(x):
        return x[x > 0]

    assert positive(on_device(np.ones(3))).tolist() == [1, 1, 1]
    with pytest.raises(ShapeError, match=r"op 't::positive', output 'y': expected shape \(3,\) by its infer rule"):
        positive(on_device(np.array([1.0, -1.0, 1.0])))


def test_results_that_are_one_buffer_become_two(on_device):
    @opsdk.op("t::twice(Tensor x) -> (Tensor a, Tensor b)")
    def twice(x):
        made = x * 2
        return made, made

    for _ in range(2):
        a, b = twice(on_device(np.ones(3)))
        a.set_value(np.zeros(3))
        assert (a.tolist(), b.tolist()) == ([0, 0, 0], [2, 2, 2])


def test_a_number_for_an_input_that_is_changed_is_refused_beside_device_arrays():
    @opsdk.op("t::onto(Tensor(a!) x, Tensor w) -> Tensor(a!) y")
    def onto(x, w):
        x += w

    with pytest.raises(InPlaceError, match="input 'x': expected an array, since the op changes it in place, got float"):
        onto(1.0, SimulatedArray(np.ones(())))
    here = SimulatedArray(np.ones(2))
    assert onto(here, 2.0) is here and here.tolist() == [3, 3]


def test_what_a_reference_gives_is_held_to_dtype_and_alias(on_device):
    narrow = opsdk.op(lambda x: x.astype("float32"), name="narrow", namespace="t")
    same = opsdk.op(lambda x: x, name="same", namespace="t")
    part = opsdk.op(lambda x: x[:], name="part", namespace="t")
    with pytest.raises(DTypeError, match="output 'y': expected float64, got float32"):
        narrow(on_device(X))
    for op, what in ((same, "input 'x' itself"), (part, "a view of input 'x'")):
        with pytest.raises(AliasError, match=f"expected a new array, got {what}"):
            op(on_device(X))


def test_a_reference_may_give_a_plain_number(on_device):
    @opsdk.op(namespace="t", infer=lambda x: opsdk.TensorSpec((), x.dtype))
    def largest(x):
        return float(x.max())

    made = largest(on_device(X))
    assert (made.place, made.shape, made.item()) == (GPU, [], 3.0)


def test_an_op_without_a_row_or_reference_for_the_device_says_so(relu, on_device):
    relu.opdef.kernels.restore([])
    with pytest.raises(KernelNotFoundError, match=r"no kernel for \(cuda, float64\), and no reference that could"):
        relu(on_device(X))


def test_debug_mode_checks_every_call_on_the_device(relu, on_device):
    set_flags(debug=True)
    for _ in range(2):
        x = on_device(X, stop_gradient=False)
        opsdk.sum(relu(x)).backward()
        assert x.grad.tolist() == (X > 0).astype(float).tolist()


def test_a_composite_op_runs_and_is_differentiated_on_the_device(relu, on_device):
    @opsdk.op(namespace="t", composite=True)
    def bent(x):
        return relu(x) * 2.0

    x = on_device(X, stop_gradient=False)
    opsdk.sum(bent(x)).backward()
    assert (x.grad.place, x.grad.tolist()) == (GPU, (2.0 * (X > 0)).tolist())
    assert bent(SimulatedArray(X)).tolist() == (2 * np.maximum(X, 0)).tolist()


def test_a_tensor_of_the_device_detaches_and_copies(on_device):
    x = on_device(X, stop_gradient=False)
    view = x.detach()
    assert (type(view), view.stop_gradient, view._array is x._array) == (DeviceTensor, True, True)
    copied = copy.deepcopy(x)
    assert (copied.place, copied.tolist(), copied._array is x._array) == (GPU, X.tolist(), False)

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import DTypeError, NotRecordedError, ShapeError

A = np.array([1.0, 2.0, 4.0], np.float32)
B = np.array([3.0, 2.0, 0.5], np.float32)


@pytest.fixture
def x():
    return opsdk.to_tensor(A, stop_gradient=False)


@pytest.fixture
def constant():
    return opsdk.to_tensor(A)


UNARY = [np.exp, np.log, np.sqrt, np.square, np.absolute, np.tanh, np.negative, np.sign, np.logical_not]
BINARY = [
    *(np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.minimum),
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.matmul),
]


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_a_ufunc_of_one_tensor_is_its_op(x, function):
    made = function(x)
    assert type(made) is opsdk.Tensor
    np.testing.assert_allclose(made.numpy(), function(A), rtol=1e-6)


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("swapped", [False, True])
def test_a_ufunc_of_a_tensor_and_an_array_is_its_op(x, function, swapped):
    made = function(B, x) if swapped else function(x, B)
    assert type(made) is opsdk.Tensor
    np.testing.assert_allclose(made.numpy(), function(B, A) if swapped else function(A, B), rtol=1e-6)


def test_a_numpy_function_of_a_tensor_is_differentiated(x):
    np.sum(np.exp(x) * 2.0).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(A), rtol=1e-6)


@pytest.mark.parametrize("left", [B, np.float32(2), np.array(2.0, np.float32)], ids=["array", "scalar", "0-d"])
def test_arithmetic_with_numpy_values_on_the_left_gives_a_tensor(x, left):
    (left * x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.broadcast_to(left, 3))


FUNCTIONS = {
    "sum": lambda v: np.sum(v),
    "sum over an axis": lambda v: np.sum(v, axis=1, keepdims=True),
    "mean": lambda v: np.mean(v, 0),
    "max": lambda v: np.max(v, axis=1),
    "amin": lambda v: np.amin(v, axis=1),
    "reshape": lambda v: np.reshape(v, (3, 2)),
    "reshape flat": lambda v: np.reshape(v, -1),
    "transpose": lambda v: np.transpose(v),
    "transpose by axes": lambda v: np.transpose(v, (1, 0)),
    "squeeze": lambda v: np.squeeze(np.expand_dims(v, 0)),
    "concatenate": lambda v: np.concatenate([v, np.ones((2, 3), np.float32)], axis=0),
    "stack": lambda v: np.stack((v, v), axis=1),
    "sort": lambda v: np.sort(v),
    "sort by columns": lambda v: np.sort(v, axis=0, kind="stable"),
    "sort flat": lambda v: np.sort(-v, axis=None),
    "take along an axis": lambda v: np.take_along_axis(v, np.array([[2, 0], [1, 1]]), axis=1),
    "take along no axis": lambda v: np.take_along_axis(v, np.array([4, 4]), axis=None),
    "where": lambda v: np.where(v > 1.0, v, np.zeros((2, 3), np.float32)),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_numpy_function_with_an_op_is_recorded(function):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = function(opsdk.to_tensor(array, stop_gradient=False))
    assert not made.stop_gradient
    np.testing.assert_allclose(made.numpy(), function(array))


REFUSED = {
    "np.cbrt": lambda v: np.cbrt(v),
    "np.cumprod": lambda v: np.cumprod(v),
    "np.linalg.norm": lambda v: np.linalg.norm(v),
    "np.add.reduce": lambda v: np.add.reduce(v),
    "np.exp with out=": lambda v: np.exp(v, out=np.empty(3, np.float32)),
    "np.sum with dtype=": lambda v: np.sum(v, dtype=np.float64),
    "np.vstack": lambda v: np.vstack([A, v]),
}


@pytest.mark.parametrize(("name", "function"), REFUSED.items(), ids=REFUSED)
def test_a_function_without_an_op_is_refused_where_a_gradient_would_be_lost(x, name, function):
    with pytest.raises(TypeError) as caught:
        function(x)
    assert str(caught.value) == (
        f"{name}: no op is recorded for it, and a tensor of shape (3,) needs a gradient; "
        "use x.detach().numpy(), or define an op"
    )


def test_a_named_tensor_is_named_in_the_refusal(x):
    x.name = "weight"
    with pytest.raises(NotRecordedError, match=r"and tensor 'weight' of shape \(3,\) needs a gradient"):
        np.cbrt(x)


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED)
def test_a_function_without_an_op_gives_an_array_where_nothing_is_lost(x, constant, function):
    wanted = function(A)
    for value in (constant, x.detach()):
        made = function(value)
        assert isinstance(made, (np.ndarray, np.generic))
        np.testing.assert_array_equal(made, wanted)
    with opsdk.no_grad():
        np.testing.assert_array_equal(function(x), wanted)


def test_an_array_may_be_changed_by_a_tensor_in_place(x, constant):
    array = B.copy()
    array += constant
    np.testing.assert_array_equal(array, A + B)
    with pytest.raises(NotRecordedError, match=r"np\.add with out=: no op is recorded for it"):
        array += x


def test_a_tensor_is_not_written_to_by_numpy(constant):
    with pytest.raises(NotRecordedError, match=r"np\.exp: out expected a NumPy array, got a tensor; assign with"):
        np.exp(A, out=constant)


WRITES = {
    "np.add.at": lambda x: np.add.at(x, [0, 0], 1.0),
    "np.maximum.at": lambda x: np.maximum.at(x, [0], 9.0),
    "np.put_along_axis": lambda x: np.put_along_axis(x, np.array([1]), 5.0, 0),
    "np.put": lambda x: np.put(x, [1], 5.0),
    "np.copyto": lambda x: np.copyto(x, B),
    "np.place": lambda x: np.place(x, A > 1.0, [5.0]),
}


@pytest.mark.parametrize(("name", "function"), WRITES.items(), ids=WRITES)
def test_what_numpy_writes_to_is_refused_with_the_function_that_gives_a_new_value(constant, name, function):
    with opsdk.no_grad(), pytest.raises(NotRecordedError) as caught:
        function(constant)
    begin, _, instead = str(caught.value).partition("; ")
    assert begin == f"{name}: expected a NumPy array to change, got a tensor or Variable"
    assert instead.startswith(("index_add(x, index", "put_along_axis(x", "x[", "x.set_value(", "compute a new value"))
    assert constant.numpy().tolist() == A.tolist()


def test_positions_in_order_are_recorded_too(x, variable):
    assert np.argsort(-x).numpy().tolist() == [2, 1, 0]
    (got,) = static.Executor().run(variable.block.program, feed={"v": B}, fetch_list=[np.argsort(variable)])
    assert got.tolist() == [2, 1, 0]


def test_questions_and_explicit_conversions_are_answered_for_any_tensor(x, constant):
    assert np.allclose(x, A)
    assert np.array_equal(constant, x)
    assert np.shape(x) == (3,)
    assert np.ndim(x) == 1
    assert np.size(x) == 3
    assert np.argmax(x) == 2
    assert np.isfinite(x).tolist() == [True, True, True]
    assert np.all(x)
    assert np.zeros_like(x).tolist() == [0, 0, 0]
    assert np.array2string(x) == np.array2string(A)
    for value in (x.detach(), constant):
        assert type(np.asarray(value)) is np.ndarray
        np.testing.assert_allclose(value, A)
        np.testing.assert_array_equal(value, A)
    with opsdk.no_grad():
        np.testing.assert_array_equal(np.asarray(x), A)
    assert type(x.numpy()) is np.ndarray
    np.testing.assert_array_almost_equal(constant, A)


MASKED = np.ma.array(B, mask=[False, True, False])
INTO_ARRAYS = {
    "asarray": np.asarray,
    "array": np.array,
    "array of a dtype": lambda x: np.array(x, "float64"),
    "array of a list": lambda x: np.array([x, x]),
    "array of elements": lambda x: np.array([x[0], 1.0]),
    "a ufunc of a list": lambda x: np.exp([x, x]),
    "a ufunc of nested lists": lambda x: np.add([[x], [x]], 1),
    "sum of a list": lambda x: np.sum([x, x]),
    "mean of a list": lambda x: np.mean([x, x]),
    "maximum of a list": lambda x: np.max([x, x]),
    "product of elements": lambda x: np.prod([x[0], x[1]]),
    "average of a list": lambda x: np.average([x, x]),
    "an array beside a list": lambda x: np.add(B, [x, x]),
    "an array's method": lambda x: B.dot(x),
    "part of an array": lambda x: B.copy().__setitem__(slice(None), x),
    "masked times": lambda x: MASKED * x,
    "masked plus": lambda x: MASKED + x,
    "masked minus": lambda x: MASKED - x,
    "masked over": lambda x: MASKED / x,
    "masked power": lambda x: MASKED**x,
    "masked equal": lambda x: MASKED.__eq__(x),
    "masked less": lambda x: MASKED.__lt__(x),
    "a function of masked arrays": lambda x: np.ma.exp(x),
    "a masked array": lambda x: np.ma.array(x),
}


@pytest.mark.parametrize("call", INTO_ARRAYS.values(), ids=INTO_ARRAYS)
def test_numpy_makes_no_array_where_a_gradient_would_end_unsaid(x, constant, call):
    message = r"NumPy array: expected a value outside of the graph, and a tensor of shape .* needs a gradient, which"
    for value in (x, x * 2.0):
        with pytest.raises(NotRecordedError, match=message):
            call(value)
    wanted = call(A)
    for value in (constant, x.detach(), x.numpy()):
        np.testing.assert_array_equal(call(value), wanted)
    with opsdk.no_grad():
        np.testing.assert_array_equal(call(x), wanted)


def test_a_masked_array_on_the_left_keeps_its_mask_beside_a_constant(constant):
    np.testing.assert_array_equal((MASKED * constant).mask, MASKED.mask)


def test_lists_of_tensors_are_joined_by_ops(x):
    for made in (np.stack([x, x]), np.concatenate([x, x]), opsdk.stack([x, x])):
        assert not made.stop_gradient


@pytest.fixture
def variable():
    with static.program_guard(static.Program(), static.Program()):
        yield static.data("v", [3], "float32")


def test_numpy_functions_of_a_variable_are_recorded_in_the_program(variable):
    made = np.sum(np.exp(variable) + A)
    got = static.Executor().run(variable.block.program, feed={"v": B}, fetch_list=[made])[0]
    np.testing.assert_allclose(got, np.sum(np.exp(B) + A), rtol=1e-6)
    assert np.shape(variable) == (3,)


@pytest.mark.parametrize("function", [np.cbrt, np.cumprod, np.zeros_like], ids=lambda f: f.__name__)
def test_a_function_without_an_op_is_refused_for_a_variable(variable, function):
    with pytest.raises(
        NotRecordedError,
        match=f"np.{function.__name__}: no op is recorded for it, and variable 'v' has no value before an Executor",
    ):
        function(variable)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_no_axes_under_numpys_name_are_none_of_them(name, dtype):
    x = np.array([[1, 0, 4], [2, 2, 0]]).astype(dtype)
    function = getattr(np, name)
    for axis in ((), []) if name != "sum" else ((),):
        made = function(opsdk.to_tensor(x), axis=axis)
        expected = function(x, axis=())
        if name == "mean":
            expected = expected.astype(np.float32)  # of whole numbers, of which NumPy makes float64
        np.testing.assert_array_equal(made.numpy(), expected, strict=True)
    assert opsdk.sum(x, axis=[]) == x.sum()  # under ours, as Paddle has it, all of them


def test_no_axes_of_a_sum_hand_on_the_gradient(x):
    np.sum(np.sum(x, axis=()) * B).backward()
    np.testing.assert_array_equal(x.grad.numpy(), B)


def test_squeeze_under_numpys_name_refuses_an_axis_of_another_size():
    value = opsdk.to_tensor(np.ones((2, 1, 3)))
    with pytest.raises(ShapeError, match=r"np.squeeze: expected axes of size 1, got \(0,\) of shape \(2, 1, 3\)"):
        np.squeeze(value, axis=(0,))
    assert tuple(np.squeeze(value, axis=1).shape) == tuple(np.squeeze(value).shape) == (2, 3)
    assert tuple(np.squeeze(value, axis=()).shape) == (2, 1, 3)
    assert tuple(value.squeeze(0).shape) == (2, 1, 3)  # under ours, as Paddle has it, it stays


def test_a_size_0_under_numpys_name_is_a_size():
    value = opsdk.to_tensor(np.ones((2, 3)))
    for sizes in ((0, 3), (-1, 0)):
        with pytest.raises(ShapeError, match=r"np.reshape: expected sizes that hold the elements of shape \(2, 3\)"):
            np.reshape(value, sizes)
    assert tuple(np.reshape(opsdk.to_tensor(np.ones((0, 3))), (3, 0)).shape) == (3, 0)
    assert tuple(np.reshape(value, 6).shape) == (6,)
    assert tuple(value.reshape([0, -1]).shape) == (2, 3)  # under ours, as Paddle has it, the input's own


def test_the_reciprocal_of_whole_numbers_is_refused_where_numpy_drops_the_fraction():
    with pytest.raises(DTypeError, match=r"np.reciprocal: expected floats, got int64, of which"):
        np.reciprocal(opsdk.to_tensor(np.array([2])))


def test_concatenate_without_an_axis_is_flat(x):
    made = np.concatenate([x.reshape([3, 1]), x], axis=None)
    np.testing.assert_array_equal(made.numpy(), np.concatenate([A, A]))


def test_the_negative_of_bools_is_refused():
    with pytest.raises(DTypeError, match="x expected numbers, got bool"):
        np.negative(opsdk.to_tensor([True]))

import math
import operator

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, AxisError, DTypeError, InPlaceError, ShapeError


def leaf(values, dtype="float64"):
    return opsdk.to_tensor(np.array(values, dtype), stop_gradient=False)


# -- what it is -------------------------------------------------------------------------------------------------------


def test_a_tensor_says_what_it_is():
    t = opsdk.to_tensor(np.zeros((2, 3), "float32"))
    assert (t.shape, t.ndim, t.size, str(t.dtype), str(t.place)) == ([2, 3], 2, 6, "float32", "Place(cpu)")
    assert t.stop_gradient
    assert not t.requires_grad
    assert t.is_leaf
    assert not t.persistable


def test_repr_shows_shape_dtype_place_and_values():
    t = opsdk.to_tensor([1.0, 2.5], stop_gradient=False)
    assert repr(t) == ("Tensor(shape=[2], dtype=float32, place=Place(cpu), stop_gradient=False,\n       [1. , 2.5])")


def test_requires_grad_is_the_opposite_of_stop_gradient():
    t = opsdk.to_tensor([1.0])
    t.requires_grad = True
    assert not t.stop_gradient


def test_a_name_is_made_when_it_is_asked_for_and_can_be_set():
    t = opsdk.to_tensor([1.0])
    assert t.name.startswith("generated_tensor_")
    t.name = "mine"
    assert t.name == "mine"


# -- values -----------------------------------------------------------------------------------------------------------


def test_numpy_gives_a_copy():
    t = opsdk.to_tensor([1.0, 2.0])
    t.numpy()[0] = 9
    assert t.tolist() == [1.0, 2.0]


def test_numpy_reads_a_tensor_without_being_able_to_change_it():
    t = opsdk.to_tensor([1.0, 2.0])
    view = np.asarray(t)
    assert not view.flags.writeable
    assert np.array(t, dtype="float64").dtype == np.float64


def fill_element(x):
    np.zeros(1)[0] = x


@pytest.mark.parametrize("use", [float, math.exp, fill_element, lambda x: np.fromiter(x.reshape([1]), float)])
def test_a_float_of_what_needs_a_gradient_warns_that_the_gradient_ends(use):
    x = opsdk.to_tensor(2.5, stop_gradient=False) * 1.0
    with pytest.warns(UserWarning, match="^float: .* ends in the number; x.item") as told:
        use(x)
    assert told[0].filename == __file__
    use(x.detach())
    with opsdk.no_grad():
        use(x)
    assert (x.item(), int(x), bool(x), f"{x.item():.1f}") == (2.5, 2, True, "2.5")


def test_one_element_converts_to_python_numbers():
    assert opsdk.to_tensor([[2.5]]).item() == 2.5
    assert float(opsdk.to_tensor(2.5)) == 2.5
    assert int(opsdk.to_tensor(3)) == 3
    assert bool(opsdk.to_tensor(1.0))


def test_item_of_several_elements_is_refused():
    with pytest.raises(ShapeError, match=r"item: expected a tensor of one element, got shape \(2,\)"):
        opsdk.to_tensor([1.0, 2.0]).item()


def test_the_truth_of_several_elements_is_refused_where_pythons_max_asks_for_it_too():
    x = opsdk.to_tensor([[1.0, 2.0]])
    for ask in (bool, max, lambda each: max(each, 1), sorted):
        value = opsdk.to_tensor([[[1.0, 2.0]], [[0.0, 3.0]]]) if ask in (max, sorted) else x
        with pytest.raises(ShapeError, match=r"bool: expected a tensor of one .*x.any\(\).*write x.max\(\)"):
            ask(value)


@pytest.mark.parametrize("values", [([1, 2],), (2, 3), (1.5,), (opsdk.to_tensor([1.0]),)])
def test_a_tensor_is_not_made_of_what_is_no_array_and_the_text_says_what_makes_one(values):
    kind = type(values[0]).__name__
    with pytest.raises(DTypeError, match=f"Tensor: expected an array, .*got {kind}; opsdk.tensor and opsdk.to_tensor"):
        opsdk.Tensor(*values)
    assert opsdk.Tensor(np.ones(2)).tolist() == [1.0, 1.0]


def test_iteration_gives_the_rows():
    assert [row.tolist() for row in opsdk.to_tensor([[1.0], [2.0]])] == [[1.0], [2.0]]


def test_a_0d_tensor_has_no_length():
    with pytest.raises(ShapeError, match="len: expected a tensor of at least one dimension, got a 0-d tensor"):
        len(opsdk.to_tensor(1.0))


def test_an_array_on_the_left_gives_a_tensor():
    total = np.array([1.0, 2.0]) + leaf([10.0, 20.0])
    assert isinstance(total, opsdk.Tensor)
    assert total.tolist() == [11.0, 22.0]


def test_tensors_are_keys_by_identity():
    a, b = opsdk.to_tensor([1.0]), opsdk.to_tensor([1.0])
    assert len({a: 1, b: 2}) == 2


# -- changing it ------------------------------------------------------------------------------------------------------


def test_set_value_copies_and_converts():
    t = opsdk.to_tensor([1.0, 2.0])
    source = np.array([3, 4])
    t.set_value(source)
    source[0] = 9
    assert t.tolist() == [3.0, 4.0]
    assert t.dtype == np.float32


UNFIT = {
    "beyond": (300, "int8", "whole numbers? that int8 holds, from -128 to 127, got 300; cast the tensor first"),
    "negative": (-1, "uint8", "whole numbers? that uint8 holds, from 0 to 255, got -1"),
    "fraction": (1.5, "int64", r"got 1\.5; cast the tensor first"),
    "nan": (float("nan"), "int64", "got nan"),
    "infinite": (float("inf"), "int32", "got inf"),
    "beyond float32": (1e300, "float32", r"numbers? that float32 holds, up to 3\.40282e\+38, got 1e\+300"),
    "beyond float64": (10**400, "float64", "numbers? that float64 holds, .* got 10000000000000000000…"),
    "complex": (2j, "float64", "real numbers? for float64, got 2j; take the real part"),
    "two": (2, "bool", "0, 1, False or True for bool, got 2"),
}


@pytest.mark.parametrize("change", ["fill_", "set_value"])
@pytest.mark.parametrize(("value", "dtype", "text"), UNFIT.values(), ids=UNFIT)
def test_a_tensor_is_not_set_to_what_its_dtype_does_not_hold(change, value, dtype, text):
    t = opsdk.ones([], dtype)
    with pytest.raises(DTypeError, match=f"{change}: expected .*{text}"):
        getattr(t, change)(value)
    assert (t.tolist(), t.inplace_version) == (1, 0)


def test_a_tensor_is_set_to_numbers_of_another_dtype_that_its_own_holds():
    t = opsdk.zeros([2], "int8")
    t.set_value(np.array([-128.0, 127.0]))
    assert t.tolist() == [-128, 127]
    assert t.fill_(3.0).tolist() == [3, 3]
    assert t.fill_(opsdk.to_tensor(5)).tolist() == [5, 5]
    wide = opsdk.zeros([1], "float32")
    wide.set_value(np.array([0.1]))
    assert wide.item() == np.float32(0.1)
    assert wide.fill_(float("inf")).item() == np.inf


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ("3", DTypeError, "fill_, value: expected one of bool"),
        (None, DTypeError, r"fill_, value: expected a tensor, array or number, got builtins\.NoneType"),
        ([1.0, 2.0], ShapeError, r"fill_, value: expected one number, got shape \(2,\)"),
        (np.ma.array(1.0, mask=True), DTypeError, "expected an array without a mask"),
    ],
)
def test_a_tensor_is_filled_with_one_number(value, error, text):
    t = opsdk.zeros([2])
    with pytest.raises(error, match=text):
        t.fill_(value)
    assert t.tolist() == [0, 0]


def test_a_tensor_is_set_to_the_values_of_one_that_needs_a_gradient():
    t = opsdk.zeros([2])
    t.set_value(leaf([1.0, 2.0]) * 3.0)
    assert (t.tolist(), t.stop_gradient) == ([3.0, 6.0], True)


def test_set_value_of_another_shape_is_refused_and_changes_nothing():
    t = opsdk.to_tensor([1.0, 2.0])
    with pytest.raises(ShapeError, match=r"set_value: expected shape \(2,\), got \(3,\)"):
        t.set_value([1, 2, 3])
    assert t.tolist() == [1.0, 2.0]
    assert t.inplace_version == 0


def test_a_leaf_that_needs_a_gradient_is_not_changed_in_place():
    x = leaf([1.0])
    with pytest.raises(InPlaceError, match=r"fill_: expected a tensor without .* a leaf that needs a gradient"):
        x.fill_(0.0)
    assert x.tolist() == [1.0]


@pytest.mark.parametrize("change", [lambda x: x.fill_(0.0), lambda x: x.zero_()])
def test_a_leaf_may_be_changed_inside_no_grad(change):
    x = leaf([1.0, 2.0])
    with opsdk.no_grad():
        assert change(x) is x
    assert x.tolist() == [0.0, 0.0]
    assert not x.stop_gradient


def test_data_may_be_changed_without_no_grad():
    x = leaf([1.0, 2.0])
    x.data.fill_(7.0)
    assert x.tolist() == [7.0, 7.0]
    assert x.inplace_version == 1


def test_an_interior_tensor_that_is_overwritten_depends_on_nothing_any_more():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.fill_(5.0)
    assert y.stop_gradient
    (y * x).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_view_shares_memory_and_counter():
    t = opsdk.to_tensor([1.0, 2.0])
    view = t.reshape([2, 1])
    view.fill_(3.0)
    assert t.tolist() == [3.0, 3.0]
    assert t.inplace_version == view.inplace_version == 1


def test_detach_shares_memory_and_leaves_the_graph():
    x = leaf([1.0])
    assert x.detach().stop_gradient
    assert np.shares_memory(x.detach(), x)


def test_clone_has_memory_of_its_own_and_stays_in_the_graph():
    x = leaf([1.0, 2.0])
    y = x.clone()
    assert not np.shares_memory(y, x)
    (y * 3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


# -- gradients --------------------------------------------------------------------------------------------------------


def test_backward_of_a_non_scalar_starts_from_ones():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    (x * x).backward()
    assert x.grad.tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_gradients_accumulate_until_they_are_cleared():
    x = leaf([1.0, 2.0])
    (x * 3.0).backward()
    (x * 4.0).backward()
    assert x.grad.tolist() == [7.0, 7.0]
    x.clear_gradient()
    assert x.grad.tolist() == [0.0, 0.0]
    (x * 5.0).backward()
    assert x.grad.tolist() == [5.0, 5.0]
    x.clear_gradient(set_to_zero=False)
    assert x.grad is None


def test_gradients_of_0d_tensors_accumulate_as_tensors():
    x = opsdk.to_tensor(3.0, stop_gradient=False)
    for _ in range(2):
        (x * x).backward()
    assert x.grad.tolist() == 12.0
    assert x.grad.fill_(1.0).tolist() == 1.0


def test_gradient_gives_an_array():
    x = leaf([1.0])
    assert x.gradient() is None
    (x * 2.0).backward()
    assert x.gradient().tolist() == [2.0]


def test_a_gradient_may_be_given_as_the_start():
    x = leaf([1.0, 2.0])
    (x * x).backward(opsdk.to_tensor(np.array([10.0, 100.0])))
    assert x.grad.tolist() == [20.0, 400.0]


def test_backward_of_a_leaf_gives_it_ones():
    x = leaf([1.0, 2.0])
    x.backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_an_integer_tensor_cannot_ask_for_a_gradient():
    with pytest.raises(AttributeValueError, match="to_tensor: stop_gradient=False expected a float dtype, got int64"):
        opsdk.to_tensor([1, 2], stop_gradient=False)


def test_a_tensor_with_stop_gradient_in_the_middle_cuts_the_graph():
    x = leaf([1.0])
    y = x * 2.0
    y.stop_gradient = True
    (y * x).backward()
    assert x.grad.tolist() == [2.0]


@pytest.mark.parametrize("change", [lambda y: y.fill_(0), lambda y: y.set_value(np.zeros(4, np.float32))])
def test_a_view_of_a_base_that_is_overwritten_depends_on_nothing_any_more(change):
    x = opsdk.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=False)
    y = x * 2.0
    view = y.reshape([2, 2])
    change(y)
    assert view.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert view.stop_gradient
    (view.reshape([4]) * x).sum().backward()
    assert x.grad.numpy().tolist() == [0.0] * 4


# -- what indexing makes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("taken", ["x[::2]", "x[0]", "x[...]", "x[0].detach()", "x[0].data", "x[1:].reshape([3])"])
@pytest.mark.parametrize(
    "change, wanted",
    [
        (lambda t: t.fill_(9.0), lambda a: np.full_like(a, 9.0)),
        (lambda t: t.zero_(), np.zeros_like),
        (lambda t: t.set_value(np.full(t.shape, 4.0)), lambda a: np.full_like(a, 4.0)),
        (lambda t: add_one_(t), lambda a: a + 1),
    ],
    ids=["fill_", "zero_", "set_value", "op"],
)
def test_what_indexing_made_is_a_part_of_the_whole(taken, change, wanted):
    x = opsdk.to_tensor(np.arange(6.0).reshape(2, 3))
    part = eval(taken, {"x": x})
    made = wanted(part.numpy())
    change(part)
    assert part.tolist() == made.tolist()
    assert eval(taken, {"x": x}).tolist() == made.tolist()


def test_a_clone_of_what_indexing_made_is_changed_in_place():
    x = opsdk.to_tensor(np.arange(6.0).reshape(2, 3))
    assert x[0].clone().fill_(9.0).tolist() == [9.0] * 3
    assert (x[0] + 1.0).zero_().tolist() == [0.0] * 3


def test_rows_of_an_iteration_are_views():
    x = opsdk.to_tensor(np.ones((2, 2)))
    for row in x:
        row.zero_()
    assert x.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@opsdk.op("tests_tensor::add_one_(Tensor(a!) x) -> ()")
def add_one_(x):
    x += 1


AUGMENTED = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "**=": operator.ipow,
}  # fmt: skip


@pytest.mark.parametrize("change", AUGMENTED.values(), ids=AUGMENTED)
def test_augmented_assignment_makes_another_tensor_of_what_is_recorded(change):
    plain = {operator.iadd: 5.0, operator.isub: 1.0, operator.imul: 6.0, operator.itruediv: 1.5, operator.ipow: 9.0}
    x = opsdk.to_tensor([3.0], stop_gradient=False)
    for same in (x, x.detach(), x * 1.0):
        made = change(same, 2.0)
        assert made.tolist() == [plain[change]]
        assert same.tolist() == [3.0]
        assert made.stop_gradient is same.stop_gradient
    array = np.array([3.0])
    assert change(array, opsdk.to_tensor([2.0])).tolist() == [plain[change]]


@pytest.mark.parametrize("change", AUGMENTED.values(), ids=AUGMENTED)
def test_augmented_assignment_of_a_leaf_inside_no_grad_is_refused_as_it_would_train_nothing(change):
    weight = opsdk.nn.Parameter(np.array([3.0]))
    with opsdk.no_grad():
        with pytest.raises(InPlaceError, match=r"augmented assignment: expected recording, .*x\.copy_\(x - y\)"):
            change(weight, 2.0)
        assert change(weight * 1.0, 1.0).stop_gradient
    assert weight.tolist() == [3.0]


def test_data_may_be_set_outside_of_the_tape():
    w = opsdk.nn.Parameter(np.array([1.0, 2.0]))
    alias = w.detach()
    w.data = opsdk.to_tensor(np.array([3.0, 4.0]))
    w.data *= 2.0
    assert (w.tolist(), alias.tolist(), w.is_leaf, w.stop_gradient) == ([6.0, 8.0], [6.0, 8.0], True, False)
    for wrong in (opsdk.ones([2]), opsdk.ones([3], dtype="float64"), [1.0, 2.0]):
        with pytest.raises(AttributeValueError, match=r"data: expected a tensor of float64 \[2\] at Place\(cpu\), got"):
            w.data = wrong
    assert w.tolist() == [6.0, 8.0]


def test_size_is_a_number_and_called_the_sizes():
    x = opsdk.zeros([2, 3])
    assert x.size == 6 and x.size() == x.shape == [2, 3]
    assert (x.size(0), x.size(-1), x.size(dim=1)) == (2, 3, 3)
    with pytest.raises(AxisError, match=r"size: axis expected in \[-2, 2\), got 2"):
        x.size(2)


def test_a_format_is_that_of_the_one_element():
    assert f"{opsdk.to_tensor([1.23456]).sum():.3f}" == "1.235"
    assert f"{opsdk.to_tensor([7]):>4}" == "   7"
    x = opsdk.to_tensor([1.0, 2.0])
    assert f"{x}" == str(x)
    with pytest.raises(ShapeError, match="expected a tensor of one element"):
        f"{x:.3f}"

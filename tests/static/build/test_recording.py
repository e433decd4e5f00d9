import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ArityError, AttributeValueError, InPlaceError, ProgramError


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float32")


def test_results_are_named_after_the_op_and_numbered(x):
    assert [opsdk.relu(x).name, opsdk.relu(x).name] == ["relu_0.tmp_0", "relu_1.tmp_0"]


def test_reductions_are_named_without_their_prefix(x):
    assert opsdk.mean(x).name == "mean_0.tmp_0"


def test_a_name_that_is_taken_is_not_given_again(block, fetch, x):
    taken = block.create_var("relu_0.tmp_0", [None, 3], "float32")
    block.append_op("tanh", {"x": x}, {"out": taken})
    made = opsdk.relu(x)
    row = np.full((1, 3), -1.0, np.float32)
    assert (made.name, *fetch([taken, made], x=row)[1][0]) == ("relu_0.tmp_0_1", 0.0, 0.0, 0.0)


def test_several_outputs_come_as_a_tuple_with_numbered_names(x):
    label = static.data("label", [None, 1], "int64")
    softmax, loss = opsdk.find_op("softmax_with_cross_entropy")(x, label)
    assert (softmax.name, loss.name) == ("softmax_with_cross_entropy_0.tmp_0", "softmax_with_cross_entropy_0.tmp_1")


def test_a_list_of_outputs_comes_as_a_list(fetch, x):
    @opsdk.op("test_ops::columns(Tensor x) -> Tensor[] out", infer=lambda x: [type(x)((x.shape[0],), x.dtype)] * 3)
    def columns(x):
        return [x[:, i].copy() for i in range(3)]

    found = fetch(columns(x), x=np.array([[1.0, 2.0, 3.0]], np.float32))
    assert [float(column[0]) for column in found] == [1.0, 2.0, 3.0]


def test_a_list_of_inputs_may_hold_constants(fetch, x):
    y = opsdk.concat([x, np.ones((1, 3), np.float32)])
    np.testing.assert_array_equal(fetch(y, x=np.zeros((1, 3), np.float32)), [[0.0] * 3, [1.0] * 3])


def test_shapes_are_inferred_with_sizes_that_are_not_known(x):
    assert (x @ np.ones((3, 5), np.float32)).shape == (-1, 5)


def test_attributes_are_recorded_in_full(block, x):
    opsdk.softmax(x)
    assert block.ops[0].all_attrs() == {"axis": -1}


def test_an_attribute_of_another_type_is_refused(x):
    with pytest.raises(AttributeValueError, match="attribute 'axis' expected int, got 'last'"):
        opsdk.softmax(x, axis="last")


def test_none_for_an_input_that_is_not_optional_is_refused(x):
    with pytest.raises(ArityError, match="input 'y' expected a tensor, got None"):
        opsdk.add(x, None)


def test_an_absent_input_stays_absent(block, fetch, x):
    @opsdk.op("test_ops::shift(Tensor x, Tensor? by=None) -> Tensor out")
    def shift(x, by=None):
        return x + (1 if by is None else by)

    y = shift(x)
    assert (block.ops[0].input("by"), fetch(y, x=np.zeros((1, 3), np.float32))[0, 0]) == ([], 1.0)


def test_an_output_of_unknown_rank_is_refused_and_nothing_is_recorded(main, state, x):
    @opsdk.op("test_ops::pair(Tensor x) -> (Tensor a, Tensor b)", infer=lambda x: (x, None))
    def pair(x):
        return x + 0, x[x > 0]

    before = state(main)
    with pytest.raises(ProgramError, match="output 'b': expected a spec from its infer rule, got None; a Program"):
        pair(x)
    assert state(main) == before


def test_an_update_hands_its_parameter_on():
    weight = static.create_parameter([3], "float32")
    sgd = opsdk.find_op("sgd")
    assert sgd(weight, np.ones(3, np.float32), np.array([0.1], np.float32)) is weight


def test_what_changes_a_parameter_is_an_update(block):
    weight = static.create_parameter([3], "float32")
    opsdk.find_op("sgd")(weight, np.ones(3, np.float32), np.array([0.1], np.float32))
    assert block.ops[-1].role == "optimize"


def test_an_op_that_a_graph_holds_is_marked_as_used(x):
    @opsdk.op(namespace="test_ops")
    def twice(x):
        return 2 * x

    before = twice.opdef.usage.in_graph
    twice(x)
    assert (before, twice.opdef.usage.in_graph) == (False, True)


def test_an_op_that_is_defined_anew_leaves_a_program_as_it_was(fetch, x):
    op = opsdk.register_op("test_ops::factor", forward=lambda x: x * 2)
    y = op(x)
    opsdk.register_op("test_ops::factor", forward=lambda x: x * 100, replace=True)
    assert fetch(y, x=np.ones((1, 3), np.float32))[0, 0] == 2.0


def test_an_output_that_is_declared_not_differentiable_carries_no_gradient():
    logits = static.create_parameter([2, 3])
    label = static.data("label", [2, 1], "int64")
    softmax, loss = opsdk.find_op("softmax_with_cross_entropy")(logits, label)
    assert (softmax.stop_gradient, loss.stop_gradient) == (True, False)


def test_what_indexing_made_is_not_changed_in_place(main, state):
    add_one_ = opsdk.op("tests::add_one_(Tensor(a!) x) -> ()")(lambda x: x.__iadd__(1) is None)
    x = static.data("x", [2, 3], "float64")
    part = x[0]
    before = state(main)
    with pytest.raises(InPlaceError, match=r"input 'x': expected a whole variable, got 'getitem_0.tmp_0', which index"):
        add_one_(part)
    assert state(main) == before
    add_one_(part.clone())

import copy
import pickle
import re

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AttributeValueError, ProgramError


@pytest.fixture
def operator(block):
    x = static.data("x", [None, 3], "float32")
    static.nn.fc(x, 2, bias_attr=False)
    return block.ops[0]


@pytest.mark.parametrize("slot", ["x", "X"])
def test_an_input_is_found_as_the_schema_and_as_paddle_spell_it(operator, slot):
    assert operator.input(slot) == ["x"]


@pytest.mark.parametrize("slot", ["out", "Out"])
def test_an_output_is_found_as_the_schema_and_as_paddle_spell_it(operator, slot):
    assert operator.output(slot) == ["fc_0.tmp_0"]


def test_changing_the_names_that_were_returned_changes_nothing(operator):
    operator.input("x").clear()
    assert operator.input("x") == ["x"]


@pytest.mark.parametrize(("role", "kept"), [("input", "x, y"), ("output", "out")])
def test_an_unknown_slot_is_refused_and_lists_the_known(operator, role, kept):
    with pytest.raises(ProgramError, match=f"operator 'mul': no {role} slot is called 'z'; there are {kept}"):
        getattr(operator, role)("z")


def test_all_names_are_listed_in_order(operator):
    assert (operator.input_arg_names, operator.output_arg_names) == (["x", "fc_0.w_0"], ["fc_0.tmp_0"])


def test_attributes_are_read_by_name(operator):
    assert operator.attr("x_num_col_dims") == 1


def test_an_unknown_attribute_is_refused_and_lists_the_known(operator):
    with pytest.raises(ProgramError, match="no attribute is called 'axis'; there are x_num_col_dims, y_num_col_dims"):
        operator.attr("axis")


def test_it_tells_which_attributes_it_has(operator):
    assert (operator.has_attr("x_num_col_dims"), operator.has_attr("axis")) == (True, False)


def test_attribute_names_and_values_are_listed(operator):
    assert operator.attr_names == list(operator.all_attrs()) == ["x_num_col_dims", "y_num_col_dims"]


def test_it_knows_the_line_that_appended_it(operator):
    assert str(operator.origin).startswith("tests/static/ir/test_operator.py:") or "test_operator.py:" in str(
        operator.origin
    )


def test_it_prints_outputs_type_inputs_and_attributes(operator):
    assert str(operator) == (
        "{out=['fc_0.tmp_0']} = mul(inputs={x=['x'], y=['fc_0.w_0']}, x_num_col_dims = 1, y_num_col_dims = 1, "
        "op_role = forward)"
    )


def test_an_op_of_another_package_prints_with_its_identity(block):
    import opsdk

    @opsdk.op(namespace="test_ops")
    def twice(x):
        return 2 * x

    twice(static.data("x", [2], "float32"))
    assert "= test_ops::twice@1(inputs={x=['x']}" in str(block.ops[0])


def test_a_py_func_has_that_type_and_prints_the_callable(block):
    x = static.data("x", [2], "float32")

    def thrice(x):
        return 3 * x

    static.py_func(thrice, x, block.create_var("y", [2], "float32"))
    assert (block.ops[0].type, "= py_func::thrice@1(" in str(block.ops[0])) == ("py_func", True)


def test_a_gradient_that_nobody_wants_has_no_name(block):
    loss = static.nn.fc(static.data("x", [None, 3], "float32"), 2, bias_attr=False).sum()
    static.append_backward(loss)
    operator = block.ops[-1]
    assert (operator.output("dx"), operator.output_arg_names) == ([""], ["fc_0.w_0@GRAD"])


def test_a_gradient_operator_tells_what_each_gradient_is_of(block):
    loss = static.nn.fc(static.data("x", [None, 3], "float32"), 2).sum()
    static.append_backward(loss)
    assert block.ops[-2].like == {"fc_0.tmp_0@GRAD": "fc_0.tmp_0", "fc_0.b_0@GRAD": "fc_0.b_0"}


CHANGES = {
    "an entry": lambda op: op.attrs.__setitem__("scale", 9.0),
    "an update": lambda op: op.attrs.update(scale=9.0),
    "a removal": lambda op: op.attrs.pop("scale"),
    "other attributes": lambda op: setattr(op, "attrs", {"scale": 9.0}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_attributes_are_read_alone_since_a_gradient_holds_those_of_its_forward(change):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [2], "float32")
        loss = (x * 3.0).sum()
        (dx,) = static.gradients(loss, x)
    (scaled,) = [op for op in main.global_block().ops if op.type == "scale" and op.attr("scale") == 3.0][:1]
    assert pickle.loads(pickle.dumps(scaled.attrs)) == copy.deepcopy(scaled.attrs) == scaled.all_attrs()
    with pytest.raises(ProgramError, match="attrs of an operator: expected to be read, got a change; append another"):
        change(scaled)
    value, gradient = static.Executor().run(main, feed={"x": np.ones(2, "float32")}, fetch_list=[loss, dx])
    assert (value, gradient.tolist()) == (6.0, [3.0, 3.0])


def test_callables_are_printed_by_name_copied_and_pickled_where_they_can_be_imported(block):
    x = static.data("x", [None, 3], "float32")
    op = opsdk.op("test_ops::called(Tensor x, *, Callable f) -> Tensor y")(lambda x, f: f(x))
    op(x, f=np.square)
    op(x, f=lambda x: x)
    named, nameless = block.ops
    assert ", f = square," in str(named)
    assert re.search(r", f = \S*<lambda> at \S*test_operator.py:\d+,", str(nameless))
    assert pickle.loads(pickle.dumps(named.attrs)) == {"f": np.square}
    assert copy.deepcopy(nameless.attrs) == nameless.attrs
    with pytest.raises(AttributeValueError, match="attrs of an operator, 'f': expected a callable that can be"):
        pickle.dumps(nameless.attrs)

from collections import namedtuple

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, ReturnError
from opsdk.jit.tracing import argument_names, leaves, mapped, trace
from opsdk.static import InputSpec

SPEC = InputSpec([None, 2], "float32")
Pair = namedtuple("Pair", "a b")


def test_what_is_traced_is_the_calls_with_names_of_arguments():
    traced = trace(lambda image, *, by: opsdk.relu(image) * by, [SPEC], {"by": SPEC}, "trace")
    assert traced.names == ["image", "by"]
    assert [operator.type for operator in traced.program.global_block().ops] == ["relu", "elementwise_mul"]
    assert traced.wanted == [traced.outputs.name]


def test_a_layers_tensors_stand_in_and_no_value_moves():
    net = nn.Linear(2, 3)
    before = net.weight.numpy().tobytes()
    traced = trace(net.forward, [SPEC], {}, "trace")
    assert {id(tensor) for tensor in traced.state.values()} == {id(net.weight), id(net.bias)}
    assert net.weight.numpy().tobytes() == before


def test_no_generator_moves():
    opsdk.seed(3)
    expected = opsdk.rand([2]).numpy()
    opsdk.seed(3)
    trace(lambda x: nn.functional.dropout(x, 0.5), [SPEC], {}, "trace")
    assert np.array_equal(opsdk.rand([2]).numpy(), expected)


def test_what_does_not_depend_on_the_inputs_is_a_constant():
    traced = trace(lambda x: (x, opsdk.to_tensor([2.0])), [SPEC], {}, "trace")
    assert traced.outputs[1].value.tolist() == [2.0]


def test_inputs_are_numbered_where_an_argument_has_several():
    assert argument_names(lambda a, pair, **more: 0, [SPEC, [SPEC, SPEC]], {"c": SPEC}) == [
        "a",
        "pair_0",
        "pair_1",
        "more",
    ]


def test_arguments_that_a_function_does_not_take_are_told():
    with pytest.raises(
        AttributeValueError, match=r"input_spec: expected what .*<lambda> takes, too many positional arg"
    ):
        trace(lambda x: x, [SPEC, SPEC], {}, "trace")


def test_a_result_of_something_else_is_told():
    with pytest.raises(
        ReturnError, match=r"trace: expected tensors, numbers, texts and None, in lists, .* returned set"
    ):
        trace(lambda x: [x, {1}], [SPEC], {}, "trace")


def test_leaves_and_structures():
    value = {"a": [1, (2, None)], "b": Pair(3, "x")}
    assert leaves(value) == [1, 2, None, 3, "x"]
    found = mapped(value, int, lambda n: n * 10)
    assert found == {"a": [10, (20, None)], "b": Pair(30, "x")}
    assert type(found["b"]) is Pair

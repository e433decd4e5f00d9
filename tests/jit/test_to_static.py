import copy
import pickle
import threading

import numpy as np
import pytest

import opsdk
from opsdk import jit, nn, static
from opsdk.core.errors import AttributeValueError, DTypeError, ProgramError, ShapeError
from opsdk.jit.to_static import StaticFunction
from opsdk.static import InputSpec


class Counted(nn.Layer):
    """A layer that counts how often its Python code runs."""

    def __init__(self):
        super().__init__()
        self.line, self.runs = nn.Linear(2, 2), 0

    def forward(self, x, by=2.0):
        self.runs += 1
        return self.line(x) * by


@pytest.fixture
def net():
    return jit.to_static(Counted())


def test_python_runs_once_for_a_kind_of_call(net):
    for rows in (1, 1, 3, 1):
        net(opsdk.ones([rows, 2]))
    assert net.runs == 2
    net(opsdk.ones([1, 2]), by=3.0)
    net(opsdk.ones([1, 2]), 3.0)
    net.eval()
    net(opsdk.ones([1, 2]))
    assert net.runs == 5
    with opsdk.no_grad():
        assert net(opsdk.ones([1, 2])).stop_gradient
    assert net.runs == 6


def test_open_sizes_are_one_kind():
    net = jit.to_static(Counted(), input_spec=[InputSpec([None, 2])])
    for rows in (1, 2, 3):
        assert tuple(net(opsdk.ones([rows, 2])).shape) == (rows, 2)
    assert net.runs == 1


def test_parameters_are_those_of_the_layer(net):
    x = opsdk.ones([1, 2])
    net(x)
    net.line.weight.set_value(np.zeros((2, 2), "float32"))
    net.line.bias.set_value(np.float32([1, 2]))
    y = net(x)
    assert y.numpy().tolist() == [[2.0, 4.0]]
    y.sum().backward()
    assert net.line.bias.grad.numpy().tolist() == [2.0, 2.0]
    assert net.runs == 1


def test_a_parameter_or_hook_that_is_another_is_traced_anew(net):
    x = opsdk.ones([1, 2])
    net(x)
    net.line = nn.Linear(2, 2)
    assert np.array_equal(net(x).numpy(), net.line(x).numpy() * 2)
    net.line.register_forward_post_hook(lambda layer, inputs, output: output * 0)
    assert not net(x).numpy().any()


def test_a_method_and_a_function_with_a_layer_are_traced_for_what_they_read():
    line = nn.Linear(2, 2)

    @jit.to_static
    def twice(x):
        return line(x) * 2

    x = opsdk.ones([1, 2])
    assert np.array_equal(twice(x).numpy(), line(x).numpy() * 2)
    line.bias.set_value(np.float32([5, 5]))
    assert np.array_equal(twice(x).numpy(), line(x).numpy() * 2)


class Decorated(nn.Layer):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(2, 2)

    @jit.to_static
    def forward(self, x):
        return self.line(x)


def test_each_object_of_a_class_has_its_own():
    first, second, x = Decorated(), Decorated(), opsdk.ones([1, 2])
    for net in (first, second):
        assert np.array_equal(net(x).numpy(), net.line(x).numpy())
    assert first.forward is first.forward is not second.forward
    assert isinstance(Decorated.forward, StaticFunction)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_a_copy_is_of_its_own_parameters(copied):
    net, x = jit.to_static(nn.Sequential(nn.Linear(2, 2))), opsdk.ones([1, 2])
    expected = net(x).numpy()
    other = copied(net)
    other[0].weight.set_value(np.zeros((2, 2), "float32"))
    other[0].bias.set_value(np.zeros(2, "float32"))
    assert not other(x).numpy().any()
    assert np.array_equal(net(x).numpy(), expected)


def test_structures_and_arrays_go_in_and_out():
    @jit.to_static
    def function(pair, *, more, name="n"):
        return {name: pair[0] + pair[1], "more": [more["z"], None, 3]}

    one = np.float32([1.0])
    found = function((one, opsdk.ones([1])), more={"z": opsdk.zeros([1])}, name="sum")
    assert (list(found), found["sum"].item(), found["more"][1:]) == (["sum", "more"], 2.0, [None, 3])


def test_arguments_that_have_no_hash_are_told_apart():
    function = jit.to_static(lambda x, table: x * table["by"])
    assert [function(opsdk.ones([1]), {"by": by}).item() for by in (2.0, 3.0)] == [2.0, 3.0]


def test_while_a_program_is_built_its_calls_are_appended(net):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        net(static.data("x", [None, 2], "float32"))
    assert [operator.type for operator in main.global_block().ops] == ["matmul", "elementwise_add", "scale"]


def test_it_can_be_turned_off(net):
    jit.enable_to_static(False)
    try:
        for _ in range(2):
            net(opsdk.ones([1, 2]))
        assert net.runs == 2
    finally:
        jit.enable_to_static(True)
    assert jit.not_to_static(abs) is abs
    assert jit.not_to_static()(abs) is abs
    assert jit.ignore_module([np]) is None


def test_its_program_is_that_of_the_latest_call_or_of_the_spec(net):
    with pytest.raises(
        AttributeValueError, match=r"to_static, Counted.forward: expected a call, or input_spec, to know"
    ):
        _ = net.forward.program
    net(opsdk.ones([3, 2]))
    assert net.forward.program.global_block().vars["x"].spec.shape == (3, 2)
    declared = jit.to_static(Counted(), input_spec=[InputSpec([None, 2])])
    assert declared.forward.main_program.global_block().vars["x"].spec.shape == (None, 2)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (opsdk.ones([1, 3]), ShapeError, r"input 0: expected shape \(\?, 2\), as in input_spec, got \(1, 3\)"),
        (opsdk.ones([1, 2], "int32"), DTypeError, "input 0: expected float32, as in input_spec, got int32; cast it"),
    ],
)
def test_what_does_not_fit_the_spec_is_told(value, error, words):
    with pytest.raises(error, match=words):
        jit.to_static(lambda x: x, input_spec=[InputSpec([None, 2])])(value)


@pytest.mark.parametrize("wrong", [3, int])
def test_what_is_no_function_is_told(wrong):
    with pytest.raises(AttributeValueError, match="to_static: function expected a function, a method or a layer, got "):
        jit.to_static(wrong)


@pytest.mark.parametrize("body", ["if x.sum() > 0:\n  return x", "while x.sum() > 0:\n  x = x - 1", "float(x.sum())"])
def test_python_that_asks_for_a_value_is_refused_with_its_line(body, tmp_path):
    code = "def forward(x):\n " + body.replace("\n", "\n ") + "\n return -x\n"
    scope = {}
    exec(compile(code, str(tmp_path / "user.py"), "exec"), scope)
    with pytest.raises(ProgramError) as caught:
        jit.to_static(scope["forward"])(opsdk.ones([2]))
    assert any("user.py:2" in note for note in caught.value.__notes__)
    assert static.in_dynamic_mode()


def test_threads_may_call_one_at_once(net):
    x, found = opsdk.ones([1, 2]), []
    expected = net.line(x).numpy() * 2
    threads = [threading.Thread(target=lambda: found.append(net(x).numpy())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(np.array_equal(one, expected) for one in found)

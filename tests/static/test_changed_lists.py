"""Ops that change a list of variables in place."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ProgramError


@pytest.fixture
def bump():
    """Adds 1 to every tensor of a list, in place."""

    @opsdk.op("tests::bump(Tensor(a!)[] xs) -> Tensor(a!)[] out", nondifferentiable=("xs", "out"))
    def bump(xs):
        for x in xs:
            x += 1

    return bump


@pytest.fixture
def state():
    """Two values that stay between runs."""
    return [static.create_global_var([size], 0.0, "float32", persistable=True) for size in (2, 3)]


def held(variables):
    scope = static.global_scope()
    return [np.array(scope.find_var(variable.name).get_tensor()).tolist() for variable in variables]


def test_every_run_changes_every_variable_of_the_list(exe, startup, bump, state):
    assert bump(state) == state
    after = [variable * 10.0 for variable in state]
    exe.run(startup)
    exe.run()
    assert [array.tolist() for array in exe.run(fetch_list=after)] == [[20.0] * 2, [20.0] * 3]
    assert held(state) == [[2.0] * 2, [2.0] * 3]


def test_an_operator_may_name_what_it_changes_as_its_output(exe, startup, block, bump, state):
    block.append_op("bump", {"xs": state}, {"out": state})
    block.append_op("bump", {"xs": state})
    exe.run(startup)
    exe.run()
    assert held(state) == [[2.0] * 2, [2.0] * 3]


@pytest.mark.parametrize("outputs", [slice(0, 1), slice(None, None, -1)])
def test_an_operator_cannot_name_others(main, block, bump, state, outputs):
    text = "op 'tests::bump': output 'out' expected 'global_var_0', 'global_var_1', which the op changes in place, got"
    with pytest.raises(ProgramError, match=text):
        block.append_op("bump", {"xs": state}, {"out": state[outputs]})
    assert main.global_block().ops == []


def test_a_change_of_parameters_in_a_list_is_an_update(exe, main, startup, bump):
    weights = [static.create_parameter([2], default_initializer=opsdk.nn.initializer.Constant(0.0)) for _ in range(2)]
    made = weights[0] + weights[1]
    bump(weights)
    assert [operator.role for operator in main.global_block().ops] == ["forward", "optimize"]
    test = main.clone(for_test=True)
    exe.run(startup)
    exe.run()
    for _ in range(2):
        assert exe.run(test, fetch_list=[made.name])[0].tolist() == [2.0, 2.0]
    assert held(weights) == [[1.0, 1.0]] * 2


def test_a_run_that_raises_leaves_every_variable_of_the_list(exe, startup, block, bump, state):
    def refuse(array):
        raise ArithmeticError("no")

    bump(state)
    static.py_func(refuse, state[0], block.create_var("after", [2], "float32"))
    exe.run(startup)
    with pytest.raises(ArithmeticError):
        exe.run()
    assert held(state) == [[0.0] * 2, [0.0] * 3]


def test_a_fed_list_stays_as_it_was(exe, bump):
    fed = {name: np.zeros(2, np.float32) for name in ("a", "b")}
    made = bump([static.data(name, [2], "float32") for name in fed])
    assert [array.tolist() for array in exe.run(feed=fed, fetch_list=made)] == [[1.0, 1.0]] * 2
    assert all(not array.any() for array in fed.values())


def test_an_optional_input_that_is_changed_may_be_left_out(exe, startup, block, state):
    @opsdk.op("tests::counted(Tensor x, Tensor(a!)? seen=None) -> Tensor y", nondifferentiable=("x", "seen", "y"))
    def counted(x, seen):
        if seen is not None:
            seen += 1
        return x * 2.0

    x = static.data("x", [1], "float32")
    y, z = counted(x), counted(x, state[0])
    exe.run(startup)
    assert [array.tolist() for array in exe.run(feed={"x": np.ones(1, "f")}, fetch_list=[y, z])] == [[2.0], [2.0]]
    assert held(state[:1]) == [[1.0, 1.0]]

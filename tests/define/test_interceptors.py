import gc
import threading

import numpy as np
import pytest

import opsdk
from opsdk.define import frontend, interceptors
from opsdk.define.frontend import dispatch
from opsdk.define.interceptors import Interceptor


class Notes(Interceptor):
    """Writes down the names of what is called."""

    def __init__(self, label="", seen=None):
        self.label = label
        self.seen = [] if seen is None else seen

    def apply(self, opdef, inputs, attrs):
        self.seen.append(self.label + opdef.schema.name)
        return dispatch(opdef, inputs, attrs)


def tables():
    return dict(frontend.APPLY), dict(frontend.FAST_PATHS)


@pytest.fixture(autouse=True)
def nothing_stays():
    before = tables()
    yield
    gc.collect()
    assert tables() == before


def leaf():
    return opsdk.to_tensor([1.0, 2.0], stop_gradient=False)


def test_an_interceptor_sees_calls_of_one_tensor_of_several_and_of_lists():
    x = leaf()
    with Notes() as notes:
        y = opsdk.concat([x.exp(), x * x])
    assert notes.seen == ["exp", "elementwise_mul", "concat"]
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.add(np.exp([1.0, 2.0]), [2.0, 4.0]), rtol=1e-6)


def test_calls_on_parameters_of_layers_are_seen_too():
    with Notes() as notes:
        opsdk.nn.Parameter(np.ones(2, "float32")).exp()
    assert notes.seen == ["exp"]


def test_calls_on_arrays_go_past_it():
    with Notes() as notes:
        np.testing.assert_allclose(opsdk.exp(np.zeros(2)), 1.0)
    assert notes.seen == []


def test_the_innermost_sees_a_call_first_and_hands_it_outward():
    seen = []
    with Notes("outer ", seen), Notes("inner ", seen):
        leaf().exp()
    assert seen == ["inner exp", "outer exp"]


def test_what_an_interceptor_calls_is_seen_by_those_around_it_alone():
    class Doubles(Interceptor):
        def apply(self, opdef, inputs, attrs):
            return dispatch(opdef, inputs, attrs) + dispatch(opdef, inputs, attrs)

    with Notes() as notes, Doubles():
        y = leaf().exp()
    assert notes.seen == ["exp", "exp", "elementwise_add"]
    np.testing.assert_allclose(y.numpy(), 2 * np.exp([1.0, 2.0]), rtol=1e-6)


def test_fast_paths_are_aside_while_there_is_one_and_back_when_it_ends():
    before = tables()
    with Notes():
        assert not set(frontend.FAST_PATHS) & {opsdk.Tensor, opsdk.nn.Parameter}
        with Notes():
            pass
        assert opsdk.Tensor not in frontend.FAST_PATHS
    assert tables() == before


def test_an_error_inside_of_the_block_ends_it():
    with pytest.raises(ZeroDivisionError), Notes():
        1 / 0  # noqa: B018
    assert opsdk.Tensor in frontend.FAST_PATHS or interceptors.stack() is None


def test_another_thread_has_no_part_in_it():
    made = []
    with Notes() as notes:
        thread = threading.Thread(target=lambda: made.append(leaf().exp()))
        thread.start()
        thread.join()
    assert notes.seen == []
    np.testing.assert_allclose(made[0].numpy(), np.exp([1.0, 2.0]), rtol=1e-6)


def test_it_decorates_functions_and_each_step_of_generators():
    notes = Notes()

    @notes
    def steps(x):
        yield x.exp()
        yield x.log()

    for _ in steps(leaf()):
        leaf().sqrt()
    notes(lambda: leaf().tanh())()
    assert notes.seen == ["exp", "log", "tanh"]


def test_interceptors_of_another_time_can_be_restored():
    with Notes() as notes:
        then = interceptors.stack()
    leaf().sqrt()
    with interceptors.restored(then):
        leaf().exp()
    assert notes.seen == ["exp"]
    del then


def test_a_runtime_that_is_registered_meanwhile_is_seen_and_stays(monkeypatch):
    class Mine:
        name = "mine"

        def accepts(self, value):
            return isinstance(value, Value)

        def apply(self, opdef, inputs, attrs):
            return "served"

    class Value:
        pass

    runtime = Mine()
    try:
        with Notes() as notes:
            frontend.register_frontend(runtime, Value, fast=lambda opdef, value: "fast")
            assert opsdk.exp(Value()) == "served"
            assert opsdk.concat([Value()]) == "served"
        assert notes.seen == ["exp", "concat"]
        gc.collect()
        assert opsdk.exp(Value()) == "fast"
    finally:
        frontend._FRONTENDS.remove(runtime)
        frontend.APPLY.pop(Value)
        frontend.FAST_PATHS.pop(Value)


def test_a_function_with_a_derivative_of_its_own_is_one_call():
    class Sees(Interceptor):
        def function(self, function, args):
            seen.append(args)
            return function(*args)

    seen = []
    with Sees(), Sees():
        assert interceptors.call(lambda a, b: a - b, (5, 3)) == 2
    assert seen == [(5, 3), (5, 3)]
    assert Interceptor().function(max, (1, 2)) == 2

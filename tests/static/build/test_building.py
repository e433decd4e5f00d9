"""What calls mean while a Program is built: the state of layers, what is made of nothing, and the modes."""

from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest

import opsdk
from opsdk import nn, static
from opsdk.core.errors import (
    InPlaceError,
    MixedRuntimeError,
    NameClashError,
    PlaceError,
    ProgramError,
    ShapeError,
    VersionError,
)
from opsdk.core.names import name_guard
from opsdk.static.build.building import stand_in
from opsdk.static.run.scope import _PROCESS

ROW = np.array([[1.0, 2.0]], np.float32)


@pytest.fixture
def x():
    return static.data("x", [None, 2])


@pytest.fixture
def layer():
    made = nn.Linear(2, 1)
    made.weight.set_value([[3.0], [5.0]])
    return made


@pytest.fixture
def process():
    """The Scope of the process, in which layers' own values are, for these tests' names alone."""
    with static.scope_guard(_PROCESS):
        yield _PROCESS


def step(layer, x):
    """Appends a step of descent by 0.5 along the sum of a layer's outputs, and returns the outputs."""
    out = layer(x)
    opsdk.optimizer.SGD(0.5, parameters=layer.parameters()).minimize(out.sum())
    return out


def test_a_parameter_is_one_object_in_a_layer_and_in_every_program(exe, startup, layer, x, process):
    out = step(layer, x)
    other = static.Program()
    with static.program_guard(other, static.Program()):
        seen = layer(static.data("x", [None, 2]))
    exe.run(startup)
    assert exe.run(feed={"x": ROW}, fetch_list=[out])[0].tolist() == [[13.0]]
    assert layer.weight.tolist() == [[2.5], [4.0]]
    assert layer.bias.tolist() == [-0.5]
    assert exe.run(other, feed={"x": ROW}, fetch_list=[seen, layer.weight])[0].tolist() == [[10.0]]
    layer.bias.set_value([1.0])
    assert exe.run(other, feed={"x": ROW}, fetch_list=[seen])[0].tolist() == [[11.5]]
    static.disable_static()
    assert layer(opsdk.to_tensor(ROW)).tolist() == [[11.5]]


def test_another_scope_has_a_copy_that_goes_its_own_way(exe, startup, layer, x, process):
    out = step(layer, x)
    exe.run(startup)
    apart = static.Scope()
    layer.bias.set_value([1.0])
    for expected in (14.0, 11.0):  # without a startup run there: what the layer holds, copied once; the rate is told
        apart.var("learning_rate_0").get_tensor().set(np.array([0.5], np.float32))
        assert exe.run(feed={"x": ROW}, fetch_list=[out], scope=apart)[0].tolist() == [[expected]]
        layer.bias.set_value([7.0])
    assert layer.weight.tolist() == [[3.0], [5.0]]
    exe.run(startup, scope=apart)
    assert exe.run(feed={"x": ROW}, fetch_list=[out], scope=apart)[0].tolist() == [[13.0]]
    assert layer.bias.tolist() == [7.0]
    kid = process.new_scope()
    assert exe.run(feed={"x": ROW}, fetch_list=[out], scope=kid)[0].tolist() == [[20.0]]
    assert layer.bias.tolist() == [6.5]  # a child of the process's Scope sees what that has


def test_startup_gives_parameters_the_values_with_which_they_came_in(exe, startup, x, process):
    opsdk.seed(3)
    layer = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1), nn.BatchNorm1d(1))
    first = [value.numpy() for value in layer.state_dict().values()]
    loaded = np.array([[9.0], [8.0]], np.float32)
    layer[1].weight.set_value(loaded)
    step(layer, x)
    kinds = [operator.type for operator in startup.global_block().ops][:6]
    assert kinds == ["uniform_random", "fill_constant", "assign", "fill_constant", "fill_constant", "fill_constant"]
    for _ in range(2):
        exe.run(startup)
        for value, initial in zip(layer.state_dict().values(), [*first[:2], loaded, *first[3:]], strict=True):
            assert np.array_equal(value.numpy(), initial)
        exe.run(feed={"x": np.array([[1.0, 2.0], [3.0, 5.0]], np.float32)})
        assert layer[2].num_batches_tracked.item() == 1
        assert layer[2].bias.tolist() == [-1.0]


def test_a_copied_layer_is_another_one(exe, startup, layer, x, process):
    layer.register_buffer("seen", opsdk.to_tensor([4.0]))
    outs = [one(x) + one.seen for one in (layer, deepcopy(layer))]
    exe.run(startup)
    layer.bias.set_value([1.0])
    assert [out.tolist() for out in exe.run(feed={"x": ROW}, fetch_list=outs)] == [[[18.0]], [[17.0]]]


def test_a_call_that_raises_leaves_no_parameter_behind(layer, x, main, startup, state):
    before = state(main), state(startup)
    with pytest.raises(ShapeError):
        layer(static.data("wide", [None, 3]))
    main.global_block().vars.pop("wide")
    assert (state(main), state(startup)) == before
    assert layer(x).shape == (-1, 1)


def test_a_run_that_raises_leaves_a_layer_as_it_was(exe, startup, x, process, block):
    def fails(value):
        raise RuntimeError("on purpose")

    layer = nn.BatchNorm1D(2)
    out = layer(x)
    static.py_func(fails, out, block.create_var("never", [1], "float32"))
    exe.run(startup)
    with pytest.raises(RuntimeError, match="on purpose"):
        exe.run(feed={"x": ROW})
    assert [layer._mean.tolist(), layer._mean.inplace_version] == [[0.0, 0.0], 1]  # by the startup Program


def test_what_a_tape_saved_of_a_parameter_is_gone_after_a_run_that_changes_it(exe, startup, layer, x, process):
    step(layer, x)
    exe.run(startup)
    static.disable_static()
    held = opsdk.to_tensor(ROW, stop_gradient=False)
    loss = (layer(held) * layer.weight[0]).sum()
    exe.run(feed={"x": ROW})
    with pytest.raises(VersionError):
        loss.backward()


def test_calls_on_parameters_alone_are_appended_and_those_on_other_tensors_run_at_once(exe, startup, layer, x):
    penalty = (layer.weight * layer.weight).sum() + opsdk.concat([layer.bias, layer.bias]).sum()
    assert (opsdk.to_tensor([1.0]) + 1.0).tolist() == [2.0]
    assert layer(opsdk.to_tensor(ROW)).tolist() == [[13.0]]
    exe.run(startup)
    assert exe.run(fetch_list=[penalty])[0].tolist() == 34.0
    with pytest.raises(MixedRuntimeError, match="Program variables or constants, got one of the dynamic tensors"):
        x + opsdk.to_tensor([1.0])


def test_a_buffer_is_changed_in_place_by_runs_beside_a_variable_and_refused_alone(exe, startup, x, process):
    layer = nn.Layer()
    layer.register_buffer("count", opsdk.to_tensor([2.0]))
    with pytest.raises(InPlaceError, match=r"expected a Variable beside 'generated_tensor_\d+', which is a layer's"):
        opsdk.find_op("copy_")(layer.count, layer.count)
    opsdk.find_op("copy_")(layer.count, x[0, :1] * 2.0)
    exe.run(startup)
    exe.run(feed={"x": ROW})
    assert layer.count.tolist() == [2.0]
    exe.run(feed={"x": ROW * 3})
    assert layer.count.tolist() == [6.0]


def test_gradients_are_asked_for_by_the_parameters_of_a_layer(exe, startup, layer, x):
    loss = layer(x).sum()
    ((param, grad),) = static.append_backward(loss, parameter_list=layer.weight)
    assert (param.held, param.name, param.trainable) == (layer.weight, layer.weight.name, True)
    assert [one.name for one, _ in static.append_backward(loss, no_grad_set={layer.bias})] == [layer.weight.name]
    found = static.gradients(loss, [layer.bias, x])
    exe.run(startup)
    values = exe.run(feed={"x": ROW}, fetch_list=[grad, *found])
    assert [value.tolist() for value in values] == [[[1.0], [2.0]], [1.0], [[3.0, 5.0]]]
    with pytest.raises(ProgramError, match="parameter_list expected Variables, got Parameter"):
        static.append_backward(loss, parameter_list=[nn.Parameter([1.0])])


def test_options_of_a_parameter_hold_in_a_program(exe, startup, x, process):
    attrs = [nn.ParamAttr(learning_rate=0.1), nn.ParamAttr(trainable=False)]
    layer = nn.Linear(2, 1, *attrs)
    layer.weight.set_value([[3.0], [5.0]])
    step(layer, x)
    exe.run(startup)
    exe.run(feed={"x": ROW})
    np.testing.assert_allclose(layer.weight.numpy(), [[2.95], [4.9]], rtol=1e-6)
    assert layer.bias.tolist() == [0.0]


def test_masks_and_statistics_move_with_each_run_and_rest_in_a_clone_for_tests(exe, startup, main, process):
    layer = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1D(64))
    wide = static.data("wide", [None, 64])
    out = layer(wide)
    test = main.clone(for_test=True)
    exe.run(startup)
    batch = {"wide": np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32)}
    first, second = (exe.run(feed=batch, fetch_list=[out])[0] for _ in range(2))
    assert not np.array_equal(first, second)
    held = layer[1]._mean.numpy()
    assert held.any()
    seen = [exe.run(test, feed=batch, fetch_list=[out])[0] for _ in range(2)]
    assert np.array_equal(*seen)
    assert np.array_equal(layer[1]._mean.numpy(), held)
    static.disable_static()
    np.testing.assert_array_equal(layer.eval()(opsdk.to_tensor(batch["wide"])).numpy(), seen[0])


def test_a_name_stands_for_one_tensor_in_a_program_and_in_a_scope(exe, startup, x, process):
    layers = [nn.Linear(2, 1, nn.ParamAttr(name="shared_w")) for _ in range(2)]
    layers[0](x)
    with pytest.raises(NameClashError, match="parameter 'shared_w': expected a name that is free in the Program"):
        layers[1](x)
    other = static.Program()
    with static.program_guard(other, static.Program()):
        layers[1](static.data("x", [None, 2]))
    exe.run(startup)
    with pytest.raises(NameClashError, match="parameter 'shared_w': expected one tensor of this name in the Scope"):
        exe.run(other, feed={"x": ROW})
    with static.program_guard(static.Program(), startup), pytest.raises(NameClashError, match="free in the Program"):
        layers[1](static.data("x", [None, 2]))


def test_a_layer_that_was_cast_or_lives_elsewhere_is_refused(exe, startup, layer, x, process):
    layer(x)
    exe.run(startup)
    layer.double()
    with pytest.raises(ProgramError, match=r"expected float32, as it was when the Program took it in, got float64"):
        layer(x)
    with pytest.raises(ProgramError, match=r"expected float32 \(2, 1\), the Scope holds float64"):
        exe.run(feed={"x": ROW})
    with pytest.raises(ProgramError, match=r"as the Program gives it, the layer's is float64 \(2, 1\); cast a layer"):
        exe.run(startup)
    with pytest.raises(PlaceError, match="parameter 'far': expected host memory, where Programs run, got cuda:0"):
        stand_in(SimpleNamespace(name="far", place="cuda:0"))
    layer.register_buffer("graph", layer.weight.detach() * 1.0)
    layer.graph.stop_gradient = False
    with pytest.raises(ProgramError, match="expected a Parameter, or a buffer that needs no gradient"):
        layer.graph + x


def test_a_scope_shows_and_sets_what_a_layer_holds(exe, startup, layer, x, process):
    layer(x)
    name = layer.bias.name
    exe.run(startup)
    assert name in process.local_var_names()
    tensor = process.find_var(name).get_tensor()
    assert (np.array(tensor).tolist(), tensor.shape()) == ([0.0], [1])
    tensor.set([2.0])
    assert layer.bias.tolist() == [2.0]
    process.erase([name])
    assert process.find_var(name) is None
    assert layer.bias.tolist() == [2.0]


def test_what_is_made_of_nothing_is_a_variable_that_draws_anew_in_each_run(exe, main):
    made = [opsdk.randint(0, 1000, [8]), opsdk.randperm(32), opsdk.rand([4]), opsdk.arange(3), opsdk.eye(2)]
    assert all(isinstance(one, static.Variable) for one in made)
    first, second = (exe.run(fetch_list=made) for _ in range(2))
    assert [np.array_equal(*pair) for pair in zip(first, second, strict=True)] == [False, False, False, True, True]
    assert first[0].min() >= 0
    assert sorted(first[1]) == list(range(32))
    assert isinstance(opsdk.to_tensor([1.0]), opsdk.Tensor)
    assert isinstance(opsdk.zeros_like(opsdk.to_tensor([1.0])), opsdk.Tensor)


def test_static_mode_builds_the_default_programs_until_it_ends():
    static.disable_static()
    assert static.in_dynamic_mode()
    static.enable_static()
    try:
        assert not static.in_dynamic_mode()
        layer = nn.Linear(2, 1)
        assert isinstance(opsdk.ones([2]), static.Variable)
        assert isinstance(layer.weight + 1.0, static.Variable)
        assert isinstance(layer.weight, opsdk.Tensor)
        with static.program_guard(static.Program()):
            assert not static.in_dynamic_mode()
    finally:
        static.disable_static()
    assert static.in_dynamic_mode()
    assert isinstance(opsdk.ones([2]), opsdk.Tensor)
    assert isinstance(layer.weight + 1.0, opsdk.Tensor)
    with static.program_guard(static.Program()):
        assert not static.in_dynamic_mode()
    assert static.in_dynamic_mode()


def test_names_begin_anew_in_a_guard():
    with name_guard():
        assert nn.Linear(2, 1).weight.name == "linear_0.w_0"

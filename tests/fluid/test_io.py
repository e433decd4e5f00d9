import numpy as np
import pytest

from opsdk import fluid, static
from opsdk.core.errors import FileMissingError, VariableNotFoundError


@pytest.fixture
def net():
    """A Program that was started: its Executor, its input and its output."""
    with static.program_guard(static.Program(), static.Program()), static.scope_guard(static.Scope()):
        x = fluid.data("x", [None, 3])
        y = fluid.layers.fc(x, 2)
        fluid.optimizer.MomentumOptimizer(0.1, 0.9).minimize(fluid.layers.mean(y))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        yield exe, x, y


FEED = {"x": np.ones((2, 3), np.float32)}


def test_a_model_in_a_folder_is_run_by_whoever_loads_it(net, tmp_path):
    exe, _, y = net
    fluid.io.save_inference_model(str(tmp_path / "m"), ["x"], [y], exe)
    wanted = exe.run(fluid.default_main_program().clone(for_test=True), FEED, [y.name])
    with static.scope_guard(static.Scope()):
        program, feeds, fetches = fluid.io.load_inference_model(str(tmp_path / "m"), exe)
        assert feeds == ["x"]
        np.testing.assert_array_equal(exe.run(program, FEED, fetches), wanted)


def test_an_input_that_is_not_there_is_named(net, tmp_path):
    with pytest.raises(VariableNotFoundError, match="variable 'far'"):
        fluid.io.save_inference_model(str(tmp_path), ["far"], [net[2]])


@pytest.mark.parametrize(
    ("save", "load", "is_whole"),
    [
        (fluid.io.save_params, fluid.io.load_params, False),
        (fluid.io.save_persistables, fluid.io.load_persistables, True),
    ],
)
def test_values_come_back(net, tmp_path, save, load, is_whole):
    exe = net[0]
    exe.run(feed=FEED)
    names = [v.name for v in fluid.default_main_program().list_vars() if v.persistable]
    before = {name: static.global_scope().lookup(name).copy() for name in names}
    save(exe, str(tmp_path))
    exe.run(feed=FEED)
    load(exe, str(tmp_path))
    same = {name for name in names if np.array_equal(static.global_scope().lookup(name), before[name])}
    assert len(same) >= 2
    assert (same == set(names)) is is_whole


def test_a_folder_without_values_says_so(net, tmp_path):
    with pytest.raises(FileMissingError, match="load_from_file: expected the file"):
        fluid.io.load_params(net[0], str(tmp_path))

import numpy as np
import pytest

import opsdk
from opsdk import nn, static
from opsdk.core.errors import ProgramError, ShapeError
from opsdk.jit.replay import Replay
from opsdk.jit.tracing import trace
from opsdk.static import InputSpec

SPEC = InputSpec([None, 2], "float32")


def replayed(function, *specs):
    traced = trace(function, specs, {}, "replay")
    replay = Replay(traced.program, traced.wanted, "replay")

    def run(*values):
        given = {**traced.state, **dict(zip(traced.names, values, strict=True))}
        return [replay(given, traced.wanted)[name] for name in traced.wanted]

    return run


def test_calls_are_made_again_on_tensors_and_recorded():
    run = replayed(lambda x: opsdk.relu(x) * 3, SPEC)
    x = opsdk.to_tensor([[1.0, -2.0]], stop_gradient=False)
    (y,) = run(x)
    assert y.numpy().tolist() == [[3.0, 0.0]]
    y.sum().backward()
    assert x.grad.numpy().tolist() == [[3.0, 0.0]]


def test_on_variables_calls_are_appended():
    run = replayed(lambda x: opsdk.relu(x) * 3, SPEC)
    main = static.Program()
    with static.program_guard(main):
        (y,) = run(static.data("x", [None, 2], "float32"))
    (found,) = static.Executor().run(main, feed={"x": np.float32([[1, -2]])}, fetch_list=[y])
    assert found.tolist() == [[3.0, 0.0]]


def test_what_was_traced_without_gradients_records_none():
    def function(x):
        with opsdk.no_grad():
            y = x * 2
        return x * y

    x = opsdk.to_tensor([[1.0, 3.0]], stop_gradient=False)
    (y,) = replayed(function, SPEC)(x)
    y.sum().backward()
    assert x.grad.numpy().tolist() == [[2.0, 6.0]]


def test_what_was_detached_is():
    x = opsdk.to_tensor([[1.0, 3.0]], stop_gradient=False)
    (y,) = replayed(lambda x: x * (x * 2).detach(), SPEC)(x)
    y.sum().backward()
    assert x.grad.numpy().tolist() == [[2.0, 6.0]]


def test_each_run_draws_anew_from_the_seed():
    run, x = replayed(lambda x: nn.functional.dropout(x, 0.5), SPEC), opsdk.ones([8, 2])
    opsdk.seed(1)
    first, second = run(x)[0].numpy(), run(x)[0].numpy()
    opsdk.seed(1)
    assert np.array_equal(run(x)[0].numpy(), first)
    assert not np.array_equal(first, second)
    opsdk.seed(1)
    assert np.array_equal(nn.functional.dropout(x, 0.5).numpy(), first)


def test_a_constant_that_a_run_changes_is_new_in_each():
    def function(x):
        block = static.default_main_program().global_block()
        mean, var = block.create_constant(np.zeros(2, "float32")), block.create_constant(np.ones(2, "float32"))
        with opsdk.no_grad():
            nn.functional.batch_norm(x, mean, var, training=True, momentum=0.5)
        return mean + 0

    run = replayed(function, SPEC)
    assert [run(opsdk.ones([3, 2]))[0].numpy().tolist() for _ in range(2)] == [[0.5, 0.5], [0.5, 0.5]]


def test_an_error_of_a_call_says_where_it_was_traced():
    run = replayed(lambda x, y: x @ y, SPEC, InputSpec([None, 2]))
    with pytest.raises(ShapeError) as caught:
        run(opsdk.ones([2, 2]), opsdk.ones([3, 2]))
    assert any("test_replay.py" in note and "where 'matmul' was traced" in note for note in caught.value.__notes__)


def test_a_program_with_a_gradient_is_not_replayed():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [2], "float32")
        x.stop_gradient = False
        static.gradients((x * x).sum(), x)
    with pytest.raises(
        ProgramError, match=r"replay: expected a forward alone, got operator '.*_grad', which computes a g"
    ):
        Replay(main, [], "replay")


def test_branches_and_loops_are_replayed_with_their_gradients():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [2])
        x.stop_gradient = False
        y = static.nn.cond(x.sum() > 0, lambda: x * 3.0, lambda: opsdk.exp(x))
        (z,) = static.nn.while_loop(lambda s: s.sum() < 20, lambda s: s * s, [y])
    given = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
    made = Replay(main, [z.name], "replay")({"x": given}, [z.name])[z.name]
    made.sum().backward()
    assert (made.tolist(), given.grad.tolist()) == ([9.0, 36.0], [18.0, 36.0])  # of (3 x)²


def test_a_gradient_that_the_function_stopped_stays_stopped():
    def half(x):
        y = x * 2.0
        y.stop_gradient = True
        return y + x

    traced = trace(half, [InputSpec([2])], {}, "trace")
    given = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
    made = Replay(traced.program, traced.wanted, "replay")({traced.names[0]: given}, traced.wanted)[traced.wanted[0]]
    made.sum().backward()
    assert (made.tolist(), given.grad.tolist()) == ([3.0, 6.0], [1.0, 1.0])

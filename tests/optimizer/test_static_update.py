import numpy as np
import pytest

from opsdk import nn, static
from opsdk.core.errors import ProgramError, StateDictError
from opsdk.nn import functional as F
from opsdk.optimizer import SGD, Adam, Momentum


def build(optimizer, weight_attr=None, **options):
    """A Program of one fully connected layer and a mean, and what minimize returned."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("X", [None, 1], "float32")
        loss = static.nn.fc(x, 10, weight_attr=weight_attr).mean()
        returned = optimizer.minimize(loss, **options)
    return main, startup, loss, returned


def test_minimize_appends_backward_and_updates_and_returns_them():
    main, _, _, (updates, pairs) = build(SGD(0.01))
    weight, bias = main.all_parameters()
    assert [operator.type for operator in updates] == ["sgd", "sgd"]
    assert [(p.name, g.name) for p, g in pairs] == [(p.name, f"{p.name}@GRAD") for p in (weight, bias)]
    assert [op.type for op in main.global_block().ops][-2:] == ["sgd", "sgd"]
    assert [op.role for op in main.global_block().ops][-2:] == ["optimize", "optimize"]


def test_the_learning_rate_is_a_variable_of_both_programs():
    main, startup, _, (updates, _) = build(SGD(0.01))
    (name,) = updates[0].input("learning_rate")
    assert name.startswith("learning_rate_")
    for program in (main, startup):
        assert program.global_block().var(name).persistable
    (made,) = [op for op in startup.global_block().ops if op.output_arg_names == [name]]
    assert made.type == "fill_constant"
    assert made.attr("value") == 0.01


def test_state_is_persistable_and_starts_in_the_startup_program():
    main, startup, _, _ = build(Adam(0.01))
    weight = main.all_parameters()[0]
    for slot, value in (("moment1", 0.0), ("moment2", 0.0), ("beta1_pow", 1.0), ("beta2_pow", 1.0)):
        name = f"{weight.name}_{slot}_0"
        assert main.global_block().var(name).persistable
        (made,) = [op for op in startup.global_block().ops if op.output_arg_names == [name]]
        assert (made.type, made.attr("value")) == ("fill_constant", value)


def test_the_test_clone_has_no_update_not_even_a_part_of_one():
    attr = static.ParamAttr(learning_rate=0.5)
    main, startup, loss, _ = build(SGD(0.1, weight_decay=0.1), attr)
    test = main.clone(for_test=True)
    assert [op.type for op in test.global_block().ops] == [
        op.type for op in main.global_block().ops if op.role == "forward"
    ]
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    before = {name: value.copy() for name, value in scope.values.items()}
    static.Executor().run(test, feed={"X": np.ones((2, 1), "float32")}, fetch_list=[loss.name], scope=scope)
    assert all((scope.values[name] == value).all() for name, value in before.items())


def test_a_factor_on_the_learning_rate_and_a_frozen_parameter():
    main, startup, _, (updates, pairs) = build(SGD(0.1), static.ParamAttr("slow_w", learning_rate=0.5))
    scope = static.Scope()
    exe = static.Executor()
    exe.run(startup, scope=scope)
    before = scope.lookup("slow_w").copy()
    exe.run(main, feed={"X": np.ones((2, 1), "float32")}, scope=scope)
    assert before - scope.lookup("slow_w") == pytest.approx(np.full((1, 10), 0.1 * 0.5 * 0.1), rel=1e-3)

    _, _, _, (updates, pairs) = build(SGD(0.1), static.ParamAttr("frozen_w", trainable=False))
    assert len(updates) == len(pairs) == 1


@pytest.mark.parametrize("as_name", [True, False])
def test_minimize_takes_parameters_and_a_no_grad_set(as_name):
    attr = static.ParamAttr(f"chosen_w_{as_name}")
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("X", [None, 1], "float32")
        loss = static.nn.fc(x, 10, weight_attr=attr).mean()
        weight = main.all_parameters()[0]
        _, pairs = SGD(0.1).minimize(loss, parameters=[weight.name if as_name else weight])
        assert [p.name for p, _ in pairs] == [weight.name]
        _, pairs = SGD(0.1).minimize(loss, no_grad_set={weight.name if as_name else weight})
        assert weight.name not in [p.name for p, _ in pairs]


def test_an_optimizer_may_be_made_with_the_parameters_of_a_program():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        loss = static.nn.fc(static.data("X", [None, 1], "float32"), 2).mean()
        _, pairs = SGD(0.1, parameters=main.all_parameters()[:1]).minimize(loss)
    assert len(pairs) == 1


def test_minimize_outside_of_the_guard_uses_the_programs_given():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        loss = static.nn.fc(static.data("X", [None, 1], "float32"), 2).mean()
    updates, _ = Adam(0.1).minimize(loss, startup_program=startup)
    (name,) = updates[0].input("learning_rate")
    assert startup.global_block().has_var(name)
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    static.Executor().run(main, feed={"X": np.ones((1, 1), "float32")}, scope=scope)


def test_a_loss_without_parameters_is_refused_and_leaves_the_program():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        loss = static.data("X", [None, 1], "float32").mean()
        before = str(main)
        with pytest.raises(ProgramError, match="expected to depend on a trainable parameter"):
            SGD(0.1).minimize(loss)
    assert str(main) == before


def test_two_optimizers_of_one_program_keep_their_state_apart():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        out = static.nn.fc(static.data("X", [None, 1], "float32"), 2, bias_attr=False)
        gradients = [static.append_backward(loss) for loss in (out.mean(), out.square().mean())]
        first, second = (Adam(0.1).apply_gradients(pairs) for pairs in gradients)
    assert first[0].input("moment1")[0].endswith("_moment1_0")
    assert second[0].input("moment1")[0].endswith("_moment1_1")
    assert first[0].input("learning_rate") != second[0].input("learning_rate")
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    static.Executor().run(main, feed={"X": np.ones((2, 1), "float32")}, scope=scope)


@pytest.mark.parametrize("started", [True, False])
def test_the_learning_rate_of_a_program_can_be_set(started):
    optimizer = SGD(0.1)
    attr = static.ParamAttr(initializer=nn.initializer.Constant(1.0))
    main, startup, _, _ = build(optimizer, attr)
    weight, scope, exe = main.all_parameters()[0], static.Scope(), static.Executor()
    with static.scope_guard(scope):
        if started:
            exe.run(startup)
        optimizer.set_lr(10.0)
        if not started:
            exe.run(startup)
        exe.run(main, feed={"X": np.ones((2, 1), "float32")})
        assert scope.lookup(weight.name) == pytest.approx(np.zeros((1, 10)), abs=1e-6)


def test_a_learning_rate_that_is_in_another_scope_is_not_set_and_nothing_is():
    optimizer, exe, scope = SGD(0.1), static.Executor(), static.Scope()
    _, startup, _, _ = build(optimizer)
    exe.run(startup, scope=scope)
    with static.scope_guard(static.Scope()):
        for call in (lambda: optimizer.set_lr(10.0), lambda: optimizer.set_state_dict({"learning_rate": 10.0})):
            with pytest.raises(ProgramError, match=r"SGD, set_lr: expected 'learning_rate_\d+' in the global Scope"):
                call()
    assert optimizer.get_lr() == 0.1
    with static.scope_guard(scope):
        optimizer.set_lr(10.0)
    assert scope.lookup(startup.global_block().ops[-1].output_arg_names[0]) == pytest.approx([10.0])


def test_a_classifier_learns():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, size=(64, 1))
    x = (rng.normal(size=(64, 3)) + 2 * label).astype("float32")
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        data, target = static.data("x", [None, 3], "float32"), static.data("label", [None, 1], "int64")
        logits = static.nn.fc(static.nn.fc(data, 8, activation="relu"), 2)
        loss = F.cross_entropy(logits, target)
        Adam(0.05).minimize(loss)
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    losses = [exe.run(main, feed={"x": x, "label": label}, fetch_list=[loss], scope=scope)[0] for _ in range(40)]
    assert losses[-1] < 0.25 * losses[0]


def test_numbers_that_a_program_was_built_with_are_not_loaded_over():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        loss = static.nn.fc(static.data("X", [None, 1], "float32"), 2).mean()
        optimizer = Momentum(0.1, momentum=0.5, parameters=main.all_parameters())
        optimizer.load_state_dict({"mu": 0.75})
        optimizer.minimize(loss)
    optimizer.load_state_dict({"mu": 0.75, "learning_rate": 0.5})
    with pytest.raises(StateDictError, match=r"expected the numbers that its Programs were built with, .*'mu': 0.75"):
        optimizer.load_state_dict({"mu": 0.9, "learning_rate": 0.25})
    assert optimizer.get_lr() == 0.5


def one_parameter(optimizer, start=3.0):
    """A Program that makes steps for w², w being called a, and its startup Program."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        attr = static.ParamAttr(name="a", initializer=nn.initializer.Constant(start))
        a = static.create_parameter([1], "float64", attr=attr)
        optimizer.minimize((a * a).sum())
    return main, startup


def steps(main, count):
    """The parameter after each of some runs in the global Scope."""
    return [float(static.Executor().run(main, fetch_list=["a"])[0][0]) for _ in range(count)]


def momentum_steps(count, w=3.0, velocity=0.0):
    """What Momentum(0.1, 0.5) makes of w for the loss w², by hand."""
    made = []
    for _ in range(count):
        velocity = 0.5 * velocity + 2 * w
        w -= 0.1 * velocity
        made.append(w)
    return made


@pytest.mark.parametrize("saved_by", ["a Program", "the tape"])
def test_the_state_of_an_optimizer_goes_on_in_a_program(saved_by):
    first = Momentum(0.1, momentum=0.5) if saved_by == "a Program" else None
    if saved_by == "a Program":
        main, startup = one_parameter(first)
        with static.scope_guard(static.Scope()):
            static.Executor().run(startup)
            halfway = steps(main, 3)[-1]
            saved = first.state_dict()
            static.Executor().run(main)
        assert saved["a.velocity"].tolist() == pytest.approx([(momentum_steps(2)[-1] - halfway) / 0.1])
    else:
        w = nn.Parameter(np.array([3.0]))
        first = Momentum(0.1, momentum=0.5, parameters={"a": w})
        for _ in range(3):
            (w * w).sum().backward()
            first.step()
            first.clear_grad()
        halfway, saved = w.item(), first.state_dict()
    again = Momentum(0.1, momentum=0.5)
    main, startup = one_parameter(again, halfway)
    with static.scope_guard(static.Scope()):
        static.Executor().run(startup)
        again.set_state_dict(saved)
        assert steps(main, 3) == pytest.approx(momentum_steps(6)[3:], rel=1e-12)
        again.set_state_dict({})  # starts afresh
        assert again.state_dict()["a.velocity"].tolist() == [0.0]


def test_the_state_of_a_program_that_no_scope_holds_is_an_error():
    optimizer = Momentum(0.1)
    one_parameter(optimizer)
    optimizer.set_state_dict({"learning_rate": 0.5})  # the startup Program starts it afresh
    with static.scope_guard(static.Scope()):
        with pytest.raises(StateDictError, match=r"Momentum, state_dict: expected 'a_velocity_0' in the global Scope"):
            optimizer.state_dict()
        with pytest.raises(StateDictError, match=r"set_state_dict: expected 'a_velocity_0' in .* static\.scope_guard"):
            optimizer.set_state_dict({"a.velocity": np.ones(1), "learning_rate": 0.25})
    assert optimizer.get_lr() == 0.5


def test_two_updates_under_one_name_have_no_state_dict():
    optimizer = Momentum(0.1)
    one_parameter(optimizer)
    one_parameter(optimizer)
    with pytest.raises(StateDictError, match="optimizer Momentum: expected one update of parameter 'a', got two, each"):
        optimizer.state_dict()


@pytest.mark.parametrize("make", [SGD, Momentum, Adam])
def test_what_an_optimizer_of_a_program_gives_it_takes_back(make):
    optimizer = make(0.25)
    with static.scope_guard(static.Scope()):
        _, startup, *_ = build(optimizer)
        static.Executor().run(startup)
        optimizer.set_state_dict({**optimizer.state_dict(), "learning_rate": 0.5})
        assert optimizer.get_lr() == 0.5
        with pytest.raises(StateDictError, match="expected entries of its parameters"):
            optimizer.set_state_dict({"other.velocity": np.zeros(1)})

"""Small parameters that take their steps together: what that gives is what a step of each alone gives, bit for bit."""

import numpy as np
import pytest

import opsdk
from opsdk import nn, optimizer
from opsdk.core.fast import FAST
from opsdk.define.interceptors import Interceptor
from opsdk.optimizer import SGD, Adam, AdamW, lr
from opsdk.optimizer.together import Together
from tests.optimizer.test_resume import OPTIMIZERS

needs_it = pytest.mark.skipif(FAST is None, reason="the fast path is not built")
SHAPES = [(3,), (16,), (4, 5), (1,), (2, 3, 4), (7,), (), (9000,), (0, 3), (33,)]


def parameters(count=6, size=4):
    return [nn.Parameter(np.full(size, float(i + 1), "float32")) for i in range(count)]


def give(params, number=1.0):
    for param in params:
        param.grad = opsdk.to_tensor(np.full(param.shape, number, "float32"))


def calls_of(made, monkeypatch):
    """Returns a list in which the sizes of what an optimizer's op changes are put."""
    sizes, op = [], made.op

    def counted(param, *args, **attrs):
        sizes.append(int(param.size))
        return op(param, *args, **attrs)

    counted.opdef = op.opdef
    monkeypatch.setattr(made, "op", counted)
    return sizes


def trained(name, is_alone):
    """Returns what six steps make of parameters of all kinds, with gradients that come and go."""
    rng = np.random.default_rng(3)
    params = [nn.Parameter(rng.normal(size=shape), dtype=dtype) for dtype in ("float32", "float16") for shape in SHAPES]
    params[3].regularizer, params[5].stop_gradient = 0.3, True
    params[4].optimize_attr["learning_rate"] = 0.5
    options, schedule = dict(OPTIMIZERS[name]), lr.CosineAnnealingDecay(0.1, 5)
    groups = [{"params": params[:12]}, {"params": params[12:], "learning_rate": 0.7, "weight_decay": 0.1}]
    options["params" if "params" in options else "parameters"] = groups
    made = getattr(optimizer, name.partition(",")[0])(learning_rate=schedule, **options)
    if is_alone:
        made._is_uniform = lambda: False
    for step in range(6):
        for i, param in enumerate(params):
            param.clear_grad(i % 2 == 0)
            if (i + step) % 7 or step == 3:
                grad = rng.normal(size=param.shape[::-1]).astype(param.dtype).T  # of another layout than the parameter
                param.grad = opsdk.to_tensor(np.zeros(param.shape, param.dtype))
                param.grad._array = grad
        if step == 4:
            params[4].optimize_attr["learning_rate"] = 0.25
            params[1].set_value(np.ones(16, "float32"))
        if step == 2:
            made.set_state_dict(made.state_dict())
        made.step()
        schedule.step()
    state = made.state_dict()
    values = [value for value in state.values() if isinstance(value, opsdk.Tensor)]
    return [*state], [(each.inplace_version, each.numpy().tobytes()) for each in (*params, *values)]


@needs_it
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_together_are_those_of_each_alone_bit_for_bit(name):
    assert trained(name, is_alone=False) == trained(name, is_alone=True)


@needs_it
def test_one_call_makes_the_steps_of_all_small_parameters(monkeypatch):
    params = [*parameters(), nn.Parameter(np.ones(1 << 14, "float32"))]
    made = SGD(learning_rate=0.5, parameters=params)
    sizes = calls_of(made, monkeypatch)
    give(params)
    made.step()
    assert sizes == [24, 1 << 14]
    assert [param.numpy().tolist() for param in params[:2]] == [[0.5] * 4, [1.5] * 4]


@needs_it
def test_parameters_keep_their_memory_and_views_see_the_step():
    params = parameters()
    views, counts = [param.detach() for param in params], [param.inplace_version for param in params]
    give(params)
    SGD(learning_rate=1.0, parameters=params).step()
    assert [view.numpy()[0] for view in views] == [0, 1, 2, 3, 4, 5]
    assert [param.inplace_version - count for param, count in zip(params, counts, strict=True)] == [1] * 6


@needs_it
@pytest.mark.parametrize("what", ["a parameter", "its detached memory"])
def test_a_gradient_that_is_a_parameter_is_refused_or_served_as_by_each_alone(what, monkeypatch):
    params = parameters()
    made = SGD(learning_rate=0.5, parameters=params)
    sizes = calls_of(made, monkeypatch)
    give(params)
    params[1].grad = params[0] if what == "a parameter" else params[0].detach()
    made.step()
    assert sizes == [4] * 6
    assert params[1].numpy().tolist() == [1.75] * 4  # 2 less half of what the first one is by then


@needs_it
def test_parameters_that_share_memory_take_their_steps_one_after_the_other(monkeypatch):
    params = parameters()
    params[1]._array = params[0]._array
    made = SGD(learning_rate=0.5, parameters=params)
    sizes = calls_of(made, monkeypatch)
    give(params)
    made.step()
    assert sizes == [4] * 6
    assert params[0].numpy().tolist() == [0.0] * 4


@needs_it
def test_another_array_or_another_state_is_seen_at_the_next_step():
    params = parameters()
    made = Adam(learning_rate=0.5, parameters=params)
    for _ in range(2):
        give(params)
        made.step()
    params[0]._array = np.full(4, 8.0, "float32")
    made.set_state_dict({})
    give(params)
    made.step()
    np.testing.assert_allclose(params[0].numpy(), 7.5, rtol=1e-6)  # the first step of Adam is the rate
    np.testing.assert_allclose(made.state_dict()["0.beta1_pow"].numpy(), 0.9)


@needs_it
def test_a_power_that_somebody_sets_in_one_is_its_own(monkeypatch):
    params = parameters()
    made = Adam(learning_rate=0.5, parameters=params)
    give(params)
    made.step()
    made.state_dict()["2.beta1_pow"].set_value(np.zeros(1))
    sizes = calls_of(made, monkeypatch)
    made.step()
    assert sizes == [4] * 6
    made.step()
    assert sizes == [4] * 6 + [20, 4]
    powers = [made.state_dict()[f"{i}.beta1_pow"].item() for i in range(4)]
    np.testing.assert_allclose(powers, [0.9**3, 0.9**3, 0, 0.9**3])


@needs_it
def test_a_users_class_a_function_of_the_parameter_and_whoever_watches_get_each_alone(monkeypatch):
    class Own(SGD):
        def update(self, param, grad, rate, state):
            own.append(param)

    class Watch(Interceptor):
        def apply(self, opdef, inputs, attrs):
            seen.append(opdef.name)
            return super().apply(opdef, inputs, attrs)

    own, seen, params = [], [], parameters()
    give(params)
    Own(learning_rate=1.0, parameters=params).step()
    assert [id(param) for param in own] == [id(param) for param in params]
    drawn = AdamW(learning_rate=0.0, parameters=params, apply_decay_param_fun=lambda name: True)
    sizes = calls_of(drawn, monkeypatch)
    drawn.step()
    assert sizes == [4] * 6
    with Watch():
        SGD(learning_rate=1.0, parameters=params).step()
    assert seen == ["opsdk::sgd"] * 6


@needs_it
def test_what_a_step_raises_leaves_all_of_them_as_they_were(monkeypatch):
    def fails(*args, **attrs):
        raise RuntimeError("no")

    params = parameters()
    made = SGD(learning_rate=1.0, parameters=params)
    fails.opdef = made.op.opdef
    monkeypatch.setattr(made, "op", fails)
    give(params)
    with pytest.raises(RuntimeError, match="no"):
        made.step()
    assert [param.numpy()[0] for param in params] == [1, 2, 3, 4, 5, 6]
    assert {param.inplace_version for param in params} == {0}


@needs_it
def test_gradients_that_are_given_as_arrays_or_twice_are_served_one_by_one():
    params = parameters()
    made = SGD(learning_rate=1.0, parameters=params)
    made.apply_gradients([(param, opsdk.ones([4])) for param in (*params, params[0])])
    assert [param.numpy()[0] for param in params] == [-1, 1, 2, 3, 4, 5]
    made.apply_gradients([(param, np.ones(4, "float32")) for param in params])
    assert [param.numpy()[0] for param in params] == [-2, 0, 1, 2, 3, 4]


def test_what_was_made_for_other_parameters_does_not_serve():
    params = parameters()
    made = SGD(learning_rate=1.0, parameters=params)
    give(params)
    pairs = [(param, param.grad) for param in params]
    together = Together(made, pairs)
    assert together.fits(made, pairs)
    assert not together.fits(made, pairs[1:])
    assert not together.fits(made, [*pairs[1:], pairs[0]])
    made.set_state_dict({})
    assert not together.fits(made, pairs)


@needs_it
def test_a_factor_or_a_regularizer_of_one_that_changes_is_seen_at_the_next_step():
    params = parameters()
    made = SGD(learning_rate=1.0, parameters=params)
    give(params)
    made.step()
    params[0].optimize_attr["learning_rate"] = 0.5
    made.step()
    params[1].regularizer = 1.0
    made.step()
    assert [param.numpy()[0] for param in params] == [-1, -1, 0, 1, 2, 3]


@needs_it
def test_a_parameter_without_elements_that_comes_twice_takes_two_steps():
    params = [*parameters(), nn.Parameter(np.zeros((0, 3), "float32"))]
    made = Adam(learning_rate=1.0, parameters=params)
    made.apply_gradients([(param, opsdk.zeros(param.shape)) for param in (*params, params[-1])])
    powers = [made.state_dict()[f"{place}.beta1_pow"].item() for place in (0, 6)]
    np.testing.assert_allclose(powers, [0.9, 0.81])


@needs_it
def test_a_parameter_with_a_regularizer_of_its_own_takes_its_step_alone(monkeypatch):
    params = parameters()
    params[0].regularizer = 1.0
    made = SGD(learning_rate=0.5, parameters=params)
    sizes = calls_of(made, monkeypatch)
    give(params)
    for _ in range(2):
        made.step()
    assert sizes == [20, 4] * 2
    assert [param.numpy()[0] for param in params[:2]] == [-0.5, 1]

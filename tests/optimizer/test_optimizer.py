import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, DTypeError, GraphError, NameClashError, ShapeError, StateDictError
from opsdk.optimizer import SGD, Adam, AdamW, L2Decay, Momentum, Optimizer


def parameter(values, gradient=None, **options):
    made = nn.Parameter(np.array(values, "float64"), **options)
    made.grad = None if gradient is None else opsdk.to_tensor(np.array(gradient, "float64"))
    return made


# -- steps ------------------------------------------------------------------------------------------------------------


def test_a_step_changes_the_parameters_in_place():
    w = parameter([1.0], [0.5])
    held = w._array
    SGD(0.1, [w]).step()
    assert w._array is held
    assert w.tolist() == [0.95]
    assert w.inplace_version == 1
    assert not w.stop_gradient


def test_a_net_learns():
    opsdk.seed(0)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = Adam(0.05, parameters=net.parameters())
    x = opsdk.to_tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    label = opsdk.to_tensor([0, 1, 1, 0])
    for _ in range(100):
        loss = nn.CrossEntropyLoss()(net(x), label)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    assert loss.item() < 0.05
    assert net(x).numpy().argmax(axis=1).tolist() == [0, 1, 1, 0]


def test_without_gradients_a_step_changes_nothing_not_even_by_decay():
    w = parameter([1.0])
    SGD(0.1, [w], weight_decay=0.5).step()
    assert w.tolist() == [1.0]


def test_a_frozen_parameter_stays():
    w, trained = parameter([1.0], [0.5], trainable=False), parameter([1.0], [0.5])
    SGD(0.1, [w, trained]).step()
    assert (w.tolist(), trained.item()) == ([1.0], pytest.approx(0.95))


def test_a_step_of_parameters_that_are_all_frozen_says_so():
    w = parameter([1.0], [0.5], trainable=False)
    optimizer = SGD(0.1, [w, opsdk.to_tensor([1.0])])
    with pytest.raises(GraphError, match="SGD, step: expected a parameter that is trained, got 2 with"):
        optimizer.step()
    w.stop_gradient = False
    optimizer.step()
    assert w.item() == pytest.approx(0.95)


def test_a_parameter_has_a_factor_on_the_learning_rate():
    slow, fast = parameter([1.0], [1.0], learning_rate=0.5), parameter([1.0], [1.0])
    SGD(0.1, [slow, fast]).step()
    assert (slow.item(), fast.item()) == (pytest.approx(0.95, rel=1e-15), pytest.approx(0.9, rel=1e-15))


def test_a_parameters_own_regularizer_takes_the_place_of_the_weight_decay():
    own, none = parameter([1.0], [0.0], regularizer=L2Decay(2.0)), parameter([1.0], [0.0], regularizer=0.0)
    plain = parameter([1.0], [0.0])
    SGD(0.1, [own, none, plain], weight_decay=L2Decay(0.5)).step()
    assert [p.item() for p in (own, none, plain)] == pytest.approx([0.8, 1.0, 0.95])
    assert repr(L2Decay(0.5)) == "L2Decay(0.5)"


def test_plain_tensors_can_be_optimized():
    w = opsdk.to_tensor([1.0], stop_gradient=False)
    (w * 2.0).backward()
    SGD(0.25, [w]).step()
    assert w.tolist() == [0.5]


def test_a_parameter_that_is_listed_twice_is_changed_once():
    w = parameter([1.0], [1.0])
    SGD(0.1, [w, w]).step()
    assert w.tolist() == [0.9]


def test_a_step_makes_an_old_graph_unusable_rather_than_wrong():
    w = parameter([2.0])
    loss = w * w
    loss.backward(retain_graph=True)
    SGD(0.1, [w]).step()
    with pytest.raises(opsdk.core.errors.VersionError):
        loss.backward()


# -- minimize ---------------------------------------------------------------------------------------------------------


def test_minimize_is_a_step_after_a_backward():
    w, v = parameter([1.0]), parameter([1.0])
    loss = w * 0.5
    loss.backward()
    operators, pairs = SGD(0.1, [w, v]).minimize(loss)
    assert operators == []
    assert pairs == [(w, w.grad)]
    assert w.tolist() == [0.95]
    assert v.tolist() == [1.0]


def test_minimize_takes_parameters_and_leaves_some_out():
    a, b, c = (parameter([1.0], [1.0], name=name) for name in ("a", "b", "c"))
    loss = a + b
    optimizer = SGD(0.1)
    optimizer.minimize(loss, parameters=[a, b, c], no_grad_set=[b, "c"])
    assert [p.item() for p in (a, b, c)] == [0.9, 1.0, 1.0]


def test_minimize_without_gradients_says_so():
    w = parameter([1.0])
    with pytest.raises(
        GraphError,
        match=r"optimizer SGD, minimize: expected a parameter with a gradient, none has one; call loss.backward\(\)",
    ):
        SGD(0.1, [w]).minimize(w * 2.0)


def test_minimize_needs_a_loss():
    with pytest.raises(
        AttributeValueError, match="optimizer SGD, minimize: loss expected a tensor or a Program variable, got float"
    ):
        SGD(0.1, [parameter([1.0])]).minimize(1.0)


def test_gradients_found_elsewhere_are_applied():
    w = parameter([1.0])
    assert SGD(0.1, [w]).apply_gradients([(w, opsdk.to_tensor(np.array([0.5])))]) == []
    assert w.tolist() == [0.95]
    with pytest.raises(
        AttributeValueError, match="optimizer SGD, apply_gradients: expected pairs of parameter and grad"
    ):
        SGD(0.1, [w]).apply_gradients([])


# -- gradients --------------------------------------------------------------------------------------------------------


def test_gradients_are_cleared():
    w, v = parameter([1.0], [1.0]), parameter([1.0])
    optimizer = SGD(0.1, [w, v])
    optimizer.clear_grad()
    assert w.grad.tolist() == [0.0]
    assert v.grad is None
    optimizer.zero_grad()
    assert w.grad is None
    w.grad = opsdk.to_tensor(np.array([1.0]))
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0.0]
    optimizer.clear_gradients(set_to_zero=False)
    assert w.grad is None


# -- learning rate ----------------------------------------------------------------------------------------------------


def test_the_learning_rate_can_be_set():
    w = parameter([1.0], [1.0])
    optimizer = SGD(0.1, [w])
    optimizer.step()
    optimizer.set_lr(0.5)
    assert optimizer.get_lr() == 0.5
    optimizer.step()
    assert w.tolist() == pytest.approx([0.4])


@pytest.mark.parametrize("wrong", [-0.1, "0.1", None, True, float("nan")])
def test_a_learning_rate_is_a_number(wrong):
    with pytest.raises(AttributeValueError, match="optimizer SGD: learning_rate expected a number ≥ 0, got"):
        SGD(wrong, [])
    with pytest.raises(AttributeValueError, match="optimizer SGD, set_lr: learning_rate expected a number ≥ 0, got"):
        SGD(0.1, []).set_lr(wrong)


@pytest.mark.parametrize("wrong", [-0.1, "0.1", True])
def test_a_weight_decay_is_a_number(wrong):
    with pytest.raises(
        AttributeValueError, match="optimizer SGD: weight_decay expected a number ≥ 0 or an L2Decay, got"
    ):
        SGD(0.1, [], weight_decay=wrong)


def test_a_beta_lies_below_one():
    with pytest.raises(AttributeValueError, match=r"optimizer Adam: beta2 expected in \[0, 1\), got 1.0"):
        Adam(beta2=1.0)


# -- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [lambda o: o.step(), lambda o: o.clear_grad()])
def test_parameters_are_needed_for_tensors(act):
    with pytest.raises(
        AttributeValueError,
        match=r"optimizer SGD: parameters expected a list of tensors to work on, got None; pass parameters=layer",
    ):
        act(SGD(0.1))


@pytest.mark.parametrize("bare", [nn.Parameter([1.0]), opsdk.ones([1]), np.ones(1), "w", 3])
def test_a_bare_tensor_is_refused(bare):
    with pytest.raises(
        AttributeValueError,
        match=rf"optimizer SGD: parameters expected a list of them, got one {type(bare).__name__}; ",
    ):
        SGD(0.1, parameters=bare)


def test_what_is_no_tensor_is_refused():
    with pytest.raises(
        AttributeValueError,
        match=r"optimizer SGD, parameter 1: expected a tensor or a \(name, tensor\) pair, got ndarray",
    ):
        SGD(0.1, [parameter([1.0]), np.ones(1)])


def test_an_interior_tensor_is_refused():
    with pytest.raises(
        AttributeValueError, match="optimizer SGD, parameter 0: expected a leaf, got a tensor that an op"
    ):
        SGD(0.1, [parameter([1.0]) * 2.0])


def test_one_name_for_two_is_refused():
    with pytest.raises(NameClashError, match="optimizer SGD: expected names that differ, got 'w' twice"):
        SGD(0.1, [("w", parameter([1.0])), ("w", parameter([1.0]))])


def test_an_iterator_will_do_and_none_at_all_too():
    w = parameter([1.0], [1.0])
    SGD(0.1, (p for p in [w])).step()
    assert w.tolist() == [0.9]
    SGD(0.1, []).step()


def test_a_new_optimizer_says_its_update():
    w = parameter([1.0], [1.0])
    with pytest.raises(
        NotImplementedError, match=r"optimizer Optimizer: expected it to define update\(param, grad, rate"
    ):
        Optimizer(0.1, [w]).step()


# -- state ------------------------------------------------------------------------------------------------------------


def net_and_optimizer(seed, named=True, kind=Adam):
    opsdk.seed(seed)
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    return net, kind(0.01, parameters=net.named_parameters() if named else net.parameters())


def train(net, optimizer, steps):
    x = opsdk.to_tensor([[1.0, 2.0], [3.0, -1.0]])
    for _ in range(steps):
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("kind", [SGD, Momentum, Adam])
def test_training_goes_on_bit_by_bit_in_a_second_model(named, kind):
    net, optimizer = net_and_optimizer(1, named, kind)
    train(net, optimizer, 3)
    saved = {name: value.numpy() for name, value in net.state_dict().items()}
    state = {name: np.array(value) for name, value in optimizer.state_dict().items()}
    train(net, optimizer, 3)

    again, other = net_and_optimizer(2, named, kind)
    other.set_lr(0.5)
    again.set_state_dict(saved)
    other.set_state_dict(state)
    assert other.get_lr() == 0.01
    train(again, other, 3)
    assert [p.tolist() for p in again.parameters()] == [p.tolist() for p in net.parameters()]


def test_the_state_is_kept_under_structured_names():
    net, optimizer = net_and_optimizer(1)
    assert optimizer.state_dict() == {
        "weight_decay": 0.0,
        "beta1": 0.9,
        "beta2": 0.999,
        "epsilon": 1e-08,
        "learning_rate": 0.01,
    }
    train(net, optimizer, 1)
    assert list(optimizer.state_dict())[:4] == [
        "0.weight.moment1",
        "0.weight.moment2",
        "0.weight.beta1_pow",
        "0.weight.beta2_pow",
    ]
    assert list(optimizer.state_dict())[-1] == "learning_rate"


def test_the_order_of_named_parameters_does_not_matter():
    net, optimizer = net_and_optimizer(1, kind=Momentum)
    train(net, optimizer, 2)
    other = Momentum(parameters=dict(reversed(list(net.named_parameters()))))
    other.load_state_dict(optimizer.state_dict())
    assert other.state_dict()["2.bias.velocity"].tolist() == optimizer.state_dict()["2.bias.velocity"].tolist()


def test_a_restored_state_is_a_copy():
    w = parameter([1.0], [1.0])
    optimizer = Momentum(0.1, parameters=[w])
    optimizer.step()
    state = optimizer.state_dict()
    optimizer.set_state_dict(state)
    optimizer.step()
    assert state["0.velocity"].tolist() == [1.0]
    assert optimizer.state_dict()["0.velocity"].tolist() == [1.9]


def test_an_entry_of_no_parameter_is_refused_when_it_is_set():
    net, optimizer = net_and_optimizer(1)
    train(net, optimizer, 1)
    other = Adam(parameters=[("mine", parameter([1.0]))])
    with pytest.raises(
        StateDictError,
        match=r"optimizer Adam, set_state_dict: expected entries of its parameters \(mine\), got .*moment1",
    ):
        other.set_state_dict(optimizer.state_dict())
    assert other.get_lr() == 0.001
    assert not [key for key in other.state_dict() if "." in key]


@pytest.mark.parametrize(("state", "got"), [(None, "NoneType"), ([("lr", 1.0)], "list")])
def test_a_state_that_is_no_mapping_is_refused_and_nothing_is_forgotten(state, got):
    w = parameter([1.0], [0.5])
    optimizer = Adam(0.1, parameters=[w])
    optimizer.step()
    with pytest.raises(StateDictError, match=f"set_state_dict: expected a mapping as state_dict.* it, got {got}"):
        optimizer.set_state_dict(state)
    assert optimizer.state_dict()["0.moment1"].item() == pytest.approx(0.05)


@pytest.mark.parametrize("is_empty", [True, False])
def test_the_state_of_an_optimizer_that_made_no_step_starts_all_afresh(is_empty):
    w = parameter([1.0], [0.5])
    optimizer = Adam(0.1, parameters=[w])
    optimizer.step()
    optimizer.set_state_dict({} if is_empty else Adam(0.2, parameters=[w]).state_dict())
    assert (list(optimizer.state_dict())[:1], optimizer.get_lr()) == (["weight_decay"], 0.1 if is_empty else 0.2)


def test_a_missing_entry_is_refused():
    other = Adam(parameters=[("w", parameter([1.0]))])
    with pytest.raises(
        StateDictError, match=r"set_state_dict: expected w\.moment2, w\.beta1_pow, w\.beta2_pow too, not there"
    ):
        other.set_state_dict({"w.moment1": np.ones(1)})


def test_an_entry_of_another_shape_is_refused():
    other = Momentum(parameters=[("w", parameter([1.0]))])
    with pytest.raises(
        ShapeError, match=r"optimizer Momentum, set_state_dict, 'w.velocity': expected shape \(1,\), got \(2,\)"
    ):
        other.set_state_dict({"w.velocity": np.ones(2)})


@pytest.mark.parametrize("value", [[None], ["1"], [1e300], [1j], np.ma.array([1.0], mask=True)])
def test_an_entry_that_is_no_number_of_the_state_is_refused(value):
    other = Momentum(parameters=[("w", opsdk.nn.Parameter([1.0]))])
    with pytest.raises(DTypeError, match=r"optimizer Momentum, set_state_dict, 'w.velocity': expected"):
        other.set_state_dict({"w.velocity": value})


def test_a_parameter_without_state_starts_afresh():
    w, v = parameter([1.0], [1.0]), parameter([1.0])
    optimizer = Momentum(0.1, parameters=[("w", w), ("v", v)])
    optimizer.step()
    other = Momentum(0.1, parameters=[("w", w), ("v", v)])
    other.set_state_dict(optimizer.state_dict())
    v.grad = opsdk.to_tensor(np.array([1.0]))
    other.step()
    assert other.state_dict()["v.velocity"].tolist() == [1.0]


# -- the numbers of a state -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "saved", "held"),
    [
        (Adam, {"beta1": 0.5, "beta2": 0.75, "epsilon": 0.125, "weight_decay": 0.25}, {"beta1": 0.9}),
        (AdamW, {"beta1": 0.5, "beta2": 0.75, "epsilon": 0.125, "weight_decay": 0.25}, {"weight_decay": 0.0}),
        (Momentum, {"momentum": 0.5, "use_nesterov": True, "weight_decay": 0.25}, {"use_nesterov": False}),
        (SGD, {"weight_decay": 0.25}, {}),
    ],
)
@pytest.mark.parametrize("as_arrays", [False, True])
def test_a_state_brings_the_numbers_that_its_optimizer_was_made_with(kind, saved, held, as_arrays):
    first, second = parameter([1.0, 2.0]), parameter([1.0, 2.0])
    one, other = kind(0.1, parameters=[first], **saved), kind(0.5, parameters=[second], **held)
    state = one.state_dict()
    other.load_state_dict({name: np.array(value) for name, value in state.items()} if as_arrays else state)
    assert other.state_dict() == state
    for optimizer, weight in ((one, first), (other, second)):
        for _ in range(3):
            (weight * weight).sum().backward()
            optimizer.step()
            optimizer.clear_grad()
    assert first.tolist() == second.tolist()


def test_a_state_without_numbers_leaves_those_that_there_are():
    optimizer = Adam(0.1, beta1=0.5, parameters=[parameter([1.0])])
    optimizer.load_state_dict({})
    assert (optimizer.state_dict()["beta1"], optimizer.get_lr()) == (0.5, 0.1)


@pytest.mark.parametrize(
    ("kind", "state", "text"),
    [
        (Adam, {"beta1": 1.0}, r"optimizer Adam: beta1 expected in \[0, 1\), got 1.0"),
        (Adam, {"beta2": "0.9"}, "optimizer Adam, set_state_dict: beta2 expected a number, got '0.9'"),
        (Momentum, {"use_nesterov": 1}, "optimizer Momentum, set_state_dict: use_nesterov expected a bool, got 1"),
        (Momentum, {"mu": True}, "optimizer Momentum, set_state_dict: mu expected a number, got True"),
        (AdamW, {"weight_decay": -1.0}, "optimizer AdamW: weight_decay expected a number ≥ 0 or an L2Decay, got -1.0"),
        (SGD, {"learning_rate": -1.0}, "optimizer SGD: learning_rate expected a number ≥ 0, got -1.0"),
    ],
)
def test_a_number_out_of_its_range_is_refused_and_nothing_is_set(kind, state, text):
    optimizer = kind(0.1, parameters=[parameter([1.0])])
    before = optimizer.state_dict()
    with pytest.raises(AttributeValueError, match=text):
        optimizer.load_state_dict({"learning_rate": 0.5, "weight_decay": 0.5, **state})
    assert optimizer.state_dict() == before


@pytest.mark.parametrize("blocked", ["a", parameter([1.0]), 3])
def test_a_no_grad_set_is_a_set(blocked):
    a = parameter([1.0], [1.0], name="a")
    with pytest.raises(AttributeValueError, match="optimizer SGD: no_grad_set expected a set of parameters or names, "):
        SGD(0.1).minimize(a * 1.0, parameters=[a], no_grad_set=blocked)
    assert a.tolist() == [1.0]


@pytest.mark.parametrize("blocked", [{"b"}, [parameter([1.0])]])
def test_a_no_grad_set_names_parameters_that_there_are(blocked):
    a = parameter([1.0], [1.0], name="a")
    with pytest.raises(AttributeValueError, match=r"no_grad_set expected parameters to leave out \(a\), got ('b'|a )"):
        SGD(0.1).minimize(a * 1.0, parameters=[a], no_grad_set=blocked)


def test_parameters_that_are_given_first_are_told_where_they_go():
    text = "optimizer Momentum: learning_rate expected a number ≥ 0, got list; parameters are given as parameters="
    with pytest.raises(AttributeValueError, match=text):
        Momentum([parameter([1.0])])


@pytest.mark.parametrize("rate", [np.float32(0.5), np.float16(0.5), np.int8(0)])
def test_a_rate_may_be_a_number_of_numpys(rate):
    assert SGD(rate, parameters=[opsdk.nn.Parameter(np.ones(1))]).get_lr() == float(rate)


@pytest.mark.parametrize("make", [Momentum, Adam, AdamW])
@pytest.mark.parametrize(("first", "then"), [("float32", "float64"), ("float64", "float32"), ("float16", "float64")])
def test_an_optimizer_goes_on_in_the_dtype_that_its_layer_is_cast_to(make, first, then):
    layer, wide = (opsdk.nn.Linear(2, 1) for _ in range(2))
    for one, dtype in ((layer, first), (wide, "float64")):
        one.weight.set_value(np.array([[0.5], [0.25]], "float32"))
        one.to(dtype=dtype)
    optimizers = [make(0.125, parameters=one.parameters()) for one in (layer, wide)]
    x = np.array([[0.5, 2.0]])
    for step in range(6):
        for one, optimizer in zip((layer, wide), optimizers, strict=True):
            one(opsdk.to_tensor(x, one.weight.dtype)).sum().backward()
            if step == 2 and one is layer:
                layer.to(dtype=then)  # with a gradient that has been gathered
            optimizer.step()
            optimizer.clear_grad()
    state = optimizers[0].state_dict().values()
    assert {held.dtype for held in state if getattr(held, "size", 1) > 1} == {np.dtype(then)}
    rtol = 1e-2 if first == "float16" else 1e-6
    np.testing.assert_allclose(layer.weight.numpy(), wide.weight.numpy(), rtol=rtol)


def test_a_cast_takes_the_gathered_gradient_along():
    layer = opsdk.nn.Linear(2, 1)
    layer(opsdk.to_tensor([[1.0, 2.0]])).sum().backward()
    layer.to(dtype="float64")
    assert (layer.weight.grad.dtype, layer.weight.grad.tolist()) == (np.float64, [[1.0], [2.0]])
    layer(opsdk.to_tensor(np.array([[10.0, 20.0]]))).sum().backward()
    assert layer.weight.grad.tolist() == [[11.0], [22.0]]

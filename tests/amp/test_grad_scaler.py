import numpy as np
import pytest

import opsdk
from opsdk import amp, nn
from opsdk import optimizer as opt
from opsdk.core.errors import AttributeValueError, GraphError, StateDictError


def made(**options):
    param = nn.Linear(1, 1, bias_attr=False).weight
    param.set_value(np.ones((1, 1), "float32"))
    return param, opt.SGD(0.5, parameters=[param]), amp.GradScaler(**{"init_loss_scaling": 4.0, **options})


def step(param, sgd, scaler, factor):
    scaler.scale((param * factor).sum()).backward()
    scaler.step(sgd)
    scaler.update()
    sgd.clear_grad()


def test_a_step_is_that_of_the_loss_and_the_scale_grows():
    param, sgd, scaler = made(incr_every_n_steps=2)
    scales = []
    for _ in range(4):
        step(param, sgd, scaler, 0.5)
        scales.append(scaler.get_scale())
    assert (scales, param.item()) == ([4.0, 8.0, 8.0, 16.0], 0.0)


def test_a_step_with_an_infinite_gradient_is_left_out_and_the_scale_falls():
    param, sgd, scaler = made(incr_every_n_steps=2, decr_every_n_nan_or_inf=2)
    scales = []
    for factor in (1.0, np.inf, np.nan, 1.0, 1.0):
        step(param, sgd, scaler, factor)
        scales.append(scaler.get_scale())
    assert (scales, param.item()) == ([4.0, 4.0, 2.0, 2.0, 4.0], -0.5)


def test_gradients_are_whole_after_unscale_and_divided_once():
    param, sgd, scaler = made()
    scaler.scale((param * 3).sum()).backward()
    assert param.grad.item() == 12.0
    scaler.unscale_(sgd)
    assert param.grad.item() == 3.0
    with pytest.raises(GraphError, match=r"unscale_: expected update\(\) after the last unscale_ or step"):
        scaler.unscale_(sgd)
    scaler.step(sgd)
    assert param.item() == -0.5
    with pytest.raises(GraphError, match=r"GradScaler.step: expected update\(\) after the last step, got none"):
        scaler.step(sgd)


def test_small_gradients_of_float16_survive():
    x = opsdk.to_tensor([1.0], stop_gradient=False)
    grads = []
    for scale in (1.0, 65536.0):
        scaler = amp.GradScaler(init_loss_scaling=scale)
        scaler.scale((x.astype("float16").astype("float32") * 1e-9).sum()).backward()
        grads.append(x.grad.item() / scale)
        x.clear_gradient(False)
    assert grads[0] == 0.0
    assert grads[1] == pytest.approx(1e-9, rel=1e-2)


def test_a_scaler_that_is_off_passes_all_through():
    param, sgd, scaler = made(enable=False)
    step(param, sgd, scaler, 2.0)
    assert (param.item(), scaler.get_scale(), scaler.state_dict(), scaler.is_enable()) == (0.0, 1.0, {}, False)
    assert not scaler.is_use_dynamic_loss_scaling()
    scaler.unscale_(sgd)
    scaler.load_state_dict({})


def test_a_scale_that_is_fixed_stays():
    param, sgd, scaler = made(use_dynamic_loss_scaling=False)
    step(param, sgd, scaler, np.inf)
    assert (scaler.get_scale(), param.item()) == (4.0, 1.0)


def test_minimize_is_step_and_update():
    param, sgd, scaler = made(incr_every_n_steps=1)
    loss = scaler.scale(param.sum())
    loss.backward()
    scaler.minimize(sgd, loss)
    assert (param.item(), scaler.get_scale()) == (0.5, 8.0)


def test_a_saved_scaler_goes_on(tmp_path):
    one, other = made(incr_every_n_steps=2), made()
    step(*one, 1.0)
    opsdk.save(one[2].state_dict(), tmp_path / "scaler")
    other[2].load_state_dict(opsdk.load(tmp_path / "scaler"))
    for each in (one, other):
        step(*each, 1.0)
    assert one[2].state_dict() == other[2].state_dict()
    assert other[2].get_scale() == 8.0


def test_what_is_none_of_a_scaler_is_refused():
    scaler = amp.GradScaler()
    before = scaler.state_dict()
    with pytest.raises(StateDictError, match=r"load_state_dict: expected incr_ratio, .*, got none"):
        scaler.load_state_dict({"scale": 2.0})
    with pytest.raises(AttributeValueError, match="GradScaler: scale expected a number between 0 and inf, got -1"):
        scaler.load_state_dict({**before, "scale": -1})
    assert scaler.state_dict() == before
    with pytest.raises(AttributeValueError, match="incr_every_n_steps expected an integer > 0, got 0"):
        amp.GradScaler(incr_every_n_steps=0)
    with pytest.raises(AttributeValueError, match="decr_ratio expected a number between 0 and 1, got 2"):
        amp.GradScaler(decr_ratio=2)

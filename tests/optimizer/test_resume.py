"""Training that goes on from a file equals training that went on, bit for bit: every optimizer, with a schedule."""

import io

import numpy as np
import pytest

import opsdk
from opsdk import nn, optimizer
from opsdk.optimizer import lr

OPTIMIZERS = {
    "SGD": {"weight_decay": 0.1},
    "Momentum": {"use_nesterov": True, "grad_clip": nn.ClipGradByGlobalNorm(0.5)},
    "Adam": {},
    "AdamW": {"beta1": 0.8},
    "RMSProp": {"momentum": 0.5, "centered": True},
    "Adagrad": {"initial_accumulator_value": 0.1},
    "Adamax": {},
    "NAdam": {"momentum_decay": 0.1},
    "RAdam": {"beta2": 0.7},
    "Adadelta": {"rho": 0.8},
    "Rprop": {"etas": (0.3, 1.5)},
    "Lamb": {"always_adapt": True},
    "RMSprop": {"momentum": 0.5},
    "SGD, momentum": {"params": None, "momentum": 0.9, "nesterov": True},
    "SGD, dampening": {"params": None, "momentum": 0.9, "dampening": 0.3, "maximize": True},
    "Adam, amsgrad": {"params": None, "betas": (0.8, 0.5), "amsgrad": True},
    "Adagrad, lr_decay": {"params": None, "lr_decay": 0.1},
    "Adamax, PyTorch's": {"params": None, "eps": 0.1},
}
X = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)


def made(name):
    net, options = nn.Linear(3, 2), dict(OPTIMIZERS[name])
    schedule = lr.LinearWarmup(lr.CosineAnnealingDecay(0.1, 5), 2, 0.0, 0.1)
    groups = [{"params": [("w", net.weight)]}, {"params": [("b", net.bias)], "learning_rate": 0.5}]
    options["params" if "params" in options else "parameters"] = groups
    return net, schedule, getattr(optimizer, name.partition(",")[0])(learning_rate=schedule, **options)


def train(net, schedule, optimizer, steps):
    def closure():
        optimizer.clear_grad()
        loss = nn.functional.mse_loss(net(opsdk.to_tensor(X)), opsdk.ones([4, 2]))
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
        schedule.step()


def test_the_table_has_every_optimizer():
    kinds = [name for name, each in vars(optimizer).items() if isinstance(each, type) and hasattr(each, "step")]
    assert sorted(kinds) == sorted([*{name.partition(",")[0] for name in OPTIMIZERS}, "Optimizer"])


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_resumed_training_equals_uninterrupted_training(name):
    whole = made(name)
    train(*whole, 3)
    file = io.BytesIO()
    opsdk.save({"net": whole[0].state_dict(), "optimizer": whole[2].state_dict()}, file)
    train(*whole, 3)
    resumed, state = made(name), opsdk.load(file)
    resumed[0].set_state_dict(state["net"])
    resumed[2].set_state_dict(state["optimizer"])
    train(*resumed, 3)
    for one, other in zip(whole[0].parameters(), resumed[0].parameters(), strict=True):
        assert one.numpy().tobytes() == other.numpy().tobytes()
    assert whole[1].state_dict() == resumed[1].state_dict()

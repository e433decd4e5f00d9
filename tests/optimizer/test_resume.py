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
}
X = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)


def made(name):
    net = nn.Linear(3, 2)
    schedule = lr.LinearWarmup(lr.CosineAnnealingDecay(0.1, 5), 2, 0.0, 0.1)
    groups = [{"params": [("w", net.weight)]}, {"params": [("b", net.bias)], "learning_rate": 0.5}]
    return net, schedule, getattr(optimizer, name)(learning_rate=schedule, parameters=groups, **OPTIMIZERS[name])


def train(net, schedule, optimizer, steps):
    for _ in range(steps):
        nn.functional.mse_loss(net(opsdk.to_tensor(X)), opsdk.ones([4, 2])).backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()


def test_the_table_has_every_optimizer():
    kinds = [name for name, each in vars(optimizer).items() if isinstance(each, type) and hasattr(each, "step")]
    assert sorted(kinds) == sorted([*OPTIMIZERS, "Optimizer"])


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

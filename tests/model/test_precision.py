import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk import optimizer as opt
from opsdk.core.errors import AttributeValueError
from opsdk.model.precision import Precision

ROWS = np.linspace(-1, 1, 8, dtype="float32").reshape(4, 2)
LABELS = np.array([0, 0, 1, 1])


def made(configs):
    opsdk.seed(2)
    net = nn.Linear(2, 2)
    model = opsdk.Model(net)
    model.prepare(opt.SGD(0.5, parameters=net.parameters()), nn.CrossEntropyLoss(), amp_configs=configs)
    return model


@pytest.mark.parametrize("configs", ["O1", {"dtype": "bfloat16"}, {"init_loss_scaling": 8.0, "level": "O1"}])
def test_mixed_precision_trains_near_full_precision(configs):
    mixed, whole = made(configs), made(None)
    seen = []
    mixed.network.register_forward_post_hook(lambda layer, given, out: seen.append(out.dtype.name))
    for model in (mixed, whole):
        model.fit([[ROWS, LABELS]], epochs=3, verbose=0)
    assert mixed.predict_batch(ROWS)[0].dtype.name in ("float32", seen[0])
    first, second = (model.network.weight.numpy() for model in (mixed, whole))
    assert first.dtype == np.float32
    assert not np.array_equal(first, second)
    assert np.allclose(first, second, atol=2e-2)


def test_the_scale_is_saved_and_goes_on(tmp_path):
    one, other = (made({"init_loss_scaling": 8.0, "incr_every_n_steps": 1}) for _ in range(2))
    one.train_batch(ROWS, LABELS)
    one.save(tmp_path / "point")
    other.load(tmp_path / "point")
    assert other._precision.scaler.get_scale() == 16.0


def test_without_configs_nothing_is_cast_or_scaled():
    precision = Precision()
    with precision.cast():
        assert (opsdk.ones([1, 1]) @ opsdk.ones([1, 1])).dtype.name == "float32"
    assert not precision.scaler.is_enable()


def test_configs_that_are_none_are_refused():
    with pytest.raises(AttributeValueError, match="amp_configs expected a level or a dictionary, got int"):
        made(3)
    with pytest.raises(AttributeValueError, match=r"amp_configs expected .*level.*, got 'levle'"):
        made({"levle": "O1"})

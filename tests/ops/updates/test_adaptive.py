import pytest

import opsdk
from opsdk.ops.updates import adaptive


@pytest.mark.parametrize(
    "name", ["adamax", "nadam", "radam", "adadelta", "rprop", "lamb", "amsgrad", "dampened_momentum", "decayed_adagrad"]
)
def test_verify_passes(name):
    assert opsdk.verify(getattr(adaptive, name), level="quick").verdict == "pass"

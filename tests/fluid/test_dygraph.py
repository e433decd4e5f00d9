import numpy as np
import pytest

import opsdk
from opsdk import fluid
from opsdk.core.errors import AttributeValueError
from opsdk.fluid import dygraph


class Net(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.line = opsdk.nn.Linear(2, 2)

    @dygraph.declarative
    def forward(self, x):
        return self.line(x), x.sum()


def test_a_declarative_layer_is_saved_by_its_last_call(tmp_path):
    with dygraph.guard():
        net, x = Net(), dygraph.to_variable(np.ones((3, 2), np.float32))
        expected = net(x)[0].numpy()
    fluid.ProgramTranslator().save_inference_model(str(tmp_path / "m"), net, fetch=[0])
    (got,) = opsdk.jit.load(tmp_path / "m")(x)
    np.testing.assert_array_equal(got.numpy(), expected)


def test_what_is_not_declarative_is_refused(tmp_path):
    with pytest.raises(
        AttributeValueError, match="layer expected a declarative function, or a layer whose forward is one"
    ):
        fluid.ProgramTranslator().save_inference_model(str(tmp_path / "m"), opsdk.nn.Linear(2, 2))


def test_programs_are_switched_off_and_on():
    calls = []

    @fluid.declarative
    def twice(x):
        calls.append(x)
        return x + x

    x = opsdk.ones([1])
    fluid.ProgramTranslator().enable(False)
    try:
        twice(x)
        assert calls[-1] is x
    finally:
        fluid.ProgramTranslator().enable(True)
    assert twice(x).item() == 2.0
    assert calls[-1] is not x


def test_enable_imperative_ends_what_enable_static_began():
    opsdk.static.enable_static()
    fluid.enable_imperative()
    assert opsdk.static.in_dynamic_mode()

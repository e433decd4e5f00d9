import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError


def test_a_summary_has_a_line_for_each_layer_and_counts_parameters(capsys):
    net = nn.Sequential(nn.Linear(2, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 3)))
    net[0].weight.stop_gradient = True
    net[1].eval()
    found = opsdk.Model(net).summary((None, 2))
    assert found == {"total_params": 27, "trainable_params": 19}
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[3:6]] == [
        ["Linear-1", "[[1,", "2]]", "[1,", "4]", "12"],
        ["ReLU-2", "[[1,", "4]]", "[1,", "4]", "0"],
        ["Linear-3", "[[1,", "4]]", "[1,", "3]", "15"],
    ]
    assert lines[-3:] == ["Total params: 27", "Trainable params: 19", "Non-trainable params: 8"]
    assert (net.training, net[1].training) == (True, False)


def test_sizes_of_several_inputs_or_an_input(capsys):
    class Both(nn.Layer):
        def forward(self, x, index):
            return x + index

    assert opsdk.summary(Both(), [(2, 3), (3,)], ["float32", "int64"])["total_params"] == 0
    assert opsdk.summary(nn.Linear(2, 1), input=opsdk.ones([1, 2]))["total_params"] == 3
    with pytest.raises(AttributeValueError, match="summary: expected an input_size or an input, got neither"):
        opsdk.summary(nn.Linear(2, 1))

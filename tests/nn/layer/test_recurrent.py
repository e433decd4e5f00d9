import numpy as np
import pytest

import opsdk
from opsdk import nn

CELLS = {"LSTM": nn.LSTMCell, "GRU": nn.GRUCell, "SimpleRNN": nn.SimpleRNNCell}
at_kinds = pytest.mark.parametrize("kind", CELLS)


@pytest.fixture
def x():
    values = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)
    return opsdk.to_tensor(values, stop_gradient=False)


def with_same_weights(layer, *cells):
    """Cells with the weights of the first layer of a net, one for each direction."""
    for cell, way in zip(cells, ("", "_reverse"), strict=False):
        for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, part).set_value(getattr(layer, f"{part}_l0{way}"))
    return cells


def gradients(loss, x, layer):
    loss.backward()
    found = {name.partition("_l0")[0].rpartition(".")[2]: p.grad.numpy() for name, p in layer.named_parameters()}
    found["x"] = x.grad.numpy()
    x.clear_grad()
    return found


@at_kinds
def test_a_net_over_a_sequence_is_its_cell_step_by_step(kind, x):
    layer = getattr(nn, kind)(3, 5)
    (cell,) = with_same_weights(layer, CELLS[kind](3, 5))
    stepped = nn.RNN(cell)
    (out, last), (same, states) = layer(x), stepped(x)
    np.testing.assert_allclose(out.numpy(), same.numpy(), rtol=1e-5, atol=1e-6)
    for one, other in zip(last if kind == "LSTM" else [last], states if kind == "LSTM" else [states], strict=True):
        np.testing.assert_allclose(one.numpy()[0], other.numpy(), rtol=1e-5, atol=1e-6)
    found, wanted = (gradients((y * y).sum(), x, net) for y, net in ((out, layer), (same, stepped)))
    assert found.keys() == wanted.keys()
    for name, grad in found.items():
        np.testing.assert_allclose(grad, wanted[name], rtol=1e-4, atol=1e-5, err_msg=name)


@at_kinds
def test_two_directions_are_two_cells_whose_outputs_stand_side_by_side(kind, x):
    layer = getattr(nn, kind)(3, 5, direction="bidirect", time_major=True)
    both = nn.BiRNN(*with_same_weights(layer, CELLS[kind](3, 5), CELLS[kind](3, 5)), time_major=True)
    (out, last), (same, _) = layer(x), both(x)
    np.testing.assert_allclose(out.numpy(), same.numpy(), rtol=1e-5, atol=1e-6)
    hidden = last[0] if kind == "LSTM" else last
    np.testing.assert_array_equal(hidden.numpy()[0], out.numpy()[-1, :, :5])
    np.testing.assert_array_equal(hidden.numpy()[1], out.numpy()[0, :, 5:])


@at_kinds
def test_sequences_of_different_lengths_are_each_what_they_are_alone(kind, x):
    layer = getattr(nn, kind)(3, 5, num_layers=2, direction="bidirect")
    out, last = layer(x, sequence_length=opsdk.to_tensor([2, 4]))
    alone, its_last = layer(x[:1, :2])
    np.testing.assert_allclose(out.numpy()[0, :2], alone.numpy()[0], rtol=1e-5, atol=1e-6)
    assert (out.numpy()[0, 2:] == 0).all()
    hidden, its = (last[0], its_last[0]) if kind == "LSTM" else (last, its_last)
    np.testing.assert_allclose(hidden.numpy()[:, 0], its.numpy()[:, 0], rtol=1e-5, atol=1e-6)


# PyTorch 2.14's LSTM and GRU of (2, 2), all weights and inputs from the sequence below: the last output.
TORCH = {"LSTM": [0.21513535, 0.16688101], "GRU": [0.23047242, 0.42082859]}


@pytest.mark.parametrize("kind", TORCH)
def test_gates_stand_in_the_order_of_pytorch(kind):
    layer = getattr(nn, kind)(2, 2)
    for parameter in layer.parameters():
        parameter.set_value((np.arange(parameter.size) % 7 / 10 - 0.2).astype(np.float32).reshape(parameter.shape))
    out, _ = layer(opsdk.to_tensor(np.linspace(-1, 1, 6, dtype=np.float32).reshape(1, 3, 2)))
    assert out.numpy()[0, -1].tolist() == pytest.approx(TORCH[kind], rel=1e-5)


def test_parameters_have_the_names_shapes_and_values_of_both_libraries():
    layer = nn.LSTM(3, 4, 2, direction="bidirect")
    shapes = {name: tuple(p.shape) for name, p in layer.named_parameters()}
    assert list(shapes)[:5] == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse"]
    assert (shapes["weight_ih_l0"], shapes["weight_ih_l1"], shapes["bias_hh_l1_reverse"]) == ((16, 3), (16, 8), (16,))
    values = np.concatenate([p.numpy().ravel() for p in layer.parameters()])
    assert 0.45 < abs(values).max() <= 0.5


def test_pytorchs_words_are_taken():
    layer = nn.LSTM(3, 4, batch_first=False, bidirectional=True, bias=False)
    assert [name for name, _ in layer.named_parameters()] == [
        "weight_ih_l0",
        "weight_hh_l0",
        "weight_ih_l0_reverse",
        "weight_hh_l0_reverse",
    ]
    out, (hidden, cell) = layer(opsdk.ones([5, 2, 3]))
    assert ([*out.shape], [*hidden.shape], [*cell.shape]) == ([5, 2, 8], [2, 2, 4], [2, 2, 4])


def test_dropout_stands_between_layers_in_training_alone(x):
    opsdk.seed(0)
    layer = nn.GRU(3, 5, num_layers=2, dropout=1.0)
    below = layer(x)[0].numpy()
    np.testing.assert_array_equal(below[0], below[1])  # nothing reached the second layer
    assert (layer.eval()(x)[0].numpy()[0] != below[0]).any()


def test_initial_states_are_taken(x):
    layer = nn.LSTM(3, 5, num_layers=2)
    first = [opsdk.ones([2, 2, 5]) * 0.5] * 2
    _, last = layer(x[:, :2], first)
    again, end = layer(x[:, 2:], last)
    whole, whole_end = layer(x, first)
    np.testing.assert_allclose(again.numpy(), whole.numpy()[:, 2:], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(end[1].numpy(), whole_end[1].numpy(), rtol=1e-5, atol=1e-6)


def test_a_cell_has_a_second_derivative():
    x = opsdk.to_tensor([[0.3, -0.2]], stop_gradient=False)
    cell = nn.LSTMCell(2, 2)
    (first,) = opsdk.grad(cell(x)[0].sum(), x, create_graph=True)
    (second,) = opsdk.grad(first.sum(), x)
    assert np.isfinite(second.numpy()).all()
    assert (second.numpy() != 0).any()


PRINTED = {
    "LSTM(3, 4, num_layers=2, direction=bidirect, dropout=0.1)": lambda: nn.LSTM(3, 4, 2, "bidirectional", dropout=0.1),
    "SimpleRNN(3, 4, time_major=True)": lambda: nn.SimpleRNN(3, 4, time_major=True),
    "SimpleRNNCell(3, 4, activation=relu)": lambda: nn.SimpleRNNCell(3, 4, "relu"),
    "RNN(\n  (cell): GRUCell(3, 4)\n)": lambda: nn.RNN(nn.GRUCell(3, 4)),
}


@pytest.mark.parametrize("text", PRINTED)
def test_layers_print_what_they_were_made_with(text):
    assert repr(PRINTED[text]()) == text


WRONG = {
    "direction": (lambda: nn.LSTM(3, 4, direction="x"), "direction expected forward, bidirect, bidirectional, got 'x'"),
    "size": (lambda: nn.LSTM(3, 0), "LSTM: hidden_size expected a whole number ≥ 1, got 0"),
    "size of a cell": (lambda: nn.GRUCell(3, -1), "GRUCell: hidden_size expected a whole number ≥ 1, got -1"),
    "layers": (lambda: nn.GRU(3, 4, num_layers=0), "GRU: num_layers expected a whole number ≥ 1, got 0"),
    "activation": (lambda: nn.SimpleRNN(3, 4, activation="gelu"), "activation expected tanh or relu, got 'gelu'"),
    "dropout": (lambda: nn.GRU(3, 4, dropout=2), "GRU: p expected a number in [0, 1], got 2"),
    "no weight": (lambda: nn.LSTMCell(3, 4, False), "LSTMCell: weight_ih_attr expected a weight, got False"),
    "axes": (lambda: nn.GRU(3, 4)(opsdk.ones([5, 3])), "GRU: inputs expected shape (batch, time, 3), got (5, 3)"),
    "last axis": (lambda: nn.GRU(3, 4, time_major=True)(opsdk.ones([5, 2, 7])), "expected shape (time, batch, 3)"),
    "of a cell": (lambda: nn.LSTMCell(3, 4)(opsdk.ones([5, 7])), "inputs expected shape (batch, 3), got (5, 7)"),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, text):
    with pytest.raises(ValueError) as caught:
        call()
    assert text in str(caught.value)


def test_a_layer_without_parameters_of_its_own_runs_on_variables():
    """What the layer does with the batch of a Variable: zeros of a size that only a run tells."""
    from opsdk.nn.layer.cells import zero_states

    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        made = zero_states(opsdk.static.data("x", [7, None, 3]), 1, 4, (2,))
    feed = {"x": np.ones((7, 5, 3), np.float32)}
    (zeros,) = opsdk.static.Executor().run(main, feed=feed, fetch_list=[made])
    assert zeros.shape == (2, 5, 4)
    assert not zeros.any()

"""SimpleRNN, LSTM and GRU: layers of one kind of cell over whole sequences, in one call a direction."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.nn.dropout import check_probability, dropout
from opsdk.nn.layer.cells import PARTS, cell_parameters, check_sizes, simple_mode, zero_states
from opsdk.nn.layer.layer import Layer
from opsdk.ops import functions as ops
from opsdk.ops.nets.lstm import lstm
from opsdk.ops.nets.recurrent import CELLS, rnn

_DIRECTIONS = {"forward": 1, "bidirect": 2, "bidirectional": 2}


# Any, in this file: tensors, variables or arrays, and the same out; every form that `as_param_attr` takes.
class _Recurrent(Layer):
    """Layers of one kind of cell, one on the other, in one direction or both."""

    _mode: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
        *,
        bias: bool = True,
        batch_first: bool | None = None,
        bidirectional: bool | None = None,
    ) -> None:
        super().__init__(name)
        kind = type(self).__name__
        check_sizes(kind, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        check_probability(dropout, kind)
        if direction not in _DIRECTIONS:
            raise AttributeValueError(f"{kind}: direction expected {', '.join(_DIRECTIONS)}, got {direction!r}")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.time_major = time_major if batch_first is None else not batch_first
        self.dropout = dropout
        self.num_directions = _DIRECTIONS[direction] if bidirectional is None else 1 + bool(bidirectional)
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr if bias else False, bias_hh_attr if bias else False
        for suffix, depth in self._suffixes():
            taken = hidden_size * self.num_directions if depth else input_size
            cell_parameters(self, self._mode, taken, hidden_size, attrs, suffix)

    def _suffixes(self) -> list[tuple[str, int]]:
        ways = ("", "_reverse")[: self.num_directions]
        return [(f"_l{depth}{way}", depth) for depth in range(self.num_layers) for way in ways]

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None) -> tuple[Any, Any]:
        """Returns the outputs of the last layer, and the states of all layers after the last step.

        Args:
            inputs: floats of shape (batch, time, input_size); (time, batch, input_size) where time is major.
            initial_states: of shape (layers · directions, batch, hidden_size), of an LSTM a pair (h, c); zeros unless
                given.
            sequence_length: whole numbers (batch,), how many steps each sequence has; all unless given. Outputs beyond
                are 0, and final states those of a sequence's own last step.

        Returns:
            Outputs of shape (batch, time, directions · hidden_size), or time first, and states as `initial_states`.
            Differentiable once; `RNN` of a cell is, to any order.

        Raises:
            ShapeError: the inputs have another number of axes, or another size.
        """
        if len(inputs.shape) != 3 or inputs.shape[-1] != self.input_size:
            lead = "time, batch" if self.time_major else "batch, time"
            raise ShapeError(
                f"{type(self).__name__}: inputs expected shape ({lead}, {self.input_size}), got {tuple(inputs.shape)}"
            )
        x = inputs if self.time_major else ops.transpose(inputs, [1, 0, 2])
        states = CELLS[self._mode].states
        first = initial_states if states == 2 or initial_states is None else (initial_states,)
        finals = []
        for place, (suffix, depth) in enumerate(self._suffixes()):
            if place % self.num_directions == 0:
                below = dropout(x, self.dropout, training=self.training) if depth else x
                outputs = []
            weights = [getattr(self, name + suffix) for name in PARTS]
            state = (
                zero_states(x, 1, self.hidden_size, (states,))
                if first is None
                else ops.stack([each[place] for each in first], 0)
            )
            is_reverse = suffix.endswith("_reverse")
            if self._mode == "LSTM" and sequence_length is None and below.dtype in (np.float32, np.float64):
                out, last = _lstm_of(below, state, *weights, reverse=is_reverse)
            else:
                out, last = rnn(below, state, *weights, sequence_length, mode=self._mode, reverse=is_reverse)
            outputs.append(out)
            finals.append(last)
            if len(outputs) == self.num_directions:
                x = out if len(outputs) == 1 else ops.concat(outputs, -1)
        made = ops.stack(finals, 1)
        last = (made[0], made[1]) if states == 2 else made[0]
        return x if self.time_major else ops.transpose(x, [1, 0, 2]), last

    def extra_repr(self) -> str:
        """Returns the sizes, and what differs from the defaults."""
        told = {
            "num_layers": (self.num_layers, 1),
            "direction": ("bidirect" if self.num_directions == 2 else "forward", "forward"),
            "time_major": (self.time_major, False),
            "dropout": (self.dropout, 0.0),
        }
        others = [f"{name}={value}" for name, (value, default) in told.items() if value != default]
        return ", ".join([str(self.input_size), str(self.hidden_size), *others])


def _lstm_of(x: Any, state: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, *, reverse: bool) -> tuple[Any, Any]:
    """Returns what `rnn` does of an LSTM: the product of the whole sequence is one of its own, as of a linear layer."""
    sizes = [-1 if size == -1 else size for size in x.shape[:2]]  # of a Variable one may be open
    rows = ops.reshape(x, [-1, x.shape[2]]) if sizes.count(-1) < 2 else x
    entered = ops.matmul(rows, w_ih, transpose_y=True)
    if b_ih is not None or b_hh is not None:
        entered = entered + (b_hh if b_ih is None else b_ih if b_hh is None else b_ih + b_hh)
    entered = entered if rows is x else ops.reshape(entered, [*sizes, w_ih.shape[0]])
    made: tuple[Any, Any] = lstm(entered, state, w_hh, reverse=reverse)
    return made


class LSTM(_Recurrent):
    """LSTM over sequences (Hochreiter & Schmidhuber 1997); a step is that of `LSTMCell`.

    Args:
        input_size: size of the input, ≥ 1.
        hidden_size: size H of a state, ≥ 1.
        num_layers: how many layers, each of which takes the outputs of the one before.
        direction: `forward`, or `bidirect`, where a second net goes from the last step to the first.
        time_major: sequences are (time, batch, …), else (batch, time, …).
        dropout: between layers, while it trains.
        weight_ih_attr, weight_hh_attr: uniform values in ±1/√H unless said otherwise.
        bias_ih_attr, bias_hh_attr: likewise; False for no bias.
        name: start of the layer's unique name.
        bias: False for no biases, in PyTorch's words.
        batch_first: the opposite of `time_major`, in PyTorch's words.
        bidirectional: `direction="bidirect"`, in PyTorch's words.

    Parameters have PyTorch's and Paddle's names, shapes and order of gates: `weight_ih_l0`, `weight_hh_l0`,
    `bias_ih_l0`, `bias_hh_l0`, then `…_l0_reverse`, `…_l1`.

    Raises:
        AttributeValueError: a size below 1, another direction, or a probability outside of [0, 1].
    """

    _mode = "LSTM"


class GRU(_Recurrent):
    """GRU over sequences (Cho et al. 2014); a step is that of `GRUCell`.

    The arguments are those of `LSTM`.
    """

    _mode = "GRU"


class SimpleRNN(_Recurrent):
    """Simple recurrent net over sequences (Elman 1990); a step is that of `SimpleRNNCell`.

    The arguments are those of `LSTM`, and `activation`, `tanh` or `relu`, after `dropout`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        self._mode = simple_mode(activation, "SimpleRNN")
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr, name
        super().__init__(input_size, hidden_size, num_layers, direction, time_major, dropout, *attrs, **options)
        self.activation = activation


LAYERS = SimpleRNN, LSTM, GRU

"""Cells of recurrent nets, which are one step, and the nets that take a cell over a sequence step by step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.nn.layer.layer import Layer
from opsdk.ops import functions as ops
from opsdk.ops.initializer import Uniform
from opsdk.ops.nets.recurrent import CELLS

PARTS = "weight_ih", "weight_hh", "bias_ih", "bias_hh"


# Any, in this file: tensors, variables or arrays, and the same out; every form that `as_param_attr` takes.
def cell_parameters(layer: Layer, mode: str, taken: int, size: int, attrs: tuple[Any, ...], suffix: str = "") -> None:
    """Gives a layer the weights of one cell: uniform values in ±1/√H unless said otherwise."""
    rows, limit = CELLS[mode].gates * size, 1 / math.sqrt(size)
    shapes = (rows, taken), (rows, size), (rows,), (rows,)
    for name, shape, attr in zip(PARTS, shapes, attrs, strict=True):
        if attr is False and name.startswith("weight"):
            raise AttributeValueError(f"{type(layer).__name__}: {name}_attr expected a weight, got False")
        made = layer.create_parameter(shape, attr, None, len(shape) == 1, Uniform(-limit, limit))
        setattr(layer, name + suffix, made)


def check_sizes(subject: str, **sizes: Any) -> None:
    """Checks sizes by their names.

    Raises:
        AttributeValueError: one is no whole number ≥ 1.
    """
    for name, size in sizes.items():
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise AttributeValueError(f"{subject}: {name} expected a whole number ≥ 1, got {size!r}")


def zero_states(x: Any, axis: int, size: int, lead: tuple[int, ...] = ()) -> Any:
    """Returns zeros (*lead, batch, size), with the batch that x has on an axis."""
    return ops.expand(np.zeros((1,) * (len(lead) + 2), x.dtype), [*lead, x.shape[axis], size])


def _row(x: Any, weight: Any, bias: Any) -> Any:
    made = ops.matmul(x, weight, transpose_y=True)
    return made if bias is None else made + bias


class RNNCellBase(Layer):
    """One step of a recurrent net: a subclass defines `forward(inputs, states) -> (output, states)`."""

    _mode: str

    def __init__(self, input_size: int, hidden_size: int, attrs: tuple[Any, ...], name: str | None) -> None:
        super().__init__(name)
        check_sizes(type(self).__name__, input_size=input_size, hidden_size=hidden_size)
        self.input_size = input_size
        self.hidden_size = hidden_size
        cell_parameters(self, self._mode, input_size, hidden_size, attrs)

    @property
    def state_shape(self) -> Any:
        """The shape of a state without the batch; a pair for an LSTM."""
        one = (self.hidden_size,)
        return (one, one) if CELLS[self._mode].states == 2 else one

    def get_initial_states(self, batch_ref: Any, batch_dim_idx: int = 0) -> Any:
        """Returns states of zeros for the batch of a value."""
        zeros = zero_states(batch_ref, batch_dim_idx, self.hidden_size)
        return (zeros, zeros) if CELLS[self._mode].states == 2 else zeros

    def _products(self, inputs: Any, hidden: Any) -> tuple[Any, Any]:
        if len(inputs.shape) != 2 or inputs.shape[1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__}: inputs expected shape (batch, {self.input_size}), got {tuple(inputs.shape)}"
            )
        return _row(inputs, self.weight_ih, self.bias_ih), _row(hidden, self.weight_hh, self.bias_hh)

    def extra_repr(self) -> str:
        """Returns the sizes."""
        return f"{self.input_size}, {self.hidden_size}"


class SimpleRNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or with max(·, 0) (Elman 1990).

    Args:
        input_size: size of the input, ≥ 1.
        hidden_size: size H of the state, ≥ 1.
        activation: `tanh` or `relu`.
        weight_ih_attr, weight_hh_attr: uniform values in ±1/√H unless said otherwise.
        bias_ih_attr, bias_hh_attr: likewise; False for no bias.
        name: start of the layer's unique name.

    Raises:
        AttributeValueError: a size below 1, another activation, or no weight.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        self._mode = simple_mode(activation, "SimpleRNNCell")
        super().__init__(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr), name)
        self.activation = activation

    def forward(self, inputs: Any, states: Any = None) -> tuple[Any, Any]:
        """Returns the new state twice: the output, and what the next step takes. Differentiable."""
        states = self.get_initial_states(inputs) if states is None else states
        x, h = self._products(inputs, states)
        new = ops.tanh(x + h) if self.activation == "tanh" else ops.relu(x + h)
        return new, new

    def extra_repr(self) -> str:
        """Returns the sizes, and the activation unless it is tanh."""
        return super().extra_repr() + ("" if self.activation == "tanh" else f", activation={self.activation}")


def simple_mode(activation: Any, subject: str) -> str:
    """Returns which entry of `CELLS` a simple net is.

    Raises:
        AttributeValueError: another activation.
    """
    if activation not in ("tanh", "relu"):
        raise AttributeValueError(f"{subject}: activation expected tanh or relu, got {activation!r}")
    return f"RNN_{activation.upper()}"


class _Gated(RNNCellBase):
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr), name)


class LSTMCell(_Gated):
    """c' = σ(f) c + σ(i) tanh(g), h' = σ(o) tanh(c'), rows i, f, g, o of the weights (Hochreiter & Schmidhuber 1997).

    The arguments are those of `SimpleRNNCell`, but for the activation.
    """

    _mode = "LSTM"

    def forward(self, inputs: Any, states: Any = None) -> tuple[Any, tuple[Any, Any]]:
        """Returns h', and the states (h', c'). Differentiable, to any order."""
        hidden, cell = self.get_initial_states(inputs) if states is None else states
        x, h = self._products(inputs, hidden)
        i, f, g, o = ops.split(x + h, 4, axis=-1)
        new = ops.sigmoid(f) * cell + ops.sigmoid(i) * ops.tanh(g)
        out = ops.sigmoid(o) * ops.tanh(new)
        return out, (out, new)


class GRUCell(_Gated):
    """h' = (1 - σ(z)) n + σ(z) h, n = tanh(x_n + σ(r) h_n), of rows r, z, n of the weights (Cho et al. 2014).

    x_n and h_n are the products with the input and with the state, each with its bias, as in PyTorch and Paddle. The
    arguments are those of `SimpleRNNCell`, but for the activation.
    """

    _mode = "GRU"

    def forward(self, inputs: Any, states: Any = None) -> tuple[Any, Any]:
        """Returns the new state twice. Differentiable, to any order."""
        states = self.get_initial_states(inputs) if states is None else states
        x, h = self._products(inputs, states)
        (xr, xz, xn), (hr, hz, hn) = ops.split(x, 3, axis=-1), ops.split(h, 3, axis=-1)
        z, n = ops.sigmoid(xz + hz), ops.tanh(xn + ops.sigmoid(xr + hr) * hn)
        new = n + z * (states - n)
        return new, new


class RNN(Layer):
    """A cell over a sequence, step by step; the sequence has to have a known length.

    Args:
        cell: a layer of `(inputs, states) -> (output, states)`.
        is_reverse: from the last step to the first.
        time_major: sequences are (time, batch, …), else (batch, time, …).
    """

    def __init__(self, cell: Any, is_reverse: bool = False, time_major: bool = False) -> None:
        super().__init__()
        if not callable(cell):
            raise AttributeValueError(
                f"RNN: cell expected a layer of (inputs, states), got {cell!r}; PyTorch's RNN is SimpleRNN here"
            )
        self.cell = cell
        self.is_reverse = is_reverse
        self.time_major = time_major

    def forward(self, inputs: Any, initial_states: Any = None) -> tuple[Any, Any]:
        """Returns the outputs of all steps, and the states after the last. Differentiable, as the cell is."""
        axis = 0 if self.time_major else 1
        steps = [ops.squeeze(one, axis) for one in ops.split(inputs, int(inputs.shape[axis]), axis)]
        made, states = [], initial_states
        for step in reversed(steps) if self.is_reverse else steps:
            output, states = self.cell(step, states)
            made.append(output)
        return ops.stack(made[::-1] if self.is_reverse else made, axis), states


class BiRNN(Layer):
    """Two cells over a sequence, one in each direction, whose outputs stand side by side.

    Args:
        cell_fw: the cell that goes forward.
        cell_bw: the cell that goes backward.
        time_major: sequences are (time, batch, …), else (batch, time, …).
    """

    def __init__(self, cell_fw: Any, cell_bw: Any, time_major: bool = False) -> None:
        super().__init__()
        self.fw = RNN(cell_fw, False, time_major)
        self.bw = RNN(cell_bw, True, time_major)

    def forward(self, inputs: Any, initial_states: Any = None) -> tuple[Any, Any]:
        """Returns the outputs of all steps, and the pair of states. Differentiable, as the cells are."""
        first, second = (None, None) if initial_states is None else initial_states
        (out, states), (other, others) = self.fw(inputs, first), self.bw(inputs, second)
        return ops.concat([out, other], -1), (states, others)


LAYERS = RNNCellBase, SimpleRNNCell, LSTMCell, GRUCell, RNN, BiRNN

"""Recurrent nets over a whole sequence: LSTM, GRU and the simple one, each an entry of a table of cells.

What enters the gates from the sequence is one product before the loop, and the gradients of sequence and weights are
products after it; a step has the product with the state alone. Gates lie one after another in memory, so that each is
contiguous (rows of four gates, 4 KB apart, take a third longer).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in
from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.core.sums import total
from opsdk.define.decorators import op
from opsdk.define.sample import Sample


@dataclass(frozen=True)
class Cell:
    """One step of a recurrent net, and back.

    Args:
        gates: how many products with the weights it has.
        kept: how many arrays of the state's shape a step leaves for the backward.
        states: how many states it has: the hidden one, and the cell of an LSTM.
        step: takes what came from the sequence, (gates, B, H), which it may write to; the product with the hidden
            state; the states; and the arrays to leave: returns the new states.
        back: takes what a step left, the states before and the new hidden one, and the cotangents of the new states;
            writes the cotangents of both products, and returns those of the states before, less the product.
        is_sum: whether a step takes the sum of both products alone, so that they have one cotangent, written once.
    """

    gates: int
    kept: int
    states: int
    step: Callable[..., Any]  # Any: arrays in and out
    back: Callable[..., Any]
    is_sum: bool = True


def _sigmoid(x: np.ndarray) -> None:
    """Takes the logistic function in place; e to the power of more than the dtype holds is inf, of which it makes 0."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    np.add(x, 1, out=x)
    np.reciprocal(x, out=x)


def _lstm(x: np.ndarray, hidden: np.ndarray, states: Any, kept: np.ndarray) -> Any:
    np.add(x, hidden, out=kept[:4])
    i, f, g, o, c = kept
    _sigmoid(kept[:2])
    np.tanh(g, out=g)
    _sigmoid(o)
    np.multiply(f, states[1], out=c)
    c += i * g
    return o * np.tanh(c), c


def _lstm_back(kept: np.ndarray, before: Any, new: np.ndarray, grads: Any, dx: np.ndarray, dhidden: np.ndarray) -> Any:
    i, f, g, o, c = kept
    (dh, dc), bent = grads, np.tanh(c)
    dc = dc + dh * o * (1 - bent * bent)
    np.multiply(dc * g, i * (1 - i), out=dx[0])
    np.multiply(dc * before[1], f * (1 - f), out=dx[1])
    np.multiply(dc * i, 1 - g * g, out=dx[2])
    np.multiply(dh * bent, o * (1 - o), out=dx[3])
    return 0, dc * f


def _gru(x: np.ndarray, hidden: np.ndarray, states: Any, kept: np.ndarray) -> Any:
    np.add(x[:2], hidden[:2], out=kept[:2])
    _sigmoid(kept[:2])
    r, z, n, product = kept
    product[...] = hidden[2]
    np.tanh(x[2] + r * product, out=n)
    return (n + z * (states[0] - n),)


def _gru_back(kept: np.ndarray, before: Any, new: np.ndarray, grads: Any, dx: np.ndarray, dhidden: np.ndarray) -> Any:
    r, z, n, product = kept
    (dh,) = grads
    np.multiply(dh * (1 - z), 1 - n * n, out=dx[2])
    np.multiply(dx[2] * product, r * (1 - r), out=dx[0])
    np.multiply(dh * (before[0] - n), z * (1 - z), out=dx[1])
    dhidden[:2] = dx[:2]
    np.multiply(dx[2], r, out=dhidden[2])
    return (dh * z,)


def _simple(bend: Callable[..., Any], slope: Callable[..., Any]) -> Cell:
    def step(x: np.ndarray, hidden: np.ndarray, states: Any, kept: np.ndarray) -> Any:
        return (bend(x[0] + hidden[0]),)

    def back(kept: np.ndarray, before: Any, new: np.ndarray, grads: Any, dx: np.ndarray, dhidden: np.ndarray) -> Any:
        dx[0] = slope(new, grads[0])
        return (0,)

    return Cell(1, 0, 1, step, back)


CELLS = {
    "LSTM": Cell(4, 5, 2, _lstm, _lstm_back),
    "GRU": Cell(3, 4, 1, _gru, _gru_back, is_sum=False),
    "RNN_TANH": _simple(np.tanh, lambda h, dh: dh * (1 - h * h)),
    "RNN_RELU": _simple(lambda x: np.maximum(x, 0), lambda h, dh: np.where(h > 0, dh, 0)),
}


def _alive(length: np.ndarray | None, steps: int) -> np.ndarray | None:
    """Returns of each step which sequences have it, of shape (T, B, 1); None where all do."""
    return None if length is None else (np.arange(steps, like=length)[:, None] < length)[..., None]


def order_of(steps: int, reverse: bool) -> range:
    """Returns the steps in the order in which they are taken."""
    return range(steps - 1, -1, -1) if reverse else range(steps)


@op(
    "opsdk::rnn(Tensor<float> x, Tensor<float> state, Tensor<float> w_ih, Tensor<float> w_hh, "
    "Tensor<float>? b_ih=None, Tensor<float>? b_hh=None, Tensor<int>? length=None, *, "
    "'LSTM' | 'GRU' | 'RNN_TANH' | 'RNN_RELU' mode='LSTM', bool reverse=False) "
    "-> (Tensor out, Tensor last), residuals (Tensor kept)"
)
def rnn(
    x: np.ndarray,
    state: np.ndarray,
    w_ih: np.ndarray,
    w_hh: np.ndarray,
    b_ih: np.ndarray | None,
    b_hh: np.ndarray | None,
    length: np.ndarray | None,
    *,
    mode: str,
    reverse: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A recurrent net in one direction over sequences: the hidden state of every step, and the states after the last.

    With a_k = W_k x + b_k + R_k h + c_k of the k-th gate, σ the logistic function, and gates in this order, as in
    PyTorch and Paddle: LSTM (Hochreiter & Schmidhuber 1997; i, f, g, o): c' = σ(a_f) c + σ(a_i) tanh(a_g), h' = σ(a_o)
    tanh(c'). GRU (Cho et al. 2014; r, z, n): n = tanh(W_n x + b_n + σ(a_r) (R_n h + c_n)), h' = (1 - σ(a_z)) n +
    σ(a_z) h. RNN (Elman 1990): h' = tanh(a), or max(a, 0).

    Args:
        x: floats of shape (T, B, I): T steps of B sequences.
        state: the states before the first step, (1, B, H), of an LSTM hidden state and cell, (2, B, H).
        w_ih: (gates · H, I), the W_k one below the other.
        w_hh: (gates · H, H), the R_k.
        b_ih: (gates · H,), the b_k, or None.
        b_hh: (gates · H,), the c_k, or None.
        length: how many steps each sequence has, (B,), or None for T each. At the steps beyond, out is 0, and the
            states stay; in reverse a sequence begins with its own last step.
        mode: which net.
        reverse: from the last step to the first.

    Returns:
        out of shape (T, B, H), and the states after the last step, of the shape of `state`.

    Gradient: with respect to all but the lengths, of order 1; nn.RNN of a cell has every order.
    """
    cell, dtype = CELLS[mode], x.dtype
    x, state, w_ih, w_hh, b_ih, b_hh = widened(x, state, w_ih, w_hh, b_ih, b_hh)
    steps, batch, size = *x.shape[:2], state.shape[-1]
    work = np.empty((max(cell.kept, cell.gates), steps, batch, size), x.dtype, like=x)
    entered = work[: cell.gates].reshape(cell.gates, steps * batch, size)
    np.matmul(x.reshape(steps * batch, x.shape[-1]), _by_gate(w_ih, cell), out=entered)
    if b_ih is not None:
        entered += b_ih.reshape(cell.gates, 1, size)
    out = np.empty((steps, batch, size), x.dtype, like=x)
    alive, weights = _alive(length, steps), _by_gate(w_hh, cell).copy()  # in order, since every step reads them
    states = tuple(state)
    with np.errstate(over="ignore"):
        for t in order_of(steps, reverse):
            hidden = np.matmul(states[0], weights)
            if b_hh is not None:
                hidden += b_hh.reshape(cell.gates, 1, size)
            new = cell.step(work[: cell.gates, t], hidden, states, work[: cell.kept, t])
            if alive is not None:
                new = [np.where(alive[t], after, before) for after, before in zip(new, states, strict=True)]
            out[t] = new[0] if alive is None else np.where(alive[t], new[0], 0)
            states = tuple(new)
    kept = work if cell.kept else np.empty((0, steps, batch, size), x.dtype, like=x)
    return out.astype(dtype, copy=False), np.stack(states).astype(dtype, copy=False), kept


def _by_gate(weight: np.ndarray, cell: Cell) -> np.ndarray:
    """Returns weights (gates · H, in) as (gates, in, H): a product with rows gives gates one after another."""
    return weight.reshape(cell.gates, len(weight) // cell.gates, weight.shape[-1]).swapaxes(1, 2)


def widened(*arrays: np.ndarray | None) -> Any:
    """Returns arrays as they are computed with: float16 and bfloat16 as float32."""
    return [array if array is None else array.astype(computed_in(array.dtype), copy=False) for array in arrays]


@rnn.infer
def _rnn(
    x: TensorSpec,
    state: TensorSpec,
    w_ih: TensorSpec,
    w_hh: TensorSpec,
    b_ih: TensorSpec | None,
    b_hh: TensorSpec | None,
    length: TensorSpec | None,
    mode: str,
) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    cell = CELLS[mode]
    if x.ndim != 3:
        raise ShapeError(f"op 'opsdk::rnn': x expected shape (T, B, I), got {shape_text(x.shape)}")
    (steps, batch, taken), size = x.shape, w_hh.shape[-1]
    rows = None if size is None else cell.gates * size
    wanted = {
        "state": (state, (cell.states, batch, size)),
        "w_ih": (w_ih, (rows, taken)),
        "w_hh": (w_hh, (rows, size)),
        "b_ih": (b_ih, (rows,)),
        "b_hh": (b_hh, (rows,)),
        "length": (length, (batch,)),
    }
    for name, (spec, shape) in wanted.items():
        if spec is None:
            continue
        pairs = zip(spec.shape, shape, strict=False)
        if spec.ndim != len(shape) or any(None not in (a, b) and a != b for a, b in pairs):
            raise ShapeError(
                f"op 'opsdk::rnn': {name} expected shape {shape_text(shape)} of {mode} to fit x {shape_text(x.shape)}, "
                f"got {shape_text(spec.shape)}"
            )
        if name != "length" and spec.dtype != x.dtype:
            raise DTypeError(f"op 'opsdk::rnn': {name} expected {x.dtype} like x, got {spec.dtype}; cast it")
    kept = TensorSpec((cell.kept, steps, batch, size), computed_in(x.dtype))
    return TensorSpec((steps, batch, size), x.dtype), state, kept


@rnn.backward
def rnn_grad(
    x: np.ndarray,
    state: np.ndarray,
    w_ih: np.ndarray,
    w_hh: np.ndarray,
    b_ih_spec: Any,
    b_hh_spec: Any,
    length: np.ndarray | None,
    out: np.ndarray,
    kept: np.ndarray,
    dout: np.ndarray,
    dlast: np.ndarray,
    mode: str,
    reverse: bool,
    needs_input_grad: Any,
) -> Any:
    """Back through the steps, and then the products of all steps at once."""
    cell, dtype = CELLS[mode], x.dtype
    x, state, w_ih, w_hh, out, dout, dlast = widened(x, state, w_ih, w_hh, out, dout, dlast)
    steps, batch, size = out.shape
    alive, order = _alive(length, steps), order_of(steps, reverse)
    before = [before_each(each, first, alive, reverse) for each, first in zip([out, *kept[4:]], state, strict=False)]
    entered = np.empty((cell.gates, steps, batch, size), x.dtype, like=x)
    hidden = entered if cell.is_sum else np.empty_like(entered)
    weights = w_hh.reshape(cell.gates, size, size)
    grads = tuple(dlast)
    for t in reversed(order):
        held = grads
        if alive is not None:  # of what ended before nothing came, and its states went on as they were
            grads = tuple(np.where(alive[t], grad, 0) for grad in grads)
        grads = (grads[0] + (dout[t] if alive is None else np.where(alive[t], dout[t], 0)), *grads[1:])
        made = cell.back(kept[:, t], [each[t] for each in before], out[t], grads, entered[:, t], hidden[:, t])
        through = np.tensordot(hidden[:, t], weights, axes=([0, 2], [0, 1]))
        grads = (through + made[0], *made[1:])
        if alive is not None:
            grads = tuple(np.where(alive[t], grad, old) for grad, old in zip(grads, held, strict=True))
    lines, other = (each.reshape(cell.gates, steps * batch, size) for each in (entered, hidden))
    dx = (
        np.tensordot(lines, w_ih.reshape(cell.gates, size, x.shape[-1]), axes=([0, 2], [0, 1]))
        if needs_input_grad[0]
        else None
    )
    biases = [b_ih_spec is not None, b_hh_spec is not None]
    sums = [total(each, (1,)).reshape(-1) for each in ((lines,) if cell.is_sum else (lines, other)) if any(biases)]
    made = (
        None if dx is None else dx.reshape(x.shape),
        np.stack(grads),
        np.matmul(lines.swapaxes(1, 2), x.reshape(steps * batch, x.shape[-1])).reshape(w_ih.shape),
        np.matmul(other.swapaxes(1, 2), before[0].reshape(steps * batch, size)).reshape(w_hh.shape),
        *(sums[i if len(sums) > 1 else 0] if is_there else None for i, is_there in enumerate(biases)),
    )
    return tuple(None if grad is None else grad.astype(dtype, copy=False) for grad in made)


def before_each(each: np.ndarray, first: np.ndarray, alive: np.ndarray | None, reverse: bool) -> np.ndarray:
    """Returns a state before each step, from that after each and the first; one that had not begun has the first."""
    made = np.empty_like(each)
    if not len(each):
        return made
    if reverse:
        made[-1], made[:-1] = first, each[1:]
    else:
        made[0], made[1:] = first, each[:-1]
    if alive is not None and reverse:
        made[:-1] = np.where(alive[1:], made[:-1], first)
    return made


@rnn.samples
def _sequences(rng: np.random.Generator) -> Iterator[Sample]:
    def of(mode: str, steps: int, *more: Any, biases: int = 2, reason: str, reverse: bool = False) -> Sample:
        cell, (batch, taken, size) = CELLS[mode], (2, 3, 2)
        shapes = (
            (steps, batch, taken),
            (cell.states, batch, size),
            (cell.gates * size, taken),
            (cell.gates * size, size),
        )
        values = [0.7 * rng.normal(size=shape) for shape in (*shapes, *[(cell.gates * size,)] * biases)]
        return Sample(*values, *more, mode=mode, reverse=reverse, reason=reason)

    yield of("LSTM", 3, reason="an LSTM")
    yield of("GRU", 3, reason="a GRU")
    yield of("RNN_TANH", 3, reason="a simple net")
    yield of("RNN_RELU", 2, reverse=True, biases=0, reason="with max, without biases, in reverse")
    yield of("LSTM", 3, np.array([1, 3]), reason="sequences of different lengths")
    yield of("LSTM", 3, np.array([3, 1]), reverse=True, reason="of different lengths, in reverse")
    yield of("GRU", 2, np.array([0, 2]), reverse=True, reason="one has no steps")
    yield of("GRU", 0, reason="no steps")

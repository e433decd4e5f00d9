"""The steps of an LSTM over sequences of one length, behind the product of a whole sequence with its weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in
from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.ops.nets.recurrent import CELLS, before_each, order_of, widened

_CELL = CELLS["LSTM"]


@op(
    "opsdk::lstm(Tensor<float> entered, Tensor<float> state, Tensor<float> w_hh, *, bool reverse=False) "
    "-> (Tensor out, Tensor last), residuals (Tensor kept)"
)
def lstm(
    entered: np.ndarray, state: np.ndarray, w_hh: np.ndarray, *, reverse: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An LSTM in one direction over sequences, of which `rnn` has the formula.

    Args:
        entered: W x + b + c of all gates and steps, i, f, g and o one behind another, (T, B, 4 H).
        state: hidden state and cell before the first step, (2, B, H).
        w_hh: the R_k, one below the other, (4 H, H).
        reverse: from the last step to the first.

    Returns:
        out of shape (T, B, H), and the states after the last step, of the shape of `state`.

    Gradient: with respect to all inputs, of order 1.
    """
    dtype = entered.dtype
    entered, state, w_hh = widened(entered, state, w_hh)
    (steps, batch, _), size = entered.shape, state.shape[-1]
    gates = entered.reshape(steps, batch, 4, size).transpose(0, 2, 1, 3)
    weights = w_hh.reshape(4, size, size).swapaxes(1, 2)
    kept = np.empty((5, steps, batch, size), entered.dtype, like=entered)
    out, states = np.empty((steps, batch, size), entered.dtype, like=entered), tuple(state)
    with np.errstate(over="ignore"):
        for t in order_of(steps, reverse):
            states = _CELL.step(gates[t], np.matmul(states[0], weights), states, kept[:, t])
            out[t] = states[0]
    return out.astype(dtype, copy=False), np.stack(states).astype(dtype, copy=False), kept


@lstm.backward
def lstm_grad(
    state: np.ndarray,
    w_hh: np.ndarray,
    out: np.ndarray,
    kept: np.ndarray,
    dout: np.ndarray,
    dlast: np.ndarray,
    reverse: bool,
) -> tuple[np.ndarray, ...]:
    """Back through the steps, and the product for the weights of all steps at once."""
    dtype = out.dtype
    state, w_hh, out, dout, dlast = widened(state, w_hh, out, dout, dlast)
    steps, batch, size = out.shape
    hidden, cell = (before_each(each, first, None, reverse) for each, first in zip((out, kept[4]), state, strict=True))
    dgates = np.empty((steps, 4, batch, size), out.dtype, like=out)
    weights, (dh, dc) = w_hh.reshape(4, size, size), dlast
    for t in reversed(order_of(steps, reverse)):
        _, dc = _CELL.back(kept[:, t], (hidden[t], cell[t]), out[t], (dh + dout[t], dc), dgates[t], dgates[t])
        dh = np.tensordot(dgates[t], weights, axes=([0, 2], [0, 1]))
    dentered = dgates.transpose(0, 2, 1, 3).reshape(steps, batch, 4 * size)
    dw_hh = dentered.reshape(-1, 4 * size).T @ hidden.reshape(-1, size)
    return tuple(each.astype(dtype, copy=False) for each in (dentered, np.stack((dh, dc)), dw_hh))


@lstm.infer
def _lstm(entered: TensorSpec, state: TensorSpec, w_hh: TensorSpec) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    size = w_hh.shape[-1]
    rows = None if size is None else 4 * size
    if entered.ndim != 3:
        raise ShapeError(f"op 'opsdk::lstm': entered expected shape (T, B, 4 H), got {shape_text(entered.shape)}")
    steps, batch, _ = entered.shape
    for name, spec, shape in (
        ("entered", entered, (steps, batch, rows)),
        ("state", state, (2, batch, size)),
        ("w_hh", w_hh, (rows, size)),
    ):
        pairs = zip(spec.shape, shape, strict=False)
        if spec.ndim != len(shape) or any(None not in (a, b) and a != b for a, b in pairs):
            raise ShapeError(
                f"op 'opsdk::lstm': {name} expected shape {shape_text(shape)} to fit w_hh "
                f"{shape_text(w_hh.shape)}, got {shape_text(spec.shape)}"
            )
        if spec.dtype != entered.dtype:
            raise DTypeError(
                f"op 'opsdk::lstm': {name} expected {entered.dtype} like entered, got {spec.dtype}; cast it"
            )
    out = (steps, batch, size)
    return TensorSpec(out, entered.dtype), state, TensorSpec((5, *out), computed_in(entered.dtype))


@lstm.samples
def _sequences(rng: np.random.Generator) -> Iterator[Sample]:
    def of(steps: int, batch: int, size: int, reason: str, **attrs: Any) -> Sample:  # Any: whether in reverse
        shapes = (steps, batch, 4 * size), (2, batch, size), (4 * size, size)
        return Sample(*[0.7 * rng.normal(size=shape) for shape in shapes], **attrs, reason=reason)

    yield of(3, 2, 2, "three steps")
    yield of(2, 3, 1, "in reverse", reverse=True)
    yield of(0, 2, 2, "no steps")


for _op in (lstm, lstm_grad):
    _op.kernel(
        "cpu",
        language="c",
        dtype="float32",
        source=Path(__file__).with_suffix(".c"),
        openmp=True,
        optional=True,
        contiguous=True,
        flags=["-ffp-contract=fast"],
    )

"""Patterns: inputs whose values tie, have an order, are great, small, or nan, for what shows at some values alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gradcheck.model.constraint import Domain
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, each, flat
from opsdk.verify.inputs.domains import domain_of, held
from opsdk.verify.inputs.stock import MAGNITUDES


def _put(line: np.ndarray, place: int, value: Any) -> np.ndarray:  # Any: a number of any dtype
    made: np.ndarray = line.copy()
    made[place] = value
    return made


# From the elements of an input, in one line, to others of its dtype: only an order, or equals, that the input has ...
ORDERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ascending": np.sort,
    "descending": lambda line: np.sort(line)[::-1],
    "all equal": lambda line: np.full_like(line, line[0]),
    "the second as the first": lambda line: _put(line, 1 % line.size, line[0]),
    "the last as the first": lambda line: _put(line, -1, line[0]),
    "the last as the one before": lambda line: np.concatenate([line[:-1], line[-2:-1] if line.size > 1 else line]),
    "every value twice": lambda line: np.repeat(line, 2)[: line.size],
}
# ... or other numbers. What is tame comes first.
NUMBERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "all positive": lambda line: np.abs(line) + 0.125,
    "all negative": lambda line: -np.abs(line) - 0.125,
    "other signs": np.negative,
    "zeros": np.zeros_like,
    "negative zeros": lambda line: np.full_like(line, -0.0),
    "ones": np.ones_like,
    "within ±1": lambda line: np.tanh(line),
    "beyond ±1": lambda line: np.where(line < 0, line - 1.5, line + 1.5),
    "whole numbers": lambda line: np.arange(line.size) % 7 - 3.0,
    "halves": lambda line: (np.arange(line.size) - line.size // 2) / 2,
    "sixteenths": lambda line: (np.arange(line.size) - line.size // 2) / 16,
    "0, 1, 2 and so on": lambda line: np.arange(float(line.size)),
    "in tens": lambda line: line * 10,
    "in hundreds": lambda line: line * 300,
    "the first large": lambda line: _put(line, 0, 50.0),
    "the first large and negative": lambda line: _put(line, 0, -50.0),
    "the first 0": lambda line: _put(line, 0, 0.0),
    "the last large": lambda line: _put(line, -1, 50.0),
    "small": lambda line: line * 1e-9,
    "subnormal": lambda line: np.full_like(line, np.finfo(line.dtype).smallest_subnormal),
    "great": lambda line: np.resize(MAGNITUDES, line.size),
    "huge": lambda line: np.sign(line) * np.finfo(line.dtype).max / 4,
    "one huge": lambda line: _put(line, 0, 1e30),
    "one inf": lambda line: _put(line, 0, np.inf),
    "one -inf": lambda line: _put(line, line.size // 2, -np.inf),
    "one nan": lambda line: _put(line, line.size // 2, np.nan),
    "the first nan": lambda line: _put(line, 0, np.nan),
    "all nan": lambda line: np.full_like(line, np.nan),
    "all inf": lambda line: np.full_like(line, np.inf),
}
# Of bools, of which samples often have all that are true before all that are not.
MASKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "every other one": lambda line: np.arange(line.size) % 2 == 0,
    "all but the first": lambda line: np.arange(line.size) > 0,
    "none": np.zeros_like,
    "all": np.ones_like,
}
PATTERNS = (*ORDERS, *NUMBERS, *MASKS)


def patterned(opdef: OpDef, call: Call, reason: str, positions: Sequence[int] | None = None) -> Iterator[Call]:
    """Yields a call with a pattern in some inputs, in all unless given; nothing where it changes none of them."""
    inputs = list(call.inputs)
    for i in range(len(inputs)) if positions is None else positions:
        where = domain_of(opdef, opdef.schema.input_names[i])
        (inputs[i],) = each([call.inputs[i]], partial(_changed, reason=reason, where=where))
    if any(new is not old for new, old in zip(flat(inputs), flat(call.inputs), strict=True)):
        try:
            yield held(opdef, replace(call, inputs=inputs, reason=f"values: {reason}", declared=False, extra=True))
        except Exception:  # what no rule moves inside is no pattern of this input
            return


def _changed(array: np.ndarray, reason: str, where: Domain) -> np.ndarray:
    """Returns an input with a pattern of values; itself where the pattern does not apply."""
    if array.dtype.kind not in ("b" if reason in MASKS else "f" if reason in NUMBERS else "fiu") or not array.size:
        return array
    pattern = (ORDERS | NUMBERS | MASKS)[reason]
    made: np.ndarray = pattern(np.ravel(array)).astype(array.dtype).reshape(array.shape)
    if not (where.is_bounded or where.rules):
        return made
    if made.dtype.kind == "f" and not np.isfinite(made).all() and (where.rules or np.isnan(made).any()):
        return array
    return replace(where, rules=()).project(made)

"""Values that calls of the sweep are made of: arrays by name, the same for every library."""

from __future__ import annotations

import functools

import numpy as np


def _irregular(*shape, shift=0.0):
    """Gives numbers in (-2, 2) without ties, kinks or simple fractions among them."""
    count = int(np.prod(shape))
    return (2.0 * np.sin(np.arange(count) * 2.3999632 + 0.7 + shift)).reshape(shape)


def _apart(*shape):
    """Gives numbers in order, none near another."""
    return np.linspace(-1.9, 2.1, int(np.prod(shape))).reshape(shape)


@functools.cache
def arrays():
    """Gives the arrays by name; whole numbers, bools and index arrays get no gradient."""
    x = _irregular(3, 4)
    made = {
        "x": x,
        "y": _irregular(3, 4, shift=1.1),
        "w34": _irregular(3, 4, shift=2.3),
        "m": _irregular(4, 4) * 0.3 + np.diag([2.0, -1.5, 3.0, 2.5]),
        "m2": _irregular(4, 4, shift=0.4),
        "m4": _irregular(4, 4, shift=0.9),
        "ms": _irregular(2, 3, 3) * 0.3 + 2 * np.eye(3),
        "ms2": _irregular(2, 3, 3, shift=0.6),
        "ms4": _irregular(2, 4, 4, shift=0.2),
        "pd": np.array([[4.0, 1.0, -0.5], [1.0, 3.0, 0.25], [-0.5, 0.25, 2.0]]),
        "mi": np.array([[2.0, 1.0], [0.5, -3.0]]),
        "s": _irregular(2, 3, 4, shift=0.3),
        "s2": _irregular(2, 4, 3, shift=0.5),
        "v": _irregular(4, shift=0.8),
        "w": _irregular(4, shift=1.9),
        "v3": _irregular(3, shift=1.3),
        "v4": _irregular(4, shift=1.7),
        "v6": _irregular(6, shift=1.5),
        "w6": _irregular(6, shift=0.15),
        "vpos": np.array([0.5, 1.5, 0.75, 2.0]),
        "flat": _irregular(7, shift=0.25),
        "flat2": _irregular(7, shift=1.25),
        "number": np.array(0.625),
        "one": np.array([1.375]),
        "empty": np.zeros((0, 3)),
        "tall": _irregular(3, 1, 4, 1),
        "c": np.abs(_irregular(3, 4, shift=0.45)) + 1.1,
        "u": 0.48 + 0.2 * _irregular(3, 4, shift=0.55),
        "u2": 0.5 + 0.21 * _irregular(3, 4, shift=1.55),
        "ucol": 0.5 + 0.2 * _irregular(5, 1),
        "ucol2": np.array([[0.0], [1.0], [1.0], [0.0], [1.0]]),
        "ten": 10 * _irregular(3, 4),
        "ten2": 10 * _irregular(3, 4, shift=0.65),
        "ties": np.array([[0.5, -0.5, 0.5, 0.0], [0.0, 1.0, 1.0, -0.5], [6.0, -1.0, 0.5, 6.0]]),
        "ties2": np.array([[0.5, 0.5, -0.5, 0.25], [0.0, 1.0, 0.5, -0.5], [3.0, -1.0, 1.0, -4.0]]),
        "holes": np.array([[1.0, np.nan, -2.0], [np.inf, 0.5, -0.0], [np.nan, -np.inf, 3.0]]),
        "edges": np.array([-1e4, -200.0, -90.0, -20.0, -3.0, 0.0, 3.0, 20.0, 90.0, 200.0, 1e4]),
        "x3": _irregular(2, 3),
        "y3": _irregular(2, 3, shift=1.05),
        "y2": _irregular(2, 4, shift=0.95),
        "two": _irregular(2, shift=0.35),
        "logs": np.log(_softmax(x)),
        "probs": _softmax(_irregular(3, 4, shift=0.85)),
        "probs3": _softmax(_irregular(3, 2, 4, shift=0.85)),
        "sorted1": np.array([-1.5, -0.5, 0.25, 1.0]),
        "weight1": np.array([0.3]),
        "weight3": np.array([0.3, 0.1, -0.2]),
        "bias3": np.array([0.1, -0.4, 0.2]),
        "bias4": np.array([0.1, -0.4, 0.2, 0.7]),
        "image": _apart(2, 3, 6, 6)[:, :, ::-1] * np.where(_irregular(2, 3, 6, 6) > 0, 1, -1),
        "image6": _irregular(2, 6, 3, 3),
        "image8": _irregular(2, 8, 3, 3),
        "sequence": _irregular(2, 3, 8),
        "sequencep": np.abs(_irregular(2, 3, 8)) + 0.1,
        "volume": _irregular(2, 3, 4, 4, 4),
        "kernel1": _irregular(4, 3, 3),
        "kernel2": _irregular(4, 3, 3, 3),
        "kernel3": _irregular(4, 3, 2, 2, 2),
        "kernelt1": _irregular(3, 4, 3),
        "kernelt2": _irregular(3, 4, 3, 3),
        "kernelt3": _irregular(3, 4, 2, 2, 2),
        "grid": 0.55 * _irregular(2, 4, 5, 2),
        "theta": _irregular(2, 2, 3),
        "columns": _irregular(2, 12, 9),
        "pooled": _irregular(1, 1, 2, 2),
        "pooled1": _irregular(1, 1, 3),
        "pooled3": _irregular(1, 1, 1, 1, 2),
        "table": _irregular(5, 3),
        "bil": _irregular(2, 4, 4),
        "heads": _irregular(2, 5, 2, 4),
        "heads2": _irregular(2, 5, 2, 4, shift=0.5),
        "heads3": _irregular(2, 5, 2, 4, shift=1.5),
        "logs3": np.log(_softmax(_irregular(6, 2, 4))),
        "steps": _irregular(2, 5, 4),
        "tokens": _irregular(2, 5, 8),
        "rows4": _irregular(5, 4),
        "rows4b": _irregular(5, 4, shift=0.75),
    }
    made |= {
        "z": _irregular(3, 4) + 1j * _irregular(3, 4, shift=0.7),
        "means": np.array([0.1, -0.2, 0.3]),
        "variances": np.array([1.1, 0.7, 2.0]),
        "i": np.array([[3, -2, 7, 0], [5, 1, -4, 6], [2, 9, -7, 4]]),
        "j": np.array([[2, 3, 4, 5], [-3, 1, 2, 2], [1, 4, 3, -2]]),
        "j3": np.array([7, 1, 9]),
        "b": np.array([[True, False, True, True], [False, False, True, False], [True, True, False, True]]),
        "b2": np.array([[True, True, False, True], [False, True, True, False], [False, True, False, False]]),
        "bfloat": np.array([[1.0, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 1]]),
        "signs": np.array([1.0, -1, 1, 1, -1, -1, 1]),
        "signs3": np.array([1, -1, 1]),
        "signs34": np.array([[1.0, -1, 1, 1], [-1, -1, 1, -1], [1, 1, -1, 1]]),
        "several": np.array([[1, 3, -1, 0], [2, -1, 0, 1], [0, 1, 2, -1]]),
        "label": np.array([2, 0, 3]),
        "flatlabel": np.array([1, 0, 1]),
        "labels2": np.arange(72).reshape(2, 6, 6) % 3,
        "labelcol": np.array([[[0], [3]], [[1], [2]], [[2], [0]]]),
        "onehot": np.eye(4)[[2, 0, 3]],
        "pick": np.array([[2, 0, 3, 1], [1, 3, 2, 0], [0, 2, 1, 3]]),
        "rows": np.array([2, 0]),
        "places": np.array([[2, 1], [0, 3]]),
        "counts": np.array([1, 0, 2, 3]),
        "targets3": np.array([[1, 2, 3], [3, 1, 1]]),
        "targets32": np.array([[1, 2, 3], [3, 1, 1]], np.int32),
        "lengths": np.array([6, 5]),
        "target_lengths": np.array([3, 2]),
        "indices": np.array([[[[0, 3], [9, 14]]]]),
        "indices1": np.array([[[0, 3, 5]]]),
        "indices3": np.array([[[[[0, 3]]]]]),
    }
    return made


# Given as arrays that get no gradient, though they are floats: what the peers take as targets or state.
_CONSTANT = "z means variances bfloat signs signs34 onehot sorted1 u2 ucol2 probs probs3 edges holes empty"
CONSTANT = frozenset(_CONSTANT.split())


def _softmax(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

"""Random expressions: as a function of symbols, and, apart from it, in mpmath, which knows nothing of opsdk.

In mpmath an element is a list with one number per position, and a number of the row stands alone.
"""

from __future__ import annotations

import mpmath
import numpy as np

from opsdk import vmath

mpmath.mp.dps = 40
N = 3  # positions of a row
ROLES = {"x": "full", "w": "column", "r": "row"}


def positive(a):
    return a * a + mpmath.mpf("0.5")


def radius(a, b):
    if a == b == 0:
        raise ZeroDivisionError("the tip of a cone, which has no slope")
    return mpmath.hypot(a, b)


# By name: on symbols, in mpmath on single numbers, and how many operands. All are smooth, or have kinks that a random
# point does not meet; those with a domain are given what lies in it, or are chosen only where they are defined.
STEPS = {
    "add": (lambda a, b: a + b, lambda a, b: a + b, 2),
    "sub": (lambda a, b: a - b, lambda a, b: a - b, 2),
    "mul": (lambda a, b: a * b, lambda a, b: a * b, 2),
    "div": (lambda a, b: a / (b * b + 0.5), lambda a, b: a / positive(b), 2),
    "quotient": (lambda a, b: a / b, lambda a, b: a / b, 2),
    "scaled": (lambda a, b: b * vmath.tanh(a / b), lambda a, b: b * mpmath.tanh(a / b), 2),
    "exp": (lambda a: vmath.exp(-(a * a)), lambda a: mpmath.exp(-(a * a)), 1),
    "log": (lambda a: vmath.log(a * a + 0.5), lambda a: mpmath.log(positive(a)), 1),
    "sqrt": (lambda a: vmath.sqrt(a * a + 0.5), lambda a: mpmath.sqrt(positive(a)), 1),
    "rsqrt": (lambda a: vmath.rsqrt(a * a + 0.5), lambda a: 1 / mpmath.sqrt(positive(a)), 1),
    "tanh": (vmath.tanh, mpmath.tanh, 1),
    "sin": (vmath.sin, mpmath.sin, 1),
    "sigmoid": (vmath.sigmoid, lambda a: 1 / (1 + mpmath.exp(-a)), 1),
    "softplus": (vmath.softplus, lambda a: mpmath.log(1 + mpmath.exp(a)), 1),
    "erf": (vmath.erf, mpmath.erf, 1),
    "arctan2": (lambda a, b: vmath.arctan2(a, b * b + 0.5), lambda a, b: mpmath.atan2(a, positive(b)), 2),
    "hypot": (vmath.hypot, radius, 2),
    "cube": (lambda a: vmath.tanh(a) ** 3, lambda a: mpmath.tanh(a) ** 3, 1),
    "power": (lambda a, b: (a * a + 0.5) ** vmath.sin(b), lambda a, b: positive(a) ** mpmath.sin(b), 2),
    "abs": (vmath.abs, abs, 1),
    "maximum": (vmath.maximum, max, 2),
    "minimum": (vmath.minimum, min, 2),
    "relu": (lambda a: vmath.maximum(a, 0.0), lambda a: max(a, mpmath.mpf(0)), 1),
    "clip": (lambda a: vmath.clip(a, -0.4, 0.7), lambda a: min(max(a, mpmath.mpf("-0.4")), mpmath.mpf("0.7")), 1),
    "where": (lambda a, b: vmath.where(a > b, a * b, a), lambda a, b: a * b if a > b else a, 2),
    # the branch that is not taken has no value there, and its derivative neither
    "log where": (lambda a: vmath.where(a > 0.0, vmath.log(a), a), lambda a: mpmath.log(a) if a > 0 else a, 1),
    "root where": (
        lambda a, b: vmath.where(a > 0.1, vmath.sqrt(a) * b, 0.0) + vmath.where(a > 0.9, vmath.sqrt(a), 0.0),
        lambda a, b: (mpmath.sqrt(a) * b if a > 0.1 else 0) + (mpmath.sqrt(a) if a > 0.9 else 0),
        2,
    ),
}  # fmt: skip


def lse(a):
    return mpmath.log(mpmath.fsum(map(mpmath.exp, a)))


REDUCTIONS = {
    "row_sum": (vmath.row_sum, mpmath.fsum),
    "row_mean": (vmath.row_mean, lambda a: mpmath.fsum(a) / N),
    "row_max": (vmath.row_max, max),
    "row_min": (vmath.row_min, min),
    "row_logsumexp": (vmath.row_logsumexp, lse),
    "row_take": (lambda a: vmath.row_take(a, 1.0), None),
}


# What an op's function reads is read with all that it leads to: a definition that led to mpmath would take a second.
ON_SYMBOLS = {name: of_symbols for name, (of_symbols, *_) in {**STEPS, **REDUCTIONS}.items()}


def of_symbols(steps, *symbols):
    """Returns the expression that the steps of a `RandomExpression` make of symbols."""
    values = list(symbols)
    for name, operands in steps:
        values.append(ON_SYMBOLS[name](*(values[i] for i in operands)))
    return values[-1]


class RandomExpression:
    """A random function of inputs, which are named and, in a row expression, have the roles of ROLES.

    Args:
        seed: decides it.
        inputs: their names.
        of_rows: whether it reduces.
        length: how many steps it has.
    """

    def __init__(self, seed, inputs, of_rows, length=7):
        rng = np.random.default_rng(seed)
        self.inputs = tuple(inputs)
        is_element = [not of_rows or ROLES[name] != "row" for name in inputs]
        self.steps = []
        for _ in range(length):
            elements = [i for i, flag in enumerate(is_element) if flag]
            if of_rows and rng.random() < 0.35:
                newer = elements[-3:]  # so that reductions nest
                self.steps.append((str(rng.choice(list(REDUCTIONS))), (int(rng.choice(newer)),)))
                is_element.append(False)
            else:
                name = str(rng.choice(list(STEPS)))
                recent = np.arange(max(0, len(is_element) - 5), len(is_element))
                operands = tuple(int(i) for i in rng.choice(recent, STEPS[name][2]))
                self.steps.append((name, operands))
                is_element.append(any(is_element[i] for i in operands))
        self.steps.append(("add", (len(is_element) - 1, len(is_element) - 2)))

    def __repr__(self):
        return f"{', '.join(self.inputs)}: " + "; ".join(f"{name}{operands}" for name, operands in self.steps)

    def of_numbers(self, *numbers):
        """Returns the value of one element, or the list of a row's, or the number of a row."""
        values = list(numbers)
        for name, operands in self.steps:
            given = [values[i] for i in operands]
            if name == "row_take":
                values.append(given[0][1])
            elif name in REDUCTIONS:
                values.append(REDUCTIONS[name][1](given[0]))
            elif any(isinstance(value, list) for value in given):
                spread = [value if isinstance(value, list) else [value] * N for value in given]
                values.append([STEPS[name][1](*column) for column in zip(*spread, strict=True)])
            else:
                values.append(STEPS[name][1](*given))
        return values[-1]


def shifted(points, directions, steps):
    """Returns points moved by Σ step · direction, as mpmath's numbers: a list per element input, else one number."""
    moved = []
    for at, along in zip(points, directions, strict=True):
        one = [
            mpmath.mpf(float(p)) + sum(step * mpmath.mpf(float(d)) for step, d in zip(steps, ds, strict=True))
            for p, *ds in zip(np.ravel(at), *map(np.ravel, along), strict=True)
        ]
        moved.append(one if np.ndim(at) else one[0])
    return moved

"""The accuracy that the functions promise, in units in the last place: the largest error anywhere in the domain.

An error of 0.5 is that of the nearest float. What was measured stands in `docs/vmath.md`. Functions that are not
listed, such as `floor` and `fmod`, are exact.
"""

from __future__ import annotations

# By name of a primitive: for float32, for float64. The error of `logaddexp` is in units of the larger of 1 and the
# result.
ULP: dict[str, tuple[float, float]] = {
    "exp": (1.0, 1.0),
    "exp2": (1.0, 1.0),
    "expm1": (1.5, 2.0),
    "log": (1.0, 1.0),
    "log1p": (1.0, 1.0),
    "log2": (1.0, 1.0),
    "log10": (1.0, 1.0),
    "logaddexp": (1.5, 1.5),
    "sqrt": (0.5, 0.5),
    "rsqrt": (0.501, 1.5),
    "cbrt": (1.0, 1.0),
    "hypot": (0.501, 1.5),
    "pow": (0.6, 1.5),
    "sin": (1.6, 3.0),
    "cos": (1.6, 3.0),
    "tan": (3.5, 4.0),
    "arcsin": (2.5, 2.5),
    "arccos": (1.5, 1.5),
    "arctan": (2.5, 2.5),
    "arctan2": (2.5, 2.5),
    "sinh": (2.5, 2.5),
    "cosh": (1.5, 1.5),
    "tanh": (1.5, 2.5),
    "arcsinh": (2.0, 2.0),
    "arccosh": (2.5, 2.5),
    "arctanh": (2.5, 2.5),
    "sigmoid": (2.0, 2.0),
    "softplus": (2.0, 2.0),
    "erf": (1.5, 2.0),
    "erfc": (4.0, 4.0),
    "square": (0.5, 0.5),
    "reciprocal": (0.5, 0.5),
}

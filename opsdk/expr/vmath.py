"""Mathematical functions for scalar expressions, for arrays and numbers, and inside Numba kernels, under one name each.

On symbols, which an elementwise op is read with, a function builds a node of the expression. On tensors and Variables
it is an op, the built-in one where there is one, with gradients of every order. On NumPy arrays and
numbers it computes at once, as NumPy does and without its warnings: float32 stays float32, float16 and bfloat16 are
computed in float32 and rounded once, integers give float64 but for `abs`, `sign`, `square`, `floor`, `ceil`, `round`,
`trunc`, `maximum`, `minimum`, `where` and `pow`, as NumPy has them; `abs` and `pow` of Python numbers alone are
Python's.
Inside a function that Numba compiles it is inlined as a polynomial that calls no library, so that a loop over it is
vectorised; there it takes float32 and float64 scalars, integers as float64, and arrays element by element.
`uniform`, `normal` and `random_bits` are random numbers by a key and a counter, whole numbers or arrays of them.
"""

from __future__ import annotations

from typing import Any

from opsdk.expr.draws import FUNCTIONS as DRAWS
from opsdk.expr.primitives import special as _special  # noqa: F401 - adds its entries to the table
from opsdk.expr.primitives.function import apply, function_of
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.row.row import FUNCTIONS

# Any, in this file: a symbol, an array or a number, and the same back.
pi = 3.141592653589793
e = 2.718281828459045
inf = float("inf")
nan = float("nan")


# Any: a symbol, an array or a number, and the same back.
def clip(x: Any, low: Any, high: Any) -> Any:
    """Returns x held between two bounds, NaN if any is; high where they cross, as in NumPy and PyTorch.

    Derivative that of minimum(maximum(x, low), high).
    """
    return apply("minimum", apply("maximum", x, low), high)


_made = {each.function: function_of(each, __name__) for each in PRIMITIVES.values() if each.doc}
_made |= {each.__name__: each for each in (*FUNCTIONS, *DRAWS)}
globals().update(_made)

__all__ = [*_made, "clip", "pi", "e", "inf", "nan"]

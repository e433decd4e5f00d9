"""Mathematical functions for scalar expressions, for arrays and numbers, and inside Numba kernels, under one name each.

On symbols, which an elementwise op is read with, a function builds a node of the expression. On NumPy arrays and
numbers it computes at once, as NumPy does and without its warnings: float32 stays float32, integers give float64 but
for `abs`, `sign`, `square`, `floor`, `ceil`, `round`, `trunc`, `maximum`, `minimum`, `where` and `pow`, as
NumPy has them; `abs` and `pow` of Python numbers alone are Python's.
Inside a function that Numba compiles it is inlined as a polynomial that calls no library, so that a loop over it is
vectorised; there it takes float32 and float64 scalars, integers as float64, and arrays element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opsdk.core.written import written
from opsdk.expr.evaluate import is_number, of_numbers
from opsdk.expr.node import Node
from opsdk.expr.primitives.entry import Primitive
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.row.row import FUNCTIONS
from opsdk.expr.symbol import Symbol
from opsdk.expr.symbol import apply as _node_of

# Any, in this file: a symbol, an array or a number, and the same back.


def function_of(primitive: Primitive, module: str) -> Callable[..., Any]:
    """Returns the function of a primitive, with its operands for parameters, as one that a module defines."""
    name = primitive.name
    made = {
        1: lambda x: apply(name, x),
        2: lambda a, b: apply(name, a, b),
        3: lambda c, a, b: apply(name, c, a, b),
    }[primitive.arity]
    types = dict.fromkeys((*primitive.operands, "return"), "Any")
    function: Callable[..., Any] = written(
        made, primitive.function, types, module=module, doc=primitive.doc, origin=primitive.origin
    )
    return function


def apply(name: str, *operands: Any) -> Any:
    """Returns the value of a primitive; the node where an operand is a symbol."""
    if any(isinstance(operand, (Symbol, Node)) for operand in operands):
        return _node_of(name, *operands)
    primitive = PRIMITIVES[name]
    if primitive.python and all(map(is_number, operands)):  # as the op computes them, which cannot tell abs from ours
        return of_numbers(name, operands)
    if all(isinstance(operand, (int, float)) for operand in operands):  # Python's own would raise where NumPy gives inf
        operands = tuple(np.asarray(operand)[()] for operand in operands)
    with np.errstate(all="ignore"):
        return primitive.meaning(np, *operands)


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
_made |= {each.__name__: each for each in FUNCTIONS}
globals().update(_made)

__all__ = [*_made, "clip", "pi", "e", "inf", "nan"]

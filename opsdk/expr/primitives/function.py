"""A primitive as users call it: one function of symbols, of tensors and Variables, of arrays and of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opsdk.core.written import written
from opsdk.define.frontend import APPLY, owner_of
from opsdk.define.op import REGISTRY, Op
from opsdk.define.opdef import BUILTIN
from opsdk.expr.decorators import elementwise
from opsdk.expr.evaluate import is_number, of_numbers
from opsdk.expr.node import FLOAT, Node
from opsdk.expr.primitives.entry import Primitive
from opsdk.expr.primitives.halves import rounded_once
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.symbol import Symbol
from opsdk.expr.symbol import apply as _node_of

# Any, in this file: a symbol, an array or a number, and the same back.
_NUMPYS = ("pow", "maximum", "minimum")  # ops that NumPy's functions of tensors are, under other names
_ops: dict[str, Op] = {}


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


def is_foreign(function: Callable[..., Any]) -> bool:
    """Whether a function is that of a primitive whose body is C."""
    if getattr(function, "__globals__", None) is not globals():
        return False
    return any(each.public is function and each.is_foreign for each in list(PRIMITIVES.values()))


def apply(name: str, *operands: Any) -> Any:
    """Returns the value of a primitive; the node where an operand is a symbol."""
    if any(isinstance(operand, (Symbol, Node)) for operand in operands):
        return _node_of(name, *operands)
    primitive = PRIMITIVES[name]
    if any(operand.__class__ in APPLY or owner_of(operand) for operand in operands) and _is_op(primitive):
        return _op_of(primitive)(*operands)
    if primitive.python and all(map(is_number, operands)):  # as the op computes them, which cannot tell abs from ours
        return of_numbers(name, operands)
    if all(isinstance(operand, (int, float)) for operand in operands):  # Python's own would raise where NumPy gives inf
        operands = tuple(np.asarray(operand)[()] for operand in operands)
    with np.errstate(all="ignore"):
        return rounded_once(primitive.meaning, np, *operands)


def _is_op(primitive: Primitive) -> bool:
    return primitive.gives == FLOAT and set(primitive.takes) == {FLOAT} and primitive.name not in _NUMPYS


def _op_of(primitive: Primitive) -> Op:
    """Returns the op that computes a primitive and nothing else."""
    built_in = REGISTRY.get(f"{BUILTIN}::{primitive.name}")
    if built_in is not None:
        return built_in
    with REGISTRY.lock:
        if primitive.name not in _ops:
            operands = ", ".join(f"Tensor {name}" for name in primitive.operands)
            made = function_of(primitive, __name__)
            _ops[primitive.name] = elementwise(f"vmath::{primitive.name}({operands}) -> Tensor", lazy=True)(made)
        return _ops[primitive.name]

"""Derivative rules of the primitives, and the reverse sweep that combines them.

A rule gives, per operand, the partial derivative as an expression of operands and result. At a kink it states the value
that is taken: the rules for `abs`, `minimum`, `maximum` and `where` say so beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opsdk.expr.node import BOOL, Node, constant, topological
from opsdk.expr.symbol import Symbol, apply

Rule = Callable[..., tuple["Symbol | float | None", ...]]  # (result, *operands) → one partial per operand

LOG2, LOG10 = 0.6931471805599453, 2.302585092994046  # natural logarithms of 2 and 10
TWO_OVER_ROOT_PI = 1.1283791670955126
_EXACT = 256  # whole numbers up to here are numbers of every floating dtype

RULES: dict[str, Rule] = {
    "add": lambda y, a, b: (1.0, 1.0),
    "sub": lambda y, a, b: (1.0, -1.0),
    "mul": lambda y, a, b: (b, a),
    "div": lambda y, a, b: (apply("reciprocal", b), -y / b),
    "neg": lambda y, a: (-1.0,),
    "reciprocal": lambda y, a: (-(y * y),),
    "square": lambda y, a: (2.0 * a,),
    "pow": lambda y, a, b: (_power_base(a, b), _power_exponent(y, a, b)),
    "exp": lambda y, a: (y,),
    "exp2": lambda y, a: (y * LOG2,),
    "expm1": lambda y, a: (apply("exp", a),),  # y + 1 loses its digits where y is near −1
    "log": lambda y, a: (apply("reciprocal", a),),
    "log1p": lambda y, a: (apply("reciprocal", a + 1.0),),
    "log2": lambda y, a: (apply("reciprocal", a * LOG2),),
    "log10": lambda y, a: (apply("reciprocal", a * LOG10),),
    "sqrt": lambda y, a: (0.5 / y,),
    "cbrt": lambda y, a: (apply("reciprocal", 3.0 * (y * y)),),
    "rsqrt": lambda y, a: (-0.5 * y / a,),
    "sin": lambda y, a: (apply("cos", a),),
    "cos": lambda y, a: (-apply("sin", a),),
    "tan": lambda y, a: (1.0 + y * y,),
    "sinh": lambda y, a: (apply("cosh", a),),
    "cosh": lambda y, a: (apply("sinh", a),),
    "tanh": lambda y, a: (1.0 - y * y,),
    "arcsin": lambda y, a: (apply("rsqrt", 1.0 - a * a),),
    "arccos": lambda y, a: (-apply("rsqrt", 1.0 - a * a),),
    "arctan": lambda y, a: (apply("reciprocal", 1.0 + a * a),),
    "arcsinh": lambda y, a: (apply("rsqrt", a * a + 1.0),),
    "arccosh": lambda y, a: (apply("rsqrt", (a - 1.0) * (a + 1.0)),),
    "arctanh": lambda y, a: (apply("reciprocal", (1.0 - a) * (1.0 + a)),),
    "arctan2": lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    "sigmoid": lambda y, a: (y * apply("sigmoid", -a),),  # 1 - y loses its digits where y is near 1
    "softplus": lambda y, a: (apply("sigmoid", a),),
    "erf": lambda y, a: (TWO_OVER_ROOT_PI * apply("exp", -(a * a)),),
    "erfc": lambda y, a: (-TWO_OVER_ROOT_PI * apply("exp", -(a * a)),),
    "hypot": lambda y, a, b: (a / y, b / y),  # NaN where both are 0, the tip of a cone
    "logaddexp": lambda y, a, b: (apply("sigmoid", a - b), apply("sigmoid", b - a)),
    "abs": lambda y, a: (apply("sign", a),),  # 0 at 0
    "copysign": lambda y, a, b: (apply("sign", a) * apply("copysign", 1.0, b), None),  # 0 at 0
    "sign": lambda y, a: (None,),
    "floor": lambda y, a: (None,),
    "ceil": lambda y, a: (None,),
    "trunc": lambda y, a: (None,),
    "round": lambda y, a: (None,),
    "fmod": lambda y, a, b: (1.0, (y - a) / b),  # fmod(a, b) = a - b·trunc(a/b)
    # where both are equal, the whole derivative to the first operand; beside a constant, none to the other operand
    "maximum": lambda y, a, b: (_one_if(_beyond(y, a, b) > b if _is_constant(b) else a >= b), _one_if(a < b)),
    "minimum": lambda y, a, b: (_one_if(_beyond(y, a, b) < b if _is_constant(b) else a <= b), _one_if(a > b)),
    "where": lambda y, c, a, b: (None, apply("where", c, 1.0, 0.0), apply("where", c, 0.0, 1.0)),
}


def _power_base(a: Symbol, b: Symbol) -> Symbol | None:
    """d/da aᵇ = b aᵇ⁻¹; at 0⁰, where that would be 0 · ∞, it is 0."""
    if _is_constant(b):
        exponent = b.node.payload
        return exponent * apply("pow", a, exponent - 1.0) if exponent else None
    at_zero = apply("and", apply("eq", a, 0.0), apply("eq", b, 0.0))
    return b * apply("pow", a, apply("where", at_zero, 1.0, b - 1.0))


def _power_exponent(y: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """d/db aᵇ = aᵇ log a, and 0 where aᵇ is 0, as the limit is.

    Beyond exponent 1 the logarithm is kept away from 0, so that later derivatives stay finite where the true ones do,
    also beside cotangents of zero. At base 0 a mixed derivative of order n is infinite where b ≤ n - 1; the expression
    gives nan there, but 0 where b = n - 1 is 2 or more.
    """
    gone = apply("eq", y, 0.0)
    steep = apply("and", gone, apply("le", b, 1.0))
    safe = apply("where", apply("and", gone, apply("gt", b, 1.0)), 1.0, a)
    return apply("where", steep, 0.0, y * apply("log", safe))


def _beyond(y: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """Returns what tells which operand was taken beside a constant: the result, where no rounding of it can hide that.

    Then a backward reads the result, which is kept anyway by whatever uses it.
    """
    value = b.node.payload if _is_constant(b) else None
    return y if value is not None and value.is_integer() and abs(value) <= _EXACT else a


def _is_constant(operand: Symbol) -> bool:
    return operand.node.op == "constant"


def _one_if(condition: Symbol) -> Symbol:
    return apply("where", condition, 1.0, 0.0)


def partials(node: Node) -> tuple[Symbol | float | None, ...]:
    """Returns the partial derivatives of a node with respect to its operands; None where they are zero everywhere."""
    if node.kind == BOOL or node.is_leaf:
        return (None,) * len(node.args)
    return RULES[node.op](Symbol(node), *map(Symbol, node.args))


def reverse(outputs: Sequence[Node], cotangents: Sequence[Node], wrt: Sequence[Node]) -> list[Node]:
    """Returns the gradient expressions of Σ output · cotangent with respect to the nodes `wrt`.

    Subexpressions of the outputs appear in the gradients as the same nodes, so that whoever computes both shares them.
    """
    order = topological(outputs)
    grads: dict[Node, Symbol] = {}

    def send(node: Node, value: Symbol) -> None:
        grads[node] = value if node not in grads else grads[node] + value

    for output, cotangent in zip(outputs, cotangents, strict=True):
        send(output, Symbol(cotangent))
    for node in reversed(order):
        grad = grads.get(node)
        if grad is None or node in wrt:
            continue
        for arg, partial in zip(node.args, partials(node), strict=True):
            if partial is not None and arg.op != "constant":
                send(arg, times(node, grad, partial))
    return [grads[node].node if node in grads else constant(0.0) for node in wrt]


def times(node: Node, grad: Symbol, partial: Symbol | float) -> Symbol:
    """Multiplies a cotangent by a partial; ±1 costs nothing, 1/b divides, a choice keeps it out of the other branch.

    A cotangent that is 0 by choice stays 0, whatever the partial is there: `where(x > 0, log(x), 0)` has a derivative.
    """
    if grad.node.op == "where" and not (isinstance(partial, float) and partial == 1.0):
        condition, a, b = map(Symbol, grad.node.args)
        if b.node is constant(0.0):
            return apply("where", condition, times(node, a, partial), b)
        if a.node is constant(0.0):
            return apply("where", condition, a, times(node, b, partial))
    if isinstance(partial, float):
        if partial == 1.0:
            return grad
        return -grad if partial == -1.0 else grad * partial
    if partial.node.op == "reciprocal":
        return grad / Symbol(partial.node.args[0])
    if partial.node.op == "where" and set(partial.node.args[1:]) == {constant(0.0), constant(1.0)}:
        condition, a, b = map(Symbol, partial.node.args)
        chosen, other = (grad, 0.0) if a.node is constant(1.0) else (0.0, grad)
        return apply("where", condition, chosen, other)
    return grad * partial

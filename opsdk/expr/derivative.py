"""Derivative rules of the primitives, and the reverse sweep that combines them.

A rule gives, per operand, the partial derivative as an expression of operands and result. At a kink it states the value
that is taken: the rules for `abs`, `minimum`, `maximum` and `where` say so beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opsdk.expr.node import BOOL, Node, constant, topological
from opsdk.expr.symbol import Symbol, apply

Rule = Callable[..., tuple["Symbol | float | None", ...]]  # (result, *operands) → one partial per operand

RULES: dict[str, Rule] = {
    "add": lambda y, a, b: (1.0, 1.0),
    "sub": lambda y, a, b: (1.0, -1.0),
    "mul": lambda y, a, b: (b, a),
    "div": lambda y, a, b: (apply("reciprocal", b), -y / b),
    "neg": lambda y, a: (-1.0,),
    "reciprocal": lambda y, a: (-(y * y),),
    "square": lambda y, a: (2.0 * a,),
    # d/db a^b = a^b log a, taken as 0 where a is 0, as the limit is for b > 0
    "pow": lambda y, a, b: (
        b * apply("pow", a, b - 1.0),
        apply("where", apply("eq", a, 0.0), 0.0, y * apply("log", a)),
    ),
    "exp": lambda y, a: (y,),
    "exp2": lambda y, a: (y * LOG2,),
    "expm1": lambda y, a: (y + 1.0,),
    "log": lambda y, a: (apply("reciprocal", a),),
    "log1p": lambda y, a: (apply("reciprocal", a + 1.0),),
    "log2": lambda y, a: (apply("reciprocal", a * LOG2),),
    "sqrt": lambda y, a: (0.5 / y,),
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
    "arctan2": lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    "sigmoid": lambda y, a: (y * (1.0 - y),),
    "softplus": lambda y, a: (apply("sigmoid", a),),
    "abs": lambda y, a: (apply("sign", a),),  # 0 at 0
    "sign": lambda y, a: (None,),
    "floor": lambda y, a: (None,),
    "ceil": lambda y, a: (None,),
    "round": lambda y, a: (None,),
    "fmod": lambda y, a, b: (1.0, (y - a) / b),  # fmod(a, b) = a - b·trunc(a/b)
    # the whole derivative to the first operand where both are equal
    "maximum": lambda y, a, b: (_one_if(a >= b), _one_if(a < b)),
    "minimum": lambda y, a, b: (_one_if(a <= b), _one_if(a > b)),
    "where": lambda y, c, a, b: (None, apply("where", c, 1.0, 0.0), apply("where", c, 0.0, 1.0)),
}
LOG2 = 0.6931471805599453  # natural logarithm of 2


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
                send(arg, _times(node, grad, partial))
    return [grads[node].node if node in grads else constant(0.0) for node in wrt]


def _times(node: Node, grad: Symbol, partial: Symbol | float) -> Symbol:
    """Multiplies a cotangent by a partial; ±1 costs nothing, a choice keeps it out of the other branch."""
    if isinstance(partial, float):
        if partial == 1.0:
            return grad
        return -grad if partial == -1.0 else grad * partial
    condition, a, b = partial.node.args if partial.node.op == "where" else (None, None, None)
    if condition is not None and {a, b} == {constant(0.0), constant(1.0)}:
        chosen, other = (grad, 0.0) if a is constant(1.0) else (0.0, grad)
        return apply("where", Symbol(condition), chosen, other)
    return grad * partial

"""Derivative rules of the primitives, and the reverse sweep that combines them.

A rule gives, per operand, the partial derivative as an expression of operands and result. At a kink it states the value
that is taken: the rules for `abs`, `minimum`, `maximum` and `where` say so beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from opsdk.expr.gradient.cotangent import Algebra, Cotangent
from opsdk.expr.node import BOOL, Node, constant, topological
from opsdk.expr.symbol import Symbol, apply

Rule = Callable[..., tuple["Symbol | float | None", ...]]  # (result, *operands) → one partial per operand

LOG2, LOG10 = 0.6931471805599453, 2.302585092994046  # natural logarithms of 2 and 10
TWO_OVER_ROOT_PI = 1.1283791670955126
_EXACT = 256  # whole numbers up to here are numbers of every floating dtype
_PASSED = ("mul", "neg")  # factors of which are looked at one by one
_PICKING = ("maximum", "minimum", "where", "abs", "neg", "row_max", "row_min", "row_take")

RULES: dict[str, Rule] = {
    "add": lambda y, a, b: (1.0, 1.0),
    "sub": lambda y, a, b: (1.0, -1.0),
    "mul": lambda y, a, b: (b, a),
    "div": lambda y, a, b: (apply("reciprocal", b), -(y / b)),
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
    "arcsin": lambda y, a: (apply("rsqrt", (1.0 - a) * (1.0 + a)),),
    "arccos": lambda y, a: (-apply("rsqrt", (1.0 - a) * (1.0 + a)),),
    "arctan": lambda y, a: (apply("reciprocal", 1.0 + a * a),),
    "arcsinh": lambda y, a: (apply("reciprocal", apply("hypot", a, 1.0)),),  # a² may overflow where 1/a is a number
    "arccosh": lambda y, a: (apply("rsqrt", a - 1.0) * apply("rsqrt", a + 1.0),),
    "arctanh": lambda y, a: (apply("reciprocal", (1.0 - a) * (1.0 + a)),),
    "arctan2": lambda y, a, b: _around(a, b, apply("hypot", a, b)),
    "sigmoid": lambda y, a: (y * apply("sigmoid", -a),),  # 1 - y loses its digits where y is near 1
    "softplus": lambda y, a: (apply("sigmoid", a),),
    "erf": lambda y, a: (TWO_OVER_ROOT_PI * apply("exp", -(a * a)),),
    "erfc": lambda y, a: (-TWO_OVER_ROOT_PI * apply("exp", -(a * a)),),
    "hypot": lambda y, a, b: (a / y, b / y),  # NaN where both are 0, the tip of a cone
    "logaddexp": lambda y, a, b: (apply("sigmoid", a - b), apply("sigmoid", b - a)),
    "abs": lambda y, a: (_unless_zero(a, apply("sign", a)),),
    "copysign": lambda y, a, b: (_unless_zero(a, apply("sign", a) * apply("copysign", 1.0, b)), None),
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


def _around(a: Symbol, b: Symbol, radius: Symbol) -> tuple[Symbol, Symbol]:
    """The partials of an angle; the square of the radius may overflow, and underflow, where they are numbers."""
    return b / radius / radius, -(a / radius / radius)


def _unless_zero(a: Symbol, slope: Symbol) -> Symbol:
    """A slope that is 0 at a kink at 0, by choice: an infinite cotangent is kept out as well."""
    return apply("where", apply("eq", a, 0.0), 0.0, slope)


def _power_base(a: Symbol, b: Symbol, coefficients: Sequence[Node] = ()) -> Symbol | None:
    """d/da aᵇ = b aᵇ⁻¹, and 0 where that would be 0 · ∞, as at 0⁰.

    Of the nth derivative b (b - 1) … (b - n + 1) aᵇ⁻ⁿ the earlier factors are the coefficients; any of them may be 0.
    """
    if _is_constant(b):
        exponent = b.node.payload
        return exponent * apply("pow", a, exponent - 1.0) if exponent else None
    power = apply("pow", a, b - 1.0) if coefficients else 1.0 / a  # which it is where b is 0
    vanishes = apply("eq", b, 0.0)
    for coefficient in coefficients:
        vanishes = apply("or", vanishes, apply("eq", Symbol(coefficient), 0.0))
    lost = apply("and", apply("isinf", power), vanishes)
    return b * apply("pow", a, apply("where", lost, 1.0, b - 1.0))


def _coefficients(of: Iterable[Symbol], exponent: Node) -> list[Node]:
    """Returns the factors among those of a cotangent that are made of an exponent alone, of its branches too."""
    inside = _chosen_from(exponent)
    factors = dict.fromkeys(symbol.node for symbol in of)
    waiting = list(factors)
    for node in waiting:
        below = node.args if node.op in _PASSED else ()
        waiting += [arg for arg in dict.fromkeys(below) if arg not in factors]
        factors.update(dict.fromkeys(below))
    made = [node for node in factors if node.op != "constant" and node.op not in _PASSED]
    return [node for node in made if _chosen_from(node) <= inside]


def _chosen_from(node: Node) -> set[Node]:
    """Returns the inputs and attributes that a value is made of, whatever conditions choose among them."""
    found: dict[Node, None] = {node: None}
    waiting = [node]
    for each in waiting:
        below = each.args[1:] if each.op == "where" else each.args
        waiting += [arg for arg in dict.fromkeys(below) if arg not in found]
        found.update(dict.fromkeys(below))
    return {each for each in found if each.is_leaf and each.op != "constant"}


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
    return y if is_exact(y.node) else a


def is_exact(node: Node) -> bool:
    """Whether a value is an input or a small whole number, picked and not computed: no dtype rounds it."""
    if node.op == "input":
        return True
    if node.op == "constant":
        return isinstance(node.payload, float) and node.payload.is_integer() and abs(node.payload) <= _EXACT
    picked = {"where": 1, "row_take": 0}.get(node.op, 0)
    taken = node.args[:1] if node.op == "row_take" else node.args[picked:]
    return node.op in _PICKING and all(map(is_exact, taken))


def _is_constant(operand: Symbol) -> bool:
    return operand.node.op == "constant"


def _one_if(condition: Symbol) -> Symbol:
    return apply("where", condition, 1.0, 0.0)


def past_operands(node: Node) -> list[tuple[Node, Symbol]]:
    """Returns what a product sends past its operands to what both are made of; nothing where the product rule serves.

    The product rule adds what both sides send, and of (1 - a)(1 + a) as of σ(a)σ(-a) both send nearly the same with
    opposite signs: their difference has no digits near a = 0. Here it is taken by hand.
    """
    if node.op != "mul":
        return []
    for left, right in (node.args, node.args[::-1]):
        if left.op == "sub" and right.op == "add" and right.args in (left.args, left.args[::-1]):
            a, b = left.args
            return [(a, 2.0 * Symbol(a)), (b, -2.0 * Symbol(b))]
        if left.op == right.op == "sigmoid" and right.args[0].op == "neg" and right.args[0].args == left.args:
            (a,) = left.args
            return [(a, -(Symbol(node) * apply("tanh", 0.5 * Symbol(a))))]
    return []


def partials(node: Node, arriving: Sequence[Symbol] = ()) -> tuple[Symbol | float | None, ...]:
    """Returns the partial derivatives of a node with respect to its operands; None where they are zero everywhere.

    Args:
        node: whose.
        arriving: factors of what they are multiplied by.
    """
    if node.kind == BOOL or node.is_leaf:
        return (None,) * len(node.args)
    if node.op == "pow":
        a, b = map(Symbol, node.args)
        return _power_base(a, b, _coefficients(arriving, b.node)), _power_exponent(Symbol(node), a, b)
    return RULES[node.op](Symbol(node), *map(Symbol, node.args))


class Sweep:
    """One reverse sweep over expressions.

    Args:
        outputs: the expressions.
    """

    def __init__(self, outputs: Sequence[Node]) -> None:
        self._outputs = tuple(outputs)
        self._order = topological(outputs)
        self.algebra = Algebra(set(self._order))

    def partials(self, node: Node, cotangent: Cotangent) -> tuple[Symbol | float | None, ...]:
        """Returns what a node sends to its operands, per unit of its cotangent."""
        return partials(node, (cotangent.base, cotangent.factor))

    def received(self, sender: Node, receiver: Node, cotangent: Cotangent) -> Cotangent:
        """Returns what a node receives of what another sends."""
        return cotangent

    def gradients(self, cotangents: Sequence[Node], wrt: Sequence[Node]) -> list[Node]:
        """Returns the gradient expressions of Σ output · cotangent with respect to the nodes `wrt`."""
        found: dict[Node, Cotangent] = {}

        def send(sender: Node, receiver: Node, value: Cotangent) -> None:
            arrived = self.received(sender, receiver, value)
            held = found.get(receiver)
            found[receiver] = arrived if held is None else self.algebra.joined(held, arrived)

        for output, cotangent in zip(self._outputs, cotangents, strict=True):
            send(cotangent, output, Cotangent(Symbol(cotangent)))
        for node in reversed(self._order):
            if node not in found or node in wrt:
                continue
            past = [] if any(arg in wrt for arg in node.args) else past_operands(node)
            for arg, partial in past or zip(node.args, self.partials(node, found[node]), strict=True):
                if partial is not None and arg.op not in ("constant", "attr"):
                    send(node, arg, self.algebra.passed(found[node], partial))
        return [self.algebra.value(found[node]).node if node in found else constant(0.0) for node in wrt]


def reverse(outputs: Sequence[Node], cotangents: Sequence[Node], wrt: Sequence[Node]) -> list[Node]:
    """Returns the gradient expressions of Σ output · cotangent with respect to the nodes `wrt`.

    Subexpressions of the outputs appear in the gradients as the same nodes, so that whoever computes both shares them.
    """
    return Sweep(outputs).gradients(cotangents, wrt)

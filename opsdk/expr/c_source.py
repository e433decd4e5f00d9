"""C source of expressions: a scalar function per dtype, in C11 with the functions of <math.h>."""

from __future__ import annotations

from collections.abc import Sequence

from opsdk.expr.node import BOOL, Node
from opsdk.expr.statements import statements
from opsdk.expr.trace import Expression

# Primitives that <math.h> has, by its name for double; that for float ends in f.
_LIBRARY = {
    name: name
    for name in (
        "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "sinh", "cosh",
        "tanh", "floor", "ceil", "trunc", "pow", "fmod", "hypot", "copysign", "erf", "erfc",
    )
} | {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "abs": "fabs", "round": "nearbyint",
}  # fmt: skip
_TEXTS = {
    "neg": "-{0}", "not": "!{0}", "where": "{0} ? {1} : {2}", "square": "{0} * {0}", "reciprocal": "1 / {0}",
    "isnan": "{0} != {0}", "isinf": "isinf({0})", "isfinite": "isfinite({0})",
    "maximum": "({0} >= {1} || {0} != {0}) ? {0} : {1}", "minimum": "({0} <= {1} || {0} != {0}) ? {0} : {1}",
    "sign": "{0} != {0} ? {0} : (real)(({0} > 0) - ({0} < 0))",
}  # fmt: skip
_OWN = ("rsqrt", "sigmoid", "softplus", "logaddexp")

# What <math.h> has not; `real` and the ending `f` are set per dtype.
PRELUDE = """
static inline {real} opsdk_rsqrt{f}({real} x) {{ return 1 / sqrt{f}(x); }}
/* GCC makes pow(x, 0.5) a square root where it makes vector code, which differs at -infinity and -0 */
static inline {real} opsdk_half_power{f}({real} x) {{ return x == -INFINITY ? INFINITY : sqrt{f}(x + 0); }}
static inline {real} opsdk_sigmoid{f}({real} x) {{
  const {real} decay = exp{f}(-fabs{f}(x));
  return (x >= 0 ? 1 : decay) / (1 + decay);
}}
static inline {real} opsdk_softplus{f}({real} x) {{
  return x != x ? x : (x > 0 ? x : 0) + log1p{f}(exp{f}(-fabs{f}(x)));
}}
static inline {real} opsdk_logaddexp{f}({real} a, {real} b) {{
  if (a == b) return a + ({real})0.69314718055994530942;
  const {real} top = a > b ? a : b;
  return a != a || b != b ? a + b : top + log1p{f}(exp{f}(-fabs{f}(a - b)));
}}
"""


def scalar_function(expression: Expression, name: str, real: str) -> str:
    """Returns the C source of a function that takes inputs and attributes by value and writes results by pointer.

    What an author named has an ending, so that it is never a word of C, a function, or a name of the text's own.

    Args:
        expression: what to compute.
        name: of the function.
        real: the type that it computes in, `float` or `double`.
    """
    ending = "f" if real == "float" else ""
    leaves = {Node("input", (), text): f"{text}_in" for text in expression.inputs}
    leaves |= {Node("attr", (), text): f"{text}_real" for text in expression.attrs}
    made, results = statements(
        expression.wanted,
        leaves,
        lambda node: _constant(node, ending),
        lambda node, operands: _call(node, operands, ending),
    )
    parameters = [f"{real} {text}_in" for text in expression.inputs]
    parameters += [f"double {text}_attr" for text in expression.attrs]
    parameters += [f"{real} *result{i}" for i in range(len(results))]
    lines = [f"static inline void {name}({', '.join(parameters)}) {{"]
    lines += [f"  const {real} {text}_real = ({real}){text}_attr;" for text in expression.attrs]
    for statement in made:
        kind = "int" if statement.node.kind == BOOL else real
        lines.append(f"  const {kind} {statement.name} = {statement.text.replace('(real)', f'({real})')};")
    lines += [f"  *result{i} = {result};" for i, result in enumerate(results)]
    return "\n".join([*lines, "}"])


def _call(node: Node, operands: Sequence[str], ending: str) -> str:
    if node.op == "pow" and operands[1] == f"0.5{ending}":
        return f"opsdk_half_power{ending}({operands[0]})"
    if node.op in _TEXTS:
        return _TEXTS[node.op].format(*operands)
    name = f"opsdk_{node.op}" if node.op in _OWN else _LIBRARY[node.op]
    return f"{name}{ending}({', '.join(operands)})"


def _constant(node: Node, ending: str) -> str:
    if isinstance(node.payload, bool):
        return str(int(node.payload))
    text = repr(float(node.payload))
    if text in ("inf", "-inf", "nan"):
        return {"inf": "INFINITY", "-inf": "(-INFINITY)", "nan": "NAN"}[text]
    return f"({text}{ending})" if text.startswith("-") else f"{text}{ending}"

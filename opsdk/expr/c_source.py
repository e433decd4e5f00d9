"""C source of expressions: a scalar function per dtype, in C11 with the functions of <math.h>."""

from __future__ import annotations

from collections.abc import Sequence

from opsdk.expr.node import BOOL, Node
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.statements import statements
from opsdk.expr.trace import Expression

# What <math.h> has not; `real` and the ending `f` are set per dtype.
PRELUDE = "\n" + "".join(primitive.c_source for primitive in PRIMITIVES.values())


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
    return PRIMITIVES[node.op].c.format(*operands, f=ending)


def _constant(node: Node, ending: str) -> str:
    if isinstance(node.payload, bool):
        return str(int(node.payload))
    text = repr(float(node.payload))
    if text in ("inf", "-inf", "nan"):
        return {"inf": "INFINITY", "-inf": "(-INFINITY)", "nan": "NAN"}[text]
    return f"({text}{ending})" if text.startswith("-") else f"{text}{ending}"

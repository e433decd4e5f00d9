"""Source of expressions: straight-line code, each subexpression computed once, in any printer's words.

In Python for Numba, on the CPU and on CUDA: operators, and primitives by name. In C11 a scalar function per dtype, with
the functions of <math.h>.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from opsdk.expr.node import BOOL, Node, topological
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.trace import Expression

# How operators are written in Python and in C alike.
INFIX = {name: primitive.infix for name, primitive in PRIMITIVES.items() if primitive.infix}


@dataclass(frozen=True)
class Statement:
    """One computation: a name, the node, and its text."""

    name: str
    node: Node
    text: str


def statements(
    roots: Sequence[Node],
    names: Mapping[Node, str],
    constant: Callable[[Node], str],
    call: Callable[[Node, Sequence[str]], str],
) -> tuple[list[Statement], list[str]]:
    """Returns the code of expressions, and the names of their values.

    Args:
        roots: what to compute.
        names: how inputs and attributes, and whatever else is at hand, are called.
        constant: writes a constant.
        call: writes a node that is no infix operator, given the texts of its operands.
    """
    known = dict(names)
    made: list[Statement] = []
    for node in topological(roots):
        if node in known:
            continue
        if node.op == "constant":
            known[node] = constant(node)
            continue
        operands = [known[arg] for arg in node.args]
        infix = INFIX.get(node.op)
        text = f"{operands[0]} {infix} {operands[1]}" if infix else call(node, operands)
        name = f"t{len(made)}"
        made.append(Statement(name, node, text))
        known[node] = name
    return made, [known[root] for root in roots]


def call_text(node: Node, operands: Sequence[str]) -> str:
    """Returns what is no infix operator, in Python."""
    if node.op == "neg":
        return f"-{operands[0]}"
    if node.op == "not":
        return f"not {operands[0]}"
    if node.op == "where":
        return f"{operands[1]} if {operands[0]} else {operands[2]}"
    return f"{node.op}({', '.join(operands)})"


def constant_text(node: Node) -> str:
    """Returns a constant: numbers are rounded to the dtype of the computation by `real`."""
    if isinstance(node.payload, bool):
        return repr(node.payload)
    return f"real({float(node.payload)!r})"


def python_lines(roots: Sequence[Node], names: Mapping[Node, str]) -> tuple[list[Statement], list[str]]:
    """Returns expressions as Python statements and the names of their values."""
    return statements(roots, names, constant_text, call_text)


def scalar_source(expression: Expression, name: str) -> str:
    """Returns the source of a scalar function of an expression's inputs and attributes.

    The code uses the primitives by their names, `real`, which makes a number one of the computation's dtype, and the
    numbers `inf` and `nan`; whoever compiles it supplies them. It returns a tuple where there are several results.
    """
    # By position: a user's names may be those of primitives, of intermediate values, or of `real`.
    leaves = {Node("input", (), text): f"x{i}" for i, text in enumerate(expression.inputs)}
    leaves |= {Node("attr", (), text): f"a{i}" for i, text in enumerate(expression.attrs)}
    made, results = python_lines(expression.wanted, leaves)
    lines = [f"    {statement.name} = {statement.text}" for statement in made]
    head = f"def {name}({', '.join(leaves.values())}):"
    return "\n".join([head, *lines, f"    return {', '.join(results)}", ""])


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

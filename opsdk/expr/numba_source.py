"""Python source of expressions, for Numba on the CPU and on CUDA: operators, and primitives by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opsdk.expr.node import Node
from opsdk.expr.statements import Statement, statements
from opsdk.expr.trace import Expression


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

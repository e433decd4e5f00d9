"""Source of expressions: straight-line code, each subexpression computed once, in any printer's words.

In Python for Numba, on the CPU and on CUDA: operators, and primitives by name. In C11 a scalar function per dtype, with
the functions of <math.h>.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from opsdk.expr.node import BOOL, Node, topological
from opsdk.expr.primitives.entry import Primitive
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


def prelude(roots: Sequence[Node], real: str) -> str:
    """Returns the C functions that expressions call and <math.h> has not, those first that others call.

    Args:
        roots: the expressions.
        real: the type that they are computed in, `float` or `double`.
    """
    ending = "f" if real == "float" else ""
    texts: dict[str, str] = {}

    def add(nodes: Sequence[Node]) -> None:
        for name in dict.fromkeys(node.op for node in topological(nodes) if node.op in PRIMITIVES):
            known = PRIMITIVES[name]
            if name in texts:
                continue
            if known.body is not None:
                add([known.body.root])
                texts[name] = _function(known.body.expression, f"opsdk_{name}{ending}", real)
            else:
                texts[name] = known.c_source.format(real=real, f=ending)

    add(roots)
    return "\n" + "".join(_once(f"{name}{ending}", text) for name, text in texts.items() if text)


def _once(name: str, text: str) -> str:
    """Returns C source that may stand in a file several times, in front of each of its users."""
    mark = f"OPSDK_HAS_{name}"
    return f"#ifndef {mark}\n#define {mark}\n{text}#endif\n"


def public_functions(primitive: Primitive) -> str:
    """Returns C source of a primitive as functions of its own name, of floats with an `f` behind it.

    Those of vmath have `vmath_` in front, since <math.h> has some of their names.
    """
    root = Node(primitive.name, tuple(Node("input", (), name) for name in primitive.operands), None, primitive.gives)
    expression = Expression(primitive.operands, (), (root,))
    texts = []
    for real, ending in (("double", ""), ("float", "f")):
        name = f"{'' if primitive.public else 'vmath_'}{primitive.function}{ending}"
        texts.append(prelude([root], real) + _once(f"function_{name}", _function(expression, name, real)))
    return "".join(texts)


def _function(expression: Expression, name: str, real: str) -> str:
    """Returns the C source of a function that takes numbers and returns one."""
    ending = "f" if real == "float" else ""
    lines, (result,) = _c_lines(expression, real, ending)
    head = f"static inline {real} {name}({', '.join(f'{real} {text}_in' for text in expression.inputs)}) {{"
    return "\n".join([head, *lines, f"  return {result};", "}", ""])


def _c_lines(expression: Expression, real: str, ending: str) -> tuple[list[str], list[str]]:
    """Returns an expression as statements of C, and the names of its results."""
    leaves = {Node("input", (), text): f"{text}_in" for text in expression.inputs}
    leaves |= {Node("attr", (), text): f"{text}_real" for text in expression.attrs}
    made, results = statements(
        expression.wanted,
        leaves,
        lambda node: _constant(node, ending),
        lambda node, operands: _call(node, operands, ending),
    )
    lines = []
    for statement in made:
        kind = "int" if statement.node.kind == BOOL else real
        lines.append(f"  const {kind} {statement.name} = {statement.text.replace('(real)', f'({real})')};")
    return lines, results


def scalar_function(expression: Expression, name: str, real: str) -> str:
    """Returns the C source of a function that takes inputs and attributes by value and writes results by pointer.

    What an author named has an ending, so that it is never a word of C, a function, or a name of the text's own.

    Args:
        expression: what to compute.
        name: of the function.
        real: the type that it computes in, `float` or `double`.
    """
    ending = "f" if real == "float" else ""
    made, results = _c_lines(expression, real, ending)
    parameters = [f"{real} {text}_in" for text in expression.inputs]
    parameters += [f"double {text}_attr" for text in expression.attrs]
    parameters += [f"{real} *result{i}" for i in range(len(results))]
    lines = [f"static inline void {name}({', '.join(parameters)}) {{"]
    lines += [f"  const {real} {text}_real = ({real}){text}_attr;" for text in expression.attrs]
    lines += made
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

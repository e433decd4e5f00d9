"""Mutants: a gradient with one edit of its text, as somebody might make it by mistake."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

FACTORS = (2.0, 0.5, -1.0, 1.01, 1.0 + 1e-4, 1.0 + 1e-6)
FUNCTIONS = {
    "sin": "cos", "cos": "sin", "exp": "expm1", "log": "log1p", "sqrt": "square", "sum": "mean", "mean": "sum",
    "argmax": "argmin", "cumsum": "cumprod", "zeros_like": "ones_like",
}  # fmt: skip
OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A gradient with one edit.

    Args:
        subject: name of the op.
        kind: of edit.
        text: the edited statement.
        gradient: the function.
    """

    subject: str
    kind: str
    text: str
    gradient: Callable[..., Any]


def mutants(name: str, gradient: Callable[..., Any]) -> Iterator[Mutant]:
    """Yields every edit of a gradient that still is a function; some of them change nothing."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(gradient)))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.decorator_list = []
    parameters = [argument.arg for argument in function.args.args]
    places = [node for node in ast.walk(ast.Module(function.body, [])) if isinstance(node, (ast.expr, ast.stmt))]
    for place in range(len(places)):
        for kind, edit in _edits(places[place], parameters):
            edited, where = _edited(tree, function, place, edit)
            code = compile(ast.fix_missing_locations(edited), f"<mutant of {name}>", "exec")
            scope: dict[str, Any] = {**gradient.__globals__, **HELPERS}
            exec(code, scope)
            yield Mutant(name, kind, where, scope[function.name])


Edit = Callable[[ast.AST], ast.AST]


def _edited(tree: ast.Module, function: ast.FunctionDef, place: int, edit: Edit) -> tuple[ast.Module, str]:
    """Returns a copy of the tree with one node replaced, and the statement that it is in."""
    made = copy.deepcopy(tree)
    its_function = made.body[0]
    assert isinstance(its_function, ast.FunctionDef)
    nodes = [n for n in ast.walk(ast.Module(its_function.body, [])) if isinstance(n, (ast.expr, ast.stmt))]
    target = nodes[place]
    new = edit(target)

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is target else self.generic_visit(node)

    Replace().visit(its_function)
    line = next(s for s in its_function.body if any(n is new for n in ast.walk(s)) or s is new)
    return made, ast.unparse(ast.fix_missing_locations(line)).strip()


def _edits(node: ast.AST, parameters: list[str]) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.BinOp):
        yield from _of_operation(node)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in parameters:
        for other in parameters:
            if other != node.id:
                yield "another value", lambda n, other=other: ast.Name(other, ast.Load())
    if isinstance(node, ast.Attribute) and node.attr in FUNCTIONS:
        yield "another function", lambda n: ast.Attribute(n.value, FUNCTIONS[n.attr], n.ctx)
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield "transposition left out", lambda n: n.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("sum", "mean"):
        yield "reduction left out", lambda n: n.func.value
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        for step in (1, -1):
            yield "a number off by one", lambda n, step=step: ast.Constant(n.value + step)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign left out", lambda n: n.operand
    if isinstance(node, ast.AugAssign):
        yield "overwritten instead of added", lambda n: ast.Assign([n.target], n.value)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        yield "added instead of assigned twice", lambda n: ast.AugAssign(n.targets[0], ast.Add(), n.value)
    if isinstance(node, ast.Return) and node.value is not None:
        yield from _of_result(node)


def _of_operation(node: ast.BinOp) -> Iterator[tuple[str, Edit]]:
    for other in OPERATORS.get(type(node.op), ()):
        yield "another operator", lambda n, other=other: ast.BinOp(n.left, other(), n.right)
    if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        yield "term or factor left out", lambda n: n.left
        yield "term or factor left out", lambda n: n.right
    if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow)):
        yield "operands swapped", lambda n: ast.BinOp(n.right, n.op, n.left)
    for factor in FACTORS:
        yield f"factor {factor:.8g}", lambda n, factor=factor: ast.BinOp(n, ast.Mult(), ast.Constant(factor))


def _of_result(node: ast.Return) -> Iterator[tuple[str, Edit]]:
    results = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    for i in range(len(results)):
        for kind, how in (
            ("last element left out", "_without_last"),
            ("one element by 1e-3", "_one_off"),
            ("only where positive", "_positive_part"),
            ("in float32", "_single"),
            ("transposed", "_turned"),
        ):
            yield kind, lambda n, i=i, how=how: _wrapped(n, i, how)
    if len(results) > 1:
        yield "gradients swapped", lambda n: ast.Return(ast.Tuple([*n.value.elts[1:], n.value.elts[0]], ast.Load()))


def _wrapped(node: Any, position: int, how: str) -> ast.Return:
    """Returns the statement with one result passed through a function of this module."""
    results = list(node.value.elts) if isinstance(node.value, ast.Tuple) else [node.value]
    call = ast.Call(ast.Name(how, ast.Load()), [results[position]], [])
    results[position] = call
    return ast.Return(ast.Tuple(results, ast.Load()) if isinstance(node.value, ast.Tuple) else call)


def _without_last(gradient: Any) -> Any:
    made = np.array(gradient)
    made[(-1,) * made.ndim] = 0.0
    return made


def _one_off(gradient: Any) -> Any:
    made = np.array(gradient)
    made[(made.shape[0] // 2,) * min(made.ndim, 1)] *= 1.0 + 1e-3
    return made


def _positive_part(gradient: Any) -> Any:
    return np.maximum(gradient, 0.0)


def _single(gradient: Any) -> Any:
    return np.asarray(gradient).astype(np.float32).astype(np.float64)


def _turned(gradient: Any) -> Any:
    made = np.asarray(gradient)
    return made.T.reshape(made.shape)


HELPERS = {function.__name__: function for function in (_without_last, _one_off, _positive_part, _single, _turned)}

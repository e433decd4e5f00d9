"""Edits of Python functions that Numba compiles: a node of the syntax tree each, the text around it as it was."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.kernel_mutation.edit import Edit

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv,
}  # fmt: skip
LOOPS = frozenset({"range", "prange"})
CASTS = frozenset({"float", "int", "float64", "float32", "int64", "int32"})
EXTREMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
}
FILLED = {"zeros": "ones", "zeros_like": "ones_like", "ones": "zeros", "ones_like": "zeros_like"}
ROOM = frozenset({"zeros", "ones", "empty", "full"})
INFINITE = frozenset({"INF", "inf", "nan"})
_PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Tuple, ast.stmt)


def edits(text: str, name: str) -> Iterator[Edit]:
    """Yields every edit of a function of a module; its decorators and its head stay."""
    function = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == name)
    yield from _Function(text, function).edits()


class _Function:
    """A function, with the role of each of its numbers and the place of each node."""

    def __init__(self, text: str, function: ast.FunctionDef) -> None:
        self.lines = [line.encode() for line in text.split("\n")]
        self.begins = [0]
        for line in text.split("\n"):
            self.begins.append(self.begins[-1] + len(line) + 1)
        body = function.body[1:] if ast.get_docstring(function) else function.body
        self.nodes = [node for statement in body for node in ast.walk(statement)]
        self.roles: dict[ast.AST, str] = {}
        for node in self.nodes:
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        """Notes what the numbers below a node are: index, axis, start; the innermost that says so counts."""
        if isinstance(node, ast.Subscript):
            is_shape = isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "strides")
            for each in ast.walk(node.slice):
                self.roles[each] = "axis" if is_shape else "index"
        elif isinstance(node, ast.keyword) and node.arg == "axis":
            for each in ast.walk(node.value):
                self.roles[each] = "axis"
        elif isinstance(node, ast.Assign):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for value in values:
                self.roles |= dict.fromkeys(ast.walk(value), "start") if _is_number(value) else {}
        elif isinstance(node, ast.Call) and _called(node) in ROOM:
            self.roles |= dict.fromkeys(ast.walk(node.args[0]), "room")
        elif _is_loop(node):
            for argument in node.args:  # type: ignore[attr-defined]
                self.roles |= dict.fromkeys(ast.walk(argument), "range") if _is_number(argument) else {}

    def edits(self) -> Iterator[Edit]:
        """Yields every edit."""
        for node in self.nodes:
            for kind in (ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Constant, ast.Name, ast.Call):
                if isinstance(node, kind):
                    yield from _OF[kind](self, node)
            if isinstance(node, ast.Subscript):
                yield from self._of_subscript(node)
            elif isinstance(node, ast.stmt):
                yield from self._of_statement(node)

    def _edit(self, kind: str, old: ast.AST, new: ast.AST | str) -> Edit:
        text = new if isinstance(new, str) else ast.unparse(ast.fix_missing_locations(new))
        if not isinstance(new, (str, *_PLAIN)) and type(new) is not type(old):
            text = f"({text})"
        start, end = self._place(old.lineno, old.col_offset), self._place(old.end_lineno, old.end_col_offset)  # type: ignore[attr-defined]
        return Edit(kind, start, end, text)

    def _place(self, line: int, column: int) -> int:
        return self.begins[line - 1] + len(self.lines[line - 1][:column].decode())

    def _of_compare(self, node: ast.Compare) -> Iterator[Edit]:
        for i, op in enumerate(node.ops):
            for other in COMPARISONS.get(type(op), ()):
                ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
                yield self._edit("comparison", node, ast.Compare(node.left, ops, node.comparators))

    def _of_condition(self, node: ast.BoolOp) -> Iterator[Edit]:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield self._edit("comparison", node, f"({ast.unparse(ast.BoolOp(other, node.values))})")

    def _of_choice(self, node: ast.IfExp) -> Iterator[Edit]:
        yield self._edit("comparison", node, f"({ast.unparse(ast.IfExp(node.test, node.orelse, node.body))})")

    def _of_operation(self, node: ast.BinOp) -> Iterator[Edit]:
        other = OPERATORS.get(type(node.op))
        if other is not None:
            yield self._edit(self._kind(node), node, ast.BinOp(node.left, other(), node.right))

    def _kind(self, node: ast.AST) -> str:
        return self.roles[node] if self.roles.get(node) in ("index", "axis") else "operator"

    def _of_sign(self, node: ast.UnaryOp) -> Iterator[Edit]:
        if isinstance(node.op, ast.Not):
            yield self._edit("comparison", node, node.operand)
        elif isinstance(node.op, ast.USub) and self.roles.get(node) != "range":
            yield self._edit(self._kind(node), node, node.operand)

    def _of_number(self, node: ast.Constant) -> Iterator[Edit]:
        value, role = node.value, self.roles.get(node, "constant")
        if not _is_number(node) or role in ("range", "room"):
            return  # the loop's own edits; more memory than is used changes nothing
        if role == "axis" and isinstance(value, int):
            yield self._edit(role, node, str(value ^ 1))
        else:
            yield self._edit(role, node, str(value + 1) if isinstance(value, int) else str(2 * value if value else 1.0))

    def _of_name(self, node: ast.Name) -> Iterator[Edit]:
        if node.id in INFINITE and self.roles.get(node) == "start":
            yield self._edit("start", node, "0.0")

    def _of_call(self, node: ast.Call) -> Iterator[Edit]:
        name = _called(node)
        if _is_loop(node):
            yield from self._of_loop(node)
        elif name in EXTREMES:
            yield self._edit(
                "comparison", node, ast.Call(_renamed(node.func, EXTREMES[name]), node.args, node.keywords)
            )
        elif name == "astype" and isinstance(node.func, ast.Attribute):
            yield self._edit("cast", node, node.func.value)
        elif name in CASTS and len(node.args) == 1:
            yield self._edit("cast", node, f"({ast.unparse(node.args[0])})")
        elif name in FILLED:
            yield self._edit("start", node, ast.Call(_renamed(node.func, FILLED[name]), node.args, node.keywords))
            if len(node.args) == 1 and not node.keywords and name in ("zeros", "ones"):
                single = ast.Attribute(ast.Name("np", ast.Load()), "float32", ast.Load())
                yield self._edit("cast", node, ast.Call(node.func, [*node.args, single], []))
        else:
            yield from self._of_arguments(node)

    def _of_arguments(self, node: ast.Call) -> Iterator[Edit]:
        for i in range(len(node.args) - 1):
            given = [*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2 :]]
            if ast.unparse(given[i]) != ast.unparse(given[i + 1]):
                yield self._edit("arguments", node, ast.Call(node.func, given, node.keywords))

    def _of_loop(self, node: ast.Call) -> Iterator[Edit]:
        """Yields a loop that ends one earlier or later, begins one later, or goes on by twice the step."""
        given = list(node.args)
        down = len(given) == 3 and isinstance(given[2], ast.UnaryOp)
        last = 0 if len(given) == 1 else 1
        for step in (-1, 1):
            yield self._edit("bounds", node, _with(node, last, _moved(given[last], step)))
        if len(given) == 1:
            yield self._edit("iteration", node, ast.Call(node.func, [ast.Constant(1), *given], []))
        else:
            yield self._edit("iteration", node, _with(node, 0, _moved(given[0], -1 if down else 1)))
        if len(given) == 3:
            twice = ast.BinOp(ast.Constant(2), ast.Mult(), given[2])
            yield self._edit("iteration", node, _with(node, 2, twice))

    def _of_subscript(self, node: ast.Subscript) -> Iterator[Edit]:
        if isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "strides"):
            return
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for place in places:
            if isinstance(place, ast.Slice):
                for bound in (place.lower, place.upper):
                    if bound is not None:
                        by = 1 if bound is place.lower else -1
                        yield self._edit("bounds", bound, f"{ast.unparse(_moved(bound, by))}")
            elif not _is_number(place):
                yield self._edit("index", place, f"{ast.unparse(_moved(place, 1))}")
        for first, second in itertools.pairwise(places):
            texts = ast.unparse(first), ast.unparse(second)
            if texts[0] != texts[1]:
                turned = self._edit("axis", first, f"{texts[1]}, {texts[0]}")
                yield Edit("axis", turned.start, self._edit("axis", second, "").end, turned.new)

    def _of_statement(self, node: ast.stmt) -> Iterator[Edit]:
        if isinstance(node, ast.AugAssign):
            yield self._edit("statement", node, "pass")
            yield self._edit("start", node, f"{ast.unparse(node.target)} = {ast.unparse(node.value)}")
            other = OPERATORS.get(type(node.op))
            if other is not None:
                yield self._edit("operator", node, ast.AugAssign(node.target, other(), node.value))
        elif isinstance(node, ast.Assign) and _writes(node.targets[0]):
            yield self._edit("start" if _is_number(node.value) else "statement", node, "pass")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            is_barrier = _called(node.value).startswith("sync") or "fence" in _called(node.value)
            yield self._edit("synchronisation" if is_barrier else "statement", node, "pass")
            if ast.unparse(node.value.func).endswith("atomic.add"):
                array, place, value = map(ast.unparse, node.value.args)
                yield self._edit("synchronisation", node, f"{array}[{place}] += {value}")
        elif isinstance(node, ast.Continue):
            yield self._edit("iteration", node, "break")


# Any: a node of the class that it is entered under.
_OF: dict[type[ast.AST], Callable[[_Function, Any], Iterator[Edit]]] = {
    ast.Compare: _Function._of_compare,
    ast.BoolOp: _Function._of_condition,
    ast.BinOp: _Function._of_operation,
    ast.UnaryOp: _Function._of_sign,
    ast.IfExp: _Function._of_choice,
    ast.Constant: _Function._of_number,
    ast.Name: _Function._of_name,
    ast.Call: _Function._of_call,
}


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _renamed(function: ast.expr, name: str) -> ast.expr:
    made = copy.copy(function)
    setattr(made, "id" if isinstance(made, ast.Name) else "attr", name)
    return made


def _is_loop(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _called(node) in LOOPS


def _is_number(node: ast.AST) -> bool:
    """Whether an expression is one number, infinite ones included, or minus that."""
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, (ast.Name, ast.Attribute)):
        return getattr(node, "id", getattr(node, "attr", "")) in INFINITE
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def _writes(target: ast.expr) -> bool:
    """Whether elements of arrays are assigned: without that no name is left that was never defined."""
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    return all(isinstance(each, ast.Subscript) for each in targets)


def _moved(node: ast.expr, by: int) -> ast.expr:
    """Returns a number, or what gives one, greater by 1 or less."""
    if _is_number(node) and isinstance(number := ast.literal_eval(node), int):
        return ast.Constant(number + by)
    return ast.BinOp(node, ast.Add() if by > 0 else ast.Sub(), ast.Constant(1))


def _with(node: ast.Call, position: int, argument: ast.expr) -> ast.Call:
    given = list(node.args)
    given[position] = argument
    return ast.Call(node.func, given, node.keywords)

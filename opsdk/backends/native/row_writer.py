"""RowWriter: a row expression as Python text for Numba, whichever machine the rows run on.

What differs between machines is in the methods that a subclass overrides: how a row is walked, how an element is read
and written, what becomes of partial reductions, who writes what there is one of per row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import count
from typing import ClassVar, NamedTuple

from opsdk.expr.exact import is_whole, numbers_of, positioned
from opsdk.expr.node import BOOL, Node, topological
from opsdk.expr.row.row import COLUMN, FULL, INDEX, SIZE, elements
from opsdk.expr.row.row_plan import CHEAP, Loop, levels_of, loops_of, lowered
from opsdk.expr.source import INFIX, call_text, constant_text
from opsdk.expr.trace import Expression

_START = {"row_sum": "real(0)", "row_max": "real(-inf)", "row_min": "real(inf)"}
_TWO_SUM = (
    "{t}s = {t} + {t}b",
    "{t}p = {t}s - {t}",
    "{t}c = {t}c + (({t} - ({t}s - {t}p)) + ({t}b - {t}p))",
    "{t} = {t}s",
)


class Reduced(NamedTuple):
    """A reduction as it is written: the name of its result, its primitive, and what is taken in at each position."""

    name: str
    op: str
    value: str


def indented(lines: Sequence[str], depth: int = 1) -> list[str]:
    """Returns lines that many levels further in."""
    return [f"{'    ' * depth}{line}" for line in lines]


class RowWriter(ABC):
    """The text of one row expression.

    In it, `r` is the row, `row` where its elements begin, `n` their number and `size` that as a number of the
    computation; `j` is the position. Pointers are `p0…`, inputs before results, and raw attributes `s0…`.

    Args:
        expression: what to compute.
        roles: of the inputs.
        results: roles of the results that are wanted.
        dtypes: names of the inputs' dtypes.

    Attributes:
        over: how the positions of a row are walked.
        blocks, block: the same in blocks that begin at `base`, and within one.
        steps: per reduction the function that takes in one more number.
        cheap: what costs no more is computed again in a later loop, rather than kept from an earlier one.
    """

    over = "for j in range(n):"
    blocks = block = ""
    steps: ClassVar[Mapping[str, str]] = {}
    cheap: float = CHEAP

    def __init__(
        self, expression: Expression, roles: Sequence[str], results: Sequence[str], dtypes: Sequence[str]
    ) -> None:
        self.expression = expression
        self.results = tuple(results)
        self.inputs = len(expression.inputs)
        self._roots = lowered(expression.wanted)
        self._roles = dict(zip(expression.inputs, roles, strict=True))
        self._dtypes = dict(zip(expression.inputs, dtypes, strict=True))
        self._integers = {name for name, dtype in self._dtypes.items() if "int" in dtype}
        self._pointer = {name: f"p{i}" for i, name in enumerate(expression.inputs)}
        self._elements = elements(self._roots, self._roles)
        self._level = levels_of(self._roots)
        self._names: dict[Node, str] = {}
        self._serial = count()
        self._position = "j"
        self._loops = loops_of(self._roots, self._roles, self.cheap)
        self.kept = {node: f"k{i}" for i, node in enumerate(node for loop in self._loops for node in loop.keeps)}

    # -- what differs between machines ---------------------------------------------------------------------------------

    @abstractmethod
    def load(self, pointer: str, dtype: str, index: str) -> str:
        """Returns how an element is read, as a number of the computation."""

    @abstractmethod
    def store(self, pointer: str, index: str, value: str) -> str:
        """Returns how a result is written."""

    @abstractmethod
    def refused(self) -> list[str]:
        """Returns what is done where a position lies outside of the row."""

    def inexact(self, pointer: str, dtype: str) -> list[str]:
        """Returns what is done where a number of the row would be rounded; nothing where the launch looks at it."""
        return []

    def walked(self, inside: Sequence[str], reductions: Sequence[Reduced]) -> list[str]:
        """Returns the loop over a row, with what is done at each position and what is accumulated.

        A sum is taken in blocks, each from 0, and what is lost where blocks are added is added at the end (Knuth's
        TwoSum); of an infinite sum nothing but nan is lost.
        """
        sums = [entry.name for entry in reductions if entry.op == "row_sum"]
        into = {entry: f"{entry.name}b" if entry.name in sums else entry.name for entry in reductions}
        steps = [f"{name} = {self.steps[entry.op]}({name}, {entry.value})" for entry, name in into.items()]
        start = [f"{entry.name} = {_START[entry.op]}" for entry in reductions]
        if not sums:
            return [*start, self.over, *indented([*inside, *steps])]
        return [
            *start,
            *(f"{name}c = real(0)" for name in sums),
            self.blocks,
            *indented([f"{name}b = real(0)" for name in sums]),
            *indented([self.block, *indented([*inside, *steps])]),
            *indented([line.format(t=name) for name in sums for line in _TWO_SUM]),
            *(f"{name} = {name} + {name}c if {name}c == {name}c else {name}" for name in sums),
        ]

    def once(self, lines: Sequence[str]) -> list[str]:
        """Returns lines as they are done once in a row."""
        return list(lines)

    # -- what is the same ----------------------------------------------------------------------------------------------

    def attributes(self) -> list[str]:
        """Returns the attributes as numbers of the computation."""
        lines = []
        for i, name in enumerate(self.expression.attrs):
            lines.append(f"a{i} = real(s{i})")
            self._names[Node("attr", (), name)] = f"a{i}"
        return lines

    def row(self) -> list[str]:
        """Returns all that is done for one row."""
        lines = []
        read = numbers_of(self._roots, self._integers, self._elements)
        for node in topological(self._roots):
            if node.op == "input" and node not in self._elements:
                lines.append(self._loaded(node, "v", "r"))
                if node in read:
                    lines += self.inexact(self._pointer[node.payload], self._dtypes[node.payload])
        for at, loop in enumerate(self._loops):
            for node in loop.before:
                lines += self._taken(node) if node.op == "row_take" else [self._assign(node)]
            inside = self._inside(at, loop)
            taken = [Reduced(self._fresh("t"), node.op, self._ref(node.args[0])) for node in loop.reductions]
            self._names |= {node: entry.name for node, entry in zip(loop.reductions, taken, strict=True)}
            lines += self.walked(inside, taken) if inside or taken else []
        numbers = [
            self.store(f"p{self.inputs + i}", "r", self._ref(node))
            for i, (node, role) in enumerate(zip(self._roots, self.results, strict=True))
            if role not in (FULL, COLUMN)
        ]
        return lines + (self.once(numbers) if numbers else [])

    def _fresh(self, prefix: str) -> str:
        return f"{prefix}{next(self._serial)}"

    def _loaded(self, node: Node, prefix: str, index: str) -> str:
        """Returns the reading of an input."""
        self._names.setdefault(node, self._fresh(prefix))
        load = self.load(self._pointer[node.payload], self._dtypes[node.payload], index)
        return f"{self._names[node]} = {load}"

    def _inside(self, at: int, loop: Loop) -> list[str]:
        """Returns the loop's body but for its reductions: loads, values, stores."""
        kept = []
        for node in loop.reads:
            self._names[node] = self._fresh("t")
            kept.append(f"{self._names[node]} = {self.kept[node]}[j]{' != real(0)' if node.kind == BOOL else ''}")
        stored = [
            (f"p{self.inputs + i}", role, node)
            for i, (node, role) in enumerate(zip(self._roots, self.results, strict=True))
            if role in (FULL, COLUMN) and self._level[node] == at
        ]
        used = [node.args[0] for node in loop.reductions] + [node for _, _, node in stored]
        lines = [*self._loads([*loop.body, *used], "row + j", "j"), *kept, *map(self._assign, loop.body)]
        for node in loop.keeps:  # as numbers, conditions too
            value = f"real(1) if {self._ref(node)} else real(0)" if node.kind == BOOL else self._ref(node)
            lines.append(f"{self.kept[node]}[j] = {value}")
        for pointer, role, node in stored:
            value = self._ref(node)
            added = f"{pointer}[line + j] = {pointer}[line + j] + {value}"
            lines.append(added if role == COLUMN else self.store(pointer, "row + j", value))
        return lines

    def _loads(self, nodes: Sequence[Node], full: str, column: str) -> list[str]:
        """Returns the reading of the inputs that nodes use directly."""
        operands = dict.fromkeys([*(arg for node in nodes for arg in node.args), *nodes])
        return [
            self._loaded(node, "x", full if self._roles[node.payload] == FULL else column)
            for node in operands
            if node.op == "input" and node in self._elements
        ]

    def _assign(self, node: Node) -> str:
        text = self._text(node)
        self._names[node] = self._names.get(node) or self._fresh("t")
        return f"{self._names[node]} = {text}"

    def _text(self, node: Node) -> str:
        sides = positioned(node, self._integers, self._elements)
        if sides is not None:  # `position == label` on whole numbers, which float32 has only up to 2²⁴
            left, right = (self._position if side is INDEX else self._whole(side) for side in sides)
            return f"{left} {INFIX[node.op]} {right}"
        operands = [self._ref(arg) for arg in node.args]
        infix = INFIX.get(node.op)
        return f"{operands[0]} {infix} {operands[1]}" if infix else call_text(node, operands)

    def _whole(self, node: Node) -> str | None:
        """Returns a number of the row as a whole number, where it is one."""
        if not is_whole(node, self._integers, self._elements):
            return None
        if node.op == "constant":
            return f"int64({int(node.payload)})"
        if node.op == "input":
            read = f"int64({self._pointer[node.payload]}[r])"
            if self._dtypes[node.payload] != "uint64":
                return read
            return f"({read} if {read} >= 0 else int64({2**63 - 1}))"  # what wraps is as far beyond every row
        condition, *chosen = node.args
        return f"({self._whole(chosen[0])} if {self._ref(condition)} else {self._whole(chosen[1])})"

    def _ref(self, node: Node) -> str:
        if node.op == "constant":
            return constant_text(node)
        if node is INDEX:
            return f"real({self._position})"
        return "size" if node is SIZE else self._names[node]

    def _taken(self, node: Node) -> list[str]:
        """Returns the reading of one element: its expression, computed at one position."""
        value, index = node.args
        position = self._fresh("i")
        whole = self._whole(index)
        source = whole or self._ref(index)
        between = "" if whole else f" or real({position}) != {source}"
        outside = f"{position} < 0 or {position} >= n{between}"
        lines = [f"{position} = int64({source})", f"if {outside}:", *indented(self.refused())]
        below = [n for n in topological([value]) if n in self._elements and not n.is_leaf]
        lines += self._loads([*below, value], f"row + {position}", position)
        names = dict(self._names)
        self._position = position
        for inner in below:
            self._names.pop(inner, None)
            lines.append(self._assign(inner))
        taken = self._fresh("t")
        lines.append(f"{taken} = {self._ref(value)}")
        self._position = "j"
        self._names = {**names, node: taken}
        return lines

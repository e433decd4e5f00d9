"""Edits of C functions, word by word."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from benchmarks.kernel_mutation.c_tokens import Token, bodies, pairs
from benchmarks.kernel_mutation.edit import Edit

COMPARISONS = {
    "<": ("<=", ">"), "<=": ("<", ">"), ">": (">=", "<"), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
    "&&": ("||",), "||": ("&&",),
}  # fmt: skip
OPERATORS = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
}  # fmt: skip
ASSIGNED = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"})
PARTS = ("init", "condition", "step")  # of the head of a loop
STATEMENTS = frozenset({
    "return", "break", "continue", "if", "else", "for", "while", "do", "switch", "case", "default", "goto",
})  # fmt: skip
TYPES = frozenset({
    "void", "char", "int", "float", "double", "const", "static", "unsigned", "struct", "size_t", "DLTensor", "restrict",
    "T", "I",
})  # fmt: skip
SYMMETRIC = frozenset({"least", "most", "fmin", "fmax", "fminf", "fmaxf", "min", "max"})
NOT_CALLED = STATEMENTS | {"sizeof", "OPSDK_DATA", "OPSDK_IS", "__attribute__", "typedef"}
KEPT = frozenset({"free"})  # without it memory leaks, and no result changes
_RACES = re.compile(r'_Pragma\("omp (?:atomic|critical|barrier|ordered)[^"]*"\)|[ ]reduction\([^)]*\)')


def edits(text: str, name: str) -> Iterator[Edit]:
    """Yields every edit of a function of a C text."""
    words = bodies(text)[name]
    if words:
        yield from _Function(text, words).edits()
        for found in _RACES.finditer(text, words[0].start, words[-1].end):
            yield Edit("synchronisation", found.start(), found.end(), "")


class _Function:
    """The words of a function, with what is known of each."""

    def __init__(self, text: str, words: Sequence[Token]) -> None:
        self.text, self.words, self.pairs = text, words, pairs(words)
        self.types = TYPES | set(re.findall(r"\b(\w+_t)\b", text)) | set(re.findall(r"\}\s*(\w+(?:##\w+)*);", text))
        self.types |= set(re.findall(r"typedef\s+\w+\s+(\w+(?:##\w+)*)", text))
        self.loops = [i for i, word in enumerate(words) if word.text == "for" and i + 1 in self.pairs]
        self.starts = [i for i in range(len(words)) if self._starts(i)]
        self.declared = {k for i in self.starts if self._declares(i) for k in range(i, self._end(i))}
        self.heads = self._heads()
        brackets = [i for i, word in enumerate(words) if word.text == "[" and i in self.pairs]
        self.lengths = {k for i in brackets if self._is_length(i) for k in range(i + 1, self.pairs[i])}
        self.inside = {k for i in brackets if not self._is_length(i) for k in range(i + 1, self.pairs[i])}
        self.room = {k for i, word in enumerate(words) if word.text == "malloc" for k in range(i, self.pairs[i + 1])}

    def edits(self) -> Iterator[Edit]:
        """Yields every edit."""
        for i, word in enumerate(self.words):
            if word.kind == "number":
                yield from self._of_number(i)
            elif word.kind == "sign":
                yield from self._of_sign(i)
            else:
                yield from self._of_name(i)
        for i in self.loops:
            yield from self._of_loop(i)
        for i in self.starts:
            yield from self._of_statement(i)

    def _heads(self) -> dict[int, str]:
        """Returns which part of the head of a loop a word stands in: init, condition, step."""
        found = {}
        for loop in self.loops:
            part = iter(PARTS)
            here = next(part)
            k = loop + 2
            while k < self.pairs[loop + 1]:
                if self.words[k].text in ("(", "[", "{") and k in self.pairs:
                    found |= dict.fromkeys(range(k, self.pairs[k] + 1), here)
                    k = self.pairs[k] + 1
                    continue
                if self.words[k].text == ";":
                    here = next(part, here)
                else:
                    found[k] = here
                k += 1
        return found

    def _is_length(self, i: int) -> bool:
        """Whether a bracket belongs to a name that is declared just there: T tile[ROWS][2]."""
        if i not in self.declared:
            return False
        while self.words[i - 1].text == "]":
            i = self.pairs[i - 1]
        before = self.words[i - 2].text if i > 1 else ""
        return before in self.types or before in ("*", ",")

    def _starts(self, i: int) -> bool:
        """Whether a statement starts at a word."""
        if self.words[i].text in ("{", "}", ")", ";"):
            return False
        if i == 0 or self.words[i - 1].text in (";", "{", "}", "else"):
            return self._head_of(i) is None
        if self.words[i - 1].text == ")" and i - 1 in self.pairs:
            return self.words[self.pairs[i - 1] - 1].text in ("if", "for", "while")
        return False

    def _head_of(self, i: int) -> int | None:
        """Returns the loop in whose head a word stands."""
        return next((k for k in self.loops if k < i < self.pairs[k + 1]), None)

    def _declares(self, i: int) -> bool:
        words = self.words
        if words[i].kind != "name" or words[i].text in STATEMENTS or i + 1 >= len(words):
            return False
        return words[i].text in self.types or words[i + 1].kind == "name"

    def _end(self, i: int) -> int:
        """Returns where the statement that starts at a word ends: its semicolon, or the brace that it opens."""
        while i < len(self.words) and self.words[i].text != ";":
            if self.words[i].text == "{" and self.words[i - 1].text not in ("=", ")", ",", "{"):
                return i
            i = self.pairs.get(i, i) + 1 if self.words[i].text in ("(", "[", "{") else i + 1
        return i

    def _edit(self, kind: str, first: int, last: int, new: str) -> Edit:
        return Edit(kind, self.words[first].start, self.words[last].end, new)

    def _after(self, kind: str, i: int, new: str) -> Edit:
        return Edit(kind, self.words[i].end, self.words[i].end, new)

    def _of_number(self, i: int) -> Iterator[Edit]:
        text = self.words[i].text
        if self.heads.get(i) == "init" or i in self.lengths or i in self.room:
            return  # the loop's own edits; more memory than is used changes nothing
        before = self.words[i - 1].text if i else ""
        if before == "[" and self.words[i - 2].text in ("shape", "strides"):
            yield self._edit("axis", i, i, str(int(text) ^ 1))
        elif before == "-" and self.words[i - 2].text == "ndim":
            yield self._edit("axis", i, i, str(int(text) + 1))
        elif i in self.inside:
            yield self._edit("index", i, i, _greater(text))
        elif before == "=" and self._follows(i) in (";", ","):
            yield self._edit("start", i, i, _greater(text))
        elif before not in ("{",):
            yield self._edit("constant", i, i, _greater(text))

    def _follows(self, i: int) -> str:
        return self.words[i + 1].text if i + 1 < len(self.words) else ""

    def _of_sign(self, i: int) -> Iterator[Edit]:
        text = self.words[i].text
        if text in COMPARISONS:
            in_loop = self.heads.get(i) == "condition"
            for new in COMPARISONS[text][: 1 if in_loop else None]:
                yield self._edit("bounds" if in_loop else "comparison", i, i, new)
        elif text == "!":
            yield self._edit("comparison", i, i, "")
        elif text == "-" and not self._is_binary(i):
            yield self._edit("operator", i, i, "")
        elif text in OPERATORS and self._is_binary(i) and self.heads.get(i) != "step":
            yield self._edit("index" if i in self.inside else "operator", i, i, OPERATORS[text])
        elif text == "[" and i + 1 in self.inside and not self._is_alone(i + 1):
            yield self._after("index", self.pairs[i] - 1, " + 1")
        elif text == "(" and self._is_cast(i):
            yield from self._of_cast(i)

    def _is_alone(self, i: int) -> bool:
        """Whether a word is a number, and all of an index."""
        return self.words[i].kind == "number" and self.words[i + 1].text == "]"

    def _of_cast(self, i: int) -> Iterator[Edit]:
        """Yields a conversion to float32, or none where an assignment would not convert in its place."""
        if self.words[i + 1].text == "double":
            yield self._edit("cast", i, self.pairs[i], "(float)")
        if self.words[i - 1].text not in ("=", "return", "?", ":", ","):
            yield self._edit("cast", i, self.pairs[i], "")

    def _is_binary(self, i: int) -> bool:
        """Whether a sign has a value on its left, which a type, a cast or a keyword is not."""
        if not i:
            return False
        before = self.words[i - 1]
        if before.text == ")" and i - 1 in self.pairs:
            return not self._is_cast(self.pairs[i - 1])
        if before.kind == "name":
            return before.text not in self.types and before.text not in STATEMENTS and not self._declares_here(i)
        return before.kind == "number" or before.text == "]"

    def _declares_here(self, i: int) -> bool:
        """Whether a star makes a pointer: emitted *e."""
        return self.words[i].text == "*" and i - 1 in self.starts and i in self.declared

    def _is_cast(self, i: int) -> bool:
        """Whether a bracket holds a type of numbers, before a value; (void), (size_t) and pointers change nothing."""
        if i not in self.pairs or self.pairs[i] + 1 >= len(self.words):
            return False
        within = [word.text for word in self.words[i + 1 : self.pairs[i]]]
        before = self.words[i - 1] if i else None
        if not within or not set(within) <= self.types or within[0] in ("void", "size_t"):
            return False
        if before is not None and (before.text == "sizeof" or (before.kind == "name" and before.text != "return")):
            return False
        after = self.words[self.pairs[i] + 1]
        return after.kind in ("name", "number") or after.text in ("(", "-", "*")

    def _of_name(self, i: int) -> Iterator[Edit]:
        text = self.words[i].text
        if text == "continue":
            yield self._edit("iteration", i, i, "break")
        elif text == "double" and i in self.declared and self._follows(i) not in ("*", ")") and i not in self.heads:
            yield self._edit("cast", i, i, "float")
        elif text not in NOT_CALLED and text not in self.types and self._follows(i) == "(" and i + 1 in self.pairs:
            yield from self._of_call(i)

    def _of_call(self, i: int) -> Iterator[Edit]:
        """Yields a call with two neighbouring arguments swapped; of what takes the less or the greater it says more."""
        text = self.words[i].text
        if text in SYMMETRIC or text in KEPT:
            return
        given = self._arguments(i + 1)
        if any(first > last or self.words[first].text in self.types for first, last in given):
            return  # a text, or a macro that takes a type
        for (a, b), (c, d) in itertools.pairwise(given):
            first, second = self._said(a, b), self._said(c, d)
            if first != second:
                between = self.text[self.words[b].end : self.words[c].start]
                yield self._edit("arguments", a, d, f"{second}{between}{first}")

    def _arguments(self, opening: int) -> list[tuple[int, int]]:
        """Returns the first and last word of each argument."""
        found, first, i = [], opening + 1, opening + 1
        while i < self.pairs[opening]:
            if self.words[i].text == ",":
                found.append((first, i - 1))
                first = i + 1
            i = self.pairs.get(i, i) + 1 if self.words[i].text in ("(", "[", "{") else i + 1
        if first < self.pairs[opening]:
            found.append((first, self.pairs[opening] - 1))
        return found

    def _said(self, first: int, last: int) -> str:
        return self.text[self.words[first].start : self.words[last].end]

    def _of_loop(self, loop: int) -> Iterator[Edit]:
        """Yields a loop that ends one earlier, begins one later, or goes on by two."""
        head = range(loop + 2, self.pairs[loop + 1])
        init, condition, step = ([i for i in head if self.heads.get(i) == part] for part in PARTS)
        compared = [i for i in condition if self.words[i].text in COMPARISONS]
        rises = not compared or self.words[compared[0]].text in ("<", "<=", "!=")
        if len(compared) == 1:
            yield self._after("bounds", condition[-1], " - 1" if rises else " + 1")
        if init and not any(self.words[i].text == "," for i in init):
            yield self._after("iteration", init[-1], " + 1" if rises else " - 1")
        said = [self.words[i].text for i in step]
        if len(step) == 2 and set(said) & {"++", "--"}:
            sign, name = sorted(said, key=lambda text: text not in ("++", "--"))
            yield self._edit("iteration", step[0], step[1], f"{name} {sign[0]}= 2")

    def _of_statement(self, i: int) -> Iterator[Edit]:
        words, end = self.words, self._end(i)
        if i in self.declared or words[i].text in STATEMENTS or end >= len(words) or words[end].text != ";" or end == i:
            return
        depth_0, k = [], i
        while k < end:
            depth_0.append(words[k].text)
            k = self.pairs.get(k, k) + 1 if words[k].text in ("(", "[", "{") else k + 1
        is_call = words[i].kind == "name" and self._follows(i) == "("
        if depth_0[0] in KEPT or not (is_call or set(depth_0) & ASSIGNED or depth_0[0] == "*"):
            return
        yield self._edit("start" if depth_0[0] == "memset" else "statement", i, end - 1, "")


def _greater(number: str) -> str:
    """Returns the next whole number; twice a number with a fraction, and 1 for 0."""
    if re.fullmatch(r"\d+[uUlL]*", number):
        digits = re.match(r"\d+", number)
        assert digits is not None
        return f"{int(digits[0]) + 1}{number[digits.end() :]}"
    if re.fullmatch(r"0[xX][0-9a-fA-F]+[uUlL]*", number):
        return f"({number} + 1)"
    return "1.0" if re.fullmatch(r"0*\.?0*[fFlL]?", number) else f"(2 * {number})"

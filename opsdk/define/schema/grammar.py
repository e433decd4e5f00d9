"""The grammar of the schema language, by which it is parsed, and its forms, which the reference shows.

`pattern` makes a regular expression of a production: nothing nests deeper than a list of literals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from opsdk.core.dtype import KINDS
from opsdk.define.schema.scalars import GIVEN, SCALARS


def _any_of(words: object) -> str:
    return " | ".join(f'"{word}"' for word in words)  # type: ignore[attr-defined]


# EBNF: "text", the name of a production, [maybe], {any number of}, a | b. White space may stand between any two.
GRAMMAR = {
    "schema": '[namespace "::"] name ["@" digits] "(" [parameter {"," parameter}] ")" "->" results ["," residuals]',
    "parameter": '"*" | tensor name ["=" "None"] | attribute name ["=" default]',
    "results": 'result | "(" [result {"," result}] ")"',
    "result": "tensor [name]",
    "residuals": '"residuals" "(" [residual {"," residual}] ")"',
    "residual": 'tensor name | "object" name',
    "tensor": '"Tensor" ["<" elements ">"] ["(" letter [changed] ")"] [optional] [list]',
    "elements": 'element {"|" element}',
    "element": _any_of(KINDS),
    "changed": '"!"',
    "optional": '"?"',
    "list": '"[" "]"',
    "attribute": "range | choice | given",
    "range": "[least below] scalar [items] [optional] [order bound]",
    "choice": 'choices | "(" enclosed ")" [items] [optional]',
    "scalar": _any_of(SCALARS),
    "given": _any_of(GIVEN),
    "items": '"[" [digits] "]"',
    "below": '"<=" | "<"',
    "order": '"<=" | "<" | ">=" | ">"',
    "least": "number",
    "bound": "number",
    "choices": 'literal {"|" literal}',
    "enclosed": "choices",
    "literal": "string | number",
    "default": 'value | "[" [value {"," value}] "]"',
    "value": "string | complex | number | word",
}
# What is no production: its regular expression, and what the reference says of it.
TERMINALS = {
    "namespace": (r"[^\W\d]\w*", "letters, digits and underscores, no digit first"),
    "name": (r"[^\W\d]\w*", "the same"),
    "word": (r"[^\W\d]\w*", "the same: True, None, nan, float32"),
    "digits": (r"\d+", "a whole number, without a sign"),
    "letter": (r"[a-z]", "one letter"),
    "number": (r"[+-]?(?:inf\b|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", "as in Python, or inf"),
    "complex": (r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j|\([^()]*j\)", "as in Python"),
    "string": (r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "as in Python"),
}
_TOKEN = re.compile(r'\s*(?:"(?P<text>[^"]*)"|(?P<name>\w+)|(?P<sign>[][{}|]))')
_SIGNS = {"[": "(?:", "]": ")?", "{": "(?:", "}": ")*", "|": "|"}


@cache
def pattern(production: str) -> re.Pattern[str]:
    """Returns what matches a production; its groups are the productions that its own text names."""
    return re.compile(rf"\s*(?:{_regex(production, names=True)})", re.DOTALL)


def _regex(production: str, *, names: bool = False) -> str:
    if production in TERMINALS:
        return rf"(?:{TERMINALS[production][0]})\s*"
    parts, seen = [], set()
    for token in _TOKEN.finditer(GRAMMAR[production]):
        text, name = token["text"], token["name"]
        if text is not None:
            parts.append(re.escape(text) + (r"\b" if text[-1:].isalnum() else "") + r"\s*")
        elif name is not None:
            is_group = names and name not in seen
            seen.add(name)
            parts.append(f"(?{f'P<{name}>' if is_group else ':'}{_regex(name)})")
        else:
            parts.append(_SIGNS[token["sign"]])
    return "".join(parts)


@dataclass(frozen=True)
class Form:
    """A row of the reference: a parameter, as text and in a Python signature, which say the same; what it means.

    A form that only one of them has leaves the other empty.
    """

    text: str
    python: str
    meaning: str


FORMS = (
    Form("Tensor x", "x", "a tensor"),
    Form("Tensor? w=None", "w=None", "a tensor or None"),
    Form("Tensor[] xs", "*xs", "any number of tensors; also `xs: list`"),
    Form("Tensor?[] xs", "xs: list[np.ndarray | None]", "any number of tensors, with None in places; the list "
         "itself is always given"),
    Form("Tensor<int> i", "i: NDArray[np.integer]", "a tensor of integers; other elements are `float`, `bool`, "
         "`complex`, or several, `Tensor<int|bool>`; `?` and `[]` go behind"),
    Form("Tensor(a) x", "", "a result marked `Tensor(a)` may share its memory"),
    Form("Tensor(a!) x", "", "changed in place"),
    *(Form(f"{name} k", f"*, k: {scalar.annotation}", scalar.meaning) for name, scalar in SCALARS.items()),
    Form("Generator k=None", "*, k: opsdk.Generator | None = None", "the same, as it is printed"),
    Form("float k=0.5", "*, k: float = 0.5", "with a default; without one a call has to give it"),
    Form("int? k=None", "*, k: int | None = None", "or None"),
    Form("int[] k=[0, 1]", "*, k: list[int] = [0, 1]", "a list; a tuple of what it holds at the call"),
    Form("int[2] k=1", "*, k: tuple[int, int] = 1", "a list of that length; one number stands for each"),
    Form("0 <= float < 1 k=0.5", '*, k: Annotated[float, opsdk.Range(0, 1, inclusive="left")] = 0.5',
         "a number in a range; `domain=` says it too"),
    Form("int >= 1 k", "*, k: Annotated[int, opsdk.Range(1, None)]", "bounded on one side"),
    Form("float[] > 0 k", '*, k: Annotated[list[float], opsdk.Range(0, None, inclusive="neither")]',
         "each of a list"),
    Form("'linear' | 'cubic' k='linear'", '*, k: Literal["linear", "cubic"] = "linear"', "one of several texts"),
    Form("1 | 3 k=1", "*, k: Literal[1, 3] = 1", "one of several whole numbers, an int in kernels"),
    Form("1.0 | 1.5 k=1.5", "*, k: Literal[1, 1.5] = 1.5", "one of several numbers of which one has a "
         "point: a float in kernels, and `1` is `1.0`"),
    Form("('a' | 'b')[2]? k=None", '*, k: tuple[Literal["a", "b"], Literal["a", "b"]] | None = None',
         "such choices in a list, or None"),
)  # fmt: skip
RESULTS = (
    Form("-> Tensor", "", "one result, `y`; `-> Tensor out` calls it `out`"),
    Form("-> (Tensor y, Tensor? z)", "", "the second is None in calls for which the infer rule returns None, so that "
         "attributes and inputs that are absent decide"),
    Form("-> (Tensor y, Tensor[] zs)", "", "several; those without a name are `y0`, `y1`"),
    Form("-> Tensor?[] ys", "", "a list with None in the places where the infer rule's list has None"),
    Form("-> Tensor y, residuals (Tensor i, object lu)", '@opsdk.op(residuals=["i", "object lu"])', "what the "
         "backward alone sees: tensors, `Tensor<int> i` too, and objects of Python"),
)  # fmt: skip


def expected() -> str:
    """Returns what a message expects in the place of a type."""
    tensors = "Tensor, Tensor?, Tensor[], Tensor?[]"
    return f"{tensors}, {', '.join(SCALARS)} (with [], [2] or ?), a range as 0 <= float < 1, or a choice as 'a' | 'b'"

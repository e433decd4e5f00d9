"""The reference of the schema language, docs/schema.md, made from the grammar that it is parsed by.

Run as a module it prints the page.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdk.define.schema.grammar import FORMS, GRAMMAR, RESULTS, TERMINALS, Form

COMMAND = "python -m opsdk.ship.describe.language > docs/schema.md"
_INTRODUCTION = f"""# The schema language

An op's signature as text: `namespace::name@version(parameters) -> results`, where namespace and version may be left
out. It is PyTorch's function schema, in part, with elements of tensors, ranges and choices besides. `@opsdk.op` takes
such a text, or reads a Python signature, which says nearly as much; `op.schema`, `opsdk show` and `opsdk doc` print it
in one form, which parses to the same schema. This page is made of the grammar that the parser is made of, by
`{COMMAND}`, and a test holds it to that."""
_REMARKS = """In text an attribute may also stand before the `*`, and can then be passed by position. Parameters before
the `*` of a Python signature are tensors. A signature has no word for memory that is shared or changed, for names of
results or for several of them: write the schema as text.

A value of another type, of another length, or outside of range and choices is refused in every runtime before anything
runs, where a Program is built, and where a default is declared:
`op 'ops::f': attribute 'p' expected 0 <= float < 1, got -1.0; write p=0.0`. `opsdk.verify` tries every choice, and
other values inside of the range. Kernels get a choice as the `str`, `int` or `float` that it is, a list as a tuple
(C: a pointer and a length), however long.

White space may stand between any two signs below. `"text"` stands for itself, `[a]` for a or nothing, `{a}` for any
number of a, `a | b` for one of them."""


def page() -> str:
    """Returns the page as Markdown: the forms, what they mean, the grammar."""
    parts = [_INTRODUCTION, "## Parameters", _table(FORMS), "## Results", _table(RESULTS), _REMARKS, "## Grammar"]
    widest = max(map(len, [*GRAMMAR, *TERMINALS]))
    rules = [f"{name:<{widest}} = {rule}" for name, rule in GRAMMAR.items()]
    rules += [f"{name:<{widest}} : {meaning}" for name, (_, meaning) in TERMINALS.items()]
    return "\n\n".join([*parts, "\n".join(["```text", *rules, "```"])]) + "\n"


def _table(forms: Sequence[Form]) -> str:
    rows = [f"| `{_cell(form.text)}` | {_python(form)} | {_cell(form.meaning)} |" for form in forms]
    return "\n".join(["| text | in a Python signature | meaning |", "|---|---|---|", *rows])


def _python(form: Form) -> str:
    return f"`{_cell(form.python)}`" if form.python else "–"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")

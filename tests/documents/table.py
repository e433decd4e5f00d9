"""The table of what the documents describe, docs/documents.md: each item and the tests that are named after it.

`python -m tests.documents.table > docs/documents.md` writes it.
"""

import ast
import re
from pathlib import Path

COMMAND = "python -m tests.documents.table > docs/documents.md"
TITLES = {
    "A": ("Models and layers, as Paddle has them", 24),
    "B": ("Modules, as PyTorch has them", 29),
    "C": ("Hooks, and layers that are plugged in", 17),
    "E": ("Saving and loading", 16),
    "F": ("Found on a second reading", 11),
}
# Those that wait for what they need.
LATER = {
    **dict.fromkeys(("F2", "F3", "F5"), "of the static side"),
    "E2": "advice, of which nothing can be run",
}
_INTRODUCTION = f"""# What five documents describe

Five documents on deep-learning frameworks say what a user expects of models, modules, hooks, Programs and saved files.
Each of their items has a test that is named after it; those of Programs (D) are tested with `opsdk.static`. Made of
the names of the tests by `{COMMAND}`, and a test holds it to them."""


def named(folder):
    """Gives the tests of a folder by the item that their names begin with: `test_a06_…` is of A6."""
    found = {}
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match = isinstance(node, ast.FunctionDef) and re.match(r"test_([a-z])(\d+)_(.*)", node.name)
            if match:
                item = f"{match[1].upper()}{int(match[2])}"
                found.setdefault(item, []).append((path.name, match[3].replace("_", " ")))
    return found


def untold(found):
    """Gives the items that have neither a test nor a reason to have none yet."""
    wanted = [f"{letter}{number + 1}" for letter, (_, count) in TITLES.items() for number in range(count)]
    return [item for item in wanted if item not in found and item not in LATER]


def page(found):
    """Gives the page as Markdown."""
    parts = [_INTRODUCTION]
    for letter, (title, count) in TITLES.items():
        rows = ["| item | test | in `tests/documents/` |", "|---|---|---|"]
        for number in range(1, count + 1):
            item = f"{letter}{number}"
            for place, sentence in found.get(item, [("", LATER.get(item, "no test yet"))]):
                rows.append(f"| {item} | {sentence} | {place} |")
        parts += [f"## {letter}. {title}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(page(named(Path(__file__).parent)), end="")

"""The pages under docs/: their code runs as it stands, and prints what the comments beside it say."""

from __future__ import annotations

import re

import pytest

from opsdk.define.op import REGISTRY
from tests.contracts.tree import REPOSITORY

PAGES = sorted((REPOSITORY / "docs").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PROMISE = re.compile(r"^\s*print\(.*\)\s+# (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def source_of(text):
    """Returns the code of a page, each line at the line where it stands on the page."""
    kept = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        lines = block[1].splitlines()
        kept[first : first + len(lines)] = lines
    return "\n".join(kept) + "\n"


def run(text, page, folder):
    """Runs the code of a page as a file of the page's name."""
    file = folder / f"{page}.py"
    file.write_text(source_of(text), encoding="utf-8")
    with REGISTRY.scoped():
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {"__name__": page})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_in_order_and_prints_what_it_says(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    run(text, page.stem, tmp_path)
    assert capsys.readouterr().out.splitlines() == PROMISE.findall(source_of(text))


@pytest.mark.parametrize("page", [*PAGES, REPOSITORY / "README.md"], ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page):
    broken = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert broken == []


def test_pages_with_code_are_found():
    assert {"ops.md", "proof.md"} <= {page.name for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))}


def test_a_print_that_says_something_else_is_seen(capsys, tmp_path):
    text = "# A page\n\n```python\nx = 1\nprint(x + 1)  # 3\n```\n\nand\n\n```python\nprint(x)  # 1\n```\n"
    run(text, "page", tmp_path)
    assert capsys.readouterr().out.splitlines() == ["2", "1"]
    assert PROMISE.findall(source_of(text)) == ["3", "1"]

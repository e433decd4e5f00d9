"""The pages under docs/: their code runs as it stands, and prints what the comments beside it say.

A block that begins with ```python runs in this process, in the order of the page. One that begins with ```python torch,
or the name of another framework, runs where that is installed: in a process of its own, together with the page's other
blocks, since frameworks keep modes, registries and threads that are nobody else's business.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from opsdk.define.op import REGISTRY
from tests.contracts.tree import REPOSITORY

PAGES = sorted((REPOSITORY / "docs").glob("*.md"))
SLOW = {"choosing.md"}
BLOCK = re.compile(r"^```python(?: (?P<framework>\w+))?\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
PROMISE = re.compile(r"^\s*print\(.*\)\s+# (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)\)")


def source_of(text, framework=None):
    """Returns the code of a page, each line at the line where it stands on the page.

    Args:
        framework: the one whose blocks are wanted beside those that need none.
    """
    kept = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        if block["framework"] in (None, framework):
            first = text.count("\n", 0, block.start("code"))
            lines = block["code"].splitlines()
            kept[first : first + len(lines)] = lines
    return "\n".join(kept) + "\n"


def run(text, page, folder):
    """Runs the code of a page that needs no framework as a file of the page's name."""
    file = folder / f"{page}.py"
    file.write_text(source_of(text), encoding="utf-8")
    with REGISTRY.scoped():
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), {"__name__": page})


def run_apart(text, page, folder, framework):
    """Runs a page's code in a process of its own, with the blocks of a framework; returns what it printed."""
    file = folder / f"{page}.py"
    file.write_text(source_of(text, framework), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, str(file)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def frameworks_of(page):
    """Returns the frameworks that blocks of a page name, each once."""
    named = [block["framework"] for block in BLOCK.finditer(page.read_text(encoding="utf-8"))]
    return list(dict.fromkeys(name for name in named if name is not None))


# choosing.md proves an op in every language, 48 s; the pages of the languages prove theirs with every run.
def marked(page):
    return pytest.param(page, id=page.name, marks=pytest.mark.slow if page.name in SLOW else ())


@pytest.mark.parametrize("page", [marked(page) for page in PAGES])
def test_the_code_of_a_page_runs_in_order_and_prints_what_it_says(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    run(text, page.stem, tmp_path)
    assert capsys.readouterr().out.splitlines() == PROMISE.findall(source_of(text))


@pytest.mark.parametrize(
    ("page", "framework"),
    [pytest.param(page, name, id=f"{page.name}-{name}") for page in PAGES for name in frameworks_of(page)],
)
def test_the_blocks_of_a_framework_run_where_it_is_installed(page, framework, tmp_path):
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    text = page.read_text(encoding="utf-8")
    assert run_apart(text, page.stem, tmp_path, framework) == PROMISE.findall(source_of(text, framework))


@pytest.mark.parametrize("page", [*PAGES, REPOSITORY / "README.md"], ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page):
    broken = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]
    assert broken == []


def test_pages_with_code_are_found():
    assert {"ops.md", "proof.md"} <= {page.name for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))}


def test_every_form_of_an_op_is_shown_in_ten_lines():
    code = (REPOSITORY / "docs" / "ops.md").read_text(encoding="utf-8")
    long = [block for *_, block in BLOCK.findall(code) if len(list(filter(str.strip, block.splitlines()))) > 10]
    assert long == []


def test_a_print_that_says_something_else_is_seen(capsys, tmp_path):
    text = "# A page\n\n```python\nx = 1\nprint(x + 1)  # 3\n```\n\nand\n\n```python\nprint(x)  # 1\n```\n"
    run(text, "page", tmp_path)
    assert capsys.readouterr().out.splitlines() == ["2", "1"]
    assert PROMISE.findall(source_of(text)) == ["3", "1"]


def test_blocks_of_a_framework_run_with_the_rest_of_the_page_and_not_without_it(capsys, tmp_path):
    text = "```python\nx = 1\nprint(x)  # 1\n```\n```python json\nimport json\nprint(json.dumps(x + 1))  # 2\n```\n"
    run(text, "page", tmp_path)
    assert capsys.readouterr().out.splitlines() == PROMISE.findall(source_of(text)) == ["1"]
    assert run_apart(text, "page", tmp_path, "json") == PROMISE.findall(source_of(text, "json")) == ["1", "2"]


def test_a_block_of_a_framework_that_fails_shows_its_traceback(tmp_path):
    with pytest.raises(AssertionError, match="planted"):
        run_apart("```python json\nraise ValueError('planted')\n```\n", "page", tmp_path, "json")

import re
import subprocess
import sys

from opsdk.ship.explain.codes import codes, explained
from opsdk.ship.explain.page import COMMAND, page
from tests.contracts.tree import REPOSITORY

SOURCES = [path for name in ("opsdk", "contrib_ops") for path in sorted((REPOSITORY / name).rglob("*.py"))]
CODE = re.compile(r"\bOP[1-5]\d\d\b")


def test_the_page_in_docs_says_what_explain_says():
    held = (REPOSITORY / "docs" / "errors.md").read_text(encoding="utf-8")
    assert held == page(), f"run {COMMAND}"


def test_the_command_that_the_page_names_writes_it():
    command = [sys.executable, *COMMAND.partition(" > ")[0].split()[1:]]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True)
    assert done.stdout.decode("utf-8") == page()


def test_every_code_has_a_section_with_the_whole_text():
    text = page()
    for code, entry in codes().items():
        assert f"\n### {code} {entry.error}\n\n{entry.sentence}\n" in text
        assert explained(code).partition("\n\n")[2] in text


def test_every_code_in_the_sources_is_explained():
    found = {code for path in SOURCES for code in CODE.findall(path.read_text(encoding="utf-8"))}
    assert sorted(found - codes().keys()) == []


def test_every_code_has_more_to_say_than_its_sentence():
    assert sorted(code for code in codes() if "\n\n" not in explained(code)) == []

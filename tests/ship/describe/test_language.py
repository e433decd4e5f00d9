import subprocess
import sys

from opsdk.ship.describe.language import COMMAND, page
from tests.contracts.tree import REPOSITORY


def test_the_page_in_docs_is_what_the_grammar_says():
    held = (REPOSITORY / "docs" / "schema.md").read_text(encoding="utf-8")
    assert held == page(), f"run {COMMAND}"


def test_the_command_that_the_page_names_writes_it():
    command = [sys.executable, *COMMAND.partition(" > ")[0].split()[1:]]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True)
    assert done.stdout.decode("utf-8") == page()


def test_a_bar_stays_inside_its_cell():
    rows = [line for line in page().splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {4}

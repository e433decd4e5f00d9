import subprocess
import sys

import opsdk
from opsdk.ops import functions, numpy_protocol
from opsdk.ship.describe.functions import COMMAND, page
from tests.contracts.tree import REPOSITORY


def test_the_page_in_docs_is_what_the_tables_hold():
    held = (REPOSITORY / "docs" / "composites.md").read_text(encoding="utf-8")
    assert held == page(), f"run {COMMAND}"


def test_the_command_that_the_page_names_writes_it():
    command = [sys.executable, *COMMAND.partition(" > ")[0].split()[1:]]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True)
    assert done.stdout.decode("utf-8") == page()


def test_a_function_that_is_added_to_a_table_is_on_the_page(monkeypatch):
    def halved(x, by=2.0):
        """Returns x | by.

        No more."""

    monkeypatch.setattr(opsdk, "halved", halved, raising=False)
    monkeypatch.setattr(functions, "__all__", [*functions.__all__, "halved"])
    monkeypatch.setitem(numpy_protocol.FUNCTIONS, sorted, None)
    assert "| `opsdk.halved(x, by=2.0)` | Returns x \\| by. |" in page()
    assert "`np.sorted`" in page()
    assert all(f"| `opsdk.{name}(" in page() for name in functions.__all__)

import re
import subprocess
import sys

import pytest

from opsdk.core import errors
from opsdk.core.errors import OpsdkError, TargetError
from opsdk.ship.explain.page import COMMAND, codes, explained, page
from opsdk.ship.explain.texts import TEXTS
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


def test_every_code_of_every_error_class_is_explained():
    classes = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, OpsdkError)]
    for cls in classes:
        if cls is not OpsdkError:
            assert explained(cls.default_code).startswith(f"{cls.default_code} ")


def test_no_text_explains_a_code_that_nothing_raises():
    assert set(TEXTS) <= set(codes())


def test_a_page_starts_with_code_class_and_sentence():
    page = explained("op210")
    assert page.splitlines()[0] == "OP210 GradientMissingError: A gradient was asked for and the op has no backward."
    assert "@clip01.backward" in page


def test_lines_fit_a_terminal():
    assert max(len(line) for code in codes() for line in explained(code).splitlines()) <= 120


def test_an_unknown_code_lists_the_known():
    with pytest.raises(TargetError, match="explain: expected an error code, got 'nonsense'; codes: OP101, OP102"):
        explained("nonsense")


def test_the_letters_of_a_code_may_be_left_out():
    assert explained("203") == explained("OP203")

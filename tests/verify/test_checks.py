import re

from opsdk.verify.checks import CHECKS, FOLLOWING, WATCHED, check_of
from tests.contracts.tree import REPOSITORY

NAMED = re.compile(
    r"""(?:case|rule|\(\))\.(?:find|find_raised|did)\(\s*f?"([a-z0-9]+)|\bjudge_case\([^"]*"([a-z0-9]+)\""""
)


def test_every_check_that_the_sources_name_is_listed():
    found = set()
    for file in (REPOSITORY / "opsdk" / "verify").rglob("*.py"):
        found |= {first or second for first, second in NAMED.findall(file.read_text(encoding="utf-8"))}
    assert {"vjp", "runs", "static2", "nondifferentiable"} <= found
    assert {check_of(name) for name in found} <= set(CHECKS)


def test_a_findings_check_is_told_by_its_first_word():
    assert [check_of(name) for name in ("vjp.x", "runs", "compile", "infer.open")] == ["vjp", "runs", "runs", "infer"]


def test_every_kind_of_finding_stands_in_the_table_of_checks():
    page = (REPOSITORY / "docs" / "proof.md").read_text(encoding="utf-8")
    rows = page.partition("## What `verify` judges")[2].partition("##")[0].split("\n|")
    listed = {name for row in rows for name in re.findall("`([a-z0-9]+)`", row.partition("|")[0])}
    assert set(CHECKS) | set(WATCHED) | set(FOLLOWING) <= listed


def test_every_note_that_fails_strict_has_its_line():
    page = (REPOSITORY / "docs" / "proof.md").read_text(encoding="utf-8")
    files = (REPOSITORY / "opsdk" / "verify").rglob("*.py")
    told = sum(len(re.findall(r"\.warn\(", file.read_text(encoding="utf-8"))) for file in files)
    assert page.count("\n| a note: ") == told == 8

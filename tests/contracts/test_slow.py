import pytest

from tests.contracts import slow
from tests.contracts.tree import REPOSITORY

MARK = "pytest.mark." + "slow"  # in two pieces, so that this file has no mark


def test_every_slow_mark_has_its_reason():
    assert slow.without_reason(REPOSITORY / "tests") == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        (f"@{MARK}\ndef test_a(): ...\n", [1]),
        (f"# far above\n\n@{MARK}\ndef test_a(): ...\n", [3]),
        (f"@{MARK}  # every dtype\ndef test_a(): ...\n", []),
        (f"# Every dtype.\n@pytest.mark.parametrize('n', [1])\n@{MARK}\ndef test_a(): ...\n", []),
        (f"BOTH = [1, pytest.param(2, marks={MARK})]\n", [1]),
        (f"# A second seed.\nBOTH = [1, pytest.param(2, marks={MARK})]\n", []),
    ],
)
def test_a_mark_without_a_reason_is_reported(tmp_path, source, lines):
    (tmp_path / "test_planted.py").write_text(source)
    found = [line.partition(": ")[0] for line in slow.without_reason(tmp_path)]
    assert found == [f"test_planted.py:{line}" for line in lines]

"""The table of docs/migrating.md that goes through a training loop: each line runs, in its order."""

import importlib.util
import re

import pytest

from tests.contracts.tree import REPOSITORY

PAGE = (REPOSITORY / "docs" / "migrating.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(.+?)` \| (?:`(.+)`|the same) \|$", re.MULTILINE)
LINES = ROW.findall(PAGE.partition("## A training loop of PyTorch's")[2])


@pytest.mark.parametrize("side", ["torch", "opsdk"])
def test_a_training_loop_runs_line_by_line(side, tmp_path):
    if importlib.util.find_spec(side) is None:
        pytest.skip(f"{side} is not installed")
    names = {"path": tmp_path / "last.pt"}
    for theirs, ours in LINES:
        exec(theirs if side == "torch" or not ours else ours, names)
    assert len(LINES) == 27
    assert names["loss"].item() > 0
    assert 0 <= names["right"] <= 1
    assert names["rates"] == pytest.approx([0.0013167184270002508], rel=1e-12)

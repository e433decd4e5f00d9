"""What a test leaves behind is gone for the next one."""

import importlib
import sys

import pytest

import opsdk
from opsdk.core.flags import FLAGS, set_flags
from opsdk.define.op import REGISTRY
from opsdk.ship.targets.target import resolve
from tests.contracts.tree import REPOSITORY


@pytest.mark.parametrize("again", [False, True])
def test_ops_modules_and_flags_of_one_test_are_not_there_in_the_next(tmp_path, monkeypatch, again):
    assert "t::left" not in REGISTRY
    assert not {"left_by_a_test", "softmax"} & {*sys.modules}
    assert not FLAGS.debug
    (tmp_path / "left_by_a_test.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("left_by_a_test")
    resolve(str(REPOSITORY / "examples/kernels/softmax.py"))
    opsdk.op("t::left(Tensor x) -> Tensor y")(lambda x: x + (1 if again else 2))
    set_flags(debug=True)

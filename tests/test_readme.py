"""The README: its code runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from opsdk.define.op import REGISTRY

README = Path(__file__).parent.parent / "README.md"


def test_the_code_blocks_of_the_readme_run_in_order_and_print_what_they_say(capsys, monkeypatch, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    source = tmp_path / "readme.py"
    source.write_text("\n".join(blocks), encoding="utf-8")
    with REGISTRY.scoped():
        names: dict[str, object] = {"__name__": "readme"}
        exec(compile(source.read_text(encoding="utf-8"), str(source), "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == ["[0. 2.]", "[[0. 1.]]", "pass"]
    assert printed[3:] == ["numpy (cpu, *), numba (cpu, *), c (cpu, float32), numba (cuda, *)", "pass"]
    assert np.isfinite(names["value"])

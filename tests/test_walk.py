"""The walk of docs/design.md: which functions a call of `relu` goes through, and that the page names them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk.core.fast import FAST
from opsdk.define.op import REGISTRY

ROOT = Path(__file__).parent.parent


def functions_called(action):
    """Returns the names of opsdk's own functions that a call enters, in order, each once."""
    seen: list[str] = []

    def profile(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT / "opsdk")):
            name = getattr(code, "co_qualname", code.co_name).rpartition(".")[2]
            if name not in seen:
                seen.append(name)

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return [name for name in seen if not name.startswith("__") or name == "__call__"]


def walk():
    """Returns the functions that a call of `relu` and its backward go through."""
    with REGISTRY.scoped():

        @opsdk.op(namespace="walk")
        def relu(x):
            return np.maximum(x, 0)

        @relu.backward
        def relu_grad(y, dy):
            return dy * (y > 0)

        x = opsdk.to_tensor([1.0, -1.0], stop_gradient=False)
        for _ in range(2):  # the second call is the first one of the fast path, which learns the shape
            relu(x).backward()
        x.grad = None
        there = functions_called(lambda: relu(x))
        y = relu(x)
        back = functions_called(y.backward)
    return there + back


def named(walked):
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    return [name for name in walked if f"`{name}`" not in page and f".{name}`" not in page]


@pytest.mark.skipif(FAST is None, reason="the fast path is not built")
def test_the_fast_path_goes_through_one_function_of_pythons_and_those_of_c_that_the_page_names():
    assert walk() == ["backward"]
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    steps = re.findall(r"`(\w+)` \(`(\w+\.c)`\)", page)
    assert [name for name, _ in steps] == ["call_handle", "call", "launch", "backward"]
    for name, file in steps:
        source = (ROOT / "opsdk" / "core" / "fast" / file).read_text(encoding="utf-8")
        assert re.search(rf"^\S.*\b{name}\(", source, re.MULTILINE), (name, file)


def test_the_general_way_goes_through_the_functions_that_the_page_names():
    done = subprocess.run(
        [sys.executable, "-c", "from tests.test_walk import walk; print(*walk())"],
        cwd=ROOT,
        env={**os.environ, "OPSDK_FAST_PATH": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    main = ["__call__", "apply", "run", "handed_over", "record", "backward", "run_backward", "step", "accumulate"]
    assert [name for name in done.stdout.split() if name in main] == [
        *("__call__", "apply", "run", "handed_over", "record"),
        *("backward", "run_backward", "run", "step", "handed_over", "accumulate"),
    ]
    assert named(main) == []

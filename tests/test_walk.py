"""The walk of docs/design.md: which functions a call of `relu` goes through, and that the page names them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import opsdk
from opsdk.define.op import REGISTRY

ROOT = Path(__file__).parent.parent
ASIDES = {"seed_of", "_send", "_slots"}  # the ones, the sums, the slots: called on the way, not part of it


def functions_called(action):
    """Returns the names of opsdk's own functions that a call enters, in order, each once."""
    seen: list[str] = []

    def profile(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT / "opsdk")):
            name = getattr(code, "co_qualname", code.co_name).rpartition(".")[2]
            if name not in seen or code.co_name == "lane":
                seen.append(name)

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return [name for name in seen if not name.startswith("__") or name == "__call__"]


def test_a_call_and_its_backward_go_through_nine_functions_that_the_page_names():
    with REGISTRY.scoped():

        @opsdk.op(namespace="walk")
        def relu(x):
            return np.maximum(x, 0)

        @relu.backward
        def relu_grad(y, dy):
            return dy * (y > 0)

        x = opsdk.to_tensor([1.0, -1.0], stop_gradient=False)
        relu(x).backward()
        there = functions_called(lambda: relu(x))
        y = relu(x)
        back = functions_called(y.backward)
    walked = [name for name in there + back if name not in ASIDES]
    assert walked == ["__call__", "short", "lane", "backward", "run_backward", "run", "step", "lane", "accumulate"]
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    missing = [name for name in walked if f"`{name}`" not in page and f".{name}`" not in page]
    assert missing == []

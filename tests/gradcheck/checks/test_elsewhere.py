from __future__ import annotations

import threading
from typing import Any

import numpy as np

from gradcheck import check

X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])


def report_of(forward: Any, vjp: Any) -> Any:
    return check(forward, vjp, (X,), vary=False)


def found(forward: Any, vjp: Any) -> dict[str, str]:
    return {finding.check: finding.message for finding in report_of(forward, vjp).findings}


def cosine(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def test_values_kept_for_a_thread_are_found() -> None:
    local = threading.local()

    def forward(x: Any) -> Any:
        local.kept = getattr(local, "kept", {}) | {x.tobytes(): np.cos(x)}
        return np.sin(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * local.kept[inputs[0].tobytes()],)

    message = found(forward, vjp)["other thread"]
    assert message.startswith(
        "vjp: expected in another thread the gradients that it gives in the one where forward ran, got AttributeError: "
    )
    assert message.endswith("; compute from inputs and outputs, not from what forward kept for its thread")


def test_a_default_for_other_threads_that_is_wrong_is_found() -> None:
    local = threading.local()

    def forward(x: Any) -> Any:
        local.scale = 1.0
        return np.sin(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * np.cos(inputs[0]) * getattr(local, "scale", 2.0),)

    assert "got others; compute from inputs" in found(forward, vjp)["other thread"]


def test_a_setting_of_the_callers_thread_is_noted_and_not_blamed() -> None:
    local = threading.local()
    local.scale = 3.0

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * local.scale,)

    report = report_of(lambda x: x * local.scale, vjp)
    assert report.verdict == "pass"
    note = "not judged across threads: forward and vjp do not work alike in another thread"
    assert note in report.coverage.notes


class Scaled:
    """A pair with a factor that pickling may lose."""

    def __init__(self, lost: Any) -> None:
        self.scale = 2.0
        self.lost = lost

    def forward(self, x: Any) -> Any:
        return np.sin(x) * (self.scale if self.lost != "forward" else 2.0)

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * np.cos(inputs[0]) * self.scale,)

    def __getstate__(self) -> dict[str, Any]:
        return {"scale": 2.0, "lost": self.lost} if self.lost == "nothing" else {"lost": self.lost}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["lost"] == "everything":
            raise RuntimeError("no state")
        self.scale = 1.0
        self.__dict__.update(state)


def test_a_pair_that_loses_its_state_in_pickling_is_found() -> None:
    for lost, text in (
        (
            "scale",
            "forward: expected to work as before after pickling, got other outputs; keep all state that it needs",
        ),
        (
            "forward",
            "vjp: expected to work as before after pickling, got other gradients; keep all state that it needs",
        ),
        ("everything", "forward and vjp: expected to work as before after pickling, got RuntimeError: no state"),
    ):
        subject = Scaled(lost)
        assert text in found(subject.forward, subject.vjp)["pickling"]


def test_a_pair_that_pickles_whole_and_one_that_does_not_pickle_are_right() -> None:
    subject = Scaled("nothing")
    assert found(subject.forward, subject.vjp) == {}
    assert found(lambda x: np.sin(x), cosine) == {}


class Breaking(Scaled):
    """A pair whose functions raise after pickling."""

    def forward(self, x: Any) -> Any:
        if self.lost == "forward" and self.scale == 1.0:
            raise RuntimeError("no scale")
        return np.sin(x) * 2.0

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        if self.scale == 1.0:
            raise RuntimeError("no scale")
        return super().vjp(inputs, outputs, cotangents)


def test_a_function_that_raises_after_pickling_is_named() -> None:
    for lost, function in (("forward", "forward"), ("scale", "vjp")):
        subject = Breaking(lost)
        message = found(subject.forward, subject.vjp)["pickling"]
        assert message.startswith(f"{function}: expected to work as before after pickling, got RuntimeError: no scale")

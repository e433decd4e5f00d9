from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from gradcheck import check

X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])


def found(forward: Any, vjp: Any, inputs: Any = (X,), **options: Any) -> dict[str, str]:
    return {finding.check: finding.message for finding in check(forward, vjp, inputs, **options).findings}


def cosine(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def test_a_vjp_that_is_off_once_in_eight_calls_is_found() -> None:
    calls = []

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        calls.append(1)
        return (cotangents[0] * np.cos(inputs[0]) * (1.0 + 1e-13 * (len(calls) % 8 == 2)),)

    assert "vjp: expected equal results for the same arguments, got different ones" in found(np.sin, vjp)["repeats"]


def test_a_stack_of_kept_values_is_found_by_the_order_of_vjps() -> None:
    kept: list[Any] = []

    def forward(x: Any) -> Any:
        del kept[2:]
        kept.insert(0, x.copy())
        return np.sin(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        same = [x for x in kept if np.array_equal(np.sin(x), outputs[0])]
        return (cotangents[0] * np.cos(same[0] if same and same[0] is kept[0] else inputs[0] * (1 + 1e-12)),)

    message = found(forward, vjp)["interleaving"]
    assert message == (
        "vjp: expected gradients for its own arguments, got others once forward ran elsewhere in between; "
        "compute from inputs and outputs, not from what forward kept"
    )


def test_a_forward_that_follows_the_previous_inputs_is_found() -> None:
    last: list[Any] = [X]

    def forward(x: Any) -> Any:
        shift = 0.0 if np.array_equal(last[0], x) else 1e-13
        last[0] = x.copy()
        return np.sin(x) + shift

    forward(X)
    message = found(forward, cosine)["interleaving"]
    assert message == (
        "forward: expected outputs for its own inputs, got others once it ran elsewhere in between; "
        "compute from the inputs, not from what it kept"
    )


def test_a_second_vjp_after_another_is_found_when_the_first_used_up_what_was_kept() -> None:
    kept: dict[bytes, Any] = {}

    def forward(x: Any) -> Any:
        kept[x.tobytes()] = np.cos(x)
        return np.sin(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        slope = kept.get(inputs[0].tobytes())
        if slope is None:
            slope = np.zeros_like(inputs[0])
        for key in [key for key in kept if key != inputs[0].tobytes()]:
            del kept[key]
        return (cotangents[0] * slope,)

    assert "vjp: expected gradients for its own arguments" in found(forward, vjp)["interleaving"]


def test_values_that_the_varied_inputs_do_not_allow_leave_the_given_ones_judged() -> None:
    kept: dict[str, Any] = {}

    def forward(x: Any) -> Any:
        kept["x"] = x.copy()
        return np.sqrt(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        if (inputs[0] < 0).any():
            raise ValueError("negative")
        return (cotangents[0] / (2 * np.sqrt(np.abs(kept["x"]))),)

    assert "interleaving" in found(forward, vjp, (np.abs(X),), vary=False)


def test_caches_workspaces_and_fixed_seeds_are_no_state() -> None:
    memo: dict[bytes, Any] = {}
    by_identity: dict[int, Any] = {}
    workspace = np.empty(X.shape)

    @functools.lru_cache
    def weights(shape: tuple[int, ...]) -> Any:
        return np.linspace(1.0, 2.0, int(np.prod(shape))).reshape(shape)

    def forward(x: Any) -> Any:
        if x.tobytes() not in memo:
            np.multiply(x, weights(x.shape), out=workspace)
            memo[x.tobytes()] = np.sin(workspace) * np.random.default_rng(3).random()
        by_identity[id(x)] = x
        return memo[x.tobytes()]

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        (x,) = inputs
        np.multiply(x, weights(x.shape), out=workspace)
        return (cotangents[0] * np.cos(workspace) * weights(x.shape) * np.random.default_rng(3).random(),)

    assert found(forward, vjp) == {}


def report_of(forward: Any, vjp: Any) -> Any:
    return check(forward, vjp, (X,), vary=False)


def found_given(forward: Any, vjp: Any) -> dict[str, str]:
    return {finding.check: finding.message for finding in report_of(forward, vjp).findings}


def test_values_kept_for_a_thread_are_found() -> None:
    local = threading.local()

    def forward(x: Any) -> Any:
        local.kept = getattr(local, "kept", {}) | {x.tobytes(): np.cos(x)}
        return np.sin(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * local.kept[inputs[0].tobytes()],)

    message = found_given(forward, vjp)["other thread"]
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

    assert "got others; compute from inputs" in found_given(forward, vjp)["other thread"]


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
        assert text in found_given(subject.forward, subject.vjp)["pickling"]


def test_a_pair_that_pickles_whole_and_one_that_does_not_pickle_are_right() -> None:
    subject = Scaled("nothing")
    assert found_given(subject.forward, subject.vjp) == {}
    assert found_given(lambda x: np.sin(x), cosine) == {}


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
        message = found_given(subject.forward, subject.vjp)["pickling"]
        assert message.startswith(f"{function}: expected to work as before after pickling, got RuntimeError: no scale")

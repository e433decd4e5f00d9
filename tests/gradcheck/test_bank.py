from __future__ import annotations

from typing import Any

import pytest

import gradcheck
from tests.gradcheck.right_bank import RIGHT
from tests.gradcheck.right_hard import HARD
from tests.gradcheck.right_more import PRACTICE
from tests.gradcheck.right_ops import OPS
from tests.gradcheck.wrong_bank import WRONG
from tests.gradcheck.wrong_hard import SUBTLE
from tests.gradcheck.wrong_more import MET_IN_PRACTICE
from tests.gradcheck.wrong_ops import WRONG_OPS


def seeded(cases: Any) -> list[Any]:
    """Gives each case at seed 0 and at one of the seeds 1 to 4, in turn; every second case stands for all at seed 0."""
    swept = pytest.mark.slow  # the same functions at other numbers; `python -m benchmarks.bank` asks all at any seed
    pairs = [(place, case, seed) for place, case in enumerate(cases) for seed in (0, 1 + place % 4)]
    return [
        pytest.param(*case[1:], seed, id=f"{case[0]}, seed {seed}", marks=swept if seed or place % 2 else ())
        for place, case, seed in pairs
    ]


def halved(cases: Any) -> list[Any]:
    """Gives each case; every second one stands for all in `make test`, the others are left to the sweep."""
    marks = ((), pytest.mark.slow)  # benchmarks.bank asks all of them, at any seed
    return [pytest.param(*case[1:], id=case[0], marks=marks[place % 2]) for place, case in enumerate(cases)]


@pytest.mark.parametrize(("forward", "vjp", "inputs"), halved([*WRONG, *WRONG_OPS, *MET_IN_PRACTICE]))
def test_a_wrong_backward_fails(forward: Any, vjp: Any, inputs: Any) -> None:
    report = gradcheck.check(forward, vjp, inputs)
    assert report.verdict == "fail"
    assert report.findings


@pytest.mark.parametrize(("forward", "vjp", "inputs", "seed"), seeded(SUBTLE))
def test_a_subtly_wrong_backward_fails_at_any_seed(forward: Any, vjp: Any, inputs: Any, seed: int) -> None:
    assert gradcheck.check(forward, vjp, inputs, seed=seed).verdict == "fail"


@pytest.mark.parametrize(("forward", "vjp", "inputs", "options"), halved([*RIGHT, *OPS]))
def test_a_right_but_hard_backward_passes(forward: Any, vjp: Any, inputs: Any, options: dict[str, Any]) -> None:
    report = gradcheck.check(forward, vjp, inputs, **options)
    assert report.verdict == "pass", gradcheck.render_text(report)


@pytest.mark.parametrize(("forward", "vjp", "inputs", "options", "seed"), seeded([*HARD, *PRACTICE]))
def test_a_right_backward_passes_at_any_seed(forward: Any, vjp: Any, inputs: Any, options: Any, seed: int) -> None:
    report = gradcheck.check(forward, vjp, inputs, seed=seed, **options)
    assert report.verdict == "pass", gradcheck.render_text(report)


@pytest.mark.parametrize(
    ("forward", "vjp", "inputs", "options"), [pytest.param(*case[1:], id=case[0]) for case in OPS[::4]]
)
def test_an_error_a_little_above_the_stated_sensitivity_is_seen(
    forward: Any, vjp: Any, inputs: Any, options: Any
) -> None:
    seen = gradcheck.check(forward, vjp, inputs, vary=False, **options).coverage.smallest_error_seen

    def enlarged(i: Any, o: Any, c: Any) -> Any:
        return tuple(None if g is None else g * (1 + 2 * seen) for g in vjp(i, o, c))

    assert seen < 1e-6
    assert gradcheck.check(forward, enlarged, inputs, vary=False, **options).verdict == "fail"

"""A plugin of pytest: the fixture `gradcheck`, which is `check` that raises, and options for its seed and budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from gradcheck.check import check
from gradcheck.errors import GradcheckError
from gradcheck.model.protocol import Forward, Vjp
from gradcheck.report import Report

_MARK = "gradcheck(**options): options of gradcheck.check for the fixture gradcheck in this test"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("gradcheck")
    group.addoption("--gradcheck-seed", type=int, metavar="N", help="seed of every gradcheck; 0 unless given")
    group.addoption("--gradcheck-budget", type=int, metavar="CALLS", help="forward calls for each gradcheck")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark."""
    config.addinivalue_line("markers", _MARK)


@pytest.fixture(name="gradcheck")
def gradcheck_fixture(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """Gives `gradcheck.check`, raising where the verdict is not "pass".

    It takes one option more, `allow_inconclusive`, and gives the report. Options come from the call, else from the
    test's mark `gradcheck`, else, for seed and budget, from the command line.

    Raises:
        GradcheckError: the verdict is "fail", or it is "inconclusive" and `allow_inconclusive` is false.
    """
    names = ("seed", "budget")
    typed = {name: request.config.getoption(f"--gradcheck-{name}") for name in names}
    options = {name: value for name, value in typed.items() if value is not None}
    for mark in reversed(list(request.node.iter_markers("gradcheck"))):  # the nearest mark last
        options.update(mark.kwargs)

    # Any: the options of check, each of its own type.
    def judge(forward: Forward, vjp: Vjp, inputs: Sequence[object], **given: Any) -> Report:
        __tracebackhide__ = True
        chosen = {**options, **given}
        allow_inconclusive = chosen.pop("allow_inconclusive", False)
        report = check(forward, vjp, inputs, **chosen)
        subject = cast(str, getattr(forward, "__name__", type(forward).__name__))
        report.raise_if_failed(subject)
        if report.verdict == "inconclusive" and not allow_inconclusive:
            reasons = "; ".join(report.coverage.notes) or "too few elements could be judged"
            raise GradcheckError(
                f"{subject}: expected a judgement, got inconclusive: {reasons}; check at other values, or pass "
                "allow_inconclusive=True"
            )
        return report

    return judge

"""A plugin of pytest: the fixture `gradcheck`, which is `check` that raises, and options for its seed and budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from gradcheck.case import expect_options
from gradcheck.checking import check
from gradcheck.errors import GradcheckError, UsageError
from gradcheck.model.protocol import Forward, Vjp
from gradcheck.report import Report
from gradcheck.run.options import read_budget, read_seed

_MARK = "gradcheck(**options): options of gradcheck.check for the fixture gradcheck in this test"

_OURS = str(Path(__file__).parent)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("gradcheck")
    group.addoption("--gradcheck-seed", type=read_seed, metavar="N", help="seed of every gradcheck; 0 unless given")
    group.addoption(
        "--gradcheck-budget", type=read_budget, help="forward calls for each gradcheck, as 2000, or time, as 2s"
    )


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
        UsageError: as for `check`, and where it has no such option.
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
        subject = cast(str, getattr(forward, "__name__", type(forward).__name__))
        try:
            expect_options(chosen, "gradcheck")
            report = check(forward, vjp, inputs, **chosen)
            report.raise_if_failed(subject)
        except (GradcheckError, UsageError) as error:
            if error.__cause__ is not None:  # without the frames of this package before the first of somebody else's
                trace = error.__cause__.__traceback__
                while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS):
                    trace = trace.tb_next
                error.__cause__.with_traceback(trace)
            raise error.with_traceback(None) from error.__cause__  # the test's line is what is of interest
        if report.verdict == "inconclusive" and not allow_inconclusive:
            reasons = "; ".join(report.coverage.notes) or "too few elements could be judged"
            raise GradcheckError(
                f"{subject}: expected a judgement, got inconclusive: {reasons}; check at other values, or pass "
                "allow_inconclusive=True"
            )
        return report

    return judge

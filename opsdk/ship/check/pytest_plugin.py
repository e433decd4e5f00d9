"""A plugin of pytest: one test per op, kernel and check, from a test marked `gradcheck` with ops.

    @pytest.mark.gradcheck("relu.py", my_ops.gelu, seed=1)
    def test_op(op_check): ...

An op is verified once in a session, whatever the number of its tests. Nothing but pytest is imported until a test asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from opsdk.ship.check.item import ItemCheck

_MARK = (
    "gradcheck(*ops, seed=0, allow_inconclusive=False): for a test that takes op_check, the ops, or targets as for "
    "`opsdk check`, that are verified: one test per op, kernel and check"
)
_REPORTS = pytest.StashKey[dict[Any, Any]]()  # reports by op and seed


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark."""
    config.addinivalue_line("markers", _MARK)
    config.stash[_REPORTS] = {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes one test per op, kernel and check."""
    if "op_check" not in metafunc.fixturenames:
        return
    from opsdk.core.errors import OpsdkError
    from opsdk.ship.check.item import items_of

    marks = list(metafunc.definition.iter_markers("gradcheck"))
    targets = [target for mark in marks for target in mark.args]
    if not targets:
        subject = metafunc.definition.nodeid
        remedy = 'write @pytest.mark.gradcheck("relu.py")'
        _refuse(metafunc, f"{subject}: op_check expected ops in a mark gradcheck, got none; {remedy}")
        return
    options = {name: value for mark in reversed(marks) for name, value in mark.kwargs.items()}
    try:
        items = items_of(targets, **options)
    except OpsdkError as error:
        _refuse(metafunc, f"{metafunc.definition.nodeid}: {error}")
        return
    metafunc.parametrize("op_check", items, ids=[item.id for item in items], indirect=True)


def _refuse(metafunc: pytest.Metafunc, reason: str) -> None:
    """Makes one test, which ends in an error when it is set up: the other tests of the file run."""
    metafunc.parametrize("op_check", [reason], ids=["error"], indirect=True)


@pytest.fixture
def op_check(request: pytest.FixtureRequest) -> ItemCheck:
    """The op, kernel and check of this test; its `report` is that of the whole op.

    The check itself is done before the test's own body, which may be empty.
    """
    if isinstance(request.param, str):
        pytest.fail(request.param, pytrace=False)
    check: ItemCheck = request.param
    return check.read(request.config.stash[_REPORTS])


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Fails, or skips, a test by what was found of its op, kernel and check."""
    if "op_check" not in pyfuncitem.fixturenames or pyfuncitem.get_closest_marker("gradcheck") is None:
        return
    check = cast("ItemCheck", pyfuncitem.funcargs["op_check"])
    if failure := check.failure():
        pytest.fail(failure, pytrace=False)
    if reason := check.reason_to_skip():
        pytest.skip(reason)

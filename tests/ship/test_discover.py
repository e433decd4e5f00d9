from importlib.metadata import EntryPoint

import pytest

from opsdk.ship import discover


@pytest.fixture
def announced(monkeypatch):
    def announce(**modules):
        points = [EntryPoint(name, module, discover.GROUP) for name, module in modules.items()]
        monkeypatch.setattr(discover.importlib.metadata, "entry_points", lambda group: points)

    return announce


def test_announced_modules_are_imported(announced, right):
    import sys

    sys.path.insert(0, str(right.parent))
    announced(mine="good")
    (provider,) = discover.load_providers()
    assert (provider.namespace, provider.error) == ("good", "")


def test_one_that_raises_is_reported_and_the_next_loaded(announced, right):
    import sys

    sys.path.insert(0, str(right.parent))
    announced(broken="no_such_module_anywhere", mine="good")
    broken, mine = discover.load_providers()
    assert broken.error == "ModuleNotFoundError: No module named 'no_such_module_anywhere'"
    assert mine.error == ""

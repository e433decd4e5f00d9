import importlib
import re

import pytest

import opsdk
from opsdk.core.spellings import ELSEWHERE

NAMES = [(owner, name) for owner, names in ELSEWHERE.items() for name in names]


def held(path):
    """What stands at a dotted path of opsdk."""
    found = opsdk
    for name in path.split(".")[1:]:
        found = getattr(found, name)
    return found


@pytest.mark.parametrize(("owner", "name"), NAMES, ids=[".".join(each) for each in NAMES])
def test_a_name_that_is_missing_says_where_it_is(owner, name):
    text = ELSEWHERE[owner][name]
    with pytest.raises(AttributeError) as caught:
        getattr(held(owner), name)
    assert str(caught.value).endswith(f"'{owner}' has no attribute '{name}'; here it is {text}")
    for path in re.findall(r"opsdk(?:\.\w+)+", text):
        assert held(path) is not None
    assert not hasattr(held(owner), name)


def test_a_tensor_says_so_too():
    with pytest.raises(AttributeError, match=r"'values'; here it is x.max\(1\) gives the values alone"):
        opsdk.ones([2, 2]).max(1).values  # noqa: B018
    with pytest.raises(AttributeError, match="shares the memory"):
        opsdk.ones([2, 2]).squeeze_()


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("relu_", "opsdk.nn.functional.relu_"),
        ("inv", "opsdk.linalg.inv"),
        ("PyLayer", "opsdk.autograd.PyLayer"),
        ("Linear", "opsdk.nn.Linear"),
        ("exp_", "x.exp_, a method"),
    ],
)
def test_a_name_that_stands_elsewhere_is_found_there(name, home):
    with pytest.raises(AttributeError, match=f"module 'opsdk' has no attribute '{name}'; here it is {home}$"):
        getattr(opsdk, name)


@pytest.mark.parametrize("owner", [owner for owner in ELSEWHERE if owner not in ("opsdk", "opsdk.Tensor")])
def test_a_name_that_nobody_has_is_missing_as_ever(owner):
    with pytest.raises(AttributeError, match=f"^module '{owner}' has no attribute 'blorb'$"):
        held(owner).blorb  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'blorb'"):
        exec(f"from {held(owner).__name__} import blorb")


def test_a_name_that_nobody_has_is_missing_in_the_root_as_ever():
    with pytest.raises(AttributeError, match=r"^module 'opsdk' has no attribute 'blorb'$"):
        opsdk.blorb  # noqa: B018
    with pytest.raises(AttributeError, match=r"^module 'opsdk' has no attribute '__blorb__'$"):
        opsdk.__blorb__  # noqa: B018


def test_modules_are_still_imported_by_name():
    assert importlib.import_module("opsdk.nn.functional").relu is opsdk.nn.functional.relu

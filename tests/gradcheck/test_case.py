from types import SimpleNamespace

import numpy as np
import pytest

from gradcheck import Case, UsageError
from gradcheck.case import case_of
from gradcheck.run.targets import find_cases

X = np.array([0.3, -1.2, 2.0])


def cosine(inputs, outputs, cotangents):
    return (cotangents[0] * np.cos(inputs[0]),)


def twice(inputs, outputs, cotangents):
    return (2 * cotangents[0] * np.cos(inputs[0]),)


FILE = """\
import numpy as np

from gradcheck import Case


def cosine(inputs, outputs, cotangents):
    return (cotangents[0] * np.cos(inputs[0]),)


sine = Case(np.sin, cosine, (np.ones(2),))
again = sine
by_size = [Case(np.sin, cosine, (np.ones(n),)) for n in (1, 2)]
by_name = {"short": Case(np.sin, cosine, (np.ones(2),)), "other": 3}
described = {"forward": np.sin, "vjp": cosine, "inputs": (np.ones(2),)}
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shapes_of_sine.py").write_text(FILE)
    return tmp_path


def test_a_case_is_judged_with_its_options():
    case = Case(np.sin, cosine, (X,), names=["angle"], seed=3)
    assert case.check().verdict == "pass"
    assert (case.check().seed, case.check(seed=4).seed) == (3, 4)
    assert Case(np.sin, twice, (X,), names=["angle"]).check().findings[0].input == "angle"


def test_an_unknown_option_is_refused_where_it_is_written():
    with pytest.raises(UsageError, match=r"Case: expected options of gradcheck.check, got 'domains'; meant domain\?"):
        Case(np.sin, cosine, (X,), domains=(0, 1))


def test_an_object_and_a_mapping_describe_a_case():
    parts = {"forward": np.sin, "vjp": cosine, "inputs": (X,), "seed": 5}
    for value in (SimpleNamespace(**parts), parts, Case(**parts)):
        assert case_of(value, "x").check().seed == 5


def test_a_case_of_another_kind_keeps_its_options(here):
    (here / "framework.py").write_text(
        FILE + "\n\nclass Other:\n    forward, vjp, inputs, options = np.sin, cosine, (np.ones(2),), {}\n\n"
        "    def check(self, **changed):\n        return 'its own', changed\n\n\nother = Other()\n"
    )
    found = find_cases("framework.py")
    assert "framework.py:Other" not in found
    assert found["framework.py:other"].check(seed=1) == ("its own", {"seed": 1})


def test_what_describes_no_case_is_refused():
    with pytest.raises(UsageError, match=r"mine: expected a case, got ufunc; write gradcheck.Case\(forward, vjp, inp"):
        case_of(np.sin, "mine")


@pytest.mark.parametrize("home", ["shapes_of_sine.py", "shapes_of_sine"])
def test_cases_are_found_in_order_each_once(home):
    names = ["sine", "by_size[0]", "by_size[1]", "by_name[short]"]
    assert list(find_cases(home)) == [f"{home}:{name}" for name in names]


@pytest.mark.parametrize("wanted", ["by_size[1]", "sine", "described"])
def test_a_name_selects_one(wanted):
    (name,) = find_cases(f"shapes_of_sine.py:{wanted}")
    assert name == f"shapes_of_sine.py:{wanted}"


def test_a_collection_selects_all_in_it():
    assert len(find_cases("shapes_of_sine.py:by_size")) == 2


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("missing.py", "missing.py: expected a file, there is none; a target is file.py, file.py:name or module:name"),
        ("missing_module", "missing_module: expected a module that can be imported from here, there is none"),
        ("shapes_of_sine.py:cosin", "expected a case of shapes_of_sine.py, got 'cosin'; it has sine, by_size"),
        ("shapes_of_sine.py:cosine", "shapes_of_sine.py:cosine: expected a case, got function"),
        ("raises.py", r"raises.py: expected a file or module that loads, got ValueError: planted \(.*raises.py:2\)"),
        ("needs_more", "needs_more: expected a file or module that loads, got ModuleNotFoundError: No module named 'n"),
    ],
)
def test_a_target_that_leads_nowhere_says_why(here, target, words):
    (here / "raises.py").write_text("def f():\n    raise ValueError('planted')\n\n\nf()\n")
    (here / "needs_more.py").write_text("import nothing_of_that_name\n")
    with pytest.raises(UsageError, match=words):
        find_cases(target)

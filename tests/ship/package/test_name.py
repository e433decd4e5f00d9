import sys

import pytest

from opsdk.ship.package.name import ScaffoldError, check_name, nearest

WRITTEN = "expected lower-case letters a to z, digits and _, got"


@pytest.mark.parametrize("name", ["my_ops", "x", "ops2", "a__b", "huber"])
def test_good_names_pass(name):
    check_name(name)


@pytest.mark.parametrize(
    ("name", "fault", "offer"),
    [
        ("my-ops", "'-', character 3", "my_ops"),
        ("MyOps", "'M', character 1", "my_ops"),
        ("my ops", "' ', character 3", "my_ops"),
        ("../up", "'.', character 1", "up"),
        ("größe", "'ö', character 3", "grosse"),
        ("操作", "'操', character 1", "my_ops"),
        ("2ops", "'2' as the first", "ops2"),
        ("2", "'2' as the first", "ops_2"),
        ("_ops", "'_' as the first", "ops"),
        ("ops_", "'_' as the last", "ops"),
        ("_", "'_' as the first", "my_ops"),
        ("ops\n", "'\\n', character 4", "ops"),
        ("", "nothing", "my_ops"),
    ],
)
def test_a_wrong_character_is_named_and_a_good_name_offered(name, fault, offer):
    with pytest.raises(ScaffoldError) as caught:
        check_name(name)
    assert str(caught.value) == f"package {name!r}: {WRITTEN} {fault}; take {offer}"
    check_name(offer)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("lambda", "a keyword of Python"),
        ("json", "a module of Python's standard library"),
        ("tests", "the folder tests/ that every package has"),
    ],
)
def test_a_taken_name_says_by_what(name, what):
    with pytest.raises(ScaffoldError) as caught:
        check_name(name)
    assert str(caught.value) == f"package {name!r}: expected a name that is free, got {what}; take {name}_ops"


def test_an_installed_module_is_named_with_its_file():
    with pytest.raises(ScaffoldError, match=r"expected a name that is free, got an installed module, .*numpy.__init__"):
        check_name("numpy")


def test_an_installed_package_is_taken_also_where_its_module_has_another_name():
    with pytest.raises(ScaffoldError, match=r"got an installed package, scikit-learn [0-9.]+; take scikit_learn_ops"):
        check_name("scikit_learn")


def test_a_folder_beside_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "plain").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    check_name("plain")


def test_a_module_that_is_half_there_takes_no_name(monkeypatch):
    module = type(sys)("half_there")
    module.__spec__ = None
    monkeypatch.setitem(sys.modules, "half_there", module)
    check_name("half_there")


def test_the_offer_is_free_too():
    assert nearest("NumPy") == "num_py"
    assert nearest("numpy!") == "numpy_ops"
    assert nearest("Json") == "json_ops"

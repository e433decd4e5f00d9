import pytest

from tests.contracts import size
from tests.contracts.tree import plant, read_tree


@pytest.fixture(scope="module")
def modules():
    return read_tree()


@pytest.mark.parametrize("check", [size.long_files, size.long_functions, size.nameless_modules])
def test_the_sources_stay_small_and_named(modules, check):
    assert check(modules) == []


def test_a_file_over_the_ceiling_is_reported(tmp_path):
    modules = plant(tmp_path, {"opsdk/core/just.py": "x = 1\n" * 400, "opsdk/core/over.py": "x = 1\n" * 401})
    (violation,) = size.long_files(modules)
    assert violation.startswith("opsdk/core/over.py: 401 lines, at most 400")


def test_no_folder_is_crowded():
    assert size.crowded_folders() == []


def test_a_crowded_folder_is_reported_and_what_a_build_left_is_free(tmp_path):
    plant(tmp_path, {f"opsdk/just/f{n}.py": "" for n in range(24)})  # and an __init__.py, which counts
    plant(tmp_path, {f"opsdk/over/f{n}.{'py' if n % 2 else 'c'}": "" for n in range(25)})
    for n in range(9):
        (tmp_path / "opsdk" / "just" / f"_built{n}.so").touch()
    assert size.crowded_folders(tmp_path) == ["opsdk/over: 26 files, at most 25; give the ideas among them folders"]


def test_no_package_grows_and_what_it_lost_stays_lost(modules):
    allowed = size.read_totals()
    assert size.grown_packages(modules, allowed) == []
    assert size.loose_totals(modules, allowed) == []


def test_a_package_that_grew_is_reported_and_one_that_nobody_counted(tmp_path):
    files = {"opsdk/a.py": "x = 1\n" * 3, "opsdk/core/b.py": "x = 1\n" * 2, "gradcheck/a.py": "x = 1\n"}
    modules = plant(tmp_path, files)
    assert size.totals(modules) == {"opsdk": 5, "gradcheck": 1}
    assert size.grown_packages(modules, {"opsdk": 5, "gradcheck": 1}) == []
    grown, uncounted = size.grown_packages(modules, {"opsdk": 4})
    assert grown.startswith("opsdk: 5 lines, at most 4; write less, or raise the line in totals.txt in the commit")
    assert uncounted.startswith("gradcheck: 1 lines, at most 0; ")


def test_a_total_follows_its_package_down(tmp_path):
    modules = plant(tmp_path, {"opsdk/a.py": "x = 1\n" * 990})
    assert size.loose_totals(modules, {"opsdk": 1000}) == []
    assert size.loose_totals(modules, {"opsdk": 1001, "gradcheck": 7}) == [
        "opsdk: 990 lines, and totals.txt allows 1001; lower it: python -m tests.contracts.size",
        "gradcheck: 0 lines, and totals.txt allows 7; lower it: python -m tests.contracts.size",
    ]


def test_the_totals_are_read_without_their_comments(tmp_path):
    file = tmp_path / "totals.txt"
    file.write_text("# why\n\nopsdk 5\ngradcheck 1\n")
    assert size.read_totals(file) == {"opsdk": 5, "gradcheck": 1}


def test_a_long_function_is_reported_and_its_docstring_is_free(tmp_path):
    docstring = '    """' + "text\n" * 70 + '"""\n'
    just = "def just():\n" + docstring + "    x = 1\n" * 60
    over = "class C:\n    def over(self):\n" + "        x = 1\n" * 61
    (violation,) = size.long_functions(plant(tmp_path, {"contrib_ops/a.py": just, "contrib_ops/b.py": over}))
    assert violation.startswith("contrib_ops/b.py:2: over has 61 lines, at most 60")


@pytest.mark.parametrize("path", ["opsdk/core/utils.py", "gradcheck/_helpers.py", "opsdk/common/__init__.py"])
def test_a_name_that_says_nothing_is_reported(tmp_path, path):
    (violation,) = size.nameless_modules(plant(tmp_path, {path: "", "opsdk/core/miscount.py": ""}))
    assert violation.startswith(path)

import pytest

from tests.contracts import size
from tests.contracts.tree import plant, read_tree

MODULES = read_tree()


@pytest.mark.parametrize("check", [size.long_files, size.heavy_packages, size.long_functions, size.nameless_modules])
def test_the_sources_stay_small_and_named(check):
    assert check(MODULES) == []


def test_a_file_over_the_ceiling_is_reported(tmp_path):
    modules = plant(tmp_path, {"opsdk/core/just.py": "x = 1\n" * 400, "opsdk/core/over.py": "x = 1\n" * 401})
    (violation,) = size.long_files(modules)
    assert violation.startswith("opsdk/core/over.py: 401 lines, at most 400")


def test_a_heavy_package_is_reported(tmp_path):
    modules = plant(tmp_path, {f"gradcheck/{name}.py": "x = 1\n" * 151 for name in "ab"})
    assert size.heavy_packages(modules) == ["gradcheck: median file 151 lines, at most 150"]


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

import sys

import pytest

from tests.contracts import dependencies
from tests.contracts.tree import plant, read_tree

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")

PROJECT = """\
[project]
dependencies = ["numpy>=2.0", "rich"]
[project.optional-dependencies]
c = ["cffi>=1.16"]
cuda = ["numba-cuda[cu12]>=0.30"]
test = ["opsdk[c]", "mpmath>=1.3", "rich"]
"""
REQUIRED = {"": ["numpy", "rich"], "c": ["cffi"], "cuda": ["numba-cuda"], "test": ["mpmath", "rich"]}


@pytest.fixture(scope="module")
def shipped():
    return dependencies.imported(read_tree())


@pytest.fixture(scope="module")
def tests():
    return dependencies.imported(read_tree(packages=("tests",)))


# Nine seconds for the syntax of every test; what the rules say of a planted tree is seen below.
@pytest.mark.slow
def test_everything_that_is_asked_for_is_imported_or_has_a_reason(shipped, tests):
    required = dependencies.read_requirements()
    assert dependencies.unused(required, shipped, tests) == []
    assert dependencies.stale_reasons(required, shipped, tests) == []


def test_every_remedy_names_an_extra_that_brings_the_package():
    assert dependencies.wrong_extras(dependencies.read_requirements(), read_tree()) == []


def test_requirements_are_read_without_versions_and_without_references_to_other_extras():
    assert dependencies.requirements(PROJECT) == REQUIRED


def test_an_import_is_found_in_every_form(tmp_path):
    source = (
        "import a.x\nfrom b.x import y\ndef f():\n    import c\nimportlib.import_module('d.x')\n"
        "optional('e.x', extra='c', subject='')\nlazy.slow('f')\n"
    )
    assert dependencies.imported(plant(tmp_path, {"opsdk/planted.py": source})) == set("abcdef")


def test_a_package_that_nothing_imports_is_reported_where_it_is_asked_for():
    (found,) = dependencies.unused(REQUIRED, {"numpy", "rich", "cffi", "numba_cuda"}, set())
    assert found.startswith("pyproject.toml, test: nothing imports mpmath; take it out, or say why it is asked for in ")


def test_what_tests_import_serves_their_extras_and_no_other():
    found = dependencies.unused(REQUIRED, {"numpy", "numba_cuda"}, {"mpmath", "rich", "cffi"})
    assert [line.partition(";")[0] for line in found] == [
        "pyproject.toml, dependencies: nothing imports rich",
        "pyproject.toml, c: nothing imports cffi",
    ]


def test_what_comes_along_does_not_make_a_package_used():
    (found,) = dependencies.unused(REQUIRED, {"numpy", "rich", "cffi", "mpmath", "numba"}, set())
    assert found.startswith("pyproject.toml, cuda: nothing imports numba-cuda; ")


def test_a_reason_that_holds_no_longer_is_reported():
    reasons = {"numpy": "", "cffi": "", "torch": ""}
    assert dependencies.stale_reasons(REQUIRED, {"numpy"}, set(), reasons) == [
        "NOT_IMPORTED: numpy is imported; take it off the list",
        "NOT_IMPORTED: torch is asked for by nothing; take it off the list",
    ]


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("optional('cffi', extra='c', subject='x')", []),
        ("optional('_cffi_backend', extra='c', subject='x')", []),
        ("optional('numba.cuda', extra='cuda', subject='x')", []),
        ("optional('ml_dtypes', extra='c', subject='x')", []),
        ("optional('cffi', extra='cuda', subject='x')", ["the extra 'cuda' does not bring cffi"]),
        ("optional('mpmath.libmp', extra='numbers', subject='x')", ["the extra 'numbers' does not bring mpmath"]),
    ],
)
def test_an_extra_that_does_not_bring_the_package_is_reported(tmp_path, call, found):
    modules = plant(tmp_path, {"opsdk/planted.py": f"\n{call}\n"})
    assert dependencies.wrong_extras(REQUIRED, modules) == [f"opsdk/planted.py:2: {text}" for text in found]

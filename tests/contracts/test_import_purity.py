import pytest

from tests.contracts import purity
from tests.contracts.tree import plant


@pytest.mark.parametrize("package", ["opsdk", "opsdk.nn"])
def test_importing_it_loads_no_compiler_framework_or_tool(package):
    unwanted = purity.COMPILERS | purity.FRAMEWORKS | purity.TOOLS | purity.ASKED_FOR
    assert purity.loaded_by(package) & unwanted == set()


def test_import_gradcheck_loads_numpy_only():
    assert purity.foreign(purity.loaded_by("gradcheck"), {"gradcheck", "numpy"}) == set()


def test_a_compiler_loaded_on_import_is_reported(tmp_path):
    plant(tmp_path, {"opsdk/__init__.py": "import opsdk.backends\n", "opsdk/backends/__init__.py": "import cffi\n"})
    assert "cffi" in purity.loaded_by("opsdk", tmp_path) & purity.COMPILERS


def test_a_stranger_loaded_by_gradcheck_is_reported(tmp_path):
    plant(tmp_path, {"gradcheck/__init__.py": "import numpy, json, neighbour\n", "neighbour/__init__.py": ""})
    assert purity.foreign(purity.loaded_by("gradcheck", tmp_path), {"gradcheck", "numpy"}) == {"neighbour"}


def test_an_import_that_fails_is_reported_with_its_error(tmp_path):
    plant(tmp_path, {"opsdk/__init__.py": "raise KeyError('planted')\n"})
    with pytest.raises(RuntimeError, match=r"import opsdk: expected no error, got[\s\S]*KeyError: 'planted'"):
        purity.loaded_by("opsdk", tmp_path)

import subprocess
import sys
from pathlib import Path

import pytest

import opsdk
from opsdk.core.errors import MissingDependencyError
from opsdk.core.lazy import optional, slow

ROOT = Path(opsdk.__file__).parent.parent


def test_an_installed_package_is_returned():
    assert optional("json.decoder", extra="x", subject="row").__name__ == "json.decoder"


def test_a_missing_package_is_an_import_error_that_says_how_to_install_it():
    with pytest.raises(MissingDependencyError) as caught:
        optional("no_such_package.part", extra="cuda", subject="op 'f', cuda kernel")
    assert str(caught.value) == (
        "op 'f', cuda kernel needs no_such_package, which cannot be imported (No module named 'no_such_package'): "
        'pip install "opsdk[cuda]"'
    )
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_slow_module_is_the_module_itself():
    import difflib

    assert slow("difflib") is difflib


@pytest.mark.parametrize("module", ["hashlib", "difflib", "numpy.random", "numba"])
def test_importing_opsdk_does_not_load_what_few_programs_need(module):
    code = f"import opsdk, sys; print({module!r} in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert out.stdout.strip() == "False"

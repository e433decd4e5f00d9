"""The facade: what `import opsdk` gives, and when."""

import subprocess
import sys

import pytest

import opsdk


def test_every_public_name_is_there():
    assert [name for name in opsdk.__all__ if getattr(opsdk, name, None) is None] == []


def test_a_name_that_is_not_there_is_refused_as_modules_do():
    with pytest.raises(AttributeError, match="module 'opsdk' has no attribute 'nope'"):
        opsdk.nope  # noqa: B018


def test_dir_lists_what_is_loaded_on_demand_too():
    assert {"static", "nn", "optimizer", "verify", "gradcheck"} <= set(dir(opsdk))


@pytest.mark.parametrize("first", ["import opsdk.verify", "from opsdk.verify import verify", "import opsdk"])
def test_verify_is_callable_whoever_imports_it_first(first):
    code = f"{first}\nimport opsdk\nassert opsdk.verify(opsdk.find_op('relu')).verdict == 'pass'"
    subprocess.run([sys.executable, "-c", code], check=True)

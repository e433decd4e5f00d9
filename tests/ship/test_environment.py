import json
from pathlib import Path

import numpy as np

from opsdk.ship import environment


def test_facts_name_the_versions_in_use():
    found = environment.facts(exercise=False)
    assert found["numpy"] == np.__version__
    assert "cores" in found["cpu"]
    assert found["opsdk"].startswith("0.1.0 at ")


def test_a_package_that_is_not_installed_is_missing():
    assert environment.version_of("no-such-distribution-here") == "missing"


def test_home_is_not_shown(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/someone"))
    assert environment.home_hidden("/home/someone/x/y") == "~/x/y"
    assert environment.home_hidden("/opt/x") == "/opt/x"


def test_a_missing_compiler_comes_with_a_remedy(monkeypatch):
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)
    assert environment.facts(exercise=True)["C compiler"] == "missing; C rows need one, for example: apt install gcc"


def test_a_cache_that_cannot_be_written_comes_with_a_remedy(monkeypatch, here):
    (here / "file").touch()
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(here / "file" / "cache"))
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)
    assert "set OPSDK_CACHE_DIR to another folder" in environment.facts(exercise=True)["cache"]


def test_info_is_a_block_or_json(run, monkeypatch):
    monkeypatch.setattr(environment, "facts", lambda exercise: {"python": "3.99", "numpy": "9"})
    assert run("info").stdout == "python  3.99\nnumpy   9\n"
    assert json.loads(run("info", "--json").stdout) == {"python": "3.99", "numpy": "9"}

import json
import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from opsdk.ship.machine import environment, probes
from opsdk.ship.machine.environment import Fact


def read():
    return {fact.name: fact for fact in environment.facts(exercise=False)}


def test_facts_name_the_versions_in_use():
    found = read()
    assert found["numpy"].text == np.__version__
    assert "cores" in found["cpu"].text
    assert found["opsdk"].text.startswith("0.1.0 at ")


def test_a_package_that_is_not_installed_is_missing():
    assert environment.version_of("no-such-distribution-here") == "missing"
    fact = environment._package("packages", "no-such-distribution-here")
    assert str(fact) == "missing – pip install no-such-distribution-here"
    assert str(environment._package("frameworks", "no-such-distribution-here")) == "missing"


def test_home_is_not_shown(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/someone"))
    assert environment.home_hidden("/home/someone/x/y") == "~/x/y"
    assert environment.home_hidden("/home/someone") == "~"
    assert environment.home_hidden("/home/someone-else/x") == "/home/someone-else/x"
    assert environment.home_hidden("/opt/x") == "/opt/x"


def test_only_variables_that_matter_are_shown(monkeypatch):
    monkeypatch.setattr(os, "environ", {"OPSDK_THREADS": "2", "NUMBA_DEBUG": "1", "API_TOKEN": "secret", "CC": "gcc"})
    assert environment.variables() == ["CC=gcc", "NUMBA_DEBUG=1", "OPSDK_THREADS=2"]


def test_instruction_sets_are_those_that_matter(monkeypatch):
    monkeypatch.setattr(environment, "_of_processor", lambda key: "fpu avx2 fma mmx" if key == "flags" else "")
    assert environment.cpu_features() == ("avx2", "fma")
    monkeypatch.setattr(environment, "_of_processor", lambda key: "fp asimd" if key == "Features" else "")
    assert environment.cpu_features() == ("asimd",)


def test_a_stranger_called_gradcheck_is_told(monkeypatch):
    assert environment.gradcheck_home().state == "ok"
    stranger = types.SimpleNamespace(__file__="/elsewhere/gradcheck/__init__.py")
    monkeypatch.setitem(sys.modules, "gradcheck", stranger)
    assert str(environment.gradcheck_home()) == "/elsewhere/gradcheck broken – not opsdk's: uninstall that one"


AGAIN = "install a C compiler and Python.h, then opsdk again; small calls are slower"


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("built", "ok"),
        ("off", "switched off by OPSDK_FAST_PATH=0"),
        ("not built", f"not built missing – {AGAIN}"),
        ("out of date", f"out of date missing – {AGAIN}"),
    ],
)
def test_whether_the_fast_path_is_there_is_told(monkeypatch, state, told):
    monkeypatch.setattr(environment, "state", lambda: state)
    assert str(environment.fast_path()) == told


@pytest.fixture
def few(monkeypatch):
    found = (
        Fact("python", "3.99"),
        Fact("numpy", "9", section="packages"),
        Fact("cffi", "", "missing", section="packages"),
        Fact("cache", "~/.cache", "ok", how="writable"),
    )
    monkeypatch.setattr(environment, "facts", lambda exercise: found)


def test_info_is_a_block_with_packages_beside_each_other(run, few):
    assert run("info").stdout.splitlines() == [
        "python    3.99",
        "packages  numpy 9 · cffi missing",
        "cache     ~/.cache ok (writable)",
    ]


def test_info_is_for_machines_too(run, few):
    found = json.loads(run("info", "--json").stdout)
    assert found["schema"] == 1
    assert found["facts"][3] == {
        "name": "cache", "text": "~/.cache", "state": "ok", "remedy": "", "how": "writable", "section": "",
    }  # fmt: skip
    assert "cffi missing" in found["rendered"]


def test_no_line_is_longer_than_a_hundred_columns():
    assert max(map(len, environment.rendered(environment.facts(exercise=False)).splitlines())) <= 100


def test_what_is_tried_stands_behind_what_is_read(monkeypatch):
    monkeypatch.setattr(probes, "tried", lambda: [Fact("CUDA", "", "missing")])
    assert [fact.name for fact in environment.facts(exercise=True)][-2:] == ["gradcheck", "CUDA"]


def test_who_has_no_home_hides_none(monkeypatch):
    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    assert environment.home_hidden("/opt/x") == "/opt/x"


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (Fact("cpu", "AMD, 2 cores"), "AMD, 2 cores"),
        (Fact("cache", "~/.cache/opsdk", "ok", how="writable"), "~/.cache/opsdk ok (writable)"),
        (Fact("C compiler", "", "missing", "apt install gcc"), "missing – apt install gcc"),
        (Fact("numba loop", "got 44, not 45", "broken"), "got 44, not 45 broken"),
    ],
)
def test_a_fact_reads_what_state_remedy(fact, text):
    assert str(fact) == text


def test_beside_others_it_has_its_name():
    assert Fact("jax", "", "missing").short == "jax missing"

import json
import sys

import pytest

from opsdk.ship.describe import discover
from tests.installed import install, path_without_metadata


@pytest.fixture(autouse=True)
def site(here, monkeypatch):
    """A folder that packages are installed into; nothing else announces ops."""
    monkeypatch.setattr(sys, "path", [str(here), *path_without_metadata()])
    return here


def test_announced_modules_are_imported(site, right):
    install(site, "good-ops", {"mine": "good"})
    (state,) = discover.load_providers()
    assert (state.provider.namespace, state.state, state.ops, state.reason) == ("good", "ok", 1, "")


def test_one_that_raises_is_reported_and_the_next_loaded(site, right):
    install(site, "a-ops", {"broken": "no_such_module_anywhere"})
    install(site, "good-ops", {"mine": "good"})
    broken, mine = discover.load_providers()
    assert (broken.state, broken.reason) == ("failed", "ModuleNotFoundError: No module named 'no_such_module_anywhere'")
    assert mine.state == "ok"


def test_list_providers_says_who_announces_ops_and_how_each_loaded(run, site, right):
    install(site, "good-ops", {"mine": "good"}, version="0.3")
    install(site / "old", "good_ops", {"mine": "good"}, version="0.2")
    install(site, "bad-ops", {"bad": "bad_ops"}, version="1.2")
    (site / "bad_ops.py").write_text("\nimport foo\n")
    sys.path.append(str(site / "old"))
    result = run("list", "--providers")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "provider      entry point    ops  state",
        "bad-ops 1.2   bad = bad_ops    0  failed",
        "good-ops 0.3  mine = good      1  ok",
        "good_ops 0.2  mine = good      0  shadowed",
        f"bad-ops 1.2 in {site}: failed, ModuleNotFoundError: No module named 'foo', at bad_ops.py:2",
        f"good_ops 0.2 in {site}/old: shadowed, good-ops 0.3 in {site} comes first on sys.path",
    ]


def test_list_providers_for_machines(run, site, right):
    install(site, "good-ops", {"mine": "good"}, version="0.3")
    assert json.loads(run("list", "--providers", "--json").stdout) == [
        {
            "name": "good-ops",
            "version": "0.3",
            "entry_point": "mine = good",
            "folder": str(site),
            "state": "ok",
            "ops": 1,
            "reason": "",
        }
    ]


def test_without_providers_it_says_so(run):
    expected = "no installed package announces ops in the entry point group opsdk.ops\n"
    assert run("list", "--providers").stdout == expected


def test_the_table_of_ops_names_the_package_that_an_op_is_from(run, site, right):
    (site / "good.py").write_text(right.read_text().replace("@opsdk.op\n", "@opsdk.op(namespace='other')\n"))
    install(site, "good-ops", {"mine": "good"}, version="0.3")
    (line,) = [line for line in run("list", "--table").stdout.splitlines() if "other::clamp" in line]
    assert line.split()[1:3] == ["good-ops", "0.3"]

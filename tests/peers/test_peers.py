"""The page of differences from PyTorch and Paddle holds what the sweep recorded, and each has a reason."""

from pathlib import Path

import pytest

from tests.peers import page
from tests.peers.calls import CALLS, FUNCTIONAL
from tests.peers.layers import LAYERS
from tests.peers.library import SURFACES, Library
from tests.peers.reasons import REASONS, UNCOMPARED, Reason
from tests.peers.sweep import Sweep, texts

PAGE = Path(__file__).parents[2] / "docs" / "peers.md"


def test_the_page_is_made_of_what_was_recorded():
    assert PAGE.read_text(encoding="utf-8") == page.page(), f"run {page.COMMAND}"


def test_every_difference_has_a_reason_and_every_reason_a_difference():
    assert page.unexplained() == []
    left = page.differences()
    for reason in REASONS:
        found = [each for each in left if page.is_of(reason, each)]
        assert found, reason
        left = [each for each in left if each not in found]


@pytest.mark.parametrize("peer", page.PEERS)
def test_every_shared_name_is_compared_or_says_why_not(peer):
    record, ours = page.recorded(peer), Library("opsdk")
    shared = {
        f"{surface}.{name}"
        for surface in SURFACES
        for name in ours.public(surface) & set(record["names"][surface].split())
    }
    assert shared == set(record["found"]), f"run python -m tests.peers.sweep {peer}"
    silent = [name.partition(".")[2] for name, each in record["found"].items() if not each["calls"]]
    assert [name for name in silent if not any(name in names.split() for names in UNCOMPARED)] == []


def test_every_call_is_of_a_name_that_a_peer_shares():
    named = {name for table in (CALLS, FUNCTIONAL, LAYERS) for names in table.values() for name in names.split()}
    known = {name.partition(".")[2] for peer in page.PEERS for name in page.recorded(peer)["found"]}
    assert sorted(each for each in named if each.partition(":")[2] not in known and each not in known) == []


def test_a_reason_is_of_a_name_an_aspect_a_peer_and_a_text():
    difference = page.Difference("torch", "method.max", "value", "(x, 1): other value")
    assert page.is_of(Reason("value", "max", ""), difference)
    assert page.is_of(Reason("shape value", "min method.m*", "", "torch", "other"), difference)
    assert not page.is_of(Reason("shape", "max", ""), difference)
    assert not page.is_of(Reason("value", "function.max", ""), difference)
    assert not page.is_of(Reason("value", "max", "", "paddle"), difference)
    assert not page.is_of(Reason("value", "max", "", text="(y"), difference)


def test_calls_are_in_the_words_of_the_peer():
    assert "(x, dim=0)" in texts("torch", "function", "sum")
    assert "(x, axis=0)" in texts("paddle", "method", "sum")
    assert texts("torch", "method", "tanh_") == texts("torch", "method", "tanh")


@pytest.mark.slow  # calls every shared name of two libraries some ten times over
@pytest.mark.parametrize("peer", page.PEERS)
def test_the_sweep_finds_what_was_recorded(peer):
    library = pytest.importorskip(peer)
    record = page.recorded(peer)
    if library.__version__ != record["version"]:
        pytest.skip(f"{peer} {record['version']} was recorded, {library.__version__} is installed")
    assert Sweep(peer).all()["found"] == record["found"]

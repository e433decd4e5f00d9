"""A thorough proof of the sweeps fails where something was left out, and skips where a compiler has no sanitizers."""

import pytest

from opsdk.backends.c import sanitized
from opsdk.backends.c.language import CffiC
from opsdk.backends.call.language import NotWatchedError
from opsdk.define.op import REGISTRY
from tests.thorough import assert_proven_thoroughly
from tests.verify.kernels.test_memory import GOOD, doubling

pytest.importorskip("cffi")
pytestmark = pytest.mark.slow  # proofs, which take seconds


@pytest.fixture(autouse=True)
def _forgotten():
    with REGISTRY.scoped():
        yield


def test_what_is_watched_and_reached_passes():
    assert_proven_thoroughly(doubling(GOOD))


def test_a_line_that_no_call_reached_fails():
    with pytest.raises(AssertionError, match="no call reached"):
        assert_proven_thoroughly(doubling(f"{GOOD}\nif (n == 100003)\n  out[0] = 7;"))


def test_a_kernel_that_was_not_watched_fails(monkeypatch):
    def watched(*_, **how):
        raise NotWatchedError("the program ended with status -9")
        yield

    monkeypatch.setattr(CffiC, "watched", watched)
    with pytest.raises(AssertionError, match="not looked at by a watched run, the program ended with status -9"):
        assert_proven_thoroughly(doubling(GOOD))


def test_a_kernel_that_nothing_watched_and_nothing_says_so_fails(monkeypatch):
    monkeypatch.setattr("opsdk.verify.kernels.rows.watch", lambda *cases, **how: ())
    with pytest.raises(AssertionError, match=r"t::f, c \(cpu, \*\): bounds, undefined"):
        assert_proven_thoroughly(doubling(GOOD))


def test_a_compiler_without_sanitizers_skips_with_its_line(monkeypatch):
    monkeypatch.setattr(sanitized, "_missing", lambda compiler, flags: b"cannot find -lasan")
    monkeypatch.setattr(sanitized, "cached_bytes", lambda kind, key, suffix, make: make())
    with pytest.raises(pytest.skip.Exception, match=r"has no AddressSanitizer \(cannot find -lasan\); install GCC or"):
        assert_proven_thoroughly(doubling(GOOD))

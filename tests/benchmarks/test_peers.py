import os
import sys

import pytest

from benchmarks.peers import ROOT, Peer, interpreters, ordinary, start


def test_ours_runs_in_a_process_and_answers_samples():
    peer = Peer("opsdk", sys.executable)
    try:
        names = [subject["name"] for subject in peer.subjects]
        assert names == [
            "opsdk NumPy pair",
            "opsdk built-in",
            "opsdk Layer of the pair",
            "opsdk nn.ReLU",
            "bare NumPy",
        ]
        assert all(subject["problem"] == "" for subject in peer.subjects)
        assert peer.sample("bare NumPy", "forward", 0.001) > 0
        with pytest.raises(RuntimeError, match="bare NumPy, nonsense: KeyError: 'nonsense'"):
            peer.sample("bare NumPy", "nonsense", 0.001)
    finally:
        peer.close()


def test_a_peer_that_is_not_installed_is_named_with_its_reason(tmp_path):
    running, missing = start(("paddle",), {"paddle": str(tmp_path / "no-python")})
    for peer in running:
        peer.close()
    reasons = {gone.name: gone.reason for gone in missing}
    assert reasons["torch"] == reasons["jax"] == "not asked for"
    assert reasons["paddle"].endswith("no-python cannot be started: No such file or directory")


def test_an_interpreter_without_the_framework_is_missing():
    with pytest.raises(RuntimeError, match=r"nothing: ModuleNotFoundError: No module named 'benchmarks\.subjects"):
        Peer("nothing", sys.executable)


def test_interpreters_come_from_the_option_then_the_environment_then_this_one(monkeypatch):
    monkeypatch.setenv("OPSDK_BENCH_PADDLE_PYTHON", "/env/python")
    monkeypatch.setenv("OPSDK_BENCH_TORCH_PYTHON", "/env/torch")
    monkeypatch.delenv("OPSDK_BENCH_JAX_PYTHON", raising=False)
    found = interpreters({"torch": "/given/python"})
    assert (found["torch"], found["paddle"], found["jax"]) == ("/given/python", "/env/python", sys.executable)


def test_processes_find_this_checkout_and_keep_byte_code(monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    environment = ordinary()
    assert "PYTHONDONTWRITEBYTECODE" not in environment
    assert environment["PYTHONPATH"] == str(ROOT)


def test_processes_have_the_packages_that_we_have(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/site")
    assert ordinary()["PYTHONPATH"] == os.pathsep.join([str(ROOT), "/site"])


def test_numpy_alone_has_a_worker_where_it_is_asked_for(monkeypatch):
    started = []

    class Recorded:
        def __init__(self, name, python, kind, topic, environment):
            started.append((name, python, kind, topic, environment))

    monkeypatch.setattr("benchmarks.peers.Peer", Recorded)
    start((), {"opsdk": "/ours/python"}, "large", "rows", {"A": "b"}, bare=True)
    assert started == [(name, "/ours/python", "large", "rows", {"A": "b"}) for name in ("opsdk", "numpy")]

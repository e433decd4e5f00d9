import subprocess

import pytest

from opsdk.ship.demo import device, source

pytest.importorskip("numba")


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(device, "missing_device", lambda: "found no driver")


def test_right_cuda_rows_are_right_in_the_simulator(here, no_gpu):
    right, _ = source.write(here, ["cuda"])
    found = device.run(right)
    assert found == device.OnDevice(True, 10, (("relu::relu", True), ("relu::relu_expression", True)))
    assert found.holds
    assert found.where == "in the simulator"


def test_a_cuda_row_that_leaves_a_zero_gradient_out_is_wrong(here, no_gpu):
    right, _ = source.write(here, ["cuda"])
    right.write_text(right.read_text().replace("dx[i] = dy[i] if y[i] > 0 else 0", "dx[i] = dy[i]"))
    found = device.run(right)
    assert dict(found.right) == {"relu::relu": False, "relu::relu_expression": True}
    assert not found.holds


def test_a_process_that_dies_is_a_problem_with_its_last_words(here, no_gpu):
    right, _ = source.write(here, [])
    right.write_text(right.read_text() + "\nraise SystemExit('no luck')\n")
    found = device.run(right)
    assert not found.holds
    assert "no luck" in found.problem


def test_a_process_that_never_ends_is_given_up(here, no_gpu, monkeypatch):
    def run(*arguments, timeout, **options):
        raise subprocess.TimeoutExpired("python", timeout)

    monkeypatch.setattr(device.subprocess, "run", run)
    assert device.run(here / "relu.py").problem.startswith("TimeoutExpired: ")


@pytest.mark.parametrize(
    ("missing", "has_cupy", "simulated"), [("", True, False), ("", False, True), ("no driver", True, True)]
)
def test_the_simulator_serves_where_a_gpu_or_cupy_is_missing(here, monkeypatch, missing, has_cupy, simulated):
    seen = []

    def run(command, env, **options):
        seen.append(env.get(device.SIMULATOR))
        return subprocess.CompletedProcess(command, 1, "", "stop")

    monkeypatch.setattr(device, "missing_device", lambda: missing)
    monkeypatch.setattr(device, "is_installed", lambda name: has_cupy)
    monkeypatch.setattr(device.subprocess, "run", run)
    monkeypatch.setenv(device.SIMULATOR, "1")
    found = device.run(here / "relu.py")
    assert (found.simulated, found.problem) == (simulated, "stop")
    assert seen == ["1" if simulated else None]

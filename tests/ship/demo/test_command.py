import dataclasses

import pytest

import opsdk
from opsdk.ship.demo import command, device

pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
pytest.importorskip("numba", reason="the expression is compiled with Numba")


# Eight trainings of twelve epochs, 6 to 13 s: the first test has them with every run, these vary one step of it.
variation = pytest.mark.slow


@pytest.fixture
def reference_only(monkeypatch):
    """Proves the NumPy kernels only, and takes the CUDA kernels for right: the other steps are what is looked at."""
    whole = command.check_one

    def check_one(selection, op, seed):
        return whole(dataclasses.replace(selection, row="cpu,*,numpy"), op, seed)

    monkeypatch.setattr(command, "check_one", check_one)
    right = (("relu::relu", True), ("relu::relu_expression", True))
    monkeypatch.setattr(device, "run", lambda path: device.OnDevice(True, 10, right))
    monkeypatch.setattr(command.kernels, "SIZE", 1000)


def test_the_demonstration_shows_six_steps_and_holds(run, here, reference_only):
    result = run("demo", "--epochs", "12")
    assert result.exit_code == 0, result.output
    for step in range(1, 7):
        assert f"\n{step}. " in f"\n{result.stdout}"
    assert "all 12 claims hold" in result.stdout
    for line in ("def relu_grad(y, dy):", "opsdk.vmath.maximum(x, 0)", "int32_t relu_f32(", "def relu_cuda(x, y):"):
        assert line in result.stdout
    assert "right, simulated" in result.stdout
    assert "no GPU: the CUDA kernels ran in Numba's simulator, on 10 elements; it has no speed" in result.stdout
    assert "pattern  wrong exactly where x < 0" in result.stdout
    assert "1 finding\n" in result.stdout
    assert "\x1b" not in result.output
    assert "\r" not in result.output
    page = (here / "build/demo/report.html").read_text()
    assert page.count("<polyline") == 2  # eight runs with one history
    assert "all 8 runs" in page
    assert "wrong exactly where x &lt; 0" in page
    assert "<td>numba (cuda, floating)</td>" in page
    assert "http" not in page


@variation
def test_the_kernel_table_has_a_line_for_every_row_and_times_for_those_on_the_cpu(run, here, reference_only):
    lines = run("demo", "--epochs", "1").stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("    op") and "forward" in line)
    table = [line.split() for line in lines[start + 1 : start + 7]]
    assert [cells[:4] for cells in table] == [
        ["relu", "numpy", "(cpu,", "*)"],
        ["relu", "c", "(cpu,", "float32)"],
        ["relu", "numba", "(cuda,", "*)"],
        ["relu_expression", "numpy", "(cpu,", "*)"],
        ["relu_expression", "numba", "(cpu,", "floating)"],
        ["relu_expression", "numba", "(cuda,", "floating)"],
    ]
    assert [cells.count("ms") for cells in table] == [2, 2, 0, 2, 2, 0]
    assert table[0][-1] == "1.0×"


@variation
def test_without_a_compiler_c_is_left_out_and_nothing_fails(run, here, monkeypatch, reference_only):
    monkeypatch.delenv("OPSDK_CC", raising=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("opsdk.backends.c.compiler._which", lambda name: None)
    result = run("demo", "--epochs", "12")
    assert result.exit_code == 0, result.output
    assert "left out: C, no C compiler, tried $OPSDK_CC and $CC (unset), cc, gcc, clang" in result.stdout
    assert "int32_t" not in result.stdout
    assert "all 10 claims hold" in result.stdout


@variation
def test_without_numba_cuda_the_cuda_rows_are_left_out_and_nothing_fails(run, here, monkeypatch, reference_only):
    monkeypatch.setattr("opsdk.ship.demo.source.find_spec", lambda name: None)
    result = run("demo", "--epochs", "12")
    assert result.exit_code == 0, result.output
    assert 'left out: CUDA, found no numba.cuda; pip install "opsdk[cuda]"' in result.stdout
    assert "from numba import cuda" not in result.stdout
    assert "not run" in result.stdout  # the CUDA kernel that the expression has
    assert "all 11 claims hold" in result.stdout


@variation
def test_a_cuda_row_that_is_wrong_fails_the_demonstration(run, here, monkeypatch, reference_only):
    wrong = device.OnDevice(True, 10, (("relu::relu", False), ("relu::relu_expression", True)))
    monkeypatch.setattr(device, "run", lambda path: wrong)
    result = run("demo", "--epochs", "12")
    assert result.exit_code == 1
    assert "wrong, simulated" in result.stdout
    assert "1 of 12 claims do not hold" in result.stdout


@variation
def test_too_few_epochs_fail_the_claim_on_accuracy(run, here, reference_only):
    result = run("demo", "--epochs", "1", "--out", "elsewhere")
    assert result.exit_code == 1
    assert "1 of 12 claims do not hold" in result.stdout
    assert (here / "elsewhere" / "report.html").is_file()


@variation
def test_a_relu_that_is_not_caught_fails_the_demonstration(run, here, monkeypatch, reference_only):
    right = command.source.relu([])
    monkeypatch.setattr(command.source, "WRONG", right.replace("relu_expression", "relu_expression2"))
    result = run("demo", "--epochs", "1")
    assert result.exit_code == 1
    assert "2 of 12 claims do not hold" in result.stdout


@variation
def test_a_static_runtime_that_differs_fails_the_demonstration(run, here, monkeypatch, reference_only):
    whole = command.train.MODES["static"]

    def program(*arguments):
        step, logits, parameters = whole(*arguments)

        def off_by_one():
            made = parameters()
            made[0][0, 0] += 1
            return made

        return step, logits, off_by_one

    monkeypatch.setitem(command.train.MODES, "static", program)
    result = run("demo", "--epochs", "1")
    assert result.exit_code == 1
    assert "parameters differ by up to 1.0e+00" in result.stdout


@pytest.mark.slow  # every kernel of three languages
def test_all_rows_of_the_written_file_pass(run, here):
    command.source.write(here, ["c", "cuda"])
    result = run("check", "relu.py")
    assert result.exit_code == 0, result.output
    assert opsdk.REGISTRY.get("relu::relu") is not None
    assert opsdk.REGISTRY.get("relu::relu_expression") is not None

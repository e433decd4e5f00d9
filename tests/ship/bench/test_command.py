import json
import xml.etree.ElementTree as ElementTree

import pytest

from opsdk.core.flags import get_flags
from tests.ship.conftest import RIGHT

QUICK = ("--rounds", "2", "--seconds", "0.0001", "--n", "64")
NUMBA = """
@clamp.kernel("cpu", language="numba")
def clamp_numba(x, y):
    for i in range(x.size):
        y.flat[i] = x.flat[i] if x.flat[i] > 0 else 0
"""
PEERS = """
import numpy as np

def clipped(x):
    return lambda: np.clip(x, 0, None)

def absent(x):
    import no_such_framework

def other(x):
    return lambda: x + 1

def gradient(x, dy, threads):
    return lambda: np.where(x > 0, dy, 0)

PEERS = {"good::clamp": {"clip": clipped, "absent": absent, "other": other}, "good::clamp_grad": {"where": gradient}}
"""


TILED = """
import numpy as np
import opsdk

@opsdk.op("tiled::tile(Tensor x, *, int[] times=[2, 1]) -> Tensor y", infer=lambda x, times: opsdk.TensorSpec(
    (x.shape[0] * times[0], x.shape[1] * times[1]), x.dtype))
def tile(x, times):
    return np.tile(x, times)

@tile.bench
def tile_bench(rng, n):
    return opsdk.Sample(rng.normal(size=(n // 2, 2)), times=[1, 3])

def peer(x, times):
    assert all(type(k) is int for k in times), times
    return lambda: np.tile(x, times)

PEERS = {"tiled::tile": {"tile": peer}}
"""


@pytest.fixture
def good(right):
    right.write_text(right.read_text() + NUMBA)
    return "good.py"


def test_every_row_is_timed_beside_the_reference(run, good):
    result = run("bench", good, *QUICK)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[3] == "good::clamp  64 elements, 512 B read and written"
    assert lines[4] == "  x float32(64)"
    assert [line.split()[0] for line in lines[5:9]] == ["kernel", "numpy", "numba", "copy"]
    assert lines[7].split()[3] in ("compiled", "cached")
    assert lines[10].startswith("2 kernels of 1 op timed in ")
    assert "numba" in lines[11]
    assert "numpy" in lines[11]


def test_the_backward_is_timed_on_what_the_forward_saved(run, good):
    result = run("bench", good, "--backward", *QUICK)
    assert "good::clamp_grad  64 elements, 768 B read and written\n  y float32(64), dy float32(64)" in result.stdout


def test_a_gradient_op_by_name_is_the_backward_of_its_op(run, good):
    result = run("bench", "good.py:clamp_grad", *QUICK)
    assert result.exit_code == 0, result.output
    assert "good::clamp_grad  64 elements" in result.stdout


def test_a_wrong_row_is_told_and_not_timed(run, right):
    right.write_text(right.read_text() + NUMBA.replace("else 0", "else 1"))
    result = run("bench", "good.py", *QUICK)
    assert result.exit_code == 1
    assert "FAIL numba: output 'y' wrong in " in result.stdout
    assert not any(line.startswith("numba ") for line in result.stdout.splitlines())
    assert result.stdout.splitlines()[-1] == "next: opsdk check good.py:clamp"


def test_a_row_that_raises_is_wrong(run, right):
    right.write_text(
        right.read_text()
        + "@clamp.kernel('cpu', language='numba')\ndef clamp_numba(x):\n    return x.nothing_of_that_name\n"
    )
    result = run("bench", "good.py", *QUICK)
    assert result.exit_code == 1
    assert "FAIL numba: raised " in result.stdout


def test_peers_are_timed_or_say_why_not(run, good, here):
    (here / "peers.py").write_text(PEERS)
    result = run("bench", good, "--peers", "peers.py", *QUICK)
    assert result.exit_code == 0, result.output
    names = [line.split()[0] for line in result.stdout.splitlines()[6:9]]
    assert names == ["numpy", "numba", "clip"]
    assert "absent: not installed (No module named 'no_such_framework')" in result.stdout
    assert "other: output 'y' unlike the reference in " in result.stdout
    result = run("bench", good, "--backward", "--peers", "peers.py", *QUICK)
    assert "where" in [line.split(" ")[0] for line in result.stdout.splitlines()]


def test_sizes_and_samples_go_to_json_and_a_plot(run, good):
    result = run("bench", good, "--n", "64,1K", "--json", "-", "--plot", "plot.svg", *QUICK[:4])
    found = json.loads(result.stdout)
    assert (found["schema"], found["dtype"]) == (1, "float32")
    assert [one["elements"] for one in found["results"]] == [64, 1024]
    first, second = found["results"]
    assert [row["name"] for row in first["rows"]] == ["numpy", "numba"]
    assert len(first["rows"][1]["seconds"]) == 2
    assert first["rows"][1]["built"] in ("compiled", "cached")
    assert second["rows"][1]["first"] is None  # it was compiled for the size before
    assert "good::clamp  1 024 elements" in result.stderr
    assert set(found["rendered"].splitlines()) <= set(result.stderr.splitlines())
    ElementTree.parse("plot.svg")


def test_no_report_has_escapes_or_carriage_returns(run, good):
    result = run("bench", good, *QUICK)
    assert not {"\x1b", "\r"} & set(result.stdout + result.stderr)


def test_an_op_of_which_no_large_call_can_be_made_is_inconclusive(run, here):
    (here / "fixed.py").write_text("import opsdk\n@opsdk.op\ndef fixed():\n    return 1.0\n")
    result = run("bench", "fixed.py", *QUICK)
    assert result.exit_code == 4
    assert "op 'fixed::fixed': expected inputs that can be enlarged to 64 elements, there are none" in result.stderr


def test_without_a_backward_there_is_nothing_to_time(run, here):
    (here / "plain.py").write_text("import opsdk\n@opsdk.op\ndef plain(x):\n    return x + 1\n")
    result = run("bench", "plain.py", "--backward", *QUICK)
    assert result.exit_code == 5
    assert "plain::plain: no backward to time" in result.stderr


def test_a_file_without_ops_is_nothing_to_time(run, here):
    (here / "empty.py").write_text("x = 1\n")
    result = run("bench", "empty.py", *QUICK)
    assert result.exit_code == 5
    assert "nothing to time: empty.py defines no op" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--n", "many"), "--n: expected a number of elements"),
        (("--dtype", "float7"), "float7"),
        (("--peers", "absent.py"), "--peers: expected a file, there is none at absent.py"),
        (("--json", "no/such/folder.json"), "no/such/folder.json: expected a file that can be written"),
        (("--json", "-", "--plot", "-"), "expected one report at most on standard output, got 2"),
    ],
)
def test_a_mistake_is_told_before_anything_is_timed(run, good, arguments, words):
    result = run("bench", good, *arguments)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("PEERS = {'good::clamp': {'one': 1}}", "--peers: expected functions by op and peer in peers.py; write PEERS"),
        ("", "--peers: expected functions by op and peer in peers.py; write PEERS"),
        ("missing_name", "peers.py: expected a file or module that loads, got NameError"),
        ("PEERS = {'good::clamp': {'p': lambda z: None}}", "op 'good::clamp', peer 'p' <lambda>(z): nothing is called"),
    ],
)
def test_a_broken_file_of_peers_is_told(run, good, here, text, words):
    (here / "peers.py").write_text(text)
    result = run("bench", good, "--peers", "peers.py", *QUICK)
    assert result.exit_code == 2
    assert words in result.stderr


def test_peers_of_other_ops_are_named(run, good, here):
    (here / "peers.py").write_text("PEERS = {'other::op': {}}")
    result = run("bench", good, "--peers", "peers.py", *QUICK)
    assert "peers.py: no peer of what is timed; it has peers of other::op" in result.stderr


def test_peers_of_what_is_no_op_are_told(run, good, here):
    (here / "peers.py").write_text(PEERS.replace('"good::clamp_grad"', '"good::clamp_gard"'))
    result = run("bench", good, "--peers", "peers.py", *QUICK)
    assert "peers.py: peers of good::clamp_gard, which is no op here; see opsdk list" in result.stderr
    assert "clip" in result.stdout
    (here / "peers.py").write_text(PEERS)
    assert "no op here" not in run("bench", good, "--peers", "peers.py", *QUICK).stderr


def test_a_dtype_that_numba_does_not_have_is_no_fault_of_the_row(run, good):
    result = run("bench", good, "--dtype", "float16", *QUICK)
    assert result.exit_code == 0, result.output
    assert "numba: op 'good::clamp', numba kernel: 'x' is float16, which Numba does not compile" in result.stdout
    assert "FAIL" not in result.stdout


def test_peers_get_arrays_that_lie_as_tensors_do(run, good, here):
    asserts = "assert x.ctypes.data % 64 == 0, x.ctypes.data % 64"
    (here / "peers.py").write_text(PEERS.replace("return lambda: np.clip", f"{asserts}\n    return lambda: np.clip"))
    result = run("bench", good, "--peers", "peers.py", "--rounds", "2", "--seconds", "0.0001", "--n", "100K")
    assert "clip: raised" not in result.stdout
    assert "clip" in result.stdout


def test_peers_get_attributes_as_they_are(run, here):
    (here / "tiled.py").write_text(TILED)
    result = run("bench", "tiled.py", "--peers", "tiled.py", *QUICK)
    assert result.exit_code == 0, result.output
    assert "tile: raised" not in result.stdout
    assert [line.split()[0] for line in result.stdout.splitlines()[5:8]] == ["kernel", "numpy", "tile"]


def test_the_number_of_threads_is_set_and_put_back(run, good):
    before = get_flags()["threads"]
    assert "1 thread ·" in run("bench", good, "--threads", "1", *QUICK).stdout
    assert get_flags()["threads"] == before


def test_what_a_call_changes_is_put_back_before_the_next(run, here):
    (here / "inplace.py").write_text(
        "import opsdk\n@opsdk.op('inplace::decay_(Tensor(a!) x) -> Tensor(a!) y')\n"
        "def decay_(x):\n    assert abs(x).max() > 0.1\n    x *= 1e-3\n"
    )
    result = run("bench", "inplace.py", *QUICK)
    assert result.exit_code == 0, result.output
    assert "1 kernel of 1 op timed" in result.stdout


def test_an_interrupt_reports_what_was_timed(run, good, here, monkeypatch):
    (here / "second.py").write_text(RIGHT.format(name="second"))
    from opsdk.ship.bench.run import OpBench

    real = OpBench.run

    def once(self, forward, *size):
        if forward.schema.name == "second":
            raise KeyboardInterrupt
        return real(self, forward, *size)

    monkeypatch.setattr(OpBench, "run", once)
    result = run("bench", good, "second.py", *QUICK)
    assert result.exit_code == 130
    assert "2 kernels of 1 op timed" in result.stdout
    assert "interrupted after 1 of 2" in result.stderr

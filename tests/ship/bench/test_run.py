import numpy as np
import pytest

import opsdk
from opsdk.core.errors import CompileError
from opsdk.define.op import REGISTRY
from opsdk.ship.bench import run
from opsdk.ship.bench.result import COPIES
from opsdk.ship.bench.right import Truth
from opsdk.ship.bench.run import RowBench, copies, names_of
from opsdk.verify.inputs.calls import Call


@pytest.mark.parametrize(("threads", "ways"), [(1, COPIES[:1]), (3, COPIES)])
def test_each_way_to_copy_can_be_called(threads, ways):
    with copies(1000, threads) as calls:
        assert tuple(calls) == ways
        for call in calls.values():
            call()


def test_nothing_to_move_is_still_a_copy():
    with copies(0, 1) as calls:
        calls[COPIES[0]]()


def made(op, dtype=np.float32):
    call = Call([np.ones(8, dtype)], {})
    return {m.name: (m, s) for m, s in RowBench(Truth(op.opdef, call), 1e-4).ready()}


def several():
    @opsdk.op(namespace="benched")
    def plus(x):
        return x + 1

    plus.kernel("cpu", lambda x: x + 1, language="numba", dtype="float32")
    plus.kernel("cpu", lambda x: x + 1, language="numba", dtype="float64")
    plus.kernel("cuda", lambda x, y: None, language="numba", launch=opsdk.launch.elementwise("y"))
    return plus


def test_rows_are_named_by_what_tells_them_apart():
    with REGISTRY.scoped():
        assert names_of(list(several().opdef.kernels)) == ["numpy", "numba float32", "numba float64", "numba cuda"]


def test_a_row_of_another_dtype_or_place_says_why_it_is_not_timed(monkeypatch):
    monkeypatch.setattr(run, "is_simulated", lambda: False)
    monkeypatch.setattr(run, "missing_device", lambda: "found no driver")
    with REGISTRY.scoped():
        found = made(several())
        assert [name for name, (_, sampler) in found.items() if sampler] == ["numpy", "numba float32"]
        assert found["numba float64"][0].note == "serves float64, got float32"
        assert found["numba cuda"][0].note == "found no driver"
        assert not any(measured.is_wrong for measured, _ in found.values())


def test_the_simulator_has_no_speed(monkeypatch):
    monkeypatch.setattr(run, "is_simulated", lambda: True)
    with REGISTRY.scoped():
        assert made(several())["numba cuda"][0].note == "simulated, which has no speed"


def test_only_what_is_compiled_has_a_first_call(monkeypatch):
    with REGISTRY.scoped():
        found = made(several())
        assert found["numpy"][0].first is None
        assert found["numba float32"][0].first > 0


def test_whether_anything_was_compiled_shows_in_the_cache(monkeypatch):
    with REGISTRY.scoped():
        counts = iter([7, 7, 7, 8])
        monkeypatch.setattr(run, "_built_files", lambda: next(counts))
        monkeypatch.setattr(run, "INTERPRETED", ())
        op = several()
        op.opdef.kernels.restore([row for row in op.opdef.kernels if str(row.key) != "(cuda, *)"][:2])
        found = made(op)
        assert found["numpy"][0].built == "cached"
        assert found["numba float32"][0].built == "compiled"


def test_a_machine_without_a_compiler_is_not_the_rows_fault(monkeypatch):
    def refuse(*arguments, **options):
        raise CompileError("no C compiler, tried cc", code="OP402")

    with REGISTRY.scoped():
        op = several()
        monkeypatch.setattr(run, "make_plan", refuse)
        measured, sampler = made(op)["numpy"]
        assert (measured.note, measured.is_wrong, sampler) == ("no C compiler, tried cc", False, None)

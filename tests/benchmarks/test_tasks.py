import dataclasses

import numpy as np
import pytest

from benchmarks.subjects import numpy_large, opsdk_large
from benchmarks.subjects.references import REFERENCES
from benchmarks.subjects.tasks import BOTH, FORWARD, TASKS, Copy, arrays_of, copied, queued
from benchmarks.worker import Bench

SMALL = {"elementwise": (67,), "rows": (5, 13)}


def small(subject):
    return dataclasses.replace(subject, task=dataclasses.replace(subject.task, shape=SMALL[subject.task.topic]))


def named(subject):
    return f"{subject.name}: {subject.task.title}"


OURS = [small(subject) for subject in opsdk_large.SUBJECTS]
BARE = [small(subject) for subject in numpy_large.SUBJECTS]
SWISH = next(subject for subject in BARE if subject.task.op == "swish")


@pytest.mark.parametrize("op", REFERENCES)
def test_the_references_gradients_are_the_slopes_of_their_values(op):
    task = next(task for task in TASKS if task.op == op)
    made = arrays_of(dataclasses.replace(task, shape=SMALL[task.topic], directions=(FORWARD, BOTH)))
    given = {name: a.astype(float) if a.dtype.kind == "f" else a for name, a in made.items()}
    value, gradients = REFERENCES[op].compute(**given)
    step, rng = 1e-6, np.random.default_rng(3)
    for name, gradient in zip(task.differentiable, gradients, strict=True):
        way = rng.standard_normal(given[name].shape)
        ends = [REFERENCES[op].compute(**{**given, name: given[name] + s * way})[0] for s in (step, -step)]
        slope = ((ends[0] - ends[1]) * given["dy"]).sum() / (2 * step)
        np.testing.assert_allclose((gradient * way).sum(), slope, rtol=1e-6)
    assert value.shape == given["dy"].shape


def test_the_references_values_are_known_ones():
    one, dy = np.array([1.0]), np.array([1.0])
    known = {"relu": 1.0, "swish": 0.7310585786, "softplus": 1.3132616875, "mish": 0.8650983883, "gelu": 0.8411919906}
    for op, value in known.items():
        assert REFERENCES[op].compute(one, dy)[0][0] == pytest.approx(value, rel=1e-9)


@pytest.mark.slow  # compiles with Numba where the cache is empty
@pytest.mark.parametrize("subject", OURS, ids=named)
def test_our_large_ops_are_right_and_their_statements_run(subject):
    pytest.importorskip("numba")
    checked = dataclasses.replace(subject, task=dataclasses.replace(subject.task, is_checked=True))
    assert checked.problem() == ""
    for statement in subject.statements.values():
        exec(statement, subject.names())


@pytest.mark.parametrize("subject", BARE, ids=named)
def test_bare_numpy_is_right_and_its_statements_run(subject):
    assert subject.problem() == ""
    for statement in subject.statements.values():
        exec(statement, subject.names())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda value, gradient: (value + 1e-3, (gradient,)), "swish on 1 M: value: expected NumPy's to 2e-05 of the"),
        (lambda value, gradient: (value, (gradient * 1.001,)), "swish on 1 M: x: expected NumPy's to 2e-05 of the"),
        (lambda value, gradient: (value * np.nan, (gradient,)), "swish on 1 M: value: expected NumPy's"),
        (lambda value, gradient: (value[:-1], (gradient,)), r"swish on 1 M: value: expected shape (67,), got (66,)"),
    ],
    ids=["value", "gradient", "nan", "shape"],
)
def test_a_wrong_result_is_found_before_it_is_timed(change, problem):
    def wrong(names):
        value, (gradient,) = SWISH.result(names)
        return change(value, gradient)

    assert dataclasses.replace(SWISH, result=wrong).problem().startswith(problem)


def test_what_raises_is_a_problem():
    assert "ZeroDivisionError" in dataclasses.replace(SWISH, result=lambda names: 1 / 0).problem()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
@pytest.mark.parametrize("direction", [FORWARD, BOTH])
def test_a_copy_moves_the_bytes_of_its_task(task, direction):
    tiny = dataclasses.replace(task, shape=(*SMALL[task.topic][:-1], 16))
    copy = copied(tiny, direction, arrays_of(tiny))
    assert 2 * copy.nbytes == 4 * np.prod(tiny.shape) * tiny.moved(direction)


def test_works_tell_direction_and_task():
    assert list(SWISH.statements) == ["swish on 1 M, forward", "swish on 1 M, forward and backward"]
    relu = next(subject for subject in BARE if subject.task.op == "relu")
    assert list(relu.statements) == ["relu on 1 M, forward"]


def test_a_worker_has_the_subjects_of_its_topic_and_times_them(monkeypatch):
    monkeypatch.setattr(numpy_large, "SUBJECTS", BARE)
    bench = Bench("numpy_large", "rows")
    assert {subject.topic for subject in bench.subjects} == {"rows"}
    for name in ("copy, NumPy", "copy, NumPy on all threads"):
        assert bench.sample(name, "softmax, forward", 1e-4) > 0
    bench.sample("copy, NumPy", "rms norm, forward", 1e-4)
    assert list(bench.timers) == ["copy, NumPy"]
    with pytest.raises(KeyError, match="nonsense"):
        bench.sample("copy, NumPy", "nonsense", 1e-4)


def test_copies_have_no_result_of_their_own():
    assert {subject.problem() for subject in BARE if isinstance(subject, Copy)} == {""}


def test_queued_calls_are_followed_by_one_wait():
    done = []
    texts, calls = queued({FORWARD: "y = f()\ng(y)"}, 3)
    exec(texts[FORWARD], {"f": lambda: "y", "g": done.append, "wait": lambda: done.append("wait")})
    assert (done, calls) == (["y", "y", "y", "wait"], 3)


def test_a_sample_is_the_time_of_one_call_of_a_statement_that_makes_several(monkeypatch):
    class Timer:
        def timeit(self, number):
            return 8.0 * number

    monkeypatch.setattr(numpy_large, "SUBJECTS", [])
    bench = Bench("numpy_large", "rows")
    bench.work, bench.timers = "w", {"s": (Timer(), 5, 4)}
    assert bench.sample("s", "w", 1.0) == 2.0

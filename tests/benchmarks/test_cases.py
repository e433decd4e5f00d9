import dataclasses

import pytest

import opsdk
from benchmarks.cases import c_op, cuda, elementwise, first_call, large, roofline, rows, training
from benchmarks.peers import Missing
from benchmarks.scripts import WHOLE
from benchmarks.subjects import opsdk_training
from benchmarks.subjects.tasks import BOTH, CUDA_TASKS, FORWARD, STEP, TASKS

STAGES = dict(zip(first_call.STAGES, (0.06, 0.1, 0.001, 0.014, 1e-6), strict=True))


class Quick:
    """A peer whose every sample is the same."""

    def __init__(self, name, subjects):
        self.name, self.version, self.subjects, self.is_closed = name, "1.0", subjects, False

    def sample(self, subject, work, seconds):
        return 1.0 if subject == "opsdk" else 2.0

    def close(self):
        self.is_closed = True


@pytest.mark.parametrize("case", [elementwise, rows])
def test_a_page_of_large_ops_has_a_section_for_each_task_and_direction(monkeypatch, case):
    topic = case.__name__.rpartition(".")[2]
    works = [task.work(d) for task in TASKS for d in task.directions if task.topic == topic]
    ours = Quick("opsdk", [{"name": "opsdk", "works": works, "problem": ""}])
    problem = f"{works[-1].partition(',')[0]}: value: wrong"
    problems = {"torch eager": "", "jax jit": problem, "copy, NumPy": ""}
    peers = [ours, Quick("theirs", [{"name": n, "works": works, "problem": p} for n, p in problems.items()])]

    def start(wanted, pythons, kind, given_topic, environment, bare):
        assert (wanted, pythons, kind, given_topic, bare) == (("torch",), {}, "large", topic, True)
        assert environment["MALLOC_MMAP_MAX_"] == "0"
        return peers, [Missing("paddle", "not asked for")]

    monkeypatch.setattr(large, "start", start)
    sections = case.run(2, 0.01, ("torch",), {})
    assert [section.title for section in sections] == [work[0].upper() + work[1:] for work in works]
    assert {judged.verdict for section in sections for judged in section.judged} <= {"yes", "no", "does not bind"}
    assert all(set(section.samples) == {"opsdk", "torch eager", "copy, NumPy"} for section in sections)
    assert [gone.reason for gone in sections[-1].missing] == ["not asked for", problem]
    assert all(peer.is_closed for peer in peers)


def test_the_page_of_a_gpu_asks_for_workers_of_its_own_and_for_torch_alone(monkeypatch):
    works = [task.work(d) for task in CUDA_TASKS for d in task.directions]
    subjects = [{"name": n, "works": works, "problem": ""} for n in ("opsdk", "torch eager", "copy, torch")]

    def start(wanted, pythons, kind, topic, environment, bare):
        assert (wanted, kind, topic, bare) == (("torch",), "cuda", "cuda", False)
        return [Quick("ours", subjects)], []

    monkeypatch.setattr(large, "start", start)
    sections = cuda.run(2, 0.01, ("torch", "jax"), {})
    assert [section.title for section in sections] == [work[0].upper() + work[1:] for work in works]
    goals = {section.title: [judged.words for judged in section.judged] for section in sections}
    assert goals["Swish on 1 M, forward"] == []
    assert goals["Swish on 64 M, forward and backward"] == [
        "at least 0.9 of a copy's bandwidth",
        "never slower than the best peer (torch eager)",
    ]


def test_a_page_without_a_single_subject_names_what_is_missing(monkeypatch):
    monkeypatch.setattr(large, "start", lambda *given, **kept: ([], [Missing("opsdk", "no cupy")]))
    sections = cuda.run(2, 0.01, ("torch",), {})
    assert {judged.verdict for section in sections for judged in section.judged} == {"not measured"}
    assert all(section.missing == (Missing("opsdk", "no cupy"),) for section in sections)


def words(case, op, direction):
    task = next(task for task in TASKS if task.op == op)
    return [goal.words for goal in case.goals(task, direction)]


def test_large_ops_are_held_to_the_goals_of_their_kind():
    best, copy = "never slower than the best peer", "at most 1.25 times a copy of its bytes"
    bound = f"{copy}, where that binds"
    assert words(elementwise, "relu", FORWARD) == [copy]
    assert words(elementwise, "swish", BOTH) == [best, f"{copy}, where that binds"]
    assert words(elementwise, "mish", FORWARD) == [best, "at least 3 times as fast as the best peer"]
    assert words(elementwise, "softplus", FORWARD) == [best, "at least 1.5 times as fast as the best peer"]
    assert words(elementwise, "relu", STEP) == words(elementwise, "swish", STEP) == ["at least as fast as torch eager"]
    assert words(elementwise, "gelu", STEP) == ["at least 2 times as fast as torch eager"]
    assert words(rows, "softmax", BOTH) == [best]
    assert words(rows, "cross_entropy", FORWARD) == [best]
    assert words(rows, "cross_entropy", BOTH) == [best, "at least 1.5 times as fast as the best peer"]
    assert words(rows, "rms_norm", BOTH)[1:] == ["at least 1.5 times as fast as the best peer", bound]
    assert words(rows, "layer_norm", FORWARD) == [best, bound]


def test_the_first_call_has_whole_processes_our_stages_and_the_call_alone(monkeypatch):
    def take(scripts, rounds, is_warm):
        assert is_warm
        assert [(script.name, script.rounds) for script in scripts if "torch" in script.name] == [
            ("torch C++ extension", 3), ("torch.compile", 3)
        ]  # fmt: skip
        runs = {"import numba": [{WHOLE: 0.3}] * rounds, "opsdk": [{**STAGES, WHOLE: 0.2}] * rounds}
        return runs, [Missing("torch.compile", "no compiler")]

    monkeypatch.setattr(first_call, "take", take)
    whole, stages, alone = first_call.run(4, 0.05, ("torch",), {})
    (judged,) = whole.judged
    assert (judged.verdict, judged.found.value) == ("yes", pytest.approx(-0.1))
    assert {name: found[0] for name, found in stages.samples.items()} == STAGES
    assert alone.samples["opsdk"] == [pytest.approx(0.015)] * 4
    assert [(gone.name, gone.reason) for gone in whole.missing] == [
        ("torch.compile", "no compiler"), ("jax", "not asked for")
    ]  # fmt: skip


def test_a_c_op_is_taken_with_empty_caches_and_with_full_ones(monkeypatch):
    seen = []

    def take(scripts, rounds, is_warm):
        seen.append((is_warm, {script.name: script.rounds for script in scripts}))
        return {"opsdk": [STAGES] * rounds}, []

    monkeypatch.setattr(c_op, "take", take)
    cold, cached = c_op.run(5, 0.05, ("torch", "paddle"), {})
    assert seen == [
        (False, {"opsdk": 0, "cc and ctypes": 0, "torch load_inline": 1, "paddle cpp_extension": 1}),
        (True, {"opsdk": 0, "cc and ctypes": 0, "torch load_inline": 3, "paddle cpp_extension": 3}),
    ]
    assert [judged.verdict for section in (cold, cached) for judged in section.judged] == ["yes", "yes"]
    assert cold.samples["opsdk"] == [pytest.approx(0.015)] * 5


def test_what_bounds_an_op_is_measured_per_element_and_leaves_the_number_of_threads_as_it_was(monkeypatch):
    monkeypatch.setattr(roofline, "OPS", ("relu",))
    monkeypatch.setattr(roofline, "LARGE", 1 << 13)
    opsdk.set_flags(threads=3)
    sections = roofline.run(2, 1e-4, (), {})
    assert opsdk.get_flags()["threads"] == 3
    opsdk.set_flags(threads=0)
    assert [section.title for section in sections] == ["relu, forward", "relu, forward and backward"]
    for section in sections:
        assert set(section.samples) == {roofline.IN_CACHE, roofline.ONE, roofline.ALL}
        assert all(0 < seconds < 1e-3 for samples in section.samples.values() for seconds in samples)
    assert roofline.nanoseconds(2.5e-10) == "0.250 ns"


def test_steps_of_optimizers_are_held_to_their_kernels_and_to_a_microsecond_a_parameter(monkeypatch):
    works = [work.work for work in training.WORKS]
    names = ("opsdk", "opsdk, kernel alone", "opsdk, gradients alone", "torch")
    peer = Quick("ours", [{"name": name, "works": works, "problem": ""} for name in names])
    monkeypatch.setattr(training, "start", lambda *given: ([peer], [Missing("jax", "not asked for")]))
    sections = training.run(2, 0.01, ("torch", "jax"), {})
    assert [section.title for section in sections] == works
    verdicts = {section.title: [judged.verdict for judged in section.judged] for section in sections}
    assert verdicts["Adam, a parameter of 1 M"] == ["yes"]
    assert verdicts["SGD, 100 parameters of 16"] == ["yes"]
    assert verdicts["Adam, 100 parameters of 16"] == []
    assert peer.is_closed


@pytest.mark.parametrize("subject", opsdk_training.SUBJECTS, ids=lambda subject: f"{subject.name}, {subject.trained}")
def test_a_first_step_is_that_of_its_formula(subject):
    assert subject.problem() == ""
    if subject.value is not None and subject.trained.count > 1:
        problem = dataclasses.replace(subject, statement="None").problem()
        assert problem.startswith(f"{subject.trained.work}: a first step is ")

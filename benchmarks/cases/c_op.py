"""P10: a C op of ten lines, from its source to its first call, built and found built."""

from __future__ import annotations

from benchmarks.goals import Goal, Limit, judge
from benchmarks.peers import OURS, Missing, interpreters
from benchmarks.report import Section, milliseconds
from benchmarks.scripts import Script, Stages, take
from opsdk.ship.bench.timing import Samples

TITLE = "A C op of ten lines, from its source to its first call"
COLD, CACHED = "Caches empty: the source is compiled", "Cached: an earlier process compiled it"
GOALS: dict[str, tuple[Goal | Limit, ...]] = {
    COLD: (Limit("P10", "opsdk", "", 1.0, "at most 1 s"),),
    CACHED: (Limit("P10", "opsdk", "", 0.02, "at most 20 ms"),),
}
SLOW_ROUNDS = {COLD: 1, CACHED: 3}  # torch and Paddle compile for half a minute
HOW = (
    "A sample is one fresh process. What counts is the time from the definition of the op, with its C or C++ source as "
    "text, to the end of its first call on 1000 floats; imports are left out. Rounds in rotating order: {rounds} of "
    "ours and of a C function called through ctypes, which is what there is to pay without a framework; of the "
    "frameworks {cold} with empty caches and {cached} with full ones."
)


def run(rounds: int, seconds: float, wanted: tuple[str, ...], pythons: dict[str, str]) -> list[Section]:
    """Measures with empty and with full caches; returns one section for each. `seconds` is not used."""
    found = interpreters(pythons)
    how = HOW.format(rounds=rounds, cold=min(rounds, SLOW_ROUNDS[COLD]), cached=min(rounds, SLOW_ROUNDS[CACHED]))
    sections = []
    for title in (COLD, CACHED):
        runs, missing = take(_scripts(wanted, found, min(rounds, SLOW_ROUNDS[title])), rounds, is_warm=title == CACHED)
        missing += [Missing(name, "not asked for") for name in ("torch", "paddle") if name not in wanted]
        samples: Samples = {name: [_first(each) for each in stages] for name, stages in runs.items()}
        judged = tuple(judge(goal, samples) for goal in GOALS[title])
        sections.append(Section(title, samples, "opsdk", milliseconds, judged, tuple(missing), (), how))
    return sections


def _scripts(wanted: tuple[str, ...], pythons: dict[str, str], slow: int) -> list[Script]:
    ours = pythons[OURS]
    scripts = [Script("opsdk", ours, "opsdk_c_op.py"), Script("cc and ctypes", ours, "ctypes_c_op.py")]
    if "torch" in wanted:
        scripts.append(Script("torch load_inline", pythons["torch"], "torch_extension_first_call.py", slow))
    if "paddle" in wanted:
        scripts.append(Script("paddle cpp_extension", pythons["paddle"], "paddle_c_op.py", slow))
    return scripts


def _first(stages: Stages) -> float:
    return stages["definition"] + stages["first call"]

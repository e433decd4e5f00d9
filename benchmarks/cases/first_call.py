"""P9: the first call of a compiled op in a new process that finds warm caches, against importing Numba and peers."""

from __future__ import annotations

from benchmarks.goals import Limit, judge
from benchmarks.peers import OURS, Missing, interpreters
from benchmarks.report import Section, milliseconds
from benchmarks.scripts import WHOLE, Script, Stages, stage, take

TITLE = "The first call of a compiled op in a new process, caches warm"
GOALS = (Limit("P9", "opsdk", "import numba", 0.3, "at most 0.3 s beyond importing Numba, whole process"),)
SLOW_ROUNDS = 3
STAGES = ("import numpy", "import the framework", "definition", "first call", "second call")
HOW = (
    "A sample is one fresh process that imports what it needs, byte code cached, defines an elementwise op, and calls "
    "it on 1000 floats, twice. What it compiles was kept by a process before it. {rounds} rounds in rotating order; "
    "torch takes part in the first {slow}. The op of the C++ extension is a leaky ReLU, of the others swish."
)


def run(rounds: int, seconds: float, wanted: tuple[str, ...], pythons: dict[str, str]) -> list[Section]:
    """Measures whole processes, their stages in ours, and the first call alone; `seconds` is not used."""
    runs, missing = take(_scripts(wanted, interpreters(pythons), rounds), rounds, is_warm=True)
    gone = (*missing, *(Missing(name, "not asked for") for name in ("torch", "jax") if name not in wanted))
    how = HOW.format(rounds=rounds, slow=min(rounds, SLOW_ROUNDS))
    whole = stage(runs, WHOLE)
    judged = tuple(judge(goal, whole) for goal in GOALS)
    ours = {name: [each[name] for each in runs.get("opsdk", ())] for name in STAGES} if "opsdk" in runs else {}
    first = {name: [_first(each) for each in found] for name, found in runs.items() if "first call" in found[0]}
    tables = (("Whole process", whole, "opsdk", judged), ("Stages of opsdk", ours, "first call", ()))
    tables += (("Definition and first call, imports left out", first, "opsdk", ()),)
    return [
        Section(title, samples, reference, milliseconds, judged, gone, (), how)
        for title, samples, reference, judged in tables
        if reference in samples
    ]


def _scripts(wanted: tuple[str, ...], pythons: dict[str, str], rounds: int) -> list[Script]:
    ours, slow = pythons[OURS], min(rounds, SLOW_ROUNDS)
    scripts = [
        Script("no import", ours, "pass"),
        Script("import numpy", ours, "import numpy"),
        Script("import numba", ours, "import numba"),
        Script("opsdk", ours, "opsdk_first_call.py"),
        Script("numba njit(cache=True)", ours, "numba_first_call.py"),
    ]
    if "jax" in wanted:
        scripts.append(Script("jax jit", pythons["jax"], "jax_first_call.py"))
    if "torch" in wanted:
        scripts.append(Script("torch C++ extension", pythons["torch"], "torch_extension_first_call.py", slow))
        scripts.append(Script("torch.compile", pythons["torch"], "torch_compile_first_call.py", slow))
    return scripts


def _first(stages: Stages) -> float:
    return stages["definition"] + stages["first call"]

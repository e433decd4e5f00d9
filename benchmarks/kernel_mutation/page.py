"""The page of the bench: what was caught by kind of edit and language, and every survivor with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.kernel_mutation.edit import KINDS
from benchmarks.kernel_mutation.judge import STAGES, Result
from benchmarks.report import machine

SURVIVORS = Path(__file__).with_name("survivors.txt")
LANGUAGES = {"c": "C", "numba": "Numba", "cuda": "CUDA, simulated"}
FIRST = frozenset({"python", "values"})
_MISSED = "missed:"  # starts a reason of one that changes something
_PARTS = ("caught", "same", "missed", "invalid")


def reasons(path: Path = SURVIVORS) -> dict[str, str]:
    """Returns why survivors change nothing, or, behind `missed:`, why they are missed, by the mutant's id.

    Raises:
        ValueError: a line has an id and no reason, or an id stands there twice.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        name, _, reason = line.partition(" ")
        if not line.strip() or line.startswith("#"):
            continue
        if not reason.strip() or name in found:
            raise ValueError(f"{path}, line {number}: expected an id that is new and its reason, got {line!r}")
        found[name] = reason.strip()
    return found


def part_of(result: Result, why: Mapping[str, str]) -> str:
    """Returns what a result counts as: caught, same (a survivor with a reason), missed, or invalid."""
    if result.verdict == "survived":
        return "missed" if why.get(result.id, _MISSED).startswith(_MISSED) else "same"
    return "missed" if result.verdict == "broken" else result.verdict


def score(results: Iterable[Result], why: Mapping[str, str]) -> float:
    """Returns the share that was caught of those mutants that change anything; 1 where there are none."""
    counts = Counter(part_of(result, why) for result in results)
    changing = counts["caught"] + counts["missed"]
    return counts["caught"] / changing if changing else 1.0


def lines(results: Sequence[Result], why: Mapping[str, str], functions: int, untouched: Sequence[str]) -> list[str]:
    """Returns the page in Markdown.

    Args:
        results: of the mutants that were judged.
        why: reasons of survivors.
        functions: how many functions there are.
        untouched: names of those of which no mutant was judged.
    """
    counts = Counter(part_of(result, why) for result in results)
    changing = counts["caught"] + counts["missed"]
    early = sum(r.stage != STAGES[r.language][-1] for r in results if part_of(r, why) == "missed" and r.stage in FIRST)
    deep = sum(r.stage == "thorough" and r.verdict == "caught" for r in results)
    text = [
        "# Edited kernels that `opsdk check` sees",
        "",
        machine(),
        "",
        "Written by `python -m benchmarks.kernel_mutation`. Each mutant is a kernel of contrib_ops or of the examples, "
        "forward or backward, or a function that kernels call, with one edit of its text; `opsdk check` of the op is "
        f"the judge. {len(results)} mutants of {functions - len(untouched)} of {functions} functions.",
        "",
        f"**{counts['caught']} of {changing} that change anything are caught, {100 * score(results, why):.1f} %.** "
        f"{counts['same']} survivors change nothing, each for the reason below; {counts['missed']} are missed, "
        f"{early} of them by the first stage alone, with the rest of the check not asked. {deep} are caught under "
        "`--thorough`, of which the check without it may see fewer. "
        f"{counts['invalid']} more do not compile and do not count.",
        "",
        f"Judged at {_commits(results)}: a result holds while its kernel's text does, whatever becomes of the check.",
        "",
    ]
    text += _table("edit", results, why, lambda r: r.kind, {kind: f"{kind}: {what}" for kind, what in KINDS.items()})
    text += _table("language", results, why, lambda r: r.language, LANGUAGES)
    families = sorted({result.family for result in results})
    text += _table("family", results, why, lambda r: r.family, {family: family for family in families})
    text += _ends([result for result in results if result.verdict == "caught"])
    for title, part in (("Missed", "missed"), ("Survivors that change nothing", "same")):
        listed = sorted((r for r in results if part_of(r, why) == part), key=lambda r: r.id)
        text += [f"## {title}", ""] if listed else []
        for result in listed:
            text += [f"- `{result.id}`", f"  `{_code(result.before)}` → `{_code(result.after)}`"]
            reason = why.get(result.id, "").removeprefix(_MISSED).strip()
            text[-1] += f": {reason}" if reason else f" ({result.by})" if result.by else ""
        text += [""] if listed else []
    if untouched:
        text += [f"Not touched in this run: {', '.join(untouched)}.", ""]
    return text


def _table(
    title: str, results: Sequence[Result], why: Mapping[str, str], of: Callable[[Result], str], names: Mapping[str, str]
) -> list[str]:
    counts = Counter((of(result), part_of(result, why)) for result in results)
    text = [f"| {title} | caught | change nothing | missed | do not compile |", "|---|---:|---:|---:|---:|"]
    for key, name in names.items():
        row = [counts[key, part] for part in _PARTS]
        if any(row):
            text.append(f"| {name} | {' | '.join(map(str, row))} |")
    return [*text, ""]


def _ends(caught: Sequence[Result]) -> list[str]:
    """Returns the table of what mutants are caught by."""
    found = Counter(_check(result) for result in caught)
    text = ["| caught by | |", "|---|---:|"]
    return [*text, *(f"| {check} | {count} |" for check, count in found.most_common()), ""]


def _commits(results: Sequence[Result]) -> str:
    """Returns how many results are of which commit, the most first."""
    found = Counter(result.commit or "a commit that was not written down" for result in results)
    return ", ".join(f"{commit} ({count})" for commit, count in found.most_common())


def _check(result: Result) -> str:
    """Returns the check of a finding's id, such as `value`, or how the mutant ended."""
    check = result.by.rpartition("]::")[2] or result.by
    return f"`{check.partition('.')[0]}`" if "]::" in result.by else check.partition(",")[0]


def _code(text: str) -> str:
    return text.replace("`", "'") if len(text) <= 160 else f"{text[:157].replace('`', chr(39))}..."

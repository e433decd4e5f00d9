"""`python -m benchmarks.mutation`: how many wrong gradients each checker misses, and how many right ones it blames."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.mutation import bank, edits, power
from benchmarks.mutation.judges import installed
from benchmarks.report import machine

PARTS = ("edits", "bank", "power")


def main(arguments: list[str] | None = None) -> int:
    """Runs the bench; returns 1 where ours missed more than 1 % of the edits or a pair, or blamed a right one."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.mutation", description=__doc__)
    made.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    made.add_argument("--limit", type=int, default=1800, help="how many edits, drawn from all")
    made.add_argument("--seed", type=int, default=0, help="of the edits")
    made.add_argument("--checkers", nargs="*", help="only these, by name")
    made.add_argument("--out", type=Path, help="file for the page; what was missed goes beside it as JSON")
    options = made.parse_args(arguments)
    judges, missing = installed()
    judges = {name: judge for name, judge in judges.items() if not options.checkers or name in options.checkers}
    text = [
        "# Wrong gradients that checkers miss",
        "",
        machine(),
        "",
        "Written by `python -m benchmarks.mutation`.",
        "",
    ]
    listed: dict[str, Any] = {}
    failed = False
    if "bank" in options.parts:
        judged = bank.scores(judges)
        text += bank.lines(judged)
        listed["bank"] = bank.details(judged)
        own = judged.get("opsdk", bank.Score())
        failed |= any(own.missed.values()) or any(own.blamed.values())
    if "edits" in options.parts:
        wrong = edits.wrong_mutants(options.limit, options.seed)
        found = edits.scores(judges, wrong, options.seed)
        text += edits.lines(found, wrong)
        listed["edits"] = edits.details(found)
        score = found.get("opsdk", edits.Score())
        failed |= len(score.missed) > 0.01 * len(wrong) or bool(score.blamed)
    if "power" in options.parts:
        text += power.lines(power.smallest_errors(judges))
    text += [f"Not measured: {', '.join(missing)}, not installed.", ""] if missing else []
    page = "\n".join(text)
    print(page)
    if options.out is not None:
        options.out.write_text(page, encoding="utf-8")
        written = json.dumps(listed, indent=1, ensure_ascii=False)
        options.out.with_suffix(".json").write_text(f"{written}\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

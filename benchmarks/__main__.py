"""`python -m benchmarks`: measures ours and every installed peer, and writes what was found."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import plots, report
from benchmarks.cases import (
    c_op,
    contrib,
    cuda,
    eager,
    elementwise,
    first_call,
    import_time,
    nets,
    roofline,
    rows,
    training,
)
from benchmarks.peers import CLOCK, NAMES, OURS

CASES = {
    "eager": eager,
    "import_time": import_time,
    "elementwise": elementwise,
    "roofline": roofline,
    "rows": rows,
    "first_call": first_call,
    "c_op": c_op,
    "contrib": contrib,
    "training": training,
    "nets": nets,
    "cuda": cuda,
}
PEERS = tuple(name for name in NAMES if name != OURS)


def main(arguments: list[str] | None = None) -> int:
    """Runs the named cases; returns 1 where a goal that was measured does not hold."""
    options = parser().parse_args(arguments)
    pythons = dict(options.python)
    if options.cpu:
        os.environ[CLOCK] = "cpu"  # which the workers read
    failed = False
    for name in options.names or CASES:
        case = CASES[name]
        print(f"{name} …", file=sys.stderr, flush=True)
        sections = case.run(options.rounds, options.seconds, tuple(options.peers), pythons)
        if options.out is None:
            print(report.page(case.TITLE, sections))
        else:
            print(_written(name, case.TITLE, sections, options.out))
        failed |= any(judged.verdict == "no" for section in sections for judged in section.judged)
    return int(failed)


def _written(name: str, title: str, sections: Sequence[report.Section], folder: Path) -> str:
    """Writes page, samples and plot of a case; returns the page."""
    folder.mkdir(parents=True, exist_ok=True)
    if plots.is_available():
        plots.draw(title, sections, folder / f"{name}.svg")
    else:
        print("no plot: matplotlib is not installed", file=sys.stderr)
    text = report.page(title, sections, f"{name}.svg" if plots.is_available() else "")
    recorded = json.dumps(report.record(title, sections), indent=1, ensure_ascii=False)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / f"{name}.json").write_text(f"{recorded}\n", encoding="utf-8")
    return text


def parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    made.add_argument("names", nargs="*", choices=[[], *CASES], metavar="NAME", help=f"of {', '.join(CASES)}; all")
    made.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS, help="peers to compare with; all")
    made.add_argument(
        "--python",
        action="append",
        type=_interpreter,
        default=[],
        metavar="PEER=PATH",
        help="interpreter that has a peer; also OPSDK_BENCH_<PEER>_PYTHON",
    )
    made.add_argument("--cpu", action="store_true", help="processor time, where others share the machine")
    made.add_argument("--out", type=Path, help="folder for a page, the samples as JSON and a plot, per case")
    made.add_argument("--rounds", type=int, default=15, help="samples of each subject")
    made.add_argument("--seconds", type=float, default=0.05, help="about how long one sample takes")
    return made


def _interpreter(text: str) -> tuple[str, str]:
    name, separator, path = text.partition("=")
    if not separator or name not in NAMES:
        raise argparse.ArgumentTypeError(f"expected PEER=PATH with a peer of {', '.join(NAMES)}, got {text!r}")
    return name, path


if __name__ == "__main__":
    sys.exit(main())

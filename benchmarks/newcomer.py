"""`python -m benchmarks.newcomer`: how far it is from nothing to a tested gradient, as a page of Markdown."""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.newcomer_faults import RELU, SILENT
from benchmarks.peers import ROOT
from benchmarks.report import machine

ROUNDS = 9
PAGE = """# The first hour, in numbers

{machine}

What a newcomer meets, counted by `python -m benchmarks.newcomer --out docs/benchmarks`. Nobody answers the commands,
and their output is no terminal.

| measure | goal | measured |
|---|---|---|
{rows}

**Silent faults.** Each of these gives wrong numbers and no error elsewhere, or when it is too late. `opsdk check FILE`,
without an option, ends with 1 for each:

| fault | first line |
|---|---|
{faults}

**From `new` to green.** `opsdk new my_ops`, `pip install -e .`, `pytest`, in an environment that has opsdk: {seconds}.
It printed:

```
{tree}
```

**The screen of a failing check**, of the README's ReLU with `y >= 0`:

```
{screen}
```

Whether the first line of an error names op, argument, what was got and a remedy is held by
`tests/ship/test_first_lines.py` for the questions of [questions](../questions.md).
"""


@dataclass(frozen=True)
class Ran:
    """What a command printed, how it ended, and how long it took, in seconds."""

    stdout: str
    stderr: str
    status: int
    seconds: float


def run(command: Sequence[str], folder: Path) -> Ran:
    """Runs a command in a folder, with nobody to answer it and no terminal."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return Ran(done.stdout, done.stderr, done.returncode, time.perf_counter() - start)


def size_of_first_block() -> tuple[int, int]:
    """Returns definitions and lines of code of the README's first block, as far as its gradient's test needs them."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    nodes = ast.parse(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]).body
    needed = [n for n in nodes if isinstance(n, (ast.Import, ast.FunctionDef)) or "opsdk.verify" in ast.unparse(n)]
    lines = [line for node in needed for line in ast.unparse(node).splitlines() if line.strip()]
    return sum(isinstance(node, ast.FunctionDef) for node in needed), len(lines)


def environment(folder: Path) -> Path:
    """Makes an environment with opsdk and pytest; returns where its commands are."""
    commands = folder / "environment" / "bin"
    for command in (
        [sys.executable, "-m", "venv", str(commands.parent)],
        [str(commands / "python"), "-m", "pip", "install", "-q", str(ROOT), "pytest", "numba"],
    ):
        done = run(command, folder)
        if done.status:
            raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    return commands


def package(commands: Path, folder: Path) -> list[Ran]:
    """Renders a package, installs it and runs its tests."""
    python = str(commands / "python")
    return [
        run([str(commands / "opsdk"), "new", "my_ops"], folder),
        run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-e", "."], folder / "my_ops"),
        run([python, "-m", "pytest", "-q"], folder / "my_ops"),
    ]


def least_times(commands: Path, folder: Path) -> dict[str, tuple[float, float]]:
    """Returns the least and the median wall time of the commands that a newcomer waits for, in seconds."""
    opsdk = str(commands / "opsdk")
    taken: dict[str, list[float]] = {}
    for k in range(ROUNDS + 1):
        for words in ("--help", "list", "where relu", f"new made_{k}"):
            seconds = run([opsdk, *words.split()], folder).seconds
            if k:  # the first round writes byte code
                taken.setdefault(words.partition(" ")[0], []).append(seconds)
    return {name: (min(times), statistics.median(times)) for name, times in taken.items()}


def page(folder: Path) -> str:
    """Takes all measures in a folder; returns the page."""
    commands = environment(folder)
    opsdk = str(commands / "opsdk")
    definitions, lines = size_of_first_block()
    made, installed, tested = package(commands, folder)
    (folder / "relu.py").write_text(RELU)
    screen = run([opsdk, "check", "relu.py"], folder)
    found = []
    for number, (name, text) in enumerate(SILENT.items()):
        (folder / f"silent_{number}.py").write_text(text)
        found.append((name, run([opsdk, "check", f"silent_{number}.py"], folder)))
    times = least_times(commands, folder)
    told = "".join(f"{ran.stdout}{ran.stderr}" for ran in (made, screen, *(ran for _, ran in found)))
    waits = ", ".join(f"`{name}` {least:.2f} ({median:.2f})" for name, (least, median) in times.items())
    green = tested.stdout.strip().splitlines()[-1] if tested.status == 0 else "not green"
    files = int(re.search(r"\((\d+) files", made.stdout)[1])  # type: ignore[index]  # else there is no page
    rows = [
        ("definitions and lines before the first tested gradient", "2, 15", f"{definitions}, {lines}"),
        ("files from `new` to green tests, of which to edit", "10, 2", f"{files}, {made.stdout.count('  edit: ')}"),
        ("prompts on the way (no input is given)", "0", f"0; {green}"),
        ("lines on the screen after a failing check", "12", str(len((screen.stdout + screen.stderr).splitlines()))),
        (
            "silent faults that `check` finds by default",
            f"{len(SILENT)}",
            str(sum(ran.status == 1 for _, ran in found)),
        ),
        ("escape and return characters where there is no terminal", "0", str(len(re.findall(r"[\x1b\r]", told)))),
        ("seconds of wall time, least (median) of 9", "0.2", waits),
    ]
    return PAGE.format(
        machine=machine(),
        rows="\n".join(f"| {' | '.join(row)} |" for row in rows),
        faults="\n".join(f"| {name} | {_headline(ran)} |" for name, ran in found),
        seconds=", ".join(f"{ran.seconds:.1f} s" for ran in (made, installed, tested)),
        tree=made.stdout.rstrip(),
        screen=screen.stdout.rstrip(),
    )


def _headline(ran: Ran) -> str:
    """Returns the line of a report that says what is wrong."""
    said = next((line for line in ran.stdout.splitlines() if line.startswith("FAIL ")), "nothing")
    return f"`{said.replace('|', '/')}`"


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.newcomer", description=__doc__)
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write newcomer.md there instead of printing it")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        text = page(Path(folder))
    if options.out is None:
        print(text)
    else:
        (options.out / "newcomer.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

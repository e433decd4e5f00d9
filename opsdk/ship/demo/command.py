"""The work of `opsdk demo`: five steps, each shown as it is done, and an exit status that stands for all of them."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path

import opsdk
from opsdk.core.origin import shorten
from opsdk.define.op import Op
from opsdk.ship import check_text
from opsdk.ship.check import check_one
from opsdk.ship.check_page import plain
from opsdk.ship.check_result import Checked
from opsdk.ship.demo import page, source, train_dynamic, train_static
from opsdk.ship.demo.claims import Claim, claims_of
from opsdk.ship.demo.record import Run
from opsdk.ship.demo.rows import only
from opsdk.ship.demo.task import Task, make_task
from opsdk.ship.exits import Exit
from opsdk.ship.progress import Progress
from opsdk.ship.table import Column, render
from opsdk.ship.target import resolve
from opsdk.ship.terminal import width

COLUMNS = tuple(Column(title, right=position > 2) for position, title in enumerate(page.TITLES))
_CLAIMS = (Column("claim"), Column("holds"), Column("evidence", drop=1))


def run_demo(out: Path, *, epochs: int, seed: int) -> Exit:
    """Runs the demonstration.

    Args:
        out: folder for the two op files and the report; made where it does not exist.
        epochs: of each training, at least 1.
        seed: of initial weights and the order of batches.

    Returns:
        PASS where every claim held, else FINDING.

    Raises:
        MissingDependencyError: scikit-learn, which has the digits, is not installed.
    """
    started = time.perf_counter()
    task = make_task(epochs, seed)  # first: what is missing should be said before anything is shown
    right, wrong = source.write(out)

    _step(1, f"a ReLU as a pair of NumPy functions and a pair of Numba kernels: {shorten(str(right))}")
    print(textwrap.indent(source.RELU, "    "))

    _step(2, f"proven, every row of it: opsdk check {shorten(str(right))}")
    proof = check_file(right, seed)
    print(_shown(proof))

    _step(3, f"one character too many in its backward, dy * (y >= 0), is caught: opsdk check {shorten(str(wrong))}")
    caught = check_file(wrong, seed)
    print(_shown(caught))

    _step(4, f"{len(task.digits.train_images)} digits, 64-100-10, {epochs} epochs, in both modes with three ReLUs")
    runs = train_all(proof.op, task)
    print(render(COLUMNS, [page.cells(run) for run in runs], width()))

    claims = [*verdicts(proof, caught), *claims_of(runs)]
    print()
    _step(5, "what holds")
    lines = [(claim.text, "yes" if claim.holds else "no", claim.evidence) for claim in claims]
    print(render(_CLAIMS, lines, width(), longest=width()))
    report = out / "report.html"
    report.write_text(page.render(runs, claims, plain(_shown(proof)), plain(_shown(caught))), encoding="utf-8")
    failed = sum(not claim.holds for claim in claims)
    summary = f"{failed} of {len(claims)} claims do not hold" if failed else f"all {len(claims)} claims hold"
    print(f"\n{summary}, {time.perf_counter() - started:.1f} s; report: {shorten(str(report))}")
    return Exit.FINDING if failed else Exit.PASS


def check_file(path: Path, seed: int) -> Checked:
    """Returns the proof of the one op in a file."""
    selection = resolve(str(path))
    return check_one(selection, selection.ops[0], seed)


def verdicts(proof: Checked, caught: Checked) -> list[Claim]:
    """Returns the claims on the two proofs."""
    return [
        Claim("the right ReLU passes on every row", proof.verdict == "pass", f"{len(proof.report.rows)} rows"),
        Claim("the wrong one is caught", caught.verdict == "fail", f"{len(caught.findings)} findings"),
    ]


def train_all(relu: Op, task: Task) -> list[Run]:
    """Trains in both modes with the op's NumPy row, its Numba row, and the built-in ReLU."""
    numba = only(relu, "numba")
    numba_warm_up(numba, task)
    ops = [(only(relu, "numpy"), "custom"), (numba, "custom"), (opsdk.relu, "built-in")]
    runs = []
    with Progress(2 * len(ops) * len(task.orders), "training", quiet=True) as progress:
        for trainer in (train_dynamic, train_static):
            for op, name in ops:
                progress.start(f"{trainer.__name__.rpartition('_')[2]}, {name}")
                runs.append(trainer.train(op, name, task, lambda _: progress.advance()))
    return runs


def numba_warm_up(op: Op, task: Task) -> None:
    """Calls forward and backward once, so that compiling is not counted as training."""
    x = opsdk.to_tensor(task.digits.train_images[:1], stop_gradient=False)
    op(x).sum().backward()


def _step(number: int, text: str) -> None:
    print(f"{number}. {text}\n", flush=True)


def _shown(one: Checked) -> str:
    parts = [check_text.table([one], width()), *(["\n".join(check_text.failure(one))] if one.findings else [])]
    if one.verdict == "inconclusive":
        parts.append("\n".join(check_text.unsure(one)))
    return textwrap.indent("\n\n".join(parts), "    ") + "\n"



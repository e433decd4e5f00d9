"""The work of `opsdk demo`: six steps, each shown as it is done, and an exit status that stands for all of them."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

import opsdk
from opsdk.core.origin import shorten
from opsdk.define.op import Op
from opsdk.ship.check import render as check_render
from opsdk.ship.check.command import check_one
from opsdk.ship.check.result import Checked
from opsdk.ship.cli.exits import Exit
from opsdk.ship.cli.progress import Progress
from opsdk.ship.cli.terminal import width
from opsdk.ship.demo import device, kernels, page, source, train
from opsdk.ship.demo.device import OnDevice
from opsdk.ship.demo.kernels import only, row_that_runs
from opsdk.ship.demo.train import Claim, Task, claims_of, make_task
from opsdk.ship.output.table import Column, render
from opsdk.ship.targets.target import resolve

COLUMNS = tuple(Column(title, right=position > 2) for position, title in enumerate(page.TITLES))
_KERNELS = tuple(Column(title, right=position > 1) for position, title in enumerate(kernels.TITLES))
_CLAIMS = (Column("claim"), Column("holds"), Column("evidence", drop=1))
_WAYS = {"c": "C", "cuda": "CUDA"}


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
    missing = source.missing_languages()
    right, wrong = source.write(out, [language for language in _WAYS if language not in missing])

    listed = ", ".join(["a NumPy pair", "an expression", *(_WAYS[one] for one in _WAYS if one not in missing)])
    _step(1, f"one ReLU, every way to write it: {listed}: {shorten(str(right))}")
    for language, reason in missing.items():
        print(f"    left out: {_WAYS[language]}, {reason}\n")
    print(textwrap.indent(right.read_text(encoding="utf-8"), "    "))

    _step(2, f"proven, every kernel on the CPU: opsdk check {shorten(str(right))}")
    proofs = check_file(right, seed)
    print(_shown(proofs))

    _step(3, f"the kernels, on {kernels.SIZE:,} float32")
    on_device = None if "cuda" in missing else device.run(right)
    lines = kernels.table(_ops(proofs), on_device)
    print(textwrap.indent(render(_KERNELS, lines, width() - 4), "    ") + "\n")
    if on_device is not None:
        print(f"    {_about(on_device)}\n")

    _step(4, f"one character too many in its backward, dy * (y >= 0), is caught: opsdk check {shorten(str(wrong))}")
    caught = check_file(wrong, seed)
    print(_shown(caught))

    relus = relus_of(proofs)
    count = len(task.train_images)
    _step(5, f"{count} digits, 64-100-10, {epochs} epochs, in both modes with {len(relus)} ReLUs")
    runs = train_all(relus, task)
    print(render(COLUMNS, [page.cells(run) for run in runs], width()))

    claims = [*verdicts(proofs, caught, on_device), *claims_of(runs)]
    print()
    _step(6, "what holds")
    held = [(claim.text, "yes" if claim.holds else "no", claim.evidence) for claim in claims]
    print(render(_CLAIMS, held, width(), longest=width()))
    report = out / "report.html"
    written = page.render(
        runs,
        claims,
        written=right.read_text(encoding="utf-8"),
        proof=check_render.plain(_shown(proofs)),
        timed=lines,
        caught=check_render.plain(_shown(caught)),
    )
    report.write_text(written, encoding="utf-8")
    failed = sum(not claim.holds for claim in claims)
    summary = f"{failed} of {len(claims)} claims do not hold" if failed else f"all {len(claims)} claims hold"
    print(f"\n{summary}, {time.perf_counter() - started:.1f} s; report: {shorten(str(report))}")
    return Exit.FINDING if failed else Exit.PASS


def check_file(path: Path, seed: int) -> list[Checked]:
    """Returns the proofs of the ops in a file."""
    selection = resolve(str(path))
    return [check_one(selection, op, seed) for op in selection.ops]


def verdicts(proofs: Sequence[Checked], caught: Sequence[Checked], on_device: OnDevice | None) -> list[Claim]:
    """Returns the claims on the proofs, and on the CUDA kernels where they could run."""
    made = []
    for proof in proofs:
        ran = sum(row.verdict != "skipped" for row in proof.report.rows)
        name = proof.report.op.rpartition("::")[2]
        made.append(Claim(f"{name} passes on every kernel of the CPU", proof.verdict == "pass", f"{ran} kernels"))
    if on_device is not None:
        evidence = on_device.problem or f"{on_device.elements} elements, {on_device.where}"
        made.append(Claim("the CUDA kernels give NumPy's values", on_device.holds, evidence))
    found = sum(len(one.findings) for one in caught)
    failed = all(one.verdict == "fail" for one in caught)
    return [*made, Claim("the wrong one is caught", failed, f"{found} finding{'' if found == 1 else 's'}")]


def _ops(proofs: Sequence[Checked]) -> list[Op]:
    return [opsdk.find_op(proof.report.op) for proof in proofs]


def relus_of(proofs: Sequence[Checked]) -> list[tuple[Op, str]]:
    """Returns the ReLUs to train with, and what each is called: every CPU language of the pair, and the short forms."""
    pair, expression = _ops(proofs)
    written = [row.language for row in pair.opdef.kernels if row.key.place == "cpu"]
    return [*((only(pair, one), "pair") for one in written), (expression, "expression"), (opsdk.relu, "built-in")]


def train_all(relus: Sequence[tuple[Op, str]], task: Task) -> list[train.Run]:
    """Trains in both modes with each ReLU."""
    for op, _ in relus:
        warm_up(op, task)
    runs = []
    with Progress(2 * len(relus) * len(task.orders), "training", quiet=True) as progress:
        for mode in train.MODES:
            for op, name in relus:
                progress.start(f"{mode}, {name} ({row_that_runs(op)})")
                runs.append(train.train(mode, op, name, task, progress.advance))
    return runs


def warm_up(op: Op, task: Task) -> None:
    """Calls forward and backward once, so that compiling is not counted as training."""
    x = opsdk.to_tensor(task.train_images[:1], stop_gradient=False)
    op(x).sum().backward()


def _about(on_device: OnDevice) -> str:
    if on_device.problem:
        return f"the CUDA kernels did not run {on_device.where}: {on_device.problem}"
    if on_device.simulated:
        return f"no GPU: the CUDA kernels ran in Numba's simulator, on {on_device.elements} elements; it has no speed"
    return f"the CUDA kernels ran on the GPU, on {on_device.elements} elements"


def _step(number: int, text: str) -> None:
    print(f"{number}. {text}\n", flush=True)


def _shown(checked: Sequence[Checked]) -> str:
    parts = [check_render.table(checked, width())]
    parts += ["\n".join(check_render.failure(one)) for one in checked if one.findings]
    parts += ["\n".join(check_render.unsure(one)) for one in checked if one.verdict == "inconclusive"]
    return textwrap.indent("\n\n".join(parts), "    ") + "\n"

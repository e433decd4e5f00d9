"""The work of `opsdk bench`: every kernel of every op of some targets, right before it is timed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import opsdk
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import TargetError
from opsdk.define.op import REGISTRY
from opsdk.define.opdef import OpDef
from opsdk.ship.bench import text
from opsdk.ship.bench.inputs import sizes_of
from opsdk.ship.bench.peers import check_peers, load_peers
from opsdk.ship.bench.result import Benched
from opsdk.ship.bench.run import OpBench
from opsdk.ship.cli.exits import Exit
from opsdk.ship.cli.places import PRINTED, check_places, put
from opsdk.ship.cli.progress import Progress
from opsdk.ship.cli.terminal import narrate, width
from opsdk.ship.machine.environment import cores, described
from opsdk.ship.targets.target import resolve
from opsdk.verify.inputs.sampling import UnusableSamplesError


@dataclass(frozen=True)
class BenchOptions:
    """The options of `opsdk bench`; `--help` says what each means."""

    n: str = "1M"
    dtype: str = "float32"
    backward: bool = False
    threads: int = 0
    peers: str | None = None
    rounds: int = 15
    seconds: float = 0.03
    json_path: str | None = None
    plot: str | None = None


@dataclass
class Session:
    """What a bench has found so far.

    Args:
        done: what was timed.
        untimed: why ops could not be.
        lines: the report as it was printed.
        out: where it is printed: standard error, where standard output is for machines.
    """

    out: Any  # any: a stream
    done: list[Benched] = field(default_factory=list)
    untimed: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def say(self, block: str) -> None:
        """Prints a piece of the report."""
        self.lines.append(block)
        print(block, file=self.out, flush=True)

    @property
    def status(self) -> Exit:
        """The exit code: a wrong kernel is a finding, an op that no call can be made of is inconclusive."""
        if any(one.wrong for one in self.done):
            return Exit.FINDING
        if self.untimed:
            return Exit.INCONCLUSIVE
        return Exit.PASS if self.done else Exit.NOTHING


def run_bench(targets: Sequence[str], options: BenchOptions) -> Exit:
    """Times every kernel of the targets' ops and prints what was found.

    Args:
        targets: as typed.
        options: the command's options.

    Returns:
        The exit status. An interrupt ends the work, and what was timed until then is reported.

    Raises:
        TargetError: a target names nothing, `--n` no size, or a report has no place where it could be written.
        BrokenDefinitionError: a file or module cannot be loaded.
        BindingError: a peer asks for something that the op does not have.
    """
    check_places({"--json": options.json_path, "--plot": options.plot})
    sizes, dtype = sizes_of(options.n), np.dtype(as_dtype(options.dtype))
    peers = load_peers(options.peers) if options.peers else {}
    work = []
    for op in (op for target in targets for op in resolve(target).shown):
        # A gradient op is timed as the backward of the op that it belongs to.
        forward = None if op.opdef.gradient_of is None else REGISTRY.get(op.opdef.gradient_of)
        opdef, backward = (op.opdef, options.backward) if forward is None else (forward.opdef, True)
        work += [_Piece(opdef, n, backward) for n in sizes]
    if not work:
        narrate(f"nothing to time: {', '.join(targets)} defines no op; an op is a function under @opsdk.op")
        return Exit.NOTHING
    unknown = [name for name in peers if REGISTRY.get(name) is None]
    if unknown:
        narrate(f"{options.peers}: peers of {', '.join(sorted(unknown))}, which is no op here; see opsdk list")
    timed = {check_peers(peers, piece.opdef, backward=piece.backward) for piece in work}
    if peers and not timed & set(peers):
        narrate(f"{options.peers}: no peer of what is timed; it has peers of {', '.join(sorted(peers))}")
    started = time.perf_counter()
    session = Session(sys.stderr if PRINTED in (options.json_path, options.plot) else sys.stdout)
    interrupted = False
    with _threads(options.threads) as threads, Progress(len(work), "timing") as progress:
        bench = OpBench(dtype, threads, peers, options.rounds, options.seconds)
        session.say(text.head(options.dtype, threads, options.rounds))
        try:
            for piece in work:
                progress.start(piece.name)
                _time(session, piece, bench)
                progress.advance(f"{piece.name}, {text.grouped(piece.n)} elements")
        except KeyboardInterrupt:
            interrupted = True
    session.say(f"\n{text.last_line(session.done, session.untimed, time.perf_counter() - started)}")
    _write(options, session, threads)
    if interrupted:
        narrate(f"interrupted after {len(session.done)} of {len(work)}")
        return Exit.INTERRUPTED
    return session.status


class _Piece(NamedTuple):
    """One op at one size; `backward` where its gradient op is meant."""

    opdef: OpDef
    n: int
    backward: bool

    @property
    def name(self) -> str:
        """What is timed, in words."""
        return f"{self.opdef.name}{' backward' if self.backward else ''}"


def _time(session: Session, piece: _Piece, bench: OpBench) -> None:
    if piece.backward and piece.opdef.grad is None:
        narrate(f"{piece.opdef.name}: no backward to time")
        return
    try:
        one = bench.run(*piece)
    except (TargetError, UnusableSamplesError) as error:
        session.untimed.append(str(error))
        narrate(str(error))
        return
    session.done.append(one)
    session.say(f"\n{text.block(one, width())}")


@contextmanager
def _threads(wanted: int) -> Iterator[int]:
    """Sets how many threads a kernel may use, and gives the number; 0 is as many as there are."""
    before = opsdk.get_flags()["threads"]
    opsdk.set_flags(threads=wanted or before)
    try:
        yield wanted or int(str(before)) or cores()
    finally:
        opsdk.set_flags(threads=before)


def _write(options: BenchOptions, session: Session, threads: int) -> None:
    if options.json_path:
        document = {
            "schema": 1,
            "opsdk": opsdk.__version__,
            "environment": described(),
            "dtype": options.dtype,
            "threads": threads,
            "results": [one.as_dict() for one in session.done],
            "untimed": session.untimed,
            "rendered": "\n".join(session.lines),
        }
        put(options.json_path, json.dumps(document, indent=1, allow_nan=False) + "\n")
    if options.plot:
        put(options.plot, text.chart(session.done))

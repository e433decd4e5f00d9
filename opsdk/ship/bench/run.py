"""One op at one size: its call, its kernels and its peers, each right before it is timed, then all in alternation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from opsdk.backends.cache.places import cache_folder
from opsdk.backends.cache.store import cache_info
from opsdk.backends.call.arrays import with_mutated
from opsdk.backends.call.language import missing_packages
from opsdk.backends.call.plan import make_plan
from opsdk.backends.cuda.runtime import is_simulated, missing_device
from opsdk.backends.memory.device import memory_at
from opsdk.backends.numba.failure import is_compile_failure
from opsdk.core.errors import DTypeError, KernelNotFoundError, MissingDependencyError, TargetError
from opsdk.core.place import CPU, Place
from opsdk.define.identity.callables import value_text
from opsdk.define.kernel.kernel import COMPOSITE, REFERENCE, Kernel
from opsdk.define.opdef import OpDef
from opsdk.ship.bench.inputs import large_call, placed
from opsdk.ship.bench.peers import THREADS, Peers, ready
from opsdk.ship.bench.result import COPIES, Benched, Measured
from opsdk.ship.bench.right import Truth
from opsdk.ship.bench.timing import Sampler, alternate, rounds_within
from opsdk.verify.gradients import draw_cotangents, gradient_call
from opsdk.verify.inputs.calls import Call, each, flat, outputs_of
from opsdk.verify.kernels.rows import serves
from opsdk.verify.session import cannot_run_here, target_of

LEAST_ROUNDS = 5
BUDGET = 10.0  # seconds for all rounds of one op; slow ones get fewer rounds
INTERPRETED = (REFERENCE, COMPOSITE)  # languages of which nothing is compiled
_DEVICE = Place("cuda", 0)


@dataclass
class OpBench:
    """Times ops one after the other.

    Args:
        dtype: of floating inputs.
        threads: how many each kernel may use.
        peers: what else is timed.
        rounds: at most so many samples of each.
        seconds: about how long one sample takes.
    """

    dtype: np.dtype[Any]
    threads: int
    peers: Peers
    rounds: int
    seconds: float
    _seen: set[str] = field(default_factory=set)

    def run(self, forward: OpDef, n: int, backward: bool) -> Benched:
        """Times every kernel of an op, or of its gradient op on what the forward saved, at a size.

        Raises:
            TargetError: no call of that size can be made, or there is no gradient op.
            UnusableSamplesError: what the op's author declared is no call of it.
        """
        truth, named = self._prepared(forward, n, backward)
        opdef, call = truth.opdef, truth.call
        rows = RowBench(truth, self.seconds, is_first=opdef.name not in self._seen)
        self._seen.add(opdef.name)
        found = [*rows.ready(), *self._peers(named, truth)]
        arrays = flat(call.inputs) + flat(truth.outputs)
        moved = sum(array.nbytes for array in arrays)
        benched = Benched(
            op=opdef.name,
            target=target_of(opdef) or opdef.name,
            call=described(opdef, call),
            elements=max((array.size for array in flat(call.inputs)), default=0),
            moved=moved,
            rows=tuple(measured for measured, _ in found),
            note=""
            if opdef.traits.deterministic
            else "results were not compared: the op is declared not deterministic",
        )
        samplers = {measured.name: sampler for measured, sampler in found if sampler is not None}
        if benched.reference.name not in samplers:
            return benched  # nothing to compare with
        with copies(moved, self.threads) as copiers:
            samplers |= {name: Sampler(copier, self.seconds) for name, copier in copiers.items()}
            benched.samples.update(self._samples(samplers))
        return benched

    def _samples(self, samplers: dict[str, Sampler]) -> dict[str, list[float]]:
        one_round = 0.0
        for sampler in samplers.values():
            started = time.perf_counter()
            sampler()  # finds how many repeats fill a sample, which takes about as long again as the sample
            one_round += time.perf_counter() - started
        rounds = rounds_within(BUDGET, one_round, self.rounds, min(LEAST_ROUNDS, self.rounds))
        return alternate(samplers, rounds, is_warm=True)

    def _prepared(self, forward: OpDef, n: int, backward: bool) -> tuple[Truth, dict[str, Any]]:
        """Returns what is right for the call of the op that is timed, and the values that a peer may ask for."""
        truth = large_call(forward, n, self.dtype, partial(Truth, forward))
        call = truth.call
        named = dict(zip(forward.schema.input_names, call.inputs, strict=True))
        named |= {decl.name: call.attrs.get(decl.name, decl.default) for decl in forward.schema.attrs}
        if not backward:
            return truth, {THREADS: self.threads, **named}
        if forward.grad is None:
            raise TargetError(f"{forward.subject}: no backward to time; leave out --backward")
        outputs = truth.outputs
        cotangents = draw_cotangents(forward, outputs, np.random.default_rng(17))
        its_call = gradient_call(forward, call, outputs, cotangents)
        names = forward.schema.output_names
        named |= dict(zip(names, outputs, strict=True)) | {f"d{k}": v for k, v in zip(names, cotangents, strict=True)}
        return Truth(forward.grad.op.opdef, its_call), {THREADS: self.threads, **named}

    def _peers(self, named: dict[str, Any], truth: Truth) -> Iterator[tuple[Measured, Sampler | None]]:
        for name, make in self.peers.get(truth.opdef.name, {}).items():
            values = {key: each([value], placed)[0] if _is_tensor(value) else value for key, value in named.items()}
            measured, call = ready(name, make, values, truth)
            yield measured, None if call is None else Sampler(call, self.seconds)


@contextmanager
def copies(moved: int, threads: int) -> Iterator[dict[str, Callable[[], object]]]:
    """Gives a call per way to copy, each of which reads one half of some bytes and writes the other.

    What memory allows, on one thread and on all.

    Args:
        moved: bytes.
        threads: at least 1.
    """
    source = np.ones(max(1, moved // 2), np.uint8)
    target = np.zeros_like(source)  # written to once, so that its pages are there
    target[...] = source
    one, several = COPIES
    calls: dict[str, Callable[[], object]] = {one: lambda: np.copyto(target, source)}
    if threads == 1:
        yield calls
        return
    pieces = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    with ThreadPoolExecutor(threads - 1) as pool:

        def split() -> None:
            others = [pool.submit(np.copyto, *piece) for piece in pieces[1:]]
            np.copyto(*pieces[0])
            wait(others)

        yield {**calls, several: split}


def _is_tensor(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(item is None or isinstance(item, np.ndarray) for item in items)  # a list of numbers is an attribute


def described(opdef: OpDef, call: Call) -> str:
    """Returns inputs and attributes of a call, as `x float32(1024, 1024), axis=0`."""
    inputs = [f"{name} {_spec(value)}" for name, value in zip(opdef.schema.input_names, call.inputs, strict=True)]
    return ", ".join([*inputs, *(f"{name}={value_text(value)}" for name, value in call.attrs.items())])


def _spec(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, list):
        return f"[{', '.join(map(_spec, value))}]"
    return f"{value.dtype}({', '.join(map(str, value.shape))})"


@dataclass(frozen=True)
class RowBench:
    """Makes the kernels of one call ready.

    Args:
        truth: the call that is timed, and what is right for it.
        seconds: about how long one sample takes.
        is_first: whether nothing of this op has run at another size before.
    """

    truth: Truth
    seconds: float
    is_first: bool = True

    def ready(self) -> Iterator[tuple[Measured, Sampler | None]]:
        """Yields every kernel, the reference first, with what times it; None where it is not timed, and says why."""
        kernels = self.truth.opdef.kernels
        reference = kernels.reference()
        rows = sorted(kernels, key=lambda row: row is not reference)
        for row, name in zip(rows, names_of(rows), strict=True):
            absent = self._absence(row)
            if absent:
                yield Measured(name, str(row), note=absent), None
            else:
                yield self._tried(row, name)

    def _absence(self, row: Kernel) -> str:
        """Returns why a kernel cannot run here; nothing where it can."""
        if row.key.place != "cpu":
            return "simulated, which has no speed" if is_simulated() else missing_device()
        if not serves(self.truth.opdef, row, self.truth.call):
            dtypes = ", ".join(dict.fromkeys(str(array.dtype) for array in flat(self.truth.call.inputs)))
            return f"serves {'floating numbers' if row.key.floating else row.key.dtype}, got {dtypes}"
        missing = missing_packages(row)
        return f"needs {' and '.join(missing)}, not installed" if missing else ""

    def _tried(self, row: Kernel, name: str) -> tuple[Measured, Sampler | None]:
        """Calls a kernel as a first call goes, with every check."""
        opdef, call = self.truth.opdef, self.truth.call
        attrs = dict(call.attrs)
        files, started = _built_files(), time.perf_counter()
        try:
            memory: Any = None if row.key.place == "cpu" else memory_at(_DEVICE, opdef.subject)
            bring = placed if memory is None else memory.from_host
            inputs = each(call.inputs, bring)
            plan = make_plan(opdef, inputs, attrs, place=CPU if memory is None else _DEVICE, row=row)
            made = outputs_of(opdef, with_mutated(opdef, plan.run_checked(inputs, attrs), inputs))
            made = made if memory is None else each(made, memory.to_host)
        except (MissingDependencyError, KernelNotFoundError) as error:
            return Measured(name, str(row), note=str(error)), None
        except Exception as error:
            is_wrong = not _is_refusal(error)
            note = f"raised {type(error).__name__}: {error}" if is_wrong else str(error)
            return Measured(name, str(row), note=note, is_wrong=is_wrong), None
        first = time.perf_counter() - started
        problem = self.truth.problem(made) if opdef.traits.deterministic else ""
        if problem:
            return Measured(name, str(row), note=problem, is_wrong=True), None
        measured = Measured(name, str(row))
        if row.language not in INTERPRETED and self.is_first:
            measured = Measured(name, str(row), first, "cached" if files == _built_files() else "compiled")
        # What a call changes is put back before each: a decay would end in denormal numbers, which are slow.
        changed = [(inputs[i], bring(call.inputs[i])) for i in opdef.schema.mutated_inputs]

        def restore() -> None:
            for held, kept in changed:
                held[...] = kept

        return measured, Sampler(
            lambda: plan.run(inputs, attrs),
            self.seconds,
            prepare=restore if changed else None,
            finish=None if memory is None else memory.module.cuda.runtime.deviceSynchronize,
        )


def _is_refusal(error: Exception) -> bool:
    """Whether the machine is to blame for an error, or Numba, which has no such dtype; and not the kernel."""
    if isinstance(error, DTypeError):
        return error.__cause__ is not None and is_compile_failure(error.__cause__)
    return cannot_run_here(error)


def names_of(rows: Sequence[Kernel]) -> list[str]:
    """Returns a short name per kernel: its language, its place if that is not the CPU, its dtype if it has one."""
    names = []
    for row in rows:
        place = [] if row.key.place == "cpu" else [row.key.place]
        names.append(" ".join([row.language, *place, *([row.key.dtype.name] if row.key.dtype is not None else [])]))
    return [name if names.count(name) == 1 else str(row) for name, row in zip(names, rows, strict=True)]


def _built_files() -> int:
    """Returns how many compiled files the cache holds; where it cannot be written, another number each time."""
    folder = cache_folder()
    if folder.is_dir() and not os.access(folder, os.W_OK):
        return time.monotonic_ns()
    return cache_info().files

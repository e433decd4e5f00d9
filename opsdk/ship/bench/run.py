"""One op at one size: its call, its rows and its peers, each right before it is timed, then all in alternation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opsdk.core.errors import TargetError
from opsdk.define.opdef import OpDef
from opsdk.ship.bench import peers
from opsdk.ship.bench.copy import copies
from opsdk.ship.bench.inputs import large_call, placed
from opsdk.ship.bench.peers import THREADS, Peers
from opsdk.ship.bench.result import Benched, Measured
from opsdk.ship.bench.right import Truth
from opsdk.ship.bench.rows import RowBench
from opsdk.ship.bench.timing import Clock, Sampler, alternate, rounds_within
from opsdk.verify.gradients import draw_cotangents, gradient_call
from opsdk.verify.inputs.calls import Call, each, flat
from opsdk.verify.session import target_of

LEAST_ROUNDS = 5
BUDGET = 10.0  # seconds for all rounds of one op; slow ones get fewer rounds


@dataclass
class OpBench:
    """Times ops one after the other.

    Args:
        dtype: of floating inputs.
        backward: whether the gradient op is timed, on what the forward saved.
        threads: how many each row may use.
        peers: what else is timed.
        rounds: at most so many samples of each.
        seconds: about how long one sample takes.
        clock: returns seconds.
    """

    dtype: np.dtype[Any]
    backward: bool = False
    threads: int = 1
    peers: Peers = field(default_factory=dict)
    rounds: int = 15
    seconds: float = 0.03
    clock: Clock = time.perf_counter
    _seen: set[str] = field(default_factory=set)

    def run(self, forward: OpDef, n: int) -> Benched:
        """Times every row of an op, or of its gradient op, at a size.

        Raises:
            TargetError: no call of that size can be made, or there is no gradient op.
            UnusableSamplesError: what the op's author declared is no call of it.
        """
        opdef, call, truth, named = self._prepared(forward, n)
        rows = RowBench(opdef, call, truth, self.seconds, is_first=opdef.name not in self._seen, clock=self.clock)
        self._seen.add(opdef.name)
        ready = [*rows.ready(), *self._peers(opdef, named, truth)]
        arrays = flat(call.inputs) + flat(truth.outputs)
        moved = sum(array.nbytes for array in arrays)
        benched = Benched(
            op=opdef.name,
            target=target_of(opdef) or opdef.name,
            call=described(opdef, call),
            elements=max((array.size for array in flat(call.inputs)), default=0),
            moved=moved,
            rows=tuple(measured for measured, _ in ready),
            note=""
            if opdef.traits.deterministic
            else "results were not compared: the op is declared not deterministic",
        )
        samplers = {measured.name: sampler for measured, sampler in ready if sampler is not None}
        if benched.reference.name not in samplers:
            return benched  # nothing to compare with
        with copies(moved, self.threads) as copiers:
            samplers |= {name: Sampler(copier, self.seconds, clock=self.clock) for name, copier in copiers.items()}
            benched.samples.update(self._samples(samplers))
        return benched

    def _samples(self, samplers: dict[str, Sampler]) -> dict[str, list[float]]:
        one_round = 0.0
        for sampler in samplers.values():
            started = self.clock()
            sampler()  # finds how many repeats fill a sample, which takes about as long again as the sample
            one_round += self.clock() - started
        rounds = rounds_within(BUDGET, one_round, self.rounds, min(LEAST_ROUNDS, self.rounds))
        return alternate(samplers, rounds, is_warm=True)

    def _prepared(self, forward: OpDef, n: int) -> tuple[OpDef, Call, Truth, dict[str, Any]]:
        """Returns the op that is timed, its call, what is right for it, and the values that a peer may ask for."""
        truths: list[Truth] = []
        call = large_call(forward, n, self.dtype, lambda call: truths.append(Truth(forward, call)))
        truth = truths[-1]
        named = {**dict(zip(forward.schema.input_names, call.inputs, strict=True)), **_attrs(forward, call)}
        if not self.backward:
            return forward, call, truth, {THREADS: self.threads, **named}
        if forward.grad is None:
            raise TargetError(f"{forward.subject}: no backward to time; leave out --backward")
        outputs = truth.outputs
        cotangents = draw_cotangents(forward, outputs, np.random.default_rng(17))
        gradient = forward.grad.op.opdef
        its_call = gradient_call(forward, call, outputs, cotangents)
        names = forward.schema.output_names
        named |= dict(zip(names, outputs, strict=True)) | {f"d{k}": v for k, v in zip(names, cotangents, strict=True)}
        return gradient, its_call, Truth(gradient, its_call), {THREADS: self.threads, **named}

    def _peers(self, opdef: OpDef, named: dict[str, Any], truth: Truth) -> Iterator[tuple[Measured, Sampler | None]]:
        for name, make in self.peers.get(opdef.name, {}).items():
            values = {key: each([value], placed)[0] if _is_tensor(value) else value for key, value in named.items()}
            yield peers.ready(name, make, values, truth, self.seconds, self.clock)


def _attrs(opdef: OpDef, call: Call) -> dict[str, Any]:
    return {decl.name: call.attrs.get(decl.name, decl.default) for decl in opdef.schema.attrs}


def _is_tensor(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, np.ndarray) for item in items)  # a list of numbers is an attribute


def described(opdef: OpDef, call: Call) -> str:
    """Returns inputs and attributes of a call, as `x float32(1024, 1024), axis=0`."""
    inputs = [f"{name} {_spec(value)}" for name, value in zip(opdef.schema.input_names, call.inputs, strict=True)]
    return ", ".join([*inputs, *(f"{name}={value!r}" for name, value in call.attrs.items())])


def _spec(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, list):
        return f"[{', '.join(map(_spec, value))}]"
    return f"{value.dtype}({', '.join(map(str, value.shape))})"

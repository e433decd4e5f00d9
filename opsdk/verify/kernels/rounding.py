"""Rounding: how far outputs move with the last places of their inputs, and what a computation loses by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gradcheck.model.perturb import SIGNS, perturb, perturb_within
from opsdk.verify.inputs import calls
from opsdk.verify.inputs.calls import Call, flat, is_inexact

# Draws of what a computation loses. Where terms cancel to 0, two of three draws lose nothing: what is wrong beside
# eight of them is looked at with many.
_NEIGHBOURS, _MANY_NEIGHBOURS = 8, 96
_NEAR = 2.0**-7  # relative distance of them: the same cancels there, and other bits are rounded away
SHORT_EPS = 2.0**-23

Moves = list[np.ndarray | None]  # per output; None of one that is no floating or complex array


@dataclass(frozen=True, eq=False)
class Rounding:
    """A computation at one call, whose outputs answer to rounding.

    Args:
        run: the computation, in the dtype of its inputs.
        call: where; floating inputs in float64.
        eps: the relative size of a unit in the last place.
        seed: of everything that is drawn.
        constant: positions of inputs that stay.
        center: the outputs there, where they are known: of another run nobody knows whether it gives the same.
        holding: moves the values of a call into their domain.
    """

    run: Callable[[Call], list[Any]]
    call: Call
    eps: float
    seed: int
    constant: Sequence[int] = ()
    center: Sequence[Any] | None = None
    holding: Callable[[Call], Call] = lambda call: call

    @cached_property
    def together(self) -> Moves:
        """How much the elements of each output move when the inputs move by one unit in their last place."""
        return self._moves(self.constant)

    @cached_property
    def apart(self) -> Moves:
        """The sum of what `together` finds for one input after the other, whose changes cannot cancel.

        It takes a run or two for each input: a second look at what seems to be wrong.
        """
        positions = range(len(self.call.inputs))
        moving = [i for i in positions if i not in self.constant]
        stays = [[other for other in positions if other != i] for i in moving] or [list(positions)]
        found = map(self._moves, stays)
        return [None if parts[0] is None else np.sum(parts, axis=0) for parts in zip(*found, strict=True)]

    def _moves(self, constant: Sequence[int]) -> Moves:
        call = self.call
        rng = np.random.default_rng([self.seed, 11])
        stays = [i in constant for i, value in enumerate(call.inputs) for _ in flat([value])]
        middle = flat(self.run(call) if self.center is None else self.center)
        moved: Moves = [np.zeros(c.shape) if is_inexact(c) else None for c in middle]
        for _ in range(2):
            inputs = [
                a if stay or not is_inexact(a) else perturb(a, self.eps * SIGNS, rng, turns=True)
                for a, stay in zip(flat(call.inputs), stays, strict=True)
            ]
            for there in self._runs(inputs):
                for k, (c, t) in enumerate(zip(middle, there, strict=False)):  # a list may be of another length there
                    held = moved[k]
                    if held is not None and is_inexact(t) and c.shape == t.shape:
                        moved[k] = np.maximum(held, _gap(t, c))
        return moved

    def _runs(self, moved: list[Any]) -> Iterator[list[Any]]:
        """Yields the outputs where all inputs have moved; where that leaves the domain, those where one of them has."""
        held = flat(self.call.inputs)
        alone = [
            [a if i == k else b for i, (a, b) in enumerate(zip(moved, held, strict=True))] for k in range(len(held))
        ]
        changes = [arrays for k, arrays in enumerate(alone) if moved[k] is not held[k]]
        for number, arrays in enumerate([moved, *changes]):
            inputs = calls.refill(self.call.inputs, [np.asarray(array) for array in arrays])
            try:
                made = flat(self.run(self.holding(replace(self.call, inputs=inputs))))
            except Exception:  # a step out of the domain tells nothing about rounding
                continue
            yield made
            if number == 0:
                return

    @cached_property
    def lost(self) -> Moves:
        """What the computation itself loses at the resolution `eps`, as where x - tanh(x) nearly cancels.

        No movement of the inputs shows that. It is told from float32: how far the results are from those in float64
        for the same numbers, the most over some nearby, since at one it may be right by chance. Where float32 leaves
        no digit at all it tells too little; where float32 is not taken there are no moves.
        """
        return self._losses(_NEIGHBOURS)

    @cached_property
    def lost_by_some(self) -> Moves:
        """What `lost` finds over many more nearby: an exact 0 may be all that a few of them show."""
        return self._losses(_MANY_NEIGHBOURS)

    @cached_property
    def signless(self) -> Moves:
        """How great elements are whose sign is decided by rounding: some nearby are positive, others negative or 0.

        So do terms that cancel to 0 at every input, where the order in which they are added leaves something of them.
        """
        every = [flat(self.run(self.call) if self.center is None else self.center)]
        for there in self._nearby(_NEIGHBOURS):
            try:
                every.append(flat(self.run(self.holding(there))))
            except Exception:  # out of the domain
                continue
        found: Moves = []
        for values in zip(*every, strict=False):
            if not all(_is_alike(value, values[0]) and value.dtype.kind == "f" for value in values):
                found.append(None)
                continue
            least, most = np.min(values, axis=0), np.max(values, axis=0)
            found.append(np.where((least <= 0) & (most >= 0), np.maximum(-least, most), 0.0))
        return found

    def _nearby(self, draws: int) -> Iterator[Call]:
        """Yields calls of numbers nearby, but for inputs that stay; some may be out of the domain."""
        rng = np.random.default_rng([self.seed, 19])
        for _ in range(draws):
            inputs = [
                value if i in self.constant else calls.each([value], lambda a: near(a, rng))[0]
                for i, value in enumerate(self.call.inputs)
            ]
            yield replace(self.call, inputs=inputs)

    def _losses(self, draws: int) -> Moves:
        found: Moves = []
        for there in self._nearby(draws):
            try:
                short = self.holding(there).cast(np.dtype("float32"))
                pairs = list(zip(flat(self.run(short)), flat(self.run(short.cast(np.dtype("float64")))), strict=True))
            except Exception:  # written for one dtype only, or out of the domain
                continue
            gaps = [_gap(a, b) if _is_alike(a, b) else None for a, b in pairs]
            scaled = [None if gap is None else gap.astype(np.float64) * (self.eps / SHORT_EPS) for gap in gaps]
            held = found or scaled
            found = [
                None if a is None or b is None or a.shape != b.shape else np.maximum(a, b)
                for a, b in zip(held, scaled, strict=False)
            ]
        return found


def near(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns numbers nearby; what is no floating array as it is."""
    return perturb_within(array, _NEAR, rng) if is_inexact(array) else array


def _gap(there: np.ndarray, here: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(np.nan_to_num(np.abs(there - here), nan=0.0, posinf=0.0))


def _is_alike(left: Any, right: Any) -> bool:  # Any: an array, or None
    return is_inexact(left) and is_inexact(right) and left.shape == right.shape

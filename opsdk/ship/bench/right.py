"""Whether a kernel is right on the inputs that it is timed on: held to the reference within verify's tolerance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from gradcheck.model.dtypes import resolution
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, Values, each, flat, is_float
from opsdk.verify.kernels.agreement import Difference, measure
from opsdk.verify.kernels.launch import launch
from opsdk.verify.kernels.rounding import Rounding

_LONG = np.dtype("float64")
_PEER = 1000.0  # rounding units of the largest element
_SLACK = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_REACTIONS = 16.0  # of `measure`, which it multiplies a change by
_TRIED = 2.0**-10  # by how much numbers are changed to see which elements they enter
_FEW = 4  # terms, of whose sum is told how many they are when there are more
# Elements of which a share is counted; the least share that counts; how far counts of one number of terms lie apart.
_MANY, _LEAST, _AGREE = 64, 0.15, 2.0
_DRAWS = 8  # more draws of the change by rounding, taken where a difference shows: a step of the function may be near


class Truth:
    """What the reference gives for a call, in float64 where it can be had.

    Args:
        opdef: the op.
        call: the call that is timed.
    """

    def __init__(self, opdef: OpDef, call: Call) -> None:
        self.opdef, self.call = opdef, call
        self.outputs = self._run(call)  # in the dtype of the call
        try:
            self._long, self._wanted = call.cast(_LONG), self._run(call.cast(_LONG))
        except Exception:  # written for one dtype only
            self._long, self._wanted = call, self.outputs
        floats = [array.dtype for array in (*flat(call.inputs), *flat(self.outputs)) if is_float(array)]
        self._eps = max([resolution(dtype) for dtype in floats], default=resolution(_LONG))
        self._moved: list[Any] | None = None

    def problem(self, made: Values) -> str:
        """Returns what is wrong with a kernel's outputs, in words; nothing where they are right."""
        for position, (name, got, want) in enumerate(self._pairs(made)):
            if got is None:  # a gradient that nobody wants may be left out
                continue
            if got.shape != want.shape:
                return f"output {name!r} expected shape {want.shape} like the reference, got {got.shape}"
            found = self._difference(got, want, position)
            if found.count:
                place = f"{name}{list(found.index)}" if found.index else name
                terms = self._terms[position]
                count = 1 if terms is None else int(terms[found.index])
                return (
                    f"output {name!r} wrong in {found.count} of {got.size} elements, worst {place}: this kernel gives "
                    f"{found.got:.9g}, the reference {found.expected:.9g}"
                    f"{f', of some {count} terms' if count > _FEW else ''}"
                )
        return ""

    def unlike(self, made: Values) -> str:
        """Returns how a peer's outputs differ from the reference's; nothing where both compute the same.

        A peer may round as it likes: it is held to a thousand rounding units of the largest element.
        """
        for name, got, want in self._pairs(made):
            if got is None:
                continue
            if got.shape != want.shape:
                return f"output {name!r} expected shape {want.shape} like the reference, got {got.shape}"
            with np.errstate(all="ignore"):
                peak = np.max(np.abs(want), initial=0.0, where=np.isfinite(want))
                close = np.isclose(got, want, rtol=0.0, atol=_PEER * self._eps * float(peak), equal_nan=True)
            if not close.all():
                index = tuple(int(i) for i in np.argwhere(~close)[0])
                place = f"{name}{list(index)}" if index else name
                return (
                    f"output {name!r} unlike the reference in {int((~close).sum())} of {got.size} elements, first "
                    f"{place}: {got[index]:.9g}, the reference gives {want[index]:.9g}"
                )
        return ""

    def _pairs(self, made: Values) -> Iterator[tuple[str, Any, Any]]:
        """Yields name, a kernel's array and the reference's, for every array of the reference."""
        for name, got, want in zip(self.opdef.schema.output_names, made, self._wanted, strict=True):
            items = want if isinstance(want, list) else [] if want is None else [want]
            given = got if isinstance(got, (list, tuple)) else [got] * len(items)
            for number, (one, item) in enumerate(zip(given, items, strict=True)):
                if item is None:  # a hole of a list
                    continue
                yield f"{name}[{number}]" if isinstance(want, list) else name, one, item

    def _difference(self, got: np.ndarray, want: np.ndarray, position: int) -> Difference:
        """Returns where a kernel is off by more than twice what the reference in the call's dtype needs.

        Of a million sums some nearly cancel, and what is left of them is off by more than the usual everywhere.
        """
        found = measure(got, want, self._change(position), self._eps)
        if not (found.count and is_float(want)):
            return found
        assert self._moved is not None
        alone: list[np.ndarray] = [self._moved[position]]  # per draw, for changes of one unit
        for draw in range(1, _DRAWS):
            many = 2 + draw % 3
            more = Rounding(self._run, self._long, many * self._eps, seed=draw).together
            alone.append(np.asarray(more[position]) / many)
            pairs = zip(self._moved, more, strict=True)
            self._moved = [a if a is None or b is None else np.maximum(a, b) for a, b in pairs]
        change = self._change(position)
        assert change is not None
        own, truth = flat(self.outputs)[position], flat(self._wanted)[position]
        enough = (units for units in _SLACK if not measure(own, truth, change, self._eps, units).count)
        units = next(enough, _SLACK[-1])
        found = measure(got, want, change, self._eps, 1.0 if units == 1.0 else 2.0 * units)
        terms = self._terms[position] if found.count else None
        if terms is None:
            return found
        # Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, (2.5): n terms, added one after
        # another, lose up to n eps/2 of the sum of their magnitudes, and sqrt(n) of that where they do not repeat, as
        # those of an enlarged sample do. That sum is sqrt(n) of what independent changes of eps make, over eps.
        lost = terms ** (1.5 if self._repeats else 1.0) / 2 * np.mean(alone, axis=0)
        return measure(got, want, np.maximum(change, lost / _REACTIONS), self._eps)

    @property
    def _repeats(self) -> bool:
        """Whether the largest input has few values, so that sums round them the same way again and again."""
        largest = max((array for array in flat(self.call.inputs) if is_float(array)), key=np.size, default=np.ones(1))
        return bool(np.unique(largest).size ** 2 < largest.size)

    @cached_property
    def _terms(self) -> list[np.ndarray | None]:
        """About how many numbers enter each element of an output, None of one that is not floating.

        Told by changing half of the inputs, a quarter and so on. Of n terms all stay with a chance of (1 - share)^n:
        where the shares of elements that stay tell of one n, all have it. Else it counts how long an element still
        changes; that is right to a factor of 2 for most, and the others are held to no more than twice theirs, and no
        less than half.
        """
        middle, rng = flat(self._wanted), np.random.default_rng([0, 23])
        terms = [np.ones(array.shape) if is_float(array) else None for array in middle]
        left = [np.ones(array.shape, bool) for array in middle]
        seen: list[list[float]] = [[] for _ in middle]  # what each round tells of n
        most = max((array.size for array in flat(self._long.inputs) if is_float(array) and array.size), default=1)
        for count in 2.0 ** np.arange(1, 1 + math.ceil(math.log2(most))):
            some = each(self._long.inputs, partial(_changed, rng=rng, share=1 / count))
            try:
                made = flat(self._run(replace(self._long, inputs=some)))
            except Exception:  # out of the domain, or of other outputs: as of single terms
                break
            for k, (array, there) in enumerate(zip(middle, made, strict=True)):
                held = terms[k]
                if held is not None and array.shape == there.shape:
                    changed = (array != there) & ~np.isnan(array)
                    left[k] &= changed
                    held[left[k]] = min(2 * count, most)
                    if changed.size >= _MANY and _LEAST < changed.mean() < 1.0 - _LEAST:
                        seen[k].append(math.log1p(-float(changed.mean())) / math.log1p(-1 / count))
            if not any(map(np.any, left)):
                break
        for told, held in zip(seen, terms, strict=True):
            if held is not None and told and max(told) <= _AGREE * min(told):
                held[...] = np.median(told)
        usual = [1.0 if held is None or not held.size else float(np.median(held)) for held in terms]
        pairs = zip(terms, usual, strict=True)
        return [None if held is None else np.clip(held, count / 2, 2 * count) for held, count in pairs]

    def _change(self, position: int) -> np.ndarray | None:
        """Returns what rounding of the inputs may change in each element of an output.

        Two draws miss an element by chance, of which there are millions here: none is held to less than the median.
        """
        if self._moved is None:
            self._moved = Rounding(self._run, self._long, self._eps, seed=0).together
        moved: np.ndarray | None = self._moved[position]
        return moved if moved is None or not moved.size else np.maximum(moved, np.median(moved))

    def _run(self, call: Call) -> list[Any]:
        with np.errstate(all="ignore"):
            return launch(self.opdef, self.opdef.kernels.reference(), call.inputs, call.attrs)


def _changed(array: np.ndarray, rng: np.random.Generator, share: float) -> np.ndarray:
    """Returns an array in which a share of the numbers is another."""
    return array * np.where(rng.random(array.shape) < share, 1 + _TRIED, 1.0) if is_float(array) else array

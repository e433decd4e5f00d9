"""What the checks of behaviour share: a subject, its inputs and outputs as given, and a few cotangents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from gradcheck.model.dtypes import Array, FloatArray, as_float64, from_float64, number_count, resolution
from gradcheck.model.evaluation import call_forward, call_vjp, carries, floating_arrays, no_cotangent
from gradcheck.model.perturb import draw_cotangents
from gradcheck.model.protocol import Subject, copy_inputs, normalise_outputs


@dataclass(frozen=True)
class Results:
    """What forward and vjp gave, in memory of its own."""

    outputs: tuple[Array, ...]
    gradients: tuple[Array | None, ...]

    @property
    def arrays(self) -> tuple[Array | None, ...]:
        """Outputs and gradients in one line."""
        return (*self.outputs, *self.gradients)


@dataclass(frozen=True)
class Session:
    """One subject at the given inputs, in their own dtypes.

    Args:
        subject: what is judged.
        inputs: as given; never handed out, only copies are.
        outputs: as forward returned them once.
        flat: cotangents, shape (C, numbers in the floating and complex outputs).
        seed: for checks that need other inputs.
        eps: the coarsest resolution of an input, an output, or the arithmetic hidden in forward.
        notes: sentences for the coverage, left by the checks.
        first: copies of what the first call of vjp gave, for cotangents 0; empty before it.
    """

    subject: Subject
    inputs: tuple[object, ...]
    outputs: tuple[Array, ...]
    flat: FloatArray
    seed: int
    eps: float
    notes: list[str] = field(default_factory=list)
    first: list[tuple[Array | None, ...]] = field(default_factory=list)

    @classmethod
    def start(cls, subject: Subject, inputs: Sequence[object], generator: np.random.Generator, eps: float) -> Session:
        """Runs forward once and draws cotangents."""
        outputs = call_forward(subject, inputs)
        carried = carries(subject, outputs)
        parts = [as_float64(output).ravel() for output, wanted in zip(outputs, carried, strict=True) if wanted]
        center = np.concatenate(parts) if parts else np.zeros(0)
        coarsest = max(eps, *(resolution(array.dtype) for array in floating_arrays((*inputs, *outputs))))
        seed = int(generator.integers(2**31))
        return cls(subject, tuple(inputs), outputs, draw_cotangents(center, generator, is_short=True), seed, coarsest)

    def cotangents(self, row: int, factor: float = 1.0) -> tuple[Array, ...]:
        """Gives fresh cotangents, one per output, of its shape and dtype; zeros where it carries no gradient."""
        return self.shape_cotangents(self.flat[row] * factor)

    def shape_cotangents(self, flat: FloatArray) -> tuple[Array, ...]:
        """Cuts a flat cotangent into one fresh array per output."""
        parts: list[Array] = []
        start = 0
        for output, wanted in zip(self.outputs, carries(self.subject, self.outputs), strict=True):
            if wanted:
                stop = start + number_count(output)
                parts.append(from_float64(flat[start:stop], output))
                start = stop
            else:
                parts.append(no_cotangent(output))
        return tuple(parts)

    def fits(self, k: int, array: Array) -> bool:
        """Says whether numbers lie in the domain of input `k`."""
        return self.subject.fits(k, array, self.inputs)

    def gradients(self, cotangents: Sequence[Array]) -> tuple[Array | None, ...]:
        """Runs forward and vjp on fresh copies of the inputs.

        Raises:
            VjpError: the vjp raised.
        """
        inputs = copy_inputs(self.inputs)
        return call_vjp(self.subject, inputs, call_forward(self.subject, inputs), cotangents)

    def pull(self, inputs: Sequence[object], outputs: Sequence[Array], row: int = 1) -> tuple[Array | None, ...]:
        """Runs vjp alone, on fresh copies of inputs and outputs; gives copies of the gradients.

        Raises:
            VjpError: the vjp raised.
        """
        return copy_arrays(call_vjp(self.subject, copy_inputs(inputs), copy_arrays(outputs), self.cotangents(row)))

    def isolated(self, inputs: Sequence[object]) -> Results:
        """Runs forward and vjp, each on fresh copies and with nothing in between.

        Raises:
            VjpError: the vjp raised.
            Exception: whatever forward raises.
        """
        outputs = self.forward(inputs)
        return Results(outputs, self.pull(inputs, outputs))

    def forward(self, inputs: Sequence[object]) -> tuple[Array, ...]:
        """Runs forward alone, on fresh copies; gives copies of the outputs."""
        return copy_arrays(call_forward(self.subject, inputs))

    def run(self, inputs: Sequence[object], cotangents: Sequence[Array] | None = None) -> Results:
        """Runs forward and vjp on these very inputs, and on copies of everything else.

        Raises:
            VjpError: the vjp raised.
            Exception: whatever forward raises.
        """
        outputs = copy_arrays(normalise_outputs(self.subject.forward(*inputs)))
        pulled = self.cotangents(1) if cotangents is None else copy_arrays(cotangents)
        return Results(outputs, copy_arrays(call_vjp(self.subject, inputs, copy_arrays(outputs), pulled)))


_Item = TypeVar("_Item", Array, "Array | None")


def copy_arrays(arrays: Sequence[_Item]) -> tuple[_Item, ...]:
    """Copies arrays into C order; None stays."""
    return tuple(None if array is None else np.array(array, order="C") for array in arrays)

"""What the checks of behaviour share: a subject, its inputs and outputs as given, and a few cotangents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.cotangents import draw_cotangents
from gradcheck.dtypes import Array, FloatArray, as_float64, is_floating, resolution
from gradcheck.evaluation import call_forward, call_vjp, floating_arrays
from gradcheck.protocol import Subject, copy_inputs


@dataclass(frozen=True)
class Session:
    """One subject at the given inputs, in their own dtypes.

    Args:
        subject: what is judged.
        inputs: as given; never handed out, only copies are.
        outputs: as forward returned them once.
        flat: cotangents, shape (C, floating output elements).
        seed: for checks that need other inputs.
        eps: the coarsest resolution of an input, an output, or the arithmetic hidden in forward.
    """

    subject: Subject
    inputs: tuple[object, ...]
    outputs: tuple[Array, ...]
    flat: FloatArray
    seed: int
    eps: float

    @classmethod
    def start(cls, subject: Subject, inputs: Sequence[object], generator: np.random.Generator, eps: float) -> Session:
        """Runs forward once and draws cotangents."""
        outputs = call_forward(subject, inputs)
        parts = [as_float64(output).ravel() for output in outputs if is_floating(output.dtype)]
        center = np.concatenate(parts) if parts else np.zeros(0)
        coarsest = max(eps, *(resolution(array.dtype) for array in floating_arrays((*inputs, *outputs))))
        seed = int(generator.integers(2**31))
        return cls(subject, tuple(inputs), outputs, draw_cotangents(center, generator, is_short=True), seed, coarsest)

    def cotangents(self, row: int, factor: float = 1.0) -> tuple[Array, ...]:
        """Gives fresh cotangents, one array per output, of the output's dtype (float64 zeros for a discrete output)."""
        return self.shape_cotangents(self.flat[row] * factor)

    def shape_cotangents(self, flat: FloatArray) -> tuple[Array, ...]:
        """Cuts a flat cotangent into one fresh array per output."""
        parts: list[Array] = []
        start = 0
        for output in self.outputs:
            if is_floating(output.dtype):
                piece = flat[start : start + output.size].reshape(output.shape)
                parts.append(np.array(piece, dtype=output.dtype))
                start += output.size
            else:
                parts.append(np.zeros(output.shape))
        return tuple(parts)

    def gradients(self, cotangents: Sequence[Array]) -> tuple[Array | None, ...]:
        """Runs forward and vjp on fresh copies of the inputs.

        Raises:
            VjpError: the vjp raised.
        """
        inputs = copy_inputs(self.inputs)
        return call_vjp(self.subject, inputs, call_forward(self.subject, inputs), cotangents)

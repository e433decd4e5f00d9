"""The form of what vjp returns: count, shape and dtype of gradients, and None only where nothing depends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.model.dtypes import Array, as_float64, is_complex, is_continuous, summed_axes
from gradcheck.model.protocol import Subject
from gradcheck.report import Finding


def check_count(subject: Subject, gradients: Sequence[Array | None]) -> list[Finding]:
    """Finds a wrong number of gradients."""
    wanted = len(subject.names)
    if len(gradients) == wanted:
        return []
    names = ", ".join(subject.names)
    message = (
        f"vjp: expected {wanted} gradient{'s' * (wanted != 1)}, one per input ({names}), got {len(gradients)}; "
        "return None for an input without one"
    )
    return [Finding("gradient count", message)]


def check_shapes(subject: Subject, inputs: Sequence[object], gradients: Sequence[Array | None]) -> list[Finding]:
    """Finds gradients whose shape is not that of their input; a forgotten sum over broadcast axes is named."""
    findings = []
    for k in subject.differentiable:
        value, gradient = inputs[k], gradients[k]
        assert isinstance(value, np.ndarray)
        if gradient is None or gradient.shape == value.shape:
            continue
        name = subject.names[k]
        message = f"gradient of {name!r}: expected shape {value.shape} like {name}, got {gradient.shape}"
        axes = summed_axes(gradient.shape, value.shape)
        cause = None
        if axes:
            message += f"; sum it over {'axis' if len(axes) == 1 else 'axes'} {' and '.join(map(str, axes))}"
            cause = f"not summed over the axes {list(axes)} along which {name} was broadcast"
        findings.append(Finding("gradient shape", message, input=name, cause=cause))
    return findings


def check_dtypes(subject: Subject, inputs: Sequence[object], gradients: Sequence[Array | None]) -> list[Finding]:
    """Finds gradients whose dtype is not that of their input."""
    findings = []
    for k in subject.differentiable:
        value, gradient = inputs[k], gradients[k]
        assert isinstance(value, np.ndarray)
        if gradient is None or gradient.dtype == value.dtype:
            continue
        name = subject.names[k]
        too_wide = is_complex(gradient.dtype) and not is_complex(value.dtype)
        remedy = "take its real part" if too_wide else f"cast it with .astype({name}.dtype)"
        message = f"gradient of {name!r}: expected dtype {value.dtype} like {name}, got {gradient.dtype}; {remedy}"
        findings.append(Finding("gradient dtype", message, input=name))
    return findings


def check_discrete(subject: Subject, inputs: Sequence[object], gradients: Sequence[Array | None]) -> list[Finding]:
    """Finds a gradient for an input that cannot have one; None and an array of zeros are both accepted."""
    findings = []
    for k, (value, gradient) in enumerate(zip(inputs, gradients, strict=True)):
        continuous = isinstance(value, np.ndarray) and is_continuous(value.dtype)
        if continuous or gradient is None or not np.any(gradient):
            continue
        name, kind = subject.names[k], value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        message = f"gradient of {name!r}: expected None, as {name} is {kind}, got {gradient.dtype} values; return None"
        findings.append(Finding("nondifferentiable", message, input=name))
    for k in subject.declared:
        gradient = gradients[k]
        if gradient is not None and np.any(gradient):
            name = subject.names[k]
            message = (
                f"gradient of {name!r}: expected None, as {name} is declared non-differentiable, "
                f"got values up to {np.max(np.abs(as_float64(gradient))):.6g}; return None or remove the declaration"
            )
            findings.append(Finding("nondifferentiable", message, input=name))
    return findings

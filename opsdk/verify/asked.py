"""Asked: the gradients of some inputs and not of others, and of outputs to some of which nobody sent a gradient.

Of few, every subset is asked for at a call or two; elsewhere each alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from gradcheck.model.dtypes import resolution
from opsdk.define.kernel.kernel import Kernel
from opsdk.verify import gradients
from opsdk.verify.gradients import carriers, rule_of
from opsdk.verify.inputs.calls import Call, flat
from opsdk.verify.inputs.domains import held
from opsdk.verify.kernels.agreement import rounds_alike, same_bits
from opsdk.verify.kernels.launch import launch
from opsdk.verify.kernels.rounding import Rounding
from opsdk.verify.session import Case, said

_LONG = np.dtype("float64")
_FEW = 4  # of which every subset is tried; of more, each alone and all but one
_CALLS = 2  # at which they are


def _subsets(case: Case, positions: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields subsets of positions, neither none nor all; each alone comes first."""
    count = len(positions)
    sizes = [1]
    if any(case.call.reason == call.reason for call in case.session.calls[:_CALLS]):
        sizes = list(range(1, max(count, 2))) if count <= _FEW else [1, count - 1]
    for size in sizes:
        yield from combinations(positions, size)


def check_mask(case: Case, outputs: Any, cotangents: Any, given: list[Any]) -> None:
    """Asks for some gradients: each must be the one that is given when all are asked for.

    Bit by bit from Python. A compiler sees two functions, joins other products with sums, and orders a row's sum
    otherwise: from compiled kernels the gradient may differ as far as rounding takes it.
    """
    opdef = case.opdef
    rule = rule_of(opdef)
    if rule.mask is None or len(wrt := gradients.wrt_of(opdef)) < 2:
        return
    case.did("mask")
    told: set[int] = set()
    for asked in _subsets(case, wrt):
        mask = [i in asked for i in range(len(opdef.schema.inputs))]
        made = gradients.by_rule(opdef, case.kernel, case.call, outputs, cotangents, mask)
        for position in asked:
            together, apart = flat([given[position]]), flat([made[position]])
            if position in told or _agree(case, cotangents, mask, position, together, apart):
                continue
            told.add(position)
            name = opdef.schema.input_names[position]
            beside = [opdef.schema.input_names[i] for i in asked if i != position]
            alone = f"it with {', '.join(beside)} only" if beside else "it alone"
            message = (
                f"{opdef.subject}, gradient of {name!r}: expected the same when needs_input_grad asks for {alone}, "
                "got another; look at what is left out for the other inputs"
            )
            case.find(f"mask.{name}", message, input=name)


def _agree(
    case: Case,
    cotangents: Any,
    mask: list[bool],
    position: int,
    together: list[np.ndarray],
    apart: list[np.ndarray],
) -> bool:
    """Whether gradients of an input are the same, as far as its kernel and its op promise."""
    opdef = case.opdef
    if len(apart) != len(together):
        return False
    pairs = list(zip(together, apart, strict=True))
    agree = all(same_bits(a, b) for a, b in pairs)
    if not agree and opdef.traits.accuracy is not None:  # an adaptive step depends on all that is integrated
        agree = all(_is_as_accurate(opdef.traits.accuracy, *pair) for pair in pairs)
    if not agree and case.kernel is not rule_of(opdef).op.opdef.kernels.reference():
        agree = gradients_round_alike(case, case.kernel, cotangents, mask, [position], pairs)
    return agree


def _is_as_accurate(accuracy: float, first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two gradients may both be within the declared accuracy of the right one."""
    if (first.shape, first.dtype) != (second.shape, second.dtype):
        return False
    return bool(np.all(np.abs(first - second) <= 2.0 * accuracy * np.max(np.abs(first), initial=0.0)))


def gradients_round_alike(
    case: Case,
    kernel: Kernel | None,
    cotangents: Any,
    mask: list[bool] | None,
    positions: Sequence[int],
    pairs: Sequence[tuple[np.ndarray, np.ndarray]],
) -> bool:
    """Whether two computations of some inputs' gradients differ by no more than rounding, as a kernel answers to it."""
    opdef = case.opdef

    def run(there: Call) -> list[Any]:
        outputs = launch(opdef, opdef.kernels.reference(), there.inputs, there.attrs)
        entering = there.cast_values(cotangents, there.float_dtype or _LONG)
        made = gradients.by_rule(opdef, kernel, there, outputs, entering, mask)
        return [made[i] for i in positions]

    eps = max(resolution(array.dtype) for pair in pairs for array in pair)
    constant, holding = opdef.constant_inputs(), partial(held, opdef)
    return rounds_alike(Rounding(run, case.call, eps, case.session.seed, constant, holding=holding), pairs)


def check_undefined(case: Case, outputs: Any, cotangents: Any) -> None:
    """Sends None for some cotangents: each must count as zeros."""
    opdef = case.opdef
    positions = [i for i in carriers(opdef) if not isinstance(cotangents[i], list)]
    if rule_of(opdef).materialize or len(carriers(opdef)) < 2 or not positions:
        return
    case.did("materialize")
    told: set[int] = set()
    for absent in _subsets(case, positions):
        if told.intersection(absent):
            continue
        zeros = [np.zeros_like(c) if i in absent else c for i, c in enumerate(cotangents)]
        nones = [None if i in absent else c for i, c in enumerate(cotangents)]
        try:
            want = gradients.by_rule(opdef, case.kernel, case.call, outputs, zeros)
            got = gradients.by_rule(opdef, case.kernel, case.call, outputs, nones)
            close = all(np.allclose(a, b, equal_nan=True) for a, b in zip(flat(want), flat(got), strict=True))
            problem = "" if close else "got other gradients"
        except Exception as error:
            problem = f"raised {said(error)}"
        if problem:
            told.update(absent)
            names = [f"d{opdef.schema.output_names[i]}" for i in absent]
            given = " and ".join(f"{name}=None" for name in names)
            message = f"{opdef.subject}, backward: expected {given} to count as zeros, {problem}"
            case.find(f"materialize.{names[0]}", message)

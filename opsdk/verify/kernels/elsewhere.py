"""Elsewhere: every kernel beside the reference at sizes that no sample has, where values tie, are great, or nan.

Nothing is asked of a reference that is not finite by itself: what overflows in its formula need not in a kernel's.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from opsdk.backends.call import normalise
from opsdk.backends.call.buffers import infer
from opsdk.backends.call.language import language_of
from opsdk.core.errors import KernelNotFoundError, OpsdkError
from opsdk.define.call import complete_attrs
from opsdk.define.gradient import GradientInfer
from opsdk.define.kernel.kernel import Kernel
from opsdk.verify.inputs.calls import copies, each, flat, is_float, is_inexact, refill
from opsdk.verify.inputs.further import INTEGERS, further_calls
from opsdk.verify.kernels.agreement import check_values, same_bits, where_unlike
from opsdk.verify.kernels.launch import plan_of, results, results_of
from opsdk.verify.kernels.memory import FEW, stays_in_memory
from opsdk.verify.kernels.reach import overflows
from opsdk.verify.kernels.rows import variants
from opsdk.verify.kernels.watched import watch
from opsdk.verify.session import Case, Session, said

# Values at which it overflows, or not, how a formula is written; further down they count.
_BEYOND = ("values: huge", "values: one huge")

# Any, in this file: one entry per result of a call, an array, a list of arrays, or None.


def check_elsewhere(session: Session) -> None:
    """Compares every kernel of an author's, and the infer rule, with the reference at further calls."""
    opdef = session.opdef
    reference = opdef.kernels.reference()
    others = session.others()
    is_by_hand = opdef.gradient_of is None and not isinstance(opdef.infer, GradientInfer)
    is_asked = others or (is_by_hand and reference is not None and session.wants(reference))
    if opdef.schema.namespace == "opsdk" or reference is None or not is_asked:
        return
    refused = tried = 0
    given: dict[Kernel, list[tuple[Case, list[Any] | None]]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that of a mean of nothing
        for call in further_calls(opdef, session.calls, session.seed, others):
            tried += 1
            truth = truth_of(session.reference(call))
            if truth is None:
                refused += 1
                continue
            for kernel in others:
                if call.reason.startswith(INTEGERS) and not language_of(kernel).may_crash:
                    continue  # compiled for each dtype anew, which takes seconds, of what it is told
                variant = next(variants(opdef, kernel, call), None)
                if variant is not None:
                    pair = session.case(kernel, variant), truth if variant is call else None
                    given.setdefault(kernel, []).append(pair)
        for pairs in given.values():
            small = [case for case, _ in pairs if _numbers(case) <= FEW]  # for races
            if not small or watch(small, compiles=False) is not None:
                for case, truth in pairs:
                    check_call(case, truth)
    for pairs in given.values() if session.thorough and not session.has("bounds", "runs", "race") else ():
        watch([case for case, _ in pairs], compiles=True)
    if refused:
        is_much = 2 * refused >= tried and not opdef.shapes and opdef.gradient_of is None
        remedy = "; say shapes in domain=, as opsdk.domain.shape does" if is_much else ""
        told = f"the reference refused {refused} of {tried} calls of other sizes and values{remedy}"
        session.skipped[f"{opdef.name}: {told}"] = None


def _numbers(case: Case) -> int:
    return sum(array.size for array in flat(case.call.inputs))


def truth_of(case: Case) -> list[Any] | None:
    """Returns what the reference gives, held to the infer rule; None where either refuses the call."""
    opdef, call, kernel = case.opdef, case.call, case.kernel
    attrs = complete_attrs(opdef, call.attrs)
    try:
        plan = plan_of(opdef, kernel, call.inputs, call.attrs)
        specs = None if isinstance(opdef.infer, GradientInfer) else infer(opdef, call.inputs, attrs)
        inputs = copies(call.inputs)
        fresh = normalise.as_outputs(opdef, plan.kernel_alone(*inputs, **attrs))
    except Exception:
        return None
    if specs is not None:
        case.did("infer")
        try:
            normalise.check_specs(opdef, fresh, specs)
        except OpsdkError as error:
            case.find_raised("infer", str(error), error)
            return None
    try:
        return results_of(opdef, plan.normalised(fresh[0] if plan.single else tuple(fresh), inputs), inputs)
    except OpsdkError:  # of values that are no sample's
        return None


def check_call(case: Case, truth: list[Any] | None) -> None:
    """Compares a kernel with the reference at one further call; without its truth, which is another dtype's."""
    opdef, call, kernel = case.opdef, case.call, case.kernel
    if truth is None:
        try:
            truth = results(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
        except Exception:  # what refuses a dtype at the samples is told there
            return
    if not stays_in_memory(case, as_text=_numbers(case) <= FEW):
        return
    try:
        made = results(opdef, kernel, call.inputs, call.attrs)
    except KernelNotFoundError:  # a dtype that the source has no function for, which is told at the samples
        return
    except Exception as error:
        unlike = f"{opdef.subject}, kernel {kernel}: sample {call} expected to run as the reference does"
        case.find_raised(
            "runs", str(error) if isinstance(error, OpsdkError) else f"{unlike}, raised {said(error)}", error
        )
        return
    compare(case, made, truth)


def compare(case: Case, made: list[Any], truth: list[Any]) -> None:
    """Compares what a kernel and the reference made of a call; what is not close is looked at more closely."""
    if not case.opdef.traits.deterministic or case.call.reason in _BEYOND:
        return
    given = flat(case.call.inputs)
    is_nan = any(is_float(array) and np.isnan(array).any() for array in given)
    is_finite = all(np.isfinite(array).all() for array in given if is_inexact(array))
    case.did("value")
    if is_nan:
        made = [*_without_spread(case, made, truth)]
    if not _close(made, truth, is_nan=is_nan, is_finite=is_finite):
        is_finite = is_finite or overflows(case.opdef, case.call)  # beside the nan of what overflows
        check_values(case, made, 1.0, lambda got, want: judged(got, want, is_nan=is_nan, is_finite=is_finite))


def _without_spread(case: Case, made: list[Any], truth: list[Any]) -> Iterator[Any]:
    """Yields a kernel's results with nan where the reference has it though no number in the place of nan counts there.

    A product with a matrix of many zeros spreads nan to all elements, a loop over what is not 0 does not.
    """
    opdef, call = case.opdef, case.call
    pairs = list(zip(flat(made), flat(truth), strict=False))
    lost = [is_float(g) and g.shape == w.shape and bool(np.any(np.isnan(w) & np.isfinite(g))) for g, w in pairs]
    if not any(lost):
        yield from made
        return
    there = []
    for number in (0.375, -1.75):
        inputs = each(call.inputs, partial(_filled, number=number))
        try:
            there.append(flat(results(opdef, opdef.kernels.reference(), inputs, call.attrs)))
        except Exception:  # such numbers may lie outside of its domain
            yield from made
            return
    of = {
        id(got): np.where(np.isnan(want) & (one == other), np.nan, got).astype(got.dtype)
        for (got, want), is_lost, one, other in zip(pairs, lost, *there, strict=True)
        if is_lost and one.shape == got.shape == other.shape
    }
    if any(not same_bits(got, of.get(id(got), got)) for got, _ in pairs):
        told = "gives numbers where nan of an input makes nan in the reference, and no number in its place counts"
        case.session.notes[f"{opdef.name}, kernel {case.kernel}: {told}; not judged"] = None
    yield from refill(made, [of.get(id(array), array) for array in flat(made)])


def _filled(array: np.ndarray, number: float) -> np.ndarray:
    return np.where(np.isnan(array), number, array).astype(array.dtype) if is_float(array) else array


def _close(made: list[Any], truth: list[Any], *, is_nan: bool, is_finite: bool) -> bool:
    pairs = list(zip(flat(made), flat(truth), strict=False))
    if len(pairs) != len(flat(truth)) or len(pairs) != len(flat(made)):
        return False
    return all(_is_close(got, want, is_nan, is_finite) for got, want in pairs)


def _is_close(got: np.ndarray, want: np.ndarray, is_nan: bool, is_finite: bool) -> bool:
    if got.shape != want.shape:
        return False
    if not is_inexact(want) or not is_inexact(got):
        return bool(np.array_equal(got, want))
    return same_bits(judged(got, want, is_nan=is_nan, is_finite=is_finite), want.astype(got.dtype))


def judged(got: np.ndarray, want: np.ndarray, *, is_nan: bool, is_finite: bool) -> np.ndarray:
    """Returns a kernel's numbers with those of the reference where the reference tells nothing.

    Of finite inputs that is where it is not finite, and of infinite ones where it is nan. Which of nan and infinity a
    number is where neither is finite depends on how a formula is written. And of digits two thirds are enough where a
    loop ends too early or values tie: samples ask for the others.
    """
    if not is_inexact(want) or not is_inexact(got) or got.shape != want.shape:
        return got
    silent = ~np.isfinite(want)
    if not is_finite:
        silent &= ~np.isfinite(got) if is_nan else ~np.isfinite(got) | np.isnan(want)
    return where_unlike(np.where(silent, want, got).astype(got.dtype), want)

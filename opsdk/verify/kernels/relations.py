"""Relations: results that have to agree where a call is changed in memory, scaled, made of whole numbers, broadcast."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.checks.layouts import fortran_copy, reversed_copy, strided_copy
from gradcheck.model.dtypes import as_float64, resolution
from gradcheck.numeric.tolerance import gradients_close
from opsdk.core.dtype import DEFAULT, float64
from opsdk.define.call import complete_attrs
from opsdk.define.infer import Assumed, like
from opsdk.define.schema.binding import reorder
from opsdk.expr.scalar import ScalarFunction
from opsdk.verify.gradients import by_rule, draw_cotangents, rule_of
from opsdk.verify.inputs.calls import Call, Values, called, each, flat, is_float, paired, refill, result_names
from opsdk.verify.kernels.launch import launch, results
from opsdk.verify.kernels.rows import serves
from opsdk.verify.session import Case, Session, said

_CALLS = 2  # with the most dimensions first; a layout that is misread is misread at any size
_UNITS = 1024.0  # rounding units: sums of products in another order
_ROUNDED = 1e-12  # of a value: one ufunc may round unlike another

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "transposed": fortran_copy,
    "strided": strided_copy,
    "reversed": reversed_copy,
}
# Small numbers and the ends of each dtype, where a value that is wrapped, or a dtype that is too narrow, shows.
_NUMBERS = (
    np.array([True, False, True]),
    np.array([0, 1, 3, 200, 255], np.uint8),
    np.array([-(2**31), -3, 2, 2**31 - 1], np.int32),
)


def check_linear(session: Session) -> None:
    """Holds an op that was declared linear to f(2x - 3z) = 2 f(x) - 3 f(z), in all floating inputs together."""
    opdef = session.opdef
    if not opdef.traits.linear:
        return
    rng = np.random.default_rng([session.seed, 13])
    for call in session.calls:
        arrays = flat(call.inputs)
        others = [np.asarray(rng.standard_normal(a.shape)).astype(a.dtype) if is_float(a) else a for a in arrays]
        mixed = [np.asarray(2 * a - 3 * b) if is_float(a) else a for a, b in zip(arrays, others, strict=True)]
        points = [refill(call.inputs, point) for point in (arrays, others, mixed)]
        at_x, at_z, at_both = (launch(opdef, opdef.kernels.reference(), point, call.attrs) for point in points)
        case = session.reference(call)
        case.did("linear")
        for (name, x, z), both in zip(paired(opdef.schema.output_names, at_x, at_z), flat(at_both), strict=True):
            if not is_float(x) or not both.size:
                continue
            expected = 2 * x - 3 * z
            peak = np.max(np.abs(2 * x) + np.abs(3 * z), initial=1.0)
            if not np.all(np.abs(both - expected) <= _UNITS * resolution(both.dtype) * peak):
                worst = np.unravel_index(int(np.argmax(np.abs(both - expected))), both.shape)
                message = (
                    f"{opdef.subject}, output {name!r}: declared linear, expected f(2x - 3z) = 2 f(x) - 3 f(z), "
                    f"got {both[worst]:.6g} for {expected[worst]:.6g}; remove linear=True"
                )
                case.find(f"linear.{name}", message, index=tuple(int(i) for i in worst))


def check_layouts(session: Session) -> None:
    """Runs every kernel on inputs in other layouts, and compares with contiguous ones of the same values."""
    opdef = session.opdef
    if not opdef.traits.deterministic:
        return
    ranked = sorted(session.calls, key=lambda call: -max((a.ndim for a in flat(call.inputs) if a.size > 1), default=0))
    calls = [call for call in ranked[:_CALLS] if any(a.size > 1 and a.ndim for a in flat(call.inputs))]
    for kernel in opdef.kernels:
        if kernel.key.place == "cpu" and session.wants(kernel):
            kernel = opdef.kernels.loaded(kernel)
            for call in calls:
                there = call if kernel.key.dtype is None else call.cast(kernel.key.dtype)
                if serves(opdef, kernel, there):
                    _check_layouts_of(session.case(kernel, there))


def _check_layouts_of(case: Case) -> None:
    opdef, call, kernel = case.opdef, case.call, case.kernel
    try:
        expected = results(opdef, kernel, call.inputs, call.attrs)
    except Exception:  # said where the kernels are run
        return
    case.did("layout")
    for what, inputs in _laid_out(call):
        try:
            made = results(opdef, kernel, inputs, call.attrs)
        except Exception as error:
            case.find("layout", f"{opdef.subject}, kernel {kernel}: expected to accept {what}, raised {said(error)}")
            return
        for name, want, got in paired(result_names(opdef), expected, made):
            if not _agree(want, got):
                message = (
                    f"{opdef.subject}, {called(opdef, name)}: expected what contiguous inputs give, got other values "
                    f"for {what}; index by element, not by memory"
                )
                case.find(f"layout.{name}", message)


def _laid_out(call: Call) -> Iterator[tuple[str, Values]]:
    """Yields inputs of a call in other layouts, with words for them: all alike, and every other one."""
    for word, change in LAYOUTS.items():
        yield f"{word} inputs in memory", each(call.inputs, change)
    arrays = flat(call.inputs)
    if len(arrays) > 1:
        mixed = [fortran_copy(array) if i % 2 else array for i, array in enumerate(arrays)]
        yield "transposed inputs beside contiguous ones", refill(call.inputs, mixed)


def _agree(want: np.ndarray, got: np.ndarray) -> bool:
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    if not is_float(want) or not want.size:
        return bool(np.array_equal(want, got))
    return gradients_close(as_float64(got), as_float64(want), resolution(want.dtype), 1.0)


def check_whole_numbers(session: Session) -> None:
    """Compares an op of one expression with the function that it was read from, which NumPy runs on whole numbers.

    Values and dtypes have to agree, but for float64 that NumPy makes of whole numbers, which is rounded to the default
    float; what either side refuses is not compared.
    """
    opdef = session.opdef
    reference = opdef.kernels.reference()
    if reference is None or reference.form != ScalarFunction.kernel_form:
        return
    if opdef.function is None or opdef.gradient_of is not None or not session.calls:
        return
    written = reorder(opdef.function, opdef.schema.input_names)
    attrs = session.calls[0].attrs
    for numbers in _NUMBERS:
        arrays = [np.roll(numbers, i) for i in range(len(opdef.schema.inputs))]
        call = Call(arrays, attrs, f"whole numbers of {numbers.dtype}", False)
        try:
            expected = written(*[array.copy() for array in arrays], **complete_attrs(opdef, attrs))
            got = launch(opdef, reference, arrays, attrs)
        except Exception:  # what is refused gives no number
            continue
        wanted = list(expected) if isinstance(expected, tuple) else [expected]
        if len(wanted) == len(got):
            _compare_numbers(session.reference(call), got, wanted)


def _compare_numbers(case: Case, made: list[Any], wanted: list[Any]) -> None:  # Any: arrays and numbers
    opdef = case.opdef
    case.did("value")
    for name, got, want in zip(opdef.schema.output_names, made, wanted, strict=True):
        if not isinstance(want, (np.ndarray, np.generic)):
            continue  # a number of Python, which takes the dtype of what is beside it
        is_rounded = want.dtype == float64 and got.dtype == DEFAULT
        with np.errstate(over="ignore"):
            right = want.astype(got.dtype) if is_rounded else want
        rtol = resolution(got.dtype) if is_rounded else _ROUNDED
        if got.dtype == right.dtype and np.allclose(got, right, rtol=rtol, atol=0.0, equal_nan=True):
            continue
        message = (
            f"{opdef.subject}, output {name!r}: for {case.call.reason} expected {want.tolist()} of {want.dtype}, which"
            f" NumPy gives for the function that was written, got {got.tolist()} of {got.dtype}"
        )
        case.find(f"value.{name}", message)


def check_broadcasting(session: Session) -> None:
    """Says which inputs of an op with the stock rule `like` broadcast without their gradients being summed."""
    opdef = session.opdef
    inputs = opdef.schema.inputs
    if type(opdef.infer) not in (like, Assumed) or opdef.gradient_of is not None or opdef.grad is None:
        return
    if len(inputs) < 2 or opdef.schema.mutated_inputs or any(decl.kind != "tensor" for decl in inputs):
        return
    call = next((c for c in session.calls if not c.attrs and _is_alike(c.inputs)), None)
    names = [decl.name for i, decl in enumerate(inputs) if call is not None and i and _grows(session, call, i)]
    if names:
        listed = ", ".join([inputs[0].name, *names[:-1]])
        session.warn(
            f"{opdef.name}: {listed} and {names[-1]} broadcast, but gradients are not summed: "
            "declare infer=opsdk.infer.broadcast"
        )


def _is_alike(inputs: Sequence[Any]) -> bool:
    """Whether all inputs are floating matrices of one shape."""
    return all(is_float(a) and a.ndim == 2 and a.shape == inputs[0].shape and min(a.shape) > 1 for a in inputs)


def _grows(session: Session, call: Call, position: int) -> bool:
    """Whether an input may be a row of the others, whose gradient then is not a row."""
    opdef = session.opdef
    row = call.inputs[position][0].copy()
    there = replace(call, inputs=[row if i == position else a for i, a in enumerate(call.inputs)])
    try:
        outputs = launch(opdef, opdef.kernels.reference(), there.inputs, there.attrs)
    except Exception:  # it does not broadcast, which is what `like` says
        return False
    if any(output.shape != call.inputs[0].shape for output in outputs):
        return False
    cotangents = draw_cotangents(opdef, outputs, np.random.default_rng([session.seed, 17]))
    try:
        made = by_rule(opdef, rule_of(opdef).op.opdef.kernels.reference(), there, outputs, cotangents)
    except Exception:
        return True
    return made[position] is not None and made[position].shape != row.shape

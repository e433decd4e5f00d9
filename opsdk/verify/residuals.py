"""Residuals under trial: what a call keeps for its backward has to be that call's own, and the same in every kernel.

Arrays are compared with the reference's, as outputs are, where kernels are run. Of an object of Python only what the
backward makes of it can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gradcheck.model.dtypes import resolution
from opsdk.backends.call.arrays import with_mutated
from opsdk.define.kernel.kernel import Kernel, KernelId
from opsdk.verify.gradients import by_rule, carriers, draw_cotangents, launch_reference, rule_of
from opsdk.verify.inputs.calls import Call, copies, each, flat, is_inexact, other, outputs_of
from opsdk.verify.inputs.domains import wrongly_kept
from opsdk.verify.kernels.agreement import measure, same_bits
from opsdk.verify.kernels.launch import Outputs, launch, plan_of
from opsdk.verify.kernels.rows import serves
from opsdk.verify.session import Case, Session

_REUSED = "a call changes what the one before kept, make a new one in each"


def keeps_wrong(session: Session) -> list[Kernel]:
    """Returns the kernels of an op that give its backward wrong residuals or positions, with which none is judged.

    Positions that were never written, or lie anywhere, would end the process in a backward that goes by them.
    """
    opdef, rule = session.opdef, session.opdef.grad
    names = dict.fromkeys(opdef.schema.residual_names, "residual")
    if rule is not None:
        read = set(rule.saves("output")).difference(carriers(opdef))
        names |= {opdef.schema.output_names[i]: "output" for i in read}
    wrong = {key: name for key, check in session.findings for name in names if check == f"value.{name}"}
    kernels = [kernel for kernel in opdef.kernels if kernel is not opdef.kernels.reference()]
    kept = []
    for kernel in kernels:
        name = wrong.get(KernelId.of(kernel, None).at_any_dtype)
        if name is not None:
            kept.append(kernel)
            told = f"no gradient is judged after kernel {kernel}, whose {names[name]} {name!r} is wrong"
            session.skipped[f"{opdef.name}: {told}"] = None
    return kept


def going_by(session: Session, call: Call, name: str) -> list[str]:
    """Returns the residuals with which the gradient of an input changes, by the references of an op and backward."""
    opdef, rule = session.opdef, rule_of(session.opdef)
    kept = launch_reference(opdef, call)
    cotangents = draw_cotangents(opdef, kept, np.random.default_rng([session.seed, 9]))
    position = opdef.schema.input_names.index(name.partition("[")[0])

    def gradient(residuals: Sequence[Any]) -> list[Any]:
        outputs = Outputs(kept)
        outputs.residuals = residuals
        return flat([by_rule(opdef, rule.op.opdef.kernels.reference(), call, outputs, cotangents)[position]])

    first, names = gradient(kept.residuals), []
    for i in rule.saves("residual"):
        value = kept.residuals[i]
        changed = [*kept.residuals[:i], _changed(value), *kept.residuals[i + 1 :]]
        try:
            is_same = isinstance(value, np.ndarray) and all(map(same_bits, first, gradient(changed)))
        except Exception:  # it refuses others
            is_same = False
        if not is_same:
            names.append(opdef.schema.residual_names[i])
    return names


# Any: an array, or an object of Python, which stays.
def _changed(value: Any) -> Any:
    """Returns a residual with other numbers; what may be positions holds the same ones in another order."""
    if not isinstance(value, np.ndarray):
        return value
    if is_inexact(value):
        return other(value)
    return np.ascontiguousarray(value.ravel()[::-1].reshape(value.shape))


def check_kept(session: Session) -> None:
    """Holds what the reference keeps for the backward to the op's domain; other kernels are compared with it."""
    opdef = session.opdef
    if not any(name in opdef.traits.domain for name in opdef.schema.residual_names):
        return
    for call in session.calls:
        try:
            wrong = wrongly_kept(opdef, call, launch_reference(opdef, call).residuals)
        except Exception:  # told where kernels are run
            continue
        if wrong:
            message = f"{opdef.subject}: expected {wrong}; correct what the forward keeps, or the domain"
            session.reference(call).find("infer.domain", message)


def check_reused(session: Session) -> None:
    """Looks whether the reference keeps arrays that its next call changes: what reads them cannot be judged then."""
    opdef = session.opdef
    call = next((call for call in session.calls if any(array.size for array in flat(call.inputs))), None)
    if call is None or not opdef.schema.residual_names or not opdef.traits.deterministic:
        return
    case = session.reference(call)
    with suppress(Exception):  # told where kernels are run
        kept = _kept(case, copies(call.inputs)).residuals
        before = [copies([value])[0] if isinstance(value, np.ndarray) else None for value in kept]
        with suppress(Exception):  # other values may be no call of the op
            launch(opdef, case.kernel, each(call.inputs, other), call.attrs)
        for name, value, held in zip(opdef.schema.residual_names, kept, before, strict=True):
            if held is not None and not same_bits(value, held):
                message = f"expected it to stay as it is, another call changed it; {_REUSED}"
                case.find(f"residual.{name}", f"{opdef.subject}, residual {name!r}: {message}")


def check_residuals(session: Session) -> None:
    """Asks for gradients from the residuals of every kernel, again, after another call and after inputs changed."""
    opdef = session.opdef
    rule = opdef.grad
    if rule is None or not rule.saves("residual") or not opdef.traits.deterministic or session.has("vjp"):
        return
    for kernel in opdef.kernels:
        if kernel.key.place != "cpu" or not session.wants(kernel):
            continue
        kernel = opdef.kernels.loaded(kernel)
        for call in session.calls:
            there = call if kernel.key.dtype is None else call.cast(kernel.key.dtype)
            if not call.extra and serves(opdef, kernel, there):
                _check(session.case(kernel, there))


def _check(case: Case) -> None:
    opdef, call = case.opdef, case.call
    inputs = copies(call.inputs)
    try:
        kept = _kept(case, inputs)
        cotangents = draw_cotangents(opdef, kept, np.random.default_rng([case.session.seed, 21]))
        first = _gradients(case, kept, cotangents)
    except Exception:  # told where kernels are run, and where the gradient is judged
        return
    case.did("residual")

    def is_kept(what: str, remedy: str) -> bool:
        if all(map(same_bits, first, _gradients(case, kept, cotangents))):
            return True
        _find(case, f"expected the same gradient {what}, got another; {remedy}")
        return False

    if not is_kept("from a second backward", "the backward changes what it is given, work on a copy"):
        return
    with suppress(Exception):  # other values may be no call of the op
        launch(opdef, case.kernel, each(call.inputs, other), call.attrs)
    if not is_kept("after another call", _REUSED):
        return
    for array in flat(inputs):
        array[...] = other(array)
    if is_kept("after the inputs changed", "it holds an input itself, copy that, or name the input in the backward"):
        _compare(case, first, cotangents)


def _kept(case: Case, inputs: list[Any]) -> Outputs:
    """Returns outputs and residuals of a call on the arrays themselves, which a kernel might keep."""
    opdef, call = case.opdef, case.call
    made = plan_of(opdef.whole, case.kernel, inputs, call.attrs).run(inputs, call.attrs)
    every = outputs_of(opdef.whole, with_mutated(opdef.whole, made, inputs))
    count = len(opdef.schema.outputs)
    outputs = Outputs(copies(every[:count]))
    outputs.residuals = every[count:]
    return outputs


def _gradients(case: Case, kept: Outputs, cotangents: list[Any]) -> list[Any]:
    return flat(by_rule(case.opdef, None, case.call, kept, cotangents))


def _compare(case: Case, got: list[Any], cotangents: list[Any]) -> None:
    """Compares gradients from a kernel's residuals with those from the reference's."""
    opdef = case.opdef
    if case.kernel is opdef.kernels.reference():
        return
    wanted = _gradients(case, launch_reference(opdef, case.call), cotangents)
    for want, one in zip(wanted, got, strict=True):
        eps = math.sqrt(resolution(want.dtype))  # two ways to one number: how well it is determined nobody knows
        peak = float(np.max(np.abs(want), initial=0.0))
        if want.shape != one.shape or measure(one, want, np.zeros(want.shape), eps, floor=peak).count:
            _find(case, "expected one that gives the gradient which the reference's gives, got another")
            return


def _find(case: Case, message: str) -> None:
    rule = case.opdef.grad
    assert rule is not None
    names = [case.opdef.schema.residual_names[i] for i in rule.saves("residual")]
    listed = f"residual{'s' if len(names) > 1 else ''} {' and '.join(map(repr, names))}"
    case.find(f"residual.{names[0]}", f"{case.opdef.subject}, {listed}: {message}")

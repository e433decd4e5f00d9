"""The static runtime against bare arrays: a Program of one op and its gradients must give the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import (
    DerivativeOrderError,
    GradientMissingError,
    KernelNotFoundError,
    OpsdkError,
    ProgramError,
)
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.static import Executor, Program, Scope, Variable, data, gradients, program_guard
from opsdk.verify.inputs.calls import Call, flat, flat_names, is_float, outputs_of, refill
from opsdk.verify.kernels.agreement import same_bits
from opsdk.verify.kernels.launch import launch
from opsdk.verify.runtimes.blame import Blame, forward_blame, gradient_blame
from opsdk.verify.runtimes.rule import carriers, draw_cotangents, gradients_by_leaf
from opsdk.verify.session import Session
from opsdk.verify.subject import second_order, through_tape

# Contributions to one gradient are added in another order by either runtime.
_CLOSE = 1e-5

_OPEN, _LEADING, _KNOWN = slice(None), slice(1), slice(0)  # which sizes of the inputs a Program does not know


def check_programs(session: Session) -> None:
    """Runs every call, and its gradients, as a Program, with sizes open where the op takes that.

    All sizes are open first: an op that takes one for a number would compute with it. Then the leading ones alone are.
    """
    opdef = session.opdef
    if not opdef.schema.inputs or opdef.schema.mutated_inputs or not opdef.traits.deterministic:
        return
    for call in session.calls:
        if any(array.ndim > 1 for array in flat(call.inputs)):
            _try_open(session, call)
        blame = forward_blame(session, call)
        try:
            try:
                _compare(session, blame, call, _LEADING)
            except OpsdkError:  # a rule may need every size
                blame = forward_blame(session, call)
                _compare(session, blame, call, _KNOWN)
            session.did(blame.row, "static")
        except KernelNotFoundError as error:
            session.skipped[f"in a Program: {error}"] = None
        except Exception as error:
            message = f"{opdef.subject}, in a Program: sample {call} expected to run as on arrays, "
            message += f"raised {type(error).__name__}: {error}"
            session.find_raised(blame.row, "static", message, error, call, at=blame.at)


def _try_open(session: Session, call: Call) -> None:
    """Compares a call with all sizes open; an op may refuse that, since it needs to know one, but not compute on."""
    try:
        _compare(session, forward_blame(session, call), call, _OPEN)
    except ProgramError as error:
        session.notes[f"{session.opdef.name}: in a Program it needs known sizes: {error}"] = None
    except Exception:  # an infer rule that needs sizes, which tells so in its own words where they are open
        return


def _compare(session: Session, blame: Blame, call: Call, opened: slice) -> None:
    opdef = session.opdef
    wanted = launch(opdef, None, call.inputs, call.attrs)
    if any(value is None for value in wanted):
        return  # a gradient op with a disconnected input: a Program has no variable for a gradient that is None
    feed: dict[str, np.ndarray] = {}
    program = Program()
    with program_guard(program, Program()):
        variables = [_data(f"in{i}", array, feed, opened) for i, array in enumerate(flat(call.inputs))]
        asked = [v for v, a in zip(variables, flat(call.inputs), strict=True) if is_float(a) and _has_gradient(opdef)]
        for variable in asked:
            variable.stop_gradient = False
        made = outputs_of(opdef, Op(opdef)(*refill(call.inputs, variables), **call.attrs))
        cotangents = draw_cotangents(opdef, wanted, np.random.default_rng([session.seed, 9]))
        found = _gradients(session, (made, asked, cotangents), feed, opened)
    fetches = [*_flat_variables(made), *(v for v in found if v is not None)]
    # The whole Program is one run: where it raises although the forward runs, the gradient does.
    behind = gradient_blame(session, call, wanted, cotangents)
    here = Blame(blame.row, blame.at)
    if found:
        blame.row, blame.at = behind.row, behind.at
    values = Executor().run(program, feed=feed, fetch_list=fetches, scope=Scope())
    outputs = values[: len(values) - sum(v is not None for v in found)]
    for name, want, got in zip(flat_names(opdef.schema.output_names, wanted), flat(wanted), outputs, strict=True):
        _same(session, here, call, f"static.{name}", f"output {name!r}", want, got)
    if not found:
        return
    given = iter(values[len(outputs) :])
    every = zip(flat_names(opdef.schema.input_names, call.inputs), flat(call.inputs), strict=True)
    names = [name for name, array in every if is_float(array)]
    if opdef.grad is None:
        _compare_body(session, behind, call, names, found, values[len(outputs) :])
        return
    by_hand = gradients_by_leaf(opdef, call, wanted, cotangents)
    for name, want, made_for in zip(names, by_hand, found, strict=True):
        if (want is None) != (made_for is None):
            message = f"{opdef.subject}, gradient of {name!r} in a Program: expected {want}, got {made_for}"
            session.find(behind.row, f"static.d{name}", message, call, input=name, at=behind.at)
        elif want is not None:
            _same(session, behind, call, f"static.d{name}", f"gradient of {name!r}", want, next(given))


def _has_gradient(opdef: OpDef) -> bool:
    """Whether there is a gradient to compare: by the op's rule or, of a composite, through what it is made of."""
    return opdef.grad is not None or (opdef.is_composite and opdef.gradient_of is None)


def _compare_body(
    session: Session, blame: Blame, call: Call, names: Sequence[str], found: Sequence[Any], values: Sequence[np.ndarray]
) -> None:
    """Compares the gradients of a composite, which a Program has through what it is made of, with the tape's."""
    opdef = session.opdef
    outputs = launch(opdef, None, call.inputs, call.attrs)
    cotangents = draw_cotangents(opdef, outputs, np.random.default_rng([session.seed, 9]))
    tape = through_tape(opdef, call, [array for i in carriers(opdef) for array in flat([cotangents[i]])])
    expected = [gradient for array, gradient in zip(flat(call.inputs), tape, strict=True) if is_float(array)]
    given = iter(values)
    for name, want, variable in zip(names, expected, found, strict=True):
        got = None if variable is None else next(given)
        if want is None and got is None:
            continue
        if want is None or got is None or not np.allclose(got, want, rtol=_CLOSE, atol=_CLOSE, equal_nan=True):
            message = f"{opdef.subject}, gradient of {name!r}: a Program differs from the tape"
            session.find(blame.row, f"static.d{name}", message, call, input=name, at=blame.at)


def check_second_order(session: Session) -> None:
    """Differentiates the gradients in a Program again, and compares with the tape within a few roundings."""
    opdef = session.opdef
    rule = opdef.grad
    if opdef.gradient_of is not None or rule is None or opdef.schema.mutated_inputs or not opdef.traits.deterministic:
        return
    if rule.op.opdef.grad is None and not rule.op.opdef.is_composite:
        return
    for call in session.calls:
        row = forward_blame(session, call).row
        try:
            _compare_second(session, row, call)
            session.did(row, "static2")
        except (DerivativeOrderError, GradientMissingError, KernelNotFoundError):
            return  # said elsewhere
        except Exception as error:
            message = f"{opdef.subject}, gradient of its gradient in a Program: sample {call}, "
            session.find_raised(row, "static2", f"{message}raised {type(error).__name__}: {error}", error, call)


def _compare_second(session: Session, row: str, call: Call) -> None:
    opdef = session.opdef
    rng = np.random.default_rng([session.seed, 15])
    outputs = launch(opdef, None, call.inputs, call.attrs)
    cotangents = draw_cotangents(opdef, outputs, rng)
    subject = second_order(opdef, call, cotangents)
    carried = [array for i in carriers(opdef) for array in flat([outputs[i]])]
    if not any(map(is_float, flat(call.inputs))) or not any(map(is_float, carried)):
        return
    first = subject.forward(*subject.inputs)
    weights = [np.asarray(rng.standard_normal(array.shape)).astype(array.dtype) for array in first]
    expected = subject.vjp(subject.inputs, first, weights)
    feed: dict[str, np.ndarray] = {}
    program = Program()
    with program_guard(program, Program()):
        given = zip(subject.names, subject.inputs, strict=True)
        variables = [_data(name, array, feed, _KNOWN) for name, array in given]
        for variable, array in zip(variables, subject.inputs, strict=True):
            variable.stop_gradient = not is_float(array)
        count = len(flat(call.inputs))
        made = outputs_of(opdef, Op(opdef)(*refill(call.inputs, variables[:count]), **call.attrs))
        targets = [v for i in carriers(opdef) for v in _flat_variables([made[i]]) if not v.stop_gradient]
        asked = [v for v in variables[:count] if not v.stop_gradient]
        found = [v for v in gradients(targets, asked, variables[count:]) if v is not None]
        entering = [_data(f"w{i}", array, feed, _KNOWN) for i, array in enumerate(weights)]
        sources = [v for v in variables if not v.stop_gradient]
        again = gradients(found, sources, entering)
    fetches = [v for v in again if v is not None]
    values = iter(Executor().run(program, feed=feed, fetch_list=fetches, scope=Scope()) if fetches else [])
    wanted = [g for g, v in zip(expected, variables, strict=True) if not v.stop_gradient]
    for name, want, derivative in zip([v.name for v in sources], wanted, again, strict=True):
        got = np.zeros_like(want) if derivative is None else next(values)
        if not np.allclose(got, want, rtol=_CLOSE, atol=_CLOSE, equal_nan=True):
            message = f"{opdef.subject}, gradient of its gradient, {name!r}: a Program differs from the tape"
            session.find(row, f"static2.d{name}", message, call, input=name)


def _data(name: str, array: np.ndarray, feed: dict[str, np.ndarray], opened: slice) -> Variable:
    feed[name] = array
    shape: list[int | None] = list(array.shape)
    shape[opened] = [None] * len(shape[opened])
    return data(name, shape, array.dtype)


def _gradients(
    session: Session, run: tuple[Any, Any, Any], feed: dict[str, np.ndarray], opened: slice
) -> Sequence[Variable | None]:
    """Appends the gradients; returns one Variable, or None, per floating input, nothing where none is asked for."""
    opdef = session.opdef
    made, asked, cotangents = run
    if not asked:
        return []
    targets: list[Any] = []
    seeds: list[Any] = []
    for i in carriers(opdef):
        for variable, seed in zip(_flat_variables([made[i]]), flat([cotangents[i]]), strict=True):
            if variable.stop_gradient or not is_float(seed):
                continue
            targets.append(variable)
            seeds.append(_data(f"seed{len(seeds)}", seed, feed, opened))
    return gradients(targets, asked, seeds) if targets else []


def _flat_variables(values: Sequence[Any]) -> list[Any]:
    present = [value for value in values if value is not None]
    return [v for value in present for v in (value if isinstance(value, (list, tuple)) else [value])]


def _same(session: Session, blame: Blame, call: Call, check: str, what: str, want: np.ndarray, got: np.ndarray) -> None:
    if same_bits(want, got):
        return
    message = (
        f"{session.opdef.subject}, {what} in a Program: expected the bits that arrays give, got others"
        if want.shape == got.shape and want.dtype == got.dtype
        else f"{session.opdef.subject}, {what} in a Program: expected {want.dtype}{want.shape} as on arrays, "
        f"got {got.dtype}{got.shape}"
    )
    session.find(blame.row, check, message, call, at=blame.at)

"""Gradients of gradients in a Program, against those of the tape."""

from __future__ import annotations

import numpy as np

from opsdk.core.errors import DerivativeOrderError, GradientMissingError, KernelNotFoundError
from opsdk.define.op import Op
from opsdk.static import Executor, Program, Scope, gradients, program_guard
from opsdk.static.run.trial import data_like
from opsdk.verify.inputs.calls import Call, flat, is_float, outputs_of, refill
from opsdk.verify.kernels.launch import launch
from opsdk.verify.runtimes.attribution import forward_attribution
from opsdk.verify.runtimes.parity import CLOSE
from opsdk.verify.runtimes.rule import carriers, draw_cotangents
from opsdk.verify.session import Session
from opsdk.verify.subject import flat_tensors, second_order


def check_second_order(session: Session) -> None:
    """Differentiates the gradients in a Program again, and compares with the tape within a few roundings."""
    opdef = session.opdef
    rule = opdef.grad
    if opdef.gradient_of is not None or rule is None or opdef.schema.mutated_inputs or not opdef.traits.deterministic:
        return
    if rule.op.opdef.grad is None and not rule.op.opdef.is_composite:
        return
    for call in session.calls:
        row = forward_attribution(session, call).row
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
        variables = [data_like(name, array, feed) for name, array in given]
        for variable, array in zip(variables, subject.inputs, strict=True):
            variable.stop_gradient = not is_float(array)
        count = len(flat(call.inputs))
        made = outputs_of(opdef, Op(opdef)(*refill(call.inputs, variables[:count]), **call.attrs))
        targets = [v for v in flat_tensors(made, carriers(opdef)) if not v.stop_gradient]
        asked = [v for v in variables[:count] if not v.stop_gradient]
        found = [v for v in gradients(targets, asked, variables[count:]) if v is not None]
        entering = [data_like(f"w{i}", array, feed) for i, array in enumerate(weights)]
        sources = [v for v in variables if not v.stop_gradient]
        again = gradients(found, sources, entering)
    fetches = [v for v in again if v is not None]
    values = iter(Executor().run(program, feed=feed, fetch_list=fetches, scope=Scope()) if fetches else [])
    wanted = [g for g, v in zip(expected, variables, strict=True) if not v.stop_gradient]
    for name, want, derivative in zip([v.name for v in sources], wanted, again, strict=True):
        got = np.zeros_like(want) if derivative is None else next(values)
        if not np.allclose(got, want, rtol=CLOSE, atol=CLOSE, equal_nan=True):
            message = f"{opdef.subject}, gradient of its gradient, {name!r}: a Program differs from the tape"
            session.find(row, f"static2.d{name}", message, call, input=name)

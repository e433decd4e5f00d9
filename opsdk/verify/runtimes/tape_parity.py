"""The dynamic runtime against bare arrays: the same kernels must give the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.autograd.functional import grad
from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import DerivativeOrderError, KernelNotFoundError
from opsdk.core.modes import enable_grad
from opsdk.define.op import Op
from opsdk.verify.inputs.calls import Call, copies, each, flat, flat_names, is_float, outputs_of, paired
from opsdk.verify.kernels.agreement import same_bits
from opsdk.verify.kernels.launch import launch
from opsdk.verify.runtimes.blame import Blame, forward_blame, gradient_blame
from opsdk.verify.runtimes.rule import carriers, draw_cotangents, gradients_by_leaf
from opsdk.verify.session import Session

_SHORT = np.dtype("float32")


def check_tape(session: Session) -> None:
    """Runs every call on tensors, and its backward, and compares both with arrays bit for bit."""
    if not session.opdef.schema.inputs:
        return
    for call in [*session.calls, *_in_float32(session)]:
        blame = forward_blame(session, call)
        try:
            _compare(session, blame, call)
            session.did(blame.row, "dynamic")
        except KernelNotFoundError as error:
            session.skipped[f"on tensors: {error}"] = None
        except Exception as error:
            message = f"{session.opdef.subject}, on tensors: sample {call} expected to run as on arrays, "
            message += f"raised {type(error).__name__}: {error}"
            session.find_raised(blame.row, "dynamic", message, error, call, at=blame.at)


def _in_float32(session: Session) -> list[Call]:
    """Returns a call as networks make them, where the op takes it: a gradient has the dtype of its input."""
    for call in session.calls:
        short = call.cast(_SHORT)
        if any(map(is_float, flat(call.inputs))) and not call.extra:
            try:
                launch(session.opdef, None, short.inputs, short.attrs)
            except Exception:  # told where rows are judged
                continue
            return [short]
    return []


def _compare(session: Session, blame: Blame, call: Call) -> None:
    opdef = session.opdef
    wanted = launch(opdef, None, call.inputs, call.attrs)
    with enable_grad():
        tensors = each(copies(call.inputs), lambda a: Tensor(a, not _asks(session, a)))
        made = outputs_of(opdef, Op(opdef)(*tensors, **call.attrs))
        arrays = [
            None if m is None else [t.numpy() for t in m] if isinstance(m, (list, tuple)) else m.numpy() for m in made
        ]
        if not opdef.traits.deterministic:
            return
        for name, want, got in paired(opdef.schema.output_names, wanted, arrays):
            _same(session, blame, call, f"dynamic.{name}", f"output {name!r}", want, got)
        if opdef.grad is not None:
            _compare_gradients(session, blame, call, (tensors, made, wanted))


def _asks(session: Session, array: np.ndarray) -> bool:
    return is_float(array) and session.opdef.grad is not None and not session.opdef.schema.mutated_inputs


def _compare_gradients(session: Session, blame: Blame, call: Call, run: tuple[Any, Any, Any]) -> None:
    opdef = session.opdef
    tensors, made, outputs = run
    assert opdef.grad is not None
    cotangents = draw_cotangents(opdef, outputs, np.random.default_rng([session.seed, 9]))
    behind = gradient_blame(session, call, outputs, cotangents)
    blame.row, blame.at = behind.row, behind.at
    roots = [t for i in carriers(opdef) for t in (made[i] if isinstance(made[i], (list, tuple)) else [made[i]])]
    seeds = [array for i in carriers(opdef) for array in flat([cotangents[i]])]
    pairs = [(t, Tensor(s)) for t, s in zip(roots, seeds, strict=True) if not t.stop_gradient]
    if not pairs or not all(is_float(t.numpy()) for t, _ in pairs):
        return
    flat_tensors = [t for v in tensors if v is not None for t in (v if isinstance(v, list) else [v])]
    leaves = [t for t in flat_tensors if not t.stop_gradient]
    by_hand = gradients_by_leaf(opdef, call, outputs, cotangents)
    names = [
        name
        for name, t in zip(flat_names(opdef.schema.input_names, call.inputs), flat_tensors, strict=True)
        if not t.stop_gradient
    ]
    for how, recorded in (("dynamic", False), ("recorded", True)):
        try:
            found = grad(
                [t for t, _ in pairs],
                leaves,
                [s for _, s in pairs],
                create_graph=recorded,
                retain_graph=True,
                allow_unused=True,
            )
        except DerivativeOrderError:
            continue  # said elsewhere
        for name, want, got in zip(names, by_hand, found, strict=True):
            if (want is None) != (got is None):
                message = f"{opdef.subject}, gradient of {name!r}: expected {want} as on arrays, got {got}"
                session.find(blame.row, f"{how}.d{name}", message, call, input=name, at=blame.at)
            elif want is not None:
                _same(session, blame, call, f"{how}.d{name}", f"gradient of {name!r}", want, got.numpy())


def _same(session: Session, blame: Blame, call: Call, check: str, what: str, want: np.ndarray, got: np.ndarray) -> None:
    if same_bits(want, got):
        return
    message = (
        f"{session.opdef.subject}, {what} on tensors: expected the bits that arrays give, got others"
        if want.shape == got.shape and want.dtype == got.dtype
        else f"{session.opdef.subject}, {what} on tensors: expected {want.dtype}{want.shape} as on arrays, "
        f"got {got.dtype}{got.shape}"
    )
    session.find(blame.row, check, message, call, at=blame.at)

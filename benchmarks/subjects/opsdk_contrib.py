"""The ops of contrib_ops as a user calls them, and their reference kernels on bare arrays."""

from __future__ import annotations

import contrib_ops
import opsdk
from benchmarks.subjects.contrib_tasks import BOTH, FORWARD, TASKS, Subject, arrays_of, cotangent


def _ctc(logits, *rest):
    return contrib_ops.ctc_loss(opsdk.log_softmax(logits, axis=-1), *rest)


def _first(function):
    return lambda *inputs, **attrs: function(*inputs, **attrs)[0]


FUNCTIONS = {"ctc_loss": _ctc, "selective_scan": _first(contrib_ops.selective_scan)}


def _build(task, arrays):
    function = FUNCTIONS.get(task.op) or getattr(contrib_ops, task.op)
    plain = [opsdk.to_tensor(array) for array in arrays.values()]
    followed = [opsdk.to_tensor(array, stop_gradient=name not in task.wrt) for name, array in arrays.items()]
    names = {"f": function, "a": dict(task.attrs), "plain": plain, "followed": followed, "grad": opsdk.grad}
    names["wrt"] = [tensor for tensor in followed if not tensor.stop_gradient]
    if task.wrt:
        value = function(*plain, **task.attrs)
        names["dy"] = [opsdk.to_tensor(cotangent(tuple(value.shape)))]
    return names


def _build_reference(task, arrays):
    opdef = getattr(contrib_ops, task.op).opdef
    given = [*arrays.values(), *[None] * (len(opdef.schema.inputs) - len(arrays))]
    return {"f": opdef.kernels.reference().source, "x": given, "a": complete(opdef, task.attrs)}


def complete(opdef, attrs):
    """Returns all attributes of an op, as its kernels get them."""
    return {decl.name: attrs.get(decl.name, decl.default) for decl in opdef.schema.attrs}


def results(task):
    """Returns value and gradients of ours, as arrays."""
    names = _build(task, arrays_of(task))
    made = [names["f"](*names["plain"], **names["a"])]
    if task.wrt:
        value = names["f"](*names["followed"], **names["a"])
        made += names["grad"]([value], names["wrt"], grad_outputs=names["dy"])
    return [tensor.numpy() for tensor in made]


_TEXTS = {FORWARD: "f(*plain, **a)", BOTH: "grad([f(*followed, **a)], wrt, grad_outputs=dy)"}
SUBJECTS = [
    *(Subject("opsdk", task, _build, _TEXTS) for task in TASKS),
    *(
        Subject("opsdk, NumPy row", task, _build_reference, {FORWARD: "f(*x, **a)"})
        for task in TASKS
        if not getattr(contrib_ops, task.op).opdef.is_composite
    ),
]
VERSION = opsdk.__version__

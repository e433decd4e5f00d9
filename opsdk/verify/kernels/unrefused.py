"""Calls that the reference refuses and a compiled kernel takes: it would read memory that is not its own.

Positions outside of what they point into, and arrays whose axes are shorter than those of others. No such call is made
of the compiled kernel itself: the Python text of a Numba kernel shows what it reads.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from opsdk.backends.call.buffers import infer
from opsdk.backends.call.language import language_of
from opsdk.backends.call.one_shape import one_shape
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, copies, flat, is_inexact
from opsdk.verify.inputs.domains import beside, domain_of, ruled
from opsdk.verify.inputs.refusable import shortened, with_other_numbers
from opsdk.verify.inputs.sampling import forward_of
from opsdk.verify.inputs.sizes import bases
from opsdk.verify.kernels.launch import results
from opsdk.verify.session import Session, said


def tell_unrefused(session: Session) -> None:
    """Warns of calls that nothing refuses before a compiled kernel runs, which would leave its arrays there.

    That is tried: the reference raises, while infer rule and check, which are asked before, say nothing. Of inputs that
    hold positions, as `domain=` says, one outside is tried, of other whole numbers -1, 0 and what lies about lengths
    of axes, and of every array axes that are shorter than they were. A gradient op, which opsdk calls with what belongs
    together, may be called by hand as well.
    """
    opdef = session.opdef
    kernels = [opdef.kernels.loaded(kernel) for kernel in opdef.kernels if _is_unchecked(kernel)]
    if not kernels:
        return
    told: set[str] = set()  # one shape of each input is enough
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what NumPy says of such calls is not asked
        for name, other, call in _outside(session):
            if not _is_refused(opdef, call) and not _is_taken(opdef, call):
                outside = f"outside of {other!r}" if other else "far outside"
                session.warn(
                    f"{opdef.name}: a position in {name!r} {outside} is {_nowhere(kernels)}, which may read "
                    f"beyond its arrays; refuse it in @{opdef.schema.name}.check"
                )
        for name, call in _other_numbers(session):
            raised = "" if name in told or _is_refused(opdef, call) else _raised(opdef, call)
            if raised:
                told.add(name)
                session.warn(
                    f"{opdef.name}: {call.reason} is {_nowhere(kernels)}, which may read beyond its arrays; the "
                    f"reference raises {raised}: say lengths or positions in domain= and refuse others in "
                    f"@{opdef.schema.name}.check"
                )
        told.clear()
        for name, shapes, call in _shortened(session):
            harm = "" if name in told or _is_refused(opdef, call) else _harm(opdef.whole, kernels, call)
            if harm:
                told.add(name)
                where = f"@{opdef.schema.name}.infer or @{opdef.schema.name}.check"
                session.warn(f"{opdef.name}: {shapes} is {harm}; say shapes in domain=, or refuse it in {where}")


def _is_unchecked(kernel: Kernel) -> bool:
    """Whether a kernel is an author's compiled code, which does not ask for itself what a check asks."""
    language = language_of(kernel)
    return not (language.reads_python or language.is_derived or kernel.options.get("checks"))


def _nowhere(kernels: Iterable[Kernel]) -> str:
    languages = " or ".join(dict.fromkeys(kernel.language for kernel in kernels))
    return f"refused by the reference, and by nothing before its {languages} kernel runs"


def _is_refused(opdef: OpDef, call: Call) -> bool:
    """Whether a call is refused before a compiled kernel runs, in whatever words."""
    attrs, shaped = complete_attrs(opdef, call.attrs), one_shape(opdef)
    try:
        infer(opdef, call.inputs, attrs)
        if shaped is not None:
            shaped(call.inputs)
        if opdef.check is not None:
            opdef.check(call.inputs, attrs)
    except Exception:
        return True
    return False


def _is_taken(opdef: OpDef, call: Call) -> bool:
    """Whether the reference takes a call, and gives what the infer rule says."""
    return not _raised(opdef, call)


def _raised(opdef: OpDef, call: Call) -> str:
    """Returns what the reference raises at a call, or that it gives something else than the infer rule says."""
    try:
        results(opdef, opdef.kernels.reference(), copies(call.inputs), call.attrs)
    except Exception as error:
        return said(error)
    return ""


def _harm(opdef: OpDef, kernels: Sequence[Kernel], call: Call) -> str:
    """Returns what is to be said of a call that nothing refused; nothing where no kernel leaves its arrays at it."""
    leaving = {kernel: _leaves(opdef, kernel, call) for kernel in kernels}
    sure = [kernel for kernel, leaves in leaving.items() if leaves]
    if _is_taken(opdef, call):
        return f"taken by the reference, while its {sure[0].language} kernel reads beyond its arrays" if sure else ""
    if sure:
        return f"{_nowhere(sure)}, which reads beyond its arrays"
    unknown = [kernel for kernel, leaves in leaving.items() if leaves is None]
    return f"{_nowhere(unknown)}, which may read beyond its arrays" if unknown else ""


def _leaves(opdef: OpDef, kernel: Kernel, call: Call) -> bool | None:
    """Whether the Python text of a kernel leaves its arrays; None where it has none that could be run."""
    attrs = complete_attrs(opdef, call.attrs)
    try:
        made = language_of(kernel).trial(opdef, kernel, copies(call.inputs), attrs, 0)
    except IndexError:
        return True
    except Exception:  # raised compiled too
        return False
    return None if made is None else False


def _shortened(session: Session) -> Iterator[tuple[str, str, Call]]:
    """Yields calls with a shorter axis of one array; of which input, and its shape in words.

    What positions point into is left out: it is the position that has to be refused there.
    """
    opdef = session.opdef
    pointed = {other for _, other in _positions(opdef)}
    for call in bases(session.calls):
        yield from (found for found in shortened(opdef, call) if found[0] not in pointed)


def _outside(session: Session) -> Iterator[tuple[str, str, Call]]:
    """Yields for each input that holds positions a call with positions outside, and of which input they are.

    In a gradient op these are what holds them in its op, and whole numbers that its op gives.
    """
    opdef, names = session.opdef, session.opdef.schema.input_names
    for name, other in _positions(opdef):
        i = names.index(name)
        for call in session.calls:
            value, pointed = call.inputs[i], beside(opdef, call.inputs, call.attrs).get(other)
            size = max([a.size for a in flat(call.inputs) if is_inexact(a)], default=0)
            size = getattr(pointed, "size", size)
            if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.size:
                beyond = np.full_like(value, min(size + 1, np.iinfo(value.dtype).max))
                yield name, other, replace(call, inputs=[*call.inputs[:i], beyond, *call.inputs[i + 1 :]])
                break


def _other_numbers(session: Session) -> Iterator[tuple[str, Call]]:
    """Yields calls of an op with another whole number in an input that holds no positions, and of which input."""
    opdef, names = session.opdef, session.opdef.schema.input_names
    if opdef.gradient_of is None:
        known = {name for name, _ in _positions(opdef)}
        for call in bases(session.calls):
            for changed in with_other_numbers(opdef, call):
                name = changed.reason.partition("[")[0].partition(" ")[0]
                value = call.inputs[names.index(name)] if name in names else None
                if name not in known and isinstance(value, np.ndarray) and value.dtype.kind in "iu":
                    yield name, changed


def _positions(opdef: OpDef) -> Iterator[tuple[str, str]]:
    """Yields the names of inputs that hold positions, and of the input that they point into, where that is known."""
    names, forward = opdef.schema.input_names, forward_of(opdef)
    for name in (names[i] for i in ruled(opdef)):
        yield from ((name, other) for other in domain_of(opdef, name).of[:1])
    if forward is not None:
        yield from ((name, "") for name in forward.schema.output_names if name in names)

"""Branches: inputs of many patterns of values, for what a kernel does only where some value is met.

A kernel that clamps `x[0]` where it is large passes on every other input, and corrupts its caller's arrays later. Each
kernel runs on copies, of which the bytes are looked at afterwards, and whether a result shares their memory; and its
results are held to those of the reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opsdk.backends.call.language import language_of
from opsdk.core.errors import AliasError
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, copies, flat
from opsdk.verify.inputs.patterns import PATTERNS, patterned
from opsdk.verify.inputs.sizes import covering
from opsdk.verify.kernels.elsewhere import compare
from opsdk.verify.kernels.launch import plan_of, results_of
from opsdk.verify.kernels.memory import is_inside
from opsdk.verify.kernels.rows import check_mutation, serves, variants
from opsdk.verify.session import Session

_MOST = 4096  # elements of a call: the text of a Numba kernel runs in Python first
_SHAPES = 3  # calls that are varied, each of another size: the first two, and the largest


def check_branches(session: Session) -> None:
    """Runs every kernel of an author's on patterns of values; compares its inputs with copies, its results."""
    opdef = session.opdef
    reference = opdef.kernels.reference()
    wanted = [kernel for kernel in opdef.kernels if session.wants(kernel) and not session.races(kernel)]
    kernels = [kernel for kernel in wanted if kernel.key.place == "cpu"]
    if opdef.schema.namespace == "opsdk" or not (
        session.others() or any(language_of(kernel).changes_inputs for kernel in kernels)
    ):
        return
    first = [] if reference is None else [reference]
    served = [opdef.kernels.loaded(kernel) for kernel in dict.fromkeys([*first, *kernels])]
    for call, is_first in _varied(opdef, session.calls):
        for varied in _patterned(session, call, is_first):
            truth: list[Any] | None = None
            for kernel in served if session.thorough else _of_own_code(opdef, served, varied):
                is_taken, made = _run(session, kernel, varied, call)
                if kernel is reference:
                    truth = made
                    if not is_taken:
                        break  # what the reference refuses, nobody else has to take
                elif made is not None and truth is not None and opdef.gradient_of is None:
                    # A gradient op has outputs of its op among its inputs, which fit no longer.
                    compare(session.case(kernel, varied), made, truth)


def _of_own_code(opdef: OpDef, kernels: Sequence[Kernel], call: Call) -> list[Kernel]:
    """Returns kernels without those of another dtype whose code one for the dtype of a call is compiled from too."""
    serving = [kernel for kernel in kernels if serves(opdef, kernel, call)]
    code = [(kernel.language, kernel.source, kernel.options) for kernel in serving]
    return [k for k in kernels if k in serving or (k.language, k.source, k.options) not in code]


def _varied(opdef: OpDef, calls: Sequence[Call]) -> Iterator[tuple[Call, bool]]:
    """Yields some calls, each of sizes or of choices that no other has, and whether it is the first."""
    found: dict[Any, list[Call]] = {}
    for call in calls:
        sizes = tuple(array.size for array in flat(call.inputs))
        if sizes and all(sizes) and sum(sizes) <= _MOST:
            found.setdefault(sizes, []).append(call)
    kept = list(found)[: _SHAPES - 1]
    kept += sorted(found.keys() - kept, key=sum)[-1:]
    chosen = covering(opdef, [found[sizes][0] for sizes in kept], [call for calls in found.values() for call in calls])
    yield from ((call, k == 0) for k, call in enumerate(chosen))


def _patterned(session: Session, call: Call, is_first: bool) -> Iterator[Call]:
    """Yields a call with each pattern in all inputs at once; the first call also with it in each input alone."""
    count = len(call.inputs)
    for reason in PATTERNS:
        yield from patterned(session.opdef, call, reason)
        for i in range(count) if count > 1 and is_first else ():
            yield from patterned(session.opdef, call, reason, [i])


# Any: an array, a list of arrays, or None for each result.
def _run(session: Session, kernel: Kernel, varied: Call, call: Call) -> tuple[bool, list[Any] | None]:
    """Runs a kernel on copies and tells of what it changed; returns whether it takes such values, and its results.

    There are none of what may not be run, and of what is returned in a form that is judged at the other calls.
    """
    opdef = session.opdef
    variant = next(variants(opdef, kernel, varied), None)
    if variant is None or not _is_safe(session, kernel, variant, call):
        return kernel is opdef.kernels.reference() and variant is None, None
    case = session.case(kernel, variant)
    inputs = copies(variant.inputs)
    try:
        plan = plan_of(opdef, kernel, variant.inputs, variant.attrs)
        raw = plan.kernel_alone(*inputs, **complete_attrs(opdef, variant.attrs))
    except Exception:  # raised at the other calls, it is told there
        return False, None
    check_mutation(case, inputs)
    try:
        fresh = plan.normalised(raw, inputs)
    except AliasError as error:
        case.find_raised("alias", str(error), error)
        return True, None
    except Exception:  # what is returned is judged at the other calls
        return True, None
    is_whole = variant is varied
    return True, results_of(opdef, fresh[0] if plan.single else tuple(fresh), inputs) if is_whole else None


def _is_safe(session: Session, kernel: Kernel, variant: Call, call: Call) -> bool:
    """Whether compiled code stays inside of its arrays, as far as can be told: a nan may be an index somewhere."""
    language = language_of(kernel)
    if language.stays_inside:
        return True
    if language.may_crash:  # what it reads is not watched, so its positions stay what they were
        pairs = zip(flat(variant.inputs), flat(call.inputs), strict=True)
        if any(old.dtype.kind in "iu" and new.tobytes() != old.tobytes() for new, old in pairs):
            return False
    return is_inside(session.opdef, kernel, variant)

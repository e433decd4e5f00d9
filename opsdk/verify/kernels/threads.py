"""Threads: kernels that share a loop between them, run again and again on many elements, give the same bits each time.

Of a few elements the first thread is done before the second begins, and what both write to shows nothing. On CUDA
kernels are compared with the reference where there is more to do than a block has threads.
"""

from __future__ import annotations

import math
import warnings

from opsdk.backends.call.language import language_of
from opsdk.backends.cuda.runtime import can_run
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.verify.inputs.calls import called, paired, result_names
from opsdk.verify.inputs.further import long_calls, past_a_block
from opsdk.verify.kernels.agreement import same_bits
from opsdk.verify.kernels.elsewhere import check_call, truth_of
from opsdk.verify.kernels.launch import results
from opsdk.verify.kernels.memory import runs_in_threads
from opsdk.verify.kernels.rows import variants
from opsdk.verify.session import Case, Session

_RUNS = 12


def check_threads(session: Session) -> None:
    """Runs every kernel of an author's that runs in threads on calls with a long axis, and compares its runs."""
    opdef = session.opdef
    kernels = [kernel for kernel in opdef.kernels if session.wants(kernel) and kernel.key.place == "cpu"]
    shared = [kernel for kernel in kernels if runs_in_threads(kernel) and not session.races(kernel)]
    if not shared or not opdef.traits.deterministic or opdef.schema.namespace == "opsdk":
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in long_calls(opdef, session.calls, session.seed):
            for kernel in map(opdef.kernels.loaded, shared):
                variant = next(variants(opdef, kernel, call), None)
                if variant is not None and language_of(kernel).changes_inputs:
                    _repeat(session.case(kernel, variant))


def check_blocks(session: Session) -> None:
    """Compares every CUDA kernel of an author's with the reference where an axis is longer than a block, by one."""
    opdef = session.opdef
    kernels = [k for k in opdef.kernels if k.key.place == "cuda" and "launch" in k.options and session.wants(k)]
    if not kernels or not can_run() or opdef.schema.namespace == "opsdk":
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kernel in map(opdef.kernels.loaded, kernels):
            threads = _threads_of(session, kernel)
            for call in past_a_block(opdef, session.calls, session.seed, threads) if threads else ():
                variant = next(variants(opdef, kernel, call), None)
                truth = truth_of(session.reference(call))
                if variant is not None and truth is not None:
                    check_call(session.case(kernel, variant), truth if variant is call else None)


def _threads_of(session: Session, kernel: Kernel) -> int:
    """Returns how many threads a block has at the first call that tells it; 0 where none does."""
    opdef = session.opdef
    for call in session.calls:
        try:
            made = results(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
            names = (*opdef.schema.input_names, *result_names(opdef))
            tensors = dict(zip(names, (*call.inputs, *made), strict=True))
            return math.prod(kernel.options["launch"].geometry({**tensors, **complete_attrs(opdef, call.attrs)}).block)
        except Exception:  # what cannot be launched is told at the samples
            continue
    return 0


def _repeat(case: Case) -> None:
    opdef, call = case.opdef, case.call
    try:
        every = [results(opdef, case.kernel, call.inputs, call.attrs) for _ in range(_RUNS)]
    except Exception:  # so many elements it may refuse
        return
    case.did("repeats")
    for again in every[1:]:
        for name, one, other in paired(result_names(opdef), every[0], again):
            if not same_bits(one, other):
                message = (
                    f"{opdef.subject}, {called(opdef, name)}: expected the same bits from the same inputs, got others "
                    "in another run of many elements; let no two threads write to one element"
                )
                case.find(f"repeats.{name}", message)
                return

"""Threads: kernels that share a loop between them, run again and again on many elements, give the same bits each time.

Of a few elements the first thread is done before the second begins, and what both write to shows nothing.
"""

from __future__ import annotations

import warnings

from opsdk.backends.call.language import language_of
from opsdk.verify.inputs.calls import called, paired, result_names
from opsdk.verify.inputs.further import long_calls
from opsdk.verify.kernels.agreement import same_bits
from opsdk.verify.kernels.launch import results
from opsdk.verify.kernels.rows import variants
from opsdk.verify.session import Case, Session

_RUNS = 12


def check_threads(session: Session) -> None:
    """Runs every kernel of an author's that runs in threads on calls with a long axis, and compares its runs."""
    opdef = session.opdef
    kernels = [kernel for kernel in opdef.kernels if session.wants(kernel) and kernel.key.place == "cpu"]
    shared = [k for k in kernels if k.options.get("parallel") or k.options.get("openmp")]
    if not shared or not opdef.traits.deterministic or opdef.schema.namespace == "opsdk":
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in long_calls(opdef, session.calls, session.seed):
            for kernel in map(opdef.kernels.loaded, shared):
                variant = next(variants(opdef, kernel, call), None)
                if variant is not None and language_of(kernel).changes_inputs:
                    _repeat(session.case(kernel, variant))


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

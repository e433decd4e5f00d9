"""C rows built ahead of time: the cffi module that a package's wheel brings along, so that no compiler is needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opsdk.backends.c_compiler import MATH, OPTIMIZE, STRICT
from opsdk.backends.c_job import CHECKS, OPENMP, Job
from opsdk.backends.c_signature import TYPES
from opsdk.backends.c_source import HEADER, line_directive
from opsdk.core.errors import DefinitionError
from opsdk.core.lazy import optional
from opsdk.define.kernel import Kernel
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef


def ffibuilder(*ops: Op) -> Any:  # Any: cffi.FFI
    """Returns what `cffi_modules` in a package's setup.py names: the builder of the module of the C rows of ops.

    The code is for any processor of the platform, without `-march=native`; the rows' `flags` may say otherwise.

    Args:
        ops: ops with a C row each, registered with the same `module=`; gradient ops count as ops.

    Raises:
        DefinitionError: an op has no C row with a module, or the modules differ.
        CompileError, BindingError: a source does not compile, or has no function of the type that its schema says.
    """
    cffi = optional("cffi", extra="c", subject="building C rows")
    jobs = [Job.of(op.opdef, _row_of(op.opdef)) for op in ops]
    modules = {str(job.options.module) for job in jobs}
    if len(modules) != 1:
        raise DefinitionError(
            f"ffibuilder: expected ops whose C rows name one module, got {', '.join(sorted(modules)) or 'no ops'}"
        )
    for job in jobs:
        job.check()  # says in our words what a build would say in the compiler's
    ffi = cffi.FFI()
    ffi.cdef(TYPES + _lines(line for job in jobs for line in job.declarations))
    ffi.cdef(_lines(f"const char *{job.digest_symbol}(void)" for job in jobs))
    if any(job.options.uses_openmp for job in jobs):
        ffi.cdef(f"{OPENMP};")
    options = [job.options for job in jobs]
    openmp = ["-fopenmp"] if any(option.uses_openmp for option in options) else []
    flags = _merged(option.flags for option in options)
    ffi.set_source(
        modules.pop(),
        _preamble(jobs),
        include_dirs=[str(HEADER.parent), *_merged((*job.options.include_dirs, job.source.folder) for job in jobs)],
        library_dirs=_merged(option.library_dirs for option in options),
        libraries=_merged(option.libraries for option in options),
        extra_compile_args=[
            *(*OPTIMIZE, *STRICT, *(f"-D{name}" for name in _merged(option.define for option in options))),
            *(*openmp, *(flag for flag in flags if not flag.startswith("-l"))),
        ],
        extra_link_args=[*openmp, *(flag for flag in flags if flag.startswith("-l")), *MATH],
    )
    return ffi


def _preamble(jobs: list[Job]) -> str:
    """Returns the C text of a module: the sources, each once, since a forward and its backward often share one."""
    sources = dict.fromkeys(job.source.unit for job in jobs)
    checks = line_directive(1, CHECKS) + _lines(line for job in jobs for line in job.declarations)
    digests = [f'const char *{job.digest_symbol}(void) {{ return "{job.digest}"; }}\n' for job in jobs]
    openmp = f"{OPENMP};\n" if any(job.options.uses_openmp for job in jobs) else ""
    return "".join(['#include "opsdk.h"\n', *sources, checks, openmp, *digests])


def _row_of(opdef: OpDef) -> Kernel:
    rows = [row for row in opdef.kernels if row.language == "c" and row.options.get("module")]
    if len(rows) != 1:
        raise DefinitionError(
            f"{opdef.subject}: expected one C row with module='package._module', which says where it will be found, "
            f"got {len(rows)}"
        )
    return rows[0]


def _lines(declarations: Iterable[str]) -> str:
    return "".join(f"{line};\n" for line in dict.fromkeys(declarations))


def _merged(lists: Iterable[Iterable[str]]) -> list[str]:
    """Returns the entries of all lists, each once."""
    return list(dict.fromkeys(entry for entries in lists for entry in entries if entry))

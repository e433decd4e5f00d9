"""The store of compiled user kernels: one compilation for all processes, found again by what the kernel says.

Numba's own cache goes by the kernel's file alone, so that a change in another module would go unseen, and takes no
functions of notebooks. Here the name of a file is a hash of all that the code follows from (`numba_reading`).

The files hold pickled descriptions beside the object code. Who may write to the cache folder may run code here anyway,
as with every library in it; what was damaged is never read, since each file is sealed.

Imported only when something has to be compiled, since it imports Numba.
"""

from __future__ import annotations

import os
import pickle
import platform
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import version
from itertools import count
from typing import Any

import numba
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.environment import Environment, lookup_environment
from numba.core.errors import NumbaPendingDeprecationWarning
from numba.core.serialize import dumps

from opsdk.backends.cache.places import cache_folder
from opsdk.backends.cache.store import cached_bytes, held_bytes
from opsdk.backends.native.loader import sources_key
from opsdk.backends.numba.reading import Reading
from opsdk.define.identity.uncompiled import uncompiled

_KIND, _SUFFIX = "numba", ".nbo"
_OPTIONS = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}  # nobody calls a kernel from C
# What in Numba's configuration changes machine code.
_CONFIGURED = (
    "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "DISABLE_INTEL_SVML", "ENABLE_AVX", "FUNCTION_CACHE_SIZE", "LOOP_VECTORIZE",
    "LLVM_REFPRUNE_FLAGS", "LLVM_REFPRUNE_PASS", "OPT", "SLP_VECTORIZE", "USING_SVML",
)  # fmt: skip

_loaded: dict[str, Any] = {}  # Any: Numba's results by key; code that two dispatchers share has one set of symbols


# Any, in this file: kernels of any signature, Numba's objects.
def compiled(
    function: Callable[..., Any], *, parallel: bool = False, check: Callable[[str], None] | None = None
) -> Callable[..., Any]:
    """Returns the dispatcher of a user's Python function, which looks for its code in the store.

    Args:
        function: the kernel.
        parallel: its `numba.prange` loops are shared by Numba's threads.
        check: called before each compilation, one for every layout of the arguments, with what Numba was taught of the
            functions that it calls; raises where the function has become another.
    """
    dispatcher: Any = numba.njit(**_OPTIONS, parallel=parallel)(function)
    is_compiler = isinstance(dispatcher, Dispatcher)  # no, where NUMBA_DISABLE_JIT is set
    if is_compiler and hasattr(FunctionIdentity, "_unique_ids"):
        dispatcher._cache = KernelStore(dispatcher)
    if is_compiler:
        dispatcher.compile = partial(_compile, dispatcher, check)
    return dispatcher


def checking(function: Any) -> Any:
    """Returns a dispatcher as one that raises an IndexError where an index is beyond an array, also in what it calls.

    It runs in one thread, since no other could raise. What is no dispatcher is returned as it is.
    """
    return uncompiled(function.py_func, {}, _checking) if isinstance(function, Dispatcher) else function


def _checking(function: Callable[..., Any]) -> Any:
    return numba.njit(**_OPTIONS, boundscheck=True)(function)


def _compile(dispatcher: Any, check: Callable[[str], None] | None, signature: Any) -> Any:
    """Compiles without Numba's word that lists as arguments may be called something else one day: they are ours."""
    if check is not None:
        check(Reading(dispatcher.py_func).taught)
    with global_compiler_lock, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*reflected list", NumbaPendingDeprecationWarning)
        return Dispatcher.compile(dispatcher, signature)


class KernelStore:
    """The cache of one dispatcher, as Numba calls it: by signature, with Numba's compiler lock held."""

    def __init__(self, dispatcher: Any) -> None:
        self._function = dispatcher.py_func
        self._options = str(dispatcher.targetoptions)
        self._keys: dict[str, str | None] = {}
        self.cache_path = str(cache_folder() / _KIND)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Returns the compiled kernel for the types of its arguments; None where it has to be compiled."""
        target_context.refresh()
        key = self._keys[str(signature)] = self._key(signature, target_context)
        if key is None:
            return None
        if key not in _loaded:
            data = held_bytes(_KIND, key, _SUFFIX)
            if data is None:
                return None
            try:
                _loaded[key] = _rebuilt(target_context, data)
            except Exception:  # written by a Numba that says the same of itself and is not the same
                return None
        return _loaded[key]

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keeps what was compiled, unless what it follows from changed meanwhile, or is tied to this process."""
        key = self._keys.get(str(signature))
        if key is None or key != self._key(signature, result.target_context):
            return
        if result.lifted or result.objectmode or result.library.has_dynamic_globals:
            return
        try:
            data = _reduced(result)
            cached_bytes(_KIND, key, _SUFFIX, lambda: data)
        except Exception:  # what cannot be pickled or written is compiled again next time, and right
            return
        # As it is read back; what is there holds times of this compilation.
        _loaded[key] = result._replace(metadata=None)

    def enable(self) -> None:
        """Does nothing: `OPSDK_CACHE_DIR` says where the cache is, and a folder of one's own is as good as none."""

    disable = flush = enable

    def _key(self, signature: Any, target_context: Any) -> str | None:
        text = Reading(self._function).text
        if text is None:
            return None
        configured = [f"{name}={getattr(numba.config, name, None)}" for name in _CONFIGURED]
        parts = (text, str(signature), str(target_context.codegen().magic_tuple()), self._options, *configured)
        return "\n".join((_versions(), *parts))


@cache
def _versions() -> str:
    names = [f"{name} {version(name)}" for name in ("numba", "llvmlite", "numpy")]
    python = f"{platform.python_implementation()} {sys.version}"
    return "\n".join([*names, python, sources_key()])


def _reduced(result: Any) -> bytes:
    library, descriptor, environment, *rest, environments = result._reduce()
    states = [_state(each) for each in environments]
    return dumps((library, descriptor, _state(environment), *rest, states))


def _rebuilt(target_context: Any, data: bytes) -> Any:
    library, descriptor, state, *rest, states = pickle.loads(data)
    environments = tuple(map(_environment, states))
    return CompileResult._rebuild(target_context, library, descriptor, _environment(state), *rest, environments)


def _state(environment: Any) -> tuple[Any, str]:
    """Returns what compiled code reads of an environment; its globals are for interpreted code alone.

    Numba would name the module that has the globals, and import it. One that was run by `exec` cannot be imported.
    """
    return environment.consts, environment.env_name


def _environment(state: tuple[Any, str]) -> Any:
    constants, name = state
    known = lookup_environment(name)
    if known is not None:
        return known
    made = Environment(globals())
    made.consts[:] = constants
    made.env_name = name
    Environment._memo[name] = made
    return made


def _renumber() -> None:
    """Starts Numba's numbering of functions at a random place.

    The numbers are part of symbol names, and every process starts at 1: two functions of one name that two processes
    compiled would have the same symbols, and a third process that loads both would call one for the other.
    """
    FunctionIdentity._unique_ids = count(int.from_bytes(os.urandom(6), "little"))


if hasattr(FunctionIdentity, "_unique_ids"):
    _renumber()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_renumber)

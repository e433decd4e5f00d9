"""The reading of a function as Numba compiles it: a text that differs wherever its machine code may differ.

Numba freezes what a function refers to: globals, variables of enclosing functions, other functions, attributes of
modules. All of it is read, and in doubt too much of it. What cannot be read leaves the whole without a text, since a
text that left something out would be the name of a wrong result.

Imported only when something has to be compiled, since it imports Numba.
"""

from __future__ import annotations

import builtins
import hashlib
import operator
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numba
import numpy as np
from numba.core.caching import NullCache
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

from opsdk.define.identity.digest import digest_of
from opsdk.define.identity.referents import reads_of, texts_of, with_inner
from opsdk.expr.primitives.function import is_foreign

# Libraries that a version, or the hash of sources that goes into every key, stands for.
_STOCK = frozenset({"builtins", "cmath", "llvmlite", "math", "numba", "numba_cuda", "numpy", "operator"})
_OURS = ("opsdk.backends.native", "opsdk.backends.vmath", "opsdk.expr")
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
# What code that runs while Numba types a call may read and nobody sees, by the library that has it
_LOOKUPS = {
    "builtins": ("__import__", "compile", "eval", "exec", "globals", "input", "locals", "vars"),
    "numpy": ("DataSource", "fromfile", "genfromtxt", "lib", "load", "loadtxt", "memmap"),
}
_LARGEST = 1 << 20  # bytes of an array that a kernel refers to; Numba keeps larger ones by address, for one process


class Reads(NamedTuple):
    """What a function may read of a value that it refers to.

    Args:
        chains: names of attributes, each after the one before; an empty chain is the value itself.
        names: whatever the function may read of a module that it takes as a value.
    """

    chains: frozenset[tuple[str, ...]] = frozenset()
    names: frozenset[str] = frozenset()


_NOTHING = Reads()
_ITSELF = frozenset({()})


class Reading:
    """What was read of a function.

    Args:
        function: a Python function or a Numba dispatcher (any signature).

    Attributes:
        unread: why there is no text; empty where there is one.
        taught: the text of what others taught Numba to put in the place of functions that it calls.
        is_parallel: whether it, or a compiled function that it calls, was compiled for Numba's own threads.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.unread = ""
        self.is_parallel = False
        self._context = cpu_target.typing_context
        self._numbers: dict[tuple[Any, ...], int] = {}  # by id; of modules also by the names that are read
        self._compiled: list[Any] = [function]  # what Numba runs, and not Python
        self._taught: list[str] = []
        self._held: list[Any] = []  # what has a number lives, so that nothing else gets its id
        with global_compiler_lock:  # another thread may be compiling, and a context is for one at a time
            self._context.refresh()
            self._text = self._value(function, _NOTHING)
            self.taught = "\n".join(self._taught)
            for operation in vars(operator).values():  # signs and brackets in the code
                if callable(operation):
                    self._text += self._overloads(operation)

    @property
    def text(self) -> str | None:
        """A hash of everything that the machine code follows from; None where something cannot be read."""
        return None if self.unread else hashlib.sha256(self._text.encode()).hexdigest()

    # Any, below: whatever a user's function refers to.
    def _value(self, value: Any, reads: Reads) -> str:
        """Returns the text of a value, as far as a function may read it."""
        if type(value) in _PLAIN:
            return f"{type(value).__name__}:{value!r}"
        if type(value) in (tuple, frozenset):
            items = [self._value(item, reads._replace(chains=_ITSELF)) for item in value]
            return f"{type(value).__name__}({', '.join(items if type(value) is tuple else sorted(items))})"
        if isinstance(value, (np.generic, np.ndarray)):
            return self._array(value)
        if isinstance(value, (np.dtype, numba.types.Type)):
            text = repr(value)  # an address in it belongs to one process
            return f"{type(value).__name__}:{text}" if " at 0x" not in text else self._give_up(text)
        place: tuple[Any, ...] = (id(value), reads) if isinstance(value, ModuleType) else (id(value),)
        if place in self._numbers:
            return f"@{self._numbers[place]}"
        self._numbers[place] = len(self._numbers)
        self._held.append(value)
        if isinstance(value, ModuleType):
            return self._module(value, reads)
        if isinstance(value, Dispatcher):
            return self._dispatcher(value)
        if _is_stock(value):
            return f"{value.__module__}:{value.__name__}{self._overloads(value)}"
        if isinstance(value, FunctionType):
            if is_foreign(value):
                self._give_up(f"{value.__name__}, whose code is in a C library")
            if value not in self._compiled:
                self._refuse_lookups(value)
            return f"{self._function(value)}{self._overloads(value)}"
        name = str(getattr(value, "__name__", ""))
        if isinstance(value, np.ufunc) and getattr(np, name, None) is value:
            return f"ufunc:{name}{self._overloads(value)}"
        return self._give_up(f"{type(value).__name__} {name}".rstrip())

    def _give_up(self, what: str) -> str:
        self.unread = self.unread or what
        return "?"

    def _array(self, value: Any) -> str:
        array = np.asarray(value)
        if type(value) is not np.ndarray and not isinstance(value, np.generic):
            return self._give_up(f"array of class {type(value).__name__}")
        if array.dtype.hasobject or array.nbytes > _LARGEST:
            return self._give_up(f"array of {array.dtype}, {array.nbytes} bytes")
        flags = array.flags
        layout = (flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned)
        content = hashlib.sha256(array.tobytes()).hexdigest()
        return f"{type(value).__name__}:{array.dtype!r}{array.shape}{layout}{content}"

    def _module(self, module: ModuleType, reads: Reads) -> str:
        """Returns the text of those attributes of a module that a function may read."""
        chains = set(reads.chains) - {()}
        if () in reads.chains:
            chains |= {(name,) for name in reads.names}
        found = []
        for name in sorted({chain[0] for chain in chains}):
            held = vars(module).get(name, module)
            if held is module and "__getattr__" in vars(module):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # who wrote the name is told when it is compiled
                    held = getattr(module, name, module)
            if held is not module:
                rest = frozenset(chain[1:] for chain in chains if chain[0] == name)
                found.append(f"{name}={self._value(held, reads._replace(chains=rest))}")
        return f"module {module.__name__}({', '.join(found)})"

    def _dispatcher(self, dispatcher: Any) -> str:
        options = dispatcher.targetoptions
        if options.get("parallel"):
            self.is_parallel = True
            self._give_up(f"{dispatcher.py_func.__name__}, whose code needs Numba's threads to be running")
        if not isinstance(dispatcher._cache, NullCache):
            self._give_up(f"{dispatcher.py_func.__name__}, which Numba keeps by rules of its own")
        if dispatcher._compiler.pipeline_class is not Compiler or dispatcher.targetctx is not cpu_target.target_context:
            self._give_up(f"{dispatcher.py_func.__name__}, which has a compiler of its own")
        if not _is_ours(dispatcher.py_func) and not _is_compiled_as_read(dispatcher):
            self._give_up(f"{dispatcher.py_func.__name__}, which was compiled before, maybe with other values")
        told = [f"{name}={self._option(options[name])}" for name in sorted(options)]
        told += [f"{name}:{dispatcher.locals[name]}" for name in sorted(dispatcher.locals)]
        fixed = "" if dispatcher._can_compile else str(sorted(map(str, dispatcher.nopython_signatures)))
        self._compiled.append(dispatcher.py_func)
        return f"jit({told}{fixed}{self._value(dispatcher.py_func, _NOTHING)})"

    def _option(self, value: Any) -> str:
        if isinstance(value, dict):
            return str([f"{name}={self._option(value[name])}" for name in sorted(value)])
        if isinstance(value, (set, frozenset)):
            return str(sorted(map(self._option, value)))
        return repr(value) if type(value) in _PLAIN else self._give_up(f"option {value!r}")

    def _refuse_lookups(self, function: FunctionType) -> None:
        """Gives up where a function that Python runs, while Numba types a call, finds what no text can tell.

        The body of an overload is one, and what it calls. It may import a module, or load a file.
        """
        chains, _, imported = reads_of(function.__code__, inner=False)
        if imported:
            self._give_up(f"import {imported[0]} in {function.__name__}")
        for name, chain in [(name, chain) for name, found in chains.items() for chain in sorted(found)]:
            held = {**vars(builtins), **function.__globals__}.get(name)
            home = held.__name__ if isinstance(held, ModuleType) else getattr(held, "__module__", "")
            read = chain[0] if isinstance(held, ModuleType) and chain else getattr(held, "__name__", "")
            if read in _LOOKUPS.get(str(home).partition(".")[0], ()):
                self._give_up(f"{read} in {function.__name__}")

    def _function(self, function: FunctionType) -> str:
        code, outer = function.__code__, function.__globals__
        if "__name__" not in outer:
            self._give_up(f"{function.__name__}, whose globals have no name")
        codes = list(with_inner(code))
        names = frozenset(name for each in codes for name in (*each.co_names, *texts_of(each)))
        known = {**vars(builtins), **outer}
        parts = [self._code(each) for each in codes]
        chains, globals_read, _ = reads_of(code)

        def reads(name: str) -> Reads:
            return Reads(chains.get(name, _ITSELF), names)

        parts += [f"{n}={self._value(known[n], reads(n))}" if n in known else f"no {n}" for n in sorted(globals_read)]
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                parts.append(f"{name}~{self._value(cell.cell_contents, reads(name))}")
            except ValueError:  # empty as yet
                parts.append(self._give_up(name))
        parts.append(self._value(function.__defaults__, _NOTHING))
        parts += [f"{name}={self._value(value, _NOTHING)}" for name, value in (function.__kwdefaults__ or {}).items()]
        self._refuse_methods(names)
        return f"def({'; '.join(parts)})"

    def _code(self, code: CodeType) -> str:
        # Lines are in the tracebacks of compiled code. Cells of a session have no file that is there in the next one.
        is_lasting = "ipykernel_" not in code.co_filename and Path(code.co_filename).is_file()
        where = (code.co_filename, code.co_firstlineno) if is_lasting else ""
        tables = f"{code.co_linetable.hex()} {getattr(code, 'co_exceptiontable', b'').hex()}"
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        local = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        constants = [
            each.co_code.hex() if isinstance(each, CodeType) else self._value(each, _NOTHING) for each in code.co_consts
        ]
        return f"{code.co_name}{code.co_code.hex()} {tables}{where}{counts}{local}{constants}"

    def _overloads(self, function: Any) -> str:
        """Returns the text of what others taught Numba to put in the place of a function."""
        try:
            known = self._context.resolve_value_type(function)
        except Exception:  # Numba knows nothing of it; whether that is an error shows when it is compiled
            return ""
        found = [
            self._value(template._overload_func, _NOTHING)
            for template in getattr(known, "templates", ())
            if hasattr(template, "_overload_func") and not _is_ours(template._overload_func)
        ]
        foreign = [
            template
            for template in getattr(known, "templates", ())
            if not hasattr(template, "_overload_func") and not _is_our_class(template)
        ]
        self._taught += [*found, *map(repr, foreign)]
        return self._give_up(f"{function!r}, which is compiled as {foreign[0]!r}") if foreign else "".join(found)

    def _refuse_methods(self, names: frozenset[str]) -> None:
        """Gives up where others taught Numba a method or attribute of a name that the function has."""
        for templates in list(self._context._attributes.values()):
            for template in templates:
                name, taught = getattr(template, "_attr", None), getattr(template, "_overload_func", None)
                if name in names and taught is not None and not _is_ours(taught):
                    self._taught.append(self._value(taught, _NOTHING))
                    self._give_up(f"attribute {name}, which is compiled as {taught!r}")


# Digests of functions that others call, as they were before Numba froze what they refer to.
_BEFORE: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def _is_compiled_as_read(dispatcher: Any) -> bool:
    """Whether the code that a dispatcher has by now, if any, is of the values that its function refers to now.

    One that was given its signatures was compiled where it is defined.
    """
    now = digest_of(dispatcher.py_func)
    if not dispatcher.overloads or not dispatcher._can_compile:
        _BEFORE[dispatcher] = now
    return _BEFORE.get(dispatcher) == now


def _is_ours(value: Any) -> bool:
    """Whether a version or the hash of our sources stands for a function or class."""
    return _is_of_ours(getattr(value, "__globals__", {}).get("__name__") or getattr(value, "__module__", None) or "")


def _is_of_ours(module: object) -> bool:
    """Whether a module is one of ours; what is made there may be a user's, as the function of a primitive is."""
    return str(module).partition(".")[0] in _STOCK or f"{module}.".startswith(tuple(f"{name}." for name in _OURS))


def _is_our_class(value: Any) -> bool:
    """Whether the code of a class is ours; one that Numba made by calling its metaclass says that it is of `abc`."""
    made = [each for each in getattr(value, "__mro__", (value,)) if getattr(each, "__module__", None) == "abc"]
    rest = [each for each in getattr(value, "__mro__", (value,)) if each not in made]
    functions = [held for each in made for held in vars(each).values() if isinstance(held, FunctionType)]
    return all(map(_is_ours, (*rest, *functions)))


def _is_stock(value: Any) -> bool:
    """Whether a value is what a library has under the name that the value gives."""
    name, module = getattr(value, "__name__", None), getattr(value, "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str) or not (_is_ours(value) and _is_of_ours(module)):
        return False
    found: Any = sys.modules.get(module)
    for part in getattr(value, "__qualname__", name).split("."):
        found = getattr(found, part, None)
    return found is value

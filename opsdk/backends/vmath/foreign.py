"""Primitives whose body is C, for kernels that Numba compiles: a function of a small library, called by its symbol.

Object code holds the symbol and no address, so that it can be kept. Whoever loads it asks for the library first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from opsdk.backends.c import compiler as cc
from opsdk.backends.cache.places import is_private
from opsdk.backends.cache.store import cached, cached_bytes
from opsdk.core.lazy import slow
from opsdk.expr.node import Node, topological
from opsdk.expr.primitives.entry import PRIMITIVES, Primitive
from opsdk.expr.source import prelude

_open: dict[str, Any] = {}  # by name of a primitive (Any: ctypes' libraries, never closed)


def symbol(primitive: Primitive, real: str) -> str:
    """Returns the symbol of the function for `float` or `double`."""
    return f"opsdk_{real}_{primitive.name}"


def provide(roots: Iterable[Node]) -> None:
    """Makes the symbols known that object code of expressions calls."""
    for name in {node.op for node in topological(roots)}:
        known = PRIMITIVES.get(name)
        if known is not None and known.body is not None:
            provide([known.body.root])
        elif known is not None and known.is_foreign:
            opened(known)


def opened(primitive: Primitive) -> None:
    """Opens the library of a primitive, built where it is not there yet, and makes its symbols known to LLVM.

    Where it was built now, the functions are first compared with what the primitive is in NumPy.

    Raises:
        CompileError: there is no C compiler, or the body does not compile.
        DefinitionError: the body is further from what is right than promised.
    """
    if primitive.name in _open:
        return
    subject = f"primitive {primitive.function!r}, C body"
    text = _unit(primitive)
    compiler = cc.find_compiler(subject)
    arguments = [*cc.FLAGS, cc.NATIVE]

    def build(path: Path) -> None:
        scratch = path.parent if is_private(path.parent) else None
        _, complaint = cc.run(compiler, [*arguments, "-o", str(path), "-", *cc.LINKED], text, scratch)
        if complaint is not None:
            cc.expect_room(complaint, path)
            raise cc.failure(subject, complaint)

    key = "\n".join([compiler.identity, cc.machine(), *arguments, *cc.LINKED, text])
    library = ctypes.CDLL(str(cached("c", key, cc.LIBRARY_SUFFIX, build)))

    def compared() -> bytes:
        slow("opsdk.expr.primitives.accuracy").check_accuracy(primitive, _called(library, primitive))
        return b""

    cached_bytes("c", f"{key}\ncompared", ".right", compared)  # once, and again until it is right
    binding = slow("llvmlite.binding")
    for real in ("float", "double"):
        name = symbol(primitive, real)
        binding.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    _open[primitive.name] = library


# Any: ctypes' library; a module, which is NumPy, and its arrays.
def _called(library: Any, primitive: Primitive) -> Callable[..., Any]:
    """Returns what the functions give, element by element."""

    def computed(_: Any, *operands: Any) -> Any:
        (dtype,) = {array.dtype for array in operands}
        real, kind = ("float", ctypes.c_float) if dtype.itemsize == 4 else ("double", ctypes.c_double)
        call = getattr(library, symbol(primitive, real))
        call.argtypes, call.restype = [kind] * len(operands), kind
        return slow("numpy").array(list(map(call, *[array.tolist() for array in operands])), dtype)

    return computed


def _unit(primitive: Primitive) -> str:
    """Returns the source of the library: the functions of the body, and one that can be called for each."""
    root = Node(primitive.name, tuple(Node("input", (), name) for name in primitive.operands))
    parts = []
    for real, ending in (("float", "f"), ("double", "")):
        given = ", ".join(f"{real} {name}" for name in primitive.operands)
        call = primitive.c.format(*primitive.operands, f=ending)
        parts += [prelude([root], real), f"{real} {symbol(primitive, real)}({given}) {{ return {call}; }}\n"]
    return "".join(["#include <math.h>\n", *parts])


# Any: Numba's dispatcher.
def function(primitive: Primitive, real: type[Any]) -> Any:
    """Returns the function of a primitive for a type of NumPy, as one that Numba's kernels call."""
    opened(primitive)
    numba = slow("numba")
    kind = numba.from_dtype(slow("numpy").dtype(real))
    name = symbol(primitive, "float" if kind == numba.float32 else "double")
    external = numba.types.ExternalFunction(name, kind(*[kind] * primitive.arity))
    made: dict[int, Any] = {
        1: lambda a: external(a),
        2: lambda a, b: external(a, b),
        3: lambda a, b, c: external(a, b, c),
    }
    own = slow("opsdk.backends.vmath.jit").njit(forceinline=True, error_model="numpy", no_cfunc_wrapper=True)
    return own(made[primitive.arity])

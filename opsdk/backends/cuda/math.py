"""CUDA mathematics: every primitive of expressions as a function that a kernel can call, and kernels of such text.

On a device the functions are those of libdevice, in the precision that they were asked for. In Numba's simulator the
same definitions stand on NumPy's functions of one number, so that what is built here runs there as it is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from opsdk.backends.cuda.runtime import is_simulated, numba_cuda
from opsdk.core.errors import CompileError, DTypeError
from opsdk.expr.node import topological
from opsdk.expr.primitives.entry import Primitive
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.source import scalar_source

Function = Callable[..., Any]  # Any: numbers of one precision, and conditions


def _power(a: Any, b: Any) -> Any:
    return np.power(np.array([a]), np.array([b]))[0]  # of one number NumPy makes a root, which (-inf) ** 0.5 is not


# What a primitive of libdevice is on the host, where that is not NumPy's function of its name.
_HOST: dict[str, Function] = {"pow": _power, "round": np.rint, "erf": math.erf, "erfc": math.erfc}

# The primitives that are operators, and need no constant of the precision.
_PLAIN: dict[str, Function] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "square": lambda a: a * a,
    "minimum": lambda a, b: a if a <= b or a != a else b,  # a NaN on either side is the result
    "maximum": lambda a, b: a if a >= b or a != a else b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "isnan": lambda a: a != a,
}


def compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the precision that expressions of a dtype are computed in: float16 is stored only.

    Raises:
        DTypeError: no real floating dtype that a device computes with.
    """
    if dtype.name in ("float32", "float64"):
        return dtype
    if dtype.name == "float16":
        return np.dtype("float32")
    raise DTypeError(f"CUDA expression: expected float16, float32 or float64, got {dtype}")


def functions(precision: str) -> Mapping[str, Function]:
    """Returns a function for each primitive, and `product`, which rounds and is never fused with a sum.

    Args:
        precision: `float32` or `float64`, what arguments and results are numbers of.
    """
    known = _functions(precision)
    for each in list(PRIMITIVES.values()):
        if each.body is not None and each.name not in known:
            _add(known, each, np.dtype(precision).type)
    return known


def _add(known: dict[str, Function], primitive: Primitive, number: Any) -> None:
    """Adds the function of a primitive that is an expression of others, after those that it calls."""
    assert primitive.body is not None
    for node in topological([primitive.body.root]):
        if node.args and node.op not in known:
            _add(known, PRIMITIVES[node.op], number)
    names = {**known, "real": number, "inf": math.inf, "nan": math.nan}
    text = scalar_source(primitive.body.expression, primitive.name)
    known[primitive.name] = device_function(compiled_text(text, primitive.name, names))


@cache
def _functions(precision: str) -> dict[str, Function]:
    """Returns the functions of the primitives that are no expressions of others."""
    if is_simulated():
        leaves = _simulated(precision)
    else:
        library, suffix = numba_cuda("CUDA functions").libdevice, "f" if precision == "float32" else ""
        leaves = {name: getattr(library, each.cuda + suffix) for name, each in PRIMITIVES.items() if each.cuda}
        leaves["product"] = getattr(library, "fmul_rn" if suffix else "dmul_rn")
    return {**leaves, **_built(np.dtype(precision).type, leaves)}


def device_function(function: Function) -> Function:
    """Returns a Python function as one that kernels can call; in the simulator that is the function itself."""
    return function if is_simulated() else numba_cuda("CUDA function").jit(device=True)(function)


def compiled_text(source: str, name: str, names: Mapping[str, Any]) -> Function:
    """Returns the function of a name that a source defines, with what the source refers to."""
    space = dict(names)
    exec(compile(source, f"<opsdk CUDA {name}>", "exec"), space)
    return space[name]


def kernel_of(source: str, name: str, computed: np.dtype[Any], stored: np.dtype[Any], scalar: str = "") -> Function:
    """Returns a kernel as a function that Numba compiles or simulates.

    Its source may use `cuda`, the primitives by their names, `product`, `inf`, `nan`, `int64`, `real`, which makes a
    number one of the computation's precision, `store`, which makes it one of the results' dtype, and `scalar`.

    Args:
        source: the text, which defines `name`.
        name: of the kernel.
        computed: the dtype of the computation.
        stored: that of the results.
        scalar: the text of what the kernel calls `scalar`, which defines `<name>_scalar` and uses the same names.
    """
    for each in list(PRIMITIVES.values()):
        if each.is_foreign and each.name in source + scalar:
            raise CompileError(
                f"CUDA kernel {name}: expected primitives that a device computes, got {each.function!r}, whose body is "
                "C; write its body with vmath"
            )
    names: dict[str, Any] = {
        **functions(computed.name),
        "cuda": numba_cuda("CUDA kernel"),
        "real": computed.type,
        "store": stored.type,
        "int64": np.int64,
        "inf": math.inf,
        "nan": math.nan,
    }
    if scalar:
        names["scalar"] = device_function(compiled_text(scalar, f"{name}_scalar", names))
    if not is_simulated():
        return compiled_text(source, name, names)
    # Each simulated thread has NumPy's warnings to itself. The simulator gives `cuda` to the namespace of what it
    # runs, so that the kernel has to be in the same one.
    quiet = f"def quiet(*values):\n    with errstate(all='ignore'):\n        {name}(*values)\n"
    return compiled_text(source + quiet, "quiet", {**names, "int64": _whole, "errstate": np.errstate})


def _whole(value: Any) -> int:
    """Returns a number without its fraction; the least of all where a device gives that, for what is no number."""
    return int(value) if abs(value) < 2**63 else -(2**63)


def _simulated(precision: str) -> dict[str, Function]:
    number = np.dtype(precision).type

    def quiet(function: Function) -> Function:
        def one(*values: Any) -> Any:
            with np.errstate(all="ignore"):  # a device knows no warnings
                return number(function(*map(number, values)))

        return one

    leaves = [name for name, each in PRIMITIVES.items() if each.cuda]
    return {"product": quiet(np.multiply), **{name: quiet(_HOST.get(name) or getattr(np, name)) for name in leaves}}


def _built(number: Any, leaf: Mapping[str, Function]) -> dict[str, Function]:
    """Returns the primitives that libdevice has not, or has with other special values than NumPy's.

    Constants are of the precision itself: a Python number would make a float32 expression a float64 one.
    """
    zero, one, infinity, nan = number(0), number(1), number(math.inf), number(math.nan)
    log2 = number(math.log(2.0))
    exp, log1p, absolute, root = leaf["exp"], leaf["log1p"], leaf["abs"], leaf["sqrt"]

    def select(c: Any, a: Any, b: Any) -> Any:
        return number(a) if c else number(b)

    def sign(a: Any) -> Any:
        if a > zero:
            return one
        if a < zero:
            return -one
        return zero if a == zero else nan

    def sigmoid(a: Any) -> Any:
        decay = exp(-absolute(a))
        return one / (one + decay) if a >= zero else decay / (one + decay)

    def softplus(a: Any) -> Any:
        return (a if a >= zero or a != a else zero) + log1p(exp(-absolute(a)))

    def logaddexp(a: Any, b: Any) -> Any:
        difference = a - b
        if a == b:  # infinities too, of which the difference is none
            return a + log2
        return (a if difference > zero else b) + log1p(exp(-absolute(difference)))

    def quotient(a: Any, b: Any) -> Any:
        return number(a) / number(b)

    built: dict[str, Function] = {
        "div": quotient,
        "reciprocal": lambda a: one / number(a),
        "rsqrt": lambda a: one / root(a),  # not libdevice's, which is off by two units in float32
        "sign": sign,
        "sigmoid": sigmoid,
        "softplus": softplus,
        "logaddexp": logaddexp,
        "where": select,
        "isinf": lambda a: absolute(a) == infinity,
        "isfinite": lambda a: absolute(a) < infinity,
    }
    return {name: device_function(function) for name, function in {**_PLAIN, **built}.items()}

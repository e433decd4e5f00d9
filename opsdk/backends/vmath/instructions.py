"""Instructions that the functions are written with: each becomes one LLVM instruction or a straight line of them.

They exist since Numba's own forms would widen integers to 64 bits, branch where a choice is meant, or call libm. A
pair of constants holds the value for float32 and the one for float64; which one is meant follows from the type of an
operand.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_CONTRACT = ("contract",)  # a·b + c may become one fused instruction: less work and less error, where a·b is not exact

# Every option is set, since what is not set is taken from the kernel that is compiled first, such as its fastmath=True
inline = numba.njit(forceinline=True, error_model="numpy", boundscheck=False, fastmath={"contract"})
# For sums that are exact only if every product and sum is rounded by itself
inline_exact = numba.njit(forceinline=True, error_model="numpy", boundscheck=False, fastmath=False)

_INTEGERS = {types.float32: types.int32, types.float64: types.int64}


# Any, throughout: Numba's types and llvmlite's builder, which have no annotations.
def _position(kind: Any) -> int:
    return 0 if kind == types.float32 else 1


@intrinsic
def select(typingctx: Any, condition: Any, a: Any, b: Any) -> Any:
    """Returns `a` where the condition holds, else `b`; both are computed."""
    if a != b or condition != types.boolean:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(*args)

    return a(condition, a, b), generate


@intrinsic
def horner(typingctx: Any, x: Any, coefficients: Any) -> Any:
    """Returns the value of a polynomial at x; coefficients are a pair of tuples, lowest power first."""
    if x not in _INTEGERS:
        return None
    chosen = _position(x)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        point, pair = args
        real = context.get_value_type(x)
        values = cgutils.unpack_tuple(builder, builder.extract_value(pair, chosen))
        values = [builder.fptrunc(value, real) for value in values] if chosen == 0 else values
        total = values[-1]
        for value in reversed(values[:-1]):
            total = builder.fadd(builder.fmul(total, point, flags=_CONTRACT), value, flags=_CONTRACT)
        return total

    return x(x, coefficients), generate


@intrinsic
def pick(typingctx: Any, x: Any, pair: Any) -> Any:
    """Returns the constant of a pair that belongs to the type of x, in that type."""
    if x not in _INTEGERS:
        return None
    chosen = _position(x)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.extract_value(args[1], chosen)
        return context.cast(builder, value, signature.args[1][chosen], x)

    return x(x, pair), generate


@intrinsic
def like(typingctx: Any, x: Any, value: Any) -> Any:
    """Returns a number in the type of x."""
    if x not in _INTEGERS:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.cast(builder, args[1], signature.args[1], x)

    return x(x, value), generate


@intrinsic
def narrow(typingctx: Any, x: Any, value: Any) -> Any:
    """Returns an integer in the width of x: int32 beside float32."""
    if x not in _INTEGERS:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.cast(builder, args[1], signature.args[1], signature.return_type)

    return _INTEGERS[x](x, value), generate


@intrinsic
def to_bits(typingctx: Any, x: Any) -> Any:
    """Returns the bits of a float as a signed integer of its width."""
    if x not in _INTEGERS:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(signature.return_type))

    return _INTEGERS[x](x), generate


@intrinsic
def from_bits(typingctx: Any, x: Any, bits: Any) -> Any:
    """Returns the float, of the type of x, that has the given bits."""
    if x not in _INTEGERS:
        return None
    wanted = _INTEGERS[x]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        integer = context.cast(builder, args[1], signature.args[1], wanted)
        return builder.bitcast(integer, context.get_value_type(x))

    return x(x, bits), generate


def _unary_instruction(name: str, meaning: str) -> Any:
    def typed(typingctx: Any, x: Any) -> Any:
        if x not in _INTEGERS:
            return None

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            real = context.get_value_type(x)
            function = builder.module.declare_intrinsic(f"llvm.{name}", [real], ir.FunctionType(real, [real]))
            return builder.call(function, args)

        return x(x), generate

    typed.__doc__ = meaning
    return intrinsic(typed)


magnitude = _unary_instruction("fabs", "Returns |x|, the sign bit cleared.")
square_root = _unary_instruction("sqrt", "Returns √x, correctly rounded.")


@intrinsic
def with_sign(typingctx: Any, x: Any, sign: Any) -> Any:
    """Returns x with the sign bit of another."""
    if x not in _INTEGERS or x != sign:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        real = context.get_value_type(x)
        function = builder.module.declare_intrinsic("llvm.copysign", [real], ir.FunctionType(real, [real, real]))
        return builder.call(function, args)

    return x(x, sign), generate


@intrinsic
def pick_integer(typingctx: Any, x: Any, pair: Any) -> Any:
    """Returns the integer constant of a pair that belongs to the type of x, in its width."""
    if x not in _INTEGERS:
        return None
    chosen = _position(x)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.extract_value(args[1], chosen)
        return context.cast(builder, value, signature.args[1][chosen], signature.return_type)

    return _INTEGERS[x](x, pair), generate


@intrinsic
def funnel(typingctx: Any, high: Any, low: Any, shift: Any) -> Any:
    """Returns the lower 64 bits of (high · 2⁶⁴ + low) >> shift, of which the lowest six bits count."""
    if (high, low, shift) != (types.uint64,) * 3:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = builder.module.declare_intrinsic("llvm.fshr", [word], ir.FunctionType(word, [word, word, word]))
        return builder.call(function, args)

    return types.uint64(high, low, shift), generate

"""Instructions that the functions are written with: each becomes one LLVM instruction or a straight line of them.

They exist since Numba's own forms would widen integers to 64 bits, branch where a choice is meant, or call libm. A
pair of constants holds the value for float32 and the one for float64; which one is meant follows from the type of an
operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from opsdk.backends.vmath.jit import inner

_CONTRACT = ("contract",)  # a·b + c may become one fused instruction: less work and less error, where a·b is not exact

# Every option is set, since what is not set is taken from the kernel that is compiled first, such as its fastmath=True.
inline = inner(fastmath={"contract"})
# For sums that are exact only if every product and sum is rounded by itself
inline_exact = inner(fastmath=False)

UPPER_HALF = (-0x1000, -0x8000000)  # keeps the upper half of a mantissa
_INTEGERS = {types.float32: types.int32, types.float64: types.int64}


# Any, throughout: Numba's types and llvmlite's builder, which have no annotations.
class Lowering(NamedTuple):
    """Where an instruction is written: Numba's context, LLVM's builder, and the types of operands and result."""

    context: Any
    builder: Any
    signature: Any

    @property
    def result(self) -> Any:
        """LLVM's type of the result."""
        return self.context.get_value_type(self.signature.return_type)

    def intrinsic(self, name: str, *operands: Any, fastmath: Sequence[str] = ()) -> Any:
        """Calls one of LLVM's own functions, whose operands are of the type of the result."""
        kind = ir.FunctionType(self.result, [self.result] * len(operands))
        function = self.builder.module.declare_intrinsic(name, [self.result], kind)
        return self.builder.call(function, operands, fastmath=fastmath)


def instruction(typed: Any) -> Callable[[Callable[..., Any]], Any]:
    """Returns a decorator: of a function of a `Lowering` and operands, which writes code, it makes what kernels call.

    Args:
        typed: Numba's signature, or a function that returns it for the types of operands, or None where there is none.
    """

    def made(write: Callable[..., Any]) -> Any:
        @intrinsic
        @wraps(write)  # Numba reads the number and the names of the operands off the signature
        def of_types(typing_context: Any, *operands: Any) -> Any:
            signature = typed(*operands) if callable(typed) else typed

            def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                return write(Lowering(context, builder, signature), *args)

            return None if signature is None else (signature, generate)

        return of_types

    return made


def _float(x: Any, *others: Any) -> Any:
    return x(x, *others) if x in _INTEGERS else None


def _integer(x: Any, *others: Any) -> Any:
    return _INTEGERS[x](x, *others) if x in _INTEGERS else None


def _position(kind: Any) -> int:
    return 0 if kind == types.float32 else 1


@instruction(lambda condition, a, b: a(condition, a, b) if a == b and condition == types.boolean else None)
def select(lowering: Lowering, condition: Any, a: Any, b: Any) -> Any:
    """Returns `a` where the condition holds, else `b`; both are computed."""
    return lowering.builder.select(condition, a, b)


@instruction(_float)
def horner(lowering: Lowering, x: Any, coefficients: Any) -> Any:
    """Returns the value of a polynomial at x; coefficients are a pair of tuples, lowest power first."""
    builder, chosen = lowering.builder, _position(lowering.signature.return_type)
    values = cgutils.unpack_tuple(builder, builder.extract_value(coefficients, chosen))
    values = [builder.fptrunc(value, lowering.result) for value in values] if chosen == 0 else values
    total = values[-1]
    for value in reversed(values[:-1]):
        total = builder.fadd(builder.fmul(total, x, flags=_CONTRACT), value, flags=_CONTRACT)
    return total


def _picked(lowering: Lowering, x: Any, pair: Any) -> Any:
    context, builder, signature = lowering
    chosen = _position(signature.args[0])
    value = builder.extract_value(pair, chosen)
    return context.cast(builder, value, signature.args[1][chosen], signature.return_type)


def _converted(lowering: Lowering, x: Any, value: Any) -> Any:
    context, builder, signature = lowering
    return context.cast(builder, value, signature.args[1], signature.return_type)


pick = instruction(_float)(_picked)  # the constant of a pair that belongs to the type of x, in that type
pick_integer = instruction(_integer)(_picked)  # the integer of a pair that belongs to the type of x, in its width
like = instruction(_float)(_converted)  # a number in the type of x
narrow = instruction(_integer)(_converted)  # an integer in the width of x: int32 beside float32


@instruction(_integer)
def to_bits(lowering: Lowering, x: Any) -> Any:
    """Returns the bits of a float as a signed integer of its width."""
    return lowering.builder.bitcast(x, lowering.result)


@instruction(_float)
def from_bits(lowering: Lowering, x: Any, bits: Any) -> Any:
    """Returns the float, of the type of x, that has the given bits."""
    context, builder, signature = lowering
    integer = context.cast(builder, bits, signature.args[1], _INTEGERS[signature.return_type])
    return builder.bitcast(integer, lowering.result)


@instruction(_float)
def magnitude(lowering: Lowering, x: Any) -> Any:
    """Returns |x|, the sign bit cleared."""
    return lowering.intrinsic("llvm.fabs", x)


@instruction(_float)
def square_root(lowering: Lowering, x: Any) -> Any:
    """Returns √x, correctly rounded."""
    return lowering.intrinsic("llvm.sqrt", x)


@instruction(lambda x, sign: _float(x, sign) if x == sign else None)
def with_sign(lowering: Lowering, x: Any, sign: Any) -> Any:
    """Returns x with the sign bit of another."""
    return lowering.intrinsic("llvm.copysign", x, sign)


@instruction(lambda *words: words[0](*words) if words == (types.uint64,) * 3 else None)
def funnel(lowering: Lowering, high: Any, low: Any, shift: Any) -> Any:
    """Returns the lower 64 bits of (high · 2⁶⁴ + low) >> shift, of which the lowest six bits count."""
    return lowering.intrinsic("llvm.fshr", high, low, shift)


@inline
def upper_half(x: Any) -> Any:
    """Returns x with the lower half of its mantissa cleared."""
    return from_bits(x, narrow(x, to_bits(x) & pick_integer(x, UPPER_HALF)))

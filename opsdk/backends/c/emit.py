"""C kernels from expressions: source that an author may take over, and that needs no opsdk to be compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.backends.c.signature import symbols
from opsdk.core.errors import DefinitionError
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef, is_mask
from opsdk.expr import vmath
from opsdk.expr.exact import check_constants
from opsdk.expr.node import FLOAT
from opsdk.expr.primitives.entry import PRIMITIVES, Primitive
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.scalar import scalar_of, static_of
from opsdk.expr.source import prelude, public_functions, scalar_function

_KINDS = {"float": "double {0}_attr", "int": "int64_t {0}_attr", "bool[]": "const int32_t *{0}_attr, int64_t {0}_size"}
ROUNDED = 5  # the status of a function that was given a whole number which its dtype does not hold
_MESSAGE = f"""
const char *opsdk_message(int32_t status) {{
  return status == {ROUNDED} ? "an int attribute is beyond the whole numbers that the dtype holds" : 0;
}}
"""
_REALS = {"float32": ("float", "f"), "float64": ("double", "")}

# Where element i of a broadcast result lies in an operand, in elements.
_OFFSET = """
static inline int64_t opsdk_broadcast(const DLTensor *of, const DLTensor *like, int64_t i) {
  int64_t offset = 0;
  for (int32_t d = like->ndim - 1, own = of->ndim - 1; own >= 0; --d, --own) {
    if (of->shape[own] != 1) offset += (i % like->shape[d]) * of->strides[own];
    i /= like->shape[d];
  }
  return offset;
}
"""


# Any: a function of any signature.
def c_source(op: Op | Callable[..., Any], dtypes: Sequence[str] = ("float32", "float64")) -> str:
    """Returns C source: of an op what `op.kernel("cpu", language="c", source=...)` takes, of a primitive its functions.

    Those of a primitive are called like it, with an `f` behind it for floats, as the functions of <math.h> are; of
    `vmath.erfcx` they are `vmath_erfcx` and `vmath_erfcxf`. They stand in front of a kernel that calls them; what
    several of them need may be repeated.

    Args:
        op: an op made with `opsdk.elementwise`, or the gradient of one; or a function of `opsdk.vmath`, or one that
            `@opsdk.primitive` made.
        dtypes: float32, float64; of an op.

    Raises:
        DefinitionError: the op is not elementwise, or has attributes that are no numbers; the function is no primitive.
    """
    if not isinstance(op, Op):
        return f"#include <math.h>\n{public_functions(_primitive_of(op))}"
    opdef = op.opdef
    scalar = scalar_of(opdef)
    if scalar is None or isinstance(scalar, RowFunction):
        raise DefinitionError(f"{opdef.subject}: C source expected an op made with opsdk.elementwise, got another")
    given = {decl.name: 0.0 if decl.is_required else decl.default for decl in opdef.schema.attrs}
    static = static_of({**given, **{name: () for name in given if is_mask(name)}})
    odd = [name for name, _ in static if not is_mask(name)]
    if odd:
        raise DefinitionError(
            f"{opdef.subject}: C source expected attributes that are numbers, got {odd[0]!r}, on which the expression "
            "depends; write one op per value of it"
        )
    expression = scalar.expression(static)
    parts = ["#include <math.h>", _OFFSET]
    for dtype in dtypes:
        real, ending = _REALS[dtype]
        check_constants(expression.wanted, np.dtype(dtype), opdef.subject)
        inner = f"{opdef.schema.name}_scalar{ending or 'd'}"
        parts += [
            prelude(expression.wanted, real),
            scalar_function(expression, inner, real),
            _entry(opdef, symbols(opdef.schema)[dtype], inner, real),
        ]
    if any(decl.type.base == "int" for decl in opdef.schema.attrs):
        parts.append(_MESSAGE)
    return "\n".join([*parts, ""])


# Any: a function of any signature.
def _primitive_of(function: Callable[..., Any]) -> Primitive:
    """Returns the primitive that a function is.

    Raises:
        DefinitionError: it is none, or one whose text in C is an operator.
    """
    for each in list(PRIMITIVES.values()):
        own = each.public or (vars(vmath).get(each.function) if each.doc else None)
        if function is own and {*each.takes, each.gives} == {FLOAT}:
            return each
    raise DefinitionError(
        f"C source: expected an op, a function of numbers of opsdk.vmath, or one made with @opsdk.primitive, got "
        f"{function!r}"
    )


def _entry(opdef: OpDef, name: str, inner: str, real: str) -> str:
    """Returns the function over tensors: one loop where all lie alike, one with broadcasting otherwise."""
    schema = opdef.schema
    inputs, outputs = schema.input_names, schema.output_names
    parameters = [f"const DLTensor *{x}_in" for x in inputs] + [f"DLTensor *{y}_out" for y in outputs]
    parameters += [_KINDS[decl.type.base].format(decl.name) for decl in schema.attrs]
    numbers = [f"{decl.name}_attr" for decl in schema.attrs if not is_mask(decl.name)]
    first = f"{outputs[0]}_out"

    def call(index: str) -> str:
        operands = [f"OPSDK_DATA(const {real}, {x}_in)[{index.format(x=f'{x}_in')}]" for x in inputs]
        results = [f"OPSDK_DATA({real}, {y}_out) + i" for y in outputs]
        return f"{inner}({', '.join([*operands, *numbers, *results])});"

    same = " && ".join(f"opsdk_same_shape({x}_in, {first})" for x in inputs)
    unused = [f"  (void){name}_attr; (void){name}_size;" for name in schema.attr_names if is_mask(name)]
    wholes = [f"{decl.name}_attr" for decl in schema.attrs if decl.type.base == "int"]
    # 2⁶³, to which the largest ones are rounded, is no int64_t
    refused = [f"fabs(({real}){m}) >= 0x1p63 || (int64_t)({real}){m} != {m}" for m in wholes]
    return "\n".join(
        [
            f"int32_t {name}({', '.join(parameters)}) {{",
            *unused,
            *(f"  if ({test}) return {ROUNDED};" for test in refused),
            f"  const int64_t size = opsdk_size({first});",
            f"  if ({same}) {{",
            f"    for (int64_t i = 0; i < size; ++i) {call('i')}",
            "  } else {",
            f"    for (int64_t i = 0; i < size; ++i) {call('opsdk_broadcast({x}, ' + first + ', i)')}",
            "  }",
            "  return 0;",
            "}",
        ]
    )

"""The C signature of an op: what a function for one dtype is called, takes and returns, attributes as C has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opsdk.core.dtype import NAMES
from opsdk.core.errors import AttributeValueError
from opsdk.define.kernel.sizes import SizeFunction, size_parameter
from opsdk.define.schema.attr_type import AttrType
from opsdk.define.schema.attribute import AttrDecl
from opsdk.define.schema.scalars import SPEC
from opsdk.define.schema.schema import InputDecl, OpSchema, OutputDecl

SUFFIXES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "bool",
    "complex64": "c64",
    "complex128": "c128",
}
assert set(SUFFIXES) == set(NAMES)

# DLPack's name for each kind of element; the codes are those of opsdk.h.
_CODES = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}  # V: bfloat16 is no kind of NumPy's own

STATUS = "int32_t"
VOID = "void"
MESSAGE = "opsdk_message"

# What cffi is told of opsdk.h.
TYPES = """
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
    void *data; DLDevice device; int32_t ndim; DLDataType dtype;
    int64_t *shape; int64_t *strides; uint64_t byte_offset;
} DLTensor;
"""

SCALARS = {
    "float": "double",
    "int": "int64_t",
    "bool": "int32_t",
    "str": "const char *",
    "complex": "double",
    "dtype": "DLDataType",
    "Generator": "int64_t",  # the seed of the call's draw
}

# Words that no C parameter can be called.
_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "bool true false complex I"
)
_TAKEN = frozenset(_WORDS.split())


def symbols(schema: OpSchema, name: str = "") -> dict[str, str]:
    """Returns what the C functions of an op, or of a name, are called, by the names of their dtypes."""
    return {dtype: f"{name or schema.name}_{suffix}" for dtype, suffix in SUFFIXES.items()}


def size_symbols(schema: OpSchema, decides: SizeFunction | None) -> dict[str, str]:
    """Returns what the C functions that decide open sizes are called, by dtype; none where Python decides them."""
    return symbols(schema, decides.function) if decides is not None and isinstance(decides.function, str) else {}


def parameters(schema: OpSchema, decides: SizeFunction | None = None, *, fills: bool = True) -> list[str]:
    """Returns how the parameters of an op's C functions are declared: inputs, outputs that they fill, attributes.

    Args:
        schema: of the op.
        decides: what decides open sizes; then the function says how many it filled, in a last parameter.
        fills: whether it has the outputs; a function that decides sizes has not.
    """
    declared = [text for decl in schema.inputs for text in _tensor(decl, fills=decl.mutated and fills)]
    filled = schema.fresh_outputs if fills else ()
    declared += [text for i in filled for text in _tensor(schema.outputs[i], fills=True)]
    declared += [text for decl in schema.attrs for text in _attribute(decl.name, decl.type)]
    taken = (*schema.input_names, *schema.output_names, *schema.attr_names)
    return declared if decides is None else [*declared, f"int64_t *{size_parameter(taken)}"]


def prototype(schema: OpSchema, symbol: str, returns: str = STATUS, decides: SizeFunction | None = None) -> str:
    """Returns the declaration of an op's C function, of the one that decides its open sizes, or of the one that has
    words for a status; without a semicolon.
    """
    if symbol == MESSAGE:
        return f"const char *{MESSAGE}(int32_t status)"
    fills = symbol not in size_symbols(schema, decides).values()
    return f"{returns} {symbol}({', '.join(parameters(schema, decides, fills=fills))})"


def dlpack_type(dtype: np.dtype[np.generic]) -> tuple[int, int, int]:
    """Returns the code, bits and lanes that DLPack has for a dtype."""
    return _CODES[dtype.kind], dtype.itemsize * 8, 1


def _name(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


def _tensor(decl: InputDecl | OutputDecl, *, fills: bool) -> tuple[str, ...]:
    kind = "DLTensor *" if fills else "const DLTensor *"
    name = _name(decl.name)
    return (f"{kind}const *{name}", f"int64_t {name}_len") if decl.kind == "list" else (f"{kind}{name}",)


def _attribute(name: str, declared: AttrType) -> tuple[str, ...]:
    if declared.scalar == SPEC:
        return (f"const DLTensor *{_name(name)}",)
    name, kind = _name(name), SCALARS[declared.scalar]
    if declared.is_list:
        pointer = f"{kind}const *" if kind.endswith("*") else f"const {kind} *"
        return f"{pointer}{name}", f"int64_t {name}_len"
    if kind.endswith("*"):
        return (f"{kind}{name}",)
    by_pointer = declared.is_optional or declared.scalar == "complex"  # a complex number is two doubles
    return (f"const {kind} *{name}" if by_pointer else f"{kind} {name}",)


# Any, in what follows: cffi's interfaces and values, which have no types in Python; attribute values.
def attribute_converter(ffi: Any, decl: AttrDecl) -> Callable[[Any, list[Any]], tuple[Any, ...]] | None:
    """Returns the function from an attribute's value to its C arguments; None where the value itself is the argument.

    Memory that the arguments point to and do not own is added to the list that the function is given; whoever calls
    keeps that and the arguments until the C function has returned.
    """
    scalar, is_optional = decl.type.scalar, decl.type.is_optional

    def array(values: Any, keep: list[Any]) -> tuple[Any, ...]:
        if values is None:
            return ffi.NULL, 0
        items = [part for value in values for part in _parts(ffi, scalar, value)]
        keep.append(items)  # texts, which an array of pointers does not own
        return ffi.new(f"{SCALARS[scalar]}[]", items or 1), len(values)

    def pointer(value: Any, keep: list[Any]) -> tuple[Any, ...]:
        return (ffi.NULL if value is None else ffi.new(f"{SCALARS[scalar]}[]", _parts(ffi, scalar, value)),)

    def converted(value: Any, keep: list[Any]) -> tuple[Any, ...]:
        return (ffi.NULL if value is None else _parts(ffi, scalar, value)[0],)

    if scalar == SPEC:
        return lambda spec, keep: (described(ffi, spec, keep),)
    if decl.type.is_list:
        return array
    if (is_optional and scalar != "str") or scalar == "complex":
        return pointer
    return converted if scalar in ("str", "dtype") else None


def described(ffi: Any, spec: Any, keep: list[Any]) -> Any:
    """Returns a DLTensor of a spec, with no data; NULL of an absent input."""
    if spec is None:
        return ffi.NULL
    made, shape = ffi.new("DLTensor *"), ffi.new("int64_t[]", list(spec.shape) or 1)
    made.device.device_type, made.ndim, made.shape = 1, spec.ndim, shape
    made.dtype.code, made.dtype.bits, made.dtype.lanes = dlpack_type(spec.dtype)
    keep += [made, shape]
    return made


def _parts(ffi: Any, scalar: str, value: Any) -> list[Any]:
    if scalar == "complex":
        return [value.real, value.imag]
    if scalar == "str":
        if "\0" in value:
            raise AttributeValueError(
                "c kernel: expected a text without the character NUL, at which C ends it, "
                f"got {value!r}; cut it yourself"
            )
        try:
            return [ffi.new("char[]", value.encode())]
        except UnicodeEncodeError as error:
            raise AttributeValueError(
                f"c kernel: expected a text of characters that UTF-8 has, got {value!r}, with half of a pair; "
                "value.encode(errors='replace').decode() takes such out"
            ) from error
    return [ffi.new("DLDataType *", dlpack_type(value))[0]] if scalar == "dtype" else [value]

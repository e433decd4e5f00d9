"""The C signature of an op: what a function for one dtype is called, takes and returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opsdk.core.dtype import NAMES
from opsdk.define.schema.schema import TYPE, InputDecl, OpSchema, OutputDecl

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
MESSAGE = "const char *opsdk_message(int32_t status)"

# What cffi is told of opsdk.h.
TYPES = """
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
    void *data; DLDevice device; int32_t ndim; DLDataType dtype;
    int64_t *shape; int64_t *strides; uint64_t byte_offset;
} DLTensor;
"""

_SCALARS = {
    "float": "double",
    "int": "int64_t",
    "bool": "int32_t",
    "str": "const char *",
    "complex": "double",
    "dtype": "DLDataType",
}

# Words that no C parameter can be called.
_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "bool true false complex I"
)
_TAKEN = frozenset(_WORDS.split())


@dataclass(frozen=True)
class Signature:
    """What C functions of an op are called and take.

    Attributes:
        name: the op's name, which every function's name starts with.
        parameters: the declarations of the parameters, in order.
    """

    name: str
    parameters: tuple[str, ...]

    @classmethod
    def of(cls, schema: OpSchema) -> Signature:
        """Returns the signature of an op's C functions: inputs, outputs that they fill, attributes."""
        declared = [text for decl in schema.inputs for text in _tensor(decl, fills=decl.mutated)]
        declared += [text for i in schema.fresh_outputs for text in _tensor(schema.outputs[i], fills=True)]
        declared += [text for decl in schema.attrs for text in _attribute(decl.name, decl.type)]
        return cls(schema.name, tuple(declared))

    def symbol(self, suffix: str) -> str:
        """Returns the name of the function for a dtype."""
        return f"{self.name}_{suffix}"

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the functions for all dtypes."""
        return tuple(self.symbol(suffix) for suffix in SUFFIXES.values())

    def prototype(self, symbol: str, returns: str = STATUS) -> str:
        """Returns a declaration, without a semicolon."""
        return f"{returns} {symbol}({', '.join(self.parameters)})"


def suffix_of(dtype: np.dtype[np.generic]) -> str:
    """Returns how a dtype is written in the name of a function."""
    return SUFFIXES[dtype.name]


def dlpack_type(dtype: np.dtype[np.generic]) -> tuple[int, int, int]:
    """Returns the code, bits and lanes that DLPack has for a dtype."""
    return _CODES[dtype.kind], dtype.itemsize * 8, 1


def _name(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name


def _tensor(decl: InputDecl | OutputDecl, *, fills: bool) -> tuple[str, ...]:
    kind = "DLTensor *" if fills else "const DLTensor *"
    name = _name(decl.name)
    return (f"{kind}const *{name}", f"int64_t {name}_len") if decl.kind == "list" else (f"{kind}{name}",)


def _attribute(name: str, declared: str) -> tuple[str, ...]:
    match = TYPE.fullmatch(declared)
    assert match is not None, declared
    scalar, is_list, is_optional = match.groups()
    name, kind = _name(name), _SCALARS[scalar]
    if is_list:
        pointer = f"{kind}const *" if kind.endswith("*") else f"const {kind} *"
        return f"{pointer}{name}", f"int64_t {name}_len"
    if kind.endswith("*"):
        return (f"{kind}{name}",)
    by_pointer = bool(is_optional) or scalar == "complex"  # a complex number is two doubles
    return (f"const {kind} *{name}" if by_pointer else f"{kind} {name}",)

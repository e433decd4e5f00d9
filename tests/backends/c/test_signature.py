import numpy as np
import pytest

from opsdk.backends.c.signature import SUFFIXES, attribute_converter, dlpack_type, prototype, symbols
from opsdk.core.dtype import NAMES, as_dtype
from opsdk.define.schema.attr_type import AttrType
from opsdk.define.schema.attribute import AttrDecl
from opsdk.define.schema.parse import parse_schema


def declared(schema, returns="int32_t"):
    parsed = parse_schema(schema, "t")
    return prototype(parsed, symbols(parsed)["float32"], returns)


@pytest.mark.parametrize(
    ("schema", "parameters"),
    [
        ("f(Tensor x) -> Tensor y", "const DLTensor *x, DLTensor *y"),
        ("f(Tensor x, Tensor? w=None) -> Tensor y", "const DLTensor *x, const DLTensor *w, DLTensor *y"),
        ("f(Tensor x) -> (Tensor low, Tensor high)", "const DLTensor *x, DLTensor *low, DLTensor *high"),
        ("f(Tensor[] xs) -> Tensor y", "const DLTensor *const *xs, int64_t xs_len, DLTensor *y"),
        ("f(Tensor x) -> Tensor[] ys", "const DLTensor *x, DLTensor *const *ys, int64_t ys_len"),
        ("f(Tensor(a!) x, Tensor g) -> Tensor(a!) y", "DLTensor *x, const DLTensor *g"),
        ("f(Tensor x, *, float slope=0.5) -> Tensor y", "const DLTensor *x, DLTensor *y, double slope"),
        (
            "f(Tensor x, *, int axis, bool keep) -> Tensor y",
            "const DLTensor *x, DLTensor *y, int64_t axis, int32_t keep",
        ),
        ("f(Tensor x, *, str mode) -> Tensor y", "const DLTensor *x, DLTensor *y, const char *mode"),
        ("f(Tensor x, *, str[] m) -> Tensor y", "const DLTensor *x, DLTensor *y, const char *const *m, int64_t m_len"),
        ("f(Tensor x, *, int[] k) -> Tensor y", "const DLTensor *x, DLTensor *y, const int64_t *k, int64_t k_len"),
        ("f(Tensor x, *, float? low=None) -> Tensor y", "const DLTensor *x, DLTensor *y, const double *low"),
        ("f(Tensor x, *, str? mode=None) -> Tensor y", "const DLTensor *x, DLTensor *y, const char *mode"),
        ("f(Tensor x, *, complex c=1j) -> Tensor y", "const DLTensor *x, DLTensor *y, const double *c"),
        ("f(Tensor x, *, dtype to) -> Tensor y", "const DLTensor *x, DLTensor *y, DLDataType to"),
        ("f(Tensor default, *, float double=1.0) -> Tensor y", "const DLTensor *default_, DLTensor *y, double double_"),
    ],
)
def test_the_parameters_are_inputs_outputs_and_attributes(schema, parameters):
    assert declared(schema) == f"int32_t f_f32({parameters})"


def test_a_function_may_return_nothing():
    assert declared("f(Tensor x) -> Tensor y", "void") == "void f_f32(const DLTensor *x, DLTensor *y)"


def test_the_name_is_the_ops_without_namespace_and_version():
    made = symbols(parse_schema("ns::snake@3(Tensor x) -> Tensor y", "t"))
    assert made["bfloat16"] == "snake_bf16"
    assert {"snake_f64", "snake_bool", "snake_c128"} < set(made.values())


def test_every_dtype_has_a_suffix_of_its_own():
    suffixes = [SUFFIXES[name] for name in NAMES if name != "bfloat16"]
    assert suffixes[:6] == ["bool", "i8", "i16", "i32", "i64", "u8"]
    assert len(set(suffixes)) == len(suffixes)


def test_dtypes_have_dlpacks_codes():
    pytest.importorskip("ml_dtypes")
    told = {"float32": (2, 32, 1), "int64": (0, 64, 1), "uint8": (1, 8, 1), "bool": (6, 8, 1), "bfloat16": (4, 16, 1)}
    assert {name: dlpack_type(as_dtype(name)) for name in told} == told
    assert dlpack_type(np.dtype("complex64")) == (5, 64, 1)


def test_texts_are_kept_for_as_long_as_the_call_takes():
    ffi = pytest.importorskip("cffi").FFI()
    keep = []
    pointers, count = attribute_converter(ffi, AttrDecl("names", AttrType.of("str[]")))(("ab", "c"), keep)
    assert [ffi.string(pointers[i]) for i in range(count)] == [b"ab", b"c"]
    assert [ffi.string(text) for (text, *_) in zip(*keep, strict=True)] == [b"ab", b"c"]

"""Dtypes: every kernel language under every infer rule gives the reference's dtype and value, or a DTypeError."""

import numpy as np
import pytest

import opsdk
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import DTypeError, KernelNotFoundError
from opsdk.core.spec import TensorSpec

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
REFERENCES = {"half": lambda x: x * 0.5, "mean": lambda x, axis: np.mean(x, axis=axis)}
SCHEMAS = {
    "half": "t::half(Tensor x) -> Tensor y",
    "mean": "t::mean(Tensor x, *, int? axis=None) -> Tensor y",
}
# Per rule the op that it fits, and the rule.
RULES = {
    "none": ("half", None),
    "like": ("half", opsdk.infer.like()),
    "broadcast": ("half", opsdk.infer.broadcast),
    "reduce": ("mean", opsdk.infer.reduce),
    "user's": ("half", lambda x: TensorSpec(x.shape, x.dtype)),
    "user's, wrong": ("half", lambda x: TensorSpec(x.shape, "float32")),
}


def half_loop(x, y):
    for i in range(x.size):
        y.flat[i] = x.flat[i] * 0.5


def mean_loop(x, axis, y):
    total = x.flat[0] * 1.0
    for i in range(1, x.size):
        total += x.flat[i]
    y[()] = total / x.size


C_TYPES = {
    "bool": "_Bool", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u8": "uint8_t",
    "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "f32": "float", "f64": "double",
    "c64": "float _Complex", "c128": "double _Complex",
}  # fmt: skip
HALF_C = """
int32_t half_{suffix}(const DLTensor *x, DLTensor *y) {{
  const int64_t n = opsdk_size(x);
  for (int64_t i = 0; i < n; ++i) OPSDK_DATA({kind}, y)[i] = OPSDK_DATA(const {kind}, x)[i] * 0.5;
  return 0;
}}"""


def numpy_op(name, rule):
    return opsdk.op(SCHEMAS[name], infer=rule)(REFERENCES[name])


def numba_op(name, rule):
    pytest.importorskip("numba")
    op = numpy_op(name, rule)
    op.kernel("cpu", {"half": half_loop, "mean": mean_loop}[name], language="numba")
    return op


def c_op(name, rule):
    pytest.importorskip("cffi")
    op = numpy_op(name, rule)
    op.kernel("cpu", language="c", source="".join(HALF_C.format(suffix=s, kind=k) for s, k in C_TYPES.items()))
    return op


LANGUAGES = {"numpy": numpy_op, "numba": numba_op, "c": c_op}
# C sources do not take the optional whole number that `reduce` reads.
CELLS = [(language, rule) for language in LANGUAGES for rule in RULES if (language, rule) != ("c", "reduce")]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("language", "rule"), CELLS)
def test_a_cell_is_the_references_dtype_and_value_or_a_dtype_error(language, rule, dtype):
    pytest.importorskip("ml_dtypes")
    name, infer = RULES[rule]
    op = LANGUAGES[language](name, infer)
    x = np.array([1, 1, 0, 1]).astype(as_dtype(dtype))
    want = np.asarray(REFERENCES[name](x, *([None] if name == "mean" else [])))
    refused = 0
    for _ in range(2):  # the first call of a kind is checked in full, the next takes the fast path
        try:
            got = op(x)
        except (DTypeError, KernelNotFoundError) as error:
            assert str(error).startswith(f"op 't::{name}', ")
            refused += 1
            continue
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.astype(complex), want.astype(complex))
    assert refused in (0, 2)
    if dtype in ("float32", "float64") and rule != "user's, wrong":
        assert not refused


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_expressions_cell_is_its_references(dtype):
    pytest.importorskip("ml_dtypes")
    op = opsdk.elementwise("t::halved(Tensor x) -> Tensor y")(lambda x: x * 0.5)
    x = np.array([1, 1, 0, 1]).astype(as_dtype(dtype))
    kept = opsdk.core.dtype.is_differentiable(x.dtype)  # a float beside whole numbers makes the default float of them
    got = op(x)
    assert got.dtype == (x.dtype if kept else np.float32)
    np.testing.assert_array_equal(got.astype(complex), [0.5, 0.5, 0, 0.5])

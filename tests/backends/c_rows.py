"""Ops with C kernels that several test files use."""

import pytest

import opsdk
from opsdk.define.schema.parse import parse_schema

pytest.importorskip("cffi")

LEAKY = """
#define LEAKY(T, suffix)                                                                  \\
  int32_t leaky_##suffix(const DLTensor *x, DLTensor *y, double slope) {                  \\
    const T *in = OPSDK_DATA(const T, x);                                                 \\
    T *out = OPSDK_DATA(T, y);                                                            \\
    const int64_t n = opsdk_size(x);                                                      \\
    for (int64_t i = 0; i < n; ++i) out[i] = in[i] > 0 ? in[i] : (T)slope * in[i];        \\
    return 0;                                                                             \\
  }
LEAKY(float, f32)
LEAKY(double, f64)
"""


def op(schema, source, *, infer=None, dtype=None, **options):
    """Gives an op whose reference must not run, with a C kernel."""
    parsed = parse_schema(schema, "t")
    names = ", ".join([*parsed.input_names, *parsed.attr_names])
    refuse = eval(f"lambda {names}: (_ for _ in ()).throw(AssertionError('the reference ran'))")
    made = opsdk.op(schema, namespace="t", infer=infer)(refuse)
    made.kernel("cpu", language="c", source=source, dtype=dtype, **options)
    return made


def leaky(**options):
    return op("leaky(Tensor x, *, float slope=0.5) -> Tensor y", LEAKY, **options)


def nothing(name, parameters, returns="int32_t", body="return 0;"):
    """Gives a C function of float32."""
    return f"{returns} {name}_f32({parameters}) {{ {body} }}\n"

import pytest

from opsdk.expr import vmath
from opsdk.expr.c_source import scalar_function
from opsdk.expr.trace import trace


def text_of(function, inputs, attrs=(), real="float"):
    return scalar_function(trace(function, inputs, attrs, "op 't::f'"), "f", real)


def test_a_function_takes_values_and_writes_its_result_by_pointer():
    text = text_of(lambda x, *, slope: vmath.maximum(x, 0.0) * slope, ["x"], ["slope"])
    assert text.splitlines() == [
        "static inline void f(float x_in, double slope_attr, float *result0) {",
        "  const float slope_real = (float)slope_attr;",
        "  const float t0 = (x_in >= 0.0f || x_in != x_in) ? x_in : 0.0f;",
        "  const float t1 = t0 * slope_real;",
        "  *result0 = t1;",
        "}",
    ]


@pytest.mark.parametrize(
    ("function", "real", "wanted"),
    [
        (lambda x: vmath.arctan2(x, 2.0), "float", "atan2f(x_in, 2.0f)"),
        (lambda x: vmath.arctan2(x, 2.0), "double", "atan2(x_in, 2.0)"),
        (lambda x: vmath.sigmoid(x), "float", "opsdk_sigmoidf(x_in)"),
        (lambda x: vmath.sign(x), "double", "x_in != x_in ? x_in : (double)((x_in > 0) - (x_in < 0))"),
        (lambda x: x * float("-inf"), "float", "x_in * (-INFINITY)"),
        (lambda x: x + -1.5, "double", "x_in + (-1.5)"),
        (lambda x: vmath.where(x > 0.0, x, 1.0), "float", "t0 ? x_in : 1.0f"),
    ],
)
def test_primitives_and_constants_are_those_of_math_h_and_of_the_dtype(function, real, wanted):
    assert wanted in text_of(function, ["x"], real=real)


def test_conditions_are_whole_numbers():
    assert "const int t0 = x_in < 0.0f;" in text_of(lambda x: vmath.where(x < 0.0, -x, x), ["x"])

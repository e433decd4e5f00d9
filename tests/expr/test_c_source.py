import pytest

from opsdk.expr import vmath
from opsdk.expr.c_source import scalar_function
from opsdk.expr.trace import trace


def text_of(function, inputs, attrs=(), real="float"):
    return scalar_function(trace(function, inputs, attrs, "op 't::f'"), "f", real)


def test_a_function_takes_values_and_writes_its_result_by_pointer():
    text = text_of(lambda x, *, slope: vmath.maximum(x, 0.0) * slope, ["x"], ["slope"])
    assert text.splitlines() == [
        "static inline void f(float x, double slope, float *result0) {",
        "  const float slope_ = (float)slope;",
        "  const float t0 = (x >= 0.0f || x != x) ? x : 0.0f;",
        "  const float t1 = t0 * slope_;",
        "  *result0 = t1;",
        "}",
    ]


@pytest.mark.parametrize(
    ("function", "real", "wanted"),
    [
        (lambda x: vmath.arctan2(x, 2.0), "float", "atan2f(x, 2.0f)"),
        (lambda x: vmath.arctan2(x, 2.0), "double", "atan2(x, 2.0)"),
        (lambda x: vmath.sigmoid(x), "float", "opsdk_sigmoidf(x)"),
        (lambda x: vmath.sign(x), "double", "x != x ? x : (double)((x > 0) - (x < 0))"),
        (lambda x: x * float("-inf"), "float", "x * (-INFINITY)"),
        (lambda x: x + -1.5, "double", "x + (-1.5)"),
        (lambda x: vmath.where(x > 0.0, x, 1.0), "float", "t0 ? x : 1.0f"),
    ],
)
def test_primitives_and_constants_are_those_of_math_h_and_of_the_dtype(function, real, wanted):
    assert wanted in text_of(function, ["x"], real=real)


def test_conditions_are_whole_numbers():
    assert "const int t0 = x < 0.0f;" in text_of(lambda x: vmath.where(x < 0.0, -x, x), ["x"])

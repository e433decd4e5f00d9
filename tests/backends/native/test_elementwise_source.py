"""The loop of an elementwise kernel, run here as plain Python."""

import math

import numpy as np
import pytest

from opsdk import vmath
from opsdk.backends.native.elementwise_source import STAGE_COST, TILE, cut, kernel_source, load_text, store_text
from opsdk.expr.count import cost
from opsdk.expr.node import Node
from opsdk.expr.source import python_lines
from opsdk.expr.trace import trace

WORDS = {
    "real": float, "int32": int, "exp": math.exp, "sin": math.sin, "cos": math.cos, "tanh": math.tanh,
    "log1p": math.log1p, "sqrt": math.sqrt, "abs": abs, "maximum": max, "inf": math.inf, "nan": math.nan,
}  # fmt: skip


def compiled(function, inputs, attrs=(), outputs=1):
    """Returns the source of a kernel of float64, and the kernel."""
    expression = trace(function, inputs, attrs, "op 'f'", outputs)
    source = kernel_source(expression, ["float64"] * len(inputs), ["float64"] * len(expression.wanted))
    buffers = []

    def buffer():
        buffers.append(np.full(TILE, np.nan))
        return buffers[-1]

    space = {**WORDS, "buffer": buffer}
    exec(source, space)
    return source, space["kernel"]


def long_body(x, y):
    """Costs several stages; conditions and values of the first are read in the last."""
    early = x > 0
    a = vmath.exp(x) * vmath.tanh(y)
    b = vmath.sin(a) + vmath.cos(y) * vmath.exp(-y)
    c = vmath.log1p(abs(b)) + vmath.sqrt(abs(a)) * vmath.tanh(b)
    d = vmath.sin(c) * vmath.cos(c) - vmath.exp(-abs(c))
    return vmath.where(early & (d < 1.0), a + d, b * x), c + a


def by_hand(x, y):
    early = x > 0
    a = np.exp(x) * np.tanh(y)
    b = np.sin(a) + np.cos(y) * np.exp(-y)
    c = np.log1p(abs(b)) + np.sqrt(abs(a)) * np.tanh(b)
    d = np.sin(c) * np.cos(c) - np.exp(-abs(c))
    return np.where(early & (d < 1.0), a + d, b * x), c + a


def test_a_short_body_is_one_loop():
    source, kernel = compiled(lambda x, y, *, k: x * k + y, ["x", "y"], ["k"])
    assert source.count("= buffer()") == 0
    assert source.count("for ") == 1
    x, y, out = np.arange(5.0), np.ones(5), np.zeros(5)
    assert kernel(1, 4, None, x, y, out, 3.0) == 0
    assert out.tolist() == [0.0, 4.0, 7.0, 10.0, 0.0]


@pytest.mark.parametrize("size", [0, 1, TILE - 1, TILE, TILE + 1, 2 * TILE + 3])
@pytest.mark.parametrize("start", [0, 5])
def test_a_long_body_goes_tile_by_tile(rng, size, start):
    source, kernel = compiled(long_body, ["x", "y"], outputs=2)
    assert source.count("= buffer()") > 1
    x, y = rng.standard_normal(size + start), rng.standard_normal(size + start)
    outs = np.full((2, size + start), 99.0)
    assert kernel(start, size + start, None, x, y, *outs) == 0
    assert (outs[:, :start] == 99.0).all()
    np.testing.assert_allclose(outs[:, start:], np.array(by_hand(x, y))[:, start:], rtol=1e-12, atol=1e-12)


def test_a_result_that_an_early_stage_has_is_kept_until_the_end(rng):
    def f(x):
        early = vmath.exp(x)
        late = early
        for _ in range(12):
            late = vmath.sin(late) * vmath.exp(-late)
        return early, x, late, early + late

    source, kernel = compiled(f, ["x"], outputs=4)
    assert source.count("= buffer()") > 0
    x = rng.standard_normal(TILE + 7)
    outs = np.zeros((4, x.size))
    kernel(0, x.size, None, x, *outs)
    late = np.exp(x)
    for _ in range(12):
        late = np.sin(late) * np.exp(-late)
    np.testing.assert_allclose(outs, [np.exp(x), x, late, np.exp(x) + late], rtol=1e-12)


def test_buffers_are_used_again_when_their_value_is_not_needed_any_more():
    def chain(x):
        for _ in range(40):
            x = vmath.exp(-x)
        return x

    source, _ = compiled(chain, ["x"])
    assert source.count("for j in") > 5
    assert source.count("= buffer()") <= 2


def weight(statement):
    return cost([statement.node], statement.node.args)


def test_no_stage_has_functions_of_more_than_allowed_unless_it_is_one():
    expression = trace(long_body, ["x", "y"], [], "op 'f'", 2)
    made, _ = python_lines(expression.wanted, {Node("input", (), "x"): "x0", Node("input", (), "y"): "x1"})
    stages = cut(made)
    assert [statement for stage in stages for statement in stage] == made
    for stage in stages:
        functions = [weight(statement) for statement in stage if weight(statement) > 3]
        assert sum(functions) <= STAGE_COST or len(functions) == 1


def test_arithmetic_after_the_functions_stays_in_their_stage():
    def body(x):
        y = vmath.exp(vmath.exp(vmath.exp(x)))
        for _ in range(8):
            y = y * x + 1.0
        return y

    assert compiled(body, ["x"])[0].count("= buffer()") == 0


def test_the_sigmoids_of_one_exponential_are_in_one_stage():
    def body(x):
        y = vmath.exp(vmath.exp(x))
        return vmath.sigmoid(y) * vmath.sigmoid(-y)

    assert compiled(body, ["x"])[0].count("= buffer()") == 0


def test_an_input_that_no_result_needs_is_not_read():
    source, kernel = compiled(lambda x, y: x + 1.0, ["x", "y"])
    assert "p1[" not in source.partition("):")[2]
    out = np.zeros(2)
    kernel(0, 2, None, np.ones(2), None, out)
    assert out.tolist() == [2.0, 2.0]


def test_a_constant_and_an_attribute_alone_are_results():
    _, kernel = compiled(lambda x, *, a: (3.0, a), ["x"], ["a"], outputs=2)
    outs = np.zeros((2, 2))
    kernel(0, 2, None, np.ones(2), *outs, 7.0)
    assert outs.tolist() == [[3.0, 3.0], [7.0, 7.0]]


def test_halves_are_widened_when_they_are_read_and_narrowed_when_they_are_written():
    assert load_text("p0", "float32").format(i="i") == "real(p0[i])"
    assert load_text("p0", "float16").format(i="i") == "real(from_float16(p0[i]))"
    assert store_text("p1", "bfloat16", "t0").format(i="i") == "p1[i] = to_bfloat16(t0)"
    assert store_text("p1", "float64", "t0").format(i="i") == "p1[i] = t0"

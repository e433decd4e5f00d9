from __future__ import annotations

import re

import numpy as np
import pytest

import gradcheck

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402

from gradcheck.subjects import jax as subjects  # noqa: E402

X = np.array([0.3, -1.2, 2.0])
QUICK = {"vary": False, "budget": 1000, "second_order": False}


def cube(backward):
    fn = jax.custom_vjp(lambda x: x**3)
    fn.defvjp(lambda x: (x**3, x), backward)
    return fn


def pushed_cube(factor):
    fn = jax.custom_jvp(lambda x: x**3)
    fn.defjvp(lambda primals, tangents: (primals[0] ** 3, factor * primals[0] ** 2 * tangents[0]))
    return fn


def right(x, g):
    return (3 * x**2 * g,)


def passes(fn, inputs, **options):
    report = subjects.check(fn, inputs, **{**QUICK, **options})
    assert report.verdict == "pass", gradcheck.render_text(report)
    return report


@pytest.mark.parametrize("fn", [cube(right), pushed_cube(3), jnp.sin, jax.jit(cube(right))])
def test_a_right_function_passes(fn):
    passes(fn, (X,))


def test_a_custom_vjp_has_no_jvp_which_is_noted():
    case = subjects.subject(cube(right), (X,), second_order=False)
    assert "jvp" not in case.options
    assert case.notes[0].startswith("jvp: not judged, as JAX raises TypeError: can't apply forward-mode")


@pytest.mark.parametrize(
    ("fn", "check", "text"),
    [
        (cube(lambda x, g: (2 * x**2 * g,)), "vjp value", "gradient of 'x': wrong in 3 of 3"),
        (cube(lambda x, g: (3 * x**2 * g, g)), "vjp raises", "must produce an output with the same container"),
        (cube(lambda x, g: 3 * x**2 * g), "vjp raises", "must produce an output with the same container"),
        (cube(lambda x, g: (jnp.sum(3 * x**2 * g),)), "vjp raises", "must produce an output with the same type"),
        (cube(lambda x, g: ((3 * x**2 * g).astype("float32"),)), "gradient dtype", "expected dtype float64 like x"),
        (cube(lambda x, g: (None,)), "vjp value", "yours 0, derivative"),
        (pushed_cube(2), "jvp value", "jvp of 'x': wrong in 3 of 3 output elements"),
        (lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0), "vjp value", "worst x[1] = -1.2: yours nan, derivative 0"),
    ],
)
def test_a_wrong_function_is_found(fn, check, text):
    found = {finding.check: finding.message for finding in subjects.check(fn, (X,), names=["x"], **QUICK).findings}
    assert text in found[check]


def test_nested_arguments_integers_and_constants_are_taken():
    def layer(parameters, index, power, x):
        return {"y": parameters["w"][index] * x**power, "count": jnp.sum(index)}

    inputs = ({"w": np.array([1.5, -0.5])}, np.array([1, 0, 1]), 2, jnp.array([0.5, 1.0, -2.0]))
    case = subjects.subject(layer, inputs)
    assert case.options["names"] == ["parameters['w']", "index", "x"]
    arrays = (np.array([1.5, -0.5]), np.array([1, 0, 1]), np.array([0.5, 1.0, -2.0]))
    outputs = case.forward(*arrays)
    weights = [np.zeros(()), np.array([1.0, 2.0, 3.0])]
    by_w, by_index, by_x = case.vjp(arrays, outputs, weights)
    np.testing.assert_allclose(by_w, [2.0, 12.25], rtol=1e-14)
    assert by_index is None
    np.testing.assert_allclose(by_x, [-0.5, 6.0, 6.0], rtol=1e-14)


def test_the_second_order_is_taken_both_ways():
    case = subjects.subject(cube(right), (X,))
    weights, g = np.array([1.0, 2.0, -1.0]), np.full(3, 2.0)
    (to_x,), (to_g,) = case.options["vjp2"]((X,), (g,), (X,), (weights,))
    np.testing.assert_allclose(to_x, 12 * X * weights, rtol=1e-14)
    np.testing.assert_allclose(to_g, 3 * X**2 * weights, rtol=1e-14)
    (pushed,) = case.options["jvp2"]((X,), (g,), (weights,), (np.ones(3),))
    np.testing.assert_allclose(pushed, 12 * X * weights + 3 * X**2, rtol=1e-14)
    passes(cube(right), (X,), second_order=True)


def numpy_backward(x, g):
    return (jax.pure_callback(lambda x, g: 3 * np.asarray(x) ** 2 * np.asarray(g), x, x, g),)


def test_a_second_order_that_jax_refuses_is_noted():
    report = passes(cube(numpy_backward), (X,), second_order=True)
    assert [note.split(",")[0] for note in report.coverage.notes if "as JAX raises" in note] == [
        "jvp: not judged",
        "the gradient of the gradient: not judged",
        "the jvp of the gradient: not judged",
    ]


def test_the_batched_function_and_gradient_are_jax_vmaps():
    case = subjects.subject(cube(right), (X,), batch=True)
    stacked = np.array([X, 2 * X])
    np.testing.assert_allclose(case.options["batched"](stacked)[0], stacked**3, rtol=1e-14)
    (found,) = case.options["batched_vjp"]((X,), (X**3,), (stacked,))
    np.testing.assert_allclose(found, 3 * X**2 * stacked, rtol=1e-14)


def test_64_bits_are_enabled_only_inside():
    before = jax.config.jax_enable_x64
    assert subjects.subject(jnp.sin, (X,)).forward(X)[0].dtype == np.float64
    assert jax.config.jax_enable_x64 == before


def test_complex_gradients_are_those_of_jax():
    passes(jnp.exp, (X + 1j * X[::-1],))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_short_dtype_passes(dtype):
    passes(cube(right), (jnp.array(X, dtype=dtype),))


@pytest.mark.parametrize(
    ("fn", "inputs", "text"),
    [
        (3, (X,), "fn: expected a function of arrays, got int; pass the function itself"),
        (dict, (X,), "fn: expected a function of arrays, got the class dict"),
        (jnp.sin, X, "inputs: expected a tuple of arguments, got ndarray; write (x,)"),
        (jnp.sin, (1.0,), "inputs: expected a tensor or an array, got float; pass the values to check at"),
        (jnp.sin, (np.arange(3),), "inputs: expected a floating array to differentiate, got int64; pass one"),
    ],
)
def test_what_cannot_be_judged_is_refused(fn, inputs, text):
    with pytest.raises(gradcheck.UsageError, match=re.escape(text)):
        subjects.check(fn, inputs)

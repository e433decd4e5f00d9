"""Bodies of primitives as functions that Numba inlines."""

import dis

import numba
import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.vmath import bodies
from opsdk.backends.vmath.table import numba_functions
from opsdk.expr.node import Node
from opsdk.expr.primitives.bodies.polynomial import polynomial
from opsdk.expr.primitives.own import primitive_of
from opsdk.expr.symbol import Symbol

X = Symbol(Node("input", (), "x"))


def primitive(body, name="f", **options):
    return primitive_of(opsdk.primitive(namespace="t", name=name, **options)(body))


def table(dtype=np.float64):
    """What there is but for the primitives of users."""
    return {name: each for name, each in numba_functions(np.dtype(dtype)).items() if "__" not in name}


def collapsed(symbol):
    (root,) = bodies._collapsed(symbol.node)
    return root


def test_a_chain_of_products_and_sums_is_one_polynomial():
    root = collapsed(polynomial(vmath.exp(X), [1.0, 2.0, 3.0, 4.0]))
    assert (root.op, repr(root.args), root.payload) == ("horner", "(exp(x),)", (1.0, 2.0, 3.0, 4.0))


def test_a_chain_in_another_variable_or_without_a_number_is_left():
    y = Symbol(Node("input", (), "y"))
    root = collapsed((3.0 * X + 2.0) * y + 1.0)
    assert (root.op, root.args[0].args[0].op) == ("add", "horner")
    assert collapsed(X * X + 1.0).op == "add"
    assert collapsed(3.0 * X + vmath.inf).op == "add"


def test_the_text_has_a_choice_as_a_call_and_a_polynomial_with_its_coefficients_for_both_dtypes(monkeypatch):
    own = primitive(lambda x: vmath.where(x < 0.0, -x, polynomial(x, [1.0, 0.5, 2.0])))
    known, seen = table(), []
    monkeypatch.setattr(bodies, "inline", seen.append)
    bodies.add(known, own, np.float64)
    (function,) = seen
    assert {"horner", "where"} <= set(function.__code__.co_names)
    assert not any("JUMP" in each.opname for each in dis.get_instructions(function))
    assert ((1.0, 0.5, 2.0), (1.0, 0.5, 2.0)) in function.__code__.co_consts


def test_primitives_that_a_body_calls_are_added_before_it():
    half = opsdk.primitive(namespace="t", name="half")(lambda x: x / 2)
    outer = primitive(lambda x: half(x) + 1.0, "outer")
    bodies.add(known := table(), outer, np.float64)
    assert list(known)[-2:] == [primitive_of(half).name, outer.name]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_compiled_body_computes_in_its_dtype(dtype):
    own = primitive(lambda x: vmath.where(x < 1.0, polynomial(x, [0.25, 3.0, -1.0]), 1.0 / x), least=10.0, ulp=1e3)
    bodies.add(known := table(dtype), own, dtype)
    function = known[own.name]
    compiled = numba.njit(lambda x: function(x))
    for x in map(dtype, (0.5, -2.0, 4.0)):
        assert compiled(x) == (dtype(0.25) + 3 * x - x * x if x < 1 else 1 / x)
    assert compiled.nopython_signatures[0].return_type == numba.from_dtype(np.dtype(dtype))

import functools

import numpy as np
import pytest

import opsdk
from opsdk.define.digest import digest_of, is_closure, text_of
from opsdk.define.infer import InferFunction, broadcast, like, reduce
from opsdk.define.parse import parse_schema

SCHEMA = parse_schema("f(Tensor x) -> Tensor y", "ns")


def compiled(text, **scope):
    exec(compile(text, "somewhere.py", "exec"), scope)
    return scope["f"]


def scaled(factor):
    def f(x):
        return factor * x

    return f


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x


def test_the_same_text_in_another_place_has_the_same_digest():
    assert digest_of(compiled("def f(x):\n    return 2 * x")) == digest_of(compiled("\n\ndef f(x):\n    return 2 * x"))


DIFFERENT = {
    "constant": (compiled("def f(x): return 2 * x"), compiled("def f(x): return 3 * x")),
    "operator": (compiled("def f(x): return 2 * x"), compiled("def f(x): return 2 + x")),
    "name": (compiled("def f(x): return np.sin(x)"), compiled("def f(x): return np.cos(x)")),
    "default": (compiled("def f(x, k=1): return k"), compiled("def f(x, k=2): return k")),
    "keyword default": (compiled("def f(x, *, k=1): return k"), compiled("def f(x, *, k=2): return k")),
    "inner": (compiled("def f(x): return [2 for _ in x]"), compiled("def f(x): return [3 for _ in x]")),
    "closure": (scaled(2), scaled(3)),
    "closure over arrays": (scaled(np.arange(9000)), scaled(np.arange(9000) + (np.arange(9000) == 4000))),
    "closure over functions": (scaled(lambda x: x), scaled(lambda x: -x)),
    "partial": (functools.partial(pow, 2), functools.partial(pow, 3)),
    "partial keywords": (functools.partial(max, default=[1]), functools.partial(max, default=[2])),
    "ufunc": (np.sin, np.cos),
    "builtin": (min, max),
    "instance": (Scale(2), Scale(3)),
    "rule": (broadcast, reduce),
    "rule's field": (like("x"), like("w")),
    "rule's dtype": (broadcast.with_dtype("bool"), broadcast.with_dtype("int8")),
    "user's rule": (InferFunction(lambda x: x, SCHEMA), InferFunction(lambda x: [x], SCHEMA)),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_two_functions_that_differ_have_two_digests(pair):
    assert digest_of(pair[0]) != digest_of(pair[1])


EQUAL = {
    "closure": (scaled(2), scaled(2)),
    "closure over arrays": (scaled(np.ones(3)), scaled(np.ones(3))),
    "partial": (functools.partial(pow, 2), functools.partial(pow, 2)),
    "ufunc": (np.sin, np.sin),
    "rule": (like(), like()),
    "user's rule": (InferFunction(lambda x: x, SCHEMA), InferFunction(lambda x: x, SCHEMA)),
}


@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL)
def test_two_functions_that_compute_the_same_have_one_digest(pair):
    assert digest_of(pair[0]) == digest_of(pair[1])


def test_a_method_and_a_compiled_dispatcher_are_read_as_the_function_inside():
    class Dispatcher:
        py_func = staticmethod(DIFFERENT["constant"][0])

    assert text_of(Dispatcher()) == text_of(DIFFERENT["constant"][0])
    assert text_of(Scale(2).__call__) == text_of(Scale(3).__call__)


def test_a_variable_that_has_no_value_yet_is_read_as_empty():
    def outer():
        def f(x):
            return later * x

        text = text_of(f)
        later = 1
        return text, later

    assert "empty" in outer()[0]


def test_the_digest_of_an_op_says_what_its_closure_held_when_it_was_defined():
    factor = 2

    def f(x):
        return factor * x

    opdef = opsdk.op(f, namespace="t").opdef
    factor = 3
    assert opdef.digest == digest_of(str(opdef.schema), opdef.traits, opdef.infer, scaled_by("factor", 2))


def scaled_by(name, factor):
    def f(x):
        return factor * x

    assert f.__code__.co_freevars == (name,)
    return f


def test_only_functions_that_read_their_surroundings_are_closures():
    assert [is_closure(scaled(2)), is_closure(compiled("def f(x): return x")), is_closure(None)] == [True, False, False]

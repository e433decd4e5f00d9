import numpy as np
import pytest

import opsdk
from opsdk.backends.call.plan import make_plan
from opsdk.core.errors import ArityError, ShapeError

X = np.array([1.0, 2.0])


def define(function, schema="t::f(Tensor x) -> Tensor y", **options):
    return opsdk.op(schema, replace=True, **options)(function)


def _slip(x):
    """Gives one number where all elements are equal, a slip that the values decide."""
    return x[:1] * 2 if x.ndim and x.size and (x == x.flat[0]).all() else x * 2


HELD = {
    "one output": ("t::f(Tensor x) -> Tensor y", _slip, lambda x: x, {}),
    "one output, with an attribute": (
        "t::f(Tensor x, *, float k=1.0) -> Tensor y",
        lambda x, k: _slip(x),
        lambda x, k: x,
        {"k": 3.0},
    ),
    "a tuple": ("t::f(Tensor x) -> (Tensor y, Tensor z)", lambda x: (x + 0, _slip(x)), lambda x: (x, x), {}),
    "a list": ("t::f(Tensor x) -> Tensor[] y", lambda x: [x + 0, _slip(x)], lambda x: [x, x], {}),
    "another count": (
        "t::f(Tensor x) -> Tensor[] y",
        lambda x: [x + 0] * (1 + (_slip(x).shape == x.shape)),
        lambda x: [x, x],
        {},
    ),
}


@pytest.mark.parametrize(("schema", "function", "infer", "attrs"), HELD.values(), ids=HELD)
@pytest.mark.parametrize("of", ["arrays", "tensors", "Program"])
def test_every_call_of_python_is_held_to_the_infer_rule(schema, function, infer, attrs, of):
    op = define(function, schema, infer=infer)
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        made = op(opsdk.static.data("x", [None], "float64"), **attrs)
    fetched = list(made) if isinstance(made, (list, tuple)) else [made]

    def call(values):
        if of == "Program":
            return opsdk.static.Executor().run(main, feed={"x": values}, fetch_list=fetched)
        return op(values if of == "arrays" else opsdk.to_tensor(values), **attrs)

    for values in (X, X, np.array([4.0, 5.0, 6.0]), X):
        call(values)
        for equal in (np.full(2, 3.0), np.full(3, 3.0)):
            with pytest.raises((ShapeError, ArityError), match=r"output '[yz].*expected (shape \(.,\)|a list of 2) by"):
                call(equal)


def test_calls_of_many_shapes_and_of_many_axes_are_held_to_the_rule_too():
    op = define(_slip)
    for size in range(2, 200):
        assert op(np.arange(float(size))).shape == (size,)
        with pytest.raises(ShapeError, match=rf"expected shape \({size},\) like 'x' by the default rule, got \(1,\)"):
            op(np.ones(size))
    many = np.arange(2.0).reshape((2,) + (1,) * 31)  # more sizes than the fast path keeps
    for _ in range(3):
        assert op(many).shape == many.shape


def test_what_compiled_kernels_and_gradients_fill_needs_no_look():
    op = define(lambda x: x + 0)
    op.kernel("cpu", language="numba")(lambda x, y: None)
    assert not make_plan(op.opdef, [X], {}).holds


@pytest.mark.parametrize("kind", ["float", "complex", "float[]", "complex[]"])
def test_attributes_that_compare_equal_are_asked_for_each(kind):
    def sign(k):
        number = k[0] if isinstance(k, (list, tuple)) else k
        return np.copysign(1.0, number.imag if kind.startswith("complex") else number)

    op = opsdk.register_op(
        f"planted::signed_{kind.replace('[]', 's')}(Tensor x, *, {kind} k) -> Tensor y",
        forward=lambda x, k: np.zeros(2 if sign(k) > 0 else 3),
        infer=lambda x, k: opsdk.TensorSpec((2 if sign(k) > 0 else 3,), "float64"),
    )
    plus, minus = (complex(1, 0.0), complex(1, -0.0)) if kind.startswith("complex") else (0.0, -0.0)
    for each in (plus, minus, plus):
        size = 2 if each is plus else 3
        assert op(X, k=[each] if kind.endswith("[]") else each).shape == (size,)


def test_what_a_compiled_kernel_returns_is_held_to_the_rule_in_every_call():
    pytest.importorskip("numba")
    op = define(lambda x: x * 2)
    op.kernel("cpu", lambda x: x[1:] * 2.0 if x[0] == 0.0 else x * 2.0, language="numba")
    for size in (2, 2, 3):
        assert op(np.ones(size)).tolist() == [2.0] * size
        for values in (np.zeros(size), opsdk.to_tensor(np.zeros(size))):
            expected = rf"expected shape \({size},\) like 'x' by the default rule, got \({size - 1},\)"
            with pytest.raises(ShapeError, match=expected):
                op(values)

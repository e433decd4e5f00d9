import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import (
    ArityError,
    DTypeError,
    InPlaceError,
    InputValueError,
    KernelStatusError,
    MixedRuntimeError,
    VersionError,
)
from opsdk.define.op import REGISTRY, Op


def leaf(values, dtype="float64"):
    return opsdk.to_tensor(np.array(values, dtype), stop_gradient=False)


# -- what a call gives ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 3])
def test_a_call_on_tensors_gives_a_tensor_in_the_graph(times):
    @opsdk.op
    def twice(x):
        return x * 2

    @twice.backward
    def twice_grad(y, dy):
        return dy * 2

    for _ in range(times):
        x = leaf([1.0])
        y = twice(x)
        assert isinstance(y, opsdk.Tensor)
        assert not y.stop_gradient
        assert not y.is_leaf
        y.backward()
        assert x.grad.tolist() == [2.0]


def test_constants_beside_tensors_take_part_without_gradients():
    x = leaf([1.0, 2.0], "float32")
    array = np.array([3.0, 4.0], "float32")
    y = x * array
    array[:] = 0  # its owner may change it
    y.backward()
    assert x.grad.tolist() == [3.0, 4.0]
    assert (x + 1).dtype == np.float32
    assert (x * 0.5).dtype == np.float32


def test_an_output_that_carries_no_gradient_stops_it():
    x = leaf([1.0, 3.0])
    assert (x > 2.0).stop_gradient
    assert x.argmax().stop_gradient


@pytest.mark.parametrize("times", [1, 3])
def test_an_integer_output_carries_no_gradient_even_where_it_was_not_declared(times):
    @opsdk.op(infer=lambda x: opsdk.TensorSpec(x.shape, "int64"))
    def floor(x):
        return np.floor(x).astype("int64")

    @floor.backward
    def floor_grad(y, dy):
        return dy * 0.0

    for _ in range(times):
        assert floor(leaf([1.5])).stop_gradient


def test_a_shape_that_depends_on_the_values_is_fine():
    @opsdk.op("tape::positive(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec((None,), x.dtype))
    def positive(x):
        return x[x > 0].copy()

    @positive.backward
    def positive_grad(x, dy):
        dx = np.zeros_like(x)
        dx[x > 0] = dy
        return dx

    for values, expected in (([1.0, -1.0, 2.0], [1.0, 0.0, 2.0]), ([-1.0], [0.0]), ([3.0, 4.0], [3.0, 4.0])):
        x = leaf(values)
        positive(x).square().sum().backward()
        assert x.grad.tolist() == [2 * v for v in expected]


def test_mixed_float_dtypes_meet_in_the_wider_and_gradients_come_back_in_their_own():
    x, y = leaf([1.0], "float32"), leaf([2.0], "float64")
    total = x.astype("float64") * y
    total.backward()
    assert total.dtype == np.float64
    assert (x.grad.dtype, y.grad.dtype) == (np.float32, np.float64)


def test_what_is_no_value_is_refused():
    with pytest.raises(DTypeError, match=r"input 'y': expected a tensor, array or number, got builtins\.str"):
        leaf([1.0]) + "text"


def test_values_of_two_runtimes_do_not_mix():
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        variable = opsdk.static.data("x", [1], "float64")
    with pytest.raises(MixedRuntimeError, match="dynamic tensors or constants, got one of the Program variables"):
        opsdk.add(leaf([1.0]), variable)


def test_a_subclass_of_tensor_is_a_tensor():
    class Mine(opsdk.Tensor):
        pass

    x = Mine(np.array([2.0]), False)
    (x * x).backward()
    assert x.grad.tolist() == [4.0]


# -- changed in place -------------------------------------------------------------------------------------------------


@pytest.fixture
def increment():
    @opsdk.op("tape::increment(Tensor(a!) x, *, float by=1.0) -> Tensor(a!) y", nondifferentiable=("x",))
    def op(x, *, by):
        x += by

    return op


def test_a_mutating_op_changes_its_input_and_counts(increment):
    t = opsdk.to_tensor([1.0])
    assert increment(t, by=2.0) is t
    assert t.tolist() == [3.0]
    assert t.inplace_version == 1


def test_a_mutating_op_refuses_a_leaf_that_needs_a_gradient(increment):
    x = leaf([1.0])
    with pytest.raises(InPlaceError, match=r"op 'tape::increment', input 'x': expected a tensor without .* got a leaf"):
        increment(x)
    assert x.tolist() == [1.0]
    with opsdk.no_grad():
        increment(x)
    assert x.tolist() == [2.0]


def test_a_mutating_op_without_backward_refuses_an_interior_tensor(increment):
    with pytest.raises(InPlaceError, match="expected a tensor outside of the graph, since the op has no backward"):
        increment(leaf([1.0]) * 2.0)


def test_a_mutating_op_with_a_backward_moves_the_tensor_on_in_the_graph():
    @opsdk.op("tape::double_(Tensor(a!) x) -> Tensor(a!) y")
    def double_(x):
        x *= 2

    @double_.backward
    def double_grad(dy):
        return dy * 2

    x = leaf([3.0])
    y = x * 1.0
    assert double_(y) is y
    assert y.tolist() == [6.0]
    (y * y).backward()  # 4 x² → 8 x
    assert x.grad.tolist() == [24.0]


# -- kinds of calls ---------------------------------------------------------------------------------------------------


def test_the_plan_follows_what_needs_a_gradient():
    x, y = leaf([2.0]), leaf([3.0])
    for first, second in ((x, y), (x.detach(), y), (x, y.detach()), (x.detach(), y.detach())):
        assert (first * second).stop_gradient is (first.stop_gradient and second.stop_gradient)
    (x.detach() * y).backward()
    assert x.grad is None
    assert y.grad.tolist() == [2.0]


def test_debug_mode_names_the_line_that_used_an_op_without_backward():
    @opsdk.op
    def cube(x):
        return x * x * x

    opsdk.set_flags(debug=True)
    try:
        y = cube(leaf([1.0]))
    finally:
        opsdk.set_flags(debug=False)
    with pytest.raises(opsdk.core.errors.GradientMissingError) as caught:
        y.backward()
    assert any("test_tape.py" in note and note.strip().startswith("at") for note in caught.value.__notes__)


def test_the_graph_keeps_the_backward_that_it_was_built_with():
    @opsdk.op
    def same(x):
        return x.copy()

    @same.backward
    def same_grad(dy):
        return dy

    x = leaf([1.0])
    y = same(x)

    @same.backward(replace=True)
    def same_grad(dy):  # noqa: F811 - the second definition is the point
        return dy * 100

    y.backward()
    assert x.grad.tolist() == [1.0]
    same(x).backward()
    assert x.grad.tolist() == [101.0]


def test_copies_of_an_op_are_the_op():
    op = REGISTRY.find("relu")
    assert isinstance(op, Op)
    assert copy.deepcopy(op) is op


def test_a_composite_op_is_recorded_through_its_parts():
    @opsdk.op("tape::poly(Tensor x, *, float c=3.0) -> Tensor y", composite=True)
    def poly(x, *, c):
        return x * x * c

    x = leaf([2.0])
    (dx,) = opsdk.grad(poly(x), x, create_graph=True)
    assert dx.tolist() == [12.0]
    assert opsdk.grad(dx, x)[0].tolist() == [6.0]
    assert poly(np.array([2.0])).tolist() == [12.0]


def test_a_composite_op_asks_its_own_value_check_also_where_it_is_recorded():
    @opsdk.op("tape::root(Tensor x) -> Tensor y", composite=True)
    def root(x):
        return opsdk.sqrt(x)

    @root.check
    def root_check(x):
        return "x expected at least 0, got less; take its absolute value" if (x < 0).any() else None

    assert root(leaf([4.0])).tolist() == [2.0]
    with pytest.raises(InputValueError, match="op 'tape::root': x expected at least 0"):
        root(leaf([-4.0]))


@pytest.mark.parametrize("returned", [(), (1, 2, 3)])
def test_a_composite_op_whose_body_gives_another_number_of_outputs_is_refused_where_it_is_recorded(returned):
    @opsdk.op("tape::pair(Tensor x) -> (Tensor y, Tensor z)", composite=True)
    def pair(x):
        return tuple(x * k for k in returned)

    with pytest.raises(ArityError, match=rf"op 'tape::pair': expected 2 outputs \(y, z\), got {len(returned)}"):
        pair(leaf([4.0]))


# -- calls like the one before ----------------------------------------------------------------------------------------

MOVED = """
#define MOVED(T, suffix)                                                                                        \\
  int32_t moved_##suffix(const DLTensor *x, const DLTensor *by, DLTensor *y, const char *how) {                 \\
    if (how[0] == '?') return 7;                                                                                \\
    const T sign = how[0] == '-' ? -1 : 1;                                                                      \\
    for (int64_t i = 0; i < opsdk_size(x); ++i)                                                                 \\
      OPSDK_DATA(T, y)[i] = OPSDK_DATA(const T, x)[i] + sign * (by ? OPSDK_DATA(const T, by)[i] : 100);         \\
    return 0;                                                                                                   \\
  }
MOVED(float, f32)
MOVED(double, f64)
"""


@pytest.fixture
def moved():
    pytest.importorskip("cffi")

    def refuse(x, by, how):
        raise AssertionError("the reference ran")

    schema = "t::moved(Tensor x, Tensor? by=None, *, str how='+') -> Tensor y"
    op = opsdk.op(schema, infer=opsdk.infer.like("x"))(refuse)
    op.backward(lambda dy: (dy, dy))
    for dtype in ("float32", "float64"):
        op.kernel("cpu", language="c", dtype=dtype, source=MOVED)
    return op


def tensor(values, dtype="float64"):
    return opsdk.to_tensor(np.array(values, dtype))


def test_other_arrays_of_the_same_kind_give_their_own_values(moved):
    for k in range(4):
        assert moved(tensor([k, 1]), tensor([10, k]), how="-").tolist() == [k - 10, 1 - k]
    assert moved.opdef.plans.repeat is not None


def test_whatever_differs_from_the_call_before_is_seen(moved):
    one, two = tensor([1]), tensor([2])
    turned = opsdk.to_tensor(np.arange(6.0).reshape(2, 3)).T
    for _ in range(3):
        assert moved(one, two).tolist() == [3]
        assert moved(one, two, how="-").tolist() == [-1]
        assert moved(one).tolist() == [101]
        assert moved(one, None, how="-").tolist() == [-99]
        assert moved(tensor([1, 2]), tensor([3, 4])).tolist() == [4, 6]
        narrow = moved(tensor([1], "float32"), tensor([2], "float32"))
        assert (narrow.tolist(), narrow.dtype) == ([3], np.float32)
        assert moved(turned, turned).tolist() == [[0, 6], [2, 8], [4, 10]]
        assert moved(one, np.array([5.0])).tolist() == [6]
        assert moved(np.array([1.0]), np.array([5.0])).tolist() == [6]


def test_a_gradient_is_recorded_though_the_call_before_needed_none(moved):
    plain, by = tensor([1]), tensor([2])
    for _ in range(2):
        assert moved(plain, by).stop_gradient
    x = leaf([1.0])
    y = moved(x, by)
    assert not y.stop_gradient
    y.backward()
    assert x.grad.tolist() == [1]
    with opsdk.no_grad():
        assert moved(x, by).stop_gradient
    assert moved(plain, by).stop_gradient


def test_a_refusal_of_the_function_is_told_every_time(moved):
    for how in ("?", "-", "?", "?"):
        if how == "?":
            with pytest.raises(KernelStatusError, match="moved_f64 returned status 7"):
                moved(tensor([1]), tensor([2]), how="?")
        else:
            assert moved(tensor([1]), tensor([2]), how="-").tolist() == [-1]


def test_an_attribute_that_is_equal_and_not_the_same_is_seen():
    op = opsdk.op("t::scaled(Tensor x, Tensor w, *, float by=1.0) -> Tensor y", infer=opsdk.infer.like("x"))
    made = op(lambda x, w, by: x / by)
    source = """int32_t scaled_f64(const DLTensor *x, const DLTensor *w, DLTensor *y, double by) {
      *OPSDK_DATA(double, y) = *OPSDK_DATA(const double, x) / by;
      return 0;
    }"""
    made.kernel("cpu", language="c", source=source)
    one = tensor([1])
    for _ in range(2):
        assert made(one, one, by=0.0).tolist() == [np.inf]
        assert made(one, one, by=-0.0).tolist() == [-np.inf]


def test_in_debug_mode_every_call_is_checked(moved):
    one, two = tensor([1]), tensor([2])
    moved(one, two)
    opsdk.set_flags(debug=True)
    try:
        assert moved(one, two).tolist() == [3]
        assert moved.opdef.plans.repeat is None
    finally:
        opsdk.set_flags(debug=False)


def test_threads_that_make_one_call_get_their_own_results(moved):
    def work(k):
        x, by = tensor([k]), tensor([1000])
        return all(moved(x, by).tolist() == [k + 1000] for _ in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


# -- lists ------------------------------------------------------------------------------------------------------------


@opsdk.op("tests_tape::spread(Tensor x) -> (Tensor a, Tensor[] b, Tensor[] c, Tensor d)")
def spread(x):
    return 2 * x, [3 * x, 5 * x], [7 * x], 11 * x


@spread.infer
def _spread_infer(x):
    return x, [x, x], [x], x


@spread.backward(composite=True)
def spread_grad(x, da, db, dc, dd):
    return (da * 2.0 + db[0] * 3.0 + db[1] * 5.0 + dc[0] * 7.0 + dd * 11.0) * (x / x)


@pytest.mark.parametrize("used", [(0,), (1,), (2,), (3,), (4,), (0, 4), (1, 3), (0, 1, 2, 3, 4)])
def test_outputs_beside_lists_get_their_own_cotangents(used):
    x = leaf([1.0, 2.0])
    a, b, c, d = spread(x)
    outputs, factors = [a, *b, *c, d], [2.0, 3.0, 5.0, 7.0, 11.0]
    weights = [1.0, 10.0, 100.0, 1000.0, 10000.0]
    loss = opsdk.concat([outputs[i] * weights[i] for i in used]).sum()
    (dx,) = opsdk.grad(loss, x, create_graph=True)
    assert dx.tolist() == [sum(weights[i] * factors[i] for i in used)] * 2
    hooked = []
    outputs[used[-1]].register_hook(lambda grad: hooked.append(grad.tolist()))
    loss.backward()
    assert (x.grad.tolist(), hooked) == (dx.tolist(), [[weights[used[-1]]] * 2])


def test_a_backward_that_reads_outputs_beside_a_list_is_differentiated_through_them():
    @opsdk.op("tests::f(Tensor x) -> (Tensor[] powers, Tensor y)", infer=lambda x: ([x, x], x))
    def f(x):
        return [x * x, x * x * x], x * x

    @f.backward(composite=True)
    def f_grad(x, powers, y, dpowers, dy):
        return dpowers[0] * 2.0 * x + dpowers[1] * 3.0 * powers[0] + dy * 2.0 * y / x

    x = leaf([2.0, 3.0])
    powers, y = f(x)
    (first,) = opsdk.grad((powers[1] + y).sum(), x, create_graph=True)
    assert first.tolist() == [16.0, 33.0]
    np.testing.assert_allclose(opsdk.grad(first.sum(), x)[0].numpy(), [14.0, 20.0], rtol=1e-12)  # 6x + 2


def test_a_list_is_changed_in_place():
    double = opsdk.op("tests::double(Tensor(a!)[] xs, Tensor(b!)? y) -> Tensor(a!)[] out")(_doubled)
    first, second, third = (opsdk.to_tensor(np.array([v])) for v in (1.0, 2.0, 3.0))
    out = double([first, second], third)
    assert [t.tolist() for t in (first, second, third)] == [[2.0], [4.0], [6.0]]
    assert [t.inplace_version for t in (first, second, third)] == [1, 1, 1]
    assert out[0] is first and out[1] is second
    assert [t.tolist() for t in double([first], None)] == [[4.0]]


def _doubled(xs, y):
    for array in (*xs, *(() if y is None else (y,))):
        array *= 2


def test_a_list_that_is_changed_in_place_is_held_to_the_rules_of_one_tensor():
    double = opsdk.op("tests::double(Tensor(a!)[] xs, Tensor(b!)? y) -> ()")(_doubled)
    x, plain = leaf([1.0]), opsdk.to_tensor(np.array([1.0]))
    with pytest.raises(InPlaceError, match="input 'xs': expected a tensor without stop_gradient=False or recording"):
        double([plain, x], None)
    y = x * plain
    double([plain], None)
    with pytest.raises(VersionError, match="it was changed in place since, to version 1"):
        y.backward()
    assert (plain.tolist(), x.tolist()) == ([2.0], [1.0])


def test_a_constant_beside_tensors_is_not_changed_in_a_copy():
    add = opsdk.op("tests::add_(Tensor(a!)[] xs, Tensor y) -> ()")(lambda xs, y: xs[0].__iadd__(y) and None)
    array, y = np.array([1.0]), opsdk.to_tensor(np.array([1.0]))
    with pytest.raises(InPlaceError, match="input 'xs': expected one of the dynamic tensors, since the op changes it"):
        add([array], y)


def test_views_in_a_list_count_changes_with_what_they_are_views_of():
    halves = opsdk.op("tests::halves(Tensor(a) x) -> Tensor(a)[] parts")(lambda x: [x[:1], x[1:]])
    x = opsdk.to_tensor(np.array([1.0, 2.0]))
    parts = halves(x)
    opsdk.op("tests::zero(Tensor(a!) x) -> ()")(lambda x: x.fill(0))(parts[1])
    assert (x.tolist(), x.inplace_version, parts[0].inplace_version) == ([1.0, 0.0], 1, 1)


def _multiplied(p, q):
    p *= q


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("other", [lambda w: w, lambda w: w.detach(), lambda w: w.detach().reshape([3])])
def test_an_input_that_shares_the_memory_that_is_changed_was_saved_before_the_change(other, is_list):
    if is_list:
        times = opsdk.op("tests::times_(Tensor(a!) p, Tensor[] q) -> Tensor(a!) r")(lambda p, q: _multiplied(p, q[0]))
        times.backward(lambda q, dr: (dr * q[0], [dr]))
    else:
        times = opsdk.op("tests::times_(Tensor(a!) p, Tensor q) -> Tensor(a!) r")(_multiplied)
        times.backward(lambda q, dr: (dr * q, dr))
    w = leaf([1.0, 2.0, 3.0]) * 1.0
    q = other(w)
    made = times(w, [q] if is_list else q)
    assert made.tolist() == [1.0, 4.0, 9.0]
    with pytest.raises(VersionError, match=r"needs 'q' as it was at version (0|\(0,\)), it was changed"):
        made.sum().backward()


def test_an_input_of_its_own_memory_is_saved_as_it_is():
    times = opsdk.op("tests::times_(Tensor(a!) p, Tensor q) -> Tensor(a!) r")(_multiplied)
    times.backward(lambda q, dr: (dr * q, None))
    x = leaf([1.0, 2.0])
    times(x * 1.0, opsdk.to_tensor(np.array([5.0, 7.0]))).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]


def test_a_change_that_fails_midway_counts_as_one():
    @opsdk.op("tests::half_way_(Tensor(a!) p) -> Tensor(a!) r")
    def half_way_(p):
        p[0] = -9
        raise RuntimeError("midway")

    half_way_.backward(lambda dr: dr)
    w = leaf([1.0, 2.0]) * 1.0
    squares = w * w
    for version in (1, 2):
        with pytest.raises(RuntimeError, match="midway"):
            half_way_(w)
        assert w.inplace_version == version
    with pytest.raises(VersionError, match="it was changed in place since, to version 2"):
        squares.sum().backward()

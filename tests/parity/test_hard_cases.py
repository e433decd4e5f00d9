"""The cases that the types of an op were settled on, each in both runtimes."""

from __future__ import annotations

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import InPlaceError, ProgramError


def run_static(build, **feed):
    """Builds a Program whose data variables are like the arrays fed, and returns what `build` returns, computed."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        variables = {name: static.data(name, value.shape, value.dtype) for name, value in feed.items()}
        for variable in variables.values():
            variable.stop_gradient = variable.dtype.kind != "f"
        fetches = build(**variables)
    return static.Executor().run(main, feed=feed, fetch_list=list(fetches))


def run_dynamic(build, **feed):
    """Returns what `build` returns on tensors, as arrays."""
    tensors = {
        name: opsdk.to_tensor(value, stop_gradient=value.dtype.kind != "f") for name, value in feed.items()
    }
    return [value.numpy() for value in build(**tensors)]


def gradients(outputs, inputs):
    """Asks whichever runtime the values belong to."""
    return (opsdk.grad if isinstance(outputs, opsdk.Tensor) else static.gradients)(outputs, inputs)


RUNTIMES = pytest.mark.parametrize("run", [run_dynamic, run_static], ids=["dynamic", "static"])


# -- two outputs, of which one is not differentiable ------------------------------------------------------------------


def define_max_and_position():
    @opsdk.op("hard::max_and_position(Tensor x) -> (Tensor top, Tensor position)", nondifferentiable=("position",))
    def max_and_position(x):
        return x.max(axis=1), x.argmax(axis=1)

    @max_and_position.infer
    def shapes(x):
        return opsdk.TensorSpec(x.shape[:1], x.dtype), opsdk.TensorSpec(x.shape[:1], "int64")

    @max_and_position.backward
    def max_and_position_grad(x, position, dtop):
        dx = np.zeros_like(x)
        dx[np.arange(len(x)), position] = dtop
        return dx

    return max_and_position


@RUNTIMES
def test_only_the_differentiable_one_of_two_outputs_carries_a_gradient(run):
    op = define_max_and_position()
    stops = []

    def build(x):
        top, position = op(x)
        stops.append((top.stop_gradient, position.stop_gradient))
        return [top, position, *gradients((top * 3.0).sum(), [x])]

    top, position, dx = run(build, x=np.array([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]]))
    assert stops == [(False, True)]
    assert top.tolist() == [5.0, 7.0]
    assert position.tolist() == [1, 0]
    assert dx.tolist() == [[0.0, 3.0, 0.0], [3.0, 0.0, 0.0]]


# -- an optional and a variadic input ---------------------------------------------------------------------------------


def define_weighted_total():
    @opsdk.op("hard::weighted_total(Tensor? weight, Tensor[] parts) -> Tensor total")
    def weighted_total(weight, parts):
        total = np.add.reduce(parts)
        return total if weight is None else total * weight

    @weighted_total.infer
    def shape(parts):
        return parts[0]

    @weighted_total.backward(composite=True)
    def weighted_total_grad(weight, parts, dtotal):
        share = dtotal if weight is None else dtotal * weight
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return (None if weight is None else dtotal * total), [share for _ in parts]

    return weighted_total


@RUNTIMES
def test_a_variadic_input_gets_a_list_of_gradients_and_an_optional_one_its_own(run):
    op = define_weighted_total()

    def build(w, a, b, c):
        total = op(w, [a, b, c])
        return [total, *gradients(total.sum(), [w, a, c])]

    w, a, b, c = np.array([2.0, -1.0]), np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])
    total, dw, da, dc = run(build, w=w, a=a, b=b, c=c)
    assert total.tolist() == [18.0, -12.0]
    assert dw.tolist() == [9.0, 12.0]
    assert da.tolist() == dc.tolist() == [2.0, -1.0]


@RUNTIMES
def test_an_absent_optional_input_is_none_to_the_forward_and_to_the_backward(run):
    op = define_weighted_total()

    def build(a, b):
        total = op(None, [a, b])
        return [total, *gradients(total.sum(), [a])]

    total, da = run(build, a=np.array([1.0]), b=np.array([2.0]))
    assert (total.tolist(), da.tolist()) == ([3.0], [1.0])


# -- an input that is mutated -----------------------------------------------------------------------------------------


def define_accumulate():
    @opsdk.op(
        "hard::accumulate(Tensor(a!) total, Tensor x) -> Tensor(a!) total_out", nondifferentiable=("total", "x")
    )
    def accumulate(total, x):
        total += x

    return accumulate


def test_a_mutated_tensor_is_the_same_tensor_with_a_new_version():
    total = opsdk.to_tensor([1.0, 2.0])
    out = define_accumulate()(total, opsdk.to_tensor([10.0, 20.0]))
    assert out is total
    assert total.numpy().tolist() == [11.0, 22.0]
    assert total.inplace_version == 1


def test_a_mutated_variable_is_the_output_and_lives_on_in_the_scope():
    op = define_accumulate()
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        total = static.create_global_var([2], 1.0, "float32", persistable=True)
        out = op(total, static.data("x", [2], "float32"))
    assert out is total
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    feed = {"x": np.array([1.0, 2.0], np.float32)}
    exe.run(main, feed=feed, scope=scope)
    (value,) = exe.run(main, feed=feed, fetch_list=[total], scope=scope)
    assert value.tolist() == [3.0, 5.0]


def test_a_leaf_that_needs_a_gradient_is_not_mutated_while_the_tape_runs():
    leaf = opsdk.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(InPlaceError, match="got a leaf that needs a gradient"):
        define_accumulate()(leaf, opsdk.to_tensor([1.0]))
    assert leaf.numpy().tolist() == [1.0]


def test_a_value_that_a_backward_reads_may_not_be_mutated_later_in_the_program():
    op = define_accumulate()
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [2], "float32")
        x.stop_gradient = False
        y = x * x
        op(x, static.data("d", [2], "float32"))
        with pytest.raises(ProgramError, match="it is written again by 'accumulate'"):
            static.gradients(y, x)


# -- an output whose shape depends on values --------------------------------------------------------------------------


def define_positive_part():
    @opsdk.op("hard::positive_part(Tensor x) -> Tensor y")
    def positive_part(x):
        return x[x > 0]

    @positive_part.infer
    def shape(x):
        return opsdk.TensorSpec([None], x.dtype)

    @positive_part.backward
    def positive_part_grad(x, dy):
        dx = np.zeros_like(x)
        dx[x > 0] = dy
        return dx

    return positive_part


@RUNTIMES
def test_an_output_may_have_a_size_that_only_its_values_tell(run):
    op = define_positive_part()

    def build(x):
        y = op(x)
        return [y, *gradients((y * y).sum(), [x])]

    y, dx = run(build, x=np.array([3.0, -1.0, 2.0]))
    assert y.tolist() == [3.0, 2.0]
    assert dx.tolist() == [6.0, 0.0, 4.0]


# -- a composite backward, differentiated twice -----------------------------------------------------------------------


def define_cube():
    @opsdk.op("hard::cube(Tensor x, *, float scale=1.0) -> Tensor y")
    def cube(x, *, scale):
        return scale * x**3

    @cube.backward(composite=True)
    def cube_grad(x, dy, scale):
        return dy * x * x * (3.0 * scale)

    return cube


@RUNTIMES
def test_a_composite_backward_is_differentiated_twice(run):
    op = define_cube()

    def build(x):
        create = {"create_graph": True} if isinstance(x, opsdk.Tensor) else {}
        ask = opsdk.grad if create else static.gradients
        (first,) = ask(op(x, scale=2.0).sum(), x, **create)
        (second,) = ask(first.sum(), x, **create)
        (third,) = ask(second.sum(), x)
        return [first, second, third]

    first, second, third = run(build, x=np.array([1.0, -2.0]))
    assert first.tolist() == [6.0, 24.0]  # 2 · 3x²
    assert second.tolist() == [12.0, -24.0]  # 2 · 6x
    assert third.tolist() == [12.0, 12.0]  # 2 · 6


# -- disconnected, fan-out, cotangents of unused outputs --------------------------------------------------------------


@RUNTIMES
def test_contributions_of_every_use_are_summed(run):
    def build(x):
        y = x * x + x * 2.0 + x
        return gradients(y.sum(), [x])

    (dx,) = run(build, x=np.array([1.0, 4.0]))
    assert dx.tolist() == [5.0, 11.0]  # 2x + 2 + 1


def define_sum_and_difference(**options):
    seen = []

    @opsdk.op("hard::sum_and_difference(Tensor x, Tensor y) -> (Tensor total, Tensor difference)")
    def sum_and_difference(x, y):
        return x + y, x - y

    @sum_and_difference.backward(**options)
    def sum_and_difference_grad(dtotal, ddifference):
        seen.append(None if ddifference is None else ddifference.copy())
        other = 0.0 if ddifference is None else ddifference
        return dtotal + other, dtotal - other

    return sum_and_difference, seen


@RUNTIMES
def test_an_output_that_nobody_used_has_a_cotangent_of_zeros(run):
    op, seen = define_sum_and_difference()
    dx, dy = run(lambda x, y: gradients(op(x, y)[0].sum(), [x, y]), x=np.array([1.0]), y=np.array([2.0]))
    assert (dx.tolist(), dy.tolist()) == ([1.0], [1.0])
    assert all(cotangent.tolist() == [0.0] for cotangent in seen)


@RUNTIMES
def test_materialize_false_gives_none_for_an_output_that_nobody_used(run):
    op, seen = define_sum_and_difference(materialize=False)
    dx, dy = run(lambda x, y: gradients(op(x, y)[0].sum(), [x, y]), x=np.array([1.0]), y=np.array([2.0]))
    assert (dx.tolist(), dy.tolist()) == ([1.0], [1.0])
    assert set(seen) == {None}


@RUNTIMES
def test_gradients_of_broadcast_inputs_are_summed_to_their_shapes(run):
    @opsdk.op("hard::shift(Tensor x, Tensor b) -> Tensor y", infer=opsdk.infer.broadcast)
    def shift(x, b):
        return x + b

    @shift.backward
    def shift_grad(dy):
        return dy, dy

    dx, db = run(
        lambda x, b: gradients((shift(x, b) * 2.0).sum(), [x, b]), x=np.ones((2, 3)), b=np.ones((3,))
    )
    assert dx.tolist() == [[2.0] * 3] * 2
    assert db.tolist() == [4.0] * 3


@RUNTIMES
def test_a_composite_op_sends_no_gradient_to_an_input_that_was_declared_to_have_none(run):
    @opsdk.op("hard::tilted(Tensor x, Tensor slope) -> Tensor y", composite=True, nondifferentiable=("slope",))
    def tilted(x, slope):
        return x * x + slope * x

    def build(x, slope):
        y = tilted(x, slope).sum()
        if isinstance(x, opsdk.Tensor):
            dx, dslope = opsdk.grad(y, [x, slope], allow_unused=True)
        else:
            dx, dslope = static.gradients(y, [x, slope])
        assert dslope is None
        return [dx]

    (dx,) = run(build, x=np.array([1.0, 2.0]), slope=np.array([10.0, 20.0]))
    assert dx.tolist() == [12.0, 24.0]


@RUNTIMES
def test_a_composite_op_sends_no_gradient_through_an_output_that_was_declared_to_have_none(run):
    @opsdk.op(
        "hard::gated(Tensor x, Tensor w) -> (Tensor value, Tensor active)",
        composite=True,
        nondifferentiable=("active",),
        infer=opsdk.infer.broadcast,
    )
    def gated(x, w):
        active = opsdk.maximum(x - w, 0.0)
        return x * active, active

    def build(x, w):
        value, active = gated(x, w)
        assert (value.stop_gradient, active.stop_gradient) == (False, True)
        total = value.sum() + (active * 100.0).sum()
        if isinstance(x, opsdk.Tensor):
            return [opsdk.grad(total, x)[0], active]
        return [static.gradients(total, x)[0], active]

    dx, active = run(build, x=np.array([1.0, 5.0]), w=np.array([2.0, 2.0]))
    assert active.tolist() == [0.0, 3.0]
    assert dx.tolist() == [0.0, 8.0]  # of x (x - w): 2 x - w, and nothing of the 100


@pytest.mark.parametrize("wanted", [[2, 3], (2, 3)], ids=repr)
def test_a_composite_that_compares_shapes_takes_one_branch_everywhere(wanted):
    @opsdk.op("hard::branches(Tensor x) -> Tensor y", composite=True, replace=True)
    def branches(x):
        return x * (3.0 if x.shape == wanted and x.shape[1:] == wanted[1:] else 5.0)

    x = np.ones((2, 3))
    main = static.Program()
    with static.program_guard(main):
        known, later = (branches(static.data(f"x{n}", [n, 3], "float64")) for n in (2, None))
    made = static.Executor().run(main, {"x2": x, "xNone": x}, [known, later])
    assert [each.max() for each in (branches(x), branches(opsdk.to_tensor(x)).numpy(), *made)] == [3.0] * 4

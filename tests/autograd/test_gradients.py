import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ArityError, DTypeError, ShapeError, VersionError


def leaf(values, dtype="float64"):
    return opsdk.to_tensor(np.array(values, dtype), stop_gradient=False)


def define(schema, forward, backward, **options):
    infer = {"infer": options.pop("infer")} if "infer" in options else {}
    op = opsdk.op(schema, **infer)(forward)
    op.backward(**options)(backward)
    return op


# -- what comes out of a backward -------------------------------------------------------------------------------------


def test_a_gradient_of_a_wrong_shape_is_refused():
    op = define("wrong::shape(Tensor x) -> Tensor y", lambda x: x * 2, lambda dy: np.ones((2, 3)))
    x = leaf([1.0, 2.0, 3.0])
    with pytest.raises(
        ShapeError,
        match=r"op 'wrong::shape', gradient of 'x': expected \(3,\) like x, got \(2, 3\); sum it over axis 0",
    ):
        op(x).backward()
    assert x.grad is None


def test_a_gradient_of_a_wrong_dtype_is_refused():
    op = define("wrong::dtype(Tensor x) -> Tensor y", lambda x: x * 2, lambda dy: dy.astype("float64"))
    with pytest.raises(DTypeError, match="op 'wrong::dtype', gradient of 'x': expected float32 like x, got float64"):
        op(leaf([1.0], "float32")).backward()


def test_none_is_refused_where_it_was_not_declared():
    op = define("wrong::none(Tensor x, Tensor z) -> Tensor y", lambda x, z: x + z, lambda dy: (dy, None))
    x, z = leaf([1.0]), leaf([1.0])
    with pytest.raises(
        ArityError, match=r"op 'wrong::none', gradient of 'z': expected an array, got None; .*disconnected=\(\"z\",\)"
    ):
        op(x, z).backward()


def test_a_backward_that_returns_nothing_is_asked_for_its_return():
    op = define("wrong::silent(Tensor x) -> Tensor y", lambda x: x * 2, lambda dy: None)
    with pytest.raises(ArityError) as caught:
        op(leaf([1.0])).backward()
    assert str(caught.value) == (
        "op 'wrong::silent', gradient of 'x': expected an array, got nothing; is a `return` missing? "
        'If nothing depends on x, declare it: @silent.backward(disconnected=("x",))'
    )


@pytest.mark.parametrize("composite", [False, True])
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_backward_of_several_that_returns_nothing_is_asked_for_its_return(composite, create_graph):
    schema = f"wrong::pair{composite:d}{create_graph:d}(Tensor x, Tensor z) -> Tensor y"
    op = opsdk.op(schema)(lambda x, z: x + z)
    op.backward(composite=composite)(lambda dy: None)
    x, z = leaf([1.0]), leaf([1.0])
    with pytest.raises(ArityError, match=r"2 gradients \(dx, dz\), got nothing; is a `return` missing\? What nothing"):
        opsdk.grad(op(x, z), [x, z], create_graph=create_graph)


def test_a_composite_backward_may_return_a_dict_where_it_is_recorded():
    op = opsdk.op("right::named(Tensor x, Tensor z) -> Tensor y")(lambda x, z: x * z)
    op.backward(composite=True)(lambda x, z, dy: {"z": dy * x, "x": dy * z})
    x, z = leaf([2.0]), leaf([3.0])
    dx, dz = opsdk.grad(op(x, z), [x, z], create_graph=True)
    assert (dx.tolist(), dz.tolist()) == ([3.0], [2.0])


def test_none_is_no_matter_where_nobody_wants_the_gradient():
    op = define("right::none(Tensor x, Tensor z) -> Tensor y", lambda x, z: x + z, lambda dy: (dy, None))
    x = leaf([1.0])
    op(x, opsdk.to_tensor(np.array([1.0]))).backward()
    assert x.grad.tolist() == [1.0]


def test_a_disconnected_input_gets_no_gradient():
    op = define(
        "right::disconnected(Tensor x, Tensor z) -> Tensor y",
        lambda x, z: x.copy(),
        lambda dy: (dy, None),
        disconnected=("z",),
    )
    x, z = leaf([1.0]), leaf([1.0])
    op(x, z).backward()
    assert x.grad.tolist() == [1.0]
    assert z.grad is None


@pytest.mark.parametrize("made", [lambda dy: (dy,), lambda dy: (dy, dy, dy)])
def test_a_wrong_number_of_gradients_is_refused(made):
    op = define("wrong::count(Tensor x, Tensor z) -> Tensor y", lambda x, z: x + z, made)
    with pytest.raises(ArityError, match=r"expected 2 gradients \(dx, dz\), got"):
        op(leaf([1.0]), leaf([1.0])).backward()


def test_a_wrong_number_of_gradients_for_a_list_is_refused():
    op = define("wrong::list(Tensor[] x) -> Tensor y", lambda x: sum(x), lambda dy: [dy], infer=lambda x: x[0])
    with pytest.raises(ArityError, match=r"op 'wrong::list', gradient of 'x': expected a list of 2, one per tensor"):
        op([leaf([1.0]), leaf([1.0])]).backward()


def test_gradients_may_come_by_name():
    op = define("right::names(Tensor x, Tensor z) -> Tensor y", lambda x, z: x - z, lambda dy: {"z": -dy, "x": dy})
    x, z = leaf([1.0]), leaf([1.0])
    op(x, z).backward()
    assert (x.grad.tolist(), z.grad.tolist()) == ([1.0], [-1.0])


def test_gradients_of_broadcast_inputs_are_summed():
    op = define(
        "right::broadcast(Tensor x, Tensor z) -> Tensor y",
        lambda x, z: x * z,
        lambda x, z, dy: (dy * z, dy * x),
        infer=opsdk.infer.broadcast,
    )
    x, z, s = leaf([[1.0], [2.0]]), leaf([3.0, 4.0, 5.0]), leaf(2.0)
    (op(x, z) * s).backward()
    assert x.grad.tolist() == [[24.0], [24.0]]
    assert z.grad.tolist() == [6.0, 6.0, 6.0]
    assert s.grad.tolist() == 36.0


def test_a_backward_is_told_which_gradients_are_wanted():
    masks = []

    def backward(dy, needs_input_grad):
        masks.append(needs_input_grad)
        return (dy, dy)

    op = define("right::mask(Tensor x, Tensor z) -> Tensor y", lambda x, z: x + z, backward)
    constant = opsdk.to_tensor(np.array([1.0]))
    op(leaf([1.0]), constant).backward()
    op(leaf([1.0]), leaf([1.0])).backward()
    assert masks == [(True, False), (True, True)]


# -- what goes into a backward ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("materialize", [True, False])
def test_an_output_that_nobody_used_gives_zeros_or_none(materialize):
    seen = []

    def backward(da, db):
        seen.append(db)
        return da

    op = define(
        "right::unused(Tensor x) -> (Tensor a, Tensor b)",
        lambda x: (x * 1, x[:1].copy()),
        backward,
        infer=lambda x: (x, opsdk.TensorSpec((1,), x.dtype)),
        materialize=materialize,
    )
    x = leaf([1.0, 2.0])
    a, _ = op(x)
    a.backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert (seen[0] is None) if not materialize else seen[0].tolist() == [0.0]


def test_attributes_reach_the_backward():
    @opsdk.op
    def times(x, *, factor: float = 2.0):
        return x * factor

    @times.backward
    def times_grad(dy, factor):
        return dy * factor

    x = leaf([1.0])
    (times(x) + times(x, factor=5.0)).backward()
    assert x.grad.tolist() == [7.0]


# -- versions ---------------------------------------------------------------------------------------------------------


def saves_output():
    return define("version::twice(Tensor x) -> Tensor y", lambda x: x * 2, lambda y, dy: dy * (y > 0))


def test_a_saved_output_that_was_changed_in_place_is_refused():
    op = saves_output()
    for _ in range(2):  # the second call takes the short way
        x = leaf([1.0])
        y = op(x)
        loss = y * 3.0
        with opsdk.no_grad():
            y.fill_(-1.0)
        with pytest.raises(
            VersionError,
            match=r"op 'version::twice': backward needs 'y' as it was at version 0, it was changed .*, to version 1",
        ):
            loss.backward()


def test_a_saved_input_that_was_changed_in_place_is_refused():
    x, w = leaf([1.0]), opsdk.to_tensor(np.array([2.0]))
    loss = x * w
    w.fill_(5.0)
    with pytest.raises(VersionError, match=r"backward needs 'y' as it was at version 0, .*; change a copy instead"):
        loss.backward()


def test_a_change_before_the_call_is_no_matter():
    x, w = leaf([1.0]), opsdk.to_tensor(np.array([2.0]))
    w.fill_(5.0)
    (x * w).backward()
    assert x.grad.tolist() == [5.0]


def test_a_change_through_a_view_counts():
    x, w = leaf([[1.0]]), opsdk.to_tensor(np.array([2.0]))
    view = w.reshape([1, 1])
    loss = x * view
    w.fill_(5.0)
    with pytest.raises(VersionError):
        loss.backward()


def test_a_change_of_any_tensor_of_a_saved_list_counts():
    op = define(
        "version::dot(Tensor[] x, Tensor z) -> Tensor y",
        lambda x, z: x[0] * x[1] * z,
        lambda x, z, dy: ([x[1] * z * dy, x[0] * z * dy], x[0] * x[1] * dy),
        infer=lambda x: x[0],
    )
    parts = [opsdk.to_tensor(np.array([2.0])), opsdk.to_tensor(np.array([3.0]))]
    z = leaf([1.0])
    loss = op(parts, z)
    parts[1].fill_(9.0)
    with pytest.raises(VersionError, match="op 'version::dot': backward needs 'x'"):
        loss.backward()


def test_a_leaf_that_was_saved_and_set_is_refused():
    x = leaf([2.0])
    loss = x * x
    x.set_value([3.0])
    with pytest.raises(VersionError):
        loss.backward()


def test_a_change_after_the_first_derivative_was_recorded_counts_too():
    a = leaf([2.0])
    y = a * 1.0
    (da,) = opsdk.grad(y * y * y, a, create_graph=True)
    with opsdk.no_grad():
        y.fill_(100.0)
    with pytest.raises(VersionError):
        opsdk.grad(da, a)


def test_what_a_recorded_derivative_reads_is_watched_too():
    a, v = leaf([2.0]), leaf([1.0])
    y = a * 1.0
    (dy,) = opsdk.grad(y * y, y, v, create_graph=True)  # 2 y v
    assert opsdk.grad(dy, v, retain_graph=True)[0].tolist() == [4.0]
    with opsdk.no_grad():
        y.fill_(100.0)
    with pytest.raises(VersionError):
        opsdk.grad(dy, v)


def test_what_is_not_saved_may_be_changed():
    x = leaf([1.0])
    y = x * 3.0
    loss = y + 1.0
    with opsdk.no_grad():
        y.fill_(0.0)
    loss.backward()
    assert x.grad.tolist() == [3.0]


# -- a cotangent that is a gradient as it is --------------------------------------------------------------------------


def test_the_gradients_of_a_sum_are_the_cotangent_in_memory_of_their_own():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    seed = opsdk.to_tensor(np.array([5.0, 6.0]))
    ((x + y) * 2.0).backward(seed)
    assert (x.grad.tolist(), y.grad.tolist()) == ([10.0, 12.0], [10.0, 12.0])
    arrays = [x.grad._array, y.grad._array, seed._array]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


def test_the_gradient_op_of_a_sum_is_not_run():
    x, b = leaf(np.ones((2, 3))), leaf(np.ones(3))
    gradient = opsdk.find_op("elementwise_add_grad").opdef
    gradient.plans.clear()
    (x * 2.0 + b).sum().backward()
    assert b.grad.tolist() == [2.0, 2.0, 2.0]
    assert x.grad.tolist() == [[2.0] * 3] * 2
    assert not gradient.plans


def test_a_hook_that_changes_one_of_two_gradients_in_place_leaves_the_other():
    x = leaf([1.0, 2.0])
    u, v = x * 2.0, x * 3.0

    def spoil(grad):
        grad._array[...] = 100.0

    u.register_hook(spoil)
    du_x, dv = opsdk.grad((u + v).sum(), [x, v], retain_graph=True)
    assert dv.tolist() == [1.0, 1.0]
    assert du_x.tolist() == [203.0, 203.0]


@pytest.mark.parametrize(
    ("wanted", "expected"), [("x", [[1.0, 1.0]]), ("y", [[-1.0, -1.0]]), ("xy", [[1.0, 1.0], [-1.0, -1.0]])]
)
def test_of_a_difference_only_what_is_wanted_and_is_not_the_cotangent_is_computed(wanted, expected):
    both = {"x": leaf([1.0, 2.0]), "y": leaf([3.0, 5.0])}
    for name in both:
        both[name].stop_gradient = name not in wanted
    z = both["x"] - both["y"]
    assert [g.tolist() for g in opsdk.grad(z.sum(), [both[name] for name in wanted])] == expected


def test_gradients_that_are_cotangents_are_differentiated_again():
    x, y = leaf([2.0, 3.0]), leaf([5.0, 7.0])
    z = ((x + y) * (x - y) * x).sum()  # x³ - x y²
    dx, dy = opsdk.grad(z, [x, y], create_graph=True)
    assert dx.tolist() == [3 * 4.0 - 25.0, 3 * 9.0 - 49.0]
    assert dy.tolist() == [-2 * 2.0 * 5.0, -2 * 3.0 * 7.0]
    dxx, dxy = opsdk.grad(dx.sum(), [x, y], create_graph=True)
    assert (dxx.tolist(), dxy.tolist()) == ([12.0, 18.0], [-10.0, -14.0])
    assert opsdk.grad(dxy.sum(), y)[0].tolist() == [-2.0, -2.0]

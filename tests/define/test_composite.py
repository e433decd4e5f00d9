"""What an author says of a composite op holds in every runtime, whether a gradient is wanted or not."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import (
    ArityError,
    DTypeError,
    InputValueError,
    MutationError,
    OpsdkError,
    ReturnError,
    ShapeError,
)

X = np.array([1.0, 2.0])
WAYS = ["arrays", "tensors", "recorded tensors", "Program", "Program with gradients"]


def composite(schema, body, **options):
    return opsdk.op(f"t::{schema}", composite=True, **options)(body)


def doubled():
    """An op that doubles its input in place."""

    @opsdk.op("t::double_(Tensor(a!) x) -> Tensor(a!) y")
    def double_(x):
        x *= 2

    @double_.backward
    def grad(dy):
        return 2 * dy

    return double_


def run(way, function, x=X, runs=1):
    """Gives what a function of one value makes of x, as lists of arrays, for each of several runs."""
    if not way.startswith("Program"):
        stop = way != "recorded tensors"
        given = [x.copy() if way == "arrays" else opsdk.to_tensor(x, stop_gradient=stop) for _ in range(runs)]
        made = [function(value) for value in given]
    else:
        main = static.Program()
        with static.program_guard(main, static.Program()):
            v = static.data("v", [None, *x.shape[1:]], "float64")
            v.stop_gradient = way == "Program"
            fetched = function(v)
        with static.scope_guard(static.Scope()):
            fetched = list(fetched) if isinstance(fetched, (list, tuple)) else [fetched]
            made = [static.Executor().run(main, feed={"v": x}, fetch_list=fetched) for _ in range(runs)]
    listed = [list(one) if isinstance(one, (list, tuple)) else [one] for one in made]
    return [[np.asarray(getattr(value, "detach", lambda value=value: value)()) for value in one] for one in listed]


@pytest.mark.parametrize("way", WAYS)
def test_results_are_memory_of_their_own(way):
    double_ = doubled()
    twice = composite("twice(Tensor x) -> (Tensor a, Tensor b)", lambda x: [x * 2.0] * 2)
    views = composite("views(Tensor x) -> (Tensor a, Tensor b)", lambda x: (lambda y: (y, y.reshape([-1])))(x * 2.0))
    itself = composite("itself(Tensor x) -> Tensor y", lambda x: x)

    def changed(x):
        made = []
        for op in (twice, views):
            a, b = op(x)
            made += [double_(a), b * 1.0]
        z = x * 1.0
        return [*made, double_(itself(z)), z * 1.0]

    for _ in range(3):
        ((a, b, c, d, y, z),) = run(way, changed)
        assert [v.tolist() for v in (a, b, c, d)] == [[4.0, 8.0], [2.0, 4.0]] * 2
        assert (y.tolist(), z.tolist()) == ([2.0, 4.0], [1.0, 2.0])


@pytest.mark.parametrize("way", WAYS[:3])
def test_what_a_composite_keeps_is_not_handed_out(way):
    kept = opsdk.to_tensor(np.array([5.0, 6.0]))
    one = composite("one(Tensor x) -> Tensor y", lambda x: kept)
    two = composite("two(Tensor x) -> (Tensor y, Tensor z)", lambda x: (x + 1.0, kept))
    for _ in range(4):
        for made in (one(X if way == "arrays" else opsdk.to_tensor(X, stop_gradient=way == "tensors")),
                     two(X if way == "arrays" else opsdk.to_tensor(X, stop_gradient=way == "tensors"))[1]):  # fmt: skip
            assert made.tolist() == [5.0, 6.0]
            if way == "arrays":
                made *= 10
            else:
                with opsdk.no_grad():
                    made.detach().set_value(made.numpy() * 10)
    assert kept.tolist() == [5.0, 6.0]


@pytest.mark.parametrize("way", WAYS)
def test_a_check_is_asked_in_every_call(way):
    def asked(x, k):
        return "k expected ≥ 0, got less" if k < 0 else "x expected > 0, got less" if x.size and x.min() <= 0 else None

    op = composite("log_of(Tensor x, *, float k=1.0) -> Tensor y", lambda x, *, k: opsdk.log(x) * k)
    op.check(asked)
    for _ in range(2):
        assert run(way, op)[0][0].tolist() == np.log(X).tolist()
        with pytest.raises(InputValueError, match="op 't::log_of': x expected > 0, got less"):
            run(way, op, np.array([-1.0, 2.0]))
        with pytest.raises(InputValueError, match="op 't::log_of': k expected ≥ 0, got less"):
            run(way, lambda x: op(x, k=-1.0))


@pytest.mark.parametrize("gradient", [False, True])
def test_a_check_stays_where_its_results_stay(gradient):
    op = composite("log_of(Tensor x) -> Tensor y", lambda x: opsdk.log(x))
    op.check(lambda x: "x expected > 0, got less" if x.size and x.min() <= 0 else None)
    main = static.Program()
    with static.program_guard(main, static.Program()):
        v, w = static.data("v", [2], "float64"), static.data("w", [2], "float64")
        v.stop_gradient = not gradient
        y, z = op(v), w * 2.0
    bad = np.array([-1.0, 2.0])
    for pruned, options in ((main, {"use_prune": True}), (main.prune(y), {}), (main.clone(for_test=True).prune(y), {})):
        with pytest.raises(InputValueError, match="op 't::log_of': x expected > 0"):
            static.Executor().run(pruned, feed={"v": bad}, fetch_list=[y.name], **options)
    (twice,) = static.Executor().run(main.prune(z), feed={"w": bad}, fetch_list=[z.name])
    assert twice.tolist() == [-2.0, 4.0]


def test_a_check_of_attributes_is_asked_where_a_program_is_built():
    op = composite("times(Tensor x, *, float k=1.0) -> Tensor y", lambda x, *, k: x * k)
    op.check(lambda k: "k expected ≥ 0, got less" if k < 0 else None)
    with static.program_guard(static.Program()):
        v = static.data("v", [2], "float64")
        v.stop_gradient = False
        with pytest.raises(InputValueError, match="op 't::times': k expected ≥ 0"):
            op(v, k=-1.0)


WRONG = {
    "shape": (lambda x: x.sum(), ShapeError),
    "dtype": (lambda x: x.astype("float32"), DTypeError),
    "nothing": (lambda x: None, (ReturnError, ArityError)),
    "a number": (lambda x: 3.0, (ReturnError, ShapeError)),
    "two": (lambda x: (x + 1.0, x), ArityError),
}


@pytest.mark.parametrize(("body", "error"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_body_gives_is_held_to_the_infer_rule(body, error, way):
    op = composite("held(Tensor x) -> Tensor y", body)
    for _ in range(2):
        with pytest.raises(error, match="op 't::held'"):
            run(way, op)


@pytest.mark.parametrize("way", WAYS)
def test_an_undeclared_change_of_an_input_is_an_error(way):
    double_ = doubled()

    def body(x):
        double_(x)
        return x * 1.0

    op = composite("bad(Tensor x) -> Tensor y", body)
    for _ in range(2):
        with pytest.raises(OpsdkError, match="op 't::bad'") as caught:
            run(way, lambda x: op(x * 1.0))
        assert isinstance(caught.value, MutationError)


@pytest.mark.parametrize("way", WAYS[1:3])
def test_a_declared_change_comes_with_the_results(way):
    @opsdk.op("t::mean_(Tensor(a!) s, Tensor m) -> Tensor(a!) o")
    def mean_(s, m):
        s *= 0.5
        s += 0.5 * m

    def body(x, s):
        m = x.mean(axis=0)
        with opsdk.no_grad():
            mean_(s, m.detach())
        return x - m

    norm = composite("norm(Tensor x, Tensor(a!) s) -> (Tensor y, Tensor(a!) o)", body)
    statistics = opsdk.to_tensor(np.zeros(2))
    x = opsdk.to_tensor(np.array([[1.0, 2.0], [3.0, 6.0]]), stop_gradient=way == "tensors")
    y, o = norm(x, statistics)
    assert y.tolist() == [[-1.0, -2.0], [1.0, 2.0]]
    assert o is statistics or o.tolist() == statistics.tolist()
    assert statistics.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("way", WAYS[3:])
def test_what_a_composite_is_made_of_draws_anew_in_each_run_and_is_told_that_it_is_tested(way):
    @opsdk.op("t::noise(Tensor x, *, int seed=0, bool is_test=False) -> Tensor y")
    def noise(x, *, seed, is_test):
        return x + (0 if is_test else np.random.default_rng(seed).normal(size=x.shape))

    @noise.backward
    def grad(dy):
        return dy * 1

    noisy = composite("noisy(Tensor x) -> Tensor y", lambda x: noise(x) * 2.0)
    drawn = [made[0].tolist() for made in run(way, noisy, runs=3)]
    assert len({tuple(one) for one in drawn}) == 3
    main = static.Program()
    with static.program_guard(main, static.Program()):
        v = static.data("v", [2], "float64")
        v.stop_gradient = way == "Program"
        y = noisy(v)
    (tested,) = static.Executor().run(main.clone(for_test=True), feed={"v": X}, fetch_list=[y])
    assert tested.tolist() == [2.0, 4.0]


@pytest.fixture
def exponential():
    op = opsdk.op("test_composite::exponential(Tensor x) -> Tensor y")(lambda x: np.exp(x))
    op.backward(composite=True)(lambda x, dy: dy * op(x))  # itself, so that it has derivatives of every order
    return op


def test_an_op_that_calls_itself_in_its_backward_has_every_order_in_both_runtimes(exponential):
    values = np.array([0.0, 0.5, -1.0])
    x = opsdk.to_tensor(values, stop_gradient=False)
    order = exponential(x)
    for _ in range(3):
        (order,) = opsdk.grad(order.sum(), x, create_graph=True)
        np.testing.assert_allclose(order.numpy(), np.exp(values), rtol=1e-15)
    with opsdk.static.program_guard(opsdk.static.Program()):
        v = opsdk.static.data("v", [3], "float64")
        order = exponential(v)
        for _ in range(3):
            (order,) = opsdk.static.gradients([order], [v])
        found = opsdk.static.Executor().run(feed={"v": values}, fetch_list=[order])[0]
    np.testing.assert_allclose(found, np.exp(values), rtol=1e-15)

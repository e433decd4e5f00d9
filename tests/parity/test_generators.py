"""Generators as attributes: equal seeds give equal numbers in equal order, in every runtime and language."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AttributeValueError, SchemaError
from opsdk.core.random import drawn
from tests import philox

X = np.ones(64)
GENERATOR = opsdk.Generator(3)


def mask_of(seed):
    """The mask of the draw of a seed, by the paper."""
    return np.array([2.0 * (philox.uniform(int(seed), i) < 0.5) for i in range(X.size)])


@pytest.fixture
def drop():
    with opsdk.scoped_registry():

        @opsdk.op(namespace="t")
        def drop(x, *, rng: opsdk.Generator):
            return x * (rng.random(x.shape) < 0.5) * 2.0

        @drop.backward
        def drop_grad(dy, rng):
            return dy * (rng.random(dy.shape) < 0.5) * 2.0

        yield drop


def test_the_schema_of_a_generator_has_the_global_one_as_its_default(drop):
    assert drop.schema == "t::drop@1(Tensor x, *, Generator rng=None) -> Tensor y"
    assert drop.grad.schema == "t::drop_grad@1(Tensor dy, *, Generator rng=None) -> Tensor dx"


def test_each_call_takes_the_next_draw_on_arrays_and_tensors(drop):
    rng = opsdk.Generator(5)
    got = [drop(X, rng=rng), drop(opsdk.to_tensor(X), rng=rng).numpy(), drop(X, rng=rng)]
    for count, value in enumerate(got):
        np.testing.assert_array_equal(value, mask_of(drawn(5, count)))
    assert rng.state_dict() == {"seed": 5, "count": 3}


def test_the_backward_sees_the_draw_of_its_forward_whatever_came_between(drop):
    rng = opsdk.Generator(5)
    leaves = [opsdk.to_tensor(X, stop_gradient=False) for _ in range(3)]
    made = [drop(leaf, rng=rng) for leaf in leaves]
    rng.draw()
    for count, (leaf, y) in enumerate(zip(leaves, made, strict=True)):
        y.sum().backward()
        np.testing.assert_array_equal(leaf.grad.numpy(), mask_of(drawn(5, count)))


def test_without_a_generator_the_global_seed_decides(drop):
    opsdk.seed(3)
    first = [drop(X), drop(opsdk.to_tensor(X)).numpy(), drop(X, rng=None)]
    opsdk.seed(3)
    again = [drop(X), drop(X), drop(X)]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (again[0] != again[1]).any()
    assert (again[1] != again[2]).any()


def build(drop, rng):
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [64], "float64")
        x.stop_gradient = False
        first, second = drop(x, rng=rng), drop(x, rng=rng)
        (dx,) = static.gradients([first + 3.0 * second], [x])
    return program, [first, second, dx]


def test_a_program_draws_what_tensors_draw_and_others_in_each_run(drop):
    program, fetched = build(drop, opsdk.Generator(5))
    exe, scope = static.Executor(), static.Scope()
    runs = [exe.run(program, feed={"x": X}, fetch_list=fetched, scope=scope) for _ in range(3)]
    for run, (first, second, dx) in enumerate(runs):
        seeds = [drawn(drawn(5, count), run) for count in range(2)]
        np.testing.assert_array_equal(first, mask_of(seeds[0]))
        np.testing.assert_array_equal(second, mask_of(seeds[1]))
        np.testing.assert_array_equal(dx, first + 3 * second)
    other = exe.run(program, feed={"x": X}, fetch_list=fetched, scope=static.Scope())
    for one, same in zip(runs[0], other, strict=True):
        np.testing.assert_array_equal(one, same)


def test_the_count_of_the_runs_is_state_of_the_scope(drop):
    program, fetched = build(drop, opsdk.Generator(5))
    exe, scope = static.Executor(), static.Scope()
    assert "@RANDOM_COUNTER@" not in scope.values
    for count in range(1, 3):
        exe.run(program, feed={"x": X}, fetch_list=fetched, scope=scope)
        assert int(scope.values["@RANDOM_COUNTER@"]) == count


def test_the_seed_of_a_program_takes_the_place_of_its_draws(drop):
    program, fetched = build(drop, opsdk.Generator(5))
    again, same = build(drop, opsdk.Generator(6))
    program.random_seed = again.random_seed = 11
    exe = static.Executor()
    one = exe.run(program, feed={"x": X}, fetch_list=fetched, scope=static.Scope())
    other = exe.run(again, feed={"x": X}, fetch_list=same, scope=static.Scope())
    np.testing.assert_array_equal(one[2], one[0] + 3 * one[1])
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_composite_hands_a_generator_on(drop):
    @opsdk.op(namespace="t", composite=True)
    def twice(x, *, rng: opsdk.Generator):
        return drop(drop(x, rng=rng), rng=rng)

    seed = drawn(9, 1)
    wanted = mask_of(seed) * mask_of(drawn(seed, 1))
    rngs = [opsdk.Generator(9) for _ in range(3)]
    leaf = opsdk.to_tensor(X, stop_gradient=False)
    for rng in rngs:
        rng.draw()
    y = twice(leaf, rng=rngs[0])
    y.sum().backward()
    np.testing.assert_array_equal(y.numpy(), wanted)
    np.testing.assert_array_equal(leaf.grad.numpy(), wanted)
    np.testing.assert_array_equal(twice(X, rng=rngs[1]), wanted)
    program = static.Program()
    with static.program_guard(program, static.Program()):
        out = twice(static.data("x", [64], "float64"), rng=rngs[2])
    (got,) = static.Executor().run(program, feed={"x": X}, fetch_list=[out], scope=static.Scope())
    np.testing.assert_array_equal(got, wanted)


def test_compiled_kernels_are_given_the_seed_of_the_draw():
    with opsdk.scoped_registry():

        @opsdk.op(namespace="t")
        def seeded(x, *, rng: opsdk.Generator):
            return x + float(rng.integers(100))  # never called

        @seeded.kernel("cpu", language="numba")
        def seeded_numba(x, rng, y):
            for i in range(x.size):
                y[i] = x[i] + rng

        rng = opsdk.Generator(5)
        for count in range(2):
            np.testing.assert_array_equal(seeded(np.zeros(2), rng=rng), drawn(5, count))


def test_a_c_kernel_is_given_the_seed_as_int64():
    with opsdk.scoped_registry():
        seeded = opsdk.op("t::seeded(Tensor x, *, Generator rng) -> Tensor y")(lambda x, rng: x + 0)
        seeded.kernel("cpu", language="c", source='''
            #include "opsdk.h"
            int32_t seeded_f64(const DLTensor *x, DLTensor *y, int64_t rng) {
                OPSDK_DATA(double, y)[0] = (double)rng;
                return 0;
            }
        ''')  # fmt: skip
        rng = opsdk.Generator(2**40)
        for count in range(2):
            assert seeded(np.zeros(1), rng=rng)[0] == drawn(2**40, count)


def test_verify_judges_a_random_op_with_its_draw_fixed(drop):
    report = opsdk.verify(drop)
    assert (report.verdict, report.findings) == ("pass", ())
    assert any("rng=opsdk.Generator(4294967297)" in sample for sample in report.coverage.samples)


# A compilation each; one right key and one wrong one stand for the third.
KEYS = [("rng", "pass"), ("0", "fail"), pytest.param("(int32_t)rng", "fail", marks=pytest.mark.slow)]


@pytest.mark.parametrize(("key", "verdict"), KEYS)
def test_verify_finds_a_kernel_that_draws_by_another_key(key, verdict):
    with opsdk.scoped_registry():
        op = opsdk.op("t::noise(Tensor x, *, Generator rng) -> Tensor y", linear=True, infer=opsdk.infer.like("x"))
        noise = op(lambda x, rng: x * rng.random(x.shape).astype(x.dtype))
        noise.backward(lambda dy, rng: dy * rng.random(dy.shape).astype(dy.dtype))
        noise.kernel("cpu", language="c", dtype="float64", source=f'''
            void noise_f64(const DLTensor *x, DLTensor *y, int64_t rng) {{
                (void)rng;
                for (int64_t i = 0; i < opsdk_size(x); ++i)
                    OPSDK_DATA(double, y)[i] = OPSDK_DATA(const double, x)[i] * opsdk_uniform({key}, i);
            }}
        ''')  # fmt: skip
        assert opsdk.verify(noise).verdict == verdict


def test_verify_finds_a_backward_that_draws_other_numbers():
    with opsdk.scoped_registry():
        op = opsdk.op(name="f", namespace="t")(forward)

        @op.backward
        def other(dy, rng):
            rng.random(1)
            return dy * (rng.random(dy.shape) < 0.5)

        assert opsdk.verify(op).verdict == "fail"


def forward(x, *, rng: opsdk.Generator):
    return x * (rng.random(x.shape) < 0.5)


@pytest.mark.parametrize("value", [3, np.random.default_rng(0), "a"])
def test_something_else_than_a_generator_is_refused(drop, value):
    with pytest.raises(
        AttributeValueError, match=r"'rng' expected Generator, got .*; write rng=opsdk.Generator\(0\) or"
    ):
        drop(X, rng=value)


def test_a_generator_has_no_default_and_comes_alone():
    with pytest.raises(SchemaError, match="default of attribute 'rng' expected Generator, got opsdk"):
        opsdk.op(namespace="t", name="f")(lambda x, *, rng=GENERATOR: x)
    with pytest.raises(SchemaError, match=r"type Generator\[\]: expected one generator, whose draws are many"):
        opsdk.op("t::f(Tensor x, *, Generator[] rng) -> Tensor y")(lambda x, rng: x)


@pytest.mark.parametrize("decorator", [opsdk.elementwise, opsdk.rowwise])
def test_an_expression_has_no_generator(decorator):
    with pytest.raises(
        opsdk.errors.DefinitionError, match="'rng' expected a value in an op made of an expression"
    ):
        decorator("t::f(Tensor x, *, Generator rng) -> Tensor y")(lambda x, rng: x)


@pytest.mark.parametrize("wrap", [np.asarray, opsdk.to_tensor], ids=["array", "tensor"])
@pytest.mark.parametrize("given", [{"p": 1.5}, {"p": 0.5}], ids=["out of range", "a kernel that raises"])
def test_a_call_that_is_refused_takes_no_draw(wrap, given):
    @opsdk.op("t::kept(Tensor x, *, 0 <= float < 1 p, Generator rng) -> Tensor y")
    def kept(x, p, rng):
        if p == 0.5:
            raise LookupError(p)
        return x * rng.random(x.shape)

    x, rng = wrap(np.ones(3)), opsdk.Generator(7)
    opsdk.seed(3)
    first, own = np.asarray(kept(x, p=0.0)), np.asarray(kept(x, p=0.0, rng=opsdk.Generator(7)))
    opsdk.seed(3)
    for more in ({}, {"rng": rng}):
        with pytest.raises((LookupError, ValueError)):
            kept(x, **given, **more)
    assert rng.state_dict() == {"seed": 7, "count": 0}
    assert np.asarray(kept(x, p=0.0)).tolist() == first.tolist()
    assert np.asarray(kept(x, p=0.0, rng=rng)).tolist() == own.tolist()


def test_a_draw_that_another_followed_stays_taken():
    rng = opsdk.Generator(7)
    with pytest.raises(LookupError), rng.taken(), rng.taken() as later:
        raise LookupError
    assert rng.state_dict()["count"] == 0
    with pytest.raises(LookupError), rng.taken():
        later = rng.draw()
        raise LookupError
    assert rng.state_dict()["count"] == 2
    assert rng.draw() != later

import re

import numpy as np
import pytest

import opsdk
from opsdk.define.op import REGISTRY
from opsdk.ship.bench.right import Truth
from opsdk.verify.inputs.calls import Call


@pytest.fixture
def truth():
    with REGISTRY.scoped():

        @opsdk.op("right::wave(Tensor x) -> Tensor y")
        def wave(x):
            return np.sin(x)

        x = np.random.default_rng(0).normal(size=100_000).astype(np.float32)
        yield Truth(wave.opdef, Call([x], {}))


def test_rounding_is_no_fault(truth):
    (y,) = truth.outputs
    assert truth.problem([y]) == ""
    assert truth.problem([np.nextafter(y, np.float32(2))]) == ""


def test_one_wrong_element_among_many_is_found(truth):
    y = truth.outputs[0].copy()
    y[777] *= np.float32(1.001)
    assert truth.problem([y]).startswith("output 'y' wrong in 1 of 100000 elements, worst y[777]: this kernel gives ")


def test_another_shape_is_told(truth):
    y = truth.outputs[0]
    expected = "output 'y' expected shape (100000,) like the reference, got (99999,)"
    assert truth.problem([y[:-1]]) == expected
    assert truth.unlike([y[:-1]]) == expected


def test_a_peer_may_round_as_it_likes_but_compute_nothing_else(truth):
    y = truth.outputs[0]
    assert truth.unlike([y + np.float32(5e-5)]) == ""
    assert truth.problem([y + np.float32(5e-5)]) != ""
    assert truth.unlike([y + np.float32(5e-3)]).startswith("output 'y' unlike the reference in 100000 of 100000")


def test_a_step_of_the_function_may_fall_on_either_side():
    with REGISTRY.scoped():

        @opsdk.op("right::steps(Tensor x) -> Tensor y")
        def steps(x):
            return np.round(x / x.dtype.type(0.1))

        x = (np.arange(1, 4001) * 0.025).astype(np.float32)  # every fourth is halfway between two steps
        truth = Truth(steps.opdef, Call([x], {}))
        assert truth.problem([np.round(x * np.float32(10))]) == ""
        assert truth.problem([np.round(x * np.float32(10)) + 1]) != ""


def test_where_sums_cancel_a_row_is_held_to_what_the_reference_loses_there():
    with REGISTRY.scoped():

        @opsdk.op("right::total(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec(x.shape[:1], x.dtype))
        def total(x):
            return np.cumsum(x, axis=1)[:, -1]  # one after another, which loses the most

        x = np.random.default_rng(0).normal(1.0, size=(400, 4096)).astype(np.float32)
        x[:, 2048:] *= -1
        truth = Truth(total.opdef, Call([x], {}))
        other = x[:, ::2].cumsum(axis=1)[:, -1] + x[:, 1::2].cumsum(axis=1)[:, -1]
        assert truth.problem(truth.outputs) == ""
        assert truth.problem([other]) == ""
        other[77] += np.float32(0.1)
        assert truth.problem([other]).startswith("output 'y' wrong in 1 of 400 elements, worst y[77]")


def test_a_sum_of_many_terms_may_lose_what_adding_them_one_after_another_loses():
    with REGISTRY.scoped():

        @opsdk.op("right::sum(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec((), x.dtype))
        def total(x):
            return np.asarray(x.sum(), x.dtype)

        x = np.full(2**18, 0.1, np.float32)  # whose partial sums are all rounded the same way
        truth = Truth(total.opdef, Call([x], {}))
        plain = np.cumsum(x)[-1]
        assert abs(plain - 0.1 * 2**18) > 1e-4 * plain
        assert truth.problem([np.asarray(plain)]) == ""
        problem = truth.problem([np.asarray(plain / 2)])
        told = r"output 'y' wrong in 1 of 1 elements, worst y: this kernel gives [\d.]+, the reference [\d.]+, of some "
        assert re.fullmatch(told + r"\d{5,6} terms", problem)


def test_how_many_numbers_enter_an_element_is_told_by_what_changes_it(truth):
    with REGISTRY.scoped():

        @opsdk.op("right::dot(Tensor x, Tensor w) -> Tensor y", infer=lambda x, w: x)
        def dot(x, w):
            return x @ w

        rng = np.random.default_rng(0)
        terms = Truth(dot.opdef, Call([rng.normal(size=(64, 64)), rng.normal(size=(64, 64))], {}))._terms[0]
        assert np.all(np.abs(terms - 128) < 16)
    assert truth._terms[0].max() <= 4
    y = truth.outputs[0].copy()
    y[::100] *= np.float32(1.001)
    assert truth.problem([y]).startswith("output 'y' wrong in 99")  # of 1000, those that are not near 0


def test_elements_of_unlike_numbers_of_terms_are_not_told_to_have_one():
    with REGISTRY.scoped():

        @opsdk.op("right::parts_of(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec(x.shape[:1], x.dtype))
        def parts_of(x):
            return np.concatenate([x[:200].sum(axis=1), x[200:, :4].sum(axis=1)])

        (terms,) = Truth(parts_of.opdef, Call([np.random.default_rng(0).normal(size=(400, 1024))], {}))._terms
        assert np.median(terms[:200]) > 2 * np.median(terms[200:])


def test_a_gradient_that_nobody_wants_may_be_left_out():
    with REGISTRY.scoped():

        @opsdk.op("right::two(Tensor x) -> (Tensor y, Tensor z)")
        def two(x):
            return x + 1, x + 2

        truth = Truth(two.opdef, Call([np.ones(3)], {}))
        assert truth.problem([np.full(3, 2.0), None]) == ""
        assert truth.problem([None, np.full(3, 4.0)]).startswith("output 'z' wrong in 3 of 3 elements")


def test_a_result_behind_a_list_of_results_is_held_to_its_own_reference():
    with REGISTRY.scoped():

        @opsdk.op("right::parts(Tensor x) -> (Tensor[] parts, Tensor z)", infer=lambda x: ([x, x], x))
        def parts(x):
            return [x + 1, x + 2], 3 * x

        x = np.linspace(1, 2, 8).astype(np.float32)
        truth = Truth(parts.opdef, Call([x], {}))
        wrong = 3 * x
        wrong[5] = 0
        assert truth.problem([[x + 1, x + 2], 3 * x]) == ""
        assert truth.problem([[x + 1, x + 2], wrong]).startswith("output 'z' wrong in 1 of 8 elements, worst z[5]")


def test_a_result_behind_a_hole_is_held_to_its_own_reference():
    with REGISTRY.scoped():

        @opsdk.op("right::some(Tensor x) -> Tensor?[] parts", infer=lambda x: [None, x, x])
        def some(x):
            return [None, x + 1, x + 2]

        x = np.linspace(1, 2, 8).astype(np.float32)
        truth = Truth(some.opdef, Call([x], {}))
        wrong = x + 2
        wrong[5] = 0
        assert truth.problem([[None, x + 1, x + 2]]) == ""
        assert truth.problem([[None, x + 1, wrong]]).startswith("output 'parts[2]' wrong in 1 of 8 elements, worst")

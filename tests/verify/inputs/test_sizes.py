"""Other lengths: axes of one length change together, positions stay inside, and values stay in the domain."""

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs.calls import Call
from opsdk.verify.inputs.sizes import cut, lengths_beyond, lengths_of, resized, resized_calls


def op_of(names, **options):
    """Returns an op that is never run, of inputs of these names."""
    schema = f"planted::f(Tensor {', Tensor '.join(names)}) -> Tensor y"
    return opsdk.register_op(schema, forward=eval(f"lambda {', '.join(names)}: 0"), **options).opdef


def shapes(calls):
    return [tuple(array.shape for array in call.inputs) for call in calls]


def test_a_call_gets_lengths_of_none_one_and_two_and_of_more_than_blocks(rng):
    calls = resized_calls(op_of("x"), [Call([np.ones((3, 5))], {})], (19, 131), rng)
    assert [shape for (shape,) in shapes(calls)] == [
        *((1, 5), (3, 1), (0, 5), (3, 0), (2, 5), (3, 2), (19, 5), (3, 19), (131, 5), (3, 131), (3, 3), (1, 1)),
    ]


def test_axes_of_one_length_change_together_and_single_ones_stay(rng):
    call = Call([rng.normal(size=(1, 4)), rng.normal(size=(4, 6)), rng.normal(size=6)], {})
    made = resized(op_of("abc"), call, {4: 9}, rng)
    assert shapes([made]) == [((1, 9), (9, 6), (6,))]
    assert np.unique(made.inputs[1]).size == 54  # no value is there twice
    assert str(made).endswith("lengths 9 for 4")


@pytest.mark.parametrize(
    ("values", "new", "wanted"),
    [([0, 4, 2], 3, [0, 2, 2]), ([5, 1], 3, [3, 1]), ([0, 1], 3, [0, 1]), ([-1, 4], 1, [-1, 0]), ([0, 2], 7, [0, 2])],
    ids=["positions", "lengths", "small ones", "what is to be left out", "longer"],
)
def test_integers_that_may_be_positions_stay_inside_of_an_axis(rng, values, new, wanted):
    call = Call([rng.normal(size=5), np.array(values)], {})
    made = resized(op_of("xi"), call, {5: new}, rng)
    assert made.inputs[1].tolist() == wanted


def test_values_stay_in_the_domain_and_where_it_has_none_there_is_no_call(rng):
    inside = op_of("x", domain={"x": (0.5, 0.6)})
    made = resized(inside, Call([np.full(3, 0.55)], {}), {3: 40}, rng).inputs[0]
    assert made.min() >= 0.5
    assert made.max() <= 0.6
    matrices = op_of("a", domain={"a": opsdk.domain.positive_definite})
    grown = resized(matrices, Call([np.eye(3)], {}), {3: 5}, rng).inputs[0]
    np.testing.assert_array_equal(grown, grown.T)
    assert np.linalg.eigvalsh(grown).min() > 0


def test_a_call_of_too_many_elements_is_not_made_longer(rng):
    assert resized(op_of("x"), Call([np.ones((3, 5000))], {}), {3: 19}, rng) is None


def test_past_a_length_that_a_source_names_a_call_may_have_more(rng):
    square = [Call([np.ones((3, 3))], {})]
    assert ((259, 259),) in shapes(resized_calls(op_of("x"), square, (19, 131, 259), rng))
    assert ((515, 515),) not in shapes(resized_calls(op_of("x"), square, (19, 131, 515), rng))


def test_where_an_axis_gets_too_long_for_the_others_those_get_length_one(rng):
    calls = resized_calls(op_of("x"), [Call([np.ones((4, 7, 7))], {})], (131,), rng)
    assert ((1, 131, 131),) in shapes(calls)


def test_calls_of_different_forms_are_changed_each(rng):
    x, scale = rng.normal(size=(3, 5)), rng.normal(size=5)
    calls = [Call([x, None], {}), Call([x, scale], {}), Call([x[:2], scale], {})]
    found = resized_calls(op_of("xs"), calls, (), rng)
    assert {call.inputs[1] is None for call in found} == {True, False}


@pytest.mark.parametrize(
    ("numbers", "wanted"), [((), (19, 131)), ({64, 16, 3}, (19, 131)), ({256, 1000, 1024, 4096}, (19, 131, 259, 1003))]
)
def test_lengths_go_beyond_the_numbers_of_a_source_and_are_no_multiples_of_blocks(numbers, wanted):
    assert lengths_beyond(numbers) == wanted


def test_the_longest_axes_of_a_large_call_are_halved_together_until_it_is_small(rng):
    call = Call([rng.normal(size=(90, 7)), rng.normal(size=(90, 90)), rng.normal(size=7)], {})
    assert shapes([cut(op_of("abc"), call, 1000, rng)]) == [((22, 7), (22, 22), (7,))]


def splat(**more):
    shape = opsdk.domain.shape
    return op_of("abc", domain={"a": shape("N", 2), "b": shape("N", "N", 2)} | more)


def test_named_lengths_change_together_and_fixed_ones_never(rng):
    call = Call([rng.normal(size=(2, 2)), rng.normal(size=(2, 2, 2)), rng.normal(size=(4, 2))], {})
    assert lengths_of(splat(), call) == {"N": 2, 4: 4}
    made = resized(splat(), call, {"N": 5}, rng)
    assert shapes([made]) == [((5, 2), (5, 5, 2), (4, 5))]  # of the third nothing is said: it has the length of N
    assert str(made).endswith("lengths 5 for N")
    told = splat(c=opsdk.domain.shape("M", 2))
    assert {array for call in shapes(resized_calls(told, [call], (19,), rng)) for _, _, array in [call]} == {
        (1, 2), (0, 2), (2, 2), (19, 2), (4, 2), (3, 2),
    }  # fmt: skip


def test_positions_stay_inside_of_an_axis_whose_length_has_a_name(rng):
    call = Call([rng.normal(size=(5, 2)), np.array([0, 4])], {})
    op = op_of("xi", domain={"x": opsdk.domain.shape("N", 2)})
    assert resized(op, call, {"N": 3}, rng).inputs[1].tolist() == [0, 2]


def spline(**more):
    shape = opsdk.domain.shape
    return op_of("abc", domain={"a": shape("*B"), "b": shape("*B", "K"), "c": shape("*B", "K-1")} | more)


def test_what_is_made_of_a_named_length_changes_with_it(rng):
    call = Call([rng.normal(size=3), rng.normal(size=(3, 5)), rng.normal(size=(3, 4))], {})
    assert lengths_of(spline(), call) == {"*B[0]": 3, "K": 5}
    assert shapes([resized(spline(), call, {"K": 2}, rng)]) == [((3,), (3, 2), (3, 1))]
    assert shapes([resized(spline(), call, {"K": 19, "*B[0]": 7}, rng)]) == [((7,), (7, 19), (7, 18))]
    assert resized(spline(), call, {"K": 0}, rng) is None
    found = set(shapes(resized_calls(spline(), [call], (19,), rng)))
    assert {((3,), (3, 1), (3, 0)), ((3,), (3, 19), (3, 18)), ((19,), (19, 5), (19, 4))} <= found
    assert all(a == b[:-1] == c[:-1] and b[-1] - 1 == c[-1] for a, b, c in found)
    assert shapes([cut(spline(), call, 12, rng)]) == [((3,), (3, 2), (3, 1))]


def test_lengths_that_are_tried_begin_where_every_axis_has_one(rng):
    least = spline(c=opsdk.domain.shape("*B", "2*K-5"))
    call = Call([rng.normal(size=3), rng.normal(size=(3, 5)), rng.normal(size=(3, 5))], {})
    alone = {b[-1]: c[-1] for a, b, c in shapes(resized_calls(least, [call], (19,), rng)) if a == (3,)}
    assert alone == {4: 3, 3: 1, 19: 33}


def test_nothing_grows_out_of_nothing_and_what_no_domain_names_goes_with_the_length_it_has(rng):
    op = op_of("ab", domain={"a": opsdk.domain.shape("K-2")})
    assert resized(op, Call([np.ones(0), np.ones(4)], {}), {"K": 4}, rng) is None
    call = Call([rng.normal(size=4), np.array([0, 3, 1, 2])], {})
    made = resized(op, call, {"K": 4}, rng)
    assert shapes([made]) == [((2,), (2,))]
    assert made.inputs[1].tolist() == [0, 1]  # positions stay inside

import pytest

import opsdk
from opsdk import io
from opsdk.core.errors import AttributeValueError


def test_a_sequence_sampler_keeps_the_order():
    assert list(io.SequenceSampler("abc")) == [0, 1, 2]


def test_each_pass_of_a_random_sampler_is_another_order_and_its_generator_repeats_them():
    generator = opsdk.Generator(1)
    sampler = io.RandomSampler(range(20), generator=generator)
    first, state = list(sampler), generator.state_dict()
    second = list(sampler)
    generator.load_state_dict(state)
    assert list(sampler) == second != first
    assert sorted(first) == sorted(second) == list(range(20))


def test_the_global_seed_decides_without_a_generator():
    opsdk.seed(4)
    first = list(io.RandomSampler(range(9)))
    opsdk.seed(4)
    assert list(io.RandomSampler(range(9))) == first


def test_with_replacement_there_may_be_more_than_there_are():
    drawn = list(io.RandomSampler(range(3), replacement=True, num_samples=50, generator=opsdk.Generator(0)))
    assert (len(drawn), set(drawn)) == (50, {0, 1, 2})


def test_batches_are_of_the_size_and_the_last_one_is_kept_or_not():
    assert list(io.BatchSampler(range(5), batch_size=2)) == [[0, 1], [2, 3], [4]]
    dropping = io.BatchSampler(sampler=[4, 3, 2, 1, 0], batch_size=2, drop_last=True)
    assert (list(dropping), len(dropping), len(io.BatchSampler(range(5), batch_size=2))) == ([[4, 3], [2, 1]], 2, 3)


def test_a_sampler_that_defines_no_order_says_so():
    with pytest.raises(NotImplementedError, match=r"sampler Sampler: expected it to define __iter__\(\)"):
        iter(io.Sampler(range(3)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: io.RandomSampler(range(3), num_samples=0), "num_samples expected an integer ≥ 1, got 0"),
        (lambda: io.RandomSampler(range(3), num_samples=5), "at most the 3 samples that there are, got 5"),
        (lambda: io.RandomSampler(range(3), generator=iter([1])), "generator expected an opsdk.Generator or None, got"),
        (lambda: io.BatchSampler(), "BatchSampler: expected a dataset or a sampler, got both or neither"),
        (lambda: io.BatchSampler(sampler=[1], shuffle=True), "a sampler gives the order, got shuffle=True too"),
        (lambda: io.BatchSampler(range(3), batch_size=0), "batch_size expected an integer ≥ 1, got 0"),
        (lambda: io.BatchSampler(range(3), drop_last="no"), "drop_last"),
    ],
)
def test_what_no_sampler_can_do_is_refused(make, message):
    with pytest.raises(AttributeValueError, match=message):
        make()

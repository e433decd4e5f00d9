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


def test_a_subset_comes_in_an_order_of_its_own_each_time():
    sampler = io.SubsetRandomSampler([7, 8, 9, 10, 11], generator=opsdk.Generator(1))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == [7, 8, 9, 10, 11]
    assert (first != second, len(sampler)) == (True, 5)
    assert io.SequentialSampler is io.SequenceSampler


def test_weights_say_how_often_a_sample_is_drawn():
    drawn = list(io.WeightedRandomSampler([1.0, 0.0, 3.0], 4000, generator=opsdk.Generator(1)))
    assert len(drawn) == 4000
    assert drawn.count(1) == 0
    assert drawn.count(2) == pytest.approx(3000, abs=150)  # 5 σ
    once = io.WeightedRandomSampler(
        opsdk.to_tensor([1.0, 0.0, 3.0]), 2, replacement=False, generator=opsdk.Generator(1)
    )
    assert (sorted(once), len(once)) == ([0, 2], 2)
    for wrong in ([[1.0]], [-1.0, 2.0], [0.0], [float("nan")], []):
        with pytest.raises(AttributeValueError, match="weights expected a list of numbers ≥ 0, not all 0, got"):
            io.WeightedRandomSampler(wrong, 1)
    with pytest.raises(AttributeValueError, match="num_samples expected at most the 2 weights that are not 0, got 3"):
        io.WeightedRandomSampler([1.0, 0.0, 3.0], 3, replacement=False)


def test_a_batch_sampler_is_made_of_a_sampler_as_in_torch():
    inner = io.SequentialSampler(range(5))
    assert list(io.BatchSampler(inner, 2, True)) == [[0, 1], [2, 3]]
    assert list(io.BatchSampler(inner, batch_size=3, drop_last=False)) == [[0, 1, 2], [3, 4]]

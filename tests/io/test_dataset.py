import numpy as np
import pytest

import opsdk
from opsdk import io
from opsdk.core.errors import AttributeValueError, ShapeError
from tests.io.samples import Stream


def test_a_tensor_dataset_gives_rows_of_each():
    held = io.TensorDataset([opsdk.arange(3), np.eye(3)])
    assert (len(held), held[1][0].item(), held[1][1].tolist()) == (3, 1, [0.0, 1.0, 0.0])


def test_tensors_of_several_lengths_are_refused():
    with pytest.raises(
        ShapeError, match=r"TensorDataset: expected tensors of one length .*got shapes \[\(3,\), \(2,\)"
    ):
        io.TensorDataset([np.ones(3), np.ones(2)])
    with pytest.raises(AttributeValueError, match="TensorDataset: expected at least one tensor, got none"):
        io.TensorDataset([])


def test_what_a_dataset_does_not_define_is_said():
    with pytest.raises(NotImplementedError, match=r"dataset Dataset: expected it to define __getitem__\(index\)"):
        io.Dataset()[0]
    with pytest.raises(NotImplementedError, match=r"dataset Dataset: expected it to define __len__\(\)"):
        len(io.Dataset())
    with pytest.raises(NotImplementedError, match=r"dataset IterableDataset: expected it to define __iter__\(\)"):
        iter(io.IterableDataset())


def test_a_stream_has_neither_places_nor_a_length():
    with pytest.raises(TypeError, match="dataset Stream: expected to be iterated over, got an index"):
        Stream()[0]
    with pytest.raises(TypeError, match="dataset Stream: a stream has no length"):
        len(Stream())


def test_a_random_split_has_every_sample_once_and_repeats():
    parts = [io.random_split(range(10), sizes, opsdk.Generator(3)) for sizes in ([7, 3], [7, 3], [0.75, 0.25])]
    first, second, shares = [[list(part) for part in split] for split in parts]
    assert first == second
    assert sorted(first[0] + first[1]) == list(range(10))
    assert [len(part) for part in shares] == [8, 2]


def test_lengths_of_another_sum_are_refused():
    with pytest.raises(AttributeValueError, match=r"lengths that sum to that of the dataset, 5, got \[2, 2\]"):
        io.random_split(range(5), [2, 2])


def test_tensors_come_one_after_the_other_as_in_torch_or_in_a_list():
    x, y = np.arange(6.0).reshape(3, 2), np.array([4, 5, 6])
    for dataset in (io.TensorDataset(x, y), io.TensorDataset([x, y])):
        assert len(dataset) == 3
        assert [part.tolist() for part in dataset[1]] == [[2.0, 3.0], 5]
    (row,) = io.TensorDataset(opsdk.to_tensor(x))[2]
    assert row.tolist() == [4.0, 5.0]
    with pytest.raises(AttributeValueError, match=r"TensorDataset: expected tensors or arrays, .*got int"):
        io.TensorDataset(1, x)
    with pytest.raises(AttributeValueError, match=r"TensorDataset: expected tensors or arrays, .*got list"):
        io.TensorDataset(x, [3, 4])


def test_datasets_are_put_one_after_the_other_and_side_by_side():
    joined = io.ConcatDataset([[1, 2], [], [3]])
    assert ([joined[i] for i in range(3)], joined[-1], len(joined), joined.cumulative_sizes) == (
        [1, 2, 3],
        3,
        3,
        [2, 2, 3],
    )
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=f"ConcatDataset: expected an index below 3, got {wrong}"):
            joined[wrong]
    assert list(io.ChainDataset([iter([1]), [2, 3]])) == [1, 2, 3]
    assert io.ComposeDataset([[(1, 2), (3, 4)], [5, 6]])[1] == (3, 4, 6)
    assert len(io.ComposeDataset([[1, 2], [3, 4]])) == 2
    for make in (lambda: io.ConcatDataset([]), lambda: io.ConcatDataset([io.ChainDataset([])])):
        with pytest.raises(AttributeValueError, match="ConcatDataset: expected at least one dataset, and no str"):
            make()
    with pytest.raises(AttributeValueError, match="ComposeDataset: expected datasets of one length, got others"):
        io.ComposeDataset([[1], [1, 2]])


def test_a_split_by_shares_gives_the_remainder_to_the_first_parts():
    parts = io.random_split(range(10), [0.55, 0.25, 0.2], generator=opsdk.Generator().manual_seed(1))
    assert [len(part) for part in parts] == [6, 2, 2]
    assert sorted(index for part in parts for index in part.indices) == [*range(10)]

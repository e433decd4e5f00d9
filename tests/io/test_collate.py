from collections import namedtuple

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ReturnError, ShapeError
from opsdk.io.collate import as_arrays, as_tensors, default_collate


def test_samples_are_stacked_part_by_part():
    samples = [(opsdk.full([2], i), 0.5, {"k": i, "text": "ab"[i]}, np.float32(i)) for i in range(2)]
    rows, halves, named, scalars = default_collate(samples)
    assert (rows.tolist(), rows.dtype, halves.dtype) == ([[0.0, 0.0], [1.0, 1.0]], np.float32, np.float64)
    assert (named["k"].tolist(), named["text"], scalars.dtype) == ([0, 1], ["a", "b"], np.float32)


def test_arrays_become_tensors_and_back_in_every_container():
    pair = namedtuple("pair", "x y")
    made = as_tensors(pair([np.ones(2)], {"a": (np.arange(2), 3, np.array(["text"]))}))
    assert isinstance(made, pair)
    assert isinstance(made.x[0], opsdk.Tensor)
    assert made.y["a"][1:] == (3, np.array(["text"]))
    assert isinstance(as_arrays(made).y["a"][0], np.ndarray)


def test_samples_that_differ_in_form_are_refused():
    with pytest.raises(ShapeError, match=r"expected samples of one shape, got \[\(1,\), \(2,\)\]; give a collate_fn"):
        default_collate([np.ones(1), np.ones(2)])
    with pytest.raises(ShapeError, match="expected samples of as many parts each"):
        default_collate([(1, 2), (1,)])
    with pytest.raises(ReturnError, match=r"a sample expected arrays, .*got object"):
        default_collate([object()])

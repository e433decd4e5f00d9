import numpy as np
import pytest

from opsdk.core.steps import may_share, reach


@pytest.mark.parametrize(
    "shape, steps, ends",
    [((), (), (0, 0)), ((3, 4), (4, 1), (0, 11)), ((3, 4), (-4, 1), (-8, 3)), ((2, 2), (0, -5), (-5, 0))],
)
def test_an_array_reaches_from_its_lowest_to_its_highest_element(shape, steps, ends):
    assert reach(shape, steps) == ends


@pytest.mark.parametrize(
    "shape, steps, shared",
    [
        ((3, 4), (4, 1), False),
        ((3, 4), (1, 3), False),
        ((3, 4), (3, 1), True),
        ((3, 4), (0, 1), True),
        ((1, 4), (0, 1), False),
        ((3, 4), (-4, -1), False),
        ((5,), (2,), False),
        ((), (), False),
    ],
)
def test_elements_share_memory_where_an_axis_does_not_step_over_what_lies_within(shape, steps, shared):
    assert may_share(shape, steps) is shared
    assert may_share(shape, [8 * step for step in steps], 8) is shared
    places = np.zeros(shape, int)
    for axis, step in enumerate(steps):
        places += step * np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    assert (len(np.unique(places)) < places.size) is shared

"""Steps: where the elements of an array lie in memory, told from its sizes and the steps between neighbours."""

from __future__ import annotations

from collections.abc import Sequence


def reach(shape: Sequence[int], steps: Sequence[int]) -> tuple[int, int]:
    """Returns the lowest and the highest place that an array has, counted from that of its first element."""
    ends = [(count - 1) * step for count, step in zip(shape, steps, strict=True)]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


def may_share(shape: Sequence[int], steps: Sequence[int], size: int = 1) -> bool:
    """Whether elements of an array may share memory.

    They do not if every axis, the shortest steps first, steps over all that lies within the axes before it. Axes that
    interlock otherwise are taken to share, which slices and transposes of an ordinary array never are.

    Args:
        shape: sizes.
        steps: one per axis.
        size: of an element, in the unit of the steps.
    """
    extent = size
    for step, count in sorted((abs(step), count) for step, count in zip(steps, shape, strict=True) if count > 1):
        if step < extent:
            return True
        extent += step * (count - 1)
    return False

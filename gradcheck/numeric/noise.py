"""Rounding noise of the forward function, measured."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gradcheck.model.domain import Room
from gradcheck.model.dtypes import FLOAT64_EPS, BoolArray, FloatArray, IntArray
from gradcheck.model.evaluation import Point

# Three spacings, because noise is invisible where the grid is finer than a hidden quantum, and curvature is mistaken
# for noise where it is coarse.
_SPACINGS = (2.0**-16, 2.0**-24, 2.0**-32)
# Where forward is coarser than float64 by more than this factor, as in float32, the finer grids show quanta only.
_FINE = 2.0**20
_COARSE_SPACINGS = (2.0**-7, 2.0**-9, 2.0**-11)
# The highest order annihilates polynomials of degree 7 and leaves three differences to take a mean of.
_POINTS = 11
_ORDERS = (4, 5, 6, 7, 8)
# An oscillation sampled too coarsely looks like noise, but as large as the function's own changes.
_SHARE = 0.02
# It also spreads over less than its pace on the finest grid would take it.
_RESOLVED = 2.0**-4
# Estimates from successive orders agree on noise; on a smooth function each is smaller than the one before.
_AGREEMENT = 30.0
# Estimates below this share of the least noise change nothing, whatever they are of.
_LITTLE = 0.5
# Noise is as large on a grid so much finer, or, where it comes in quanta, not much smaller; structure fades away.
_FINER = 32.0
_FADED = 16.0
# A spacing beside the first, not a power of two, on which rounding that the first hides by chance shows.
_SECOND = 0.75
# A share of the changes on a grid above which an estimate may be structure even if the orders agree.
_LOUD = 2.0**-13
# Down to there grid points stay apart; estimates so far above rounding are looked at again.
_LEAST_SPACING = 2.0**-41
_CONSPICUOUS = 2.0**-40
# From this many outputs on, an estimate below this share of the usual one is raised to it.
_POOL = 5
_POOL_SHARE = 0.5
# A digit that is left of a larger number lies above the last one of all outputs; by chance alone it seldom does so far.
_ABOVE = 4.0
# Nor is it far below a rounding of what was taken away: what a fused product leaves of a square is none of its digits.
_NEAR = 2.0**-6
# The least of estimates from three to seven differences each falls short of the deviation.
_SAFETY = 2.0


def measure_noise(
    point: Point, k: int, room: Room, generator: np.random.Generator, wanted: IntArray | slice = slice(None)
) -> FloatArray:
    """Measures the standard deviation of each output's rounding, never below what float64 (or less) can hold.

    All elements of input `k` move together along random signs, on short grids beside the point; high differences of
    the outputs on such a grid annihilate smooth functions and amplify noise by a known factor. The largest estimate
    over the grids counts, of those grids that show noise rather than curvature.

    Args:
        point: where.
        k: the input.
        room: how far its elements may move.
        generator: of the signs and of the grids' fractions.
        wanted: flat outputs that are measured; the others get the least noise that there can be.

    Returns:
        Shape (outputs,). Zero where an output is zero and does not change.
    """
    values = point.values(k)
    signs = generator.choice([-1.0, 1.0], size=values.shape)
    signs = np.where(signs > 0, np.where(room.up > 0, 1.0, -1.0), np.where(room.down > 0, -1.0, 1.0))
    # Odd numerators keep grid points exact, but products with them not, as they are for inputs of few digits.
    # Away from one and a half, so that no grid goes along with quanta of a power of two.
    odd = 2 * generator.integers(75, 118, size=values.shape) + 1
    direction = signs * room.scale * odd / 256.0
    spacings = _SPACINGS if point.forward_eps <= _FINE * FLOAT64_EPS else _COARSE_SPACINGS
    found = least_noise(point)

    def sample(spacing: float) -> FloatArray:
        points = [point.forward_at(k, values + (j + 1) * spacing * direction)[wanted] for j in range(_POINTS)]
        return np.array(points).reshape(_POINTS, -1)

    finest, *coarser = sorted(spacings)  # the finest first: it is never misled by curvature
    grid = sample(finest)
    noise = _without_structure(grid, sample, finest)
    pace = np.ptp(grid, axis=0) / finest
    for spacing in coarser:
        grid = sample(spacing)
        estimate, is_noise = grid_noise(grid)
        spread = np.ptp(grid, axis=0)
        believed = is_noise & (estimate <= _SHARE * spread) & (spread >= _RESOLVED * spacing * pace)
        usual = estimate <= np.maximum(_AGREEMENT * noise, _LITTLE * found[wanted])  # less than that counts for nothing
        if (believed & ~usual).any():
            believed &= usual | (_FADED * grid_noise(sample(spacing / _FINER))[0] >= estimate)
        noise = np.where(believed | usual, np.maximum(noise, estimate), noise)
    found[wanted] = np.maximum(_SAFETY * _pooled(noise, point.center[wanted]), found[wanted])
    return found


def _without_structure(grid: FloatArray, sample: Callable[[float], FloatArray], spacing: float) -> FloatArray:
    """Gives the estimates of the finest grid, or of finer ones where it shows structure that fades away there.

    Next to a large offset, as of time stamps, the function may oscillate within the finest grid.
    """
    estimate, is_noise = grid_noise(grid)
    while spacing > _LEAST_SPACING:
        suspect = ~is_noise | (estimate > _LOUD * np.ptp(grid, axis=0))
        suspect &= estimate > _CONSPICUOUS * np.nanmax(np.abs(grid), axis=0, initial=0.0)
        if not suspect.any():
            break
        spacing /= _FINER
        grid = sample(spacing)
        finer, is_noise = grid_noise(grid)
        # A column that rests between most points goes in quanta, which do not fade.
        moves = 2 * np.count_nonzero(np.diff(grid, axis=0), axis=0) > len(grid)
        faded = suspect & (_FADED * finer < estimate) & moves
        if not faded.any():
            break
        again = grid_noise(sample(_SECOND * spacing))[0]  # a single spacing may hide rounding by chance
        estimate = np.where(faded, np.maximum(finer, again), estimate)
    return estimate


def _pooled(noise: FloatArray, center: FloatArray) -> FloatArray:
    """Raises estimates far below those of the other outputs, absolute and relative to the output: they are luck."""
    size = np.abs(np.nan_to_num(center, posinf=0.0, neginf=0.0))
    moving = (noise > 0) & (size > 0)
    if moving.sum() < _POOL:
        return noise
    relative = float(np.median(noise[moving] / size[moving])) * size
    usual = np.minimum(float(np.median(noise[moving])), relative)
    return np.where(moving, np.maximum(noise, _POOL_SHARE * usual), noise)


def least_noise(point: Point) -> FloatArray:
    """Gives half a unit in the last place of each output: no forward function is more exact than its results."""
    return np.asarray(0.5 * point.forward_eps * np.abs(np.nan_to_num(point.center, posinf=0.0, neginf=0.0)))


def hidden_rounding(point: Point, k: int, center: FloatArray, sides: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gives the rounding of outputs that a ladder shows though no grid did: the least, and what may be more of it.

    A large number that was added and taken away leaves its last digit behind: half of the power of two that all of a
    column are multiples of. A fine grid hides that by chance: on one that a mean divides evenly it rounds nothing. And
    an output that rests at a step moves at shorter ones by rounding alone. What is larger than a rounding of the input,
    and of the outputs, is neither.

    Args:
        point: where.
        k: the input that moves.
        center: the outputs where it rests, shape (columns,).
        sides: as it moves ahead and back, the longest steps first, shape (2, steps, columns).

    Returns:
        Both of shape (columns,), zero where there is none.
    """
    sizes = [np.abs(array[np.isfinite(array)]).max(initial=0.0) for array in (point.values(k), point.center)]
    most = FLOAT64_EPS * max(sizes)
    numbers = np.where(np.isfinite(sides), sides, 0.0)
    part, exponent = np.frexp(numbers)
    whole = (part * 2.0**53).astype(np.int64)
    last = np.where(whole == 0, np.inf, np.ldexp((whole & -whole).astype(np.float64), exponent - 53)).min(axis=(0, 1))
    own = np.spacing(np.abs(numbers).max(axis=(0, 1)))
    is_digit = (last >= np.maximum(_ABOVE * own, _NEAR * most)) & (last <= most)
    moves = np.abs(np.where(np.isfinite(sides), sides - center, 0.0)).max(axis=0)
    stray = np.where(np.logical_or.accumulate(moves == 0, axis=0), moves, 0.0).max(axis=0)
    return np.where(is_digit, 0.5 * last, 0.0), np.where(stray <= most, stray, 0.0)


def grid_noise(grid: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Estimates the noise of functions sampled on an equidistant grid, shape (points, columns).

    Returns:
        The least estimate over several orders of difference, and whether the orders agree that it is noise; both of
        shape (columns,). Non-finite columns give zero; the ladder drops them anyway.
    """
    estimates = []
    differences = grid
    factor = 1.0
    for order in range(1, max(_ORDERS) + 1):
        differences = np.diff(differences, axis=0)
        factor *= 2.0 * (2.0 * order - 1.0) / order  # central binomial coefficient: the variance is multiplied by it
        if order in _ORDERS:
            estimates.append(np.sqrt(np.mean(differences**2, axis=0) / factor))
    table = np.nan_to_num(np.array(estimates), nan=0.0, posinf=0.0)
    least = table.min(axis=0)
    return least, table.max(axis=0) <= _AGREEMENT * least

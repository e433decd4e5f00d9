"""Orders at random: each is a function of one draw, of a Generator or of the global stream of seeds."""

from __future__ import annotations

import numpy as np

from opsdk.core.random import Generator, next_seed


def draw(generator: Generator | None) -> int:
    """Returns the next draw of a generator; of the global stream without one."""
    return next_seed() if generator is None else int(generator.draw())


def permuted(count: int, generator: Generator | None) -> np.ndarray:
    """Returns the numbers from 0 to `count` - 1 in an order that one draw decides."""
    return np.random.default_rng(draw(generator)).permutation(count)


def drawn_again(count: int, among: int, generator: Generator | None) -> np.ndarray:
    """Returns `count` numbers below `among`, each drawn from all of them."""
    return np.random.default_rng(draw(generator)).integers(0, among, count)

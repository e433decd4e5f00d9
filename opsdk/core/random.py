"""Randomness: the global seed, generators whose state is a seed and a count, and a seed for each draw."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from opsdk.core.current import Current
from opsdk.core.errors import AttributeValueError, GraphError
from opsdk.core.lazy import slow

if TYPE_CHECKING:
    from opsdk.core.counted import CountedGenerator

_lock = threading.Lock()
_first: list[int] = []  # the one that the global stream began with
_generators: list[np.random.Generator] = []  # one, once it is asked for: importing numpy.random costs 7 ms


class _Draws:
    """The draws of a run of a function, in order."""

    def next(self, draw: Callable[[], int]) -> int:
        """Returns the next one."""
        return draw()


class _Noted(_Draws):
    """Draws that are noted as they are taken."""

    def __init__(self, into: list[int], outer: _Draws) -> None:
        self._into, self._outer = into, outer

    def next(self, draw: Callable[[], int]) -> int:
        """Returns the next one, from wherever the code around has its own."""
        self._into.append(self._outer.next(draw))
        return self._into[-1]


class _Replayed(_Draws):
    """Draws that were noted, taken again."""

    def __init__(self, draws: Sequence[int]) -> None:
        self._left = iter(draws)

    def next(self, draw: Callable[[], int]) -> int:
        """Returns the next one; no generator moves.

        Raises:
            GraphError: there were no more.
        """
        for value in self._left:
            return value
        raise GraphError("recompute: expected as many random draws as in the first run, got more")


class _Untaken(_Draws):
    """Draws that stand for others, which are taken when what asks for them runs."""

    def __init__(self) -> None:
        self._count = count(1)

    def next(self, draw: Callable[[], int]) -> int:
        """Returns a number of its own; no generator moves."""
        return next(self._count)


_DRAWS: Current[_Draws] = Current("random draws", _Draws())


def recorded(draws: list[int] | None) -> AbstractContextManager[None]:
    """Notes each draw, of whichever generator, that is taken inside of a `with` block; nothing without a list."""
    return nullcontext() if draws is None else _DRAWS.held(_Noted(draws, _DRAWS.get()))


def untaken() -> AbstractContextManager[None]:
    """Gives numbers of their own to what draws inside of a `with` block, which is not run yet; no generator moves."""
    return _DRAWS.held(_Untaken())


def replayed(draws: Sequence[int] | None) -> AbstractContextManager[None]:
    """Gives draws that were noted, in their order, to what draws inside of a `with` block; without any all are new."""
    return _DRAWS.held(_Draws() if draws is None else _Replayed(draws))


def seed(value: int) -> None:
    """Sets the global seed, so that everything random that follows can be repeated.

    It starts the one stream of seeds that calls take theirs from, in both runtimes: equal calls in equal order draw
    equal numbers, a Program's in its first run in a Scope.

    Args:
        value: integer ≥ 0.

    Raises:
        AttributeValueError: the value is not a non-negative integer.
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        raise AttributeValueError(f"seed: expected an integer ≥ 0, got {value!r}")
    with _lock:
        _begin(int(value))


def initial_seed() -> int:
    """Returns the number that the global stream of seeds began with: that of `seed`, else one that the machine drew."""
    stream()
    with _lock:
        return _first[0]


def _of_the_machine() -> int:
    return int.from_bytes(os.urandom(8), "little") >> 2


def _begin(value: int | None = None) -> None:
    first = _of_the_machine() if value is None else value
    _first[:], _generators[:] = [first], [np.random.default_rng(first)]


def get_rng_state() -> dict[str, Any]:
    """Returns the state of the global stream of seeds: plain numbers, which `opsdk.save` takes."""
    state = stream().bit_generator.state
    return {**state, "state": dict(state["state"])}


def set_rng_state(state: Mapping[str, Any]) -> None:
    """Goes on with the global stream where it was when `get_rng_state` gave this.

    Args:
        state: as `get_rng_state` gives it.

    Raises:
        AttributeValueError: it is none; the stream goes on as it did.
    """
    made = np.random.default_rng(0)
    try:
        made.bit_generator.state = {**state, "state": dict(state["state"])}
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise AttributeValueError(
            f"set_rng_state: expected what get_rng_state gives, got {state!r:.80}; pass that of a checkpoint"
        ) from error
    with _lock:
        _first[:] = _first or [int(state["state"]["inc"]) % 2**62]  # where it began is not known
        _generators[:] = [made]


class Draw(int):
    """The seed of what one call draws, which its backward and its recomputation draw again."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"opsdk.Generator({int(self)})"  # whose first draw it is

    __str__ = __repr__

    def numpy(self) -> CountedGenerator:
        """Returns a NumPy generator at number 0 of this draw, whose numbers kernels in other languages draw too."""
        made: CountedGenerator = slow("opsdk.core.counted").CountedGenerator(int(self))
        return made


class Generator:
    """Random numbers for ops: each call that is given one takes its next draw.

    It is counter-based: its state is two numbers, a seed and how many draws were taken. Generators of equal seeds give
    equal numbers in equal order, on tensors, arrays and in Programs. A call keeps its draw, so that forward, backward
    and recomputation see the same numbers. In a Program each call keeps the draw that it took when it was built; later
    runs in a Scope draw others, by a count that is part of the Scope. Several threads may draw from one.

    Args:
        seed: integer from 0 to 2**63 - 1; drawn by the machine unless given. The name of a place is `device`.
        device: without meaning: draws are equal at all places.

    Raises:
        AttributeValueError: the seed is something else.
    """

    __slots__ = ("_count", "_lock", "_seed")

    # Any: what a user gave for a number; a place, or its name.
    def __init__(self, seed: Any = None, device: Any = None) -> None:
        is_device = isinstance(seed, str) and seed.partition(":")[0] in ("cpu", "cuda", "gpu")
        self.manual_seed(_of_the_machine() if seed is None or is_device else seed)

    def manual_seed(self, seed: int) -> Generator:
        """Begins anew with a seed, and returns itself."""
        self.load_state_dict({"seed": seed, "count": 0})
        return self

    def initial_seed(self) -> int:
        """Returns the seed, in PyTorch's words."""
        return self._seed

    @property
    def seed(self) -> int:
        """The seed that it was made with."""
        return self._seed

    def draw(self) -> Draw:
        """Takes the next draw."""

        def draw() -> int:
            with self._lock:
                self._count += 1
                return drawn(self._seed, self._count - 1)

        return Draw(_DRAWS.get().next(draw))

    @contextmanager
    def taken(self) -> Iterator[Draw]:
        """Gives the next draw; where the block raises, it is the next one again, unless others were taken since."""
        before = self._count
        draw = self.draw()
        try:
            yield draw
        except BaseException:
            with self._lock:
                if self._count > before and draw == drawn(self._seed, self._count - 1):
                    self._count -= 1
            raise

    def peek(self) -> Draw:
        """Returns the draw that comes next, and does not take it."""
        return Draw(drawn(self._seed, self._count))

    def state_dict(self) -> dict[str, int]:
        """Returns the state: `seed`, and `count`, the number of draws that were taken."""
        with self._lock:
            return {"seed": self._seed, "count": self._count}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on as the generator did whose state this is.

        Args:
            state: as `state_dict` gives it.

        Raises:
            AttributeValueError: it is none.
        """
        seed, count = (_whole(state, name) for name in ("seed", "count"))
        lock = getattr(self, "_lock", None) or threading.Lock()
        with lock:
            self._lock, self._seed, self._count = lock, seed, count

    get_state, set_state = state_dict, load_state_dict

    def __repr__(self) -> str:
        return f"opsdk.Generator({self._seed})" + (f" after {self._count} draws" if self._count else "")

    def __reduce__(self) -> tuple[Any, ...]:
        return _generator, (self.state_dict(),)


def _generator(state: Mapping[str, int]) -> Generator:
    made = Generator(state["seed"])
    made.load_state_dict(state)
    return made


def _whole(state: Mapping[str, Any], name: str) -> int:
    """Returns a number of a generator's state.

    Raises:
        AttributeValueError: it is none.
    """
    value = state.get(name) if isinstance(state, Mapping) else None
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise AttributeValueError(f"Generator: {name} expected an integer from 0 to 2**63 - 1, got {value!r}")
    return int(value)


_LOW = (1 << 31) - 1


def drawn(seed: int, count: int) -> int:
    """Returns the seed of one of many draws from one seed: the first has the seed itself, later ones others.

    Counter-based: it depends on nothing but the two, and 2³¹ draws from one seed have as many seeds. A seed of 31 bits
    gives seeds of 31 bits, which every generator takes.

    Args:
        seed: the key, ≥ 0.
        count: the number of the draw, from 0.
    """
    key = (seed ^ seed >> 31) * 0x9E3779B97F4A7C15 >> 17 & _LOW
    return seed ^ _scattered(key + count) ^ _scattered(key)


def _scattered(value: int) -> int:
    """Returns another number below 2³¹ for each: every step can be undone (the finalizer of MurmurHash3)."""
    value &= _LOW
    value = (value ^ value >> 16) * 0x05EBCA6B & _LOW
    value = (value ^ value >> 13) * 0x42B2AE35 & _LOW
    return value ^ value >> 16


def stream() -> np.random.Generator:
    """Returns the generator of the one stream of seeds that calls take theirs from."""
    with _lock:
        if not _generators:
            _begin()
        return _generators[0]


def next_seed() -> int:
    """Returns a seed drawn from the global generator; a random op carries its seed as an attribute, to be replayed."""
    return _DRAWS.get().next(_next_of_stream)


def _next_of_stream() -> int:
    with _lock:
        if not _generators:
            _begin()
        return int(_generators[0].integers(1, 2**31 - 1))


@contextmanager
def taken() -> Iterator[Draw]:
    """Gives the next draw of the global generator, as `Generator.taken` does of another."""
    bits = stream().bit_generator
    before = bits.state
    draw = Draw(next_seed())
    after = bits.state
    try:
        yield draw
    except BaseException:
        with _lock:
            if bits.state == after:
                bits.state = before
        raise

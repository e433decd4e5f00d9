"""Numbers drawn at random: in place of a tensor's, in the shape of another one's, and by its values.

All come from the global seed, and none passes a gradient on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from opsdk.autograd import creation
from opsdk.autograd.in_place import CAST, InPlaceMethods
from opsdk.autograd.tensor import Tensor
from opsdk.autograd.tensor_state import check_in_place
from opsdk.core import sums
from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import ArityError, DTypeError, InputValueError
from opsdk.core.fit import as_numbers, fitted
from opsdk.core.random import next_seed
from opsdk.core.spellings import spell
from opsdk.define.frontend import owner_of
from opsdk.ops.numpy_protocol import values_of

_Self = TypeVar("_Self", bound=InPlaceMethods)


def _generator() -> np.random.Generator:
    return np.random.default_rng(next_seed())


# Any, in this file: tensors, arrays, and what a distribution draws by.
def _in_place(name: str, what: str, draw: Callable[..., Any], **defaults: Any) -> None:
    """Gives tensors a method that fills them with numbers from a distribution, whose parameters have defaults."""

    def method(self: _Self, *args: Any, **options: Any) -> _Self:
        options.pop("generator", None)
        given = {**defaults, **dict(zip(defaults, args, strict=False)), **options}
        if len(args) > len(defaults) or set(given) - set(defaults):
            raise ArityError(f"{name}: expected {', '.join(defaults)}, got {[*args, *options]}")
        if self._array.dtype.kind == "b":
            raise DTypeError(f"{name}: expected a tensor of numbers, got bool; {CAST}")
        check_in_place(self, name)
        try:
            drawn = draw(_generator(), self._array.shape, **given)
        except ValueError as error:
            raise InputValueError(f"{name}: {error}, got {given}") from error
        values = fitted(np.asarray(drawn), self._array.dtype, name, truncates=True)
        self._overwrite(creation.to_tensor(values, place=self.place)._array)  # type: ignore[attr-defined]
        return self

    method.__name__, method.__qualname__ = name, f"InPlaceMethods.{name}"
    shown = ", ".join(f"{key}={value}" for key, value in defaults.items())
    method.__doc__ = f"Fills the tensor with numbers drawn {what}, in place, and returns it; {shown} unless given."
    setattr(InPlaceMethods, name, method)


_in_place(
    "uniform_",
    "uniformly from [min, max), as in Paddle; PyTorch's start at 0",
    lambda rng, n, min, max: rng.uniform(min, max, n),
    min=-1,
    max=1,
)
_in_place("normal_", "from a normal distribution", lambda rng, n, mean, std: rng.normal(mean, std, n), mean=0, std=1)
_in_place(
    "log_normal_",
    "from a log-normal distribution",
    lambda rng, n, mean, std: rng.lognormal(mean, std, n),
    mean=1,
    std=2,
)
_in_place("bernoulli_", "as 1 with probability p, else 0", lambda rng, n, p: rng.random(n) < np.asarray(p), p=0.5)
_in_place("exponential_", "from an exponential distribution", lambda rng, n, lam: rng.exponential(1 / lam, n), lam=1.0)
_in_place("geometric_", "from a geometric distribution", lambda rng, n, probs: rng.geometric(probs, n), probs=0.5)
_in_place(
    "cauchy_",
    "from a Cauchy distribution",
    lambda rng, n, loc, scale: loc + scale * rng.standard_cauchy(n),
    loc=0,
    scale=1,
)
_in_place(
    "random_",
    "uniformly from the whole numbers in [low, high)",
    lambda rng, n, low, high: rng.integers(*((0, low) if high is None else (low, high)), n),
    low=2**24,
    high=None,
)


def _values(x: Any, subject: str) -> np.ndarray:
    if owner_of(x) is not None and not isinstance(x, Tensor):
        raise DTypeError(f"{subject}: expected a tensor or array, got {type(x).__name__}, whose values only a run has")
    return as_numbers(values_of(x), subject)


def _shaped(x: Any, subject: str) -> Any:
    if not hasattr(x, "shape") or not hasattr(x, "dtype"):
        raise DTypeError(f"{subject}: expected a tensor or array, got {type(x).__name__}")
    return x


def rand_like(x: Any, dtype: DTypeLike | None = None) -> Tensor:
    """Returns numbers drawn uniformly from [0, 1), of the shape of x, and its dtype unless given."""
    return creation.rand(shape=_shaped(x, "rand_like").shape, dtype=x.dtype if dtype is None else dtype)


def randn_like(x: Any, dtype: DTypeLike | None = None) -> Tensor:
    """Returns numbers from the standard normal distribution, of the shape of x, and its dtype unless given."""
    return creation.randn(shape=_shaped(x, "randn_like").shape, dtype=x.dtype if dtype is None else dtype)


def randint_like(x: Any, low: int, high: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Returns whole numbers drawn uniformly from [low, high), of the shape of x, and its dtype unless given."""
    return creation.randint(low, high, _shaped(x, "randint_like").shape, x.dtype if dtype is None else dtype)


def standard_normal(shape: Sequence[int] | int, dtype: DTypeLike = "float32") -> Tensor:
    """Returns numbers from the standard normal distribution."""
    return creation.randn(shape=shape, dtype=dtype)


def bernoulli(x: Any, p: float | None = None) -> Tensor:
    """Returns 1 with the probability that x has in each place, or p everywhere, else 0; in the dtype of x.

    Raises:
        InputValueError: a probability is none.
    """
    values = _values(x, "bernoulli")
    chances = values if p is None else np.full(values.shape, p)
    if not np.all((chances >= 0) & (chances <= 1)):
        raise InputValueError("bernoulli: x expected probabilities in [0, 1]")
    return creation.to_tensor((_generator().random(values.shape) < chances).astype(values.dtype))


def poisson(x: Any) -> Tensor:
    """Returns numbers from Poisson distributions with the means that x has; in its dtype.

    Raises:
        InputValueError: a mean is below 0.
    """
    values = _values(x, "poisson")
    if not np.all(values >= 0):
        raise InputValueError("poisson: x expected means >= 0")
    return creation.to_tensor(_generator().poisson(values).astype(values.dtype))


def multinomial(x: Any, num_samples: int = 1, replacement: bool = False) -> Tensor:
    """Returns positions in each row of x, drawn with the weights that it has there; int64.

    Args:
        x: weights >= 0, a vector or a matrix.
        num_samples: how many are drawn of each row.
        replacement: whether a position may be drawn again.

    Raises:
        InputValueError: weights are not finite numbers >= 0, or a row has too few above 0.
    """
    values = _values(x, "multinomial").astype(np.float64)
    rows = values.reshape(-1, values.shape[-1]) if values.ndim in (1, 2) else values
    if rows.ndim != 2 or not np.all((rows >= 0) & np.isfinite(rows)):
        raise InputValueError(f"multinomial: x expected rows of finite weights >= 0, got shape {values.shape}")
    enough = 1 if replacement else num_samples
    if num_samples < 1 or np.any(np.count_nonzero(rows, axis=1) < enough):
        raise InputValueError(
            f"multinomial: num_samples expected at most as many as weights above 0 in each row, got {num_samples}"
        )
    rng = _generator()
    made = [rng.choice(len(row), num_samples, replacement, row / sums.total(row)) for row in rows]
    return creation.to_tensor(np.asarray(made, np.int64).reshape(*values.shape[:-1], num_samples))


def log_normal(
    mean: float = 1.0, std: float = 2.0, shape: Sequence[int] | int = (1,), dtype: DTypeLike = "float32"
) -> Tensor:
    """Returns numbers whose logarithms are normally distributed."""
    return creation.zeros(shape=shape, dtype=as_dtype(dtype)).log_normal_(mean, std)


spell(globals())

__all__ = [
    "bernoulli",
    "log_normal",
    "multinomial",
    "poisson",
    "rand_like",
    "randint_like",
    "randn_like",
    "standard_normal",
]

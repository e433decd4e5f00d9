"""The subject of a check: two NumPy functions, the names of their inputs, and what was declared about them."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.constraint import Domain
from gradcheck.model.domain import check_inside, named, read_domain
from gradcheck.model.dtypes import Array, FloatArray, as_float64, from_float64, is_continuous, is_discrete

# The subject's functions take and give whatever NumPy takes and gives; `normalise_outputs` narrows it.
Forward = Callable[..., Any]
Vjp = Callable[..., Any]
Jvp = Callable[..., Any]

_ROLES = ("vjp2", "jvp2", "batched", "batched_vjp", "surrogate")
ALIASES = ("output", "cotangent", "gradients")
# Of complex gradients and cotangents, of a real loss L and z = x + iy: "conjugate" stores dL/dx + i dL/dy, as PyTorch
# and Paddle do; "plain" stores its conjugate, as JAX does. Inside the judge everything is "conjugate", where the two
# parts of a gradient are the derivatives along the two parts of the input.
CONVENTIONS = ("conjugate", "plain")
# A gradient that may be off by more hides a wrong sign of its smaller elements and any factor near one.
COARSEST = 0.1


@dataclass(frozen=True)
class Also:
    """What a caller of `check` may give or declare beside forward and vjp; described there.

    Args:
        vjp2: the vjp of the vjp.
        jvp2: the tangents of the vjp.
        batched: forward over a leading axis of every array.
        batched_vjp: vjp over a leading axis of the cotangents.
        surrogate: the function whose derivative vjp is meant to be, where that is not forward.
        nondifferentiable_outputs: positions of outputs through which no gradient flows.
        reasons: why, of those that move with the inputs.
        none_cotangents: whether vjp takes None for the cotangent of an output that nobody used.
        convention: of complex gradients.
        accuracy: the error that gradients may have, as a share of their largest element; 0 where they are exact.
    """

    vjp2: Vjp | None = None
    jvp2: Jvp | None = None
    batched: Forward | None = None
    batched_vjp: Vjp | None = None
    surrogate: Forward | None = None
    nondifferentiable_outputs: tuple[int, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)
    none_cotangents: bool = False
    convention: str = "conjugate"
    accuracy: float = 0.0


@dataclass(frozen=True)
class Subject:
    """What is judged.

    Args:
        forward: forward(*inputs) -> array or tuple of arrays.
        vjp: vjp(inputs, outputs, cotangents) -> one gradient, or None, per input.
        jvp: jvp(inputs, tangents) -> one tangent per output; None when the subject has none.
        names: one name per input.
        domain: one per input; of all values where nothing was declared.
        differentiable: indices of inputs whose gradient is compared.
        declared: indices of floating inputs that the caller declared non-differentiable.
        alias_ok: kinds of memory sharing that the caller allows.
        also: what the caller gave or declared beyond that.
    """

    forward: Forward
    vjp: Vjp
    jvp: Jvp | None
    names: tuple[str, ...]
    domain: tuple[Domain, ...]
    differentiable: tuple[int, ...]
    declared: tuple[int, ...]
    alias_ok: frozenset[str]
    also: Also

    @cached_property
    def ruled(self) -> tuple[int, ...]:
        """Positions of the inputs that are held to more than an interval, those that others decide about at the end."""
        found = [k for k, where in enumerate(self.domain) if where.rules]
        return tuple(sorted(found, key=lambda k: bool(self.domain[k].of)))

    def numbers(self, k: int, values: FloatArray, inputs: Sequence[object]) -> FloatArray:
        """Moves numbers of input `k` into its domain, beside the other inputs."""
        where, value = self.domain[k], inputs[k]
        assert isinstance(value, np.ndarray)
        return where.numbers(values, value, named(self.names, inputs) if where.of else {})

    def inside(self, k: int, values: FloatArray, inputs: Sequence[object]) -> Array:
        """Gives the same as an array like input `k`."""
        value = inputs[k]
        assert isinstance(value, np.ndarray)
        return from_float64(self.numbers(k, values, inputs), value)

    def fits(self, k: int, array: Array, inputs: Sequence[object]) -> bool:
        """Says whether numbers lie in the domain of input `k`, beside the other inputs."""
        where = self.domain[k]
        try:
            return where.broken(array, named(self.names, inputs) if where.of else {}) is None
        except Exception:  # of a shape that a rule refuses
            return False

    def held_inside(self, inputs: Sequence[object]) -> tuple[object, ...]:
        """Gives inputs of which the floating ones with rules are moved into their domains."""
        if not self.ruled:
            return tuple(inputs)
        moved = list(inputs)
        for k in self.ruled:
            value = moved[k]
            if isinstance(value, np.ndarray) and is_continuous(value.dtype):
                moved[k] = self.inside(k, as_float64(value), moved)
        return tuple(moved)


def read_inputs(inputs: Sequence[object]) -> tuple[object, ...]:
    """Turns what the caller gave into arrays; Python ints, bools, strings and None stay as they are.

    Raises:
        UsageError: `inputs` is not a sequence, is empty, or holds an array of object dtype.
    """
    if isinstance(inputs, (str, bytes, np.ndarray)) or not isinstance(inputs, Sequence):
        raise UsageError(f"inputs: expected a tuple of arrays and scalars, got {type(inputs).__name__}; write (x,)")
    if not inputs:
        raise UsageError("inputs: expected at least one array, got an empty sequence; pass the values to check at")
    found = list(inputs)
    for position, value in enumerate(inputs):
        if value is None or isinstance(value, (bool, int, str)):
            continue
        array = found[position] = np.array(value, order="C")
        if not (is_continuous(array.dtype) or is_discrete(array.dtype)):
            raise UsageError(
                f"input {position}: expected a floating, complex, integer or bool dtype, got {array.dtype}; "
                "pass arrays of numbers"
            )
    return tuple(found)


def build_subject(
    forward: Forward,
    vjp: Vjp,
    jvp: Jvp | None,
    inputs: tuple[object, ...],
    names: Sequence[str] | None,
    domain: object,
    nondifferentiable: Iterable[str | int],
    alias_ok: Iterable[str],
    also: Also = Also(),
) -> Subject:
    """Checks what the caller declared and gathers it.

    Raises:
        UsageError: a function is not callable, a name or position does not exist, an input lies outside its domain,
            an alias kind or the convention is unknown, or no input is differentiable.
    """
    if also.convention not in CONVENTIONS:
        raise UsageError(f"convention: expected {' or '.join(CONVENTIONS)}, got {also.convention!r}; choose one")
    optional = {"jvp": jvp} | {role: getattr(also, role) for role in _ROLES}
    given = {"forward": forward, "vjp": vjp} | {role: made for role, made in optional.items() if made is not None}
    for role, function in given.items():
        if not callable(function):
            raise UsageError(f"{role}: expected a callable, got {type(function).__name__}; pass the function itself")
    known = read_names(forward, len(inputs), names)
    excluded = {_position(item, known) for item in nondifferentiable}
    aliases = frozenset([alias_ok] if isinstance(alias_ok, str) else alias_ok)
    for alias in sorted(aliases - set(ALIASES), key=str):
        near = difflib.get_close_matches(str(alias), ALIASES, n=1, cutoff=0.4)
        remedy = f"meant {near[0]}?" if near else "remove it"
        raise UsageError(f"alias_ok: expected some of {', '.join(ALIASES)}, got {alias!r}; {remedy}")
    continuous = [k for k, value in enumerate(inputs) if isinstance(value, np.ndarray) and is_continuous(value.dtype)]
    differentiable = tuple(k for k in continuous if k not in excluded)
    if not differentiable:
        kinds = (getattr(value, "dtype", type(value).__name__) for value in inputs)
        listed = ", ".join(f"{name} is {kind}" for name, kind in zip(known, kinds, strict=True))
        raise UsageError(
            f"inputs: expected a floating or complex input to differentiate, got none ({listed}); "
            "pass an array of floats, or name fewer inputs in nondifferentiable"
        )
    bounds = read_domain(domain, known)
    check_inside(inputs, bounds, known)
    declared = tuple(k for k in continuous if k in excluded)
    return Subject(forward, vjp, jvp, known, bounds, differentiable, declared, aliases, also)


def read_accuracy(accuracy: object) -> float:
    """Reads the declared accuracy of gradients; 0 where None says that they are exact.

    Raises:
        UsageError: it is not a number above 0 and of at most `COARSEST`.
    """
    if accuracy is None:
        return 0.0
    is_number = isinstance(accuracy, (int, float, np.integer, np.floating)) and not isinstance(accuracy, bool)
    if not is_number or not 0.0 < float(accuracy) <= COARSEST:  # type: ignore[arg-type]  # a number by now
        raise UsageError(
            f"accuracy: expected a share of the gradient's largest element, above 0 and at most {COARSEST:g}, "
            f"got {accuracy!r}; leave it out where the gradient is exact"
        )
    return float(accuracy)  # type: ignore[arg-type]


def read_positions(positions: object) -> tuple[int, ...]:
    """Reads what the caller declared; each position counts once.

    Raises:
        UsageError: it is no collection of integers.
    """
    role, remedy = "nondifferentiable_outputs", "write a tuple of output positions"
    if isinstance(positions, str) or not isinstance(positions, Iterable):
        raise UsageError(f"{role}: expected positions of outputs, got {positions!r}; {remedy}")
    found = tuple(positions)
    for position in found:
        if isinstance(position, bool) or not isinstance(position, (int, np.integer)):
            raise UsageError(f"{role}: expected positions of outputs, got {position!r}; {remedy}")
    return tuple(sorted({int(position) for position in found}))


def read_reasons(positions: object) -> dict[int, str]:
    """Reads why outputs that were declared move with the inputs; nothing where positions alone were given.

    Raises:
        UsageError: a reason is no text, or an empty one.
    """
    if not isinstance(positions, Mapping):
        return {}
    for position, reason in positions.items():
        if not isinstance(reason, str) or not reason.strip():
            raise UsageError(
                f"nondifferentiable_outputs: expected a reason in words for output {position}, got {reason!r}; "
                "say why no gradient flows through it"
            )
    return {int(position): reason for position, reason in positions.items()}


def read_names(forward: Forward, count: int, names: Sequence[str] | None) -> tuple[str, ...]:
    """Gives one name per input: the caller's, else the parameters of `forward`, else "input 0" and so on.

    Raises:
        UsageError: `names` has another length than the inputs, repeats a name, or holds what is no text.
    """
    if names is not None:
        given = tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else ()
        if len(given) != count or not all(isinstance(name, str) for name in given) or len(set(given)) != count:
            raise UsageError(f"names: expected {count} different names, one per input, got {names!r}; name each input")
        return given
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return tuple(positional[k] if k < len(positional) else f"input {k}" for k in range(count))


def normalise_outputs(result: object) -> tuple[Array, ...]:
    """Turns what forward returned into a tuple of arrays; one array, a scalar, a tuple and a list are accepted."""
    values = result if isinstance(result, (tuple, list)) else (result,)
    return tuple([np.asarray(value) for value in values])


def normalise_gradients(result: object) -> tuple[Array | None, ...]:
    """Turns what vjp returned into a tuple; one bare array counts as a tuple of one.

    Raises:
        TypeError: the vjp returned a mapping or an iterator, such as a generator.
    """
    if isinstance(result, Mapping):
        raise TypeError("vjp returned a mapping; expected a tuple with one gradient or None per input")
    if isinstance(result, Iterator):
        raise TypeError(f"vjp returned a {type(result).__name__}; return a tuple")
    values = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return tuple(None if value is None else np.asarray(value) for value in values)


def copy_inputs(inputs: Sequence[object]) -> tuple[object, ...]:
    """Copies every array, so that the subject can damage nothing but its own."""
    return tuple([copy_input(value) for value in inputs])


def copy_input(value: object) -> object:
    """Copies an array into one of its own, in C order; anything else stays."""
    return np.array(value, order="C") if isinstance(value, np.ndarray) else value


def _position(item: str | int, names: tuple[str, ...]) -> int:
    if isinstance(item, str) and item in names:
        return names.index(item)
    if isinstance(item, int) and not isinstance(item, bool) and -len(names) <= item < len(names):
        return item % len(names)
    known = ", ".join(names)
    raise UsageError(f"nondifferentiable: expected inputs among {known}, got {item!r}; use a name or position")

"""Causes read off a whole Jacobian: what the subject's one does that the right one does not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gradcheck.explain.elements import describe_place
from gradcheck.explain.hypothesis import CLOSE, Hypothesis, fitting, peak, same
from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Jacobians:
    """A right Jacobian and the subject's, complete: all floating outputs by all elements of one input.

    Args:
        name: of the input.
        values: the input, in its shape.
        output_shapes: of the floating outputs, which count as one flat vector.
        analytic: the subject's, one row for each output, shape (outputs, elements).
        numeric: the right one.
        wrong: the entries that differ beyond doubt.
        cotangents: shape (C, outputs).
        gradients: what the subject gave for them, shape (C, elements).
    """

    name: str
    values: FloatArray
    output_shapes: tuple[tuple[int, ...], ...]
    analytic: FloatArray
    numeric: FloatArray
    wrong: BoolArray
    cotangents: FloatArray
    gradients: FloatArray

    def rows(self) -> list[IntArray]:
        """Gives the flat indices of each output."""
        stops = np.cumsum([int(np.prod(shape)) for shape in self.output_shapes])
        return np.split(np.arange(len(self.wrong)), stops[:-1])


def explain(found: Jacobians, *, is_elementwise: bool = False) -> str | None:
    """Gives the first cause that accounts for the whole difference, in words; None where none does.

    Where each output depends on one element, single entries say no more than the gradient itself.
    """
    rules = _ELEMENTWISE_RULES if is_elementwise else _RULES
    return next((text for rule in rules if (text := rule(found)) is not None), None)


def _of_the_cotangent(found: Jacobians) -> str | None:
    """Finds that the cotangent was changed before it was used, in a way that single outputs do not show."""
    right = found.cotangents @ found.numeric
    if same(right, found.gradients):
        return None
    surplus = found.gradients - right
    if len(surplus) > 1 and same(np.broadcast_to(surplus[:1], surplus.shape), surplus):
        return "yours has a term too much, or lacks one, that does not depend on the cotangent"
    changed = ((said, np.array([change(row) for row in found.cotangents]) @ found.numeric) for said, change in _CHANGES)
    if (said := fitting(changed, found.gradients, right)) is not None:
        return f"yours uses {said} in place of the cotangent"
    if not found.wrong.any():
        return "right for one output at a time, wrong for several: vjp is not linear in the cotangent"
    if not same(found.cotangents @ found.analytic, found.gradients):
        return "the gradients for several outputs are not the sum of those for each: vjp is not linear in the cotangent"
    return None


def _turns(found: Jacobians) -> Iterator[Hypothesis]:
    """Yields the right entries at other places: outputs or elements reversed, shifted or with axes exchanged."""
    numeric, shapes = found.numeric, found.output_shapes
    for said, order in _orders(found.values.shape):
        yield f"yours is the derivative {said} of {found.name}", numeric[:, order]
    if len(shapes) == 1:
        for said, order in _orders(shapes[0]):
            yield f"yours is right for a cotangent {said} of the output", numeric[order]
    if len(shapes) == 2 and shapes[0] == shapes[1]:
        exchanged = np.roll(numeric, len(numeric) // 2, axis=0)
        yield "the cotangents of the two outputs are exchanged", exchanged
    if len(numeric) == len(numeric.T):
        yield "yours multiplies by the Jacobian, not by its transpose", numeric.T


def _several_outputs(found: Jacobians) -> str | None:
    """Finds that of several outputs only one is sent back wrongly, though not left out."""
    faulty = [(position, rows) for position, rows in enumerate(found.rows()) if found.wrong[rows].any()]
    if len(found.output_shapes) < 2 or len(faulty) != 1:
        return None
    position, rows = faulty[0]
    if not found.analytic[rows].any():
        return None
    effect = ", with the opposite sign" if same(-found.numeric[rows], found.analytic[rows]) else ""
    return f"only the contribution of output {position} is wrong{effect}"


def _lacking(found: Jacobians) -> str | None:
    """Finds contributions of outputs that are missing while all others are right."""
    missing = found.wrong & (found.analytic == 0)
    if not missing.any() or (found.wrong & ~missing).any():
        return None
    weights = found.numeric != 0
    kept = weights & ~missing
    touched = missing.any(axis=0)
    last = np.array([np.flatnonzero(column)[-1] for column in weights[:, touched].T])
    if (kept[:, touched].sum(axis=0) == 1).all() and kept[last, np.flatnonzero(touched)].all():
        return "yours is the contribution of the last output alone: '=' where '+=' is meant does this"
    for position, rows in enumerate(found.rows()):
        is_alone = not np.delete(missing, rows, axis=0).any()
        if len(found.output_shapes) > 1 and is_alone and not found.analytic[rows].any():
            return f"output {position} is ignored"
    whole = np.asarray(missing.any(axis=1))
    if not found.analytic[whole].any() and found.analytic[~whole].any():
        return f"{_which(whole, weights.any(axis=1) & ~whole, found.output_shapes)} contribute nothing"
    if len(missing) == len(missing.T):
        i, j = np.indices(missing.shape)
        for said, inside in (
            ("outputs at other places than the element's own", i != j),
            ("later outputs", i > j),
            ("earlier outputs", i < j),
            ("the output at the element's own place", i == j),
        ):
            if np.array_equal(missing, weights & inside):
                return f"contributions of {said} are missing"
    if (kept[:, touched].sum(axis=0) <= 1).all():
        return "of several outputs that use an element, one contributes at most"
    return f"{int(missing.sum())} of {int(weights.sum())} contributions of outputs are missing, the others are right"


def _surplus(found: Jacobians) -> str | None:
    """Finds contributions of outputs that do not depend on the element, while all others are right."""
    extra = found.wrong & (found.numeric == 0)
    if not extra.any() or (found.wrong & ~extra).any():
        return None
    return f"{int(extra.sum())} contributions come from outputs that do not depend on the element"


def _scaled(found: Jacobians) -> str | None:
    """Finds a factor that depends on the element, or on the output, alone."""
    used = np.abs(found.numeric) > CLOSE * peak(found.numeric)
    if not used.any() or (np.abs(found.analytic[~used]) > CLOSE * peak(found.numeric)).any():
        return None
    with np.errstate(all="ignore"):
        ratio = np.where(used, found.analytic / found.numeric, np.nan)
        by_element = np.nanmedian(np.where(used.any(axis=0), ratio, 1.0), axis=0)
        by_output = np.nanmedian(np.where(np.asarray(used.any(axis=1))[:, None], ratio, 1.0), axis=1)
    x = found.values.ravel()
    if same(by_element * found.numeric, found.analytic):
        judged = used.any(axis=0) & np.isfinite(by_element)
        factors = ((said, factor[judged]) for said, factor in _factors(x, found.name))
        if judged.sum() > 1 and (words := fitting(factors, by_element[judged], np.ones(int(judged.sum())))) is not None:
            return words
        if (used.sum(axis=0) > 1).sum() > 1:
            return "each element has a factor of its own, the same for every output"
    if (used.sum(axis=1) > 1).sum() > 1 and same(by_output[:, None] * found.numeric, found.analytic):
        return "each output has a factor of its own, the same for every element"
    return None


def _offset(found: Jacobians) -> str | None:
    """Finds a term that is missing, or too much, and the same along an axis: what a mean or a sum gives."""
    error = (found.analytic - found.numeric).reshape(-1, *found.values.shape)
    for axis in range(found.values.ndim):
        if found.values.shape[axis] > 2 and not same(error, 0 * error):
            level = error.mean(axis=axis + 1, keepdims=True)
            if same(np.broadcast_to(level, error.shape), error):
                return f"yours lacks a term, or has one too many, that is the same along axis {axis} of {found.name}"
    rank = int(np.sum(np.linalg.svd(error.reshape(len(error), -1), compute_uv=False) > CLOSE * peak(error)))
    if rank == 1 and min(found.numeric.shape) > 2:
        return "yours lacks a term, or has one too many, that is the product of a weight per output and one per element"
    return None


def _orders(shape: tuple[int, ...]) -> Iterator[tuple[str, IntArray]]:
    """Yields permutations of the flat indices of an array, and how they are called; none that moves nothing."""
    flat = np.arange(int(np.prod(shape))).reshape(shape)
    for axis, length in enumerate(shape):
        if length > 1:
            yield f"reversed along axis {axis}", np.flip(flat, axis).ravel()
        if length > 2:
            for shift in (1, -1):
                yield f"shifted by {shift} along axis {axis}", np.roll(flat, shift, axis).ravel()
    for first, second in itertools.combinations(range(len(shape)), 2):
        if min(shape[first], shape[second]) > 1:
            yield f"with axes {first} and {second} exchanged", np.swapaxes(flat, first, second).ravel()


def _factors(x: FloatArray, name: str) -> Iterator[Hypothesis]:
    with np.errstate(all="ignore"):
        yield f"yours has the factor {name} too much", x
        yield f"yours lacks the factor {name}", 1 / x
        yield f"yours has the factor |{name}| too much", np.abs(x)
        yield f"yours has the factor {name}**2 too much", x**2
        yield f"yours lacks the factor {name}**2", 1 / x**2
        yield f"yours has the sign of {name} too much", np.sign(x)


def _which(lost: BoolArray, others: BoolArray, shapes: tuple[tuple[int, ...], ...]) -> str:
    """Names some of the outputs."""
    if len(shapes) == 1:
        place = describe_place(lost.reshape(shapes[0]), others.reshape(shapes[0]), np.zeros(shapes[0]), "the output")
        if place is not None and place.startswith("only "):
            return f"outputs {place[5:]}"
    return f"{int(lost.sum())} of {lost.size} outputs"


_CHANGES: tuple[tuple[str, Callable[[FloatArray], FloatArray]], ...] = (
    ("the magnitude of the cotangent", np.abs),
    ("the square of the cotangent", np.square),
    ("the sign of the cotangent", np.sign),
    ("ones", np.ones_like),
    ("the mean of the cotangent", lambda c: np.full_like(c, c.mean())),
    ("the sum of the cotangent", lambda c: np.full_like(c, c.sum())),
    ("a normalised cotangent", lambda c: c / max(float(np.linalg.norm(c)), 1e-300)),
    ("the positive part of the cotangent", lambda c: np.maximum(c, 0.0)),
    ("a cotangent held to [-1, 1]", lambda c: np.clip(c, -1.0, 1.0)),
    ("the first element of the cotangent", lambda c: np.full_like(c, c[0])),
)
_RULES: tuple[Callable[[Jacobians], str | None], ...] = (
    _of_the_cotangent,
    lambda found: fitting(_turns(found), found.analytic, found.numeric),
    _several_outputs,
    _lacking,
    _surplus,
    _scaled,
    _offset,
)
_ELEMENTWISE_RULES = tuple(rule for rule in _RULES if rule not in (_lacking, _surplus, _offset))

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.explain.causes import Jacobians, explain

RNG = np.random.default_rng(7)
J = RNG.normal(size=(6, 6))
C = RNG.normal(size=(4, 6))
X = RNG.normal(size=(2, 3))


def jacobians(analytic: Any, numeric: Any = J, gradients: Any = None, shapes: Any = ((2, 3),), x: Any = X) -> Jacobians:
    given = C @ analytic if gradients is None else gradients
    wrong = np.abs(analytic - numeric) > 1e-9
    return Jacobians("x", x, shapes, analytic, numeric, wrong, C, given)


def rows(order: Any) -> Any:
    return np.arange(6).reshape(2, 3)[order].ravel()


def without(outputs: Any) -> Any:
    kept = J.copy()
    kept[outputs] = 0
    return kept


def only_last_contribution() -> tuple[Any, Any]:
    """Two elements are used by two outputs each, the others by one; of the two only the later one is kept."""
    right = np.eye(6)
    right[4, 0] = right[5, 1] = 1.0
    wrong = right.copy()
    wrong[0, 0] = wrong[1, 1] = 0.0
    return wrong, right


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (jacobians(J, gradients=np.abs(C) @ J), "yours uses the magnitude of the cotangent in place of the cotangent"),
        (jacobians(J, gradients=C**2 @ J), "yours uses the square of the cotangent in place of the cotangent"),
        (
            jacobians(J, gradients=C @ J + 3.0),
            "yours has a term too much, or lacks one, that does not depend on the cotangent",
        ),
        (
            jacobians(J, gradients=np.tanh(C) @ J),
            "right for one output at a time, wrong for several: vjp is not linear in the cotangent",
        ),
        (jacobians(J[:, rows(np.s_[:, ::-1])]), "yours is the derivative reversed along axis 1 of x"),
        (
            jacobians(np.roll(J.reshape(6, 2, 3), 1, axis=2).reshape(6, 6)),
            "yours is the derivative shifted by 1 along axis 1 of x",
        ),
        (jacobians(J[rows(np.s_[::-1, :])]), "yours is right for a cotangent reversed along axis 0 of the output"),
        (jacobians(np.roll(J, 3, axis=0), shapes=((3,), (3,))), "the cotangents of the two outputs are exchanged"),
        (jacobians(J.T.copy()), "yours multiplies by the Jacobian, not by its transpose"),
        (jacobians(without(slice(3, 6)), shapes=((3,), (3,))), "output 1 is ignored"),
        (jacobians(without([0, 3])), "outputs at the first along axis 1 of the output contribute nothing"),
        (
            jacobians(*only_last_contribution()),
            "yours is the contribution of the last output alone: '=' where '+=' is meant does this",
        ),
        (jacobians(np.diag(np.diag(J))), "contributions of outputs at other places than the element's own are missing"),
        (jacobians(np.triu(J)), "contributions of later outputs are missing"),
        (jacobians(np.tril(J)), "contributions of earlier outputs are missing"),
        (jacobians(J, np.triu(J)), "15 contributions come from outputs that do not depend on the element"),
        (jacobians(J * X.ravel()), "yours has the factor x too much"),
        (jacobians(J / X.ravel()), "yours lacks the factor x"),
        (jacobians(J * np.arange(1, 7)), "each element has a factor of its own, the same for every output"),
        (jacobians(J * np.arange(1, 7)[:, None]), "each output has a factor of its own, the same for every element"),
        (
            jacobians(J + np.repeat(RNG.normal(size=(6, 2)), 3, axis=1)),
            "yours lacks a term, or has one too many, that is the same along axis 1 of x",
        ),
        (
            jacobians(J + np.outer(RNG.normal(size=6), RNG.normal(size=6))),
            "yours lacks a term, or has one too many, that is the product of a weight per output and one per element",
        ),
    ],
)
def test_what_a_jacobian_does_wrong_is_named(found: Jacobians, cause: str) -> None:
    assert explain(found) == cause


def test_another_jacobian_has_no_cause() -> None:
    assert explain(jacobians(RNG.normal(size=(6, 6)))) is None

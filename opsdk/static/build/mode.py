"""Training and test: the attributes that tell an op which of the two it is run for, and calls as a test has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opsdk.core.errors import ProgramError
from opsdk.static.ir.operator import Operator

# By name of a truth value, built in or of anybody's op: what it is where nothing is trained.
WHEN_TESTED: Mapping[str, bool] = {
    "is_test": True,
    "test_mode": True,
    "use_global_stats": True,
    "training": False,
    "is_training": False,
    "is_train": False,
    "train": False,
    "train_mode": False,
}


# Any: attribute values.
def is_trained(attrs: Mapping[str, Any]) -> bool:
    """Whether an attribute says that the call is one of training."""
    return any(attrs.get(name) is (not value) for name, value in WHEN_TESTED.items())


# Any: attribute values.
def is_tested(attrs: Mapping[str, Any]) -> bool:
    """Whether an attribute says that the call is one where nothing is trained."""
    return any(attrs.get(name) is value for name, value in WHEN_TESTED.items())


def tested(operators: Sequence[Operator]) -> list[Operator]:
    """Returns what runs where nothing is trained: the same operators, with the attributes of a test.

    Of a composite that was told to train there are only its parts, which show nothing of that: the call as it was takes
    their place.

    Raises:
        ProgramError: an attribute says otherwise than by a truth value that the operator is one of training.
    """
    made: list[Operator] = []
    whole: set[int] = set()
    for operator in operators:
        call = operator.part_of
        if call is None:
            made.append(_tested(operator))
        elif id(call) not in whole:
            whole.add(id(call))
            made.append(_tested(call))
    return made


def _tested(operator: Operator) -> Operator:
    attrs = dict(operator.attrs)
    for name, value in attrs.items():
        is_mode = name in WHEN_TESTED and value is not None
        if is_mode and isinstance(value, bool):
            attrs[name] = WHEN_TESTED[name]
        elif is_mode or (isinstance(value, str) and value.lower() in ("train", "training")):
            raise ProgramError(
                f"clone(for_test=True): operator {operator.type!r} expected to say by a bool, {_names()}, whether it "
                f"is trained, got {name}={value!r}; declare it so, or build a Program for tests with the other value",
                at=str(operator.origin),
            )
    return replace(operator, attrs=attrs)


def _names() -> str:
    *names, last = WHEN_TESTED
    return f"{', '.join(names)} or {last}"

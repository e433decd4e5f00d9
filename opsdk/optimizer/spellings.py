"""PyTorch's form of optimizers, parameters first: one table of its arguments, in their order, with their defaults."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from opsdk.core.errors import ArityError, AttributeValueError
from opsdk.optimizer.parameters import listed

_BETAS = {"betas": (0.9, 0.999), "eps": 1e-08}
_DECAY = {"weight_decay": 0.0}
FORMS: dict[str, dict[str, Any]] = {  # any: numbers, flags and pairs
    "Adadelta": {"lr": 1.0, "rho": 0.9, "eps": 1e-06, **_DECAY},
    "Adagrad": {"lr": 0.01, "lr_decay": 0.0, **_DECAY, "initial_accumulator_value": 0.0, "eps": 1e-10},
    "Adam": {"lr": 0.001, **_BETAS, **_DECAY, "amsgrad": False},
    "AdamW": {"lr": 0.001, **_BETAS, "weight_decay": 0.01, "amsgrad": False},
    "Adamax": {"lr": 0.002, **_BETAS, **_DECAY},
    "NAdam": {"lr": 0.002, **_BETAS, **_DECAY, "momentum_decay": 0.004},
    "RAdam": {"lr": 0.001, **_BETAS, **_DECAY},
    "RMSprop": {"lr": 0.01, "alpha": 0.99, "eps": 1e-08, **_DECAY, "momentum": 0.0, "centered": False},
    "Rprop": {"lr": 0.01, "etas": (0.5, 1.2), "step_sizes": (1e-06, 50.0)},
    "SGD": {"lr": 0.001, "momentum": 0.0, "dampening": 0.0, **_DECAY, "nesterov": False},
}
# What differs from Paddle's formula by more than numbers; and a name that only PyTorch has.
FORMULAS = {"Adamax": {"as_torch": True}, "RMSprop": {"as_torch": True}}
TORCHS_ALONE = {"RMSprop"}
WORDS = {"alpha": "rho", "eps": "epsilon", "lr": "learning_rate", "params": "parameters"}
WORDS["step_sizes"] = "learning_rate_range"
# How PyTorch computes a step, which says nothing about its value.
SPEED = {"capturable", "foreach", "fused"}

Kind = TypeVar("Kind", bound=type)


def in_both_forms(kind: Kind) -> Kind:
    """Lets an optimizer be made in PyTorch's form too: of parameters first, or by one of its keywords."""
    form, paddles = FORMS[kind.__name__], kind.__init__  # type: ignore[misc]
    own = set(inspect.signature(paddles).parameters)
    torchs = {"params", "maximize", *form, *SPEED} - own

    @functools.wraps(paddles)
    def made(self: Any, *args: Any, **options: Any) -> None:  # any: what either form takes
        first = args[0] if args else None
        is_rate = isinstance(first, str) or (hasattr(first, "dtype") and len(args) > 1)  # a wrong one, which is told
        is_torchs = hasattr(first, "__iter__") and not is_rate
        if is_torchs or not torchs.isdisjoint(options) or kind.__name__ in TORCHS_ALONE:
            args, options = (), _ours(kind.__name__, form, args, dict(options))
            self._is_maximized = options.pop("maximize", False)
            options |= FORMULAS.get(kind.__name__, {})
        paddles(self, *args, **options)

    kind.__init__ = made  # type: ignore[misc]
    shown = ", ".join(f"{word}={value!r}" for word, value in form.items())
    kind.__doc__ = (
        f"{kind.__doc__}\n    In PyTorch's form: `{kind.__name__}(params, {shown}, *, maximize=False)`.\n    "
    )
    return kind


# Any: arguments of a call.
def _ours(name: str, form: Mapping[str, Any], args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Returns arguments in PyTorch's form as our keywords, with its defaults.

    Raises:
        ArityError: too many, or one of them twice.
        AttributeValueError: no parameters, betas that are no pair, or a differentiable step.
    """
    subject = f"optimizer {name}"
    words = ["params", *form]
    given = dict(zip(words, args, strict=False))
    if len(args) > len(words):
        raise ArityError(f"{subject}: expected at most {len(words)} arguments, {', '.join(words)}, got {len(args)}")
    if options.pop("differentiable", False):
        raise AttributeValueError(f"{subject}: differentiable expected False, got True; a step changes in place")
    made: dict[str, Any] = {}
    for word, value in [*given.items(), *((w, v) for w, v in options.items() if w not in SPEED)]:
        here = WORDS.get(word, word)
        if here in made:
            raise ArityError(f"{subject}: expected one value of {word}, got two")
        made[here] = value
    made = {**{WORDS.get(word, word): value for word, value in form.items()}, **made}
    if "betas" in made:
        betas = made.pop("betas")
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise AttributeValueError(f"{subject}: betas expected a pair of numbers, got {betas!r}")
        made = {"beta1": betas[0], "beta2": betas[1]} | made
    made["parameters"] = listed(made.get("parameters"))
    if isinstance(made.get("parameters"), (list, tuple, Mapping)) and not made["parameters"]:
        raise AttributeValueError(
            f"{subject}: parameters expected at least one, got none; a generator is empty once it was looped over"
        )
    return made

"""Groups of parameters: settings of their own, as they are given and saved, in Paddle's words and in PyTorch's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.optimizer.parameters import RATE, WEIGHT_DECAY, as_rate, decay_coefficient

LR = "lr"
NAME = "name"  # of a group: shown, without meaning
# PyTorch's word for a setting, and the numbers of an update op that it is here, where the op has them.
WORDS = {
    "alpha": ("rho",),
    "betas": ("beta1", "beta2"),
    "eps": ("epsilon",),
    "etas": ("eta_negative", "eta_positive"),
    "momentum": ("mu",),
    "nesterov": ("use_nesterov",),
    "step_sizes": ("least", "greatest"),
}


# Any, in this file: what a user passed; numbers, flags and pairs of them; parameters are tensors or Program variables.
def own_numbers(options: Mapping[str, Any], known: Mapping[str, Any], subject: str) -> dict[str, Any]:
    """Returns settings under the names that an update op has for them; those that are not PyTorch's as they are.

    Raises:
        AttributeValueError: a pair that is none.
    """
    made, words = {}, words_of(known)
    for word, value in options.items():
        names = words.get(word, ())
        if word in known or not names:
            made[word] = value
            continue
        values = (value,) if len(names) == 1 else tuple(value) if isinstance(value, (tuple, list)) else ()
        if len(values) != len(names):
            raise AttributeValueError(f"{subject}: {word} expected {len(names)} numbers, got {value!r}")
        made.update(zip(names, values, strict=True))
    return made


def words_of(known: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Returns PyTorch's words for the numbers of an update op, each with their names there."""
    words = {word: names for word, names in WORDS.items() if known.keys() >= set(names)}
    if "centered" not in known:  # Adadelta's is rho there as well
        words.pop("alpha", None)
    taken = {name for names in words.values() for name in names} | {"as_torch"}
    return {**words, **{name: (name,) for name in known if name not in taken}}


class Group:
    """Parameters with settings of their own.

    Attributes:
        factor: on the learning rate.
        rate: a learning rate in place of the optimizer's, from which its schedule starts for these; None for that one.
        decay: a weight decay in place of the optimizer's; None for that one.
        attrs: numbers of the update op in place of the optimizer's.
        name: what the user calls it.
    """

    def __init__(self, options: Mapping[str, Any], known: Mapping[str, Any], subject: str) -> None:
        given = own_numbers(options, known, f"{subject}, group")
        for name in given:
            if name not in ("params", RATE, WEIGHT_DECAY, LR, NAME, *known):
                raise AttributeValueError(
                    f"{subject}: a group of parameters expected params, {', '.join((RATE, WEIGHT_DECAY, *known))}, got "
                    f"{name!r}; learning_rate is a factor on the optimizer's, as in Paddle, lr a rate, as in PyTorch"
                )
        if RATE in given and given.get(LR) is not None and given[RATE] != 1.0:
            raise AttributeValueError(
                f"{subject}: a group of parameters expected learning_rate, a factor, or lr, a rate, got both"
            )
        self.factor = as_rate(given.get(RATE, 1.0), f"{subject}, group")
        self.rate = None if given.get(LR) is None else as_rate(given[LR], f"{subject}, group")
        own = given.get(WEIGHT_DECAY)
        self.decay = None if own is None else decay_coefficient(own, f"{subject}, group")
        self.attrs = {name: type(known[name])(value) for name, value in given.items() if name in known}
        self.name = options.get(NAME)

    def state(self) -> dict[str, Any]:
        """Returns the settings, as they are saved."""
        own = {} if self.rate is None else {LR: self.rate}
        return {RATE: self.factor, WEIGHT_DECAY: self.decay, **own, **self.attrs}

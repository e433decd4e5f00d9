"""Optimizers that scale each number by what it has been through, each an entry as in `updates.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.ops.updates import adaptive
from opsdk.optimizer.optimizer import Optimizer
from opsdk.optimizer.parameters import Slot, as_groups
from opsdk.optimizer.schedule import LRScheduler
from opsdk.optimizer.spellings import in_both_forms
from opsdk.optimizer.updates import Adam


@in_both_forms
class Adamax(Optimizer):
    """Kingma & Ba (2015): Adam with the greatest gradient there was in place of the root of their mean square.

    Args:
        learning_rate: size of a step.
        beta1: decay of the moment, in [0, 1).
        beta2: decay of the greatest gradient, in [0, 1).
        epsilon: added to that.
        parameters: see `Optimizer`.
        weight_decay: an L2 coefficient.
        grad_clip: see `Optimizer`.
        name: without meaning.
        as_torch: adds epsilon to the gradient's size instead, as PyTorch does.

    Raises:
        AttributeValueError: a beta outside of [0, 1).
    """

    op = adaptive.adamax
    slots: Sequence[Slot] = (Slot("moment"), Slot("inf_norm"), Slot("beta1_pow", 1.0, True))
    fractions = ("beta1", "beta2")

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        *,
        as_torch: bool = False,
    ) -> None:
        self._made = {**self._made, "beta1": float(beta1), "beta2": float(beta2), "epsilon": float(epsilon)}
        self._made |= {"as_torch": True} if as_torch else {}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)


@in_both_forms
class RAdam(Adamax):
    """Liu et al. (2020): Adam that goes without the second moment while it says too little.

    The arguments are those of `Adamax`.
    """

    op = adaptive.radam
    slots = (Slot("moment1"), Slot("moment2"), Slot("steps", 0.0, True))


@in_both_forms
class NAdam(Adamax):
    """Dozat (2016): Adam with Nesterov's momentum.

    Args:
        learning_rate: size of a step.
        beta1: decay of the first moment, in [0, 1).
        beta2: decay of the second moment, in [0, 1).
        epsilon: added to the root of the second moment, > 0.
        momentum_decay: how fast the momentum grows to beta1.
        parameters: see `Optimizer`.
        weight_decay: an L2 coefficient.
        grad_clip: see `Optimizer`.
        name: without meaning.

    Raises:
        AttributeValueError: a beta outside of [0, 1).
    """

    op = adaptive.nadam
    slots = (Slot("moment1"), Slot("moment2"), Slot("steps", 0.0, True), Slot("mu_product", 1.0, True))

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        momentum_decay: float = 0.004,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._made = {"momentum_decay": float(momentum_decay)}
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, weight_decay, grad_clip, name)


@in_both_forms
class Adadelta(Optimizer):
    """Zeiler (2012): steps as long as those before, over the root of the mean square of gradients.

    Args:
        learning_rate: factor on a step.
        epsilon: added to both mean squares, > 0.
        rho: their decay, in [0, 1).
        parameters: see `Optimizer`.
        weight_decay: an L2 coefficient.
        grad_clip: see `Optimizer`.
        name: without meaning.

    Raises:
        AttributeValueError: rho outside of [0, 1).
    """

    op = adaptive.adadelta
    slots = (Slot("avg_squared_grad"), Slot("avg_squared_update"))
    fractions = ("rho",)

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        epsilon: float = 1e-06,
        rho: float = 0.95,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        self._made = {"rho": float(rho), "epsilon": float(epsilon)}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)


@in_both_forms
class Rprop(Optimizer):
    """Riedmiller & Braun (1993): goes by the signs of gradients alone, for whole sets of data rather than batches.

    Args:
        learning_rate: size of the first step of every element.
        learning_rate_range: the least and the greatest size.
        parameters: see `Optimizer`.
        etas: by how much a size shrinks when its gradient changes sign, in (0, 1), and grows when it does not, > 1.
        grad_clip: see `Optimizer`.
        name: without meaning.

    Raises:
        AttributeValueError: sizes or factors that are none.
    """

    op = adaptive.rprop

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        learning_rate_range: tuple[float, float] = (1e-5, 50.0),
        parameters: Any = None,
        etas: tuple[float, float] = (0.5, 1.2),
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        (least, greatest), (shrinks, grows) = learning_rate_range, etas
        if not (0 < least <= greatest and 0 < shrinks < 1 < grows):
            raise AttributeValueError(
                "optimizer Rprop: expected 0 < least ≤ greatest of learning_rate_range and etas below and above 1, got "
                f"{learning_rate_range!r} and {etas!r}"
            )
        if any("lr" in entry for entry in as_groups(parameters, "optimizer Rprop") or ()):
            raise AttributeValueError(
                "optimizer Rprop: lr expected of all parameters alike, the first size, got a group's"
            )
        self._made = {"least": float(least), "greatest": float(greatest)}
        self._made |= {"eta_negative": float(shrinks), "eta_positive": float(grows)}
        first = learning_rate() if isinstance(learning_rate, LRScheduler) else learning_rate
        self.slots = (Slot("previous"), Slot("step_size", float(first)))
        super().__init__(learning_rate, parameters, None, grad_clip, name)


class Lamb(Adam):
    """You et al. (2020): Adam's step with decay, as long as the parameter is, for large batches.

    Args:
        learning_rate: size of a step, in lengths of the parameter.
        lamb_weight_decay: λ, of all parameters.
        beta1: decay of the first moment, in [0, 1).
        beta2: decay of the second moment, in [0, 1).
        epsilon: added to the root of the second moment, > 0.
        parameters: see `Optimizer`.
        grad_clip: see `Optimizer`.
        exclude_from_weight_decay_fn: whether λ leaves a parameter out, of the parameter; none where it is None.
        always_adapt: whether a step without decay is as long as the parameter too.
        name: without meaning.
    """

    op = adaptive.lamb

    # Any: see `Optimizer`.
    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-06,
        parameters: Any = None,
        grad_clip: Any = None,
        exclude_from_weight_decay_fn: Callable[[Any], bool] | None = None,
        always_adapt: bool = False,
        name: str | None = None,
    ) -> None:
        self._is_left_out, self._always = exclude_from_weight_decay_fn, bool(always_adapt)
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, lamb_weight_decay, grad_clip, name)

    def decay_of(self, param: Any) -> float:
        """Returns the coefficient of what the gradient gets: none; λ draws the parameter itself."""
        return 0.0

    def _update_attrs(self, param: Any) -> dict[str, Any]:
        is_left_out = self._is_left_out is not None and self._is_left_out(param)
        decay = 0.0 if is_left_out else self._group_decay(param)
        return {**super()._update_attrs(param), "decay": decay, "always_adapt": self._always}

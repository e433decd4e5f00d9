"""Application: a gradient rule, applied to one call of its op; what a gradient op takes, and whose its results are.

Every runtime applies rules by it, so that all send, leave out and refuse the same. Its values are those of whoever
applies it: arrays, tensors that record, variables of a Program, or numbers of slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from opsdk.backends.call.unbroadcast import check_count
from opsdk.core.errors import DerivativeOrderError, GradientMissingError
from opsdk.define.opdef import GradRule, OpDef


# Any, in this file: one entry per input or output, a value, a list of values where it is a list, or None.
class Application:
    """A gradient rule, applied to one call.

    Args:
        forward: the op that was called.
        rule: its rule.
        attrs: those of the call.
        cotangents: per output what arrived, None where nothing did.
        targets: per input what tells where its gradient goes, None where the gradient is unneeded or the input absent.
    """

    __slots__ = ("attrs", "cotangents", "forward", "rule", "targets")

    def __init__(
        self,
        forward: OpDef,
        rule: GradRule,
        attrs: Mapping[str, Any],
        cotangents: Sequence[Any],
        targets: Sequence[Any],
    ) -> None:
        self.forward = forward
        self.rule = rule
        self.attrs = attrs
        self.cotangents = cotangents
        self.targets = targets

    @property
    def arrived(self) -> tuple[bool, ...]:
        """Per output whether its cotangent has arrived, of a list any."""
        return tuple([_is_there(value) for value in self.cotangents])

    @property
    def needed(self) -> tuple[bool, ...]:
        """Per input whether its gradient is needed, of a list any."""
        return tuple([_is_there(value) for value in self.targets])

    def leave_unreached(self, is_end: Callable[[Any], bool]) -> bool:
        """Takes the targets that no cotangent which has arrived reaches as unneeded: their gradient is undefined.

        Args:
            is_end: whether a target is where the pass ends; it is sent zeros.

        Returns:
            Whether any target is left.
        """
        if self.rule.reaching is None:
            return True
        reached = self.rule.is_reached(self.attrs, self.arrived)

        def kept(target: Any) -> Any:
            return target if target is not None and is_end(target) else None

        self.targets = [
            target if reached.get(i, True) else [kept(one) for one in target] if _is_list(target) else kept(target)
            for i, target in enumerate(self.targets)
        ]
        return any(self.needed)

    def op_inputs(self, saved: Iterable[Any], zeros: Callable[[int, int], Any]) -> list[Any]:
        """Returns the tensor inputs of the gradient op.

        Args:
            saved: those that are inputs and outputs of the call, in order.
            zeros: makes the cotangent of an output that nobody used, of its position and, in a list, its number.
        """
        values = iter(saved)
        inputs: list[Any] = []
        for source in self.rule.sources:
            if source.kind != "cotangent":
                inputs.append(next(values))
                continue
            value = self.cotangents[source.position]
            if value is None and self.rule.materialize:
                value = zeros(source.position, 0)
            elif value.__class__ is list:  # a list has an array in each place, whatever the rule says
                value = [zeros(source.position, i) if item is None else item for i, item in enumerate(value)]
            inputs.append(value)
        return inputs

    def op_attrs(self) -> dict[str, Any]:
        """Returns the attributes of the gradient op: those of the call, what is needed, and what has arrived."""
        rule = self.rule
        attrs = {name: self.attrs[name] for name in rule.attrs if name in self.attrs}
        if rule.mask is not None:
            attrs[rule.mask] = self.needed
        if rule.given is not None:
            attrs[rule.given] = self.arrived
        return attrs

    def passed(self) -> list[Any]:
        """Returns per gradient the cotangent that it is, unchanged; None where it has to be computed."""
        return [None if output is None else self.cotangents[output] for output in self.rule.passes]

    def uncomputed(self) -> tuple[bool, ...]:
        """Returns per input whether the gradient op has to compute its gradient: it is needed, and not passed."""
        left = {i for i, value in zip(self.rule.wrt, self.passed(), strict=True) if value is None}
        return tuple([needed and i in left for i, needed in enumerate(self.needed)])

    def gradients(self, compute: Callable[[dict[str, Any]], Any]) -> Sequence[Any]:
        """Returns the gradients in the order of the rule: cotangents where they are that, the others computed.

        Args:
            compute: runs the gradient op with attributes.
        """
        rule = self.rule
        if not rule.passes:
            made = compute(self.op_attrs())
            return made if len(rule.wrt) > 1 else (made,)
        passed, missing = self.passed(), self.uncomputed()
        if True not in missing:
            return passed
        attrs = self.op_attrs()
        if rule.mask is not None:
            attrs[rule.mask] = missing
        made = compute(attrs)
        made = made if len(rule.wrt) > 1 else (made,)
        return [value if one is None else one for value, one in zip(made, passed, strict=True)]

    def route(self, gradients: Sequence[Any], hold: Callable[[int, Any, Any], Any]) -> list[Any]:
        """Returns per input its gradient; None where that is unneeded.

        Args:
            gradients: as `gradients` gives them.
            hold: holds a gradient to what it is of; it takes the position of the input, the target and the gradient.

        Raises:
            ArityError: a list did not get one gradient per tensor; or what `hold` raises.
        """
        given = dict(zip(self.rule.wrt, gradients, strict=True))
        routed: list[Any] = []
        for position, target in enumerate(self.targets):
            value = given.get(position)
            if target.__class__ is list:
                values = [None] * len(target) if value is None else value
                check_count(self.forward, position, len(target), values)
                pairs = zip(target, values, strict=True)
                is_of = position in given
                routed.append([hold(position, one, item) if is_of and one is not None else None for one, item in pairs])
            else:
                routed.append(hold(position, target, value) if target is not None and position in given else None)
        return routed


def _is_list(value: Any) -> bool:
    return value.__class__ is list


def _is_there(value: Any) -> bool:
    """Whether an entry has a value, of a list any."""
    if value.__class__ is not list:
        return value is not None
    for item in value:  # noqa: SIM110 - a loop, since this is on the way of every step of a backward
        if item is not None:
            return True
    return False


def missing_gradient(opdef: OpDef, at: str, help: str = "", remedy: str = "") -> GradientMissingError:
    """Returns the error of a gradient that is asked of an op without a backward.

    Args:
        opdef: the op.
        at: where it was used.
        help: what to write.
        remedy: what to do where a backward cannot be written.
    """
    if opdef.refusal:
        return GradientMissingError(opdef.refusal, at=at, defined=str(opdef.origin))
    name = opdef.schema.inputs[opdef.differentiable_inputs()[0]].name
    remedy = remedy or f'write @{opdef.schema.name}.backward or declare nondifferentiable=("{name}",)'
    return GradientMissingError(
        f"{opdef.subject}: no backward, and {name} needs a gradient; {remedy}",
        at=at,
        defined=str(opdef.origin),
        help=help,
    )


def opaque_gradient(gradient: OpDef, at: str, help: str, remedy: str = "give it a backward") -> DerivativeOrderError:
    """Returns the error of a second derivative through a gradient op that is code which cannot be seen into."""
    return DerivativeOrderError(
        f"{gradient.subject}: a derivative of it was asked for, but it is NumPy code that opsdk cannot see into; "
        f"{remedy}",
        at=at,
        defined=str(gradient.origin),
        help=help,
    )

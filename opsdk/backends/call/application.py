"""Application: a gradient rule, applied to one call of its op; what a gradient op takes, and whose its results are.

Every runtime applies rules by it, so that all send, leave out, unbroadcast and refuse the same. Its values are those of
whoever applies it: arrays, tensors that record, variables of a Program, or numbers of slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import ArityError, DerivativeOrderError, DTypeError, GradientMissingError, ShapeError
from opsdk.define.opdef import GradRule, OpDef


# Any, in this file: one entry per input or output, a value, a list of values where it is a list, or None.
@dataclass(slots=True, eq=False)
class Application:
    """A gradient rule, applied to one call.

    Args:
        forward: the op that was called.
        rule: its rule.
        attrs: those of the call.
        cotangents: per output what arrived, None where nothing did.
        targets: per input what tells where its gradient goes, None where the gradient is unneeded or the input absent.
    """

    forward: OpDef
    rule: GradRule
    attrs: Mapping[str, Any]
    cotangents: Sequence[Any]
    targets: Sequence[Any]

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
            if target.__class__ is list:
                return [kept(one) for one in target]
            return target if target is not None and is_end(target) else None

        self.targets = [target if reached.get(i, True) else kept(target) for i, target in enumerate(self.targets)]
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
            unread = len(self.forward.schema.inputs) + len(self.forward.unread) - len(self.targets)
            attrs[rule.mask] = (*self.needed, *[False] * unread) if self.forward.unread else self.needed
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
                if len(values) != len(target):
                    name = self.forward.schema.inputs[position].name
                    raise ArityError(
                        f"{self.forward.subject}, gradient of {name!r}: expected a list of {len(target)}, one per "
                        f"tensor, got {len(values)}"
                    )
                pairs = zip(target, values, strict=True)
                is_of = position in given
                routed.append([hold(position, one, item) if is_of and one is not None else None for one, item in pairs])
            else:
                routed.append(hold(position, target, value) if target is not None and position in given else None)
        return routed

    # Any: the gradient is an array, or a tensor where the backward is itself recorded.
    def unbroadcast(
        self, position: int, value: Any, shape: Sequence[int], dtype: np.dtype[Any], sum_to: Callable[..., Any]
    ) -> Any:
        """Returns the gradient of input `position`, summed to `shape` and cast to `dtype` where that was broadcast.

        Of a real input beside complex ones it is the real part.

        Raises:
            ArityError: None where a gradient is expected, or a gradient of an input that was declared disconnected.
            ShapeError, DTypeError: the gradient is not of its input's shape or dtype.
        """
        rule, names = self.rule, self.forward.schema.input_names
        name = names[position] if position < len(names) else self.forward.unread[position - len(names)]
        if value is None:
            if position not in rule.disconnected:
                raise ArityError(none_given(self.forward, rule, name), at=str(rule.op.opdef.origin))
            return None
        if position in rule.disconnected:
            raise ArityError(
                f"{self.forward.subject}, gradient of {name!r}: expected None, since it was declared disconnected, got "
                f"an array of shape {tuple(value.shape)}; take it out of disconnected=",
                at=str(rule.op.opdef.origin),
            )
        array = getattr(value, "_array", value)
        if array.dtype.kind == "c" and dtype.kind != "c" and rule.complex is True:
            part = value.real  # the real part is what a real input beside complex ones does to the loss
            value = part() if callable(part) else part.copy()  # of tensors it is an op
            array = getattr(value, "_array", value)
        if array.shape != shape:
            if not rule.reduces:
                raise self._shape_error(name, array.shape, tuple(shape))
            value = sum_to(value, shape)
            array = getattr(value, "_array", value)
        if array.dtype != dtype and rule.reduces and is_differentiable(array.dtype) and is_differentiable(dtype):
            value = value.astype(dtype)  # where shapes are broadcast, dtypes are promoted; both are undone
            array = getattr(value, "_array", value)
        if array.dtype != dtype:
            raise DTypeError(
                f"{self.forward.subject}, gradient of {name!r}: expected {dtype} like {name}, got {array.dtype}; cast "
                f"it with .astype({str(dtype)!r})",
                at=str(rule.op.opdef.origin),
            )
        return value

    def _shape_error(self, name: str, got: tuple[int, ...], want: tuple[int, ...]) -> ShapeError:
        lead = len(got) - len(want)
        pairs = list(zip(got[max(lead, 0) :], want, strict=False))
        remedy = ""
        if lead >= 0 and all(have == size or size == 1 for have, size in pairs):
            axes = [*range(lead), *(lead + i for i, (have, size) in enumerate(pairs) if have != size)]
            remedy = f"; sum it over ax{'is' if len(axes) == 1 else 'es'} {' and '.join(map(str, axes))}"
        declare = f"opsdk.sum_to(gradient, {want}); or declare infer=opsdk.infer.broadcast and opsdk sums"
        return ShapeError(
            f"{self.forward.subject}, gradient of {name!r}: expected {want} like {name}, got {got}{remedy}",
            at=str(self.rule.op.opdef.origin),
            help=declare if remedy else "",
            details={"expected": want, "got": got},
        )


def none_given(forward: OpDef, rule: GradRule, name: str) -> str:
    """Returns what is said where a backward gave None for an input that was not declared disconnected."""
    alone = len(rule.wrt) == 1  # then None is all that came back
    return (
        f"{forward.subject}, gradient of {name!r}: expected an array, "
        f"got {'nothing; is a `return` missing? If' if alone else 'None; if'} nothing depends on {name}, "
        f'declare it: @{forward.schema.name}.backward(disconnected=("{name}",))'
    )


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
    """Returns the error of a second derivative through a gradient op that is code which cannot be seen into.

    Nor can it be seen how a residual depends on inputs.
    """
    because = "it is NumPy code that opsdk cannot see into"
    if gradient.moving:
        names = ", ".join(map(repr, gradient.moving))
        because = f"it reads the residual {names}, and opsdk cannot see how that depends on the inputs"
        remedy = f"make {names} an output, or {remedy}, which returns the gradient of each input, read or not"
    return DerivativeOrderError(
        f"{gradient.subject}: a derivative of it was asked for, but {because}; {remedy}",
        at=at,
        defined=str(gradient.origin),
        help=help,
    )

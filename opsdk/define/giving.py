"""Giving: what an op is given after its definition, who may give it, and until when.

A backward and an infer rule decide what graphs compute, so they belong to the definition, which a graph that holds it
ends. Whatever was given from one file is not replaced from another without a word that it is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as dataclass_replace
from typing import Any

from opsdk.core.errors import BindingError, DefinitionError
from opsdk.core.origin import origin_of, registrar
from opsdk.core.suggest import alternatives
from opsdk.define.identity.digest import digest_of, text_of
from opsdk.define.identity.sameness import holds_same, is_one
from opsdk.define.infer import Assumed, InferFunction, InferRule, like
from opsdk.define.kernel.kernel import PlanCache
from opsdk.define.opdef import Gift, GradRule, OpDef, Usage, derived
from opsdk.define.schema.schema import OpSchema

# Any, in this file: rules and functions of any signature.


def renewed(opdef: OpDef, **changes: Any) -> OpDef:
    """Returns a new definition that differs in `changes`; it starts without call plans and without users."""
    fields = {**changes, "plans": PlanCache(), "usage": Usage()}
    return dataclass_replace(opdef, **fields)


def with_gift(opdef: OpDef, name: str, value: Any, kept: Any, *, replace: bool) -> OpDef:
    """Returns the definition of an op that is given something, in another's place where it had one.

    Args:
        opdef: the op.
        name: what it is given: `infer`, `check`, `samples` or `bench`.
        value: the function.
        kept: what is made of it, or the function itself.
        replace: takes the place of what another file gave, and of the rule of an op that graphs hold.

    Raises:
        DefinitionError: another file gave another one, or a graph holds the op and has to know its infer rule.
    """
    origin, owner = opdef.origin, opdef.owner
    if not opdef.is_builtin or hasattr(value, "__code__"):
        owner = registrar(origin := origin_of(value))

    def digest(value: Any) -> str:
        return digest_of(value) if opdef.defined_as else ""  # none of opsdk's own: hardly any is asked for

    new = Gift(name, origin, owner, digest(kept if name == "infer" else value))
    held = next((gift for gift in opdef.given if gift.name == name), None)
    if held is None and name == "infer" and not isinstance(opdef.infer, Assumed):
        held = Gift(name, opdef.origin, opdef.owner, digest(opdef.infer))
    is_same = held is not None and new.digest != "" and held.digest == new.digest
    if not replace and not is_same:
        if held is not None and held.owner != new.owner:
            raise DefinitionError(
                f"{opdef.subject}, {name}: has one from {held.origin}, got another from {origin}; "
                "pass replace=True to replace it",
                details={"contested": opdef.name},
            )
        if name == "infer" and opdef.usage.in_graph:
            raise DefinitionError(
                f"{opdef.subject}: expected its infer rule before its first use in a graph, got it after; run the "
                "definition of the op again, or pass replace=True, graphs that exist keep what they have"
            )
    others = [gift for gift in opdef.given if gift.name != name]
    gifts = opdef.given if is_same and held in opdef.given else (*others, new)
    kernels = opdef.kernels.continued() if name in ("infer", "check") else opdef.kernels
    return renewed(opdef, given=gifts, kernels=kernels, **{name: kept})


def held_gradient(forward: OpDef, rule: GradRule) -> GradRule | None:
    """Returns the rule that stays, where an op has the same backward already.

    Raises:
        DefinitionError: the op has another backward from elsewhere, or is used in a graph already.
    """
    held, opdef = forward.grad, rule.op.opdef
    if held is None:
        if forward.usage.in_graph:
            raise DefinitionError(
                f"{forward.subject}: expected its backward before its first use in a graph, got it after; define "
                "it earlier or pass replace=True, graphs that exist keep the op without a backward"
            )
        return None
    before = held.op.opdef
    is_same = held.conditions == rule.conditions and before.is_same(opdef)
    same = holds_same if before.owner != opdef.owner else is_one
    if is_same and same(before.function, opdef.function):
        return held
    if before.owner != opdef.owner:
        raise DefinitionError(
            f"{forward.subject}: has a backward from {before.origin}, got another from {opdef.origin}; "
            "pass replace=True to replace it",
            details={"contested": forward.name},
        )
    if forward.usage.in_graph and not is_same:
        raise DefinitionError(
            f"{forward.subject}: has a backward from {before.origin} and is used in a graph already, got another "
            f"from {opdef.origin}; run the definition of the op again, or pass replace=True"
        )
    return None  # a cell or file that runs again


def gives_another(opdef: OpDef, backward: Callable[..., Any], composite: bool) -> bool:
    """Whether an op was given a backward, by the file that gives it now, that is not this one."""
    if not isinstance(opdef.rule, GradRule) or derived(opdef.rule):
        return False
    held = opdef.rule.op.opdef
    if held.owner != registrar(origin_of(backward)):
        return False
    return held.is_of_ops != composite or held.function_as != digest_of(text_of(backward))


def as_infer(rule: Callable[..., Any] | InferRule, schema: OpSchema) -> InferRule:
    """Returns an infer rule from a stock rule, its class, or a user's function.

    Raises:
        BindingError: the rule names an input or attribute that the op does not have.
        DefinitionError: it is no rule.
    """
    subject = f"{schema.subject}, infer"
    if not callable(rule):
        stock = f"opsdk.infer.{rule}" if rule in ("like", "broadcast", "reduce") else "opsdk.infer.broadcast"
        raise DefinitionError(f"{subject}: expected a rule or a function of specs, got {rule!r}; write infer={stock}")
    if isinstance(rule, type):
        rule = rule()  # `infer=opsdk.infer.like` without the brackets
    inputs = schema.input_names
    if isinstance(rule, like) and rule.name is not None and rule.name not in inputs:
        there = alternatives(rule.name, inputs)
        raise BindingError(f"{subject}: like({rule.name!r}) names no input; there are {there}")
    if hasattr(rule, "reduces_gradients"):
        return rule
    return InferFunction(rule, schema)

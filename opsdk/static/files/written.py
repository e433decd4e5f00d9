"""A Program as a text for people and for `reading`: variables and operators, a line each, in JSON.

An op stands there by name and version, a gradient op by the name that its op gave it: who reads needs the packages that
provide them, which a file names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from opsdk.core.errors import ProgramError
from opsdk.define.op import PROVIDERS, REGISTRY
from opsdk.define.opdef import BUILTIN, OpDef
from opsdk.define.schema.attr_type import AttrType
from opsdk.define.schema.attribute import AttrDecl
from opsdk.define.schema.scalars import SPEC
from opsdk.static.build.frontend import guard_of
from opsdk.static.control.body import Body
from opsdk.static.files import values
from opsdk.static.ir.block import Block
from opsdk.static.ir.operator import FORWARD, PY_FUNC, Operator
from opsdk.static.ir.program import Program
from opsdk.static.ir.variable import Parameter, Variable

VERSION = 1
KEY = "opsdk.program"
_WIDTH = 110  # of a line that holds a whole container
FLAGS = {"records": True, "repeats": False}  # of an Operator, and what they are unless a line says so

# Any, in this file: what JSON has.


def text_of(programs: Mapping[str, dict[str, Any]], packages: Mapping[str, str]) -> str:
    """Returns the text of several Programs, each as `described` gives it, with who provides their ops by namespace."""
    document = {KEY: VERSION, "packages": dict(packages), "programs": dict(programs)}
    return _pretty(document, "") + "\n"


def _pretty(node: Any, indent: str) -> str:
    whole = json.dumps(node, allow_nan=False, ensure_ascii=False)
    if len(whole) + len(indent) <= _WIDTH or not isinstance(node, (dict, list)) or len(indent) >= 4:
        return whole
    more = indent + " "
    if isinstance(node, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_pretty(value, more)}" for key, value in node.items()]
        return "{\n" + ",\n".join(more + part for part in parts) + "\n" + indent + "}"
    return "[\n" + ",\n".join(more + _pretty(value, more) for value in node) + "\n" + indent + "]"


def described(program: Program, subject: str) -> dict[str, Any]:
    """Returns what stands in a file for a Program; values of persistable variables are not in it.

    Raises:
        ProgramError: an operator is a py_func, or of an op that other processes do not find by its name; or holds code.
    """
    with program.lock:
        block = _block(program.global_block(), subject)
    return {**({"random_seed": program.random_seed} if program.random_seed else {}), **block}


def _block(block: Block, subject: str) -> dict[str, Any]:
    calls: list[Operator] = []  # of composites that were told to train, which stand behind the operators
    for operator in block.ops:
        if operator.part_of is not None and not any(operator.part_of is one for one in calls):
            calls.append(operator.part_of)
    made: dict[str, Any] = {
        "variables": [_variable(variable, subject) for variable in block.vars.values()],
        "operators": [_operator(operator, calls, subject) for operator in block.ops],
    }
    return {**made, "calls": [_operator(call, [], subject) for call in calls]} if calls else made


def _variable(variable: Variable, subject: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": variable.name, **values.spec(variable.spec)}
    if isinstance(variable, Parameter):
        rate = variable.optimize_attr["learning_rate"]
        decay = getattr(variable.regularizer, "coeff", variable.regularizer)
        if decay is not None and not isinstance(decay, (int, float)):
            raise ProgramError(
                f"{subject}: parameter {variable.name!r} expected a regularizer that is a number or a decay with "
                f"coeff, got {type(variable.regularizer).__name__}; give it to the optimizer instead"
            )
        made["parameter"] = [rate, decay, variable.need_clip]
    elif variable.persistable:
        made["persistable"] = True
    if variable.is_data:
        made["data"] = True
    if variable.value is not None:
        made["constant"] = values.array(variable.value)
    if variable.stop_gradient:
        made["stop_gradient"] = True
    return {**made, "cut": True} if variable.is_cut else made


def _operator(operator: Operator, calls: list[Operator], subject: str) -> dict[str, Any]:
    opdef = operator.opdef
    made: dict[str, Any] = _named(opdef, operator, subject)
    made["in"] = {slot: names for slot, names in operator.inputs.items() if names}
    made["out"] = {slot: names for slot, names in operator.outputs.items() if names}
    decls = {decl.name: decl for decl in opdef.schema.attrs}
    try:
        attrs = {
            name: _body(value, subject)
            if isinstance(value, Body)
            else values.attribute(value, decls.get(name, asked(name)))
            for name, value in operator.attrs.items()
        }
    except ProgramError as error:
        raise ProgramError(f"{subject}: operator {operator.type!r}: {error}", at=str(operator.origin)) from None
    made |= {"attrs": attrs} if attrs else {}
    made |= {"role": operator.role} if operator.role != FORWARD else {}
    made |= {flag: getattr(operator, flag) for flag, usual in FLAGS.items() if getattr(operator, flag) != usual}
    for name in ("of", "residuals", "guards", "freed"):
        made |= {name: getattr(operator, name)} if getattr(operator, name) else {}
    if operator.specs:
        made["specs"] = {name: [kind, names] for name, (kind, names) in operator.specs.items()}
    if operator.forward is not None:
        made["gradient_of"] = _named(operator.forward, operator, subject)["op"]
    if operator.part_of is not None:
        made["part_of"] = next(i for i, call in enumerate(calls) if call is operator.part_of)
    return {**made, "at": str(operator.origin)}


def _body(body: Body, subject: str) -> dict[str, Any]:
    """Returns what stands for the body of a branch or loop: a Program, with what goes in and comes out."""
    return {"inputs": list(body.inputs), "outputs": list(body.outputs), **described(body.program, subject)}


def asked(name: str) -> AttrDecl:
    """Returns the declaration of a spec that a gradient op may be given, beside its attributes."""
    return AttrDecl(name, AttrType(SPEC))


def _named(opdef: OpDef, operator: Operator, subject: str) -> dict[str, Any]:
    """Returns the name by which another process finds a definition.

    Raises:
        ProgramError: none does: it is a callable, or another definition has its name.
    """
    at = str(operator.origin)
    if opdef.schema.namespace == PY_FUNC:
        raise ProgramError(
            f"{subject}: operator 'py_func' of {opdef.schema.name!r} expected a registered op, which is found by its "
            "name where the file is loaded, got a callable, and a file holds no code; define it with @opsdk.op and "
            "call that",
            at=at,
        )
    held = REGISTRY.held(opdef.name)
    if held is not None and (held.opdef.kernels is opdef.kernels or held.opdef.is_same(opdef)):
        return {"op": opdef.schema.identity}
    guarded = REGISTRY.held(opdef.name.removesuffix("_check"))
    if guarded is not None and guarded.opdef.is_composite and guard_of(guarded.opdef) is opdef:
        return {"op": guarded.opdef.schema.identity, "check": True}
    raise ProgramError(
        f"{subject}: operator {operator.type!r} expected an op that is found by its name {opdef.name!r} where the file "
        "is loaded, got a definition that lost it to another one; build the Program anew with the op as it is now",
        at=at,
    )


def packages_of(program: Program) -> dict[str, str]:
    """Returns who provides the ops of a Program, by namespace: a package and its version, or the module."""
    found: dict[str, str] = {}
    for operator in (operator for block in program.blocks for operator in block.ops):  # those of bodies too
        namespace = operator.opdef.schema.namespace
        if namespace not in (BUILTIN, PY_FUNC) and namespace not in found:
            module = operator.opdef.origin.module
            owner = PROVIDERS.owner(module)
            found[namespace] = module if owner is None else str(owner)
    return found

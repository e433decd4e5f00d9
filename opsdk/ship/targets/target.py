"""Targets: what a user types to name ops, resolved in the same way for every command."""

from __future__ import annotations

import os
import pkgutil
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from opsdk.core.errors import TargetError, UnknownOpError
from opsdk.core.suggest import alternatives, meant
from opsdk.define.op import PROVIDERS, REGISTRY, Op, find_op
from opsdk.expr.primitives.entry import Primitive
from opsdk.expr.primitives.own import primitives
from opsdk.ship.cli.terminal import narrate
from opsdk.ship.targets.content import Content, Found
from opsdk.ship.targets.loading import is_module, load_file, load_module

_ROW = re.compile(r"^(?P<op>[^\[\]]+)\[(?P<row>[^\]]*)\](?:::(?P<check>.+))?$")
_CHECK = re.compile(r"^(?P<op>.+)::(?P<check>[a-z_]+(?:[.][^:]*)|vjp)$")
_FORMS = "relu.py, relu.py:relu, module:op, package, namespace::name, name, or a finding's id"


@dataclass(frozen=True)
class Selection:
    """What a target names: ops, and where it is a finding's id the one kernel and check of it.

    Args:
        text: the target as typed.
        ops: forward ops, in the order of their definition's lines.
        home: the file or module that the ops were loaded from; empty where they were registered already.
        row: `place,dtype,language` of a finding's id, or empty.
        check: the check of a finding's id, such as `vjp.x`, or empty.
        primitives: those of users, each as the op that it is alone.
        shared: names without a namespace that fit several ops there.
    """

    text: str
    ops: tuple[Op, ...]
    home: str = ""
    row: str = ""
    check: str = ""
    primitives: tuple[Op, ...] = ()
    shared: frozenset[str] = frozenset()

    @property
    def shown(self) -> tuple[Op, ...]:
        """The ops; where there are none the primitives, which only `opsdk check` looks at beside ops."""
        return self.ops or self.primitives

    def paste(self, name: str) -> str:
        """Returns what names an op of this selection in a new process: `relu.py:relu` where a file defines it."""
        bare = name.rpartition("::")[2]
        return f"{self.home}:{name if bare in self.shared else bare}" if self.home else name


def resolve(text: str) -> Selection:
    """Returns what a target names.

    Args:
        text: `relu.py`, `relu.py:relu`, `module:op`, `package`, `namespace::name`, `name`, or a finding's id.

    Raises:
        TargetError: there is no such file, module or op; the message says what was tried.
        BrokenDefinitionError: the file or module raises while it is loaded.
    """
    row = check = ""
    name = text
    found = _ROW.match(text) or _CHECK.match(text)
    if found:
        parts = found.groupdict()
        name, row, check = parts["op"], parts.get("row") or "", parts.get("check") or ""
    head, separator, tail = _split(name)
    is_file = head.endswith(".py") or os.sep in head
    shared: frozenset[str] = frozenset()
    if is_file or separator:
        content = _of_file(head, name) if is_file else _of_module(head, name)
        shared = content.shared
        ops, primitives = content.named(tail) if separator else (in_order(content.ops), content.primitives)
    else:
        ops, primitives = _registered_or_package(name)
    if not (ops or primitives):
        narrate(f"{text}: no op is defined there; an op is a function under @opsdk.op")
    return Selection(text, tuple(ops), head if separator or is_file else "", row, check, _alone(primitives), shared)


def _alone(primitives: Sequence[Primitive]) -> tuple[Op, ...]:
    """Returns primitives, each as the op that it is alone."""
    if not primitives:
        return ()
    from opsdk.verify.kernels.primitives import op_of_primitive  # which loads all that judges, and few name primitives

    return tuple(map(op_of_primitive, primitives))


def resolve_one(text: str) -> Op:
    """Returns the one op that a target names; gradient ops may be named too, and primitives, as the op each is alone.

    Raises:
        TargetError: the target names no op, or several.
    """
    ops = resolve(text).shown
    if len(ops) != 1:
        names = ", ".join(op.opdef.name for op in ops) or "none"
        raise TargetError(f"{text}: expected one op, got {len(ops)} ({names}); name one of them as {text}:NAME")
    return ops[0]


def _of_file(file: str, text: str) -> Content:
    path = Path(file)
    if path.is_dir():
        files = ", ".join(sorted(str(each) for each in path.glob("*.py"))) or "none in it"
        raise TargetError(
            f"{text}: expected a file, got a folder; name its files ({files}), or a package by its import name"
        )
    if not path.is_file():
        raise TargetError(f"{text}: expected a file at {file}, there is none; a target is one of {_FORMS}")
    module = load_file(path)
    is_package = path.name == "__init__.py" and hasattr(module, "__path__")
    return _of_package(module, file) if is_package else Content.of_file(module, file, path.resolve())


def _split(name: str) -> tuple[str, str, str]:
    """Cuts `file:op` and `module:op` at the colon; `namespace::name` and a drive letter are left whole."""
    file, found, tail = name.partition(".py:")
    if found or name.endswith(".py"):
        return (f"{file}.py", ":", tail.lstrip(":")) if found else (name, "", "")
    found_at = re.search(r"(?<!:):(?!:)", name)
    return (name, "", "") if found_at is None else (name[: found_at.start()], ":", name[found_at.end() :])


def _of_module(name: str, text: str) -> Content:
    try:
        return Content.of_module(load_module(name), name)
    except ModuleNotFoundError as error:
        raise TargetError(
            f"{text}: expected a module {name!r} that can be imported from here, there is none; "
            f"a target is one of {_FORMS}"
        ) from error


def _of_package(module: ModuleType, where: str) -> Content:
    """Returns the content of a package; one that imports none of its ops itself has its modules imported."""
    content = Content.of_module(module, where)
    if content.ops:
        return content
    for entry in pkgutil.walk_packages(getattr(module, "__path__", []), f"{module.__name__}."):
        if not entry.name.rpartition(".")[2].startswith("_"):
            load_module(entry.name)
    return Content.of_module(module, where)


def _registered_or_package(name: str) -> Found:
    op = _found(name, REGISTRY.held)
    own = [each for each in primitives() if name in (each.full_name, each.function)]
    if op is not None:
        if Path(f"{name}.py").is_file():
            narrate(f"{name} is the op {op.opdef.name} here; meant {name}.py? Name the file with its ending")
        return [op], [each for each in own if each.full_name == op.opdef.name]
    if len(own) == 1:
        return [], own
    if "::" not in name and is_module(name):
        content = _of_package(load_module(name), name)
        return in_order(content.ops), content.primitives
    op = _found(name, find_op)
    if op is None:
        bare = name.rpartition("::")[2]
        names = {full.rpartition("::")[2] for full in REGISTRY.names()}
        near = meant(bare, names)
        failures = PROVIDERS.failures()
        raise TargetError(
            f"{name}: no such op, file or module; {near}{'Tried' if near else 'tried'} a registered op, a module to "
            f"import and the installed providers{f', of which did not load: {failures}' if failures else ''}; "
            f"registered: {alternatives(bare, names)}",
            help=f"a target is one of {_FORMS}",
        )
    return [op], []


def _found(name: str, find: Callable[[str], Op | None]) -> Op | None:
    try:
        return find(name)
    except UnknownOpError as error:
        if error.details:  # what is there is told: other ops of that name, or another version
            raise TargetError(str(error)) from error
        return None


def in_order(ops: list[Op]) -> list[Op]:
    """Returns the forward ops among some, in the order of their lines."""
    forward = [op for op in ops if op.opdef.gradient_of is None]
    return sorted(forward, key=lambda op: (op.opdef.origin.file, op.opdef.origin.line))

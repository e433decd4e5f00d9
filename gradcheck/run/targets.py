"""Targets: what a user types to name cases, as `file.py`, `file.py:name`, `module` or `module:name`."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from gradcheck.case import AnyCase, case_of, is_case
from gradcheck.errors import UsageError
from gradcheck.report import Report
from gradcheck.run.supervised import LOADING, doing


def find_cases(target: str) -> dict[str, AnyCase]:
    """Gives the cases that a target names, by the target that names each alone, in the order of their definition.

    Args:
        target: a file or module, of which all cases at module level are meant, or one with `:name` behind it. A name
            may also be that of any object with forward, vjp and inputs, or of a list, tuple or dict of cases.

    Raises:
        UsageError: there is no such file, module or name, it does not load, or the name is that of no case.
    """
    home, wanted = _split(target)
    module = _load(home)
    found = dict(_cases_in(module))
    if not wanted:
        return {f"{home}:{name}": case for name, case in found.items()}
    chosen = {name: case for name, case in found.items() if name == wanted or name.startswith(f"{wanted}[")}
    if not chosen:
        if not hasattr(module, wanted):
            known = ", ".join(found) or "none"
            raise UsageError(f"{target}: expected a case of {home}, got {wanted!r}; it has {known}")
        chosen = {wanted: case_of(getattr(module, wanted), target)}
    return {f"{home}:{name}": case for name, case in chosen.items()}


def check_named(target: str, name: str, changed: Mapping[str, Any]) -> Report:
    """Judges one case in a worker, which loads the file or module once.

    Args:
        target: as typed.
        name: one of the names that `find_cases` gives for it.
        changed: options of `check` that come before the case's own.
    """
    return _remembered(target)[name].check(**changed)


_remembered = functools.cache(find_cases)


def _split(target: str) -> tuple[str, str]:
    """Cuts at the colon; a drive letter, and the colon inside a name in brackets, are left whole."""
    if target.endswith(".py"):
        return target, ""
    file, found, name = target.partition(".py:")
    if found:
        return f"{file}.py", name
    home, _, name = target.partition(":")
    return home, name


def _cases_in(module: ModuleType) -> Iterator[tuple[str, AnyCase]]:
    seen: set[int] = set()
    for name, value in list(vars(module).items()):
        for label, case in _cases_of(name, value):
            if id(case) not in seen:  # a second name for the same case
                seen.add(id(case))
                yield label, case


def _cases_of(name: str, value: object) -> Iterator[tuple[str, AnyCase]]:
    if is_case(value):
        yield name, value
    elif isinstance(value, (list, tuple, dict)):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        yield from ((f"{name}[{key}]", case) for key, case in entries if is_case(case))


def _load(home: str) -> ModuleType:
    """Imports a module, or runs a file as a module of its name.

    Raises:
        UsageError: there is none, or it raises.
    """
    is_file = home.endswith(".py")
    is_path = home.startswith(".") or any(mark in home for mark in "/\\")
    if not is_file and (not home or is_path or Path(home).is_file()):
        what = "an empty name" if not home else "another file" if Path(home).is_file() else "a path without .py"
        raise UsageError(
            f"{home!r}: expected a Python file or a module, got {what}; write file.py, file.py:name or module:name"
        )
    if is_file and not Path(home).is_file():
        raise UsageError(f"{home}: expected a file, there is none; a target is file.py, file.py:name or module:name")
    doing(f"{LOADING}{home}")
    try:
        return _run(Path(home).resolve()) if is_file else _import(home)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{home}.".startswith(f"{missing}.") and not is_file:  # it, or a package around it
            raise UsageError(
                f"{home}: expected a module that can be imported from here, there is none; a file ends in .py"
            ) from error
        raise UsageError(
            f"{home}: expected a file or module that loads, got {type(error).__name__}: {error}{_place(error)}"
        ) from error
    finally:
        doing("")


def _import(name: str) -> ModuleType:
    _prepend(Path.cwd())
    importlib.invalidate_caches()
    return importlib.import_module(name)


def _run(file: Path) -> ModuleType:
    _prepend(file.parent)  # as Python does for a script
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    known = sys.modules.get(file.stem)
    if known is None or getattr(known, "__file__", None) == str(file):  # dataclasses look their module up there
        sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def _prepend(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _place(error: BaseException) -> str:
    """Says at which of the user's lines it was raised."""
    if isinstance(error, SyntaxError):
        return ""  # its text says so
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<frozen")]
    users = [
        f for f in frames if Path(f.filename).parent not in (Path(__file__).parent, Path(importlib.__file__).parent)
    ]
    return f" ({users[-1].filename}:{users[-1].lineno})" if users else ""

"""Loading a user's file or module, with errors that speak of the user's lines only."""

from __future__ import annotations

import importlib
import importlib.util
import linecache
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from opsdk.core.errors import OpsdkError, noted
from opsdk.core.origin import PACKAGE_ROOT, shorten

# Called with the name of what is loaded, and with nothing after it: who supervises this process says where it ended.
watchers: list[Callable[[str], None]] = []

_HEAD = re.compile(r"\s*(async\s+def|def|class)\s")


class BrokenDefinitionError(OpsdkError, ImportError, code="OP511"):
    """A file or module that defines ops raised while it was loaded."""


def load_file(path: Path) -> ModuleType:
    """Loads a Python file, and returns the module that it is.

    A file of a package is imported as the module that it is, so that its relative imports and sources have their
    package. A loose one is run as a module named after its stem; one that was loaded before defines its ops again,
    which changes nothing.

    Raises:
        BrokenDefinitionError: the file does not parse, or raises.
    """
    path = path.resolve()
    root, name = _module_of(path)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))  # as Python does for a script, so that the file's neighbours can be imported
    return _watched(lambda: _import(name, path) if "." in name else _run(path), shorten(str(path)))


def _module_of(path: Path) -> tuple[Path, str]:
    """Returns the folder that a file is imported from, and its name there: dotted where it lies in a package."""
    root, names = path.parent, [path.stem]
    while (root / "__init__.py").is_file() and root.name.isidentifier():
        names.insert(0, root.name)
        root = root.parent
    return root, ".".join(names)


def load_module(name: str) -> ModuleType:
    """Imports a module, and returns it.

    Raises:
        BrokenDefinitionError: the module raises.
        ModuleNotFoundError: there is no such module.
    """
    if not is_module(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return _watched(lambda: importlib.import_module(name), name)


def is_module(name: str) -> bool:
    """Whether a module of that name can be imported; the current folder counts, as it does for `python -m`."""
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()  # the file may be younger than what the import machinery remembers of its folder
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _watched(load: Callable[[], ModuleType], subject: str) -> ModuleType:
    """Returns what `load` gives, and tells who supervises this process what it is doing meanwhile.

    Raises:
        BrokenDefinitionError: `load` raised.
    """
    for tell in watchers:
        tell(subject)
    try:
        return load()
    except (Exception, SystemExit) as error:
        raise broken(error, subject) from error
    finally:
        for tell in watchers:
            tell("")


def broken(error: Exception | SystemExit, subject: str) -> BrokenDefinitionError:
    """Returns the error of a definition that cannot be loaded: what was raised, and at which of the user's lines.

    What opsdk itself refuses keeps its code, so that `opsdk explain` tells about it, and its notes.
    """
    reason = error.msg if isinstance(error, SyntaxError) else str(error)
    got = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
    code = error.code if isinstance(error, OpsdkError) else None
    return BrokenDefinitionError(
        f"{subject}: expected a file or module that loads, got {got}{_remedy(error)}",
        code=code,
        at=noted(error, "at") or _place(error, subject),
        defined=noted(error, "defined"),
        because=noted(error, "because"),
        help=noted(error, "help"),
    )


def _remedy(error: BaseException) -> str:
    """Returns what to do about an error that is none of opsdk's, whose own say it."""
    if isinstance(error, OpsdkError):
        return ""
    if isinstance(error, ModuleNotFoundError):
        return "; install it, or mend its name"
    if isinstance(error, SystemExit):
        return '; what only a script does belongs under if __name__ == "__main__"'
    return "; mend that line" if isinstance(error, SyntaxError) else "; mend that line, or what leads there"


def _place(error: BaseException, subject: str) -> str:
    """Returns the user's line that an error is about, and what stands there."""
    if isinstance(error, SyntaxError):
        return _shown(error.filename or subject, error.lineno, error.text or "")
    # The last frame outside of opsdk and of Python's import machinery.
    machinery = ("importlib/__init__.py", "importlib\\__init__.py")
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.endswith(machinery)]
    users = [f for f in frames if not f.filename.startswith((PACKAGE_ROOT, "<frozen"))]
    if not users:
        return ""
    frame = users[-1]
    line = frame.lineno or 1
    if isinstance(error, OpsdkError) and not str(error).startswith("schema "):  # that one stands in the decorator
        line = _decorated(frame.filename, line)
    return _shown(frame.filename, line, linecache.getline(frame.filename, line))


def _shown(file: str, line: int | None, source: str) -> str:
    place = f"{shorten(file)}:{line}"
    return f"{place} | {source.strip()}" if source.strip() else place


def _decorated(file: str, line: int) -> int:
    """Returns the line of the function or class whose decorator begins at a line; else the line itself."""
    lines = linecache.getlines(file)
    if not lines[line - 1 : line] or not lines[line - 1].lstrip().startswith("@"):
        return line
    below = (n for n, text in enumerate(lines[line:], start=line + 1) if _HEAD.match(text))
    return next(below, line)


def _import(name: str, path: Path) -> ModuleType:
    module = importlib.import_module(name.removesuffix(".__init__"))
    if getattr(module, "__file__", None) != str(path):  # another package of that name was there before
        return _run(path)
    return module


def _run(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    known = sys.modules.get(path.stem)
    if known is None or getattr(known, "__file__", None) == str(path):
        sys.modules[path.stem] = module  # dataclasses and compilers look a definition's module up there
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[path.stem]
            raise
    else:  # a file called like a module that is already there must not take its place
        spec.loader.exec_module(module)
    return module

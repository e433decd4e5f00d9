"""Modules imported on first use: optional packages, with a remedy where they are missing, and slow ones."""

from __future__ import annotations

import importlib
from types import ModuleType

from opsdk.core.errors import MissingDependencyError


def optional(module: str, *, extra: str = "", subject: str) -> ModuleType:
    """Imports an optional package.

    Args:
        module: dotted name to import.
        extra: the extra of opsdk that installs it; empty where it is installed by its own name.
        subject: who needs it, for the message.

    Raises:
        MissingDependencyError: the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        wanted = f'"opsdk[{extra}]"' if extra else package
        raise MissingDependencyError(
            f"{subject} needs {package}, which cannot be imported ({error}): pip install {wanted}"
        ) from error


def slow(module: str) -> ModuleType:
    """Returns a module that is always installed, but that few runs need and whose import costs milliseconds."""
    return importlib.import_module(module)

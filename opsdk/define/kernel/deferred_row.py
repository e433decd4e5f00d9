"""Deferred rows: kernels given as `module:function`, whose module is imported when the row is first chosen."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from typing import Any

from opsdk.core.errors import BindingError, DefinitionError, MissingDependencyError, OpsdkError
from opsdk.core.origin import Origin, caller, origin_of, registrar
from opsdk.core.suggest import alternatives
from opsdk.define.giving import add_kernel
from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.define.kernel.notation import Notation
from opsdk.define.opdef import OpDef
from opsdk.define.schema.binding import check_names, name_of, parameters_of


def add_deferred_row(
    opdef: OpDef,
    key: KernelKey,
    notation: Notation,
    source: object,
    function: Callable[..., Any] | None,
    options: Mapping[str, Any],
    *,
    replace: bool = False,
) -> Callable[[Any], Any]:
    """Adds a row whose function lies in a module that is not imported yet; returns what refuses to decorate another.

    Raises:
        DefinitionError: the source names no function of a module, or there is a function as well, or an option is none
            of such a row.
        BindingError: a launch function asks for something that the op does not have.
    """
    subject = f"{opdef.subject}, {notation.name} kernel"

    def refuse(function: Any) -> Any:
        raise DefinitionError(f"{subject}: expected a function or source=, got {name_of(function)} and {source!r}")

    if function is not None:
        refuse(function)
    origin = caller()
    module, name = _split(source, origin, subject)
    held = notation.options(options, opdef.schema, subject)
    owner = registrar(origin)

    def load() -> Kernel:
        found = _imported(module, name, f"{subject} {module}:{name}", origin)
        parameters = checked_parameters(opdef, found, subject, held)
        return Kernel(key, notation.name, found, origin_of(found), parameters, held, None, owner, notation.reads(found))

    row = Kernel(key, notation.name, f"{module}:{name}", origin, (), held, load, owner)
    add_kernel(opdef, row, replace=replace)
    return refuse


# Any: a kernel has any signature; only the names of its parameters matter here.
def checked_parameters(
    opdef: OpDef, function: Callable[..., Any], subject: str, options: Mapping[str, Any]
) -> tuple[str, ...]:
    """Returns the names of a kernel's parameters, in order.

    Raises:
        BindingError: one is no input, output or attribute of the op, and no scratch of the row; or a scratch is no
            parameter.
    """
    names = parameters_of(function)
    schema = opdef.schema
    known = (*schema.input_names, *schema.output_names, *schema.attr_names, *options.get("scratch", ()))
    check_names(function, names, known, subject)
    for scratch in options.get("scratch", ()):
        if scratch not in names:
            raise BindingError(
                f"{subject} {name_of(function)}: scratch {scratch!r} expected a parameter of that name, got "
                f"{', '.join(names) or 'none'}; take it, or leave the scratch out"
            )
    return names


def _split(source: object, origin: Origin, subject: str) -> tuple[str, str]:
    """Returns module and name of a source; a module with a dot in front is beside the one that speaks of it."""
    module, colon, name = source.partition(":") if isinstance(source, str) else ("", "", "")
    parts = module.lstrip(".").split(".")
    if not colon or not name.isidentifier() or not all(part.isidentifier() for part in parts):
        raise DefinitionError(
            f"{subject}: source expected 'module:function', such as '.rows:forward', got {source!r}; "
            "write @op.kernel(...) above a function of this module"
        )
    if not module.startswith("."):
        return module, name
    package = getattr(sys.modules.get(origin.module), "__package__", None)
    if not package:
        raise DefinitionError(
            f"{subject}: source {source!r} expected a package around the module {origin.module!r}, got none; "
            "name the module in full"
        )
    return importlib.util.resolve_name(module, package), name


# Any: the kernel.
def _imported(module: str, name: str, subject: str, origin: Origin) -> Any:
    try:
        there = importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"{subject}: the module cannot be imported ({error}); install what it needs", at=str(origin)
        ) from error
    except OpsdkError:
        raise
    except Exception as error:
        raise DefinitionError(
            f"{subject}: the module expected to be importable, raised {type(error).__name__}: {error}", at=str(origin)
        ) from error
    found = getattr(there, name, None)
    if not callable(found):
        got = "nothing of that name" if found is None else f"{type(found).__name__}"
        names = [key for key, value in vars(there).items() if callable(value) and not key.startswith("_")]
        raise BindingError(
            f"{subject}: expected a function, got {got}; there are {alternatives(name, names)}", at=str(origin)
        )
    return found

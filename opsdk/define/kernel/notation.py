"""Notations: how the kernels of a language are written, which is all that a definition knows of the language.

An author gives an op a kernel as a function, as the name of one that is imported when it is first chosen, or as a text.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opsdk.core.errors import BindingError, DefinitionError, MissingDependencyError, NameClashError, OpsdkError
from opsdk.core.origin import Origin, caller, origin_of, registrar
from opsdk.core.suggest import alternatives
from opsdk.define.identity.digest import digest_of
from opsdk.define.identity.referents import unread
from opsdk.define.identity.sameness import Reads, holds_same
from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.define.kernel.launch import DEVICE_OPTIONS
from opsdk.define.kernel.sizes import SIZE_OPTIONS, size_parameter
from opsdk.define.opdef import Handle, OpDef
from opsdk.define.schema.binding import name_of, parameters_among
from opsdk.define.schema.scalars import OBJECT, SPEC
from opsdk.define.schema.schema import OpSchema, TensorDecl

# Any, in this file: a kernel has any signature, and the caller of `kernel` may write anything.


class Notation:
    """How kernels of one language are written; the backends' `Language` adds how they run.

    Attributes:
        name: what `op.kernel(language=)` calls the language, and what reports show.
        places: the kinds of place that it has kernels for.
        form: of the sources that it reads: empty for functions and texts, else `Kernel.form`.
        takes_text: whether a source is a text or the name of a file, and no Python function.
        fills: whether a kernel gives new arrays as the infer rule has them: if it is a text, parameters that it fills.
        counts: whether a kernel writes how many it filled of open sizes to an array, where others return it.
        freezes: whether compiled code keeps what a function read from outside when it was registered.
        takes_callables: whether it has kernels of ops that have callables among their attributes.
        takes_holes: whether it has kernels of ops that have lists with holes among their inputs or outputs.
        reads_python: whether a launch runs the author's Python, so that read-only views can guard the inputs.
        flags: options that are True or False; `options` says what others there are.
    """

    name: str
    places: tuple[str, ...] = ("cpu",)
    form: str = ""
    takes_text: bool = False
    fills: bool = False
    counts: bool = False
    freezes: bool = False
    takes_callables: bool = False
    takes_holes: bool = False
    reads_python: bool = False
    flags: tuple[str, ...] = ()

    def options(self, given: Mapping[str, Any], schema: OpSchema, subject: str) -> Mapping[str, Any]:
        """Returns the options of a kernel as the language wants to find them.

        Raises:
            DefinitionError: there is no such option, or it is no truth value.
        """
        for name, what in DEVICE_OPTIONS.items():
            if name in given:
                places = " or ".join(map(repr, self.places))
                raise DefinitionError(f"{subject}: {what} is for kernels of place 'cuda', got one for {places}")
        for name, value in given.items():
            if name not in self.flags or not isinstance(value, bool):
                known = f"options {' and '.join(self.flags)}, each True or False" if self.flags else "no options"
                raise DefinitionError(f"{subject}: expected {known}, got {name}={value!r}")
        return dict(given)

    def reads(self, function: Callable[..., Any]) -> Reads:
        """Returns what a function reads from outside, where that has to be as it was when the kernel is compiled."""
        return Reads(function) if self.freezes else Reads()

    def text(
        self, source: str, given: Mapping[str, Any], opdef: OpDef, origin: Origin
    ) -> tuple[str, Mapping[str, Any]]:
        """Returns source and options of a kernel that is a text, or the name of a file; it compiles nothing.

        Args:
            source: what the caller of `kernel` wrote.
            given: the options that he gave.
            opdef: the op.
            origin: the place of that call, beside which files are looked for.

        Raises:
            DefinitionError: an option is none, or there is no such file.
        """
        return source, self.options(given, opdef.schema, f"{opdef.subject}, {self.name} kernel")

    def give(
        self,
        op: Handle,
        keys: Sequence[KernelKey],
        function: Callable[..., Any] | None,
        source: object,
        options: Mapping[str, Any],
        *,
        replace: bool = False,
    ) -> Callable[[Any], Any]:
        """Adds a kernel for each key, as `Op.kernel` has it; returns what decorates its function, or refuses another.

        All or nothing: kernels are added once there is one for every key.

        Raises:
            DefinitionError: the language does not read what was given: a function, or nothing, in place of a text; a
                function beside a source, or a source that names none; an option that there is not.
            BindingError: the kernel or its launch asks for something that the op does not have.
            NameClashError: another file registered another kernel of that place, dtype and language.
        """
        opdef = op.opdef.whole  # a kernel makes what nobody but a backward sees, too
        subject = f"{opdef.subject}, {self.name} kernel"
        self._check_given(opdef, subject)

        def register(function: Any) -> Any:
            held = self.options(options, opdef.schema, subject)
            owner = registrar(origin_of(function))
            _add(opdef, [self._of_function(opdef, key, function, held, owner) for key in keys], replace=replace)
            return function

        def refuse(function: Any) -> Any:
            if self.takes_text:
                got = f"the Python function {name_of(function)}; call kernel(...) by itself"
                raise DefinitionError(f"{self._expected_text(opdef)} {got}")
            raise DefinitionError(f"{subject}: expected a function or source=, got {name_of(function)} and {source!r}")

        returned = register if source is None and not self.takes_text else refuse
        if function is not None:
            returned(function)
        if returned is refuse:
            make = self._of_text if self.takes_text else self._deferred
            _add(opdef, [make(opdef, key, source, options) for key in keys], replace=replace)
        return returned

    def _check_given(self, opdef: OpDef, subject: str) -> None:
        """Checks that compiled code can take, and make, what runtimes give a gradient op and keep for it.

        Raises:
            DefinitionError: a residual is an object of Python, an attribute a callable that the language does not call,
                or a list has holes that it cannot say; or as of `_check_specs`.
        """
        schema = opdef.schema
        self._check_specs(opdef, schema.attr_names if self.takes_text else (), subject)
        every: tuple[TensorDecl, ...] = (*schema.inputs, *schema.outputs)
        with_holes = next((decl for decl in every if decl.holes), None)
        if with_holes is not None and not (self.reads_python or self.takes_holes):
            raise DefinitionError(
                f"{subject}: expected lists without holes, since it compiles a list for arrays alone, got "
                f"{with_holes.type} {with_holes.name}; write the kernel in C, where a hole is NULL, or leave this op "
                "to its Python kernels"
            )
        if schema.callables and not self.takes_callables:
            raise DefinitionError(
                f"{subject}: expected attributes that the language has values for, got the callable "
                f"{schema.callables[0]!r}; write the kernel in Numba, which calls what it compiled, or in Python"
            )
        makes = next((decl.name for decl in schema.outputs if decl.kind == OBJECT), None)
        takes = next((decl.name for decl in schema.attrs if decl.type.scalar == OBJECT), None)
        if not self.reads_python and (makes or takes):
            raise DefinitionError(
                f"{subject}: expected residuals that are arrays, since compiled code cannot "
                f"{'make' if makes else 'read'} an object of Python, got object {makes or takes}; declare its parts as "
                "Tensor residuals, or leave this op to its Python kernels"
            )

    def _check_specs(self, opdef: OpDef, names: Sequence[str], subject: str) -> None:
        """Checks that compiled code, which takes some attributes by name, takes no spec that it cannot be given.

        Raises:
            DefinitionError: one is that of a list, or for a device.
        """
        lists = getattr(opdef.infer, "lists", ())
        for decl in opdef.schema.attrs:
            is_taken = decl.type.scalar == SPEC and decl.name in names and not self.reads_python
            if is_taken and (decl.name in lists or "cuda" in self.places):
                what = "kernels of place 'cuda' see the shape in the gradient that they fill"
                what = "a list has several" if decl.name in lists else what
                raise DefinitionError(
                    f"{subject}: expected to be given arrays, numbers and the specs of single tensors, got "
                    f"{decl.name}; {what}: name the input itself, or leave this op to its Python kernels"
                )

    def _expected_text(self, opdef: OpDef) -> str:
        return f"{opdef.subject}: language {self.name!r} expected source=, a file or its text, got"

    def _of_text(self, opdef: OpDef, key: KernelKey, source: object, options: Mapping[str, Any]) -> Kernel:
        """Returns a kernel in a language that is not Python."""
        if not isinstance(source, (str, os.PathLike)):
            raise DefinitionError(f"{self._expected_text(opdef)} {'nothing' if source is None else repr(source)}")
        origin = caller()
        text, held = self.text(os.fspath(source), options, opdef, origin)
        schema = opdef.schema
        filled = [schema.output_names[i] for i in schema.fresh_outputs] if self.fills else []
        names = (*schema.input_names, *filled, *schema.attr_names)
        return Kernel(key, self.name, text, origin, names, held, owner=registrar(origin))

    def _deferred(self, opdef: OpDef, key: KernelKey, source: object, options: Mapping[str, Any]) -> Kernel:
        """Returns a kernel whose function lies in a module that is not imported yet."""
        subject = f"{opdef.subject}, {self.name} kernel"
        origin = caller()
        module, name = _split(source, origin, subject)
        held = self.options(options, opdef.schema, subject)
        owner = registrar(origin)

        def load() -> Kernel:
            found = _imported(module, name, f"{subject} {module}:{name}", origin)
            return self._of_function(opdef, key, found, held, owner)

        return Kernel(key, self.name, f"{module}:{name}", origin, (), held, load, owner)

    def _of_function(
        self, opdef: OpDef, key: KernelKey, function: Any, options: Mapping[str, Any], owner: str
    ) -> Kernel:
        """Returns a kernel of a Python function.

        Raises:
            BindingError: a parameter is no input, output or attribute of the op, and no scratch of the kernel; a
                scratch is no parameter; or some of the outputs are parameters, and others not.
            DefinitionError: sizes are decided for outputs that the kernel does not take, or it does not take, or never
                names, what it has to write to how many it filled.
        """
        subject = f"{opdef.subject}, {self.name} kernel"
        schema = opdef.schema
        known = (*schema.input_names, *schema.output_names, *schema.attr_names, *options.get("scratch", ()))
        counts = size_parameter(known) if self.counts and any(option in options for option in SIZE_OPTIONS) else None
        names = parameters_among(function, known if counts is None else (*known, counts), subject)
        self._check_specs(opdef, names, subject)
        makes = [schema.output_names[i] for i in schema.fresh_outputs]
        rest = [name for name in makes if name not in names]
        if 0 < len(rest) < len(makes):
            raise BindingError(
                f"{subject} {name_of(function)}: expected a parameter for every output and residual, which the kernel "
                f"fills, or for none, got none for {', '.join(map(repr, rest))}; take all of {', '.join(makes)}"
            )
        for scratch in options.get("scratch", ()):
            if scratch not in names:
                raise BindingError(
                    f"{subject} {name_of(function)}: scratch {scratch!r} expected a parameter of that name, got "
                    f"{', '.join(names) or 'none'}; take it, or leave the scratch out"
                )
        for option in SIZE_OPTIONS:
            if option in options and not any(name in names for name in schema.output_names):
                raise DefinitionError(
                    f"{subject} {name_of(function)}: {option}= expected parameters for the outputs, which the kernel "
                    f"fills, got {', '.join(names) or 'none'}; take {', '.join(schema.output_names)} and return how "
                    f"many it filled, or leave {option}= out and return the arrays"
                )
            if option in options and counts is not None and counts not in names:
                raise DefinitionError(
                    f"{subject} {name_of(function)}: {option}= expected a parameter {counts!r}, to which the kernel "
                    f"writes how many it filled, got {', '.join(names)}; take it, and write {counts}[0] = filled"
                )
            code = getattr(getattr(function, "py_func", function), "__code__", None)
            if option in options and code is not None and counts in unread(code):
                raise DefinitionError(
                    f"{subject} {name_of(function)}: {option}= expected a kernel that writes to {counts!r} how many it "
                    f"filled, got one that never names it, so that nothing counts as filled; write {counts}[0] = filled"
                )
        return Kernel(key, self.name, function, origin_of(function), names, options, None, owner, self.reads(function))


LANGUAGES: dict[tuple[str, str, str], Notation] = {}  # by name, kind of place and form; backends enter theirs


def notation_of(opdef: OpDef, place: str, language: str) -> Notation:
    """Returns how a language writes the kernels that authors give it for a place.

    Raises:
        DefinitionError: there is no such language for the place.
    """
    found = LANGUAGES.get((language, place, ""))
    if found is None:
        known = sorted((name, here) for name, here, form in LANGUAGES if not form)
        raise DefinitionError(
            f"{opdef.subject}: kernel expected a place and language that exist here, got ({place!r}, {language!r}); "
            f"there are {', '.join(f'({here!r}, {name!r})' for name, here in known)}"
        )
    return found


def _add(opdef: OpDef, kernels: Sequence[Kernel], *, replace: bool) -> None:
    """Adds kernels; one of the same place, dtype and language has an owner, who alone replaces it.

    Another kernel from the same file gets one line on standard error, as a definition does.

    Raises:
        NameClashError: another file registered another kernel of that place, dtype and language.
    """
    pairs = [(kernel, next((row for row in opdef.kernels if row.slot == kernel.slot), None)) for kernel in kernels]
    added = [(kernel, held) for kernel, held in pairs if held is None or _gives_way(opdef, held, kernel, replace)]
    for kernel, held in added:
        opdef.kernels.add(kernel)
        if held is not None and _code_of(held) != _code_of(kernel) and not replace:
            sys.stderr.write(f"{opdef.name}, kernel {kernel} redefined ({kernel.origin} over {held.origin})\n")


def _gives_way(opdef: OpDef, held: Kernel, kernel: Kernel, replace: bool) -> bool:
    """Whether a kernel takes the place of the one that is there; False where both are the same.

    Raises:
        NameClashError: the one that is there belongs to another file.
    """
    if held.owner == kernel.owner or replace or _is_gone(held):
        return True
    if _digest(held) == _digest(kernel) and holds_same(held.source, kernel.source):
        return False
    raise NameClashError(
        f"{opdef.subject}: has a kernel {held} from {held.origin}, got another from {kernel.origin}; "
        "pass replace=True to replace it",
        details={"contested": opdef.name, "registered": str(held.origin), "got": str(kernel.origin)},
    )


def _digest(kernel: Kernel) -> str:
    """Returns a digest of what a kernel computes, and how."""
    options = {name: kernel.options[name] for name in sorted(kernel.options)}
    return digest_of(_code_of(kernel), list(kernel.parameters), options)


def _code_of(kernel: Kernel) -> str:
    source = kernel.source
    return digest_of(_content(source) if isinstance(source, str) and kernel.load is None else source)


def _is_gone(kernel: Kernel) -> bool:
    """Whether a kernel's source was a file, and is not there any more."""
    is_file = isinstance(kernel.source, str) and kernel.load is None and not any(c in kernel.source for c in "\n{;")
    return is_file and not os.path.isfile(str(kernel.source))  # noqa: PTH113 - without pathlib


def _content(source: str) -> str:
    """Returns the text of a file, or a text that is none."""
    try:
        with open(source, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - without pathlib
            return file.read()
    except (OSError, ValueError):
        return source


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

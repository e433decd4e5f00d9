"""Languages: all that opsdk knows of what kernels are written in, one object for each, found by a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from opsdk.backends.call.lines import Spot, traced
from opsdk.core.errors import KernelNotFoundError, NameClashError
from opsdk.core.lazy import optional, slow
from opsdk.core.random import Draw, Generator
from opsdk.core.spec import TensorSpec
from opsdk.define.call import interpreted
from opsdk.define.frontend import over_arrays
from opsdk.define.kernel.kernel import COMPOSITE, REFERENCE, Kernel
from opsdk.define.kernel.notation import LANGUAGES, Notation
from opsdk.define.opdef import OpDef
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.scalar import ScalarFunction

# Takes one array per tensor input by position, attributes by keyword; returns what the kernel's source returns.
# Any: arrays, lists of arrays for variadic inputs, None for absent ones; attribute values.
Launch = Callable[..., Any]


@dataclass(frozen=True)
class NativeEntry:
    """A C function of a compiled kernel.

    Attributes:
        address: where it is, for as long as the process lives.
        prototype: its declaration in C.
        kind: what its arguments mean: `elements`, `rows` or `call`, or `dltensors` for the function of a C kernel.
        row: the kernel that it is of, as text.
        pointers: name and dtype of what each of `pointers` points to: inputs, then outputs.
        attrs: names of what `attrs` holds, in order; all other attributes are frozen into the code.
        keep: what has to live as long as the address is used.
    """

    address: int
    prototype: str
    kind: str
    row: str
    pointers: tuple[tuple[str, str], ...]
    attrs: tuple[str, ...]
    keep: object


@dataclass(frozen=True)
class Fault:
    """What a watched run of a kernel found.

    Attributes:
        call: the number of the call.
        kind: `bounds`, an access beside memory; `undefined`, what C does not define; `race`, of two threads.
        message: what happened.
        at: file and line; empty where they are not known.
    """

    call: int
    kind: str
    message: str
    at: str = ""


class NotWatchedError(Exception):
    """A kernel cannot be watched, for a reason that its text has; it is no fault of the kernel."""


class Language(Notation):
    """How kernels of one language run; a language is an object of a class of these, registered once.

    What is here serves a language whose launches take and return arrays, as a Python function does, and stay inside
    of them. Each language says where it is another.

    Attributes:
        is_derived: whether opsdk makes the kernels of an expression: no author's code runs, all kernels compute in one
            dtype, and where a package is missing the reference serves.
        changes_inputs: whether a kernel is code of an author's, which could change its inputs.
        stays_inside: whether an index that is wrong raises; `verify` tries a kernel of any other language first.
        may_crash: whether a kernel may end the process, so that `opsdk check` runs it in another.
        is_by_dtype: whether a kernel has a function of its own for each dtype.
        has_entry: whether there are C functions that `opsdk.native` can give.
        module: where `launch_of` is, imported when the first kernel is compiled; empty where `compile` is overridden.
        manner: how a kernel runs, in the words of `opsdk explain`; empty where its name says it.
        packages: what it needs beside opsdk; looked up, imported when the first kernel is compiled.
        extra: the extra of opsdk that installs them; empty where they are installed by their names.
    """

    is_derived: bool = False
    changes_inputs: bool = True
    stays_inside: bool = True
    may_crash: bool = False
    is_by_dtype: bool = False
    has_entry: bool = False
    module: str = ""
    manner: str = ""
    packages: tuple[str, ...] = ()
    extra: str = ""

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Returns the callable of a kernel; compilation itself may wait until the first launch."""
        if not self.module:
            raise NotImplementedError(
                f"language {type(self).__name__}: expected a module that has launch_of, or a compile of its own, "
                "got neither"
            )
        return slow(self.module).launch_of(opdef, kernel)

    def can_call(self, functions: Sequence[Callable[..., Any]]) -> bool:
        """Whether a kernel of the language can call these, where it `takes_callables`."""
        return True

    def can_build(self, kernel: Kernel) -> bool:
        """Whether a kernel can be had here, of those whose author let the op's other kernels serve where it cannot."""
        return True

    def lacking(self, opdef: OpDef, kernel: Kernel, dtypes: Sequence[np.dtype[Any]]) -> str:
        """Returns why a call with tensors of these dtypes will fail, as far as is known without compiling anything."""
        return ""

    def dtypes(self, opdef: OpDef, kernel: Kernel) -> tuple[np.dtype[Any], ...]:
        """Returns the dtypes that a kernel has functions for, where it has one for each.

        Raises:
            OpsdkError: the kernel does not compile.
        """
        return ()

    def launch_into(self, opdef: OpDef, kernel: Kernel, empty: Callable[..., np.ndarray]) -> Launch:
        """Returns the callable of a kernel on the CPU; what it fills is made by `empty(shape, dtype)`."""
        return self.compile(opdef, kernel)

    def sizes(self, opdef: OpDef, kernel: Kernel) -> tuple[int, ...]:
        """Returns the sizes from which a kernel that opsdk wrote does something else."""
        return ()

    def watches(self, kernel: Kernel, *, compiles: bool = True) -> tuple[str, ...]:
        """Returns what the watched run of a kernel looks for: `bounds`, `undefined`, `race`; nothing where none is."""
        return ()

    def watched(
        self,
        opdef: OpDef,
        kernel: Kernel,
        calls: Sequence[tuple[Sequence[Any], dict[str, Any]]],
        *,
        compiles: bool = True,
    ) -> Iterator[Fault]:
        """Yields what a kernel does that watches itself, at calls, each its inputs and attributes.

        Args:
            opdef: the op.
            kernel: one of it.
            calls: where it is watched.
            compiles: whether it is compiled anew for that, which takes seconds; else what is seen without.

        Raises:
            NotWatchedError: that cannot be looked at.
        """
        raise NotWatchedError(f"kernels in {self.name} do not watch themselves")

    def watched_most(self, kernel: Kernel) -> float:
        """Returns how many elements a call may have for the watched run of a kernel to look at it as a whole."""
        return math.inf

    def traced(self, kernel: Kernel) -> Kernel | None:
        """Returns a kernel as it runs where its lines are wanted; None where it does not know them."""
        return None

    def line_at(self, opdef: OpDef, kernel: Kernel, stack: Sequence[int]) -> str:
        """Returns file and line of the code of a traced kernel in a stack of addresses, innermost first; or nothing."""
        return ""

    # Any: one entry per input or output, an array, a list of arrays or None; attribute values.
    def trial(
        self, opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any], fill: int
    ) -> list[Any] | None:
        """Runs a kernel as something that raises where it leaves its arrays; None where that is not possible.

        Args:
            opdef: the op.
            kernel: the kernel.
            inputs: copies, which may be changed.
            attrs: all attributes.
            fill: what the outputs hold before.

        Returns:
            One entry per output that the kernel makes.

        Raises:
            IndexError: it leaves one.
        """
        return None

    # Any: one entry per input, an array, a list of arrays or None; attribute values.
    def reached(
        self, opdef: OpDef, kernel: Kernel, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]
    ) -> dict[Spot, bool] | None:
        """Returns of all code of a kernel whether a call reaches it; None where nobody can tell.

        Of code that is written it is told by file and line, of an expression by the sides of its choices. Functions
        that no call enters are not among it: the line that calls them is.

        Args:
            opdef: the op.
            kernel: the kernel.
            calls: copies of inputs, which may be changed, and all attributes; of calls that the kernel takes.

        Raises:
            OpsdkError: the lines cannot be counted here.
        """
        return None

    # Any: attribute values.
    def check_entry(self, opdef: OpDef, specs: Sequence[TensorSpec | None], attrs: Mapping[str, Any]) -> None:
        """Checks what a C function asks of a call beside its dtypes; whoever asks for one again is checked again."""

    # Any: attribute values.
    def entry(
        self, opdef: OpDef, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: dict[str, Any]
    ) -> NativeEntry:
        """Returns the C function of a kernel for a kind of call, where `has_entry` says that there is one."""
        raise NotImplementedError


class PyFunc(Language):
    """How Python runs: NumPy callables, composites run over arrays, and expressions evaluated by NumPy.

    A callable is its own launch.

    Args:
        name: of the language.
        form: of the sources; an expression is a callable too, and no code of an author's.
    """

    reads_python = True
    takes_callables = True
    flags = ("parallel", "contiguous")
    manner = "the reference"

    def __init__(self, name: str, form: str = "") -> None:
        self.name, self.form = name, form
        self.is_derived = bool(form)
        self.changes_inputs = not form and name != COMPOSITE

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Returns the author's function, itself wherever nothing but what it takes is given."""
        source = kernel.source
        assert callable(source), kernel
        if self.name == COMPOSITE and not opdef.is_builtin:  # built-in ones call nothing but ops
            source = over_arrays(source)
        if self.name == COMPOSITE and opdef.schema.callables:
            source = _interpreting(opdef, source)
        asks = [name for name, _ in getattr(opdef.infer, "asks", ()) if name not in opdef.schema.attr_names]
        generators = opdef.schema.generators
        if not asks and not generators:
            return source
        opened = Generator if self.name == COMPOSITE else Draw.numpy

        # Any: as for every launch. Python makes its own arrays: what a compiled kernel's buffers are like is left out.
        def launch(*values: Any, **attrs: Any) -> Any:
            for name in generators:
                attrs[name] = opened(attrs[name])
            return source(*values, **{name: value for name, value in attrs.items() if name not in asks})

        return launch

    def reached(
        self, opdef: OpDef, kernel: Kernel, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]
    ) -> dict[Spot, bool] | None:
        """Runs the function under a tracer of lines."""
        launch = self.compile(opdef, kernel)
        return traced(kernel.source, lambda inputs, attrs: launch(*inputs, **attrs), calls)


class Unread(Language):
    """What stands for a language that nothing here reads: a kernel of it comes from where there is one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Refuses.

        Raises:
            KernelNotFoundError: nothing here reads that language.
        """
        names = sorted({name for name, _, _ in LANGUAGES})
        raise KernelNotFoundError(
            f"{opdef.subject}: kernel {kernel} at {kernel.origin} is written in {kernel.language!r}; "
            f"languages here: {', '.join(names)}"
        )

    def lacking(self, opdef: OpDef, kernel: Kernel, dtypes: Sequence[np.dtype[Any]]) -> str:
        """Returns that nothing reads it."""
        return f"nothing here reads {self.name!r}"


def register_language(language: Language) -> None:
    """Makes a language known under its name, for its places and its form of source.

    Raises:
        NameClashError: a language of another class has that name there, in which kernels may be written already.
    """
    for place in language.places:
        there, came = (
            None if each is None else f"{type(each).__module__}.{type(each).__qualname__}"
            for each in (LANGUAGES.get((language.name, place, language.form)), language)
        )
        if there not in (None, came):
            raise NameClashError(
                f"language {language.name!r}: expected one class for kernels of place {place!r}, {there} is registered "
                f"and {came} came; give it a name of its own"
            )
    LANGUAGES.update({(language.name, place, language.form): language for place in language.places})


def language_of(kernel: Kernel) -> Language:
    """Returns the language of a kernel; one whose launches are refused where nothing here reads it."""
    found = LANGUAGES.get((kernel.language, kernel.key.place, kernel.form))
    return found if isinstance(found, Language) else Unread(kernel.language)


def compiled(opdef: OpDef, kernel: Kernel) -> Launch:
    """Returns the callable of a kernel.

    Raises:
        MissingDependencyError: a package of the language is not installed.
        KernelNotFoundError: nothing here reads the language; or what else it raises of a kernel.
    """
    language = language_of(kernel)
    check_packages(opdef, language)
    return language.compile(opdef, kernel)


def check_packages(opdef: OpDef, language: Language) -> None:
    """Checks that the packages of an author's language are there; those of derived kernels were looked up before.

    Raises:
        MissingDependencyError: one cannot be imported.
    """
    for package in () if language.is_derived else language.packages:
        optional(package, extra=language.extra, subject=f"{opdef.subject}, {language.name} kernel")


def _interpreting(opdef: OpDef, body: Launch) -> Launch:
    """Returns the body of a composite as one that is given callables which take tensors."""
    return lambda *values, **attrs: body(*values, **interpreted(opdef, attrs))


def is_usable(kernel: Kernel, functions: Sequence[Callable[..., Any]] = ()) -> bool:
    """Whether a kernel may be chosen here: a derived one only where it can be compiled, else the reference serves.

    A kernel that an author wrote is never passed over in silence: what it needs is missing with an error that says so.
    Only what it cannot call, of the functions that are attributes of the call, leaves it to the reference, and what
    its author said is to be had where it can be built.
    """
    language = language_of(kernel)
    return (
        not missing_packages(kernel) and language.can_build(kernel) and (not functions or language.can_call(functions))
    )


def missing_packages(kernel: Kernel) -> tuple[str, ...]:
    """Returns the packages that a derived kernel needs and that are not installed; none for what an author wrote."""
    language = language_of(kernel)
    return tuple(name for name in language.packages if not is_installed(name)) if language.is_derived else ()


@cache
def is_installed(package: str) -> bool:
    """Whether a package can be found; whether its import then succeeds is not tried."""
    try:
        return find_spec(package) is not None
    except ValueError:  # something stands in its place in sys.modules
        return False


register_language(PyFunc(REFERENCE))
register_language(PyFunc(COMPOSITE))
for _expression in (ScalarFunction, RowFunction):
    register_language(PyFunc(REFERENCE, _expression.kernel_form))

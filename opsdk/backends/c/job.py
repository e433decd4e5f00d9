"""A C row on its way to a library: all that decides what the library is, its checks, and the compilation."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from opsdk.backends.c import compiler as cc
from opsdk.backends.c import read as files
from opsdk.backends.c import source as sources
from opsdk.backends.c.options import COptions
from opsdk.backends.c.signature import MESSAGE, SUFFIXES, TYPES, Signature
from opsdk.backends.cache.places import is_private
from opsdk.core.errors import BindingError, OpsdkError
from opsdk.core.lazy import optional, slow
from opsdk.core.origin import shorten
from opsdk.core.suggest import alternatives
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

_INCLUDING = ("-include", "-imacros", "@")  # flags that include files, or may
OPENMP = "void omp_set_num_threads(int count)"
CHECKS = "opsdk: expected declarations"  # the file that a conflict with the schema is reported in
_CONFLICT = r"conflicting types for '(\w+)'"
_PREVIOUS = r"^(.+?):(\d+):\d+: note: previous (?:definition|declaration)"


@dataclass(frozen=True)
class Job:
    """A C row and its source as it is now; portable, where its library is for any processor of the platform."""

    opdef: OpDef
    kernel: Kernel
    options: COptions
    source: sources.CSource
    signature: Signature
    portable: bool = False

    @classmethod
    def of(cls, opdef: OpDef, kernel: Kernel) -> Job:
        """Returns the job of a row."""
        options = COptions(**kernel.options)
        return cls(opdef, kernel, options, sources.read(opdef, kernel), Signature.of(opdef.schema))

    @property
    def subject(self) -> str:
        """Who is built, for messages."""
        return f"{self.opdef.subject}, c row"

    @cached_property
    def compiler(self) -> cc.Compiler:
        """The compiler that is used."""
        return cc.find_compiler(self.subject)

    @cached_property
    def folders(self) -> list[str]:
        """The folders in which headers are looked for."""
        options = self.options
        return [*options.include_dirs, *files.folders_in(options.flags), *files.folders_of_environment()]

    @cached_property
    def text(self) -> str:
        """What is compiled, as far as the source tells: that, and the author's headers that it includes."""
        return f"{self.source.text}\0{sources.headers_of(self.source, self.folders)}"

    @cached_property
    def hides_files(self) -> bool:
        """Whether files are included that cannot be read off the source and its author's headers."""
        flags = self.options.flags
        return any(flag.startswith(_INCLUDING) for flag in flags) or sources.hides_files(self.source, self.folders)

    @property
    def looks_up(self) -> bool:
        """Whether the source, or a header of its author's, asks for the dtypes of tensors, under any name."""
        return re.search(r"\bOPSDK_IS\s*\(|(?:->|\.)\s*dtype\b", self.text) is not None

    @cached_property
    def key(self) -> str:
        """Everything that decides what the library is, but for files that the compiler alone finds."""
        schema = [self.signature.name, *self.signature.parameters]
        told = [*self.arguments, *self._last, self.compiler.identity, cc.machine(), files.environment()]
        return "\0".join([*schema, sources.HEADER.read_text(encoding="utf-8"), self.text, *told])

    @cached_property
    def whole_key(self) -> str:
        """Everything that decides what the library is.

        Raises:
            CompileError: the source cannot be preprocessed.
        """
        anew = self.hides_files or bool(self.folders) or len(self.compiler.command) > 1  # `gcc -Ifolder` is one too
        state = files.state_of_files(self.key, self.folders, lambda: self.preprocessed, anew=anew)
        return f"{self.key}\0{files.state_of_archives(self.options)}\0{self._linked}\0{state}"

    @property
    def _linked(self) -> str:
        """The state of the files that the linker takes into the library beside the source, as it tells them."""
        options = self.options
        if not options.libraries and not files.asks_linker(options.flags) and len(self.compiler.command) == 1:
            return ""
        with slow("tempfile").TemporaryDirectory() as folder:
            arguments = ["-Wl,-t", *self.arguments, "-o", f"{folder}/traced", "-", *self._last]
            told, _ = cc.run(self.compiler, arguments, "", Path(folder))
            return files.state_of_linked(told)

    @cached_property
    def preprocessed(self) -> str:
        """What the compiler sees of the source and of all that it includes.

        Raises:
            CompileError: the source cannot be preprocessed.
        """
        text, complaint = cc.run(self.compiler, [*self.arguments, "-E", "-"], self.source.unit)
        if complaint is not None:
            raise cc.failure(self.subject, complaint)
        return text

    @cached_property
    def arguments(self) -> list[str]:
        """What the compiler is given before the source."""
        options = self.options
        quoted = ["-iquote", self.source.folder] if self.source.folder else []
        has_fixed_shapes = not self.hides_files and sources.shapes_stay(self.text)
        return [
            *(*cc.FLAGS, *(() if self.portable else (cc.NATIVE,))),
            *(("-DOPSDK_SHAPES_STAY",) if has_fixed_shapes else ()),
            *("-include", str(sources.HEADER), f"-I{sources.HEADER.parent}"),
            *(*quoted, *(f"-I{folder}" for folder in options.include_dirs), *(f"-D{name}" for name in options.define)),
            *(*(("-fopenmp",) if options.openmp else ()), *(f for f in options.flags if not f.startswith("-l"))),
        ]

    @property
    def _last(self) -> list[str]:
        options = self.options
        libraries = [*(f"-l{name}" for name in options.libraries), *(f for f in options.flags if f.startswith("-l"))]
        return [*(f"-L{folder}" for folder in options.library_dirs), *libraries, *cc.LINKED]

    @cached_property
    def functions(self) -> Mapping[str, sources.Definition]:
        """The functions of this op that the source defines, by name; with `opsdk_message` where it is one of them.

        Raises:
            CompileError: the source cannot be preprocessed.
            BindingError: there is none, or one that cannot be called from outside.
        """
        found = sources.definitions(self.preprocessed, (*self.signature.symbols, "opsdk_message"))
        if not set(found) - {"opsdk_message"}:
            raise self._nothing_found()
        for name, definition in found.items():
            if definition.static:
                raise BindingError(
                    f"{self.subject}: function {name} is static, expected one that can be called from outside; "
                    "leave out the word",
                    at=shorten(self.source.file),
                )
        return found

    @property
    def declarations(self) -> list[str]:
        """The functions as the schema says that they are declared."""
        signature = self.signature
        return [
            MESSAGE if name == "opsdk_message" else signature.prototype(name, definition.returns)
            for name, definition in self.functions.items()
        ]

    @property
    def unit(self) -> str:
        """The source, and behind it the expected declarations, which make the compiler compare the two."""
        checks = "".join(f"{line};\n" for line in self.declarations)
        return f"{self.source.unit}{sources.line_directive(1, CHECKS)}{checks}"

    def interface(self) -> bytes:
        """Returns Python code that makes the cffi interface of the library, so that a later run need not parse C."""
        cffi = optional("cffi", extra="c", subject=self.subject)
        lines = [*self.declarations, *([OPENMP] if self.options.uses_openmp else [])]
        ffi = cffi.FFI()
        ffi.cdef(TYPES + "".join(f"{line};\n" for line in lines))
        ffi.set_source("opsdk_c_row", None, compiler_verbose=0)
        text = io.StringIO()
        try:
            ffi.emit_python_code(text)
        except TypeError:  # a cffi before 1.17, which writes files only
            with slow("tempfile").TemporaryDirectory(prefix="opsdk-") as folder:
                path = Path(folder, "interface.py")
                ffi.emit_python_code(str(path))
                return path.read_bytes()
        return text.getvalue().encode()

    def build(self, path: Path) -> None:
        """Compiles the library to a path.

        Raises:
            CompileError: the source does not compile.
            BindingError: a function does not have the type that the schema says.
            OSError: there is no room for the library, or for what the compiler writes on its way.
        """
        scratch = path.parent if is_private(path.parent) else None
        _, complaint = cc.run(self.compiler, [*self.arguments, "-o", str(path), "-", *self._last], self.unit, scratch)
        if complaint is not None:
            cc.expect_room(complaint, path)
            raise self._refusal(complaint)

    def _refusal(self, complaint: cc.Complaint) -> OpsdkError:
        """Returns the error of a source that does not compile; of one that is at odds with the schema, in its words."""
        conflict = re.search(_CONFLICT, complaint.text)
        if conflict is None or complaint.file != CHECKS:
            return cc.failure(self.subject, complaint)
        definition = self.functions[conflict[1]]
        expected = MESSAGE if conflict[1] == "opsdk_message" else self.signature.prototype(conflict[1])
        where = re.search(_PREVIOUS, complaint.whole, re.MULTILINE)
        return BindingError(
            f"{self.subject}: expected {expected}, got {definition.text}",
            at=f"{shorten(where[1])}:{where[2]}" if where else shorten(self.source.file),
            because=f"the schema is {self.opdef.schema}",
            help=f"{expected} {{ ... }}",
        )

    def _nothing_found(self) -> BindingError:
        dtype = self.kernel.key.dtype
        expected = self.signature.prototype(self.signature.symbol("f32" if dtype is None else SUFFIXES[dtype.name]))
        there = alternatives(self.signature.name, sources.names_defined(self.source.text))
        return BindingError(
            f"{self.subject}: expected a function {expected}, got none called {self.signature.name}_f32 and the like; "
            f"the source defines {there}",
            at=shorten(self.source.file),
            because=f"the schema is {self.opdef.schema}",
            help=f"{expected} {{ ... }}",
        )

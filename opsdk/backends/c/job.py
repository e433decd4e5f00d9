"""A C kernel on its way to a library: all that decides what the library is, its checks, and the compilation.

The compiler reads more than the source: headers however they are named, archives, tables. What they hold decides the
library as the source does. Only the compiler knows which they are, so what it said is kept in the cache, under all that
decided it: the kernel's key and the content of the files that are known already. A later process follows the chain from
reading to reading and runs no compiler. Where the source hides what it includes, or files are looked for in several
folders, it runs the preprocessor anew, since another file may be found now.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from opsdk.backends.c import compiler as cc
from opsdk.backends.c import source as sources
from opsdk.backends.c.options import COptions
from opsdk.backends.c.signature import MESSAGE, STATUS, TYPES, parameters, prototype, size_symbols, symbols
from opsdk.backends.cache.places import is_private
from opsdk.backends.cache.store import cached_bytes
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

# What a compiler looks into beside its arguments, in the words of GCC and Clang
_HEADERS = ("CPATH", "C_INCLUDE_PATH")
_VARIABLES = (*_HEADERS, "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "SDKROOT")
_ENTERED = r'^# \d+ "((?:[^"\\\n]|\\.)+)" 1\b'
_TABLE = r"\.incbin\s+\\?\"([^\"\\\n]+)"
_INCLUDED = (".h", ".hh", ".hpp", ".inc", ".inl", ".def", ".tab", ".c", ".cpp", ".bin", ".dat")
_COMPILES = ("-D", "-I", "-O", "-U", "-W", "-f", "-g", "-i", "-m", "-pedantic", "-std", "-w")
_LINKS = ("-Wl,", "-fuse-ld", "-flto", "-fplugin")
_SEARCHED = ("-L", "-B", "--library-directory=", "--library-path=")
_FOLDER = ("-I", "-isystem", "-iquote", "-idirafter")


@dataclass(frozen=True)
class Job:
    """A C kernel and its source as it is now; portable, where its library is for any processor of the platform."""

    opdef: OpDef
    kernel: Kernel
    options: COptions
    source: sources.CSource
    portable: bool = False

    @classmethod
    def of(cls, opdef: OpDef, kernel: Kernel) -> Job:
        """Returns the job of a kernel."""
        return cls(opdef, kernel, COptions(**kernel.options), sources.read(opdef, kernel))

    @property
    def subject(self) -> str:
        """Who is built, for messages."""
        return f"{self.opdef.subject}, c kernel"

    @cached_property
    def compiler(self) -> cc.Compiler:
        """The compiler that is used."""
        return cc.find_compiler(self.subject)

    @cached_property
    def folders(self) -> list[str]:
        """The folders in which headers are looked for."""
        options = self.options
        told = (os.environ.get(name, "") for name in _HEADERS)
        named = [folder for folders in told for folder in folders.split(os.pathsep) if folder]
        return [*options.include_dirs, *folders_in(options.flags), *named]

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
        schema = [self.opdef.schema.name, *self.signature]
        told = [*self.arguments, *self.last, self.compiler.identity, cc.machine()]
        folders = [f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ]
        return "\0".join([*schema, sources.HEADER.read_text(encoding="utf-8"), self.text, *told, *folders])

    @property
    def signature(self) -> list[str]:
        """How the functions are declared, and what those that decide open sizes are called."""
        decides = self.options.decides
        return [*parameters(self.opdef.schema, decides), *list(size_symbols(self.opdef.schema, decides).values())[:1]]

    @cached_property
    def whole_key(self) -> str:
        """Everything that decides what the library is.

        Raises:
            CompileError: the source cannot be preprocessed.
        """
        return f"{self.key}\0{state_of_archives(self.options)}\0{self._linked}\0{self._read}"

    @property
    def _read(self) -> str:
        """The names and contents, hashed, of all files that the compiler reads for the source.

        Raises:
            CompileError: the source cannot be preprocessed.
        """
        if self.hides_files or self.folders or len(self.compiler.command) > 1:  # `gcc -Ifolder` is one too
            text = self.preprocessed
            tables = [Path(folder, name) for name in re.findall(_TABLE, text) for folder in ("", *self.folders)]
            return _hashed(tables) + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        known: set[str] = set()
        while True:
            state = _hashed(map(Path, sorted(known)))
            listed = cached_bytes("reads", f"{self.key}\0{state}", ".files", lambda: _listed(self.preprocessed))
            found = set(listed.decode("utf-8", errors="surrogateescape").split("\0")) - {""}
            if found <= known:
                return state
            known |= found

    @property
    def _linked(self) -> str:
        """The state of the files that the linker takes into the library beside the source, as it tells them."""
        options = self.options
        if not options.libraries and not asks_linker(options.flags) and len(self.compiler.command) == 1:
            return ""
        with slow("tempfile").TemporaryDirectory() as folder:
            arguments = ["-Wl,-t", *self.arguments, "-o", f"{folder}/traced", "-", *self.last]
            told, _ = cc.run(self.compiler, arguments, "", Path(folder))
            return state_of_linked(told)

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
    def last(self) -> list[str]:
        """What the compiler is given behind the source."""
        options = self.options
        libraries = [*(f"-l{name}" for name in options.libraries), *(f for f in options.flags if f.startswith("-l"))]
        return [*(f"-L{folder}" for folder in options.library_dirs), *libraries, *cc.LINKED]

    @cached_property
    def functions(self) -> Mapping[str, sources.Definition]:
        """The functions of this op that the source defines, by name; with `opsdk_message` where it is one of them.

        Raises:
            CompileError: the source cannot be preprocessed.
            BindingError: there is none, one that cannot be called from outside, or one without its size function.
        """
        own, counting = symbols(self.opdef.schema), size_symbols(self.opdef.schema, self.options.decides)
        found = sources.definitions(self.preprocessed, (*own.values(), *counting.values(), MESSAGE))
        if not found.keys() & own.values():
            raise self._nothing_found()
        for dtype, name in counting.items():
            if own[dtype] in found and name not in found:
                raise BindingError(
                    f"{self.subject}: {self.options.decides} expected a function {self.declared(name)} beside "
                    f"{own[dtype]}, got none",
                    at=shorten(self.source.file),
                    help=f"{self.declared(name)} {{ ... }}",
                )
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
        return [self.declared(name, found.returns) for name, found in self.functions.items()]

    def declared(self, name: str, returns: str = STATUS) -> str:
        """Returns how a function of the source is declared by the schema."""
        return prototype(self.opdef.schema, name, returns, self.options.decides)

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
        # Behind the source the expected declarations, which make the compiler compare the two.
        checks = [sources.line_directive(1, CHECKS), *(f"{line};\n" for line in self.declarations)]
        unit = "".join([self.source.unit, *checks])
        _, complaint = cc.run(self.compiler, [*self.arguments, "-o", str(path), "-", *self.last], unit, scratch)
        if complaint is not None:
            cc.expect_room(complaint, path)
            raise self._refusal(complaint)

    def _refusal(self, complaint: cc.Complaint) -> OpsdkError:
        """Returns the error of a source that does not compile; of one that is at odds with the schema, in its words."""
        conflict = re.search(_CONFLICT, complaint.text)
        if conflict is None or complaint.file != CHECKS:
            return cc.failure(self.subject, complaint)
        definition = self.functions[conflict[1]]
        expected = self.declared(conflict[1])
        where = re.search(_PREVIOUS, complaint.whole, re.MULTILINE)
        return BindingError(
            f"{self.subject}: expected {expected}, got {definition.text}",
            at=f"{shorten(where[1])}:{where[2]}" if where else shorten(self.source.file),
            because=f"the schema is {self.opdef.schema}",
            help=f"{expected} {{ ... }}",
        )

    def _nothing_found(self) -> BindingError:
        dtype = self.kernel.key.dtype
        schema = self.opdef.schema
        expected = self.declared(symbols(schema)["float32" if dtype is None else dtype.name])
        there = alternatives(schema.name, sources.names_defined(self.source.text))
        return BindingError(
            f"{self.subject}: expected a function {expected}, got none called {schema.name}_f32 and the like; "
            f"the source defines {there}",
            at=shorten(self.source.file),
            because=f"the schema is {self.opdef.schema}",
            help=f"{expected} {{ ... }}",
        )


def state_of_archives(options: COptions, inside: Path | None = None) -> str:
    """Returns the content, hashed, of what flags and libraries name for the linker: libraries, scripts, other files.

    Args:
        options: of the kernel.
        inside: only files below this folder count; all of them, unless given.
    """
    flags = [word for flag in options.flags for word in _for_linker(flag)]
    searched = os.environ.get("LIBRARY_PATH", "").split(os.pathsep)
    folders = [*options.library_dirs, *folders_in(flags, _SEARCHED), *(name for name in searched if name)]
    names = [*options.libraries, *(flag[2:] for flag in flags if flag.startswith("-l"))]
    files = [file for name in names for file in ([name[1:]] if name[:1] == ":" else [f"lib{name}.so", f"lib{name}.a"])]
    told = [word for flag in flags for word in re.split("[=,@]", flag)]  # @more, -T,script, -fprofile-use=counts
    paths = [Path(folder, file) for folder in folders for file in files] + list(map(Path, filter(None, told)))
    return _hashed([path for path in paths if path.is_file() and (inside is None or path.is_relative_to(inside))])


def asks_linker(flags: Iterable[str]) -> bool:
    """Whether flags may say what is linked: all that are not known to be the compiler's alone."""
    return not all(flag.startswith(_COMPILES) and not flag.startswith(_LINKS) for flag in flags)


def state_of_linked(traced: str) -> str:
    """Returns the content, hashed, of the files that a linker says it took, on lines as `lib/libm.a` or `-lm (path)`.

    Which library a name leads to, only the linker knows: its own folders, scripts and files of flags decide it.
    """
    named = dict.fromkeys(word for line in traced.splitlines() for word in (line, *re.split("[()]", line)))
    return _hashed([path for path in map(Path, filter(None, named)) if path.is_file()])


def state_of_folders(folders: Iterable[str]) -> str:
    """Returns the content, hashed, of the files in folders that a C source might include."""
    return _hashed(sorted(path for folder in folders for path in Path(folder).rglob("*") if path.suffix in _INCLUDED))


def folders_in(flags: Iterable[str], words: tuple[str, ...] = _FOLDER) -> Iterator[str]:
    """Yields the folders that flags name, as `-Ifolder` or `-I folder`."""
    before = ""
    for flag in flags:
        if before in words:
            yield flag
        else:
            yield from (flag.removeprefix(word) for word in words if flag.startswith(word) and flag != word)
        before = flag


def _for_linker(flag: str) -> list[str]:
    """Returns the words of a flag as the linker gets them, where it is one that is handed on to it."""
    return flag[4:].split(",") if flag.startswith("-Wl,") else [] if flag == "-Xlinker" else [flag]


def _listed(preprocessed: str) -> bytes:
    entered = [re.sub(r"\\(.)", r"\1", name) for name in re.findall(_ENTERED, preprocessed, re.MULTILINE)]
    files = {os.path.abspath(name) for name in entered if not name.startswith("<")}  # noqa: PTH100
    return "\0".join(sorted(files)).encode("utf-8", errors="surrogateescape")


def _hashed(paths: Iterable[Path]) -> str:
    """Returns a hash of the names and contents of files, whatever folders they are in."""
    total = hashlib.sha256()
    for path in paths:
        try:
            found = path.stat()
            content = _content(path, found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError:
            content = "gone"
        total.update(f"{content} {path.name}\0".encode("utf-8", errors="surrogateescape"))
    return total.hexdigest()


@lru_cache(maxsize=4096)
def _content(path: Path, *_state: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

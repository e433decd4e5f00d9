import subprocess

import numpy as np
import pytest

from opsdk.backends.c import library as c_library
from opsdk.backends.c.job import asks_linker, folders_in, state_of_archives, state_of_folders, state_of_linked
from opsdk.backends.c.options import COptions
from tests.backends.c_rows import nothing, op

X = np.ones(1, "float32")
TAKES = "const DLTensor *x, DLTensor *y"


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(c_library, "_open", {})


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "inc"
    made.mkdir()
    return made


def value(source, **options):
    """Gives what a new op of a source computes, as in a new process."""
    c_library._open.clear()
    body = "*OPSDK_DATA(float, y) = VALUE; return 0;"
    return float(op("f(Tensor x) -> Tensor y", source + nothing("f", TAKES, body=body), **options)(X)[0])


# How a source includes v.h of the folder, and the options for it
WAYS = {
    "named by a macro of the source": ('#define HEADER "v.h"\n#include HEADER\n', {"include_dirs": ["{}"]}),
    "named by a macro of the options": (
        "#include HEADER\n", {"include_dirs": ["{}"], "define": {"HEADER": '"v.h"'}},
    ),
    "behind a comment": ('#include/* the value */"v.h"\n', {"include_dirs": ["{}"]}),
    "on the next line": ('#include \\\n"v.h"\n', {"include_dirs": ["{}"]}),
    "as a digraph": ('%:include "v.h"\n', {"include_dirs": ["{}"]}),
    "in a folder of the flags": ('#include "v.h"\n', {"flags": ["-I", "{}"]}),
    "in a folder of the system's": ("#include <v.h>\n", {"flags": ["-isystem", "{}"]}),
    "by a flag": ("", {"flags": ["-include", "{}/v.h"]}),
    "by another header": ('#include "outer.h"\n', {"include_dirs": ["{}"]}),
}  # fmt: skip


def options_in(folder, options):
    filled = {}
    for name, given in options.items():
        filled[name] = given if name == "define" else [word.format(folder) for word in given]
    return filled


@pytest.mark.parametrize(("source", "options"), WAYS.values(), ids=WAYS)
def test_a_header_is_read_anew_however_it_is_included(source, options, folder):
    (folder / "outer.h").write_text('#define INNER "v.h"\n#include INNER\n')
    for expected in (2.0, 3.0, 2.0):
        (folder / "v.h").write_text(f"#define VALUE {expected}\n")
        assert value(source, **options_in(folder, options)) == expected


def test_a_header_in_a_folder_of_the_environment_is_read_anew(folder, monkeypatch):
    other = folder / "other"
    other.mkdir()
    (other / "v.h").write_text("#define VALUE 4\n")
    for expected in (2.0, 3.0):
        monkeypatch.setenv("CPATH", str(folder))
        (folder / "v.h").write_text(f"#define VALUE {expected}\n")
        assert value('#include "v.h"\n') == expected
        monkeypatch.setenv("CPATH", str(other))
        assert value('#include "v.h"\n') == 4.0


@pytest.mark.parametrize("place", ["source", "header"])
def test_a_header_that_is_asked_for_may_come_and_go(place, folder):
    asks = '#if __has_include("v.h")\n#include "v.h"\n#else\n#define VALUE 1\n#endif\n'
    (folder / "asks.h").write_text(asks)
    source = asks if place == "source" else '#define HEADER "asks.h"\n#include HEADER\n'
    for expected in (1.0, 9.0, 1.0):
        (folder / "v.h").unlink(missing_ok=True)
        if expected == 9.0:
            (folder / "v.h").write_text("#define VALUE 9\n")
        assert value(source, include_dirs=[str(folder)]) == expected


# How a header is included that appears in an earlier folder than the one in which it was found
HIDDEN = {
    "through a macro": '#define HEADER <v.h>\n#include HEADER\n',
    "as #import": '#import "v.h"\n',
    "spliced": '#inc\\\nlude "v.h"\n',
    "as a digraph": '%:include "v.h"\n',
    "behind a comment": '# /**/ include "v.h"\n',
    "by name": "#include <v.h>\n",
}


@pytest.mark.parametrize("source", HIDDEN.values(), ids=HIDDEN)
def test_a_header_that_comes_before_another_is_the_one(source, folder):
    first, second = folder / "first", folder / "second"
    first.mkdir()
    second.mkdir()
    (second / "v.h").write_text("#define VALUE 2\n")
    where = {"include_dirs": [str(first), str(second)]}
    assert value(source, **where) == 2.0
    (first / "v.h").write_text("#define VALUE 3\n")
    assert value(source, **where) == 3.0


def test_a_table_of_bytes_is_read_anew(folder):
    table = f'__asm__(".pushsection .rodata\\n.balign 8\\ntable:\\n.incbin \\"{folder}/t.bin\\"\\n.popsection\\n");\n'
    source = f"extern const double table;\n{table}#define VALUE (float)table\n"
    for expected in (2.0, 3.0):
        np.array([expected]).tofile(folder / "t.bin")
        assert value(source) == expected


DECLARED = "double value_of(void);\n#define VALUE (float)value_of()\n"


def archive(folder, expected):
    """Makes a static library of a function that returns a number."""
    (folder / "value.c").write_text(f"double value_of(void) {{ return {expected}; }}\n")
    subprocess.run(["cc", "-fPIC", "-c", "value.c"], cwd=folder, check=True)
    (folder / "libvalue.a").unlink(missing_ok=True)
    subprocess.run(["ar", "rcs", "libvalue.a", "value.o"], cwd=folder, check=True)


@pytest.mark.parametrize("named", ["libraries", "flags", "a file", "the environment"])
def test_a_static_library_is_linked_anew(named, folder, monkeypatch):
    options = {
        "libraries": {"libraries": ["value"], "library_dirs": [str(folder)]},
        "flags": {"flags": ["-L", str(folder), "-lvalue"]},
        "a file": {"flags": [str(folder / "value.o")]},
        "the environment": {"libraries": ["value"]},
    }[named]
    if named == "the environment":
        monkeypatch.setenv("LIBRARY_PATH", str(folder))
    if named == "a file":
        options["flags"] = ["-x", "none", *options["flags"], "-x", "c"]
    for expected in (2.0, 3.0):
        archive(folder, expected)
        assert value(DECLARED, **options) == expected


LINKED = {  # how flags name an archive so that only the linker knows which it is
    "whole": ("-Wl,--whole-archive,{}/libvalue.a,--no-whole-archive",),
    "a folder for the linker": ("-Wl,-L,{}", "-lvalue"),
    "a folder for the linker, joined": ("-Wl,-L{}", "-lvalue"),
    "a name for the linker": ("-L{}", "-Wl,-u,value_of,-lvalue"),
    "a prefix": ("-B{}", "-lvalue"),
    "a folder by its long name": ("--library-directory={}", "-lvalue"),
    "a file of flags": ("-Wl,-u,value_of,@{}/more",),
    "a linker script": ("-Wl,-u,value_of,{}/both.ld",),
}


@pytest.mark.parametrize("flags", LINKED.values(), ids=LINKED)
def test_what_the_linker_alone_finds_is_linked_anew(flags, folder):
    (folder / "more").write_text(f"-L{folder} -lvalue")
    (folder / "both.ld").write_text(f"INPUT({folder}/libvalue.a)")
    for expected in (2.0, 3.0):
        archive(folder, expected)
        assert value(DECLARED, flags=[flag.format(folder) for flag in flags]) == expected


def test_a_library_that_is_found_before_another_is_the_one(folder):
    first, second = folder / "first", folder / "second"
    first.mkdir()
    second.mkdir()
    folders = [str(first), str(second)]
    options = {"libraries": ["value"], "library_dirs": folders, "flags": [f"-Wl,-rpath,{second}"]}
    archive(second, 2.0)
    assert value(DECLARED, **options) == 2.0
    (second / "value.c").write_text("double value_of(void) { return 3.0; }\n")
    subprocess.run(["cc", "-fPIC", "-shared", "value.c", "-o", "libvalue.so"], cwd=second, check=True)
    assert value(DECLARED, **options) == 3.0  # a shared one beside the archive
    archive(first, 4.0)
    assert value(DECLARED, **options) == 4.0


def test_an_archive_in_a_folder_of_the_compilers_own_is_linked_anew(folder, monkeypatch):
    monkeypatch.setenv("OPSDK_CC", f"cc -L{folder}")
    for expected in (2.0, 3.0):
        archive(folder, expected)
        assert value(DECLARED, libraries=["value"]) == expected


@pytest.mark.parametrize(
    ("flags", "asks"),
    [
        ((), False),
        (("-O2", "-fno-math-errno", "-DK=2", "-Wall", "-march=native", "-std=gnu11", "-I.", "-g"), False),
        *[((f,), True) for f in ("-Wl,-O1", "-lm", "-L.", "lib/x.a", "-Xlinker", "@more", "-fuse-ld=gold", "-B.")],
    ],
)
def test_flags_that_are_the_compilers_alone_need_no_linker(flags, asks):
    assert asks_linker(flags) is asks


def test_words_for_the_linker_count_in_a_package_too(folder):
    archive(folder, 2.0)
    options = COptions(flags=(f"-Wl,-L,{folder}", f"-Wl,--whole-archive,{folder}/libvalue.a", "-Xlinker", "-lvalue"))
    before = state_of_archives(options, inside=folder)
    archive(folder, 3.0)
    assert state_of_archives(options, inside=folder) != before


def test_a_linker_tells_files_in_several_ways(folder):
    (folder / "libone.a").write_bytes(b"1")
    first = state_of_linked(f"{folder}/libone.a\n")
    for line in (f"-lone ({folder}/libone.a)", f"({folder}/libone.a)one.o", f"{folder}/libone.a(one.o)"):
        assert state_of_linked(f"/tmp/none.o\n{line}\n") == first
    (folder / "libone.a").write_bytes(b"2")
    assert state_of_linked(f"{folder}/libone.a\n") != first


def test_a_file_of_flags_is_read_anew(folder):
    for expected in (2.0, 3.0):
        (folder / "more").write_text(f"-DVALUE={expected}\n")
        assert value("", flags=[f"@{folder}/more"]) == expected


def test_a_changed_header_is_seen_in_the_process_that_compiled_it(folder):
    made = []
    for expected in (2.0, 3.0):
        (folder / "v.h").write_text(f"#define VALUE {expected}\n")
        body = nothing("f", TAKES, body="*OPSDK_DATA(float, y) = VALUE; return 0;")
        source = f'#define HEADER "v.h"\n#include HEADER\n{body}'
        made.append(op("f(Tensor x) -> Tensor y", source, include_dirs=[str(folder)])(X)[0])
    assert made == [2.0, 3.0]


def test_folders_stand_in_flags_joined_or_apart():
    assert list(folders_in(["-Ia", "-O2", "-isystem", "b", "-I", "c", "d"])) == ["a", "b", "c"]
    assert list(folders_in(["-L", "a", "-Lb", "-lc"], ("-L",))) == ["a", "b"]


def test_archives_count_by_content_and_name_and_inside_of_a_folder_alone_where_one_is_given(folder):
    options = COptions(libraries=("one",), library_dirs=(str(folder),))
    without = state_of_archives(options)
    (folder / "libone.a").write_bytes(b"1")
    one = state_of_archives(options)
    (folder / "libone.a").write_bytes(b"two")
    two = state_of_archives(options)
    assert len({without, one, two}) == 3
    assert state_of_archives(options, inside=folder) == two
    assert state_of_archives(options, inside=folder / "below") == without


def test_files_of_a_folder_count_where_a_source_might_include_them(folder):
    (folder / "a.h").write_text("1")
    first = state_of_folders([str(folder)])
    (folder / "note.txt").write_text("1")
    assert state_of_folders([str(folder)]) == first
    (folder / "a.h").write_text("two")
    assert state_of_folders([str(folder)]) != first

import ast
import os
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

import opsdk
from opsdk.ship.package import scaffold
from opsdk.ship.package.name import ScaffoldError
from opsdk.ship.package.scaffold import (
    DEFAULT,
    LICENSES,
    Author,
    Package,
    author_of_git,
    folder,
    kind_of,
    kinds,
    next_commands,
    tree,
    write,
)
from tests.contracts.tree import REPOSITORY

PYFUNC = Package("my_ops", kind_of("pyfunc"))


def contents(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Settings of git for this test alone; a test writes into the file."""
    file = tmp_path / "gitconfig"
    file.touch()
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG"):
        monkeypatch.setenv(name, str(file))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    return file


def test_a_package_has_ten_files():
    assert list(PYFUNC.files()) == [
        ".github/workflows/test.yml",
        ".gitignore",
        "LICENSE",
        "README.md",
        "benchmarks/bench.py",
        "pyproject.toml",
        "src/my_ops/__init__.py",
        "src/my_ops/huber.py",
        "src/my_ops/py.typed",
        "tests/test_huber.py",
    ]


@pytest.mark.parametrize("kind", kinds())
def test_nothing_of_a_template_is_left_in_what_it_gives(kind):
    files = Package("my_ops", kind_of(kind)).files()
    for path, text in files.items():
        assert "__package__" not in path + text
        assert not any(mark in text for mark in ("{%", "%}", "{#")), path
        assert "{{" not in text.replace("${{ matrix.python }}", ""), path
        assert text.endswith("\n") or not text, path
        assert not text.endswith("\n\n"), path
        assert max(map(len, text.splitlines()), default=0) <= 120, path
        if path.endswith(".py"):
            ast.parse(text)
    headings = [line for line in files["README.md"].splitlines() if line.startswith("#")]
    assert len(set(headings)) == len(headings)


@pytest.mark.parametrize("kind", kinds())
def test_the_tree_marks_two_lines_to_edit(kind):
    package = Package("my_ops", kind_of(kind))
    lines = tree(package, Path("my_ops"), created=True).splitlines()
    assert [line.rpartition("edit: ")[2] for line in lines if "edit" in line] == ["your op", "your cases"]
    assert "edit" in lines[1]
    assert "edit" in lines[2]
    listed = [word.rpartition("/")[2] for line in lines[1:] for word in line.partition(" edit:")[0].split()]
    assert sorted(listed) == sorted(path.rpartition("/")[2] for path in package.files())


def test_the_next_commands_come_with_the_tree():
    assert next_commands(PYFUNC, Path("my_ops")) == (
        'next:  cd my_ops && pip install -e ".[test]"\n       opsdk check my_ops'
    )
    assert next_commands(PYFUNC, Path("two words/my_ops")).startswith("next:  cd 'two words/my_ops' && ")
    compiled = Package("my_ops", kind_of("c"))
    assert next_commands(compiled, Path("my_ops")) == (
        'next:  cd my_ops && pip install "setuptools>=77"\n'
        '       pip install --no-build-isolation -e ".[test]"\n'
        "       opsdk check my_ops"
    )


def test_the_readme_of_a_compiled_package_installs_what_its_build_needs_first():
    readme = Package("my_ops", kind_of("c")).files()["README.md"]
    first, second = readme.index('pip install "setuptools>=77"'), readme.index("pip install --no-build-isolation")
    assert first < second
    assert "setuptools" not in PYFUNC.files()["README.md"]


def test_it_is_written_as_it_was_rendered(tmp_path):
    target = write(PYFUNC, tmp_path)
    assert target == tmp_path / "my_ops"
    assert contents(target) == set(PYFUNC.files())
    assert (target / "README.md").read_text(encoding="utf-8") == PYFUNC.files()["README.md"]
    assert list(tmp_path.iterdir()) == [target]


def test_the_folder_may_be_read_by_whom_other_folders_may(tmp_path):
    beside = tmp_path / "beside"
    beside.mkdir()
    assert stat.S_IMODE(write(PYFUNC, tmp_path).stat().st_mode) == stat.S_IMODE(beside.stat().st_mode)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch, error):
    written = []

    def fail(self, text, **options):
        if len(written) == 4:
            raise error
        written.append(self)

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(error):
        write(PYFUNC, tmp_path)
    assert len(written) == 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("make", "what"), [(Path.mkdir, "a folder"), (Path.touch, "a file")])
def test_what_is_there_is_never_overwritten(tmp_path, make, what):
    make(tmp_path / "my_ops")
    with pytest.raises(ScaffoldError) as caught:
        write(PYFUNC, tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / 'my_ops'}: expected nothing of that name, got {what}; nothing is ever overwritten: take another "
        "name, or another place with --into"
    )


def test_a_link_to_nowhere_is_there_too(tmp_path):
    (tmp_path / "my_ops").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ScaffoldError, match="expected nothing of that name, got a file"):
        write(PYFUNC, tmp_path)


def test_a_folder_that_appears_meanwhile_is_not_overwritten(tmp_path, monkeypatch):
    files = PYFUNC.files()

    def slow(self):
        (tmp_path / "my_ops").mkdir()
        (tmp_path / "my_ops" / "mine").touch()
        return files

    monkeypatch.setattr(Package, "files", slow)
    with pytest.raises(ScaffoldError, match="expected nothing of that name, got a folder"):
        write(PYFUNC, tmp_path)
    assert contents(tmp_path) == {"my_ops/mine"}


def test_a_place_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(
        ScaffoldError, match=r"--into .*nowhere: expected a folder, got none of that name; make it first"
    ):
        write(PYFUNC, tmp_path / "nowhere")


def test_a_place_that_cannot_be_written_is_said(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(scaffold.tempfile, "TemporaryDirectory", refuse)
    with pytest.raises(ScaffoldError) as caught:
        write(PYFUNC, tmp_path)
    assert str(caught.value) == (
        f"package 'my_ops': expected a folder that can be written, got 'Permission denied' in {tmp_path}; "
        "choose another with --into"
    )


def test_the_licence_names_year_and_author():
    package = replace(PYFUNC, author=Author("Ada Lovelace"), license="MIT")
    assert f"Copyright (c) {date.today().year} Ada Lovelace\n" in package.files()["LICENSE"]
    assert 'license = "MIT"\n' in package.files()["pyproject.toml"]


@pytest.mark.parametrize("name", LICENSES)
def test_every_licence_has_its_text(name):
    text = replace(PYFUNC, license=name).files()["LICENSE"]
    assert {"Apache-2.0": "Apache License", "MIT": "MIT License", "BSD-3-Clause": "BSD 3-Clause License"}[name] in text


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
@pytest.mark.parametrize("author", [Author('A "B" \\ \x7f\x01, é', "a@b.org"), Author("Ada"), Author("", "a@b.org")])
def test_whatever_an_author_is_called_the_metadata_can_be_read(author):
    import tomllib

    project = tomllib.loads(replace(PYFUNC, author=author).files()["pyproject.toml"])["project"]
    assert project["authors"] == [{key: value for key, value in vars(author).items() if value}]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_without_an_author_the_metadata_names_none():
    import tomllib

    assert "authors" not in tomllib.loads(PYFUNC.files()["pyproject.toml"])["project"]
    assert "the authors of my_ops" in replace(PYFUNC, license="MIT").files()["LICENSE"]


def test_the_author_is_whom_git_knows(settings):
    settings.write_text("[user]\n  name = Ada   Lovelace\n  email = ada@example.org\n")
    assert author_of_git() == Author("Ada Lovelace", "ada@example.org")


@pytest.mark.parametrize("email", ["nobody", "root@localhost", "a b@c.org", "<a@b.org>"])
def test_what_is_no_address_is_left_out(settings, email):
    settings.write_text(f"[user]\n  name = Ada\n  email = {email}\n")
    assert author_of_git() == Author("Ada")


def test_where_git_knows_nobody_there_is_no_author(settings):
    assert author_of_git() == Author()


@pytest.mark.parametrize("error", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 10)])
def test_without_git_there_is_no_author(monkeypatch, error):
    def refuse(*arguments, **options):
        raise error

    monkeypatch.setattr(scaffold.subprocess, "run", refuse)
    assert author_of_git() == Author()


# -- the command ---------------------------------------------------------------------------------------------------


def test_new_writes_and_prints_the_tree(run, here):
    result = run("new", "my_ops")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "created my_ops/   (10 files, kind: pyfunc)"
    assert lines[1] == "  src/my_ops/huber.py  edit: your op"
    assert lines[2] == "  tests/test_huber.py  edit: your cases"
    assert lines[-2:] == ['next:  cd my_ops && pip install -e ".[test]"', "       opsdk check my_ops"]
    assert contents(here / "my_ops") == set(PYFUNC.files())


def test_a_dry_run_prints_the_same_and_writes_nothing(run, here):
    tried = run("new", "my_ops", "--kind", "c", "--dry-run").stdout
    assert tried.startswith("would create my_ops/   (12 files, kind: c)\n")
    assert list(here.iterdir()) == []
    assert run("new", "my_ops", "--kind", "c").stdout.splitlines()[1:-3] == tried.splitlines()[1:]


def test_into_another_folder(run, here):
    (here / "deep").mkdir()
    result = run("new", "my_ops", "--into", "deep", "--license", "bsd-3-clause")
    assert "cd deep/my_ops && " in result.stdout
    assert "BSD 3-Clause" in (here / "deep/my_ops/LICENSE").read_text()


@pytest.mark.parametrize(
    "arguments",
    [("no-good",), ("x", "--kind", "zzz"), ("x", "--into", "nowhere"), ("numpy",), ("x", "--license", "zzz")],
)
def test_a_mistake_of_the_user_has_its_code_and_changes_nothing(run, here, arguments):
    for options in ((), ("--dry-run",)):
        result = run("new", *arguments, *options)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert list(here.iterdir()) == []


def test_a_second_time_is_refused(run, here):
    run("new", "my_ops")
    (here / "my_ops" / "README.md").write_text("mine")
    result = run("new", "my_ops")
    assert result.exit_code == 2
    assert "my_ops: expected nothing of that name, got a folder" in result.stderr
    assert (here / "my_ops" / "README.md").read_text() == "mine"


def test_help_tells_the_kinds_apart_in_a_line_each(run):
    lines = run("new", "--help").stdout.splitlines()
    listed = lines[lines.index("  Kinds:") + 1 :]
    assert [line.split()[0] for line in listed] == list(kinds())
    assert listed[0].endswith("(start here)")
    assert max(map(len, lines)) <= 100


def test_the_example_that_is_rendered_is_an_op_that_passes(run, here):
    run("new", "my_ops")
    result = run("check", "my_ops/src/my_ops/huber.py")
    assert result.exit_code == 0, result.stdout
    assert "huber" in result.stdout


def test_the_kinds_are_those_that_are_promised_with_the_first_to_try_in_front():
    assert list(kinds()) == [
        *("pyfunc", "elementwise", "rowwise", "numba", "cuda", "c", "composite", "collection"),
    ]
    assert next(iter(kinds())) == DEFAULT


def test_every_kind_has_a_folder_and_every_folder_is_a_kind():
    folders = {path.name for path in folder().iterdir() if path.is_dir()}
    assert folders == {"base", *kinds()}


def test_a_collection_has_the_ops_of_its_parts():
    collection = kind_of("collection")
    assert len(collection.parts) >= 3
    assert list(collection.ops) == sorted(op for part in collection.parts for op in kind_of(part).ops)


def test_an_unknown_kind_names_the_nearest():
    with pytest.raises(ScaffoldError) as caught:
        kind_of("nubma")
    listed = ", ".join(kinds())
    assert str(caught.value) == f"--kind: expected one of {listed}, got 'nubma'; did you mean numba?"


def test_a_kind_that_is_like_none_says_where_to_start():
    with pytest.raises(ScaffoldError, match="got 'zzz'; pyfunc is where to start"):
        kind_of("zzz")


def test_templates_are_read_from_the_checkout_or_from_the_installed_package(tmp_path, monkeypatch):
    assert folder() == REPOSITORY / "templates"
    installed = tmp_path / "opsdk" / "templates"
    installed.mkdir(parents=True)
    monkeypatch.setattr(opsdk, "__file__", str(tmp_path / "opsdk" / "__init__.py"))
    assert folder() == installed

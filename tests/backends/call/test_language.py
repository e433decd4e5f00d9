import numpy as np
import pytest

import opsdk
from opsdk.backends.call.language import Language, NotWatchedError, language_of, register_language
from opsdk.core.errors import DefinitionError, KernelNotFoundError, MissingDependencyError, NameClashError
from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.define.kernel.notation import LANGUAGES


@pytest.fixture
def op():
    made = opsdk.op(lambda x: x + 1, name="f", namespace="t")
    row = Kernel(KernelKey("cpu"), "fortran", lambda x: x, made.opdef.origin, ("x",))
    made.opdef.kernels.add(row)  # as it comes from where the language exists
    return made


class Fortran(Language):
    name = "fortran"
    places = ("cpu", "tpu")

    def compile(self, opdef, kernel):
        return lambda x: x * 10


@pytest.fixture
def fortran(monkeypatch):
    made = Fortran()
    for place in made.places:
        monkeypatch.setitem(LANGUAGES, (made.name, place, ""), made)  # and taken back
    register_language(made)
    return made


def test_a_row_in_a_language_that_nothing_reads_is_refused_when_it_is_launched(op):
    with pytest.raises(KernelNotFoundError) as caught:
        op(np.ones(2))
    row = list(op.opdef.kernels)[-1]
    assert str(caught.value) == (
        f"op 't::f': kernel fortran (cpu, *) at {row.origin} is written in 'fortran'; "
        f"languages here: {', '.join(sorted({name for name, _, _ in LANGUAGES}))}"
    )


def test_a_language_that_is_registered_reads_its_rows(op, fortran):
    op.kernel("tpu", lambda x: x, language="fortran")
    assert [language_of(row) for row in op.opdef.kernels][1:] == [fortran, fortran]
    assert op(np.ones(2)).tolist() == [10.0, 10.0]


def test_a_language_of_another_class_does_not_take_a_name(fortran):
    class Other(Language):
        name = "fortran"

    with pytest.raises(NameClashError) as caught:
        register_language(Other())
    theirs = "tests.backends.call.test_language.Fortran"
    assert str(caught.value) == (
        f"language 'fortran': expected one class for kernels of place 'cpu', {theirs} is registered and "
        f"{Other.__module__}.{Other.__qualname__} came; give it a name of its own"
    )
    assert LANGUAGES["fortran", "cpu", ""] is fortran
    register_language(Fortran())  # a module that is loaded once more


def test_a_language_that_says_nowhere_how_it_launches_is_refused_by_name(op, fortran, monkeypatch):
    monkeypatch.delattr(Fortran, "compile")
    with pytest.raises(NotImplementedError, match="language Fortran: expected a module that has launch_of, or a comp"):
        op(np.ones(2))


def test_a_language_without_options_refuses_them(op, fortran):
    with pytest.raises(DefinitionError) as caught:
        op.kernel("cpu", lambda x: x, language="fortran", fast=True)
    assert str(caught.value) == "op 't::f', fortran kernel: expected no options, got fast=True"


def test_a_language_whose_package_is_missing_says_so_when_a_row_is_compiled(op, fortran, monkeypatch):
    monkeypatch.setattr(Fortran, "packages", ("fortran_of_nobody",))
    with pytest.raises(MissingDependencyError) as caught:
        op(np.ones(2))
    assert "op 't::f', fortran kernel needs fortran_of_nobody, which cannot be imported" in str(caught.value)
    assert "pip install fortran_of_nobody" in str(caught.value)


@pytest.mark.parametrize("name", ["compile", "entry"])
def test_what_a_language_has_to_say_itself_is_not_made_up(op, name):
    with pytest.raises(NotImplementedError):
        getattr(Language(), name)(op.opdef, list(op.opdef.kernels)[1], *([[], {}] if name == "entry" else []))


def test_a_language_without_watched_runs_says_so():
    language = Language()
    language.name = "fortran"
    with pytest.raises(NotWatchedError, match="kernels in fortran do not watch themselves"):
        language.watched(None, None, [])

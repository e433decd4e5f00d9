from collections import namedtuple
from dataclasses import dataclass
from types import ModuleType

import pytest

from tests.contracts import surface
from tests.contracts.tree import plant, read_tree


def test_every_promised_name_exists():
    assert [problem for module in surface.facades() for problem in surface.unkept_promises(module)] == []


def test_every_public_object_has_a_docstring():
    assert [problem for module in surface.facades() for problem in surface.undocumented(module)] == []


def test_every_module_says_what_it_gives():
    assert surface.module_docstring_problems(read_tree()) == []


def module_with(**members):
    module = ModuleType("planted")
    module.__all__ = list(members)
    for name, member in members.items():
        if not isinstance(member, ModuleType):
            member.__module__ = "planted"
        setattr(module, name, member)
    return module


def test_a_missing_and_a_repeated_name_are_reported():
    module = module_with()
    module.__all__, module.here = ["here", "gone", "here"], 1
    assert surface.unkept_promises(module) == [
        "planted.__all__: 'gone' does not exist",
        "planted.__all__: 'here' is listed twice",
    ]


def test_silent_functions_classes_and_methods_are_reported():
    def function(): ...

    class Silent: ...

    class Spoken:
        """Speaks."""

        def method(self): ...

        @property
        def value(self): ...

        def _private(self): ...

    @dataclass
    class Record:
        x: int

    pair = namedtuple("pair", "x y")
    module = module_with(function=function, Silent=Silent, Spoken=Spoken, Record=Record, pair=pair)
    assert surface.undocumented(module, ours=["planted"]) == [
        "planted.function: no docstring",
        "planted.Silent: no docstring",
        "planted.Spoken.method: no docstring",
        "planted.Spoken.value: no docstring",
        "planted.Record: no docstring",
        "planted.pair: no docstring",
    ]


def test_a_silent_function_in_a_public_submodule_is_reported():
    def function(): ...

    outer = module_with(inner=module_with(function=function))
    assert surface.undocumented(outer, ours=["planted"]) == ["planted.inner.function: no docstring"]


def test_an_override_may_inherit_its_docstring():
    class Base:
        """Base."""

        def method(self):
            """Does."""

    class Derived(Base):
        """Derived."""

        def method(self): ...

    assert surface.undocumented(module_with(Base=Base, Derived=Derived), ours=["planted"]) == []


def test_objects_of_other_packages_are_not_judged():
    module = module_with()
    module.__all__, module.pair = ["pair"], namedtuple("pair", "x y")
    assert surface.undocumented(module, ours=["planted"]) == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1\n", "no module docstring"),
        ('"""Kernel selection"""\n', "ends without a full stop: 'Kernel selection'"),
        ('"""This module selects kernels."""\n', "starts with 'This module'"),
    ],
)
def test_a_module_that_does_not_say_what_it_gives_is_reported(tmp_path, source, words):
    good = '"""Kernel selection.\n\nMore.\n"""\n'
    files = {"opsdk/__init__.py": good, "opsdk/good.py": good, "opsdk/bad.py": source}
    (violation,) = surface.module_docstring_problems(plant(tmp_path, files))
    assert violation.startswith("opsdk/bad.py: ")
    assert words in violation

import inspect

import pytest

from opsdk.core.origin import origin_of
from opsdk.core.written import entry, written


def made(**options):
    """A function of two numbers under another name."""
    factor = 10
    return written(
        lambda a, b: a * factor + b, "tens", {"left": "int", "right": "int"}, module="planted", doc="Tens.", **options
    )


def test_what_is_made_speaks_under_its_name():
    function = made()
    assert function(right=2, left=1) == 12
    assert (function.__name__, function.__qualname__, function.__module__) == ("tens", "tens", "planted")
    assert (function.__doc__, str(inspect.signature(function))) == ("Tens.", "(left: 'int', right: 'int')")
    with pytest.raises(TypeError, match=r"^tens\(\) missing 1 required positional argument: 'right'"):
        function(1)


def test_defaults_are_of_the_last_parameters():
    assert made(defaults=(7,))(1) == 17


def test_a_method_has_its_class_in_front_of_its_name_and_itself_first():
    def own(self, by):
        product = self * by
        return product

    method = written(own, "Number.times", {"factor": "int"}, module="planted", doc="", self=True)
    assert (method.__name__, method.__qualname__) == ("times", "Number.times")
    assert list(inspect.signature(method).parameters) == ["self", "factor"]
    assert method(3, factor=2) == 6


def test_its_source_is_the_entry_that_it_was_made_of():
    def table():
        return entry()

    here, line = table(), inspect.currentframe().f_lineno
    made_of = origin_of(made(origin=here))
    assert (made_of.file, made_of.line) == (here.file, here.line)
    assert (here.file, here.line, here.module) == (__file__, line, __name__)

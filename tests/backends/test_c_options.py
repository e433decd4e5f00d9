import re

import pytest

from opsdk.backends.c_options import c_options
from opsdk.core.errors import DefinitionError


def read(**given):
    return c_options("row", given, "/here", ("x", "index"))


def test_the_defaults_give_contiguous_arrays_and_say_so_when_that_costs():
    options = read()
    assert (options.contiguous, options.openmp, options.flags) == (None, False, ())


@pytest.mark.parametrize("given", [{"A": None, "B": 2}, ["A", "B=2"], ("A", "B=2")])
def test_macros_are_a_dict_or_a_list(given):
    assert read(define=given).define == ("A", "B=2")


def test_dtypes_are_named_as_elsewhere():
    assert read(dtypes={"index": int}).dtypes == (("index", "int64"),)


def test_openmp_is_an_option_or_a_flag():
    assert [read(**g).uses_openmp for g in ({}, {"openmp": True}, {"flags": ["-fopenmp"]})] == [False, True, True]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"flag": "-O1"}, "row: option 'flag' is none of a C row's; there are flags, "),
        ({"flags": "-O1"}, "row: flags expected a list of texts, got '-O1'"),
        ({"flags": 3}, "row: flags expected a list of texts, got 3"),
        ({"libraries": [3]}, "row: libraries expected a list of texts, got [3]"),
        ({"define": "A"}, "row: define expected a list of texts, got 'A'"),
        ({"openmp": 1}, "row: openmp expected True or False, got 1"),
        ({"checks": "yes"}, "row: checks expected True or False, got 'yes'"),
        ({"contiguous": "no"}, "row: contiguous expected True or False, got 'no'"),
        ({"dtypes": ["index"]}, "row: dtypes expected a dict from inputs to dtypes, got ['index']"),
        ({"dtypes": {"i": "int64"}}, "row: dtypes names 'i', which is no input; there are x, index"),
        ({"dtypes": {"index": "int63"}}, "row: dtypes['index']: dtype: expected one of bool, "),
    ],
)
def test_what_is_no_option_is_refused_at_registration(given, message):
    with pytest.raises(DefinitionError, match=re.escape(message)):
        read(**given)

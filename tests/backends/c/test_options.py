import re
from fractions import Fraction

import numpy as np
import pytest

from opsdk.backends.c.options import c_options
from opsdk.core.errors import DefinitionError


def read(**given):
    return c_options("row", given, "/here", ("x", "index"))


def test_the_defaults_give_contiguous_arrays_and_say_so_when_that_costs():
    options = read()
    assert (options.contiguous, options.openmp, options.flags) == (None, False, ())


@pytest.mark.parametrize("given", [{"A": None, "B": 2}, ["A", "B=2"], ("A", "B=2")])
def test_macros_are_a_dict_or_a_list(given):
    assert read(define=given).define == ("A", "B=2")


@pytest.mark.parametrize(
    ("value", "written"),
    [(True, "1"), (False, "0"), (np.bool_(True), "1"), (64, "64"), (-3, "-3"), (2**64 - 1, "18446744073709551615u"),
     (np.int8(7), "7"), (0.1, "0.1"), (1e-7, "1e-07"), (np.float32(0.1), "0.10000000149011612"), ("a + b", "a + b")],
)  # fmt: skip
def test_a_macro_is_the_number_that_it_was_given(value, written):
    assert read(define={"A": value}).define == (f"A={written}",)


@pytest.mark.parametrize("value", [1j, 2**64, -(2**63), Fraction(1, 3), float("inf"), [1]])
def test_what_c_cannot_write_as_a_number_is_no_macro(value):
    with pytest.raises(DefinitionError, match=r"define\['A'\] expected a number that C can write, or a text"):
        read(define={"A": value})


def test_words_may_come_from_a_generator():
    assert read(flags=(word for word in ["-O1", "-g"])).flags == ("-O1", "-g")


def test_dtypes_are_named_as_elsewhere():
    assert read(dtypes={"index": int}).dtypes == (("index", ("int64",)),)


def test_openmp_is_an_option_or_a_flag():
    assert [read(**g).uses_openmp for g in ({}, {"openmp": True}, {"flags": ["-fopenmp"]})] == [False, True, True]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"flag": "-O1"}, "row: expected an option of a C kernel, got 'flag'; there are flags, "),
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

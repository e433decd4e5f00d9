import collections.abc
import math
import typing
from typing import Annotated, Literal

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import SchemaError
from opsdk.define.schema.annotation import annotation_of, attribute_type
from opsdk.define.schema.attr_type import AttrType

UNIT = opsdk.Range(0, 1, inclusive="left")
Rate = Annotated[float, UNIT]


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (float, "float"),
        ("float", "float"),
        (np.dtype, "dtype"),
        ("np.dtype", "dtype"),
        ("numpy.dtype | None", "dtype?"),
        (int | None, "int?"),
        ("None | int", "int?"),
        (typing.Optional[int], "int?"),  # noqa: UP045 - users write it
        ("Optional[str]", "str?"),
        (list[int], "int[]"),
        (typing.List[float], "float[]"),  # noqa: UP006
        (tuple[int, ...], "int[]"),
        (collections.abc.Sequence[bool], "bool[]"),
        ("collections.abc.Sequence[int] | None", "int[]?"),
        ("list[np.dtype]", "dtype[]"),
        (dict, None),
        ("list[int | None]", None),
        ("Tensor", None),
        ([], None),
        (tuple[int, int], "int[2]"),
        (tuple[int, str], None),
        (typing.Tuple[int, str], None),  # noqa: UP006 - users write it
        ("Tuple[int, str]", None),
        ("tuple[int, ...] | None", "int[]?"),
    ],
)
def test_an_annotation_stands_for_a_type_of_the_schema_language_or_for_none(annotation, kind):
    assert attribute_type(annotation) == (None if kind is None else AttrType.of(kind))


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (Literal["linear", "cubic"], "'linear' | 'cubic'"),
        ('typing.Literal["a", "b"] | None', "('a' | 'b')?"),
        (typing.Optional[Literal["a", None]], "('a')?"),  # noqa: UP045 - users write it
        (Literal[1, 2], "1 | 2"),
        (Literal[1.5, 2.0], "1.5 | 2.0"),
        (Literal[1, 2.5, math.inf], "1.0 | 2.5 | inf"),
        ("Literal[-math.inf, 0.5] | None", "(-inf | 0.5)?"),
        ("Literal[True, False]", "bool"),
        (list[Literal["a", "b"]], "('a' | 'b')[]"),
        ('tuple[Literal["a", "b"], Literal["a", "b"]] | None', "('a' | 'b')[2]?"),
        (Rate, "0 <= float < 1"),
        ("Annotated[float, opsdk.Range(0, 1, inclusive='left')]", "0 <= float < 1"),
        ("Annotated[float, Range(-math.inf, np.inf, inclusive='neither')]", "-inf < float < inf"),
        ("Annotated[int, opsdk.Range(1, None)]", "int >= 1"),
        (Annotated[int, opsdk.Range(high=-1)] | None, "int? <= -1"),
        ("Annotated[int | None, opsdk.Range(1)]", "int? >= 1"),
        ("list[Annotated[float, opsdk.Range(0, inclusive='neither')]]", "float[] > 0"),
        (Annotated[tuple[float, ...], UNIT], "0 <= float[] < 1"),
        (Annotated[float, "metres"], "float"),
        (tuple[float, float, float], "float[3]"),
        ("int | tuple[int, int]", "int[2]"),
        ("tuple[float, float] | float | None", "float[2]?"),
        ("int | list[int]", "int[]"),
        ("float | list[float]", None),
        ("tuple[int, list[int]]", None),
        ("Literal[1.5]", "1.5"),
        ("Literal[FIRST]", None),
        ("Literal[None]", None),
        ("Annotated[float, opsdk.Range(LEAST)]", None),
        ("int |", None),
    ],
)
def test_choices_ranges_and_lengths_are_read(annotation, kind):
    assert attribute_type(annotation) == (None if kind is None else AttrType.of(kind))


def test_a_name_that_stands_for_an_annotation_is_looked_up_where_the_function_is():
    assert attribute_type("Rate", {"Rate": Rate}) == AttrType.of("0 <= float < 1")
    assert attribute_type("Rate", {}) is None
    assert attribute_type("Rate", {"Rate": "Rate"}) is None
    op = opsdk.op(name="f", namespace="t")(with_rate)
    assert op.schema == "t::f@1(Tensor x, *, 0 <= float < 1 p=0.5) -> Tensor y"


def with_rate(x, *, p: "Rate" = 0.5):
    return x * p


def test_a_range_that_is_none_is_refused_where_it_is_annotated():
    with pytest.raises(SchemaError, match="expected numbers between the bounds, got none between 1 and 0"):
        attribute_type("Annotated[float, opsdk.Range(1, 0)]")


@pytest.mark.parametrize(
    "kind", ["int", "int[2]?", "0 <= float < 1", "int[] > 0", "'a' | 'b'", "('a' | 'b')[2]?", "1.5 | inf", "dtype"]
)
def test_what_a_signature_says_of_a_type_reads_as_that_type(kind):
    assert attribute_type(annotation_of(AttrType.of(kind))) == AttrType.of(kind)


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (collections.abc.Callable, "Callable"),
        (typing.Callable[[float], float], "Callable"),
        ("Callable[..., np.ndarray]", "Callable"),
        ("collections.abc.Callable[[int, list[int]], int] | None", "Callable?"),
        (list[collections.abc.Callable[..., int]], "Callable[]"),
    ],
)
def test_a_callable_is_read_whatever_it_takes_and_gives(annotation, kind):
    assert str(attribute_type(annotation)) == kind

import pytest

from opsdk.core.errors import TargetError
from opsdk.ship.targets.keyword import matcher

NAMES = ("ops::snake", "ops::soft_dtw", "contrib::Segment_sum", "contrib::segment_softmax")


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ("snake", [0]),
        ("SEG", [2, 3]),
        ("contrib and not softmax", [2]),
        ("snake or soft", [0, 1, 3]),
        ("not (snake or soft)", [2]),
        ("snake or contrib and sum", [0, 2]),
        ("ops::", [0, 1]),
        ("not not snake", [0]),
    ],
)
def test_words_fit_names_that_have_them_and_bind_as_in_python(text, fitting):
    fits = matcher(text)
    assert [i for i, name in enumerate(NAMES) if fits(name)] == fitting


@pytest.mark.parametrize(
    ("text", "at"),
    [("", "its end"), ("a and", "its end"), ("(a", "its end"), ("a b", "b"), ("a )", r"\)"), ("or a", "or")],
)
def test_what_is_no_expression_is_refused(text, at):
    with pytest.raises(TargetError, match=rf"-k: expected words joined by and, or, not .* got '.*', wrong at {at}"):
        matcher(text)

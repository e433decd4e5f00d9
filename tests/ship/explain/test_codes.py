import pytest

from opsdk.core import errors
from opsdk.core.errors import OpsdkError, TargetError
from opsdk.ship.explain.codes import TEXTS, codes, explained


def test_every_code_of_every_error_class_is_explained():
    classes = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, OpsdkError)]
    for cls in classes:
        if cls is not OpsdkError:
            assert explained(cls.default_code).startswith(f"{cls.default_code} ")


def test_no_text_explains_a_code_that_nothing_raises():
    assert set(TEXTS) <= set(codes())


def test_a_page_starts_with_code_class_and_sentence():
    page = explained("op210")
    assert page.splitlines()[0] == "OP210 GradientMissingError: A gradient was asked for and the op has no backward."
    assert "@clip01.backward" in page


def test_lines_fit_a_terminal():
    assert max(len(line) for code in codes() for line in explained(code).splitlines()) <= 120


def test_an_unknown_code_lists_the_known():
    with pytest.raises(TargetError, match="explain: expected an error code, got 'nonsense'; codes: OP101, OP102"):
        explained("nonsense")


def test_the_letters_of_a_code_may_be_left_out():
    assert explained("203") == explained("OP203")

import inspect
import re

import pytest

from opsdk.core import errors
from opsdk.core.errors import AttributeValueError, KernelNotFoundError, OpsdkError, UnknownOpError, attach_note

CLASSES = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, OpsdkError) and kind is not OpsdkError
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_is_also_a_builtin_that_a_caller_would_catch(kind):
    builtin = (ValueError, TypeError, LookupError, RuntimeError, AssertionError, ImportError)
    assert any(issubclass(kind, expected) for expected in builtin)


def test_no_two_error_classes_share_a_code():
    codes = [kind.default_code for kind in CLASSES]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_code_lies_in_one_of_the_five_ranges(kind):
    assert re.fullmatch(r"OP[1-5]\d\d", kind.default_code)


def test_notes_stand_in_the_fixed_order_whatever_the_order_given():
    error = OpsdkError("text", help="h", because="b", defined="d", at="a")
    assert [note.split()[0] for note in error.__notes__] == ["at", "defined", "because", "help", "code"]


def test_a_fact_that_is_empty_gives_no_note():
    assert OpsdkError("text", help="").__notes__ == ["  code     OP000"]


def test_the_text_of_a_lookup_error_is_the_message_and_not_its_repr():
    assert str(UnknownOpError("op 'relo': not registered")) == "op 'relo': not registered"


def test_a_code_of_its_own_takes_the_place_of_the_default():
    error = KernelNotFoundError("text", code="OP299")
    assert (error.code, error.__notes__[-1]) == ("OP299", "  code     OP299")


def test_details_are_kept_for_machines():
    assert AttributeValueError("text", details={"got": 3}).details == {"got": 3}


def test_details_are_an_empty_dict_where_there_are_none():
    assert OpsdkError("text").details == {}


def test_an_error_without_arguments_has_an_empty_text():
    error = OpsdkError("text")
    error.args = ()
    assert str(error) == ""


def test_a_note_can_be_attached_to_an_exception_that_cannot_take_notes_itself():
    class Old(Exception):
        add_note = property()  # Python 3.10: hasattr is False

    error = Old("text")
    attach_note(error, "first")
    attach_note(error, "second")
    assert error.__notes__ == ["first", "second"]

"""Repeats: what is declared of an op that two runs of differ."""

import pytest

import opsdk
from opsdk.core.errors import DefinitionError
from opsdk.define.determinism import Repeats


def test_eight_repeats_are_enough_and_a_count_is_kept():
    assert Repeats(8).count == 8
    assert Repeats(64) == Repeats(64) != Repeats(65)


def test_an_op_with_repeats_is_not_deterministic():
    assert not Repeats(64)
    assert opsdk.Repeats is Repeats


@pytest.mark.parametrize("count", [0, 7, -8, 2.5, 8.0, True, "8", None])
def test_too_few_repeats_and_what_is_no_integer_are_refused(count):
    with pytest.raises(DefinitionError) as refused:
        Repeats(count)
    assert str(refused.value).startswith(f"Repeats: expected an integer ≥ 8, got {count!r}; 64 give a bar of percents")

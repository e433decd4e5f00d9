"""What an op promises of its values: the names that a domain takes, and reasons."""

import pytest

from gradcheck import domain
from opsdk.define.traits import named_by, reasons_in


def up_to(lengths, emissions, *, slack=0):
    return lengths


@pytest.mark.parametrize(
    ("declared", "names"),
    [
        ((0.0, 1.0), ()),
        (domain.symmetric, ()),
        (domain.positions(of="emissions", axis=1), ("emissions",)),
        (up_to, ("emissions",)),
        (lambda x: x, ()),
    ],
    ids=["a pair", "a set", "positions", "a function of another input", "a function of its own"],
)
def test_a_domain_takes_the_inputs_that_it_names_without_a_default(declared, names):
    assert named_by(declared) == names


def test_reasons_are_those_of_a_mapping():
    assert reasons_in({"rstd": "saved for the backward"}) == {"rstd": "saved for the backward"}
    assert reasons_in(("rstd",)) == {}

"""A surrogate is part of what an op is."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import BindingError, DefinitionError


def define(surrogate, **options):
    return opsdk.op(name="quantise", namespace="planted", surrogate=surrogate, **options)(forward)


def forward(x, *, bits: int = 2):
    return np.round(x * bits) / bits


def straight(x, *, bits):
    return x


def scaled(factor):
    def surrogate(x, *, bits):
        return factor * x

    return surrogate


def test_a_function_is_kept_as_it_is():
    assert define(straight).opdef.traits.surrogate is straight


def test_the_digest_follows_the_code_of_the_surrogate():
    digests = [define(made, replace=True).opdef.digest for made in (True, False, straight, scaled(2), scaled(3))]
    assert len(set(digests)) == 5
    assert define(scaled(2), replace=True).opdef.digest == digests[3]


def test_the_digest_of_a_closure_is_that_of_its_definition():
    factors = [2.0]

    def surrogate(x, *, bits):
        return factors[0] * x

    first = define(surrogate).opdef
    factors[0] = 3.0
    assert define(surrogate, replace=True).opdef.digest != first.digest


def test_the_same_definition_from_elsewhere_is_the_same_op():
    assert define(straight) is define(straight)


def test_a_surrogate_with_other_parameters_is_refused():
    with pytest.raises(BindingError, match=r"op 'planted::quantise', surrogate .*expected a parameter 'bits'"):
        define(lambda x: x)
    with pytest.raises(BindingError, match=r"op 'planted::quantise', surrogate"):
        define(lambda x, bits, more: x)


def test_a_surrogate_that_is_no_function_is_refused():
    expected = r"op 'planted::quantise': surrogate expected a function or True, got 'identity'; pass the function whose"
    with pytest.raises(DefinitionError, match=expected):
        define("identity")

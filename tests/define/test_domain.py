import re

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DefinitionError
from opsdk.define.domain import lies_inside


def refused(domain):
    with pytest.raises(DefinitionError) as caught:
        opsdk.op("t::scaled(Tensor x, *, float by=1.0, int? n=None, str mode='plain') -> Tensor y", domain=domain)(
            lambda x, by, n, mode: by * x
        )
    return str(caught.value)


@pytest.mark.parametrize("domain", ["x", (0, 1), 3])
def test_a_domain_that_is_no_mapping_is_refused(domain):
    assert refused(domain) == (
        f"op 't::scaled', domain: expected a mapping from names to (least, greatest), got {domain!r}; "
        'write domain={"x": (0.0, None)}'
    )


@pytest.mark.parametrize("name", ["z", "y", "mode"])
def test_a_domain_names_inputs_and_numeric_attributes_only(name):
    assert refused({name: (0, None)}) == (
        f"op 't::scaled', domain: expected names of inputs or of int and float attributes, got {name!r}; "
        "it may name x, by, n"
    )


@pytest.mark.parametrize("bounds", [3, (0,), ("a", 1), None, "ab"])
def test_bounds_are_two_numbers_or_none(bounds):
    assert refused({"x": bounds}) == (
        "op 't::scaled', domain of 'x': expected (least, greatest), each a number or None, "
        f"got {bounds!r}; write (0.0, None)"
    )


def test_nan_is_no_bound():
    assert refused({"x": (0, float("nan"))}) == (
        "op 't::scaled', domain of 'x': expected numbers, got (0, nan); None stands for no bound"
    )


def test_bounds_in_the_wrong_order_are_refused():
    assert refused({"by": (1, 0)}) == (
        "op 't::scaled', domain of 'by': expected least ≤ greatest, got (1, 0); write (0, 1)"
    )


def test_every_way_to_define_an_op_checks_its_domain():
    for decorator in (opsdk.elementwise, opsdk.rowwise):
        with pytest.raises(DefinitionError, match=re.escape("domain: expected a mapping from names to (least")):
            decorator(name="f", namespace="t", domain="x")(lambda x: x * 2)


def test_a_domain_of_inputs_and_attributes_is_kept():
    op = opsdk.op("t::f(Tensor x, *, float by=1.0) -> Tensor y", domain={"x": [0, 1], "by": (0.0, None)})
    assert op(lambda x, by: by * x).opdef.traits.domain == {"x": (0, 1), "by": (0.0, None)}


def test_bounds_belong_to_the_domain():
    inside = [lies_inside(value, (0, 1)) for value in (-0.1, 0, np.float64(0.5), 1, 1.1)]
    assert inside == [False, True, True, True, False]
    assert lies_inside(-1e300, (None, None))

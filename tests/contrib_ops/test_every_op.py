"""Every op of contrib_ops is proven by being registered."""

import re
from pathlib import Path

import numpy as np
import pytest

import contrib_ops
import opsdk
from opsdk.core.nested import flat
from tests.contrib_ops.proof import PLAIN, SLOW, SWEPT, named, ops_of

pytest.importorskip("numba")

# Ops whose outputs say where or which, not how much: what a gradient would be of does not exist.
WITHOUT_GRADIENT = {"contrib::fused_adamw", "contrib::nms", "contrib::nonzero", "contrib::unique"}
SOURCE = re.compile(r"\b(19|20)\d\d\b|`torch\w*\.")  # the year of a paper, or the function that it is that of
PUBLIC = [value for value in vars(contrib_ops).values() if isinstance(value, opsdk.Op)]


def test_what_the_package_shows_is_registered_in_its_namespace_under_that_name():
    assert PUBLIC
    assert {f"contrib::{op.__name__}" for op in PUBLIC} <= {op.opdef.name for op in PLAIN}


@named(PUBLIC)
def test_its_docstring_says_where_it_comes_from_what_it_takes_and_what_its_gradient_is(op):
    assert SOURCE.search(op.opdef.doc)
    assert "Args:" in op.opdef.doc
    assert re.search(r"[Gg]radient|differentiable", op.opdef.doc)


@named(PLAIN)
def test_it_has_samples_with_reasons_and_a_docstring(op, rng):
    assert op.opdef.doc
    assert op.opdef.samples is not None
    assert all(sample.reason for sample in op.opdef.samples(rng))


@named(PLAIN)
def test_it_has_a_gradient_or_says_that_it_has_none(op):
    carries = bool(op.opdef.differentiable_inputs())
    outputs = [decl for decl in op.opdef.schema.outputs if decl.name not in op.opdef.traits.nondifferentiable]
    if op.opdef.name in WITHOUT_GRADIENT:
        assert op.grad is None
        assert not (carries and outputs)
    else:
        assert op.grad is not None or op.opdef.is_composite


def test_every_op_is_proven_in_the_tests_of_its_family():
    files = Path(__file__).parent.glob("*/test_proof.py")
    proven = {op.opdef.name for file in files for op in ops_of(file.parent.name)}
    assert {op.opdef.name for op in PLAIN} - proven == set()


def test_every_family_has_an_op_that_is_proven_with_every_run():
    families = {file.parent.name for file in Path(__file__).parent.glob("*/test_proof.py")}
    assert {family for family in families if {op.opdef.name for op in ops_of(family)} <= SLOW} == SWEPT
    assert {op.opdef.name for op in PLAIN} >= SLOW


@named([op for op in PLAIN if op.opdef.bench is not None])
@pytest.mark.parametrize("n", [1, 1 << 14, 1 << 17])
def test_what_is_timed_is_a_call_of_about_as_many_elements(op, n, rng):
    sample = op.opdef.bench(rng, n)
    made = op(*sample.inputs, **sample.attrs)  # held to the value check, and to shapes as inferred
    assert all(np.isfinite(y).all() for y in (made if isinstance(made, tuple) else (made,)))
    largest = max(np.size(value) for value in flat(sample.inputs))
    if n > 1 and op.__name__ != "nms":  # quadratic
        assert n / 2 < largest <= max(1.1 * n, 160_000)  # a map of roi_align has that many

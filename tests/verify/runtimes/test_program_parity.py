"""Ops are tried in Programs that know none of their sizes."""

import opsdk
from opsdk.verify import verify


def rows(rng):
    yield opsdk.Sample(rng.normal(size=(3, 5)), reason="matrix")


def per_row(x):
    return opsdk.TensorSpec(x.shape[:-1], x.dtype)


def of_rows(define, body):
    op = define(body, composite=True)
    op.infer(per_row)
    op.samples(rows)
    return op


def test_a_composite_that_computes_with_a_size_is_noted_to_need_known_ones(define):
    report = verify(of_rows(define, lambda x: x.sum(axis=-1) / x.shape[-1]))
    told = "planted::f: in a Program it needs known sizes: size 1 of 'in0': expected a number"
    assert any(note.startswith(told) for note in report.coverage.notes)


def test_a_composite_that_makes_a_number_of_an_inner_open_size_is_found(define):
    report = verify(of_rows(define, lambda x: x.sum(axis=-1) / int(str(x.shape[-1]))))
    assert {finding.check for finding in report.findings} == {"static.y", "static.dx"}


def test_a_composite_that_leaves_sizes_to_ops_needs_none(define):
    report = verify(of_rows(define, lambda x: x.mean(axis=-1) + 0.0))
    assert report.verdict == "pass"
    assert not any("needs known sizes" in note for note in report.coverage.notes)

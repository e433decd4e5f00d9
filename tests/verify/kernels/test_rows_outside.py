"""What `verify` says of an op that gives nan at samples that nobody chose."""

import numpy as np

import opsdk


def root_of(**options):
    @opsdk.op("t::root(Tensor x) -> Tensor y", **options)
    def root(x):
        return np.sqrt(x)

    @root.backward
    def root_grad(y, dy):
        return 0.5 * dy / y

    return root


def notes_on_nan(op):
    return [text for text in opsdk.verify(op).coverage.warnings if "nan" in text]


def test_it_says_once_where_the_op_gives_nan_and_what_to_declare():
    report = opsdk.verify(root_of())
    (note,) = [text for text in report.coverage.warnings if "nan" in text]
    assert note.startswith("t::root: gives nan in ")
    assert " of 15 elements of sample (float64(3, 5)) matrix, with an exact 0, first at x[" in note
    assert "] = -" in note
    assert note.endswith("; nothing is judged there, declare domain={'x': (low, high)}")
    assert report.verdict == "pass"


def test_it_says_nothing_where_the_domain_is_declared():
    assert notes_on_nan(root_of(domain={"x": (0.0, None)})) == []


def test_it_says_nothing_of_samples_that_the_author_chose():
    root = root_of()

    @root.samples
    def root_samples(rng):
        yield opsdk.Sample(np.array([-1.0, 4.0]), reason="nan below 0")

    assert notes_on_nan(root) == []


def test_an_output_of_another_shape_has_no_place_to_show():
    @opsdk.op("t::first(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec((), x.dtype))
    def first(x):
        return np.sqrt(x.sum() - 1e6) * 0 + x.sum()

    (note,) = notes_on_nan(first)
    assert "matrix, with an exact 0; nothing is judged there" in note

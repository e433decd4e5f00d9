"""What `verify` says of an op whose compiled kernel takes positions, or shapes, that the reference refuses."""

import numpy as np
import pytest

import opsdk

TAKE = "t::take(Tensor x, Tensor<int> index) -> Tensor y"


def take(forward=lambda x, index: x[index]):
    op = opsdk.op(TAKE, domain={"index": opsdk.domain.positions(of="x")})(forward)
    op.infer(lambda x, index: opsdk.TensorSpec(index.shape, x.dtype))
    op.samples(lambda rng: [opsdk.Sample(rng.random(5), np.array([4, 0]), reason="plain")])
    return op


def compiled(op):
    def take_numba(x, index, y):
        for i in range(index.size):
            y[i] = x[index[i]]

    op.kernel("cpu", take_numba, language="numba")
    return op


def told(op):
    report = opsdk.verify(op)
    assert report.findings == ()
    return [text for text in report.coverage.warnings if "position" in text]


def test_it_warns_where_nothing_refuses_a_position_outside_before_a_compiled_kernel_runs():
    assert told(compiled(take())) == [
        "t::take: a position in 'index' outside of 'x' is refused by the reference, and by nothing before its numba "
        "kernel runs, which may read beyond its arrays; refuse it in @take.check"
    ]


@pytest.mark.parametrize("form", ["a check", "no compiled kernel", "a reference that takes all"])
def test_it_says_nothing_where_a_position_outside_does_no_harm(form):
    op = take(lambda x, index: np.take(x, index, mode="clip")) if form == "a reference that takes all" else take()
    if form != "no compiled kernel":
        compiled(op)
    if form == "a check":
        op.check(lambda x, index: None if (index < len(x)).all() else f"index expected below {len(x)}, got {index}")
    assert told(op) == []


GAIN = "t::gain(Tensor k, Tensor w) -> Tensor y"
GAIN_C = """
int32_t gain_f64(const DLTensor *k, const DLTensor *w, DLTensor *y) {
  const int64_t n = k->shape[1];
  for (int64_t i = 0; i < opsdk_size(k); ++i)
    OPSDK_DATA(double, y)[i] = OPSDK_DATA(const double, k)[i] * OPSDK_DATA(const double, w)[i % n];
  return 0;
}
"""


def scaled(k, w):
    if w.shape != k.shape[-1:]:
        raise ValueError(f"w expected {k.shape[-1:]}, got {w.shape}")
    return k * w


def gain(forward=scaled, **options):
    op = opsdk.op(GAIN, infer=opsdk.infer.like("k"), **options)(forward)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(4, 3)), rng.normal(size=3), reason="rows")])
    return op


def gain_loop(k, w, y):
    for i in range(k.shape[0]):
        for j in range(k.shape[1]):
            y[i, j] = k[i, j] * w[j]


def gain_asking(k, w, y):
    if w.shape[0] != k.shape[1]:
        raise ValueError("w")
    for i in range(k.shape[0]):
        for j in range(k.shape[1]):
            y[i, j] = k[i, j] * w[j]


def gain_by_one(k, w, y):
    for i in range(k.shape[0]):
        for j in range(k.shape[1]):
            y[i, j] = k[i, j] * w[j % w.shape[0]]


def shapes_told(op):
    report = opsdk.verify(op)
    assert report.findings == ()
    return [text for text in report.coverage.warnings if "beyond its arrays" in text]


def test_it_warns_of_an_input_that_is_too_short_and_that_nothing_refuses_before_a_compiled_kernel_reads_it():
    op = gain()
    op.kernel("cpu", gain_loop, language="numba")
    assert shapes_told(op) == [
        "t::gain: 'w' of (2,) beside 'k' of (4, 3) is refused by the reference, and by nothing before its numba kernel "
        "runs, which reads beyond its arrays; say shapes in domain=, or refuse it in @gain.infer or @gain.check"
    ]


def test_of_a_kernel_in_c_nobody_knows_what_it_reads_there():
    op = gain()
    op.kernel("cpu", language="c", dtype="float64", source=GAIN_C)
    assert shapes_told(op) == [
        "t::gain: 'k' of (4, 2) beside 'w' of (3,) is refused by the reference, and by nothing before its c kernel "
        "runs, which may read beyond its arrays; say shapes in domain=, or refuse it in @gain.infer or @gain.check",
        "t::gain: 'w' of (2,) beside 'k' of (4, 3) is refused by the reference, and by nothing before its c kernel "
        "runs, which may read beyond its arrays; say shapes in domain=, or refuse it in @gain.infer or @gain.check",
    ]


def test_it_warns_where_the_reference_broadcasts_what_a_kernel_reads_beyond():
    op = gain(lambda k, w: k * w)
    op.infer(lambda k, w: k if w.shape[0] in (1, None, k.shape[1]) else 1 / 0, replace=True)
    op.kernel("cpu", gain_loop, language="numba")
    assert shapes_told(op) == [
        "t::gain: 'w' of (1,) beside 'k' of (4, 3) is taken by the reference, while its numba kernel reads beyond its "
        "arrays; say shapes in domain=, or refuse it in @gain.infer or @gain.check"
    ]


@pytest.mark.parametrize(
    "form", ["an infer rule", "a check", "a domain", "a kernel that refuses", "a kernel that stays inside"]
)
def test_it_says_nothing_of_shapes_that_do_no_harm(form):
    shape = opsdk.domain.shape
    op = gain(domain={"k": shape("N", "M"), "w": shape("M")} if form == "a domain" else {})
    kernels = {"a kernel that refuses": gain_asking, "a kernel that stays inside": gain_by_one}
    op.kernel("cpu", kernels.get(form, gain_loop), language="numba")
    if form == "an infer rule":
        op.infer(lambda k, w: k if w.shape[0] in (None, k.shape[1]) else 1 / 0, replace=True)
    if form == "a check":
        op.check(lambda k, w: None if w.shape == k.shape[-1:] else f"w expected {k.shape[-1:]}, got {w.shape}")
    assert shapes_told(op) == []

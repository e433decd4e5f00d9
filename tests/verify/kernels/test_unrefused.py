"""What `verify` says of an op whose compiled kernel takes positions, or shapes, that the reference refuses."""

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs.sampling import calls_of
from opsdk.verify.kernels.unrefused import tell_unrefused
from opsdk.verify.session import Session

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


LAST_C = """
int32_t last_f64(const DLTensor *x, const DLTensor *lengths, DLTensor *y) {
  for (int64_t b = 0; b < x->shape[0]; ++b)
    OPSDK_DATA(double, y)[b] = OPSDK_DATA(const double, x)[b * x->shape[1] + OPSDK_DATA(const int64_t, lengths)[b] - 1];
  return 0;
}
"""


def last(**domain):
    """The last of so many elements of each row; what the reference refuses is not 0 by NumPy's doing."""

    def forward(x, lengths):
        if (lengths == 0).any():
            raise IndexError("an empty row has no last element")
        return x[np.arange(len(x)), lengths - 1]

    shape = opsdk.domain.shape
    op = opsdk.op(
        "t::last(Tensor x, Tensor<int> lengths) -> Tensor y",
        domain={"x": shape("B", "T"), "lengths": shape("B") & domain["lengths"] if domain else shape("B")},
    )(forward)
    op.infer(lambda x: opsdk.TensorSpec(x.shape[:1], x.dtype))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 4)), np.array([4, 2, 1]), reason="ragged")])
    op.kernel("cpu", language="c", dtype="float64", dtypes={"lengths": "int64"}, source=LAST_C)
    return op


def test_it_warns_of_a_whole_number_that_the_reference_alone_refuses():
    op = last()
    op.check(lambda x, lengths: None if 0 <= lengths.min() <= lengths.max() <= x.shape[1] else "lengths are wrong")
    assert [text for text in opsdk.verify(op).coverage.warnings if "lengths" in text] == [
        "t::last: lengths[0] = 0 is refused by the reference, and by nothing before its c kernel runs, which may read "
        "beyond its arrays; the reference raises IndexError: an empty row has no last element: say lengths or "
        "positions in domain= and refuse others in @last.check"
    ]


def test_lengths_of_an_axis_are_tried_beyond_it_as_positions_are():
    op = last(lengths=opsdk.domain.lengths(of="x", axis=1))
    assert told(op) == [
        "t::last: a position in 'lengths' outside of 'x' is refused by the reference, and by nothing before its c "
        "kernel runs, which may read beyond its arrays; refuse it in @last.check"
    ]
    op.check(lambda x, lengths: None if 1 <= lengths.min() <= lengths.max() <= x.shape[1] else "lengths are wrong")
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


def of_gradient(op):
    """What is told of the gradient op of an op, whose kernels are never compiled here."""
    session = Session(op.grad.opdef, calls_of(op.grad.opdef, None, 0), 0, 400)
    tell_unrefused(session)
    return list(session.warnings)


def test_a_gradient_op_is_asked_for_positions_too_those_that_its_op_gives_as_well():
    op = opsdk.op("t::least(Tensor x, Tensor<int> index) -> (Tensor y, Tensor at)", nondifferentiable=["at"])(
        lambda x, index: (x[index], np.array([x.argmin()]))
    )
    op.infer(lambda x, index: (opsdk.TensorSpec(index.shape, x.dtype), opsdk.TensorSpec((1,), "int64")))
    op.samples(lambda rng: [opsdk.Sample(rng.random(5), np.array([4, 0]), reason="plain")])

    @op.backward
    def least_grad(x, index, at, dy):
        dx = np.zeros_like(x)
        np.add.at(dx, index, dy)
        return dx + 0 * x[at]

    @op.grad.kernel("cpu", language="numba")
    def least_grad_numba(x, index, at, dy, dx):
        dx[index[0]] = dy[0]

    assert of_gradient(op)[0] == (
        "t::least_grad: a position in 'at' far outside is refused by the reference, and by nothing before its numba "
        "kernel runs, which may read beyond its arrays; refuse it in @least_grad.check"
    )


@pytest.mark.parametrize("is_read", [False, True])
def test_it_warns_of_cotangents_that_nothing_held_to_the_outputs_since_the_rule_asks_what_the_backward_does_not_read(
    is_read,
):
    def infer(x, w):
        if w.shape != x.shape[1:]:
            raise ValueError("w expected one element for each column")
        return opsdk.TensorSpec(x.shape[:1], x.dtype)

    weighed = opsdk.op("t::weighed(Tensor x, Tensor w) -> Tensor y", infer=infer, nondifferentiable=["w"])
    op = weighed(lambda x, w: x @ w)
    op.samples(lambda rng: [opsdk.Sample(rng.random((3, 5)), rng.random(5), reason="plain")])
    if is_read:
        op.backward(lambda x, w, dy: dy[:, None] * w, name="weighed_grad")
    else:
        op.backward(lambda x, dy: dy[:, None] + 0 * x, name="weighed_grad")

    def loop(x, dy, dx):
        for i in range(x.shape[0]):
            dx[i] = dy[i]

    op.grad.kernel("cpu", loop, language="numba")
    told = of_gradient(op)
    assert bool(told) != is_read
    assert is_read or told[0].startswith("t::weighed_grad: 'dy' of (2,) beside 'x' of (3, 5) is refused by the ref")

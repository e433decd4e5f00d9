"""How much rounding a computation may show, told from how its inputs move it."""

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.verify.inputs.calls import Call
from opsdk.verify.kernels.agreement import measure
from opsdk.verify.kernels.rounding import Rounding

EPS = 2.0**-52


def difference(call):
    x, y = call.inputs
    return [x - y]


def test_inputs_that_move_together_may_seem_to_change_nothing_and_one_after_the_other_never():
    call = Call((np.full(1000, 3.0), np.full(1000, 3.0)), {}, "", declared=True)
    (together,) = Rounding(difference, call, EPS, seed=0).together
    (apart,) = Rounding(difference, call, EPS, seed=0).apart
    assert (together == 0).sum() > 200  # a quarter: both draws of both inputs have the same sign
    assert apart.min() >= 5 * EPS  # |dx| + |dy| is 6 of them, but for rounding


def test_inputs_that_are_constant_stay():
    call = Call((np.full(9, 3.0), np.full(9, 2.0)), {}, "", declared=True)
    (apart,) = Rounding(difference, call, EPS, seed=0, constant=[1]).apart
    assert apart.max() <= 4 * EPS  # of 3.0 the step is 3 EPS, and rounds to 4 at most


def test_an_output_of_whole_numbers_moves_by_nothing_that_is_counted():
    call = Call((np.full(9, 3.0),), {}, "", declared=True)
    assert Rounding(lambda there: [there.inputs[0].astype(int)], call, EPS, seed=0).apart == [None]


# Each seed takes ten seconds of a core for derivatives of every sample; roundings by hand stand for them above.
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
def test_a_right_expression_whose_terms_cancel_is_not_blamed_at_any_seed(seed):
    @opsdk.elementwise(namespace="t")
    def gate(x, w):
        return x * vmath.sigmoid(2.0 * (x - w))

    assert opsdk.verify(gate, seed=seed).verdict == "pass"


def test_a_row_that_is_wrong_beside_what_cancels_is_still_found():
    @opsdk.op("t::gap(Tensor x, Tensor w) -> Tensor y", infer=opsdk.infer.broadcast)
    def gap(x, w):
        return x - w

    @gap.kernel("cpu", language="numba", dtype="float64")
    def gap_numba(x, w):
        return (x - w) * (1 + 1e-9)

    @gap.backward
    def gap_grad(dy):
        return dy, -dy

    report = opsdk.verify(gap)
    assert {finding.check for finding in report.findings} == {"value.y"}


def test_what_no_input_can_move_moves_by_nothing():
    for call in (Call((), {}, "", declared=True), Call((np.full(9, 3.0),), {}, "", declared=True)):
        (apart,) = Rounding(lambda there: [np.ones(4)], call, EPS, seed=0, constant=range(len(call.inputs))).apart
        assert apart.tolist() == [0.0] * 4


def test_a_wrong_row_of_an_op_without_inputs_is_a_finding():
    @opsdk.op("t::ones_of(*, int size=4) -> Tensor y", infer=lambda size: opsdk.TensorSpec((size,), "float64"))
    def ones_of(size):
        return np.ones(size)

    @ones_of.kernel("cpu", language="numba")
    def ones_numba(size, y):
        for i in range(size):
            y[i] = 2.0

    (finding,) = [finding for finding in opsdk.verify(ones_of).findings if finding.check == "value.y"]
    assert (finding.analytic, finding.numeric) == (2.0, 1.0)


def test_an_input_that_must_not_move_does_not_keep_the_others_from_it():
    def run(call):
        x, index = call.inputs
        if not (index == np.round(index)).all():
            raise ValueError("index expected whole numbers")
        return [3.0 * x]

    x = np.array([1.0, -2.0])
    (moved,) = Rounding(run, Call([x, np.array([1.0, 2.0])], {}), 1e-7, seed=0).together
    np.testing.assert_allclose(moved, [3e-7, 6e-7])


def four_corners(x, v, dy):
    """The slope of an interpolation between four corners of one colour: none."""
    a = x - np.floor(x)
    out = np.zeros_like(x)
    for weight in (-(1 - a), -a, 1 - a, a):
        out += dy * v * weight
    return out


@pytest.mark.parametrize("columns", [6, 4])  # as the inputs have them, and a shape that none of them has
def test_terms_that_cancel_to_an_exact_0_are_not_blamed_for_rounding_at_any_seed(columns):
    @opsdk.op("t::slope(Tensor x, Tensor v, Tensor dy) -> Tensor y")
    def slope(x, v, dy):
        if x.shape[1] < 6:
            raise ValueError("x expected six columns")
        return four_corners(x, v, dy)[:, :columns]

    slope.infer(lambda x, v, dy: opsdk.TensorSpec((x.shape[0], columns), x.dtype))

    @slope.samples
    def slope_samples(rng):
        for _ in range(4):
            yield opsdk.Sample(*rng.normal(size=(3, 2, 6)), reason="rows")

    for seed in range(12):
        report = opsdk.verify(slope, seed=seed)
        assert report.findings == ()
        assert max(row.worst_error for row in report.rows if row.worst_error is not None) < 1e-5


def test_of_an_exact_0_the_error_is_told_as_it_is():
    found = measure(np.array([1e-3, 4.0]), np.array([0.0, 4.0]), np.zeros(2), EPS)
    assert (found.count, found.index, found.error) == (1, (0,), 1e-3)


def twice_and_back(values, factor):
    """What cancels to 0 at every input, but for the order in which it is added: -3a - 5b + 3a + 5b, beside others."""
    a, b = values[..., 0], values[..., 1]
    gone = -factor * a - 5 * b + factor * a + 5 * b
    return np.stack([gone, a + b], axis=-1)


def test_what_rounding_leaves_of_terms_that_cancel_at_every_input_is_not_asked_of_another_order():
    call = Call((np.random.default_rng(0).normal(size=(40, 2)),), {}, "", declared=True)
    (left,) = Rounding(lambda there: [twice_and_back(there.inputs[0], 3.1)], call, EPS, seed=0).signless
    assert 0 < left[:, 0].max() < 64 * EPS
    assert not left[np.abs(call.inputs[0].sum(axis=1)) > 0.1, 1].any()


# Numbers that leave 1e-16 of a slope that is 0, and whose last places change less than a sixteenth of that.
LEFT = [
    (-0.255790031399391, 0.006271730249736263, -1.9007844918971633),
    (-0.9414132864509847, 0.4467110728501832, 1.0352593349259305),
    (0.05439054435949247, 0.0011772447390161478, -2.660992127169175),
]


def test_a_kernel_that_gives_0_where_the_reference_leaves_rounding_is_right():
    def clamped(x, v, dy):
        """The slope beyond the border of a grid, where both neighbours are one cell: 0, and dy beside it."""
        x, v = x.astype("float64"), v.astype("float64")
        out = np.zeros_like(x)
        for weight in (-8 * (1 - v), -8 * v, 8 * (1 - v), 8 * v):
            out += weight * x
        return np.stack([out * dy, dy]).astype(dy.dtype)

    op = opsdk.op("t::clamped(Tensor x, Tensor v, Tensor dy) -> Tensor y")(clamped)
    op.infer(lambda x, v, dy: opsdk.TensorSpec((2, *x.shape), x.dtype))
    op.samples(lambda rng: [opsdk.Sample(*np.transpose(LEFT), reason="beyond the border")])

    @op.kernel("cpu", language="numba", dtype="float64")
    def clamped_numba(x, v, dy, y):
        y[0], y[1] = 0.0, dy

    assert opsdk.verify(op, level="quick").findings == ()


@pytest.mark.parametrize("factor", [1.0, 0.0])
def test_a_tail_beside_a_large_element_is_judged_whatever_its_size(factor):
    """Small, but of one sign: nothing that rounding decides."""

    @opsdk.op("t::tail(Tensor x) -> Tensor y", infer=lambda x: x)
    def tail(x):
        return np.stack([np.exp(x[..., 0] - 36.0), np.exp(x[..., 1])], axis=-1)

    tail.samples(lambda rng: [opsdk.Sample(rng.normal(size=(5, 2)), reason="a tail of 1e-16")])

    @tail.kernel("cpu", language="numba", dtype="float64")
    def tail_numba(x, y):
        for i in range(x.shape[0]):
            y[i, 0] = factor * np.exp(x[i, 0] - 36.0)
            y[i, 1] = np.exp(x[i, 1])

    report = opsdk.verify(tail, level="quick")
    assert [finding.check for finding in report.findings] == ([] if factor else ["value.y"])

"""The default samples show faults that one small contiguous matrix hides."""

import numpy as np
import pytest

import opsdk
from opsdk.verify import verify
from opsdk.verify.inputs.sampling import calls_of, forward_of


def leaky(x, *, slope: float = 0.1):
    return np.where(x > 0, x, slope * x).astype(x.dtype)


def test_a_slope_that_the_backward_takes_for_its_default_is_found(define):
    right = define(leaky, lambda x, slope, dy: dy * np.where(x > 0, 1, slope).astype(x.dtype))
    assert verify(right).verdict == "pass"
    assert "slope=0.47) another slope" in str(verify(right).coverage.samples)
    assert "slope=-0.47) another slope" in str(verify(right).coverage.samples)


def test_a_backward_for_one_slope_only_fails(define):
    report = verify(define(leaky, lambda x, dy: dy * np.where(x > 0, 1, 0.1).astype(x.dtype)))
    assert report.verdict == "fail"
    assert "slope=0.47" in report.findings[0].sample


def test_a_power_whose_backward_knows_one_exponent_only_fails(define):
    report = verify(define(lambda x, *, n=2: x**n, lambda x, dy: dy * 2 * x))
    assert report.verdict == "fail"
    assert "n=3" in report.findings[0].sample


def test_a_flag_is_tried_both_ways(define):
    report = verify(define(lambda x, *, twice=False: 2 * x if twice else 1 * x, lambda dy: dy * 1))
    assert "twice=True" in report.findings[0].sample


def test_a_varied_attribute_that_the_reference_refuses_is_skipped_and_said(define):
    def scaled(x, *, by: float = 1.0):
        if by < 0:
            raise ValueError("by has to be positive")
        return by * x

    report = verify(define(scaled, lambda by, dy: by * dy))
    assert report.verdict == "pass"
    assert report.coverage.inconclusive == ()
    assert any("by=-2.0) another by refused, ValueError: by has" in entry for entry in report.coverage.skipped)


def test_a_varied_attribute_that_gives_nothing_finite_is_skipped_and_said(define):
    report = verify(define(lambda x, *, eps=0.1: np.sqrt(np.abs(x) + eps) * 1, None))
    assert any("eps=-0.47) another eps refused, its outputs" in entry for entry in report.coverage.skipped)


def test_a_backward_that_forgets_all_but_sixteen_elements_fails(define):
    def backward(x, dy):
        gradient = 2 * x * dy
        if gradient.size > 16:
            gradient.flat[16:] = 0
        return gradient

    report = verify(define(lambda x: x * x, backward))
    assert report.verdict == "fail"
    assert "91 elements" in report.findings[0].sample


def test_a_backward_that_forgets_all_but_sixty_four_elements_fails(define):
    def backward(x, dy):
        gradient = 2 * x * dy
        if gradient.ndim == 1:
            gradient[64:] = 0
        return gradient

    assert "67 elements" in verify(define(lambda x: x * x, backward)).findings[0].sample


@pytest.mark.parametrize(("left", "right"), [((3, 1), (3, 5)), ((1,), (3, 5)), ((), (3, 5)), ((4, 1), (1, 5))])
def test_shapes_broadcast_in_every_way(define, left, right):
    op = define(lambda x, w: x * w, lambda x, w, dy: (dy * w, dy * x), infer=opsdk.infer.broadcast)
    report = verify(op)
    assert report.verdict == "pass"
    assert f"(float64{left}, float64{right}) broadcast" in report.coverage.samples


def test_an_overflow_on_the_way_to_a_finite_value_is_found(define):
    report = verify(define(lambda x: np.log(1 + np.exp(x)), lambda x, dy: dy / (1 + np.exp(-x))))
    assert report.verdict == "fail"
    assert "large magnitudes" in report.findings[0].sample
    stable = define(lambda x: np.logaddexp(x, 0 * x), lambda x, dy: dy / (1 + np.exp(-x)))
    assert [finding.message for finding in verify(stable).findings] == []


def test_a_gradient_that_is_nan_where_the_forward_is_finite_is_found(define):
    def backward(x, dy):
        return dy * np.exp(-x) / (1 + np.exp(-x)) ** 2

    report = verify(define(lambda x: 1 / (1 + np.exp(-x)), backward))
    assert report.verdict == "fail"
    assert "large magnitudes" in report.findings[0].sample


def test_an_op_that_overflows_by_nature_passes(define):
    report = verify(define(lambda x: np.exp(x), lambda y, dy: dy * y))
    assert report.verdict == "pass"
    assert report.coverage.inconclusive == ()


def test_great_magnitudes_stay_inside_the_domain(define):
    op = define(lambda x: np.log(x), lambda x, dy: dy / x, domain={"x": (0.0, None)})
    report = verify(op)
    assert report.verdict == "pass"
    assert "(float64(3,)) large magnitudes" in report.coverage.samples


# Three orders of derivatives are compiled; the second alone is asked for elsewhere.
@pytest.mark.slow
def test_the_derivative_of_a_gradient_is_not_asked_for_where_nothing_of_it_is_left():
    # At x = 30 the third derivative of swish is 3e-12, of terms that cancel and of 1 - sigmoid(30) = 9e-14.
    swish = opsdk.elementwise(lambda x: x * opsdk.vmath.sigmoid(x), name="swish", namespace="t")
    report = verify(swish)
    assert (report.verdict, report.findings) == ("pass", ())


def test_a_default_sample_that_the_infer_rule_refuses_was_a_wrong_guess():
    @opsdk.op(namespace="t")
    def total(x):
        return x - x.mean(axis=-1, keepdims=True)

    @total.infer
    def total_infer(x):
        if not x.shape:
            raise opsdk.core.errors.ShapeError("x expected an axis, got ()")
        return x

    @total.backward
    def total_grad(dy):
        return dy - dy.mean(axis=-1, keepdims=True)

    report = verify(total)
    assert (report.verdict, report.coverage.inconclusive) == ("pass", ())
    assert any("default sample (float64()) 0-d refused, AxisError" in text for text in report.coverage.skipped)


def flipped(axes):
    @opsdk.op(namespace="t")
    def flipped(x):
        return x[(slice(None),) * (axes - 1) + (slice(None, None, -1),)].copy()

    @flipped.infer
    def flipped_infer(x):
        if len(x.shape) != axes:
            raise opsdk.core.errors.ShapeError(f"x expected {axes} axes, got {x.shape}")
        return x

    return flipped


def test_an_op_of_images_is_tried_at_images():
    report = verify(flipped(4))
    assert report.verdict == "pass"
    assert "(float64(2, 4, 8, 8)) four axes" in report.coverage.samples


def test_an_op_whose_infer_rule_refuses_every_default_sample_is_not_judged():
    report = verify(flipped(5))
    assert report.verdict == "inconclusive"
    assert any("@flipped.samples gives others" in text for text in report.coverage.skipped)


def test_the_gradient_of_an_op_that_lost_its_name_is_not_tried_with_the_op_that_has_it(capsys):
    def made(k):
        @opsdk.op(name="made", namespace="t")
        def forward(x):
            return k * x

        forward.backward(lambda dy: k * dy)
        return forward

    old, new = made(2.0), made(3.0)
    assert forward_of(new.grad.opdef) is new.opdef
    assert forward_of(old.grad.opdef) is None
    capsys.readouterr()


def test_the_tensors_of_a_list_are_broadcast_and_have_two_dtypes():
    op = opsdk.op("t::total(Tensor[] xs) -> Tensor y", infer=opsdk.infer.broadcast)(lambda xs: sum(xs))
    calls = [call for call in calls_of(op.opdef, None, 0) if len(call.inputs[0]) == 2]
    shapes = {tuple(x.shape for x in call.inputs[0]) for call in calls if call.reason == "broadcast"}
    assert {((3, 5), (5,)), ((3, 1), (3, 5)), ((4, 1), (1, 5))} <= shapes
    (mixed,) = [call for call in calls if call.reason == "float32 beside float64"]
    assert [x.dtype.name for x in mixed.inputs[0]] == ["float32", "float64"]


def test_attributes_are_varied_without_an_optional_input_whose_default_values_are_refused(define):
    """Positions of two axes, as the stock has them, are refused: what is wrong at another shift hid behind that."""

    @opsdk.op("planted::f(Tensor x, Tensor<int>? index=None, *, int shift=1) -> Tensor y")
    def shifted(x, index, shift):
        if index is not None and index.ndim != 1:
            raise ValueError("index expected one axis")
        return x * shift if index is None else x * shift + float(index.sum())

    shifted.backward(lambda x, dy, shift: dy * 1.5 * shift if shift != 1 else dy * 1)
    report = verify(shifted)
    assert [finding.check for finding in report.findings] == ["vjp.x"]
    assert "None, shift=2) another shift" in report.findings[0].sample


def test_where_a_domain_says_the_shapes_of_inputs_samples_have_them_and_no_call_is_refused(define):
    shape = opsdk.domain.shape

    def projected(x, w, *, k: int = 3):
        return np.einsum("nk,km->nm", x, w)

    def backward(x, w, dy):
        return dy @ w.T, x.T @ dy

    op = define(
        projected, backward, domain={"x": shape("N", "k"), "w": shape("k", "M")},
        infer=lambda x, w: opsdk.TensorSpec([x.shape[0], w.shape[1]], x.dtype),
    )  # fmt: skip
    report = verify(op)
    assert report.verdict == "pass"
    assert not [text for text in report.coverage.skipped if "refused" in text]
    first, second = calls_of(op.opdef, None, 0)[:2]
    assert [array.shape for array in first.inputs] == [(3, 3), (3, 5)]
    assert [array.shape for array in second.inputs] == [(7, 3), (3, 4)]


def drawn(opdef):
    return [tuple(array.shape for array in call.inputs) for call in calls_of(opdef, None, 0)]


def test_what_is_made_of_a_named_length_and_names_for_several_axes_are_drawn_together(define):
    shape = opsdk.domain.shape
    where = {"x": shape("*B"), "w": shape("*B", "K"), "d": shape("*B", "K-1")}
    op = define(lambda x, w, d: x + w.sum(-1) + d.sum(-1), domain=where)
    found = drawn(op.opdef)
    assert found[:6] == [
        ((3,), (3, 5), (3, 4)), ((7,), (7, 4), (7, 3)), ((1,), (1, 1), (1, 0)), ((0,), (0, 4), (0, 3)),
        ((), (2,), (1,)), ((2, 3), (2, 3, 4), (2, 3, 3)),
    ]  # fmt: skip
    assert all(x == w[:-1] == d[:-1] and d[-1] == w[-1] - 1 for x, w, d in found)
    assert "two axes for *B" in [call.reason for call in calls_of(op.opdef, None, 0)]


def test_where_a_name_stands_for_all_axes_they_are_as_many_as_without_a_domain(define):
    op = define(lambda x, y: x + y, domain={"x": opsdk.domain.shape("*B"), "y": opsdk.domain.shape("*B")})
    found = drawn(op.opdef)
    assert [x for x, _ in found[:6]] == [(3, 5), (7, 4), (1, 1), (0, 4), (), (2, 3)]
    assert all(x == y for x, y in found)


def test_any_number_of_axes_is_drawn_as_none_one_and_two(define):
    shape = opsdk.domain.shape
    op = define(lambda x, w: x * w, domain={"x": shape(..., "F"), "w": shape("F")})
    assert {x[:-1] for x, _ in drawn(op.opdef)} >= {(), (2,), (2, 2)}
    assert all(x[-1:] == w for x, w in drawn(op.opdef))


def test_a_gradient_that_keeps_one_of_many_rows_is_found_beside_any_number_of_axes(define):
    def last(x, w, dy):
        rows = (x * dy).reshape(-1, w.size)
        return w * dy, rows[-1] if len(rows) else np.zeros_like(w)

    shape = opsdk.domain.shape
    op = define(lambda x, w: x * w, last, domain={"x": shape(..., "F"), "w": shape("F")})
    assert "vjp.w" in {finding.check for finding in opsdk.verify(op, level="quick").findings}


def test_lengths_are_drawn_from_the_least_on_and_an_attribute_may_leave_none(define):
    shape = opsdk.domain.shape

    def joined(w, d, *, k: int = 0):
        return w.sum() + d.sum()

    op = define(joined, domain={"w": shape("2*K"), "d": shape("K-5", "2*k")})
    assert drawn(op.opdef)[:4] == [((16,), (3, 0)), ((14,), (2, 0)), ((12,), (1, 0)), ((10,), (0, 0))]
    assert {call.attrs.get("k") for call in calls_of(op.opdef, None, 0)} == {None, 1}  # with -1 there is no shape


def halves(x):
    """Products of neighbours; of an odd number there are none."""
    return x[..., ::2] * x[..., 1::2]


def test_an_op_that_refuses_ordinary_lengths_is_tried_at_others(define):
    def grad(x, dy):
        dx = np.empty_like(x)
        dx[..., ::2], dx[..., 1::2] = dy * x[..., 1::2], dy  # the last without its factor
        return dx

    def infer(x):
        if x.ndim < 1 or (x.shape[-1] or 0) % 2:
            raise opsdk.errors.ShapeError(f"op 'planted::f': x expected an even last axis, got {x.shape}")
        return opsdk.TensorSpec((*x.shape[:-1], None if x.shape[-1] is None else x.shape[-1] // 2), x.dtype)

    op = define(halves, grad, infer=infer)
    report = verify(op)
    assert [finding.check for finding in report.findings] == ["vjp.x"]
    assert "(float64(4, 4)) lengths 4" in report.coverage.samples


def test_an_op_that_takes_extreme_samples_alone_is_not_judged_by_them(define):
    def six(x):
        if x.shape not in ((6,), (0, 4)):
            raise ValueError("x expected six elements")
        return x * x

    report = verify(define(six, lambda x, dy: 2 * x * dy))
    told = "planted::f: it refuses every default sample but these: empty, large magnitudes; give it samples: @f.samples"
    assert report.verdict == "inconclusive"
    assert told in report.coverage.inconclusive
    op = opsdk.find_op("planted::f")
    assert verify(op, samples=[opsdk.Sample(np.linspace(1.0, 2.0, 6))]).verdict == "pass"

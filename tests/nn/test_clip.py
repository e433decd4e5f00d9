import numpy as np
import pytest

import opsdk
from opsdk import nn, static
from opsdk.core.errors import AttributeValueError
from opsdk.optimizer import SGD

# three steps of Paddle 3.3.1 from 1 with gradients 0.5, 1, 1.5 and rate 0.1; ClipGradByNorm by hand
CASES = [
    (nn.ClipGradByValue(0.7), 0.0, [0.95, 0.88, 0.81]),
    (nn.ClipGradByValue(0.7), 0.5, [0.9, 0.785, 0.67575]),  # the decay is added after
    (nn.ClipGradByValue(0.9, 0.6), 0.0, [0.94, 0.85, 0.76]),
    (nn.ClipGradByNorm(0.8), 0.0, [0.95, 0.87, 0.79]),
    (nn.ClipGradByGlobalNorm(0.1), 0.0, [0.99, 0.98, 0.97]),
    (nn.ClipGradByGlobalNorm(0.1), 0.5, [0.94, 0.883, 0.82885]),
]


def gradient(parameter, values):
    parameter.grad = opsdk.to_tensor(np.array(values, parameter.dtype))


@pytest.mark.parametrize(("clip", "decay", "expected"), CASES)
def test_three_steps_in_both_runtimes(clip, decay, expected):
    w = nn.Parameter(np.ones(1))
    optimizer = SGD(0.1, parameters=[w], weight_decay=decay, grad_clip=clip)
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None], "float64")
        v = static.create_parameter([1], "float64", attr=nn.initializer.Constant(1.0))
        SGD(0.1, weight_decay=decay, grad_clip=clip).minimize((v * x).sum())
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    for value, after in zip((0.5, 1.0, 1.5), expected, strict=True):
        gradient(w, [value])
        optimizer.step()
        exe.run(main, feed={"x": np.array([value])}, scope=scope)
        assert w.item() == pytest.approx(after, abs=1e-12)
        assert scope.lookup(v.name) == pytest.approx(after, abs=1e-12)


def test_the_norm_is_of_one_gradient_or_of_all_together():
    for clip, expected in ((nn.ClipGradByNorm(1.0), [1.0, 1.0]), (nn.ClipGradByGlobalNorm(1.0), [0.6, 0.8])):
        a, b = nn.Parameter(np.zeros(2)), nn.Parameter(np.zeros(2))
        gradient(a, [3.0, 0.0])
        gradient(b, [0.0, -4.0])
        SGD(1.0, parameters=[a, b], grad_clip=clip).step()
        assert np.allclose(a.numpy(), [-expected[0], 0])
        assert np.allclose(b.numpy(), [0, expected[1]])


def test_a_parameter_that_is_not_clipped_does_not_count():
    a, b = nn.Parameter(np.zeros(1)), nn.Parameter(np.zeros(1), need_clip=False)
    gradient(a, [2.0])
    gradient(b, [9.0])
    SGD(1.0, parameters=[b, a], grad_clip=nn.ClipGradByGlobalNorm(1.0)).step()
    assert (a.item(), b.item()) == (-1.0, -9.0)
    gradient(b, [9.0])
    SGD(1.0, parameters=[b], grad_clip=nn.ClipGradByGlobalNorm(1.0)).step()
    assert b.item() == -18.0


def test_sums_of_squares_of_float16_stay_in_range():
    w = nn.Parameter(np.zeros(4, "float16"))
    gradient(w, [300.0] * 4)
    SGD(1.0, parameters=[w], grad_clip=nn.ClipGradByGlobalNorm(2.0)).step()
    assert w.tolist() == [-1.0] * 4


def test_zeros_and_what_is_below_the_norm_stay():
    w = nn.Parameter(np.ones(2))
    gradient(w, [0.0, 0.0])
    SGD(1.0, parameters=[w], grad_clip=nn.ClipGradByNorm(1.0)).step()
    gradient(w, [0.3, 0.4])
    SGD(1.0, parameters=[w], grad_clip=nn.ClipGradByNorm(1.0)).step()
    assert w.tolist() == [0.7, 0.6]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: nn.ClipGradByValue("1"), "ClipGradByValue: max expected a number, got '1'"),
        (lambda: nn.ClipGradByValue(-1.0), "ClipGradByValue: expected min ≤ max, got 1.0 and -1.0"),
        (lambda: nn.ClipGradByNorm(0), "ClipGradByNorm: clip_norm expected a number > 0, got 0"),
        (lambda: nn.ClipGradByGlobalNorm(True), "clip_norm expected a number, got True"),
        (
            lambda: SGD(0.1, [], grad_clip=1.0),
            "grad_clip expected nn.ClipGradByValue, ClipGradByNorm or ",
        ),
    ],
)
def test_limits_that_are_none_are_refused(make, match):
    with pytest.raises(AttributeValueError, match=match):
        make()


def test_they_print_what_they_do():
    assert repr(nn.ClipGradByValue(2)) == "ClipGradByValue(min=-2.0, max=2.0)"
    assert repr(nn.ClipGradByGlobalNorm(2)) == "ClipGradByGlobalNorm(clip_norm=2.0)"

"""Ops that change something, called twice in a row under a backward, over several runs: the bits of the tape."""

import numpy as np
import pytest

import contrib_ops
import opsdk
from opsdk import static

W, X = np.array([1.5, -0.5, 0.75]), np.array([[0.25, 2.0, -1.0], [1.0, -3.0, 0.5], [2.0, 0.0, 4.0]])
MEAN, VARIANCE = np.zeros(3), np.ones(3)
RUNS = 3


def two_batch_norms(w, x, mean, variance, rng):
    h = contrib_ops.batch_norm(x * w, w, w * 0.5, mean, variance, momentum=0.5)[0]
    return contrib_ops.batch_norm(h * w, w, w, mean, variance, momentum=0.5)[0]


def two_dropouts(w, x, mean, variance, rng):
    return contrib_ops.dropout(contrib_ops.dropout(x * w, p=0.25, rng=rng) * w, p=0.25, rng=rng)


def two_changes_of_a_list(w, x, mean, variance, rng):
    @opsdk.op("t::halve_(Tensor(a!)[] xs) -> (Tensor(a!)[] ys, Tensor total)", replace=True)
    def halve_(xs):
        total = sum(xs).copy()
        for one in xs:
            one *= 0.5
        return total

    halve_.infer(lambda xs: (list(xs), xs[0]))
    halve_.backward(lambda dys, dtotal: [dy * 0.5 + dtotal for dy in dys])
    one, other = opsdk.sum(x, axis=0) * w, w * 2.0
    totals = [halve_([one, other])[1] for _ in range(2)]
    return totals[0] * totals[1] + one


def statistics_by_hand(runs):
    """The running mean and variance after two batch norms in each run: of x w, and of its normalised values times w."""
    mean, variance = MEAN.copy(), VARIANCE.copy()
    for _ in range(runs):
        h = X * W
        normal = (h - h.mean(axis=0)) / np.sqrt(h.var(axis=0) + 1e-5) * W + W * 0.5
        for batch in (h, normal * W):
            mean += 0.5 * (batch.mean(axis=0) - mean)
            variance += 0.5 * (batch.var(axis=0, ddof=1) - variance)
    return mean, variance


def on_tape(build):
    w, x = opsdk.to_tensor(W, stop_gradient=False), opsdk.to_tensor(X)
    mean, variance, rng = opsdk.to_tensor(MEAN), opsdk.to_tensor(VARIANCE), opsdk.Generator(7)
    found = []
    for _ in range(RUNS):
        loss = opsdk.sum(opsdk.square(build(w, x, mean, variance, rng)))
        (gradient,) = opsdk.grad(loss, w)
        found.append([value.numpy().copy() for value in (loss, gradient, mean, variance)])
    return found


def in_program(build):
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup):
        start = opsdk.nn.initializer.Assign(W)
        w = static.create_parameter([3], "float64", name="w", default_initializer=start)
        mean, variance = (
            static.create_global_var([3], value, "float64", persistable=True, name=name)
            for name, value in (("mean", 0.0), ("variance", 1.0))
        )
        x = static.data("x", [None, 3], "float64")
        loss = opsdk.sum(opsdk.square(build(w, x, mean, variance, opsdk.Generator(7))))
        ((_, gradient),) = static.append_backward(loss)
    exe = static.Executor()
    exe.run(startup, scope=scope)
    fetches = [loss, gradient, mean, variance]
    return [exe.run(main, feed={"x": X}, fetch_list=fetches, scope=scope) for _ in range(RUNS)]


# The C kernel of batch norm takes twenty seconds to compile, for which the list stands.
@pytest.mark.parametrize("build", [pytest.param(two_batch_norms, marks=pytest.mark.slow), two_changes_of_a_list])
def test_every_run_gives_losses_gradients_and_states_of_the_tape(build):
    for tape, program in zip(on_tape(build), in_program(build), strict=True):
        for one, other in zip(tape, program, strict=True):
            np.testing.assert_array_equal(one, other)


# The C kernel again; tests/contrib_ops/normalization judges the statistics of one call.
@pytest.mark.slow
def test_the_states_of_two_batch_norms_are_those_of_both_batches():
    for run, (_, _, mean, variance) in enumerate(in_program(two_batch_norms)):
        by_hand = statistics_by_hand(run + 1)
        np.testing.assert_allclose(mean, by_hand[0], rtol=1e-12)
        np.testing.assert_allclose(variance, by_hand[1], rtol=1e-12)


def test_two_dropouts_draw_apart_and_their_gradient_draws_with_them():
    losses = set()
    for run, (loss, gradient, _, _) in enumerate(in_program(two_dropouts)):
        if run == 0:
            for one, other in zip(on_tape(two_dropouts)[0], (loss, gradient, MEAN, VARIANCE), strict=True):
                np.testing.assert_array_equal(one, other)
        losses.add(float(loss))
        # The loss is Σ m x² w⁴ with m of the draws: its gradient is 4 m x² w³, and so 4 loss = Σ w gradient.
        np.testing.assert_allclose(4 * loss, (W * gradient).sum(), rtol=1e-12)
    assert len(losses) == RUNS

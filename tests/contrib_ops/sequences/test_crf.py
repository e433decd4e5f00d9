"""crf_log_likelihood and viterbi: beside all sequences of tags, each with its score."""

import itertools

import numpy as np
import pytest

import opsdk
from contrib_ops import crf_log_likelihood, viterbi
from opsdk.core.errors import DTypeError, InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch

# Compiles twelve kernels; test_spline and test_flash_attention stand for the family in make test.
pytestmark = pytest.mark.slow

LENGTHS = np.array([3, 0, 4, 1])
TAGS = np.array([[2, 0, 1, -9], [-9] * 4, [1, 1, 2, 0], [2, 9, 9, 9]])


@pytest.fixture
def scores(rng):
    return rng.normal(size=(4, 4, 3)), rng.normal(size=(3, 3)), *rng.normal(size=(2, 3))


def uses_of(path, shape):
    """Returns what a path adds up: of emissions of one sequence, transitions, start and end."""
    emissions, transitions, start, end = np.zeros(shape), np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    for t, tag in enumerate(path):
        emissions[t, tag] += 1
        if t:
            transitions[path[t - 1], tag] += 1
    if path:
        start[path[0]], end[path[-1]] = 1, 1
    return emissions, transitions, start, end


def paths_of(scores, n):
    """Returns all paths of a sequence, what each uses, and its score."""
    emissions, *others = scores
    found = []
    for path in itertools.product(range(3), repeat=int(LENGTHS[n])):
        uses = uses_of(path, emissions.shape[1:])
        found.append((path, uses, sum((a * b).sum() for a, b in zip(uses, (emissions[n], *others), strict=True))))
    return found


def counted(scores):
    """Returns log-likelihoods and their gradients, by counting paths; dy is 1, 2, 3, 4."""
    y, gradients = np.zeros(4), [np.zeros_like(array) for array in scores]
    for n, weight in enumerate((1, 2, 3, 4)):
        found = paths_of(scores, n)
        mass = np.exp([score for *_, score in found])
        tags = uses_of(tuple(TAGS[n, : LENGTHS[n]]), scores[0].shape[1:])
        y[n] = sum((a * b).sum() for a, b in zip(tags, (scores[0][n], *scores[1:]), strict=True)) - np.log(mass.sum())
        for k, used in enumerate(tags):
            expected = sum(m * uses[k] for m, (_, uses, _) in zip(mass, found, strict=True)) / mass.sum()
            gradient = gradients[k][n] if k == 0 else gradients[k]
            gradient += weight * (used - expected)
    return y, gradients


# The kernels are compiled for each dtype; the reference, below, stands for them.
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_likelihood_and_gradient_are_those_of_counted_paths(scores, dtype):
    wanted, gradients = counted([array.astype(dtype).astype(float) for array in scores])
    emissions, *others = [opsdk.to_tensor(array.astype(dtype), stop_gradient=False) for array in scores]
    y = crf_log_likelihood(emissions, TAGS, *others, LENGTHS)
    y.backward(opsdk.to_tensor(np.array([1, 2, 3, 4], dtype)))
    close = {"rtol": 1e-12, "atol": 1e-13} if dtype == "float64" else {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(y.numpy(), wanted, **close)
    for tensor, want in zip((emissions, *others), gradients, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), want, **close)


def test_the_reference_counts_alike(scores):
    wanted, gradients = counted(scores)
    inputs, dy = [scores[0], TAGS, *scores[1:], LENGTHS], np.array([1.0, 2, 3, 4])
    outputs = launch(crf_log_likelihood.opdef, crf_log_likelihood.opdef.kernels.reference(), inputs, {})
    np.testing.assert_allclose(outputs[0], wanted, rtol=1e-12)
    grad = crf_log_likelihood.grad.opdef
    made = launch(grad, grad.kernels.reference(), [*inputs, *outputs.residuals, dy], {})
    for got, want in zip([made[0], *made[-3:]], gradients, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


# Nine seconds, as the kernels are compiled; the reference's gradient is held to counted paths above.
@pytest.mark.slow
def test_the_second_derivative_is_the_covariance_of_what_paths_use(scores, rng):
    directions = [rng.normal(size=array.shape) for array in scores]
    emissions, *others = tensors = [opsdk.to_tensor(array, stop_gradient=False) for array in scores]
    y = crf_log_likelihood(emissions, TAGS, *others, LENGTHS).sum()
    first = opsdk.grad(y, tensors, create_graph=True)
    second = opsdk.grad(sum((g * d).sum() for g, d in zip(first, directions, strict=True)), tensors)
    wanted = [np.zeros_like(array) for array in scores]
    for n in range(4):
        found = paths_of(scores, n)
        share = np.exp([score for *_, score in found])
        share /= share.sum()
        along = [
            sum((a * b).sum() for a, b in zip(uses, (directions[0][n], *directions[1:]), strict=True))
            for _, uses, _ in found
        ]
        for k in range(4):
            products = [
                p * (a - share @ along) * uses[k] for p, a, (_, uses, _) in zip(share, along, found, strict=True)
            ]
            (wanted[k][n] if k == 0 else wanted[k])[...] -= sum(products)
    for got, want in zip(second, wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-10, atol=1e-12)


# The kernels of viterbi are compiled for it; the reference's path by hand stands for it.
@pytest.mark.slow
def test_the_path_is_the_best_of_all_and_its_score_has_its_gradient(scores):
    emissions, *others = tensors = [opsdk.to_tensor(array, stop_gradient=False) for array in scores]
    score, path = viterbi(emissions, *others, LENGTHS)
    (score * np.array([1.0, 2, 3, 4])).sum().backward()
    wanted = [np.zeros_like(array) for array in scores]
    for n, weight in enumerate((1, 2, 3, 4)):
        best, uses, value = max(paths_of(scores, n), key=lambda found: found[-1])
        assert path.numpy()[n].tolist() == [*best, *[-1] * (4 - len(best))]
        np.testing.assert_allclose(score.numpy()[n], value, rtol=1e-13)
        for k in range(4):
            (wanted[k][n] if k == 0 else wanted[k])[...] += weight * uses[k]
    for tensor, want in zip(tensors, wanted, strict=True):
        np.testing.assert_array_equal(tensor.grad.numpy(), want)


@pytest.mark.parametrize("kernel", list(viterbi.opdef.kernels), ids=str)
def test_of_equal_paths_the_least_tags_are_taken(kernel):
    score, path = launch(
        viterbi.opdef, kernel, [np.ones((1, 3, 4)), np.zeros((4, 4)), *np.zeros((2, 4)), np.array([3])], {}
    )
    assert (score.tolist(), path.tolist()) == ([3.0], [[0, 0, 0]])


@pytest.mark.parametrize("kernel", list(crf_log_likelihood.opdef.kernels), ids=str)
def test_what_is_ruled_out_has_no_share_and_no_nan_in_the_gradient(kernel):
    transitions = np.array([[0.0, -np.inf], [0.0, 0.0]])
    inputs = [np.zeros((2, 2, 2)), np.array([[0, 0], [0, 1]]), transitions, *np.zeros((2, 2)), np.array([2, 2])]
    outputs = launch(crf_log_likelihood.opdef, kernel, inputs, {})
    np.testing.assert_allclose(outputs[0], [-np.log(3), -np.inf], rtol=1e-15)
    grad = crf_log_likelihood.grad(*inputs, *outputs.residuals, np.array([1.0, 0.0]))
    np.testing.assert_allclose(grad[1], [[1 - 1 / 3, 0], [-1 / 3, -1 / 3]], atol=1e-15)


def test_long_sequences_neither_overflow_nor_vanish(rng):
    emissions = np.full((1, 5000, 2), 1000.0)
    y = crf_log_likelihood(emissions, np.zeros((1, 5000), int), np.zeros((2, 2)), *np.zeros((2, 2)), np.array([5000]))
    np.testing.assert_allclose(y, [-5000 * np.log(2)], rtol=1e-6)


GOOD = [np.zeros((2, 3, 2)), np.zeros((2, 3), int), np.zeros((2, 2)), np.zeros(2), np.zeros(2), np.array([3, 2])]


@pytest.mark.parametrize(
    ("at", "value", "text"),
    [
        (5, np.array([3, 4]), "lengths expected in [0, 3], got 3 to 4"),
        (5, np.array([3, -1]), "lengths expected in [0, 3], got -1 to 3"),
        (5, np.array([3]), "lengths expected 2 integers, one for each sequence, got shape (1,)"),
        (1, np.array([[0, 1, 2], [0, 0, 0]]), "tags expected in [0, 2), got 0 to 2; they are tags of emissions"),
        (1, np.zeros((2, 2), int), "tags expected shape (2, 3) beside emissions (2, 3, 2), got (2, 2)"),
        (2, np.zeros((2, 3)), "transitions expected float64(2, 2) beside emissions (2, 3, 2), got float64(2, 3)"),
        (3, np.zeros(2, "f4"), "start expected float64(2,) beside emissions (2, 3, 2), got float32(2,)"),
        (0, np.zeros((2, 3, 0)), "emissions expected a tag at least, got shape (2, 3, 0)"),
        (0, np.zeros((2, 3, 2), int), "emissions expected float32 or float64, got int64; cast all inputs"),
    ],
)
def test_values_that_do_not_fit_are_refused(at, value, text):
    inputs = [*GOOD[:at], value, *GOOD[at + 1 :]]
    ops = (
        [(crf_log_likelihood, inputs)]
        if at == 1
        else [(crf_log_likelihood, inputs), (viterbi, [inputs[0], *inputs[2:]])]
    )
    for op, each in ops:
        with pytest.raises((InputValueError, DTypeError)) as caught:
            op(*each)
        assert text in str(caught.value)


def test_axes_and_cotangents_that_do_not_fit_are_refused():
    with pytest.raises(
        ShapeError, match=r"expected emissions \(batch, steps, tags\) and transitions \(tags, tags\), got"
    ):
        crf_log_likelihood(np.zeros((3, 2)), *GOOD[1:])
    with pytest.raises(InputValueError, match=r"dy expected 2 numbers, one for each sequence, got \(3,\)"):
        crf_log_likelihood.grad(*GOOD, np.zeros((2, 3, 2)), np.zeros(3))
    with pytest.raises(InputValueError, match=r"alpha expected the shape of emissions, \(2, 3, 2\), got \(2, 3, 1\)"):
        crf_log_likelihood.grad(*GOOD, np.zeros((2, 3, 1)), np.zeros(2))


def test_no_backward_runs_the_forward_algorithm(scores, monkeypatch):
    op = crf_log_likelihood.opdef
    inputs = [scores[0], TAGS, *scores[1:], LENGTHS]
    (alpha,) = launch(op, op.kernels.reference(), inputs, {}).residuals
    monkeypatch.setattr("contrib_ops.sequences.crf.filtered", None)
    given = dict(zip(op.schema.input_names, inputs, strict=True), alpha=alpha, dy=np.ones(4))
    given |= {f"dd{name}": given[name] for name in ("emissions", "transitions", "start", "end")}
    for grad in (op.grad.op.opdef, op.grad.op.opdef.grad.op.opdef):
        launch(grad, grad.kernels.reference(), [given[name] for name in grad.schema.input_names], {})


KERNELS_64 = [kernel for kernel in viterbi.opdef.kernels if kernel.key.dtype in (None, np.float64)]


@pytest.mark.parametrize("kernel", KERNELS_64, ids=str)
def test_the_score_of_paths_over_nan_is_nan(kernel):
    emissions = np.zeros((1, 3, 2))
    emissions[0, 0, 1] = np.nan  # greater than any number, as in NumPy
    inputs = [emissions, np.zeros((2, 2)), np.array([0.0, -np.inf]), np.zeros(2), np.array([3])]
    score, path = launch(viterbi.opdef, kernel, inputs, {})
    np.testing.assert_array_equal(score, [np.nan])
    assert path.tolist() == [[1, 0, 0]]


@pytest.mark.parametrize("place", ["emissions", "nan"])
def test_gradients_where_all_sequences_are_ruled_out_are_nan_in_every_kernel(place):
    emissions = np.zeros((2, 3, 2))
    emissions[0, 1] = -np.inf if place == "emissions" else np.nan
    inputs = [emissions, np.zeros((2, 3), int), np.zeros((2, 2)), *np.zeros((2, 2)), np.array([3, 2])]
    for kernel in crf_log_likelihood.grad.opdef.kernels:
        with np.errstate(invalid="ignore"):
            outputs = launch(crf_log_likelihood.opdef, crf_log_likelihood.opdef.kernels.reference(), inputs, {})
            made = launch(crf_log_likelihood.grad.opdef, kernel, [*inputs, *outputs.residuals, np.ones(2)], {})
        assert np.isnan(made[0][0]).all()
        np.testing.assert_allclose(made[0][1], [[0.5, -0.5], [0.5, -0.5], [0, 0]], rtol=1e-12)
        assert np.isnan(made[-3]).all()

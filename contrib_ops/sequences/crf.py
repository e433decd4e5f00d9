"""Linear-chain conditional random field: how likely a sequence of tags is, and which is the likeliest."""

import numpy as np

import opsdk
from opsdk import errors


def crf_infer(emissions, transitions):
    if emissions.ndim != 3 or transitions.ndim != 2:
        raise errors.ShapeError(
            "conditional random field: expected emissions (batch, steps, tags) and transitions (tags, tags), got "
            f"{emissions.shape} and {transitions.shape}"
        )
    return opsdk.TensorSpec(emissions.shape[:1], emissions.dtype)


TO_STEPS = opsdk.domain.lengths(of="emissions", axis=1, least=0)


@opsdk.op(
    "contrib::crf_log_likelihood(Tensor emissions, Tensor<int> tags, Tensor transitions, Tensor start, Tensor end, "
    "Tensor<int> lengths) -> Tensor y, residuals (Tensor alpha)",
    infer=lambda emissions, transitions: (
        crf_infer(emissions, transitions),
        opsdk.TensorSpec(emissions.shape, "float64"),
    ),
    domain={"tags": opsdk.domain.positions(of="emissions", axis=2), "lengths": TO_STEPS},
)
def crf_log_likelihood(emissions, tags, transitions, start, end, lengths):
    """log p(tags) = s(tags) - log Σ_π exp(s(π)), over all sequences of tags π that are as long.

    s(π) = start[π_1] + Σ_t emissions[t, π_t] + Σ_t transitions[π_t-1, π_t] + end[π_L] (Lafferty, McCallum and Pereira
    2001, Conditional Random Fields, sec. 3), by the forward algorithm, in float64 and as logarithms.

    Args:
        emissions: float array (N, T, K): scores of each tag at each step; -inf rules a tag out.
        tags: integers (N, T), in [0, K) where they count.
        transitions: (K, K): score of the step from tag i to tag j; -inf rules it out.
        start: (K,), scores of the first tag; zeros for none.
        end: (K,), scores of the last.
        lengths: integers (N,) from 0 to T: how many steps of each sequence count; emissions after them are not read.

    Returns y (N,), of the dtype of emissions: 0 for a sequence of no steps, -inf for tags that are ruled out, nan where
    all sequences are.

    Raises ValueError: shapes or dtypes that do not fit, a length or a tag outside.

    Gradient: with respect to emissions, transitions, start and end, order 2: what the tags use minus what a sequence
    is expected to use (the marginals), and the derivative of that along a direction. What the forward algorithm found
    is kept, float64 of the shape of emissions, so that each backward begins at the last step.
    """
    y, alpha = np.zeros(len(emissions), emissions.dtype), np.zeros(emissions.shape)
    for n, chain in chains(emissions, start, end, lengths):
        alpha[n, : len(chain)] = filtered(chain, transitions)
        y[n] = path_score(chain, transitions, tags[n]) - np.logaddexp.reduce(alpha[n, len(chain) - 1])
    return y, alpha


@crf_log_likelihood.backward
def crf_log_likelihood_grad(emissions, tags, transitions, start, end, lengths, alpha, dy):
    demissions, dtransitions = np.zeros(emissions.shape), np.zeros(transitions.shape)
    for n, kept in chains(alpha, 0, 0, lengths):
        used, pairs = surprise(kept, transitions, tags[n])
        demissions[n, : len(kept)] = dy[n] * used
        dtransitions += dy[n] * pairs
    return gradients(demissions, dtransitions, lengths, emissions.dtype)


@crf_log_likelihood_grad.backward
def crf_log_likelihood_grad_grad(
    emissions, tags, transitions, lengths, alpha, dy, ddemissions, ddtransitions, ddstart, ddend
):
    emissions_grad, transitions_grad, ddy = np.zeros(emissions.shape), np.zeros(transitions.shape), np.zeros_like(dy)
    directions = chains(ddemissions, ddstart, ddend, lengths)
    for (n, kept), (_, direction) in zip(chains(alpha, 0, 0, lengths), directions, strict=True):
        moved, moved_pairs = tangent(kept, transitions, direction, ddtransitions)
        emissions_grad[n, : len(kept)] = -dy[n] * moved
        transitions_grad -= dy[n] * moved_pairs
        used, pairs = surprise(kept, transitions, tags[n])
        ddy[n] = (used * direction).sum() + (pairs * ddtransitions).sum()
    return {**gradients(emissions_grad, transitions_grad, lengths, emissions.dtype), "dy": ddy}


@opsdk.op(
    "contrib::viterbi(Tensor emissions, Tensor transitions, Tensor start, Tensor end, Tensor<int> lengths)"
    " -> (Tensor score, Tensor<int> path)",
    infer=lambda emissions, transitions: (
        crf_infer(emissions, transitions),
        opsdk.TensorSpec(emissions.shape[:2], "int64"),
    ),
    domain={"lengths": TO_STEPS},
)
def viterbi(emissions, transitions, start, end, lengths):
    """score = max_π s(π) and path = argmax, with s(π) as in `crf_log_likelihood` (Viterbi 1967; Forney 1973).

    Args:
        emissions: float array (N, T, K), as in crf_log_likelihood.
        transitions: (K, K).
        start: (K,).
        end: (K,).
        lengths: integers (N,) from 0 to T.

    Returns score (N,), 0 for no steps, and path (N, T), int64, -1 after its length. Of paths with equal scores it is
    that with the least last tag, then the least before it, and so on.

    Raises ValueError: shapes or dtypes that do not fit, a length outside.

    Gradient: of the score along its path, order 2: 1 for each emission, transition, start and end that it uses. The
    path is not differentiable.
    """
    score, path = np.zeros(len(emissions), emissions.dtype), np.full(emissions.shape[:2], -1)
    for n, chain in chains(emissions, start, end, lengths):
        best, came = chain[0], []
        for row in chain[1:]:
            totals = best[:, None] + transitions
            came.append(totals.argmax(axis=0))
            best = row + totals.max(axis=0)
        score[n], path[n, len(chain) - 1] = best.max(), best.argmax()
        for t in range(len(chain) - 1)[::-1]:
            path[n, t] = came[t][path[n, t + 1]]
    return score, path


@viterbi.backward
def viterbi_grad(emissions_spec, transitions_spec, lengths, path, dscore):
    demissions, dtransitions = np.zeros(emissions_spec.shape), np.zeros(transitions_spec.shape)
    for n, steps in enumerate(lengths):
        used, pairs = uses(path[n, :steps], len(dtransitions))
        demissions[n, :steps] = dscore[n] * used
        dtransitions += dscore[n] * pairs
    return gradients(demissions, dtransitions, lengths, emissions_spec.dtype)


@viterbi_grad.backward
def viterbi_grad_grad(lengths, path, dscore, ddemissions, ddtransitions, ddstart, ddend):
    ddscore = np.zeros_like(dscore)
    for n, direction in chains(ddemissions, ddstart, ddend, lengths):
        ddscore[n] = path_score(direction, ddtransitions, path[n])
    return ddscore


def chains(emissions, start, end, lengths):
    """Yields number and emissions of each sequence that has steps, in float64, with start and end added to them."""
    for n, steps in enumerate(lengths):
        if steps:
            chain = emissions[n, :steps].astype(np.float64)
            chain[0] += start
            chain[-1] += end
            yield n, chain


def filtered(chain, transitions):
    """Returns α of each step, the logarithm of what all sequences that end there in a tag have together."""
    alpha = chain.copy()
    for t in range(1, len(chain)):
        alpha[t] += np.logaddexp.reduce(alpha[t - 1][:, None] + transitions, axis=0)
    return alpha


def came_from(alpha, transitions):
    """Returns for each step but the first the probabilities [i, j] of tag i before tag j."""
    came = alpha[:-1, :, None] + transitions
    total = np.logaddexp.reduce(came, axis=1, keepdims=True)
    return np.exp(came - np.where(total == -np.inf, 0.0, total))


def marginals(alpha, before):
    """Returns the probability of each tag at each step, and how often each transition is expected."""
    likely, pairs = [np.exp(alpha[-1] - np.logaddexp.reduce(alpha[-1]))], np.zeros(alpha.shape[1:] * 2)
    for weights in before[::-1]:
        joint = weights * likely[0]
        likely.insert(0, joint.sum(axis=1))
        pairs += joint
    return np.array(likely), pairs


def tangent(alpha, transitions, direction, turn):
    """Returns the derivative of the marginals where emissions move along `direction`, transitions along `turn`."""
    before, moved, turned = came_from(alpha, transitions), direction[0], []
    for weights, row in zip(before, direction[1:], strict=True):
        came = moved[:, None] + turn
        mean = (weights * came).sum(axis=0)
        turned.append(weights * (came - mean))
        moved = row + mean
    likely, _ = marginals(alpha, before)
    changes, pairs = [likely[-1] * (moved - likely[-1] @ moved)], np.zeros_like(turn, np.float64)
    for t in range(len(before))[::-1]:
        joint = turned[t] * likely[t + 1] + before[t] * changes[0]
        changes.insert(0, joint.sum(axis=1))
        pairs += joint
    return np.array(changes), pairs


def surprise(alpha, transitions, tags):
    """Returns the gradient of the log-likelihood: what the tags use minus what is expected."""
    used, pairs = uses(tags[: len(alpha)], len(transitions))
    likely, expected = marginals(alpha, came_from(alpha, transitions))
    return used - likely, pairs - expected


def uses(path, count):
    """Returns which tag is used at each step, as 0 and 1, and how often each transition is."""
    used, pairs = np.zeros((len(path), count)), np.zeros((count, count))
    used[np.arange(len(path)), path] = 1
    np.add.at(pairs, (path[:-1], path[1:]), 1)
    return used, pairs


def path_score(chain, transitions, path):
    path = path[: len(chain)]
    return chain[np.arange(len(path)), path].sum() + transitions[path[:-1], path[1:]].sum()


def gradients(demissions, dtransitions, lengths, dtype):
    """Returns all gradients: start and end get what arrives at the first and the last emissions."""
    rows = np.flatnonzero(lengths)
    dstart, dend = demissions[rows, :1].sum(axis=(0, 1)), demissions[rows, lengths[rows] - 1].sum(axis=0)
    made = {"emissions": demissions, "transitions": dtransitions, "start": dstart, "end": dend}
    return {name: gradient.astype(dtype) for name, gradient in made.items()}


@viterbi.check
def chain_problem(emissions, transitions, start, end, lengths):
    """Returns what is wrong with the values of a call; None where all is well."""
    (_, _, tags), dtype = emissions.shape, emissions.dtype
    if dtype.name not in ("float32", "float64"):
        return f"emissions expected float32 or float64, got {dtype}; cast all inputs"
    if not tags:
        return f"emissions expected a tag at least, got shape {emissions.shape}"
    for name, array, shape in (
        ("transitions", transitions, (tags, tags)),
        ("start", start, (tags,)),
        ("end", end, (tags,)),
    ):
        if array.shape != shape or array.dtype != dtype:
            return f"{name} expected {dtype}{shape} beside emissions {emissions.shape}, got {array.dtype}{array.shape}"
    return length_problem(emissions, lengths)


def length_problem(emissions, lengths):
    count, steps, _ = emissions.shape
    if lengths.shape != (count,):
        return f"lengths expected {count} integers, one for each sequence, got shape {lengths.shape}"
    if count and not 0 <= lengths.min() <= lengths.max() <= steps:
        return f"lengths expected in [0, {steps}], got {lengths.min()} to {lengths.max()}"
    return None


@crf_log_likelihood.check
def crf_problem(emissions, tags, transitions, start, end, lengths):
    return chain_problem(emissions, transitions, start, end, lengths) or tag_problem("tags", tags, emissions, lengths)


@crf_log_likelihood_grad.check
def crf_grad_problem(emissions, tags, transitions, start, end, lengths, alpha, dy):
    wrong = crf_problem(emissions, tags, transitions, start, end, lengths) or cotangent_problem("dy", dy, emissions)
    if not wrong and alpha.shape != emissions.shape:
        wrong = f"alpha expected the shape of emissions, {emissions.shape}, got {alpha.shape}; it is the forward's"
    return wrong


@viterbi_grad.check
def viterbi_grad_problem(emissions_spec, lengths, path, dscore):
    wrong = length_problem(emissions_spec, lengths) or tag_problem("path", path, emissions_spec, lengths)
    return wrong or cotangent_problem("dscore", dscore, emissions_spec)


def tag_problem(name, tags, emissions, lengths):
    (_, steps, count) = emissions.shape
    if tags.shape != emissions.shape[:2]:
        return f"{name} expected shape {emissions.shape[:2]} beside emissions {emissions.shape}, got {tags.shape}"
    used = tags[np.arange(steps) < lengths[:, None]]
    if used.size and not 0 <= used.min() <= used.max() < count:
        return f"{name} expected in [0, {count}), got {used.min()} to {used.max()}; they are tags of emissions"
    return None


def cotangent_problem(name, array, emissions):
    count = emissions.shape[0]
    return (
        None
        if array.shape == (count,)
        else f"{name} expected {count} numbers, one for each sequence, got {array.shape}"
    )


def drawn(rng, batch, steps, tags):
    return rng.normal(size=(batch, steps, tags)), rng.normal(size=(tags, tags)), *rng.normal(size=(2, tags))


def chain_samples(rng):
    yield opsdk.Sample(*drawn(rng, 2, 3, 2), np.array([2, 3]), reason="sequences of several lengths")
    yield opsdk.Sample(*drawn(rng, 2, 1, 2), np.array([1, 0], np.int32), reason="one step, and none; int32")
    yield opsdk.Sample(*drawn(rng, 1, 3, 1), np.array([2]), reason="a single tag")
    yield opsdk.Sample(*drawn(rng, 1, 2, 5), np.array([2]), reason="more tags than a vector")
    yield opsdk.Sample(*drawn(rng, 9, 4, 2), np.array([4, 2] * 4 + [4]), reason="more sequences than parts, few pairs")
    yield opsdk.Sample(
        1e4 * rng.normal(size=(1, 2, 2)), *drawn(rng, 1, 1, 2)[1:], np.array([2]), reason="exp would overflow"
    )
    yield opsdk.Sample(*drawn(rng, 1, 0, 2), np.array([0]), reason="no steps")
    yield opsdk.Sample(*drawn(rng, 0, 2, 2), np.zeros(0, int), reason="no sequences")


def ruled_out(rng):
    emissions, transitions, start, end = drawn(rng, 2, 3, 3)
    transitions[:, 1] = start[1] = -np.inf
    return emissions, transitions, start, end, np.array([3, 2])


@viterbi.samples
def viterbi_samples(rng):
    yield from chain_samples(rng)
    yield opsdk.Sample(*ruled_out(rng), reason="no step leads to a tag")
    rows, turns = [[0.0, 2, 1], [3, 0.5, 0], [0, 2.5, 1]], [[0.0, 5, 0], [5, 0, 0], [0, 0, 5]]
    yield opsdk.Sample(np.array([rows]), np.array(turns), *np.zeros((2, 3)), np.array([3]), reason="a path that turns")


@crf_log_likelihood.samples
def crf_samples(rng):
    for sample in chain_samples(rng):
        emissions, *scores = sample.inputs
        tags = rng.integers(0, emissions.shape[2], emissions.shape[:2])
        yield opsdk.Sample(emissions, tags, *scores, reason=sample.reason)
    emissions, *scores = ruled_out(rng)
    yield opsdk.Sample(emissions, np.array([[0, 2, 0], [2, 2, 0]]), *scores, reason="no step leads to a tag")


@viterbi.bench
def viterbi_bench(rng, n):
    """Sequences of 20 to 40 words and 16 tags."""
    count = max(1, n // (40 * 16))
    return opsdk.Sample(*drawn(rng, count, 40, 16), rng.integers(20, 41, count))


@crf_log_likelihood.bench
def crf_bench(rng, n):
    emissions, *scores, lengths = viterbi_bench(rng, n).inputs
    return opsdk.Sample(emissions, rng.integers(0, 16, emissions.shape[:2]), *scores, lengths)


for op, name in (
    (crf_log_likelihood, "likelihood"),
    (crf_log_likelihood_grad, "likelihood_backward"),
    (viterbi, "decode"),
    (viterbi_grad, "decode_backward"),
):
    op.kernel("cpu", language="numba", source=f".crf_numba:{name}", parallel=True, contiguous=True)

"""Numba kernels of `crf_log_likelihood` and `viterbi`: sequences are shared by threads, and computed in float64."""

import numba
import numpy as np

from opsdk import vmath

INF = np.inf
PARTS = 8  # of the sequences, for threads; fixed, so that sums do not depend on how many threads there are


def likelihood(emissions, tags, transitions, start, end, lengths, y, alpha):
    arriving = np.ascontiguousarray(transitions.T)
    for n in numba.prange(len(y)):
        chain = folded(emissions[n], start, end, lengths[n])
        score = path_score(chain, transitions, tags[n])
        filter_forward(chain, arriving)
        alpha[n, : len(chain)], alpha[n, len(chain) :] = chain, 0
        y[n] = score - log_sum(chain[-1]) if len(chain) else 0


def likelihood_backward(tags, transitions, lengths, alpha, dy, demissions, dtransitions, dstart, dend):
    arriving = np.ascontiguousarray(transitions.T)
    ends, pairs = np.zeros((PARTS, 2, len(dstart))), np.zeros((PARTS, len(dstart), len(dstart)))
    for part in numba.prange(PARTS):
        for n in range(part, len(dy), PARTS):
            surprise(alpha[n, : lengths[n]], arriving, tags[n], dy[n], demissions[n], pairs[part])
            add_ends(ends[part], demissions[n], lengths[n])
    dtransitions[:], dstart[:], dend[:] = pairs.sum(axis=0).T, ends[:, 0].sum(axis=0), ends[:, 1].sum(axis=0)


def decode(emissions, transitions, start, end, lengths, score, path):
    arriving = np.ascontiguousarray(transitions.T)
    for n in numba.prange(len(score)):
        chain = folded(emissions[n], start, end, lengths[n])
        steps, tags = chain.shape
        came, best = np.empty((steps, tags), np.int64), np.empty(tags)
        score[n], path[n] = 0, -1
        for t in range(1, steps):
            for j in range(tags):
                totals = chain[t - 1] + arriving[j]
                came[t, j] = greatest(totals)
                best[j] = chain[t, j] + totals[came[t, j]]
            chain[t] = best
        if steps:
            path[n, steps - 1] = greatest(chain[steps - 1])
            score[n] = chain[steps - 1, path[n, steps - 1]]
        for t in range(steps - 1, 0, -1):
            path[n, t - 1] = came[t, path[n, t]]


def decode_backward(lengths, path, dscore, demissions, dtransitions, dstart, dend):
    ends, pairs = np.zeros((PARTS, 2, len(dstart))), np.zeros((PARTS, len(dstart), len(dstart)))
    for part in numba.prange(PARTS):
        for n in range(part, len(dscore), PARTS):
            demissions[n] = 0
            for t in range(lengths[n]):
                demissions[n, t, path[n, t]] = dscore[n]
                if t:
                    pairs[part, path[n, t - 1], path[n, t]] += dscore[n]
            add_ends(ends[part], demissions[n], lengths[n])
    dtransitions[:], dstart[:], dend[:] = pairs.sum(axis=0), ends[:, 0].sum(axis=0), ends[:, 1].sum(axis=0)


@numba.njit
def greatest(x):
    """Returns where the first of the greatest is; nan is greater than any number, which Numba's threads leave out."""
    at = 0
    for i in range(1, len(x)):
        if not x[i] <= x[at] and x[at] == x[at]:
            at = i
    return at


@numba.njit
def folded(emissions, start, end, steps):
    chain = emissions[:steps].astype(np.float64)
    if steps:
        chain[0] += start
        chain[-1] += end
    return chain


@numba.njit
def path_score(chain, transitions, path):
    total = 0.0
    for t in range(len(chain)):
        total += chain[t, path[t]]
    for t in range(1, len(chain)):
        total += transitions[path[t - 1], path[t]]
    return total


@numba.njit(error_model="numpy")
def filter_forward(chain, arriving):
    """Makes α of the scores of each step; arriving[j, i] is the score of the step from i to j."""
    came = np.empty(chain.shape[1])
    for t in range(1, len(chain)):
        for j in range(len(came)):
            for i in range(len(came)):
                came[i] = chain[t - 1, i] + arriving[j, i]
            chain[t, j] += log_sum(came)


@numba.njit(error_model="numpy")
def log_sum(x):
    """Returns the logarithm of the sum of exponentials, which x holds then."""
    most = x.max()
    return most + np.log(exps(x, most)) if most > -INF else most


@numba.njit(fastmath={"reassoc", "contract"})  # a sum in lanes
def exps(x, base):
    total = 0.0
    for i in range(len(x)):
        x[i] = vmath.exp(x[i] - base)
        total += x[i]
    return total


@numba.njit(error_model="numpy")
def surprise(alpha, arriving, tags, weight, gradient, pairs):
    """Fills in what the tags use minus the marginals, times a weight; adds that of pairs [j, i]."""
    gradient[:] = 0
    likely = np.empty(len(arriving))
    if len(alpha):
        likely[:] = alpha[-1]
        likely /= exps(likely, likely.max())
    for t in range(len(alpha) - 1, -1, -1):
        gradient[t] = -weight * likely
        gradient[t, tags[t]] += weight
        if t:
            pairs[tags[t], tags[t - 1]] += weight
            likely = spread_back(likely, alpha[t - 1], arriving, -weight, pairs)


@numba.njit
def spread_back(likely, alpha, arriving, weight, pairs):
    """Returns the marginals of the step before; adds those of pairs, times a weight."""
    before, came = np.zeros_like(likely), np.empty_like(likely)
    for j in range(len(likely)):
        came[:] = alpha + arriving[j]
        base, share = came.max(), likely[j]
        if base == -INF:  # the tag j is ruled out; all of them are where likely[j] is nan
            came[:] = 0  # unreached: no sample rules a tag out, tests do
        else:
            share /= exps(came, base)
        for i in range(len(came)):
            before[i] += share * came[i]
            pairs[j, i] += weight * share * came[i]
    return before


@numba.njit
def add_ends(ends, gradient, steps):
    if steps:
        ends[0] += gradient[0]
        ends[1] += gradient[steps - 1]

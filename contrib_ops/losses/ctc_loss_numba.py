"""Numba rows of `ctc_loss`: sequences are shared by threads.

The sum of two or three exponentials is one step for 8 states at a time; memory is that of two rows of α, in the
backward of all of them.
"""

import numba
import numpy as np

from opsdk import vmath

INF = np.inf


def forward(log_probs, targets, input_lengths, target_lengths, blank, loss):
    first = first_labels(targets, target_lengths)
    labels = targets.ravel()
    for n in numba.prange(len(loss)):
        states, skips = states_of(labels[first[n] : first[n] + target_lengths[n]], blank)
        alpha = np.full((2, len(states) + 2), -INF)
        alpha[0, 1] = 0.0
        emitted = np.empty(len(states))
        for t in range(input_lengths[n]):
            look_up(log_probs[t, n], states, emitted)
            step_forward(alpha[t % 2], skips, emitted, alpha[1 - t % 2])
            alpha[t % 2, 1] = -INF
        loss[n] = -either(alpha[input_lengths[n] % 2])


def backward(log_probs, targets, input_lengths, target_lengths, dloss, blank, dlog_probs):
    first = first_labels(targets, target_lengths)
    labels = targets.ravel()
    for n in numba.prange(len(dloss)):
        steps = input_lengths[n]
        states, skips = states_of(labels[first[n] : first[n] + target_lengths[n]], blank)
        size = len(states)
        alpha, emitted = np.full((steps + 1, size + 2), -INF), np.empty((steps, size))
        alpha[0, 1] = 0.0
        for t in range(steps):
            look_up(log_probs[t, n], states, emitted[t])
            step_forward(alpha[t], skips, emitted[t], alpha[t + 1])
        total = either(alpha[steps])
        beta, entered, posterior = np.full(size, -INF), np.full(size + 2, -INF), np.empty(size)
        beta[max(size - 2, 0) :] = 0.0
        dlog_probs[:, n] = 0
        for t in range(steps if total > -INF or total != total else 0):
            here = steps - 1 - t
            occupy(alpha[here + 1], beta, total, posterior)
            for s in range(size):
                dlog_probs[here, n, states[s]] -= dloss[n] * posterior[s]
            step_back(emitted[here], skips, entered, beta)


@numba.njit
def first_labels(targets, lengths):
    """Returns where in all targets those of each sequence begin."""
    first = np.zeros(len(lengths) + 1, np.int64)
    for n in range(len(lengths)):
        first[n + 1] = first[n] + (lengths[n] if targets.ndim == 1 else targets.shape[targets.ndim - 1])
    return first


@numba.njit
def states_of(labels, blank):
    """Returns what `states_of` does."""
    states, skips = np.full(2 * len(labels) + 1, blank), np.full(2 * len(labels) + 1, -INF)
    for i in range(len(labels)):
        states[2 * i + 1] = labels[i]
        if i == 0 or labels[i] != labels[i - 1]:
            skips[2 * i + 1] = 0.0
    return states, skips


@numba.njit
def either(alpha):
    """Returns the logarithm of the probability to end in one of the last two states."""
    return log_add(alpha[len(alpha) - 1], alpha[len(alpha) - 2], -INF)


@numba.njit
def look_up(row, states, emitted):
    for s in range(len(states)):
        emitted[s] = row[states[s]]


@numba.njit(forceinline=True, error_model="numpy")
def log_add(a, b, c):
    """Returns log(exp a + exp b + exp c); with only two exponentials, since one of the three is exp 0."""
    high = vmath.maximum(a, vmath.maximum(b, c))  # nan where one is
    middle, low = max(min(a, b), min(max(a, b), c)), min(a, min(b, c))
    base = high if high > -INF else 0.0
    return high + vmath.log(1.0 + vmath.exp(middle - base) + vmath.exp(low - base))


@numba.njit(error_model="numpy")
def step_forward(alpha, skips, emitted, after):
    for s in range(len(emitted)):
        after[s + 2] = log_add(alpha[s + 2], alpha[s + 1], alpha[s] + skips[s]) + emitted[s]


@numba.njit(error_model="numpy")
def step_back(emitted, skips, entered, beta):
    size = len(beta)
    for s in range(size):
        entered[s] = beta[s] + emitted[s]
    for s in range(size - 2):
        beta[s] = log_add(entered[s], entered[s + 1], entered[s + 2] + skips[s + 2])
    for s in range(max(size - 2, 0), size):
        beta[s] = log_add(entered[s], entered[s + 1], -INF)


@numba.njit(error_model="numpy")
def occupy(alpha, beta, total, posterior):
    for s in range(len(beta)):
        posterior[s] = vmath.exp(alpha[s + 2] + beta[s] - total)

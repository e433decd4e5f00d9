"""CUDA kernels of `ctc_loss`: a block for each sequence, whose threads share its states; logarithms in float64.

State s is the blank before label s // 2, or where s is odd that label. Of the forward variables column 1 is where every
path starts, and state s is at column s + 2.
"""

import math

from numba import cuda

INF = math.inf


@cuda.jit(device=True)
def class_of(targets, target_lengths, n, blank, s):
    """Returns the class of a state of a sequence."""
    if s % 2 == 0:
        return blank
    if targets.ndim == 2:
        return targets[n, s // 2]
    first = 0
    for k in range(n):
        first += target_lengths[k]
    return targets[first + s // 2]


@cuda.jit(device=True)
def may_skip(classes, s):
    """Whether a state may follow the one two before it."""
    return s % 2 == 1 and (s == 1 or classes[s] != classes[s - 2])


@cuda.jit(device=True)
def log_add(a, b, c):
    """Returns log(exp a + exp b + exp c)."""
    if a != a or b != b or c != c:
        return math.nan  # unreached: by samples; nan and +inf are tried beside them, on the host and in the simulator
    high = max(a, max(b, c))
    if high == -INF:
        return high
    return high + math.log(math.exp(a - high) + math.exp(b - high) + math.exp(c - high))


@cuda.jit(device=True)
def emitted(row, label):
    """Returns a log probability; nan for +inf, which is none."""
    x = float(row[label])
    return math.nan if x == INF else x


@cuda.jit(device=True)
def run_forward(log_probs, targets, steps, target_lengths, n, blank, classes, alpha):
    """Fills in classes and forward variables, eq. 6 and 7; returns the logarithm of the probability of the labels."""
    size = 2 * target_lengths[n] + 1
    for s in range(cuda.threadIdx.x, size + 2, cuda.blockDim.x):
        alpha[0, s] = 0.0 if s == 1 else -INF
        if s < size:
            classes[s] = class_of(targets, target_lengths, n, blank, s)
    cuda.syncthreads()
    for t in range(steps):
        for s in range(cuda.threadIdx.x, size, cuda.blockDim.x):
            skipped = alpha[t, s] if may_skip(classes, s) else -INF
            alpha[t + 1, s + 2] = log_add(alpha[t, s + 2], alpha[t, s + 1], skipped) + emitted(
                log_probs[t, n], classes[s]
            )
        if cuda.threadIdx.x == 0:
            alpha[t + 1, 0] = alpha[t + 1, 1] = -INF
        cuda.syncthreads()
    return log_add(alpha[steps, size + 1], alpha[steps, size], -INF)


def forward(log_probs, targets, input_lengths, target_lengths, blank, loss, classes, alpha):
    n = cuda.blockIdx.x
    total = run_forward(log_probs, targets, input_lengths[n], target_lengths, n, blank, classes[n], alpha[n])
    if cuda.threadIdx.x == 0:
        loss[n] = -total


def backward(
    log_probs, targets, input_lengths, target_lengths, dloss, blank, dlog_probs, classes, alpha, beta, posterior
):
    # A thread sums up a class of its own: nothing is added atomically, and the sums are the same at every run.
    n, steps, size = cuda.blockIdx.x, input_lengths[cuda.blockIdx.x], 2 * target_lengths[cuda.blockIdx.x] + 1
    total = run_forward(log_probs, targets, steps, target_lengths, n, blank, classes[n], alpha[n])
    is_reached = total > -INF or total != total
    for t in range(log_probs.shape[0] - 1, -1, -1):
        if t < steps:
            after, here = beta[n, t % 2], beta[n, 1 - t % 2]
            for s in range(cuda.threadIdx.x, size, cuda.blockDim.x):
                follows = 0.0 if s >= size - 2 else -INF
                if t + 1 < steps:
                    row = log_probs[t + 1, n]
                    follows = after[s] + emitted(row, classes[n, s])
                    one = after[s + 1] + emitted(row, classes[n, s + 1]) if s + 1 < size else -INF
                    two = -INF
                    if s + 2 < size and may_skip(classes[n], s + 2):
                        two = after[s + 2] + emitted(row, classes[n, s + 2])
                    follows = log_add(follows, one, two)
                here[s] = follows
                posterior[n, s] = math.exp(alpha[n, t + 1, s + 2] + follows - total) if is_reached else 0.0
        cuda.syncthreads()
        for c in range(cuda.threadIdx.x, log_probs.shape[2], cuda.blockDim.x):
            share = 0.0
            for s in range(size if t < steps and is_reached else 0):
                if classes[n, s] == c:
                    share += posterior[n, s]
            dlog_probs[t, n, c] = -dloss[n] * share if share != 0.0 else 0.0
        cuda.syncthreads()

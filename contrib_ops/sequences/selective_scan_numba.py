"""Numba kernels of `selective_scan`: a channel of a sequence at a time, so that its states stay in the first cache.

B and C are turned round, so that the states of a step lie side by side.
"""

import numba
import numpy as np

from opsdk import vmath

PARTS = 4  # of the channels of a sequence, for threads; fixed, so that sums do not depend on how many threads there are


def forward(u, delta, A, B, C, D, y, last_state):
    batch, channels, steps = u.shape
    B_of, C_of = by_step(B), by_step(C)
    for k in numba.prange(batch * channels):
        b, d = k // channels, k % channels
        h = last_state[b, d]
        h[:] = 0
        for t in range(steps):
            advance(h, A[d], delta[b, d, t], u[b, d, t], B_of[b, t], h)
            y[b, d, t] = dot(h, C_of[b, t]) + D[d] * u[b, d, t]


def backward(u, delta, A, B, C, D, dy, dlast_state, du, ddelta, dA, dB, dC, dD):
    (batch, channels, steps), states = u.shape, A.shape[1]
    B_of, C_of = by_step(B), by_step(C)
    A_part, D_part = np.zeros((batch, channels, states), u.dtype), np.zeros((batch, channels), u.dtype)
    B_part, C_part = np.zeros((2, batch * PARTS, steps, states), u.dtype)
    for k in numba.prange(batch * PARTS):
        b = k // PARTS
        h, arriving = np.zeros((steps + 1, states), u.dtype), np.empty(states, u.dtype)
        for d in range(k % PARTS, channels, PARTS):
            for t in range(steps):
                advance(h[t], A[d], delta[b, d, t], u[b, d, t], B_of[b, t], h[t + 1])
            arriving[:] = dlast_state[b, d]
            for back in range(steps):
                t = steps - 1 - back
                here, step, value = dy[b, d, t], delta[b, d, t], u[b, d, t]
                add_scaled(arriving, here, C_of[b, t])
                add_scaled(C_part[k, t], here, h[t + 1])
                add_scaled(B_part[k, t], step * value, arriving)
                entering = dot(arriving, B_of[b, t])
                du[b, d, t] = step * entering + D[d] * here
                ddelta[b, d, t] = value * entering + retreat(arriving, A[d], step, h[t], A_part[b, d])
                D_part[b, d] += here * value
    dA[:], dD[:] = A_part.sum(axis=0), D_part.sum(axis=0)
    for b in range(batch):
        dB[b] = B_part[b * PARTS : (b + 1) * PARTS].sum(axis=0).T
        dC[b] = C_part[b * PARTS : (b + 1) * PARTS].sum(axis=0).T


@numba.njit
def by_step(x):
    """Returns (batch, steps, states) of (batch, states, steps)."""
    return np.ascontiguousarray(x.transpose(0, 2, 1))


@numba.njit
def advance(h, A, step, value, B, after):
    for n in range(len(A)):
        after[n] = vmath.exp(step * A[n]) * h[n] + step * value * B[n]


@numba.njit(fastmath={"reassoc", "contract"})  # a sum in lanes
def retreat(arriving, A, step, h, dA):
    """Takes what arrives at states to those before; adds to dA, and returns what arrives at Δ through the decay."""
    total = arriving.dtype.type(0)
    for n in range(len(A)):
        arriving[n] *= vmath.exp(step * A[n])
        through = arriving[n] * h[n]
        dA[n] += through * step
        total += through * A[n]
    return total


@numba.njit
def add_scaled(total, weight, x):
    for n in range(len(total)):
        total[n] += weight * x[n]


@numba.njit(fastmath={"reassoc", "contract"})
def dot(x, w):
    total = x.dtype.type(0)
    for n in range(len(x)):
        total += x[n] * w[n]
    return total

"""Selective scan: the state space model of Mamba, whose step size and projections change from step to step."""

import numba
import numpy as np

import opsdk
from opsdk import errors, vmath

PARTS = 4  # of the channels of a sequence, for threads; fixed, so that sums do not depend on how many threads there are


def selective_scan_infer(u, delta, A, B, C, D):
    if u.ndim != 3 or A.ndim != 2 or B.ndim != 3:
        raise errors.ShapeError(
            "op 'contrib::selective_scan': expected u (batch, channels, steps), A (channels, states) and B (batch, "
            f"states, steps), got {u.shape}, {A.shape} and {B.shape}"
        )
    return u, opsdk.TensorSpec((*u.shape[:2], A.shape[1]), u.dtype)


@opsdk.op(
    "contrib::selective_scan(Tensor u, Tensor delta, Tensor A, Tensor B, Tensor C, Tensor D)"
    " -> (Tensor y, Tensor last_state)",
    infer=selective_scan_infer,
)
def selective_scan(u, delta, A, B, C, D):
    """h_t = exp(Δ_t A) h_t-1 + Δ_t u_t B_t and y_t = ⟨C_t, h_t⟩ + D u_t, from h_0 = 0, in each channel.

    Algorithm 2 (S6) of Gu and Dao 2023, Mamba: A discretized exactly, B by Δ B, as the authors' code does it. There is
    no softplus, gate or bias inside.

    Args:
        u: float array (batch, channels, steps).
        delta: step sizes Δ, like u; usually positive.
        A: (channels, states), the diagonal of the transition; usually negative, since exp(Δ A) above 1 grows.
        B: (batch, states, steps): how the input enters the states.
        C: (batch, states, steps): how the output reads them.
        D: (channels,), weight of what passes by the states.

    Returns y like u, and last_state (batch, channels, states), the states after the last step; zeros for no steps.

    Raises ValueError: shapes that do not fit together.

    Gradient: with respect to all six inputs, order 1, from both outputs. States are computed again, not saved.
    """
    states, _ = states_of(u, delta, A, B)
    y = np.einsum("tbdn,bnt->bdt", states[1:], C) + D[:, None] * u
    return y, states[-1].copy()


def states_of(u, delta, A, B):
    """Returns the states before the first step and after each, (steps + 1, batch, channels, states), and exp(Δ A)."""
    steps = u.shape[2]
    decays = np.exp(np.einsum("bdt,dn->tbdn", delta, A))
    states = np.zeros((steps + 1, *u.shape[:2], A.shape[1]), u.dtype)
    for t in range(steps):
        states[t + 1] = decays[t] * states[t] + (delta * u)[:, :, t, None] * B[:, None, :, t]
    return states, decays


@selective_scan.backward
def selective_scan_grad(u, delta, A, B, C, D, dy, dlast_state):
    states, decays = states_of(u, delta, A, B)
    arriving, later = np.empty_like(decays), dlast_state  # at each state: from y, and from the state after
    for t in range(u.shape[2])[::-1]:
        arriving[t] = later + dy[:, :, t, None] * C[:, None, :, t]
        later = decays[t] * arriving[t]
    through = arriving * decays * states[:-1]  # arriving at the exponent Δ A
    entering = np.einsum("tbdn,bnt->bdt", arriving, B)  # at Δ u
    return (
        delta * entering + D[:, None] * dy,
        u * entering + np.einsum("tbdn,dn->bdt", through, A),
        np.einsum("tbdn,bdt->dn", through, delta),
        np.einsum("tbdn,bdt->bnt", arriving, delta * u),
        np.einsum("tbdn,bdt->bnt", states[1:], dy),
        (dy * u).sum(axis=(0, 2)),
    )


@selective_scan.check
def selective_scan_check(u, delta, A, B, C, D):
    (batch, channels, steps), states = u.shape, A.shape[1]
    if u.dtype.name not in ("float32", "float64"):
        return f"u expected float32 or float64, got {u.dtype}; cast all inputs"
    wanted = {
        "delta": (delta, (batch, channels, steps)),
        "A": (A, (channels, states)),
        "B": (B, (batch, states, steps)),
        "C": (C, (batch, states, steps)),
        "D": (D, (channels,)),
    }
    for name, (array, shape) in wanted.items():
        if array.shape != shape:
            return f"{name} expected shape {shape} beside u {u.shape} and A {A.shape}, got {array.shape}"
        if array.dtype != u.dtype:
            return f"{name} expected {u.dtype} like u, got {array.dtype}; cast one of them"
    return None


@selective_scan_grad.check
def selective_scan_grad_check(u, delta, A, B, C, D, dy, dlast_state):
    for name, array, shape in (("dy", dy, u.shape), ("dlast_state", dlast_state, (*u.shape[:2], *A.shape[1:]))):
        if array.shape != shape:
            return f"{name} expected shape {shape} beside u {u.shape} and A {A.shape}, got {array.shape}"
    return selective_scan_check(u, delta, A, B, C, D)


@selective_scan.samples
def selective_scan_samples(rng):
    def sample(batch, channels, states, steps, reason):
        u, delta = rng.normal(size=(batch, channels, steps)), rng.uniform(0.1, 1.0, (batch, channels, steps))
        A, D = -rng.uniform(0.5, 2.0, (channels, states)), rng.normal(size=channels)
        B, C = rng.normal(size=(2, batch, states, steps))
        return opsdk.Sample(u, delta, A, B, C, D, reason=reason)

    yield sample(2, 2, 2, 3, "two sequences")
    yield sample(1, 5, 1, 2, "more channels than parts")
    yield sample(1, 1, 9, 2, "more states than a vector")
    yield sample(1, 2, 2, 1, "one step")
    yield sample(1, 2, 2, 0, "no steps")
    yield sample(0, 2, 2, 3, "no sequences")


# Numba on the CPU: a channel of a sequence at a time, so that its states stay in the first cache. B and C are turned
# round, so that the states of a step lie side by side.


@selective_scan.kernel("cpu", language="numba", parallel=True, contiguous=True)
def selective_scan_numba(u, delta, A, B, C, D, y, last_state):
    batch, channels, steps = u.shape
    B_of, C_of = by_step(B), by_step(C)
    for k in numba.prange(batch * channels):
        b, d = k // channels, k % channels
        h = last_state[b, d]
        h[:] = 0
        for t in range(steps):
            advance(h, A[d], delta[b, d, t], u[b, d, t], B_of[b, t], h)
            y[b, d, t] = dot(h, C_of[b, t]) + D[d] * u[b, d, t]


@selective_scan_grad.kernel("cpu", language="numba", parallel=True, contiguous=True)
def selective_scan_grad_numba(u, delta, A, B, C, D, dy, dlast_state, du, ddelta, dA, dB, dC, dD):
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

"""Selective scan: the state space model of Mamba, whose step size and projections change from step to step."""

import numpy as np

import opsdk
from opsdk import errors


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


@selective_scan.bench
def selective_scan_bench(rng, n):
    """128 steps of 128 channels with 16 states each."""
    shape = (max(1, n // 128**2), 128, 128)
    A, (B, C) = -rng.uniform(0.5, 2, (128, 16)), rng.normal(size=(2, shape[0], 16, 128))
    return opsdk.Sample(rng.normal(size=shape), rng.uniform(0.01, 0.2, shape), A, B, C, rng.normal(size=128))


for op, name in ((selective_scan, "forward"), (selective_scan_grad, "backward")):
    op.kernel("cpu", language="numba", source=f".selective_scan_numba:{name}", parallel=True, contiguous=True)

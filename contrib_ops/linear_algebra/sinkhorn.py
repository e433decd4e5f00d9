"""Sinkhorn: optimal transport with an entropy term, whose plan is differentiable in costs and marginals."""

import numpy as np

import opsdk
from opsdk import errors


def sinkhorn_infer(cost, a, b):
    if (cost.ndim, a.ndim, b.ndim) != (2, 1, 1):
        raise errors.ShapeError(
            "op 'contrib::sinkhorn': expected cost (rows, columns), a (rows,) and b (columns,), got "
            f"{cost.shape}, {a.shape} and {b.shape}"
        )
    return cost


@opsdk.op(
    "contrib::sinkhorn(Tensor cost, Tensor a, Tensor b, *, float > 0 eps=0.1, int >= 1 iterations=100, "
    "'implicit' | 'unrolled' gradient='implicit') -> Tensor plan",
    infer=sinkhorn_infer,
    domain={"a": (0.1, None), "b": (0.1, None)},
)
def sinkhorn(cost, a, b, *, eps, iterations, gradient):
    """argmin_P ⟨P, cost⟩ + eps Σ P_ij (log P_ij - 1), over plans P whose rows sum to a / Σa and columns to b / Σb.

    P_ij = exp((f_i + g_j - cost_ij) / eps), by Sinkhorn's iterations for f and g in turn (Cuturi 2013, Sinkhorn
    Distances, algorithm 1), kept as logarithms, so that a small eps costs iterations and no digits.

    Args:
        cost: float array (n, m), any real numbers.
        a: n weights of rows, > 0. What counts is a / Σa.
        b: m weights of columns, > 0. What counts is b / Σb.
        eps: weight of the entropy, > 0, in the unit of cost. How many iterations the plan needs grows with
            (max cost - min cost) / eps.
        iterations: how many times f and then g is fitted, ≥ 1. The columns of the plan always have their sums; how far
            the rows are from theirs tells how far the iteration has come.
        gradient: "implicit" or "unrolled".

    Returns the plan, (n, m), of the dtype of cost, with the sum 1.

    Raises ValueError: shapes or dtypes that do not fit, no element, a weight, eps or number of iterations that is not
        positive, or another gradient.

    Gradient: with respect to cost, a and b, order 1. "implicit" is that of the optimal plan, from one linear system of
    its optimality conditions (as Luise, Rudi, Pontil and Ciliberto 2018 have it): it costs no memory, and is wrong as
    far as the iterations have not converged. "unrolled" is that of what was computed, after any number of iterations,
    from all f and g, which are computed again.

    Plans exist only for marginals of one sum: a gradient in a alone would depend on how the problem is continued
    outside of that. Here weights are divided by their sum, so that the derivative exists in every direction; it is 0
    along a itself, and for a on the simplex it is the tangential part of any other convention.
    """
    f, g = potentials(cost, a, b, eps, iterations)
    return np.exp(f[-1][:, None] + g[-1] - cost / cost.dtype.type(eps))


@sinkhorn.check
def sinkhorn_check(cost, a, b):
    rows, columns = cost.shape
    if cost.dtype.name not in ("float32", "float64"):
        return f"cost expected float32 or float64, got {cost.dtype}; cast all inputs"
    if cost.size == 0:
        return f"cost expected a row and a column, got shape {cost.shape}"
    for name, weights, count in (("a", a, rows), ("b", b, columns)):
        if weights.shape != (count,):
            return f"{name} expected shape ({count},) beside cost {cost.shape}, got {weights.shape}"
        if weights.dtype != cost.dtype:
            return f"{name} expected {cost.dtype} like cost, got {weights.dtype}; cast one of them"
        if not (weights > 0).all():
            return f"{name} expected weights above 0, got {weights.min()}; leave out what has none"
    return None


def potentials(cost, a, b, eps, iterations):
    """Returns f / eps and g / eps after each iteration."""
    kernel = -cost / cost.dtype.type(eps)
    f, g = np.empty((iterations, len(a)), cost.dtype), np.zeros((iterations + 1, len(b)), cost.dtype)
    for k in range(iterations):
        f[k] = np.log(a / a.sum()) - log_sum_exp(kernel + g[k], axis=1)
        g[k + 1] = np.log(b / b.sum()) - log_sum_exp(kernel + f[k][:, None], axis=0)
    return f, g


def log_sum_exp(x, axis):
    """Returns log Σ exp x along an axis; logaddexp.reduce goes number by number, and takes ten times as long."""
    top = x.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=axis)) + top.squeeze(axis)


@sinkhorn.backward
def sinkhorn_grad(cost, a, b, plan, dplan, eps, iterations, gradient):
    if gradient == "implicit":
        dkernel, dlog_a, dlog_b = implicit(plan, dplan)
    else:
        dkernel, dlog_a, dlog_b = unrolled(cost, a, b, dplan, eps, iterations)
    da, db = dlog_a / a - dlog_a.sum() / a.sum(), dlog_b / b - dlog_b.sum() / b.sum()
    return -dkernel / cost.dtype.type(eps), da, db


@sinkhorn_grad.check
def sinkhorn_grad_check(cost, a, b, plan, dplan):
    for name, array in (("plan", plan), ("dplan", dplan)):
        if array.shape != cost.shape:
            return f"{name} expected shape {cost.shape} like cost, got {array.shape}"
    return sinkhorn_check(cost, a, b)


def implicit(plan, dplan):
    """Returns the gradients in -cost / eps, log a and log b at the optimum.

    There diag(r) df + P dg = r dlog a - (P ∘ dK) 1 and Pᵀ df + diag(c) dg = c dlog b - (P ∘ dK)ᵀ 1, with P's own sums
    r and c, and dP = P ∘ (df + dg + dK). The system is symmetric. (f + t, g - t) changes nothing, so g is held to
    Σ c g = 0, by adding c cᵀ to the system that is left for g once f is eliminated.
    """
    share = plan * dplan
    rows, columns = plan.sum(axis=1), plan.sum(axis=0)
    left = np.diag(columns) - plan.T @ (plan / rows[:, None]) + np.outer(columns, columns)
    of_g = np.linalg.solve(left, share.sum(axis=0) - plan.T @ (share.sum(axis=1) / rows))
    of_f = (share.sum(axis=1) - plan @ of_g) / rows
    return share - plan * (of_f[:, None] + of_g), rows * of_f, columns * of_g


def unrolled(cost, a, b, dplan, eps, iterations):
    """Returns the gradients in -cost / eps, log a and log b of the iteration, from its last step to its first."""
    kernel = -cost / cost.dtype.type(eps)
    f, g = potentials(cost, a, b, eps, iterations)
    log_a, log_b = np.log(a / a.sum()), np.log(b / b.sum())
    dkernel = dplan * np.exp(kernel + f[-1][:, None] + g[-1])
    df, dg = dkernel.sum(axis=1), dkernel.sum(axis=0)
    dlog_a, dlog_b = np.zeros_like(a), np.zeros_like(b)
    for k in range(iterations)[::-1]:
        dlog_b += dg  # g = log b - LSE over rows, whose derivative is a softmax over rows
        moved = dg * np.exp(kernel + f[k][:, None] + (g[k + 1] - log_b))
        df = df - moved.sum(axis=1)
        dkernel -= moved
        dlog_a += df
        moved = df[:, None] * np.exp(kernel + g[k] + (f[k] - log_a)[:, None])
        df, dg = np.zeros_like(df), -moved.sum(axis=0)
        dkernel -= moved
    return dkernel, dlog_a, dlog_b


@sinkhorn.samples
def sinkhorn_samples(rng):
    def sample(rows, columns, reason, scale=1.0, **attrs):
        cost, a, b = scale * rng.uniform(size=(rows, columns)), *(rng.uniform(0.5, 1.5, n) for n in (rows, columns))
        return opsdk.Sample(cost, a, b, reason=reason, **attrs)

    yield sample(3, 4, "implicit, converged", eps=0.7, iterations=60)
    yield sample(3, 2, "unrolled, not converged", eps=0.5, iterations=2, gradient="unrolled")
    yield sample(1, 3, "one row", eps=0.5, iterations=2, gradient="unrolled")
    yield sample(3, 1, "one column", eps=0.5, iterations=2, gradient="unrolled")
    yield sample(2, 3, "costs of some eps", 400.0, eps=40.0, iterations=3, gradient="unrolled")
    one_dear = np.array([[1.0, 1.0, 4000.0], [1.0, 1.0, 1.0]])
    yield sample(2, 3, "exp(-cost / eps) would vanish", one_dear, eps=1.0, iterations=3, gradient="unrolled")


@sinkhorn.bench
def sinkhorn_bench(rng, n):
    """A square cost and 20 iterations."""
    side = max(1, round(n**0.5))
    cost, (a, b) = rng.uniform(size=(side, side)), rng.uniform(0.5, 1.5, (2, side))
    return opsdk.Sample(cost, a, b, eps=0.1, iterations=20, gradient="unrolled")


# The backward stays NumPy: what takes long in it is a product and a solution in LAPACK, or exponentials of whole
# matrices.
sinkhorn.kernel("cpu", language="numba", source=".sinkhorn_numba:forward", contiguous=True)

"""What functions of several ops give, as NumPy says it: by name the function and NumPy's way, of X or what is named."""

import numpy as np

import opsdk

X = np.array([[[0.5, -1.5, 2.0], [3.0, 0.25, -0.5]], [[1.0, 4.0, -2.0], [0.75, -3.0, 1.25]]])
M = X[0]
P = np.array([[0.2, 0.5, 0.9], [0.1, 0.75, 0.35]])
HOLES = np.array([[np.nan, 2.0, 1.0, 4.0], [3.0, np.nan, np.nan, -1.0], [0.5, 0.25, 2.5, 1.5]])
MASK = X > 0.4
I = np.array([[6, -3, 5], [12, 8, 0]])  # noqa: E741 - whole numbers

FORMULAS = {
    "neg": (lambda x: opsdk.neg(x), lambda x: -x),
    "frac": (lambda x: opsdk.frac(x * 0.37), lambda x: x * 0.37 - np.trunc(x * 0.37)),
    "deg2rad": (lambda x: opsdk.deg2rad(x), np.deg2rad),
    "rad2deg": (lambda x: opsdk.rad2deg(x), np.rad2deg),
    "exp2": (lambda x: opsdk.exp2(x), np.exp2),
    "sinc": (lambda x: opsdk.sinc(x), np.sinc),
    "erfc": (lambda x: opsdk.erfc(x), lambda x: 1 - np.asarray(opsdk.erf(x))),
    "hypot": (lambda x: opsdk.hypot(x, 1.5), lambda x: np.hypot(x, 1.5)),
    "fmod": (lambda x: opsdk.fmod(x, -0.7), lambda x: np.fmod(x, -0.7)),
    "fmod by x": (lambda x: opsdk.fmod(7.3, x), lambda x: np.fmod(7.3, x)),
    "copysign": (lambda x: opsdk.copysign(x, -X), lambda x: np.copysign(x, -X)),
    "logaddexp": (lambda x: opsdk.logaddexp(x, 2 * X), lambda x: np.logaddexp(x, 2 * X)),
    "logaddexp2": (lambda x: opsdk.logaddexp2(x, 2 * X), lambda x: np.logaddexp2(x, 2 * X)),
    "logit": (lambda x: opsdk.logit(x / 10 + 0.5), lambda x: np.log((x / 10 + 0.5) / (0.5 - x / 10))),
    "logit, held": (lambda x: opsdk.logit(x, 0.1), lambda x: np.log((h := np.clip(x, 0.1, 0.9)) / (1 - h))),
    "xlogy": (lambda x: opsdk.xlogy(x, abs(X)), lambda x: x * np.log(abs(X))),
    "ldexp": (lambda x: opsdk.ldexp(x, 3), lambda x: x * 8),
    "fmax": (lambda x: opsdk.fmax(x, -X), lambda x: np.fmax(x, -X)),
    "fmin": (lambda x: opsdk.fmin(x, -X), lambda x: np.fmin(x, -X)),
    "stanh": (lambda x: opsdk.stanh(x), lambda x: 1.7159 * np.tanh(0.67 * x)),
    "addcmul": (lambda x: opsdk.addcmul(x, X, M, value=0.5), lambda x: x + 0.5 * X * M),
    "addcdiv": (lambda x: opsdk.addcdiv(x, X, M, value=-2), lambda x: x - 2 * X / M),
    "addmm": (lambda x: opsdk.addmm(x[0], M, X[0].T @ M, 2.0, 0.5), lambda x: 2 * x[0] + 0.5 * M @ X[0].T @ M),
    "baddbmm": (lambda x: opsdk.baddbmm(x, X, M.T @ M), lambda x: x + X @ M.T @ M),
    "addmv": (lambda x: opsdk.addmv(M[:, 0], x[0], M[0], beta=0.0), lambda x: x[0] @ M[0]),
    "addr": (lambda x: opsdk.addr(x[0], M[:, 0], M[0]), lambda x: x[0] + np.outer(M[:, 0], M[0])),
    "div": (lambda x: opsdk.div(x, 0.3), lambda x: x / 0.3),
    "div, floor": (lambda x: opsdk.div(x, 0.3, rounding_mode="floor"), lambda x: np.floor_divide(x, 0.3)),
    "div, trunc": (lambda x: opsdk.div(x, 0.3, rounding_mode="trunc"), lambda x: np.trunc(x / 0.3)),
    "clamp_min": (lambda x: opsdk.clamp_min(x, 0.3), lambda x: np.maximum(x, 0.3)),
    "clamp_max": (lambda x: opsdk.clamp_max(x, 0.3), lambda x: np.minimum(x, 0.3)),
    "clip by values": (lambda x: opsdk.clip(x, M - 1, M + 1), lambda x: np.clip(x, M - 1, M + 1)),
    "nan_to_num": (lambda x: opsdk.nan_to_num(x), lambda x: x),
    "float_power": (lambda x: opsdk.float_power(x, 3), lambda x: x**3),
}
ARRANGED = {
    "narrow": (lambda x: opsdk.narrow(x, 2, 1, 2), lambda x: x[:, :, 1:]),
    "narrow from the end": (lambda x: opsdk.narrow(x, -1, -2, 1), lambda x: x[:, :, 1:2]),
    "select": (lambda x: opsdk.select(x, 1, -1), lambda x: x[:, -1]),
    "slice": (lambda x: opsdk.slice(x, [0, 2], [0, 1], [1, 9]), lambda x: x[:1, :, 1:]),
    "strided_slice": (lambda x: opsdk.strided_slice(x, [2], [-1], [0], [-1]), lambda x: x[:, :, -1:0:-1]),
    "take": (lambda x: opsdk.take(x, np.array([[0, -1], [5, 5]])), lambda x: np.take(x, [[0, -1], [5, 5]])),
    "take, wrap": (lambda x: opsdk.take(x, np.array([13]), "wrap"), lambda x: np.take(x, [13], mode="wrap")),
    "take, clip": (lambda x: opsdk.take(x, np.array([-3, 13]), "clip"), lambda x: np.take(x, [-3, 13], mode="clip")),
    "ravel": (lambda x: opsdk.ravel(x), np.ravel),
    "view_as": (lambda x: opsdk.view_as(x, np.zeros((3, 4))), lambda x: x.reshape(3, 4)),
    "unflatten": (lambda x: opsdk.unflatten(x, -1, [3, 1, -1]), lambda x: x.reshape(2, 2, 3, 1, 1)),
    "mT": (lambda x: opsdk.mT(x), lambda x: x.swapaxes(1, 2)),
    "adjoint": (lambda x: opsdk.adjoint(x), lambda x: x.swapaxes(1, 2)),
    "atleast_3d": (lambda x: opsdk.atleast_3d(x[0]), lambda x: x[0][:, :, None]),
    "atleast_2d": (lambda x: opsdk.atleast_2d(x[0, 0]), lambda x: x[0, 0][None]),
    "broadcast_tensors": (lambda x: opsdk.broadcast_tensors(x, M[:1])[0], lambda x: x),
    "meshgrid": (
        lambda x: opsdk.meshgrid(x[0, 0], M[0, :2])[0],
        lambda x: np.meshgrid(x[0, 0], M[0, :2], indexing="ij")[0],
    ),
    "meshgrid, xy": (
        lambda x: opsdk.meshgrid(M[0, :2], x[0, 0], indexing="xy")[1],
        lambda x: np.meshgrid(M[0, :2], x[0, 0])[1],
    ),
    "cartesian_prod": (
        lambda x: opsdk.cartesian_prod(x[0, 0], M[1]),
        lambda x: np.array([[a, b] for a in x[0, 0] for b in M[1]]),
    ),
    "hstack": (lambda x: opsdk.hstack([x, X]), lambda x: np.hstack([x, X])),
    "hstack of vectors": (lambda x: opsdk.hstack([x[0, 0], M[0]]), lambda x: np.hstack([x[0, 0], M[0]])),
    "vstack": (lambda x: opsdk.vstack([x[0, 0], M[1]]), lambda x: np.vstack([x[0, 0], M[1]])),
    "dstack": (lambda x: opsdk.dstack([x[0], M]), lambda x: np.dstack([x[0], M])),
    "column_stack": (lambda x: opsdk.column_stack([x[0, 0], M.T]), lambda x: np.column_stack([x[0, 0], M.T])),
    "tensor_split": (lambda x: opsdk.tensor_split(x, 2, 2)[0], lambda x: np.array_split(x, 2, 2)[0]),
    "tensor_split at": (lambda x: opsdk.tensor_split(x, [1, 2], 2)[1], lambda x: np.split(x, [1, 2], 2)[1]),
    "hsplit": (lambda x: opsdk.hsplit(x, 2)[1], lambda x: np.hsplit(x, 2)[1]),
    "vsplit": (lambda x: opsdk.vsplit(x, 2)[1], lambda x: np.vsplit(x, 2)[1]),
    "dsplit": (lambda x: opsdk.dsplit(x, 3)[1], lambda x: np.dsplit(x, 3)[1]),
    "fliplr": (lambda x: opsdk.fliplr(x), np.fliplr),
    "flipud": (lambda x: opsdk.flipud(x), np.flipud),
    **{
        f"rot90, {k}": (lambda x, k=k: opsdk.rot90(x, k, [1, 2]), lambda x, k=k: np.rot90(x, k, (1, 2)))
        for k in (0, 1, 2, 3, -1)
    },
    "diag_embed": (lambda x: opsdk.diag_embed(x[0], 1), lambda x: np.stack([np.diag(row, 1) for row in x[0]])),
    "diag_embed, axes": (
        lambda x: opsdk.diag_embed(x[0], -1, 0, 2),
        lambda x: np.stack([np.diag(row, -1) for row in x[0]]).transpose(1, 0, 2),
    ),
    "diagflat": (lambda x: opsdk.diagflat(x[0], -2), lambda x: np.diagflat(x[0], -2)),
    "block_diag": (
        lambda x: opsdk.block_diag([x[0], M[:1]]),
        lambda x: np.block([[x[0], np.zeros((2, 3))], [np.zeros((1, 3)), M[:1]]]),
    ),
    "unfold": (
        lambda x: opsdk.unfold(x, 2, 2, 1),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 2),
    ),
    "as_strided": (lambda x: opsdk.as_strided(x, [2, 2], [4, 1], 1), lambda x: x.ravel()[[[1, 2], [5, 6]]]),
    "select_scatter": (lambda x: opsdk.select_scatter(x, M[0], 1, 1), lambda x: np.stack([x[:, 0], [M[0]] * 2], 1)),
    "slice_scatter": (
        lambda x: opsdk.slice_scatter(x, X[:, :, :1], [2], [1], [3], [2]),
        lambda x: np.concatenate([x[:, :, :1], X[:, :, :1], x[:, :, 2:]], 2),
    ),
    "diagonal_scatter": (
        lambda x: opsdk.diagonal_scatter(x[0], M[0, :2]),
        lambda x: np.where(np.eye(2, 3, dtype=bool), M[0, :2, None], x[0]),
    ),
}
STATISTICS = {
    "amax": (lambda x: opsdk.amax(x, [0, 2]), lambda x: x.max((0, 2))),
    "aminmax": (lambda x: opsdk.aminmax(x, 1)[0], lambda x: x.min(1)),
    "std_mean": (lambda x: opsdk.std_mean(x, 1)[0], lambda x: x.std(1, ddof=1)),
    "var_mean": (lambda x: opsdk.var_mean(x, 1)[1], lambda x: x.mean(1)),
    "count_nonzero": (lambda x: opsdk.count_nonzero(x > 0, 1), lambda x: np.count_nonzero(x > 0, 1)),
    "median": (lambda x: opsdk.median(x, 2), lambda x: np.median(x, 2)),
    "median of all": (lambda x: opsdk.median(x), np.median),
    "median, min": (lambda x: opsdk.median(x, 1, mode="min")[0], lambda x: x.min(1)),
    "median, place": (lambda x: opsdk.median(x, 1, mode="min")[1], lambda x: x.argmin(1)),
    "quantile": (
        lambda x: opsdk.quantile(x, [0.27, 0.8], [0, 2], True),
        lambda x: np.quantile(x, [0.27, 0.8], (0, 2), keepdims=True),
    ),
    **{
        f"quantile, {how}": (
            lambda x, how=how: opsdk.quantile(x, 0.4, 2, interpolation=how),
            lambda x, how=how: np.quantile(x, 0.4, 2, method=how),
        )
        for how in ("lower", "higher", "midpoint", "nearest")
    },
    "kthvalue": (lambda x: opsdk.kthvalue(x, 2, 2)[0], lambda x: np.sort(x, 2)[..., 1]),
    "kthvalue, place": (lambda x: opsdk.kthvalue(x, 2, 2, True)[1], lambda x: np.argsort(x, 2)[..., 1:2]),
    "cummax": (lambda x: opsdk.cummax(x, 2)[0], lambda x: np.maximum.accumulate(x, 2)),
    "cummin of all": (lambda x: opsdk.cummin(x)[0], lambda x: np.minimum.accumulate(x.ravel())),
    "logcumsumexp": (lambda x: opsdk.logcumsumexp(x, 2), lambda x: np.log(np.cumsum(np.exp(x), 2))),
    "diff": (lambda x: opsdk.diff(x, 2), lambda x: np.diff(x, 2)),
    "diff, more": (lambda x: opsdk.diff(x, axis=1, prepend=X), lambda x: np.diff(x, axis=1, prepend=X)),
    "trapezoid": (lambda x: opsdk.trapezoid(x, dx=0.5), lambda x: np.trapezoid(x, dx=0.5)),
    "trapezoid over x": (lambda x: opsdk.trapezoid(x, M[0], axis=2), lambda x: np.trapezoid(x, M[0], axis=2)),
    "cumulative_trapezoid": (
        lambda x: opsdk.cumulative_trapezoid(x),
        lambda x: np.cumsum((x[..., 1:] + x[..., :-1]) / 2, -1),
    ),
    "cov": (lambda x: opsdk.cov(x[0]), lambda x: np.cov(x[0])),
    "cov, weighed": (
        lambda x: opsdk.cov(x[0], ddof=True, fweights=np.array([1, 2, 1]), aweights=P[0]),
        lambda x: np.cov(x[0], fweights=[1, 2, 1], aweights=P[0]),
    ),
    "cov of columns": (lambda x: opsdk.cov(x[0], False, False), lambda x: np.cov(x[0], rowvar=False, ddof=0)),
    "corrcoef": (lambda x: opsdk.corrcoef(x[0]), lambda x: np.corrcoef(x[0])),
    "dist": (lambda x: opsdk.dist(x, -X, 3), lambda x: (np.abs(x + X) ** 3).sum() ** (1 / 3)),
    "cdist": (lambda x: opsdk.cdist(x, M + 1, 1), lambda x: np.abs(x[:, :, None] - (M + 1)).sum(-1)),
    "renorm": (
        lambda x: opsdk.renorm(x, 2, 0, 4.0),
        lambda x: x * np.minimum(1, 4 / (np.sqrt((x**2).sum((1, 2), keepdims=True)) + 1e-7)),
    ),
    "softmax": (lambda x: opsdk.softmax(x, 1, "float64"), lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
}
PLACED = {
    "where": (lambda x: opsdk.where(MASK, x, 0.0), lambda x: np.where(MASK, x, 0.0)),
    "masked_select": (lambda x: opsdk.masked_select(x, MASK), lambda x: x[MASK]),
    "masked_select, broadcast": (
        lambda x: opsdk.masked_select(x, MASK[0]),
        lambda x: x[np.broadcast_to(MASK[0], x.shape)],
    ),
    "masked_scatter": (
        lambda x: opsdk.masked_scatter(x, MASK, 10 * X),
        lambda x: np.where(MASK, (10 * X).ravel()[np.maximum(np.cumsum(MASK) - 1, 0).reshape(X.shape)], x),
    ),
    "index_put": (
        lambda x: opsdk.index_put(x, (np.array([0, 1]), np.array([1, 0])), M),
        lambda x: np.stack([np.stack([x[0, 0], M[0]]), np.stack([M[1], x[1, 1]])]),
    ),
    "index_put, added": (
        lambda x: opsdk.index_put(x, (np.array([1, 1]),), 2.0, accumulate=True),
        lambda x: x + np.array([0.0, 4.0])[:, None, None],
    ),
    "index_fill": (lambda x: opsdk.index_fill(x, np.array([0, 2]), 2, 7.0), lambda x: np.where([1, 0, 1], 7.0, x)),
    "index_copy": (
        lambda x: opsdk.index_copy(x, np.array([1]), 1, X[:, :1]),
        lambda x: np.concatenate([x[:, :1], X[:, :1]], 1),
    ),
    "index_add": (
        lambda x: opsdk.index_add(x, np.array([1, 1]), 1, X),
        lambda x: x + np.stack([0 * X[:, 0], X.sum(1)], 1),
    ),
}
S = X[0] @ X[0].T + np.eye(2)
PRODUCTS = {
    "inner": (lambda x: opsdk.inner(x, M), lambda x: np.inner(x, M)),
    "inner of numbers": (lambda x: opsdk.inner(x, 2.0), lambda x: x * 2),
    "vdot": (lambda x: opsdk.vdot(x[0, 0], M[1]), lambda x: np.vdot(x[0, 0], M[1])),
    "vecdot": (lambda x: opsdk.vecdot(x, X, 1), lambda x: (x * X).sum(1)),
    "tensordot": (lambda x: opsdk.tensordot(x, X, [[0, 2], [0, 2]]), lambda x: np.tensordot(x, X, [[0, 2], [0, 2]])),
    "tensordot, 1": (lambda x: opsdk.tensordot(x, M.T, 1), lambda x: np.tensordot(x, M.T, 1)),
    "tensordot, 0": (lambda x: opsdk.tensordot(x[0], M, 0), lambda x: np.tensordot(x[0], M, 0)),
    "kron": (lambda x: opsdk.kron(x[0], M.T), lambda x: np.kron(x[0], M.T)),
    "kron of a vector": (lambda x: opsdk.kron(x, M[0]), lambda x: np.kron(x, M[0])),
    "cross": (lambda x: opsdk.cross(x, X[::-1]), lambda x: np.cross(x, X[::-1])),
    "matrix_power, of the inverse": (
        lambda x: opsdk.matrix_power(x[:, :, :2], -3),
        lambda x: np.linalg.matrix_power(x[:, :, :2], -3),
    ),
    "linalg.vander": (lambda x: opsdk.linalg.vander(x[0, 0]), lambda x: np.vander(x[0, 0], increasing=True)),
    "block_diag, one after another": (
        lambda x: opsdk.block_diag(x[0], x[1, 0]),
        lambda x: np.block([[x[0], np.zeros((2, 3))], [np.zeros((1, 3)), x[1, :1]]]),
    ),
    "multi_dot, one after another": (
        lambda x: opsdk.chain_matmul(x[0], x[0].T, M),
        lambda x: x[0] @ x[0].T @ M,
    ),
    "matrix_power": (lambda x: opsdk.matrix_power(x[:, :, :2], 5), lambda x: np.linalg.matrix_power(x[:, :, :2], 5)),
    "multi_dot": (lambda x: opsdk.multi_dot([x[0], M.T, M]), lambda x: x[0] @ M.T @ M),
    "vander": (lambda x: opsdk.vander(x[0, 0]), lambda x: np.vander(x[0, 0])),
    "vander, increasing": (lambda x: opsdk.vander(x[0, 0], 2, True), lambda x: np.vander(x[0, 0], 2, True)),
    "inverse": (lambda x: opsdk.inverse(x[:, :, :2]), lambda x: np.linalg.inv(x[:, :, :2])),
    "det": (lambda x: opsdk.det(x[:, :, :2]), lambda x: np.linalg.det(x[:, :, :2])),
    "slogdet": (lambda x: opsdk.slogdet(x[:, :, :2])[1], lambda x: np.linalg.slogdet(x[:, :, :2])[1]),
    "logdet": (lambda x: opsdk.logdet(x[:1, :, :2]), lambda x: np.linalg.slogdet(x[:1, :, :2])[1]),
    "solve": (lambda x: opsdk.solve(x[:, :, :2], X), lambda x: np.linalg.solve(x[:, :, :2], X)),
    "solve for a vector": (lambda x: opsdk.solve(S, x[0, :, 0]), lambda x: np.linalg.solve(S, x[0, :, 0])),
    "solve, broadcast": (lambda x: opsdk.solve(S, x), lambda x: np.linalg.solve(S, x)),
}
ALL = {**FORMULAS, **ARRANGED, **STATISTICS, **PLACED, **PRODUCTS}

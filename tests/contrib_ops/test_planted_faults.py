"""`opsdk check` finds what an author of these ops may get wrong: a sign, a factor, an index, a term, a stale value."""

import os
import shutil
import subprocess
import sys

import pytest

import contrib_ops  # noqa: F401 - registers the ops
import opsdk
from tests.contracts.tree import REPOSITORY
from tests.contrib_ops import planted

pytest.importorskip("numba")

FAULTS = {
    "sparse_solve": [
        ("linear_algebra/sparse_solve.py", 'return lu.solve(b, "T"), lu', "return lu.solve(b), lu"),
        ("linear_algebra/sparse_solve.py", "    w = lu.solve(dx)\n", '    w = lu.solve(dx, "T")\n'),
        (
            "linear_algebra/sparse_solve.py",
            "return -dots(w[rows_of(indptr)], x[indices]), w",
            "return dots(w[rows_of(indptr)], x[indices]), w",
        ),
        (
            "linear_algebra/sparse_solve.py",
            "return -dots(w[rows_of(indptr)], x[indices]), w",
            "return -dots(w[indices], x[rows_of(indptr)]), w",
        ),
        (
            "linear_algebra/sparse_solve.py",
            "return -dots(w[rows], u[indices])",
            "return -2 * dots(w[rows], u[indices])",
        ),
        ("linear_algebra/sparse_solve.py", "lu.solve(ddb - opsdk", "lu.solve(ddb + opsdk"),
        (
            "linear_algebra/sparse_solve.py",
            'return lu.solve(b, "T"), lu',
            'return lu.solve(b, "T"), KEPT.setdefault(len(b), lu)\n\n\nKEPT = {}',
        ),
    ],
    "flash_attention": [
        ("sequences/flash_attention.py", "total = total * kept +", "total = total +"),
        ("sequences/flash_attention.py", "rest = dlse - (", "rest = dlse + ("),
        ("sequences/flash_attention.py", "rest = dlse - (", "rest = -("),
        ("sequences/flash_attention.py", "ds = factor * p", "ds = p"),
        ("sequences/flash_attention.py", "np.arange(n)[:, None] + m - n", "np.arange(n)[:, None]"),
        ("sequences/flash_attention.py", "-(gp * p).sum(axis=-1),", "(gp * p).sum(axis=-1),"),
        ("sequences/flash_attention.c", "total *= kept;", ""),
        ("sequences/flash_attention.c", "i + m - n + 1 < m ? i + m - n + 1", "i + m - n < m ? i + m - n"),
        ("sequences/flash_attention.c", "last == 1 ? 0 : j", "j"),
    ],
    "advanced_index": [
        ("selection/advanced_index.py", "return opsdk.sum_at(", "return -opsdk.sum_at("),
        ("selection/advanced_index.py", "return advanced_index(ddx,", "return 2 * advanced_index(ddx,"),
        (
            "selection/advanced_index.py",
            "slice(None) if index is None else index for index in indices",
            "slice(None) if index is None else abs(index) for index in indices",
        ),
        (
            "selection/advanced_index.py",
            "[places(indices)]\n    return opsdk.sum_at(",
            "[places([i if i is None else i[..., ::-1] if i.ndim else i for i in indices])]\n    return opsdk.sum_at(",
        ),
        ("selection/advanced_index_grad.c", "block[i] += other[i]", "block[i] = other[i]"),
        ("selection/advanced_index_grad.c", "for (int64_t i = 0; i < opsdk_size(dx); ++i) out[i] = 0;", ""),
        ("selection/advanced_index.h", "at < 0 ? at + size", "at < 0 ? -at"),
        ("selection/advanced_index.h", "last - first < taken", "last - first <= taken"),
        ("selection/advanced_index.h", "steps[rest++] = strides[a]", "steps[rest++] = 1"),
    ],
    "fixed_point": [
        ("implicit/fixed_point.py", "return dx + opsdk.vjp", "return dx - opsdk.vjp"),
        ("implicit/fixed_point.py", "return dx + opsdk.vjp", "return dx + 0.5 * opsdk.vjp"),
        ("implicit/fixed_point.py", "return dx + opsdk.vjp(lambda x: f(x, *theta), x, w)[1]", "return dx + 0 * w"),
        ("implicit/fixed_point.py", "lambda x: f(x, *theta), x, w)", "lambda x: f(x, *theta), w, w)"),
        ("implicit/fixed_point.py", "list(theta), w)[1])", "list(theta), dx)[1])"),
        ("implicit/fixed_point.py", "lambda *theta: f(x, *theta)", "lambda *theta: f(dx, *theta)"),
    ],
    "ode_solve": [
        ("implicit/ode_solve.py", "return packed([dy, -da,", "return packed([dy, da,"),
        ("implicit/ode_solve.py", "*(-d for d in dtheta)", "*(d for d in dtheta)"),
        ("implicit/ode_solve.py", "t0=t1, t1=t0, steps", "t0=t0, t1=t1, steps"),
        ("implicit/ode_solve.py", "[y, *theta], a)", "[y, *theta], y)"),
        ("implicit/ode_solve.py", "packed([y, dy, *map", "packed([dy, dy, *map"),
        ("implicit/ode_solve.py", "_, dy0, *dtheta = unpacked", "dy0, _, *dtheta = unpacked"),
    ],
    "batch_norm": [
        ("normalization/batch_norm.py", "dx -= centred", "dx += centred"),
        ("normalization/batch_norm.py", "rstd**3 * (drstd", "rstd**2 * (drstd"),
        ("normalization/batch_norm.py", "(drstd + weight * projected) / count", "(weight * projected) / count"),
        ("normalization/batch_norm.py", "(ddx - along(shift, x)) *", "ddx *"),
        (
            "normalization/batch_norm.py",
            "for made in (y, mean, rstd)",
            "for made in (y, mean if running_mean is None else running_mean, rstd)",
        ),
        ("normalization/batch_norm.c", "if (training && kept_mean) {", "if (0) {"),
        ("normalization/batch_norm.c", "if (training && kept_mean) {", "if (kept_mean) {"),
        ("normalization/batch_norm.c", "kept_mean[k] += (T)(momentum", "kept_mean[k] += (T)((1 - momentum)"),
        ("normalization/batch_norm.c", "*v / (count - 1) - kept_var", "*v / count - kept_var"),
    ],
    "dropout": [
        ("regularization/dropout.py", "return dropout(dy, p=p, rng=rng)", "return dropout(dy, p=p)"),
        ("regularization/dropout.py", "rng=rng)\n", "rng=rng) * (1 - p)\n"),
        ("regularization/dropout.py", "vmath.uniform(rng, i)", "vmath.uniform(rng, i + 1)"),
        ("regularization/dropout.py", "vmath.uniform(rng, i) >=", "vmath.uniform(rng, i) <"),
        ("regularization/dropout.py", "rng.random(x.shape)", "rng.random((2, *x.shape))[1]"),
        ("regularization/dropout.c", "opsdk_uniform(rng, i)", "opsdk_uniform(rng, i + 1)"),
        ("regularization/dropout.c", "opsdk_uniform(rng, i)", "(opsdk_random_bits(rng, i) >> 12) * 0x1p-53"),
        ("regularization/dropout.c", "opsdk_uniform(rng, i)", "opsdk_uniform(0, i)"),
        ("regularization/dropout.c", "opsdk_uniform(rng, i)", "opsdk_uniform((int32_t)rng, i)"),
    ],
    "stateful_dropout": [
        ("regularization/stateful_dropout.py", "else x.copy()), key", "else x.copy()), state.copy()"),
        (
            "regularization/stateful_dropout.py",
            "    key = state.copy()\n    if training",
            "    key = state.copy()\n    if p",
        ),
        ("regularization/stateful_dropout.c", "words[1] + 1)", "words[1])"),
        ("regularization/stateful_dropout.c", "words[1] + 1)", "words[1] + 2)"),
        ("regularization/stateful_dropout.c", "opsdk_uniform(drawn, i)", "opsdk_uniform(drawn, i + 1)"),
        ("regularization/stateful_dropout.c", "opsdk_uniform(drawn, i)", "opsdk_uniform(words[0], i)"),
        ("regularization/stateful_dropout.c", "(T)(1 / (1 - p))", "(T)(1 / p)"),
    ],
    "fused_adamw": [
        ("optimizers/fused_adamw.c", "(double)++*OPSDK_DATA(int64_t, step)", "(double)*OPSDK_DATA(int64_t, step) + 1"),
        ("optimizers/fused_adamw.c", "share2 = 1 - pow(beta2", "share2 = 1 - pow(beta1"),
        ("optimizers/fused_adamw.c", "(sqrt(square / share2) + eps)", "sqrt(square / share2 + eps)"),
        ("optimizers/fused_adamw.c", "rate * (weight_decay * p[i] +", "rate * (-weight_decay * p[i] +"),
        ("optimizers/fused_adamw.c", "v[i] = (T)square;", ""),
        ("optimizers/fused_adamw.c", "means[k])", "means[0])"),
    ],
    "learned_step": [
        ("quantization/learned_step.py", "quant_max=highest, grad_factor=factor", "quant_max=highest, grad_factor=1.0"),
        ("quantization/learned_step.py", "quant_min=lowest", "quant_min=lowest + 1"),
    ],
    "spline": [
        ("sequences/spline.py", "summed(dy * slope)\n\n\n@spline_values", "summed(-dy * slope)\n\n\n@spline_values"),
        (
            "sequences/spline.py",
            "slope = spline(knots, values, x, order=order + 1",
            "slope = spline(knots, values, x, order=order",
        ),
        (
            "sequences/spline.py",
            "return spline_values(knots, x, dy, order=order,",
            "return spline_values(knots, x, 2 * dy, order=order,",
        ),
        ("sequences/spline_numba.py", "made[k, j] = f0 * f[i] + f1 * f[i + 1]", "made[k, j] = f0 * f[i] + f1 * f[i]"),
        (
            "sequences/spline_numba.py",
            "A[0, 2], A[0, 3], A[0, 4] = k, -h - k, h",
            "A[0, 2], A[0, 3], A[0, 4] = k, h + k, h",
        ),
        (
            "sequences/spline_numba.py",
            "f += times(turned(R), solved(turned(A), bend))",
            "f += times(R, solved(turned(A), bend))",
        ),
        ("sequences/spline_numba.py", "            bend[i + 1] += m1 * arriving[k, j]\n", ""),
    ],
    "scatter_mean": [
        ("segments/scatter.py", "shares = lines_of(wide(dy), axis)", "shares = -lines_of(wide(dy), axis)"),
        ("segments/scatter.py", "lines_of(wide(dy), axis) / divisors(counts, axis)", "lines_of(wide(dy), axis)"),
        ("segments/scatter.py", "shares.reshape(-1)[cells]", "shares.reshape(-1)[cells[::-1]]"),
        ("segments/scatter.py", ".astype(src.dtype), counts\n", ".astype(src.dtype), counts + 1\n"),
        (
            "segments/scatter.py",
            ".astype(src.dtype), counts\n",
            ".astype(src.dtype), KEPT.setdefault(counts.shape, counts)\n\n\nKEPT = {}\n",
        ),
        ("segments/scatter.py", "return scatter_mean(ddsrc, index", "return scatter_mean(2 * ddsrc, index"),
        ("segments/scatter_numba.py", "    held[:] = 0\n", ""),
        ("segments/scatter_numba.py", "sums / np.maximum(held[b % len(held)], 1)", "sums / held.max()"),
        ("segments/scatter_numba.py", "np.maximum(held[b % lines], 1)", "np.maximum(held[0], 1)"),
    ],
    "scatter_max": [
        ("segments/scatter.py", "np.arange(count)[:, None], count))", "np.arange(count)[::-1, None], count))"),
        ("segments/scatter.py", "np.put_along_axis(dsrc, arg, dy,", "np.put_along_axis(dsrc, arg, -dy,"),
        (
            "segments/scatter.py",
            "np.put_along_axis(dsrc, arg, dy,",
            "np.put_along_axis(dsrc, np.maximum(arg - 1, 0), dy,",
        ),
        ("segments/scatter.py", "np.pad(values, [(0, 1), (0, 0)])", "np.vstack([values, values[:1]])"),
        ("segments/scatter_numba.py", "at[b, s, j] == count or value > best", "value > best"),
        ("segments/scatter_numba.py", "value > best or", "value >= best or"),
        ("segments/scatter_numba.py", "made[:] = 0\n", "made[:, :1] = 0\n"),
    ],
    "crf_log_likelihood": [
        ("sequences/crf.py", "dtransitions += dy[n] * pairs", "dtransitions += pairs"),
        ("sequences/crf.py", "return used - likely, pairs - expected", "return used - likely, pairs"),
        ("sequences/crf.py", "lengths[rows] - 1].sum", "-1].sum"),
        ("sequences/crf.py", "turned[t] * likely[t + 1] + before[t] * changes[0]", "turned[t] * likely[t + 1]"),
        ("sequences/crf.py", "(weights * came).sum(axis=0)", "came.mean(axis=0)"),
        ("sequences/crf_numba.py", "pairs[tags[t], tags[t - 1]] += weight", "pairs[tags[t - 1], tags[t]] += weight"),
        ("sequences/crf.py", "alpha[:-1, :, None] + transitions", "alpha[1:, :, None] + transitions"),
        ("sequences/crf.py", "in chains(alpha, 0, 0, lengths):", "in chains(alpha, start, end, lengths):"),
        ("sequences/crf.py", "zip(chains(alpha, 0, 0,", "zip(chains(alpha, 0, ddend,"),
        (
            "sequences/crf.py",
            "    return y, alpha\n",
            "    return y, KEPT.setdefault(alpha.shape, alpha)\n\n\nKEPT = {}\n",
        ),
        ("sequences/crf_numba.py", "gradient[:] = 0\n", "pass\n"),
        ("sequences/crf_numba.py", "alpha[n, len(chain) :] = chain, 0", "alpha[n, len(chain) :] = 0, 0"),
        ("sequences/crf_numba.py", "share /= exps(came, base)", "share = exps(came, base)"),
    ],
    "viterbi": [
        ("sequences/crf.py", "uses(path[n, :steps], len", "uses(path[n, :steps] - 1, len"),
        ("sequences/crf.py", "ddscore[n] = path_score(direction,", "ddscore[n] = -path_score(direction,"),
        ("sequences/crf_numba.py", "came[t, path[n, t]]", "came[t, path[n, t - 1]]"),
        ("sequences/crf_numba.py", "        demissions[n] = 0\n", "        pass\n"),
        ("sequences/crf_numba.py", "if t:\n                    pairs", "if True:\n                    pairs"),
    ],
    "deform_conv2d": [
        ("convolution/deform_conv2d.py", "interleaved(through * down, through", "interleaved(through * right, through"),
        ("convolution/deform_conv2d.py", "by_read * share_down * values +", "by_read * share_down * ddvalues +"),
        ("convolution/deform_conv2d.py", "+ bend * dright * values)", ")"),
        ("convolution/deform_conv2d.py", "right * high, down * right", "right * high, -down * right"),
        ("convolution/deform_conv2d.py", "by_read * share + by_change * turn", "by_read * share"),
        ("convolution/deform_conv2d.py", "turned * read + at_taps * change", "2 * turned * read + at_taps * change"),
        ("convolution/deform_conv2d.py", "ddfactors * read + factors * change", "factors * change"),
        ("convolution/deform_conv2d_numba.py", "at = c // of_offset * taps + k", "at = c // each * taps + k"),
        ("convolution/deform_conv2d_numba.py", "k % kw * dilation[1]", "k % kw * dilation[0]"),
        ("convolution/deform_conv2d_numba.py", "                arriving[:] = 0\n", ""),
    ],
    "soft_splat": [
        (
            "convolution/soft_splat.py",
            "by_right += moved * gains * share_right",
            "by_right -= moved * gains * share_right",
        ),
        ("convolution/soft_splat.py", ", 1.0 / total", ", 2.0 / total"),
        ("convolution/soft_splat.py", "total.reshape(shape)\n", "total.reshape(shape) + 1\n"),
        (
            "convolution/soft_splat.py",
            "total.reshape(shape)\n",
            "KEPT.setdefault(shape, total.reshape(shape))\n\n\nKEPT = {}\n",
        ),
        ("convolution/soft_splat.py", " - at(through_total, index)", ""),
        ("convolution/soft_splat.py", "-growth * arriving * averages", "growth * arriving * averages"),
        ("convolution/soft_splat.py", 'ddz * (mode == "softmax")', "ddz"),
        ("convolution/soft_splat.py", "gains * bend * right", "gains * bend * down"),
        ("convolution/soft_splat_numba.py", "min(z[p] - base[q], MOST)", "min(z[p], MOST)"),
        ("convolution/soft_splat_numba.py", "total[q] if total[q] > 0 else np.inf", "1 + total[q]"),
        ("convolution/soft_splat_numba.py", "moved[p, k] += (x", "moved[p, k] = (x"),
    ],
    "roi_align": [
        ("detection/roi_align.py", "] += rows.T @ arriving", "] -= rows.T @ arriving"),
        ("detection/roi_align.py", "] += rows.T @ arriving", "] = rows.T @ arriving"),
        ("detection/roi_align.py", "dinput[int(box[0])]", "dinput[0]"),
        ("detection/roi_align.py", "return roi_align(ddinput, boxes", "return roi_align(2 * ddinput, boxes"),
        ("detection/roi_align.c", "(k * channels + m % channels)", "(k * channels + m / channels)"),
        ("detection/roi_align.c", "memset(plane, 0, sizeof(T) * (size_t)(height * width));", ""),
        ("detection/roi_align.c", "weight * sum[x]", "weight * sum[0]"),
    ],
    "fft_conv": [
        (
            "convolution/fft_conv.py",
            "fft_conv(backwards, filter, mode=mode)",
            'fft_conv(backwards, filter, mode="causal")',
        ),
        ("convolution/fft_conv.py", "[..., ::-1][..., : filter.shape[-1]]", "[..., : filter.shape[-1]][..., ::-1]"),
        ("convolution/fft_conv.py", "opsdk.sum(dfilter, axis=0)", "dfilter[0]"),
        ("convolution/fft_conv.py", "(length + filter.shape[-1] - 2)", "(length + filter.shape[-1] - 3)"),
        ("convolution/fft_conv.py", " if np.isfinite(made).all() else directly(x, filter, mode)", ""),
    ],
}


# Seconds each: an op is judged to its first finding, in a process of its own. What ends that is a finding of
# `opsdk check`, which is asked then.
@pytest.mark.slow
@pytest.mark.parametrize(("op", "file", "right", "wrong"), [(op, *fault) for op in FAULTS for fault in FAULTS[op]])
def test_a_planted_fault_is_found(op, file, right, wrong, tmp_path):
    shutil.copytree(REPOSITORY / "contrib_ops", tmp_path / "contrib_ops", ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path / "contrib_ops" / file
    text = target.read_text(encoding="utf-8")
    assert text.count(right) >= 1
    target.write_text(text.replace(right, wrong), encoding="utf-8")
    done = judged(tmp_path, planted.__file__, op)
    if done.returncode < 0:
        done = judged(tmp_path, "-m", "opsdk", "check", "contrib_ops", "-k", op)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL" in done.stdout, done.stderr


def runs_as_python(op):
    gradients = [] if op.grad is None else [op.grad]
    kernels = [kernel for each in (op, *gradients) for kernel in each.opdef.kernels]
    return any(kernel.language == "numba" and kernel.key.place == "cpu" for kernel in kernels)


# Else any fault would be found. That an op passes as it is, its proof shows: here those whose kernels run as Python.
@pytest.mark.slow
@pytest.mark.parametrize("op", [op for op in FAULTS if runs_as_python(opsdk.find_op(f"contrib::{op}"))])
def test_an_op_without_a_fault_is_not_found(op, tmp_path):
    shutil.copytree(REPOSITORY / "contrib_ops", tmp_path / "contrib_ops", ignore=shutil.ignore_patterns("__pycache__"))
    done = judged(tmp_path, planted.__file__, op)
    assert done.returncode == 0, done.stdout + done.stderr


def judged(folder, *command):
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, *command], cwd=folder, env=env, capture_output=True, text=True, check=False)

"""The ops of contrib_ops for the tests that prove them, a family in each file, so that processes share the work."""

import pytest

import contrib_ops
import opsdk

PLAIN = [op for op in opsdk.REGISTRY if op.opdef.name.startswith("contrib::") and op.opdef.gradient_of is None]


# Their proofs take 3 to 40 seconds each, most of it in derivatives at every sample and in compilers; the rest of each
# family is quickly proven with every run, but for those of SWEPT. The sweeps prove all of them, and thoroughly: what CI
# runs is what `opsdk check --thorough` asks.
SWEPT = {"detection", "linear_algebra", "normalization", "sequences"}
SLOW = {
    "contrib::advanced_index",
    "contrib::batch_norm",
    "contrib::bag_products",
    "contrib::bags_to_table",
    "contrib::crf_log_likelihood",
    "contrib::deform_conv2d",
    "contrib::dropout",
    "contrib::eigh",
    "contrib::flash_attention",
    "contrib::focal_terms",
    "contrib::ode_solve",
    "contrib::masked_select",
    "contrib::nms",
    "contrib::embedding_bag",
    "contrib::cholesky",
    "contrib::padded_from_ragged",
    "contrib::pair_products",
    "contrib::ragged_from_padded",
    "contrib::lsq_gradients",
    "contrib::negative_binomial_nll",
    "contrib::probit_loss",
    "contrib::rms_norm",
    "contrib::roi_align",
    "contrib::rotary_embedding",
    "contrib::scatter_max",
    "contrib::scatter_mean",
    "contrib::segment_softmax",
    "contrib::segment_sum",
    "contrib::selective_scan",
    "contrib::sinkhorn",
    "contrib::snake",
    "contrib::soft_dtw",
    "contrib::spline",
    "contrib::spline_values",
    "contrib::soft_splat",
    "contrib::sparse_solve",
    "contrib::student_t_nll",
    "contrib::topk_straight_through",
    "contrib::von_mises_nll",
    "contrib::unique",
    "contrib::viterbi",
}


def named(ops, slow=()):
    """Gives a test each of the ops; those whose names are in `slow` are marked so."""
    params = [pytest.param(op, id=op.__name__, marks=pytest.mark.slow if op.opdef.name in slow else ()) for op in ops]
    return pytest.mark.parametrize("op", params)


def by_kernel(opdef, quick="float64"):
    """Gives a test each kernel of the host; what is compiled by Numba for other dtypes than one is marked slow."""
    kernels = [kernel for kernel in opdef.kernels if kernel.key.place == "cpu"]  # tests/cuda_sim has the others
    others = {
        kernel for kernel in kernels if kernel.language == "numba" and str(kernel.key.dtype) not in ("None", quick)
    }
    # one text for all dtypes, compiled for each; the quick one, or the kernel in C, stands for them in make test
    params = [pytest.param(k, id=str(k), marks=pytest.mark.slow if k in others else ()) for k in kernels]
    return pytest.mark.parametrize("kernel", params)


def shapes_for(kernel):
    """Gives the shapes that a kernel is tried on; Numba compiles for each number of axes, and the sweeps prove all."""
    return [(5, 7)] if kernel.language == "numba" else [(5, 7), (67,), (2, 3, 4), (), (1,), (0, 3)]


def proven(family):
    """Gives a test to each op that is defined in a folder of contrib_ops and that is quick to prove."""
    return named([op for op in ops_of(family) if op.opdef.name not in SLOW])


def proven_thoroughly(family):
    """Gives a test of the sweeps to each op that is defined in a folder of contrib_ops."""
    return named(ops_of(family), {op.opdef.name for op in PLAIN})


def ops_of(family):
    """Gives the ops that are defined in a folder of contrib_ops."""
    return [op for op in PLAIN if op.opdef.origin.module.startswith(f"{contrib_ops.__name__}.{family}.")]


def assert_proven(op):
    """Proves an op in the second that `opsdk check --quick` takes; the sweeps prove it thoroughly."""
    report = opsdk.verify(op, level="quick")
    assert report.verdict == "pass", str(report)

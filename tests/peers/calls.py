"""Calls of functions that opsdk shares with PyTorch or Paddle: a call as text, and the names that it is made of.

A call is of both libraries, or of the one that stands before it, or before a name. Names inside are those of
`tests.peers.inputs`; the first argument is the tensor of a method; `{dim}` is what the peer calls a dimension.
A form that changes its tensor in place is called as the one that does not.
"""

CALLS = {
    "(x)": """
        ceil floor round trunc fix frac sign sgn abs absolute angle arctan atan arcsinh asinh cos cosh deg2rad rad2deg
        erf erfc exp exp2 expm1 neg negative positive reciprocal sigmoid sin sinc sinh square tan tanh logsigmoid
        log_sigmoid relu relu6 selu silu mish softsign tanhshrink hardswish hardsigmoid real conj swish isfinite isinf
        isnan isneginf isposinf isreal signbit logical_not t fliplr flipud ravel flatten atleast_1d atleast_2d
        atleast_3d clone numel trace squeeze sum mean prod amax amin logsumexp nansum nanmean argmax argmin any all
        max min std var median nanmedian sort argsort nonzero argwhere unique unique_consecutive diag diagflat
        diagonal tril triu cumsum cumprod logcumsumexp cummax cummin count_nonzero norm softplus softshrink hardshrink
        hardtanh celu elu leaky_relu gelu nan_to_num histc aminmax std_mean var_mean is_complex is_floating_point
        is_tensor zeros_like ones_like cov corrcoef diff trapezoid trapz cumulative_trapezoid block_diag
        thresholded_relu stanh is_integer normalize glu diag_embed pdist mode as_tensor asarray assign
        matrix_transpose double long bool half bfloat16 byte char int short float cfloat cdouble contiguous dim
        ndimension nelement stride tolist numpy element_size is_contiguous is_signed type detach cpu
        empty_like rand_like randn_like randint_like zero_ uniform_ normal_ exponential_ cauchy_ log_normal_
        is_same_size chain_matmul multi_dot
    """,
    "(x.detach())": "requires_grad_ tolist numpy",
    "(one)": "item is_nonzero",
    "(c)": "log log10 log1p log2 rsqrt sqrt lgamma gammaln digamma acosh arccosh",
    "(u)": "acos arccos asin arcsin atanh arctanh erfinv logit bernoulli poisson celu",
    "(i)": """
        bitwise_not bitwise_invert abs sign square neg negative sum prod mean amax amin max min argmax argmin sort
        argsort cumsum cumprod cummax cummin count_nonzero any all floor ceil round trunc sqrt exp sin sigmoid
        reciprocal median nanmedian std var unique nonzero tril diff tanh isnan isfinite relu real logical_not nansum
        nanmean logsumexp norm trace float double bool long is_signed zeros_like ones_like empty_like random_
        is_floating_point is_complex
    """,
    "(b)": "sum any all logical_not cumsum count_nonzero nonzero prod float long int bitwise_not argwhere",
    "(z)": """
                 abs angle conj real imag exp sin cos sqrt log square reciprocal neg sum mean prod cumsum tan tanh
        sinh cosh         sgn isfinite isnan is_complex isreal log10 log2 sigmoid std var trace asin acos atan
    """,
    "(holes)": """
                 isfinite isinf isnan isneginf isposinf nan_to_num nansum nanmean nanmedian max min argmax argmin sort
        sum amax         amin median any all count_nonzero relu sign round floor cummax cummin sgn logsumexp prod
        hardtanh relu6         leaky_relu
    """,
    "(edges)": """
                 softplus logsigmoid log_sigmoid sigmoid tanh silu mish gelu selu celu elu softsign hardswish
        hardsigmoid expm1         erf erfc tanhshrink softshrink hardshrink relu relu6 hardtanh swish abs sign round
        trunc
    """,
    "(x, y)": """
        add sub subtract mul multiply div divide true_divide maximum minimum fmax fmin atan2 arctan2 copysign hypot
        logaddexp logaddexp2 floor_divide remainder fmod mod floor_mod heaviside dist eq ne equal not_equal ge le gt
        lt greater_equal less_equal greater less greater_than less_than isclose allclose logical_and logical_or
        logical_xor float_power equal_all l1_loss mse_loss smooth_l1_loss huber_loss soft_margin_loss
        cosine_similarity pairwise_distance inner kron square_error_cost view_as reshape_as expand_as type_as
        is_same_size cdist poisson_nll_loss vecdot copy_ set_value
    """,
    "(x, v)": """
                 add sub mul div maximum minimum atan2 copysign hypot floor_divide remainder eq lt isclose inner mv
        matmul         logaddexp fmax fmin linear
    """,
    "(i, j)": """
                 bitwise_and bitwise_or bitwise_xor gcd lcm bitwise_left_shift bitwise_right_shift add sub mul div
        floor_divide         remainder fmod maximum minimum eq lt logical_and true_divide mod floor_mod equal ldexp
        atan2 copysign fmax         isclose float_power kron inner
    """,
    "(b, b2)": "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor eq ne",
    "(x, i)": "add mul div floor_divide remainder maximum ldexp eq lt copysign isclose fmod",
    "(c, i)": "pow ldexp float_power",
    "(c, y)": "pow float_power xlogy",
    "(x, 2)": """
                 pow add mul div sub floor_divide remainder eq lt ge fmod clip clamp chunk tensor_split split topk
        repeat_interleave roll tril triu diagonal kthvalue clamp_min clamp_max unsafe_chunk diag leaky_relu celu elu
        hardshrink softshrink round softplus
    """,
    "(i, 2)": "full_like",
    "(i, 0.5)": "add mul div sub pow remainder eq lt floor_divide",
    "(x, 0.5)": "add mul div sub clip clamp remainder floor_divide eq clamp_min clamp_max geometric_ lerp",
    "(c, 0.5)": "pow float_power",
    "(x, -0.5, 0.5)": "clip clamp hardtanh",
    "(x, min=-0.5)": "clip clamp",
    "(x, max=0.25)": "clip clamp",
    "(x, None, 0.25)": "clip clamp",
    "(holes, -0.5, 0.5)": "clip clamp",
    "(ties, -0.5, 0.5)": "clip clamp hardtanh",
    "(ties)": """
                 max min amax amin median nanmedian sort argmax argmin cummax cummin abs sign relu mode unique prod
        relu6         hardtanh softshrink hardshrink cumprod norm
    """,
    "(ties, ties2)": "maximum minimum fmax fmin remainder floor_divide",
    "(x, 1)": """
                 sum mean prod amax amin logsumexp nansum nanmean argmax argmin any all max min sort argsort median
        nanmedian         cumsum cumprod logcumsumexp cummax cummin std var softmax log_softmax softmin unbind squeeze
        unsqueeze mode         count_nonzero kthvalue chunk roll flatten glu norm std_mean var_mean gumbel_softmax
        unstack reverse         tensor_split split diagonal
    """,
    "(x, {dim}=0)": """
                 sum mean prod amax amin logsumexp nansum nanmean argmax argmin any all max min sort argsort median
        nanmedian         cumsum cumprod logcumsumexp cummax cummin std var softmax log_softmax softmin unbind squeeze
        unsqueeze diff         mode count_nonzero norm std_mean var_mean unique normalize aminmax trapezoid
        cumulative_trapezoid         unique_consecutive unstack
    """,
    "(x, {dim}=-1, keepdim=True)": """
                 sum mean prod amax amin logsumexp nansum nanmean argmax argmin any all max min median nanmedian std
        var mode         norm aminmax std_mean var_mean
    """,
    "(s, {dim}=[0, 2])": """
                 sum mean amax amin logsumexp nansum nanmean std var norm count_nonzero flip std_mean var_mean
    """,
    "(s, {dim}=1)": """
                 sum mean max min argmax argmin sort argsort median cumsum cumprod softmax log_softmax prod std var
        unbind         cummax cummin any all nanmedian logcumsumexp mode diff norm count_nonzero softmin
    """,
    "(s)": """
                 sum mean prod max min argmax argmin sort argsort median std var norm flatten ravel squeeze numel
        cumsum         softmax log_softmax any all tril triu diagonal unbind unstack fliplr flipud nonzero unique diff
        softmin glu         matrix_transpose adjoint trapezoid dim
    """,
    "(flat)": """
                 sum mean prod max min argmax sort cumsum softmax log_softmax softmin diag diagflat nonzero median
        norm diff t         std var vander diag_embed glu unbind cov corrcoef trapezoid cummax
    """,
    "(number)": """
                 sum mean prod max min argmax item sort cumsum norm t median tanh abs unique flatten ravel squeeze any
        all         argmin tolist numel dim
    """,
    "(empty)": "sum prod mean any all sort cumsum nonzero unique logsumexp norm abs flatten ravel tolist numel std var",
    "(x, p=1)": "norm",
    "(x, p=1, {dim}=1)": "norm normalize",
    "(x, p=3, {dim}=1, keepdim=True)": "norm",
    "(x, float('inf'))": "norm",
    "(x, 'fro')": "norm",
    "(x, descending=True)": "sort argsort",
    "(x, {dim}=0, descending=True)": "sort argsort",
    "torch (x, 0, True)": "sort argsort max min sum mean median std var amax argmax any all logsumexp prod",
    "paddle (x, 0, True)": "sort argsort max min sum median argmax any all logsumexp",
    "(x, {dim}=1, unbiased=False)": "std var",
    "(x, unbiased=False)": "std var",
    "torch (x, correction=0)": "std var std_mean var_mean",
    "(holes, {dim}=1)": "nansum nanmean nanmedian max min argmax sum sort median cummax cummin any all count_nonzero",
    "(x, 0.4)": "quantile nanquantile",
    "(holes, 0.4, {dim}=1)": "quantile nanquantile",
    "(x, [0.25, 0.5], {dim}=1)": "paddle:quantile paddle:nanquantile",
    "(x, 0.4, {dim}=1, interpolation='lower')": "quantile nanquantile",
    "(x, 2, {dim}=1)": "topk kthvalue repeat_interleave roll chunk tensor_split split unsafe_chunk",
    "(x, 2, {dim}=0)": "topk kthvalue",
    "(x, 2, {dim}=1, largest=False)": "topk",
    "(s, 2, {dim}=2)": "split chunk tensor_split roll repeat_interleave",
    "(s, 2)": "split chunk tensor_split roll repeat_interleave dsplit vsplit",
    "(x, 2, 1)": "tensor_split chunk split topk kthvalue roll",
    "(x, [1, 3], {dim}=1)": "split tensor_split",
    "(x, [1, 3], 1)": "split tensor_split",
    "(m, 2)": "hsplit vsplit",
    "(x, [1, 2])": "hsplit vsplit tensor_split",
    "(x, {dim}=1, n=2)": "diff",
    "torch (x, 0, 1)": "transpose swapaxes swapdims moveaxis movedim select flatten diagonal",
    "paddle (x, 0, 1)": "swapaxes swapdims moveaxis flatten",
    "(s, 0, 2)": "swapaxes swapdims moveaxis torch:movedim torch:transpose",
    "(s, 1, 2)": "flatten torch:select",
    "(s, [2, 0, 1])": "paddle:transpose permute",
    "torch (s, (2, 0, 1))": "permute",
    "(s, [0, 2])": "flip paddle:reverse",
    "(s, 1)": "flip unsqueeze unbind argmax sum max cumsum softmax sort unstack",
    "(s, [0, -1])": "paddle:unsqueeze",
    "(tall, 1)": "squeeze unsqueeze",
    "(tall)": "squeeze",
    "(tall, [1])": "squeeze",
    "(x, [2, 6])": "reshape view",
    "(x, [-1, 2])": "reshape view",
    "(x, [2, 3, 4])": "broadcast_to expand",
    "(v, [3, 4])": "expand broadcast_to tile",
    "(x, [2, 1])": "tile",
    "(x, (2, 1))": "tile",
    "torch (x, (1, 2), (0, 1))": "roll",
    "paddle (x, [1, 2], [0, 1])": "roll",
    "(x, 1, [0, 1])": "rot90",
    "(x, 2, [0, 1])": "rot90",
    "(x, 1, {dim}=0)": "roll",
    "(x, counts, {dim}=1)": "repeat_interleave",
    "(x, -1)": "tril triu diag diagonal cumsum softmax log_softmax argmax max min unsqueeze",
    "(s, 1, 0, 2)": "diagonal",
    "(s, {dim1}=1, {dim2}=2)": "diagonal",
    "(x, 1, 1, 2)": "narrow",
    "(s, 2, [2, 2])": "unflatten",
    "(x, [2, 3], [2, 1], 1)": "as_strided",
    "(x, (2, 3), (2, 1))": "as_strided",
    "(x, 2, 0, 1.0)": "renorm",
    "([x, y])": """
                 cat concat concatenate stack hstack vstack dstack column_stack row_stack paddle:add_n
        paddle:broadcast_tensors         paddle:block_diag
    """,
    "([x, y], {dim}=1)": "cat concat concatenate stack",
    "([x, y], 1)": "cat concat concatenate stack",
    "([v, v])": "hstack vstack dstack column_stack row_stack stack cat paddle:meshgrid paddle:cartesian_prod",
    "([x, i])": "cat stack hstack",
    "torch (v, flat)": "cartesian_prod outer ger",
    "torch (x, v)": "broadcast_tensors block_diag",
    "torch (v, w, indexing='ij')": "meshgrid",
    "paddle (v, w)": "meshgrid outer ger dot",
    "(v, w)": "outer ger dot inner vdot kron trapezoid trapz cumulative_trapezoid vecdot matmul",
    "([3, 1], [2, 1, 4])": "paddle:broadcast_shape paddle:broadcast_shapes",
    "torch ((3, 1), (2, 1, 4))": "broadcast_shapes",
    "(x, m)": "matmul mm linear paddle:mm torch:chain_matmul",
    "(m, m2)": "matmul mm inner kron torch:chain_matmul",
    "(s, m)": "matmul inner",
    "(s, s2)": "bmm matmul",
    "(m)": "inverse det logdet slogdet trace inv t tril triu diagonal norm cov corrcoef adjoint diag",
    "(ms)": "inverse det logdet slogdet inv matrix_transpose adjoint norm tril",
    "(mi)": "inverse det slogdet inv",
    "(m, 3)": "matrix_power",
    "(m, -2)": "matrix_power",
    "(m, 0)": "matrix_power",
    "(m, x.T)": "solve",
    "(ms, ms2)": "solve matmul bmm",
    "(m, v)": "solve mv matmul",
    "([x, m, m2])": "multi_dot",
    "torch (v, v)": "vdot dot inner outer",
    "paddle (v, v)": "dot inner outer vecdot",
    "(x3, y3)": "cross",
    "(x3, y3, {dim}=1)": "cross vecdot",
    "(x, x, m)": "addmm",
    "(x, x, m, alpha=0.5, beta=2.0)": "addmm",
    "torch (v4, m, v)": "addmv",
    "(s, s, ms4)": "baddbmm",
    "(m, v, w)": "addr",
    "(x, y, alpha=2)": "torch:add torch:sub torch:subtract",
    "torch (x, y, rounding_mode='floor')": "div",
    "torch (x, y, rounding_mode='trunc')": "div",
    "torch (i, j, rounding_mode='floor')": "div",
    "(x, y, c)": "torch:addcmul torch:addcdiv",
    "(x, y, c, value=0.5)": "torch:addcmul torch:addcdiv",
    "(x, y, 0.3)": "lerp",
    "(x, y, u)": "lerp",
    "(x, y, p=3)": "dist cdist",
    "(x, y, 1)": "dist cdist",
    "(x, m2, 2)": "cdist",
    "(x, m, 1)": "tensordot",
    "torch (x, m, dims=([1], [0]))": "tensordot",
    "(x, m, [[1], [0]])": "tensordot",
    "('ij,jk->ik', x, m)": "einsum",
    "('bij->bji', s)": "einsum",
    "('ij,ij', x, y)": "einsum",
    "('...j,j->...', s, v)": "einsum",
    "(b, x, y)": "where",
    "torch (x, b, y)": "where",
    "torch (x, 2, 1)": "repeat",
    "paddle (x, [2, 1])": "repeat",
    "paddle (1.0, 2.0, [2, 3])": "log_normal",
    "(b, x, 0.5)": "where",
    "(x, b)": "masked_select",
    "(x, b, 0.5)": "masked_fill",
    "(x, b, y)": "masked_scatter",
    "torch (x, 1, pick)": "gather",
    "torch (x, pick, dim=1)": "take_along_dim",
    "paddle (x, pick, 1)": "take_along_axis take_along_dim",
    "paddle (x, rows, 0)": "gather index_select",
    "paddle (x, rows)": "gather index_select take",
    "torch (x, 0, rows)": "index_select",
    "torch (x, rows)": "take",
    "torch (x, 0, rows, y2)": "index_add index_copy",
    "torch (x, 0, rows, 0.5)": "index_fill",
    "paddle (x, rows, 0, y2)": "index_add",
    "paddle (x, rows, 0, 0.5)": "index_fill",
    "paddle (x, rows, y2)": "scatter",
    "torch (x, 1, pick, y)": "scatter scatter_add",
    "torch (x, 1, pick, 0.5)": "scatter",
    "paddle (x, pick, y, 1)": "put_along_axis",
    "paddle (x, 1, pick, y)": "scatter_add",
    "paddle (x, pick, y, 1, 'add')": "put_along_axis",
    "paddle (x, places)": "gather_nd",
    "paddle (x, pick)": "index_sample",
    "(x, (rows, rows), two)": "index_put",
    "torch (x, v, 0, 1)": "select_scatter",
    "(x, v, 0, 1)": "select_scatter",
    "torch (x, y2, 0, 0, 2)": "slice_scatter",
    "paddle (x, y2, [0], [0], [2], [1])": "slice_scatter",
    "(x, v3)": "diagonal_scatter",
    "paddle (x, [0, 1], [0, 1], [2, 3])": "slice",
    "paddle (x, [0, 1], [0, 1], [3, 4], [2, 1])": "strided_slice",
    "(sorted1, flat)": "searchsorted",
    "(sorted1, flat, right=True)": "searchsorted",
    "(flat, sorted1)": "bucketize",
    "(flat, sorted1, right=True)": "bucketize",
    "(i, j3)": "isin",
    "(label)": "bincount one_hot",
    "(label, 5)": "one_hot",
    "(label, minlength=6)": "bincount",
    "(flat, 4)": "histc vander",
    "torch (flat, 4, -1.0, 1.0)": "histc",
    "paddle (flat, 4, -1.0, 1.0)": "histogram",
    "torch (flat, bins=4, range=(-1.0, 1.0))": "histogram",
    "(flat, return_inverse=True)": "unique unique_consecutive",
    "(i, return_counts=True)": "unique unique_consecutive",
    "(i, return_inverse=True, return_counts=True)": "unique unique_consecutive",
    "(3)": "eye arange randperm rand randn zeros ones",
    "([2, 3])": "zeros ones rand randn empty standard_normal uniform",
    "torch (2, 3)": "zeros ones rand randn empty eye arange",
    "paddle (2, 3)": "eye arange",
    "(3, 4)": "eye arange",
    "(0, 1, 0.25)": "arange",
    "(0, 5, 2)": "arange",
    "(0.0, 1.0, 5)": "linspace",
    "(0, 10, 4)": "linspace",
    "(0.0, 2.0, 3)": "logspace",
    "([2, 3], 1.5)": "full",
    "([2, 3], 2)": "full",
    "([2, 3], True)": "full",
    "(x, 1.5)": "full_like",
    "torch (0, 10, (2, 3))": "randint",
    "paddle (0, 10, [2, 3])": "randint",
    "(x, 10)": "randint_like",
    "(3, 4, 0)": "tril_indices triu_indices",
    "paddle (3, 4, 1)": "tril_indices triu_indices",
    "torch (3, 4, 1)": "tril_indices triu_indices",
    "([1.0, 2.0])": "tensor to_tensor as_tensor asarray",
    "([1, 2])": "tensor to_tensor as_tensor asarray",
    "([True])": "tensor to_tensor as_tensor",
    "(1j)": "tensor to_tensor",
    "(2)": "tensor to_tensor",
    "(numpy_array)": "tensor to_tensor as_tensor asarray from_numpy",
    "(u, 2)": "multinomial",
    "(0.0, 1.0, [2, 3])": "paddle:normal normal_",
    "torch (0.0, 1.0, (2, 3))": "normal",
    "(v, 3)": "vander",
    "(x, -0.5)": "clamp clip leaky_relu",
    "(u, 1e-3)": "logit",
    "(x, ties)": "heaviside",
    "(holes, 1.0, 2.0, -2.0)": "nan_to_num",
    "(x, posinf=1.0)": "nan_to_num",
    "(x, decimals=1)": "round",
    "(x, x)": "equal dist allclose isclose torch:equal equal_all",
    "(holes, holes)": "equal isclose allclose",
    "(holes, holes, equal_nan=True)": "isclose allclose",
    "(x, y, rtol=0.5, atol=0.2)": "isclose allclose",
    "torch (flat, 0, 2, 1)": "unfold",
    "paddle (flat, 0, 2, 1)": "unfold",
    "(x, 'float32')": "paddle:astype paddle:cast",
    "(x, 'int32')": "paddle:astype paddle:cast",
    "(i, 'float64')": "paddle:astype paddle:cast",
    "(x, [2, 2])": "new_zeros new_ones new_empty",
    "(x, [2, 2], 1.5)": "new_full",
    "torch (x, [1.0, 2.0])": "new_tensor",
    "(x, 0)": "torch:stride",
    "(x, 0.25)": "fill_",
    "(x, y, True)": "copy_",
    "(x, 2.0, 1.0)": "scale_",
}

# Calls of nn.functional beside those.
FUNCTIONAL = {
    "(x, -1)": "softmax log_softmax softmin glu",
    "(x, 0)": "softmax log_softmax softmin",
    "(x)": """
        softmax log_softmax softmin logsigmoid hardtanh gelu glu elu rrelu dropout alpha_dropout normalize
        thresholded_relu gumbel_softmax
    """,
    "(x, 0.3)": "elu celu leaky_relu hardshrink softshrink",
    "(x, 0.5, 0.25)": "torch:threshold",
    "(x, 0.1, 20.0)": "torch:threshold softplus",
    "(x, 2.0)": "softplus",
    "(x, 0.1, 0.3, False)": "rrelu",
    "(x, 0.1, 0.3, training=False)": "rrelu",
    "torch (x, approximate='tanh')": "gelu",
    "paddle (x, True)": "gelu",
    "(x, 0.5, training=False)": "dropout alpha_dropout",
    "(x, 0.5)": "dropout alpha_dropout",
    "(image, 0.5)": "dropout2d",
    "(volume, 0.5)": "dropout3d",
    "(image, weight1)": "prelu",
    "(image, weight3)": "prelu",
    "(x, y)": "cosine_similarity mse_loss l1_loss smooth_l1_loss huber_loss swiglu",
    "(ten, ten2)": "mse_loss l1_loss smooth_l1_loss huber_loss poisson_nll_loss soft_margin_loss",
    "torch (x, y, beta=0.5)": "smooth_l1_loss",
    "paddle (x, y, delta=0.5)": "smooth_l1_loss",
    "(x, y, delta=0.5)": "huber_loss paddle:smooth_l1_loss",
    "(x, y, reduction='none')": "mse_loss l1_loss smooth_l1_loss huber_loss poisson_nll_loss soft_margin_loss",
    "(x, y, reduction='sum')": "mse_loss l1_loss smooth_l1_loss huber_loss poisson_nll_loss soft_margin_loss",
    "(u, u2)": "binary_cross_entropy",
    "(u, u2, c)": "binary_cross_entropy",
    "(ucol, ucol2)": "paddle:log_loss",
    "(x, u2)": "binary_cross_entropy_with_logits paddle:sigmoid_focal_loss",
    "(x, u2, c)": "binary_cross_entropy_with_logits",
    "(x, u2, reduction='none')": "binary_cross_entropy_with_logits",
    "(x, u2, pos_weight=v)": "binary_cross_entropy_with_logits",
    "(u, u2, reduction='none')": "binary_cross_entropy",
    "(x, label)": "cross_entropy nll_loss multi_margin_loss",
    "(x, label, vpos)": "cross_entropy nll_loss",
    "(x, label, reduction='none')": "cross_entropy nll_loss multi_margin_loss",
    "(x, label, reduction='sum')": "cross_entropy nll_loss multi_margin_loss",
    "(x, label, ignore_index=1)": "cross_entropy nll_loss",
    "(x, label, vpos, ignore_index=1)": "cross_entropy nll_loss",
    "(x, label, label_smoothing=0.1)": "cross_entropy",
    "torch (x, probs)": "cross_entropy",
    "paddle (x, probs, soft_label=True)": "cross_entropy",
    "torch (image, labels2)": "cross_entropy nll_loss",
    "paddle (image, labels2, axis=1)": "cross_entropy",
    "paddle (image, labels2)": "nll_loss",
    "(logs, probs)": "kl_div",
    "(logs, probs, reduction='batchmean')": "kl_div",
    "torch (logs, logs, log_target=True)": "kl_div",
    "paddle (logs, logs, log_target=True)": "kl_div",
    "(x, y, signs3)": "cosine_embedding_loss",
    "(flat, flat2, signs)": "margin_ranking_loss",
    "(x, signs34)": "hinge_embedding_loss soft_margin_loss",
    "(x, y, w34)": "triplet_margin_loss triplet_margin_with_distance_loss",
    "(x, y, w34, swap=True)": "triplet_margin_loss triplet_margin_with_distance_loss",
    "(x, bfloat)": "multilabel_soft_margin_loss multi_label_soft_margin_loss",
    "(x, several)": "multilabel_margin_loss multi_label_margin_loss",
    "(x, y, c)": "gaussian_nll_loss",
    "(x, y, c, full=True)": "gaussian_nll_loss",
    "(x, c)": "poisson_nll_loss",
    "(x, c, full=True)": "poisson_nll_loss",
    "(c, c, log_input=False)": "poisson_nll_loss",
    "torch (logs3, targets3, lengths, target_lengths)": "ctc_loss",
    "paddle (logs3, targets32, lengths, target_lengths)": "ctc_loss",
    "(x, m)": "torch:linear paddle:linear",
    "(x, m, v)": "linear",
    "torch (x, (4,))": "layer_norm",
    "torch (x, (4,), v, w)": "layer_norm",
    "torch (x, (4,), v)": "rms_norm",
    "paddle (x, 4)": "layer_norm",
    "paddle (x, [4], v, w)": "layer_norm",
    "(image6, 3)": "channel_shuffle",
    "torch (image6, 3, v6, w6)": "group_norm",
    "paddle (image6, 3, 1e-5, v6, w6)": "group_norm",
    "(image)": "instance_norm",
    "(image, means, variances)": "batch_norm",
    "(image, means, variances, weight3, bias3)": "batch_norm",
    "(image, means, variances, training=True)": "batch_norm",
    "(image, 3)": "local_response_norm max_pool2d avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d unfold",
    "(image, 2)": "max_pool2d avg_pool2d adaptive_avg_pool2d pixel_unshuffle unfold",
    "(image, 2, 1)": "max_pool2d avg_pool2d unfold",
    "(image, 3, 2, 1)": "max_pool2d avg_pool2d",
    "(image, 3, stride=2, padding=1, ceil_mode=True)": "max_pool2d avg_pool2d",
    "torch (image, 3, padding=1, count_include_pad=False)": "avg_pool2d",
    "paddle (image, 3, padding=1, exclusive=False)": "avg_pool2d",
    "torch (image, 2, return_indices=True)": "max_pool2d adaptive_max_pool2d",
    "paddle (image, 2, return_mask=True)": "max_pool2d adaptive_max_pool2d",
    "(sequence, 2)": "max_pool1d avg_pool1d adaptive_avg_pool1d adaptive_max_pool1d",
    "(sequence, 3, 2, 1)": "max_pool1d avg_pool1d",
    "(volume, 2)": "max_pool3d avg_pool3d adaptive_avg_pool3d adaptive_max_pool3d",
    "(image, 2, 3)": "lp_pool2d",
    "(sequencep, 2, 3)": "lp_pool1d",
    "(volume, 2, 2)": "torch:lp_pool3d",
    "(sequence, kernel1)": "conv1d",
    "(image, kernel2)": "conv2d",
    "(image, kernel2, bias4)": "conv2d",
    "(image, kernel2, None, 2, 1)": "conv2d",
    "(image, kernel2, stride=2, padding=1, dilation=2)": "conv2d",
    "torch (image, kernel2, padding='same')": "conv2d",
    "paddle (image, kernel2, padding='SAME')": "conv2d",
    "(volume, kernel3)": "conv3d",
    "(sequence, kernelt1)": "torch:conv_transpose1d paddle:conv1d_transpose",
    "(image, kernelt2)": "torch:conv_transpose2d paddle:conv2d_transpose",
    "(image, kernelt2, None, 2, 1, 1)": "torch:conv_transpose2d paddle:conv2d_transpose",
    "(volume, kernelt3)": "torch:conv_transpose3d paddle:conv3d_transpose",
    "(image8, 2)": "pixel_shuffle",
    "(image, [1, 2, 2, 1])": "pad paddle:zeropad2d",
    "(image, [1, 1])": "torch:pad",
    "(image, [1, 2, 2, 1], mode='reflect')": "pad",
    "(image, [1, 2, 2, 1], mode='replicate')": "pad",
    "(image, [1, 2, 2, 1], mode='circular')": "pad",
    "(image, [1, 2, 2, 1], 'constant', 0.5)": "pad",
    "(x, [1, 2])": "torch:pad",
    "(x, [0, 1, 2, 0])": "pad",
    "(image, scale_factor=2)": "interpolate upsample",
    "(image, [5, 7])": "interpolate upsample",
    "(image, [5, 7], mode='bilinear')": "interpolate upsample",
    "(image, [5, 7], mode='bilinear', align_corners=True)": "interpolate upsample",
    "(image, [5, 7], mode='bicubic')": "interpolate upsample",
    "(image, [5, 7], mode='area')": "interpolate",
    "(image, grid)": "grid_sample",
    "(image, grid, 'nearest')": "grid_sample",
    "(image, grid, padding_mode='border', align_corners=True)": "grid_sample",
    "(image, grid, padding_mode='reflection', align_corners=False)": "grid_sample",
    "(theta, [2, 3, 4, 5])": "affine_grid",
    "(theta, [2, 3, 4, 5], align_corners=False)": "affine_grid",
    "(columns, [4, 4], 2)": "fold",
    "torch (pooled, indices, 2)": "max_unpool2d",
    "paddle (pooled, indices, 2)": "max_unpool2d",
    "(pooled1, indices1, 2)": "max_unpool1d",
    "(pooled3, indices3, 2)": "max_unpool3d",
    "torch (label, table)": "embedding",
    "paddle (label, table)": "embedding",
    "torch (pick, table)": "embedding embedding_bag",
    "torch (pick, table, mode='sum')": "embedding_bag",
    "torch (pick, table, mode='max')": "embedding_bag",
    "(label, table, padding_idx=1)": "embedding",
    "(x, w34, bil)": "bilinear",
    "(heads, heads2, heads3)": "scaled_dot_product_attention",
    "(heads, heads2, heads3, is_causal=True)": "scaled_dot_product_attention",
    "paddle (probs3, labelcol)": "dice_loss",
    "paddle (onehot)": "label_smooth",
    "paddle (image8, 2)": "maxout",
    "paddle (x, y, flatlabel)": "npair_loss",
}

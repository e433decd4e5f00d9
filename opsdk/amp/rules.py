"""Which built-in ops compute in 16 bits under mixed precision, and which in float32; all others in what they are given.

Products gain by few bits and lose little, since they sum in float32. What spreads a small error (exponentials,
logarithms, powers, sums over many elements), or is a loss or a normalisation, does not. A gradient is in the table
through its op alone: it runs in the dtypes of that call.
"""

_PRODUCTS = "conv conv_transpose lstm matmul mul rnn scaled_dot_product_attention unmasked_attention"
_SENSITIVE = """
    acos acosh asin asinh atanh cosh sinh tan exp expm1 log log10 log1p log2 erfinv lgamma digamma
    elementwise_pow reciprocal rsqrt square softplus tanhshrink log_sigmoid
    softmax log_softmax logsumexp cosine_similarity
    reduce_mean reduce_sum reduce_prod cumsum cumprod
    batch_norm layer_norm rms_norm standardize
    bce_loss bce_with_logits cross_entropy cross_entropy_with_logits huber_loss kl_div nll_loss
    softmax_with_cross_entropy
"""
LOW, WIDE = (frozenset(f"opsdk::{name}" for name in names.split()) for names in (_PRODUCTS, _SENSITIVE))

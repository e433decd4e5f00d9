"""Rotary position embedding: pairs of features turned by an angle that grows with the position."""

import numpy as np

import opsdk
from opsdk import errors

sum_to_like = opsdk.find_op("sum_to_like")  # unlike opsdk.sum_to it is an op, of which there is a derivative


@opsdk.op(
    "contrib::rotary_embedding(Tensor x, Tensor cos, Tensor sin, *, bool interleaved=False) -> Tensor y",
    infer=opsdk.infer.like("x"),
)
def rotary_embedding(x, cos, sin, *, interleaved):
    """Each pair (a, b) of features becomes (a cos - b sin, b cos + a sin) (Su et al. 2021, RoFormer, eq. 15 and 34).

    Args:
        x: float array of shape (…, seq, head_dim), head_dim even: queries or keys.
        cos: cosines of the angles, position · base^(-2i / head_dim) for pair i. One angle per pair: a shape that
            broadcasts to (…, seq, head_dim / 2), such as (seq, head_dim / 2), or (batch, 1, seq, head_dim / 2) where
            positions differ in a batch.
        sin: the sines, of the same shape.
        interleaved: which features are a pair. False: i and i + head_dim / 2, the two halves, as "rotate_half" of
            GPT-NeoX and LLaMA has it. True: 2i and 2i + 1, as RoFormer and GPT-J do. Weights trained with one are
            wrong with the other.

    Returns y of the shape and dtype of x.

    Tables of shape (seq, head_dim) with every angle twice, as Hugging Face's models make them, are refused: pass
    `cos[..., : head_dim // 2]`, or `cos[..., ::2]` of one that is interleaved.

    Raises ValueError: the last axis of x is odd, or a table does not fit.

    Gradient: to any order. With respect to x it is the inverse rotation, by the opposite angles; those of the tables
    are computed only where somebody wants them.
    """
    cos, sin = cos.astype(x.dtype, copy=False), sin.astype(x.dtype, copy=False)
    first, second = pairs(x, interleaved)
    y = np.empty_like(x, order="C")
    y_first, y_second = pairs(y, interleaved)
    y_first[...] = first * cos - second * sin
    y_second[...] = second * cos + first * sin
    return y


def pairs(x, interleaved):
    """Returns the first and the second features of all pairs, as views."""
    half = x.shape[-1] // 2
    return (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])


@rotary_embedding.check
def rotary_embedding_check(x, cos, sin):  # for every kernel: what it refuses, none has to expect
    if x.ndim == 0 or x.shape[-1] % 2:
        return f"x expected shape (…, seq, head_dim) with an even head_dim, got {x.shape}; drop a feature or add one"
    wanted = (*x.shape[:-1], x.shape[-1] // 2)
    for name, table in (("cos", cos), ("sin", sin)):
        sizes = zip(table.shape[-2::-1], wanted[-2::-1], strict=False)
        if not 0 < table.ndim <= x.ndim or table.shape[-1] != wanted[-1] or any(n not in (1, m) for n, m in sizes):
            return (
                f"{name} expected a shape that broadcasts to {wanted}, one angle per pair, got {table.shape}; of a "
                f"table that has every angle twice take one of them, such as {name}[..., : head_dim // 2]"
            )
    if cos.shape != sin.shape:
        return f"sin expected the shape of cos, {cos.shape}, got {sin.shape}; give both for the same positions"
    return None


# With pairs read as complex numbers, y = x · (cos + i sin): dx = dy · (cos - i sin), dcos + i dsin = conj(x) · dy. Each
# of the two ops is the gradient of the other.


@opsdk.op("contrib::pair_products(Tensor x, Tensor y, *, bool interleaved) -> (Tensor real, Tensor imaginary)")
def pair_products(x, y, *, interleaved):
    """conj(x) · y of pairs of features: of (a, b) and (c, d) it is (a c + b d, a d - b c).

    Args:
        x: float array of shape (…, head_dim).
        y: float array of the same shape.
        interleaved: which features are a pair, as in `rotary_embedding`.

    Returns real and imaginary parts, each of shape (…, head_dim / 2).

    Raises ValueError: head_dim is odd.

    Gradient: with respect to x and y, to any order.
    """
    (a, b), (c, d) = pairs(x, interleaved), pairs(y, interleaved)
    return a * c + b * d, a * d - b * c


@pair_products.infer
def pair_products_infer(x):
    if x.ndim == 0 or (x.shape[-1] or 0) % 2:
        raise errors.ShapeError(f"pair_products: x expected an even number of features, got shape {x.shape}")
    half = opsdk.TensorSpec((*x.shape[:-1], None if x.shape[-1] is None else x.shape[-1] // 2), x.dtype)
    return half, half


@rotary_embedding.backward(composite=True)
def rotary_embedding_grad(x, cos, sin, dy, interleaved, needs_input_grad):
    dx = rotary_embedding(dy, cos, -sin, interleaved=interleaved)
    if not any(needs_input_grad[1:]):
        return dx, None, None
    dcos, dsin = pair_products(x, dy, interleaved=interleaved)
    return dx, opsdk.cast(sum_to_like(dcos, cos), cos.dtype), opsdk.cast(sum_to_like(dsin, sin), sin.dtype)


@pair_products.backward(composite=True)
def pair_products_grad(x, y, dreal, dimaginary, interleaved):
    dx = rotary_embedding(y, dreal, -dimaginary, interleaved=interleaved)
    return dx, rotary_embedding(x, dreal, dimaginary, interleaved=interleaved)


@pair_products.samples
def pair_products_samples(rng):
    for interleaved in (False, True):
        x, y = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
        yield opsdk.Sample(x, y, interleaved=interleaved, reason="interleaved" if interleaved else "halves")
    yield opsdk.Sample(np.zeros((0, 4)), np.zeros((0, 4)), interleaved=False, reason="empty")


@rotary_embedding.samples
def rotary_embedding_samples(rng):
    angles = rng.normal(size=(3, 2))
    cos, sin = np.cos(angles), np.sin(angles)
    for interleaved in (False, True):
        layout = "interleaved" if interleaved else "halves"
        x = rng.normal(size=(2, 2, 3, 4))
        yield opsdk.Sample(x, cos, sin, interleaved=interleaved, reason=f"batch, heads, seq, head_dim; {layout}")
    angles = rng.normal(size=(2, 1, 3, 2))
    yield opsdk.Sample(x, np.cos(angles), np.sin(angles), reason="positions of each sequence in the batch")
    yield opsdk.Sample(rng.normal(size=(1, 3, 2, 4)), cos[:, None], sin[:, None], reason="batch, seq, heads, head_dim")
    yield opsdk.Sample(rng.normal(size=2), cos[0, :1], sin[0, :1], reason="one pair at one position")
    yield opsdk.Sample(np.zeros((2, 0, 6)), np.ones((0, 3)), np.zeros((0, 3)), reason="no positions")


@rotary_embedding.bench
def rotary_embedding_bench(rng, n):
    """8 heads of 64 features, in halves."""
    angles = rng.uniform(0, 6, (max(1, n // 512), 32))
    return opsdk.Sample(rng.normal(size=(1, 8, len(angles), 64)), np.cos(angles), np.sin(angles))


@pair_products.bench
def pair_products_bench(rng, n):
    x, y = rng.normal(size=(2, 1, 8, max(1, n // 512), 64))
    return opsdk.Sample(x, y, interleaved=False)


rotary_embedding.kernel("cpu", language="numba", source=".rotary_embedding_numba:forward", dtype=("float32", "float64"))

"""Rows of a table, reduced bag by bag without forming the rows of all bags."""

import numpy as np

import opsdk
from opsdk import errors

MODES = ("sum", "mean", "max")
UNSIGNED = {4: np.uint32, 8: np.uint64}  # by size of an index


@opsdk.op(
    "contrib::embedding_bag(Tensor weight, Tensor<int> input, Tensor<int> offsets, Tensor? per_sample_weights=None, *,"
    " 'sum' | 'mean' | 'max' mode='mean') -> Tensor y"
)
def embedding_bag(weight, input, offsets, per_sample_weights, mode):
    """y[b] = sum, mean or maximum of weight[input[i]] over offsets[b] ≤ i < offsets[b + 1].

    That is `torch.nn.functional.embedding_bag`, with the table first: a bag of words (Joulin, Grave, Bojanowski and
    Mikolov 2017, Bag of Tricks for Efficient Text Classification, sec. 2).

    Args:
        weight: the table, float array of shape (V, D).
        input: rows of the table, int32 or int64 in [0, V), of shape (N,); a row may occur several times.
        offsets: where each bag starts, of shape (B,) and the dtype of input: from 0, never falling, at most N. The last
            bag ends with input.
        per_sample_weights: factor of each row, of shape (N,) and the dtype of weight; with mode "sum" only.
        mode: "sum", "mean" or "max".

    Returns y of shape (B, D); an empty bag gives 0 in every mode. nan and inf stay in the bags that hold them.

    Raises ValueError: shapes do not fit, an index lies outside, offsets are no bags, or the mode is none of the three.

    Gradient: with respect to weight, dense, and per_sample_weights, twice; the maximum's goes to the first row of the
    bag that has it.
    """
    y = np.zeros((len(offsets), weight.shape[1]), weight.dtype)
    factors = np.ones(len(input), weight.dtype) if per_sample_weights is None else per_sample_weights
    for b, rows in bags(input, offsets):
        taken = wide(weight[input[rows]])
        total = taken.max(axis=0) if mode == "max" else wide(factors[rows]) @ taken
        y[b] = total / len(taken) if mode == "mean" else total
    return y


def wide(array):
    """Returns floats as they are added: float16 as float32, which does not stop at 2048."""
    return array.astype(np.result_type(array.dtype, np.float32), copy=False)


def bags(input, offsets):
    """Yields the number and the slice of each bag that is not empty."""
    for b, (start, stop) in enumerate(zip(offsets, [*offsets[1:], len(input)], strict=False)):
        if start < stop:
            yield b, slice(int(start), int(stop))


@embedding_bag.backward(composite=True)
def embedding_bag_grad(weight, input, offsets, per_sample_weights, dy, mode, needs_input_grad):
    dweight = dfactors = None
    if needs_input_grad[0]:
        dweight = bags_to_table(weight, input, offsets, dy, per_sample_weights, mode=mode)
    if needs_input_grad[3]:
        dfactors = bag_products(weight, input, offsets, dy)
    return dweight, dfactors


# The gradients of the sum are ops themselves, bilinear ones, whose gradients are the sum and each other again.


@opsdk.op(
    "contrib::bags_to_table(Tensor weight, Tensor<int> input, Tensor<int> offsets, Tensor dy, "
    "Tensor? per_sample_weights=None, *, 'sum' | 'mean' | 'max' mode='mean') -> Tensor dweight",
    nondifferentiable=("weight",),
    infer=opsdk.infer.like("weight"),
)
def bags_to_table(weight, input, offsets, dy, per_sample_weights, mode):
    """The gradient of `embedding_bag` with respect to weight, whose values matter for the maximum only."""
    if mode == "max":
        dweight = wide(np.zeros_like(weight))
        for b, rows in bags(input, offsets):
            dweight[input[rows][weight[input[rows]].argmax(axis=0)], np.arange(dy.shape[1])] += dy[b]
        return dweight.astype(weight.dtype, copy=False)
    shares = wide(np.zeros((len(input), weight.shape[1]), weight.dtype))
    factors = np.ones(len(input), weight.dtype) if per_sample_weights is None else per_sample_weights
    for b, rows in bags(input, offsets):
        share = wide(dy[b]) / (rows.stop - rows.start) if mode == "mean" else wide(dy[b])
        shares[rows] = factors[rows, None] * share
    return opsdk.sum_at(shares, input, len(weight)).astype(weight.dtype, copy=False)


@bags_to_table.backward(composite=True)
def bags_to_table_grad(weight, input, offsets, dy, per_sample_weights, ddweight, mode, needs_input_grad):
    ddy = dfactors = None
    if needs_input_grad[3]:
        if mode == "max":
            ddy = maxima_of_bags(ddweight, weight, input, offsets)
        else:
            ddy = embedding_bag(ddweight, input, offsets, per_sample_weights, mode=mode)
    if needs_input_grad[4]:
        dfactors = bag_products(ddweight, input, offsets, dy)
    return ddy, dfactors


@opsdk.op(
    "contrib::bag_products(Tensor weight, Tensor<int> input, Tensor<int> offsets, Tensor dy) -> Tensor dfactors",
    infer=lambda weight, input: opsdk.TensorSpec(input.shape, weight.dtype),
)
def bag_products(weight, input, offsets, dy):
    """weight[input[i]] · dy[b] for each i, b being its bag: the gradient with respect to per_sample_weights."""
    dfactors = np.zeros(len(input), weight.dtype)
    for b, rows in bags(input, offsets):
        dfactors[rows] = wide(weight[input[rows]]) @ wide(dy[b])
    return dfactors


@bag_products.backward(composite=True)
def bag_products_grad(weight, input, offsets, dy, ddfactors):
    dweight = bags_to_table(weight, input, offsets, dy, ddfactors, mode="sum")
    return dweight, embedding_bag(weight, input, offsets, ddfactors, mode="sum")


@opsdk.op(
    "contrib::maxima_of_bags(Tensor rows, Tensor weight, Tensor<int> input, Tensor<int> offsets) -> Tensor y",
    nondifferentiable=("weight",),
    infer=lambda rows, offsets: opsdk.TensorSpec((*offsets.shape, *rows.shape[1:]), rows.dtype),
)
def maxima_of_bags(rows, weight, input, offsets):
    """rows[v, d] where weight[v, d] is the maximum of bag b, as y[b, d]: the gradient of that of the maximum."""
    y = np.zeros((len(offsets), rows.shape[1]), rows.dtype)
    for b, bag in bags(input, offsets):
        y[b] = rows[input[bag][weight[input[bag]].argmax(axis=0)], np.arange(rows.shape[1])]
    return y


@maxima_of_bags.backward(composite=True)
def maxima_of_bags_grad(weight, input, offsets, dy):
    return bags_to_table(weight, input, offsets, dy, mode="max")


@embedding_bag.infer
def embedding_bag_infer(weight, input, offsets, per_sample_weights):
    subject = "op 'contrib::embedding_bag'"
    if len(weight.shape) != 2 or len(input.shape) != 1 or len(offsets.shape) != 1:
        raise errors.ShapeError(
            f"{subject}: expected weight (V, D), input (N,) and offsets (B,), got {weight.shape}, {input.shape} and "
            f"{offsets.shape}; bags of one size are input.ravel() with offsets=np.arange(B) * size"
        )
    if weight.dtype.kind != "f" or (per_sample_weights is not None and per_sample_weights.dtype != weight.dtype):
        got = weight.dtype if per_sample_weights is None else f"{weight.dtype} and {per_sample_weights.dtype}"
        raise errors.DTypeError(
            f"{subject}: weight and per_sample_weights expected one dtype, float16, float32 or float64, got {got}; "
            "cast them"
        )
    if input.dtype not in (np.int32, np.int64) or offsets.dtype != input.dtype:
        raise errors.DTypeError(
            f"{subject}: input and offsets expected both int64 or both int32, got {input.dtype} and {offsets.dtype}; "
            "cast them"
        )
    return opsdk.TensorSpec((offsets.shape[0], weight.shape[1]), weight.dtype)


@embedding_bag.check
def embedding_bag_check(weight, input, offsets, per_sample_weights, mode):
    if per_sample_weights is not None and mode != "sum":
        return f"per_sample_weights expected with mode 'sum' only, got mode {mode!r}; divide them by the bags' sizes"
    return wrong_bags(weight, input, offsets) or wrong_factors(input, per_sample_weights)


@bags_to_table.check
def bags_to_table_check(weight, input, offsets, dy, per_sample_weights, mode):
    wrong = embedding_bag_check(weight, input, offsets, per_sample_weights, mode)
    return wrong or wrong_cotangent(weight, offsets, dy)


@bag_products.check
def bag_products_check(weight, input, offsets, dy):
    return wrong_bags(weight, input, offsets) or wrong_cotangent(weight, offsets, dy)


@maxima_of_bags.check
def maxima_of_bags_check(rows, weight, input, offsets):
    if rows.shape != weight.shape:
        return f"rows expected the shape of weight, {weight.shape}, got {rows.shape}"
    return wrong_bags(weight, input, offsets)


def wrong_bags(weight, input, offsets):
    """Returns what keeps indices and offsets from being bags of rows of a table, if anything."""
    embedding_bag_infer(weight, input, offsets, None)
    count, length = len(weight), len(input)
    if length and input.view(UNSIGNED[input.itemsize]).max() >= count:  # without a sign, what is below 0 is far above
        return f"input expected in [0, {count}), got {int(input.min())} to {int(input.max())}; drop what is outside"
    if not len(offsets):
        return (
            f"offsets expected a start for each bag of {length} indices, got none; one bag is [0]" if length else None
        )
    if offsets[0] != 0:
        return f"offsets expected to start at 0, got {int(offsets[0])}; each is where its bag starts"
    if (offsets[1:] < offsets[:-1]).any():
        worst = int((offsets[1:] < offsets[:-1]).argmax())
        return f"offsets expected never to fall, got {offsets[worst : worst + 2].tolist()} at {worst}; order the bags"
    if offsets[-1] > length:
        return f"offsets expected at most {length}, as many as there are indices, got {int(offsets[-1])}"
    return None


def wrong_factors(input, per_sample_weights):
    if per_sample_weights is None or per_sample_weights.shape == input.shape:
        return None
    return f"per_sample_weights expected the shape of input, {input.shape}, got {per_sample_weights.shape}"


def wrong_cotangent(weight, offsets, dy):
    wanted = (len(offsets), weight.shape[1])
    return None if dy.shape == wanted else f"dy expected shape {wanted}, a row per bag, got {dy.shape}"


@embedding_bag.samples
def embedding_bag_samples(rng):
    weight, input = rng.normal(size=(7, 3)), np.array([1, 6, 1, 0, 4, 4, 2])
    ragged = np.array([0, 3, 3, 4])
    for mode in MODES:
        yield opsdk.Sample(weight, input, ragged, mode=mode, reason=f"{mode}, ragged, a bag is empty")
    yield opsdk.Sample(weight, input, ragged, rng.normal(size=7), mode="sum", reason="a factor for each row")
    short = input.astype(np.int32), ragged.astype(np.int32)
    yield opsdk.Sample(weight, *short, rng.normal(size=7), mode="sum", reason="int32 indices")
    wide = rng.normal(size=(5, 67))
    for mode in MODES:
        yield opsdk.Sample(wide, input % 5, np.array([0, 7, 7]), mode=mode, reason=f"{mode}, the last bags are empty")
    yield opsdk.Sample(wide, input % 5, ragged, rng.normal(size=7), mode="sum", reason="factors, wide rows")
    wider = rng.normal(size=(5, 131))
    yield opsdk.Sample(wider, input % 5, ragged, mode="sum", reason="rows longer than a block of columns")
    many = np.append(np.ones(66, int), rng.integers(0, 5, 66))
    for mode in MODES:
        yield opsdk.Sample(wide, many, np.array([0, 131]), mode=mode, reason=f"{mode}, a bag of 131 rows, 66 times one")
    block = rng.normal(size=(3, 128))
    yield opsdk.Sample(block, many % 3, np.array([0, 131]), mode="sum", reason="131 rows of a block of columns")
    yield opsdk.Sample(weight, input[:0], np.zeros(2, int), reason="empty bags only")
    yield opsdk.Sample(weight, input[:0], ragged[:0], mode="sum", reason="no bags")
    yield opsdk.Sample(np.zeros((7, 0)), input, ragged, mode="sum", reason="rows of nothing")


@bags_to_table.samples
def bags_to_table_samples(rng):
    weight, input, offsets = rng.normal(size=(7, 3)), np.array([1, 6, 1, 0, 4, 4, 2]), np.array([0, 3, 3, 4])
    for mode in MODES:
        yield opsdk.Sample(weight, input, offsets, rng.normal(size=(4, 3)), mode=mode, reason=mode)
    yield opsdk.Sample(
        weight, input, offsets, rng.normal(size=(4, 3)), rng.normal(size=7), mode="sum", reason="factors"
    )
    short = input.astype(np.int32), offsets.astype(np.int32)
    yield opsdk.Sample(weight, *short, rng.normal(size=(4, 3)), mode="sum", reason="int32 indices")
    yield opsdk.Sample(rng.normal(size=(7, 40)), input, offsets, rng.normal(size=(4, 40)), reason="two shares of it")
    wide, arriving, many = rng.normal(size=(7, 67)), rng.normal(size=(4, 67)), np.append(np.ones(66, int), input)
    for mode in MODES:
        yield opsdk.Sample(wide, many, offsets, arriving, mode=mode, reason=f"{mode}, wide rows, one of them 68 times")
    often, short = np.append(np.ones(4000, int), 0), weight.astype(np.float32).astype(float)  # float64 adds it exactly
    yield opsdk.Sample(short[:2], often, offsets[:1], short[2:3], mode="sum", reason="more terms than float32 adds up")


@bag_products.samples
def bag_products_samples(rng):
    weight, input, offsets = rng.normal(size=(7, 3)), np.array([1, 6, 1, 0, 4, 4, 2]), np.array([0, 3, 3, 4])
    yield opsdk.Sample(weight, input, offsets, rng.normal(size=(4, 3)), reason="ragged, a bag is empty")
    short = input.astype(np.int32), offsets.astype(np.int32)
    yield opsdk.Sample(weight, *short, rng.normal(size=(4, 3)), reason="int32 indices")
    yield opsdk.Sample(weight, input[:0], offsets[:0], np.zeros((0, 3)), reason="no bags")
    wide, arriving = rng.normal(size=(2, 1067)), rng.normal(size=(2, 1067))
    yield opsdk.Sample(wide, input % 2, offsets[:2], arriving, reason="rows longer than what float32 adds up")


@maxima_of_bags.samples
def maxima_of_bags_samples(rng):
    weight, input, offsets = rng.normal(size=(7, 3)), np.array([1, 6, 1, 0, 4, 4, 2]), np.array([0, 3, 3, 4])
    yield opsdk.Sample(rng.normal(size=(7, 3)), weight, input, offsets, reason="ragged, a bag is empty")


def words(rng, n):
    """Returns a table of n elements in rows of 64, as many indices as it has rows, and 16 of them to a bag."""
    count = max(1, n // 64)
    starts = np.sort(rng.integers(0, count, max(1, count // 16)))
    starts[0] = 0
    return rng.normal(size=(count, 64)), rng.integers(0, count, count), starts


@embedding_bag.bench
def embedding_bag_bench(rng, n):
    return opsdk.Sample(*words(rng, n), mode="sum")


@bags_to_table.bench
@bag_products.bench
def bags_bench(rng, n):
    weight, input, offsets = words(rng, n)
    return opsdk.Sample(weight, input, offsets, rng.normal(size=(len(offsets), 64)))


@maxima_of_bags.bench
def maxima_of_bags_bench(rng, n):
    weight, input, offsets = words(rng, n)
    return opsdk.Sample(rng.normal(size=weight.shape), weight, input, offsets)


FLOATS = ("float32", "float64")
for op in (embedding_bag, bags_to_table, bag_products):
    asks = op is embedding_bag  # the check reads all indices, which takes as long as a third of the forward
    op.kernel("cpu", language="c", dtype=FLOATS, source="embedding_bag.c", openmp=True, contiguous=True, checks=asks)

"""CTC loss: how unlikely a sequence of labels is, summed over all ways to align it with the input."""

import numpy as np

import opsdk
from opsdk import errors

INF = np.inf
REDUCTIONS = ("none", "mean", "sum")


def ctc_infer(log_probs, targets, input_lengths, target_lengths):
    """Returns the spec of one loss for each sequence."""
    if log_probs.ndim != 3 or targets.ndim not in (1, 2) or (input_lengths.ndim, target_lengths.ndim) != (1, 1):
        raise errors.ShapeError(
            "ctc_loss: expected log_probs (steps, batch, classes), targets (batch, labels) or (all labels,) and "
            f"lengths (batch,), got {log_probs.shape}, {targets.shape}, {input_lengths.shape}, {target_lengths.shape}"
        )
    return opsdk.TensorSpec(log_probs.shape[1:2], log_probs.dtype)


def ctc_problem(log_probs, targets, input_lengths, target_lengths, blank):
    """Returns what is wrong with the values of a call; None where all is well."""
    steps, count, classes = log_probs.shape
    if log_probs.dtype.name not in ("float32", "float64"):
        return f"log_probs expected float32 or float64, got {log_probs.dtype}; cast it"
    room = targets.shape[1] if targets.ndim == 2 else targets.size
    if targets.ndim == 2 and len(targets) != count:
        return f"targets expected shape ({count}, labels) beside log_probs {log_probs.shape}, got {targets.shape}"
    for name, lengths, most in (("input_lengths", input_lengths, steps), ("target_lengths", target_lengths, room)):
        if lengths.shape != (count,):
            return f"{name} expected {count} integers, one for each sequence, got {lengths.dtype}{lengths.shape}"
        if count and not 0 <= lengths.min() <= lengths.max() <= most:
            return f"{name} expected in [0, {most}], got {lengths.min()} to {lengths.max()}"
    if targets.ndim == 1 and target_lengths.sum() != targets.size:
        return (
            f"target_lengths expected a sum of {targets.size}, the labels in targets, got {target_lengths.sum()}; "
            "targets of one axis hold the labels of all sequences, one after another"
        )
    if not 0 <= blank < classes:
        return f"blank expected in [0, {classes}), got {blank}; it is a class of log_probs"
    places = np.ones_like(targets).cumsum(axis=-1)  # from 1; on the device where the targets are on one
    used = targets if targets.ndim == 1 else targets[places <= target_lengths[:, None]]
    if used.size and not 0 <= used.min() <= used.max() < classes:
        return f"targets expected in [0, {classes}), got {used.min()} to {used.max()}; they are classes of log_probs"
    if (used == blank).any():
        return f"targets expected labels other than the blank, {blank}, got one; blanks are put in by the loss"
    return None


@opsdk.op(
    "contrib::ctc_terms(Tensor log_probs, Tensor<int> targets, Tensor<int> input_lengths, Tensor<int> target_lengths, *"
    ", int blank=0) -> Tensor loss",
    infer=ctc_infer,
)
def ctc_terms(log_probs, targets, input_lengths, target_lengths, *, blank):
    """The CTC loss of each sequence; `ctc_loss` says what it is."""
    loss = np.empty(log_probs.shape[1], log_probs.dtype)
    for n, labels in enumerate(labels_of(targets, target_lengths)):
        states, skips = states_of(labels, blank)
        alpha = forward_variables(emitted_by(log_probs[: input_lengths[n], n, states]), skips)
        loss[n] = -np.logaddexp(*alpha[-1, -2:])
    return loss


@ctc_terms.backward
def ctc_terms_grad(log_probs, targets, input_lengths, target_lengths, dloss, blank):
    dlog_probs = np.zeros_like(log_probs)
    for n, labels in enumerate(labels_of(targets, target_lengths)):
        steps = int(input_lengths[n])  # arange of a uint64 counts in floats
        states, skips = states_of(labels, blank)
        emitted = emitted_by(log_probs[:steps, n, states])
        alpha, beta = forward_variables(emitted, skips), backward_variables(emitted, skips)
        total = np.logaddexp(*alpha[-1, -2:])
        if total > -INF or total != total:  # eq. 16 for log_probs: the probability of being in a state at a step
            posterior = np.exp(alpha[1:, 2:] + beta[1:, :-2] - total)
            np.add.at(dlog_probs[:, n], (np.arange(steps)[:, None], states), -dloss[n] * posterior)
    return dlog_probs


ctc_terms.check(ctc_problem)


@ctc_terms_grad.check
def ctc_grad_problem(log_probs, targets, input_lengths, target_lengths, dloss, blank):
    if dloss.shape != log_probs.shape[1:2]:
        return f"dloss expected shape {log_probs.shape[1:2]}, one for each sequence, got {dloss.shape}"
    return ctc_problem(log_probs, targets, input_lengths, target_lengths, blank)


def labels_of(targets, lengths):
    """Returns the labels of each sequence."""
    if targets.ndim == 2:
        return [row[:length] for row, length in zip(targets, lengths, strict=True)]
    return np.split(targets, np.cumsum(lengths)[:-1]) if len(lengths) else []


def states_of(labels, blank):
    """Returns the labels with blanks around them, and 0 for states that may follow the state two before, else -inf.

    Between equal labels the blank has to be passed. The first label may be where a path starts, two after no state.
    """
    states, skips = np.full(2 * len(labels) + 1, blank), np.full(2 * len(labels) + 1, -INF)
    states[1::2] = labels
    skips[1::2] = np.where(np.diff(labels, prepend=-1) == 0, -INF, 0.0)
    return states, skips


def emitted_by(log_probs):
    """Returns them in float64, with nan for +inf, which is the logarithm of no probability."""
    return np.where(log_probs == INF, np.nan, log_probs).astype(np.float64)


def forward_variables(emitted, skips):
    """Returns log α, eq. 6 and 7: of having emitted so many steps and being in state s, at column s + 2.

    Column 1 is where every path starts; 0 and 1 are no states.
    """
    steps, size = emitted.shape
    alpha = np.full((steps + 1, size + 2), -INF)
    alpha[0, 1] = 0.0
    for t, row in enumerate(alpha[:-1]):
        alpha[t + 1, 2:] = np.logaddexp(np.logaddexp(row[2:], row[1:-1]), row[:-2] + skips) + emitted[t]
    return alpha


def backward_variables(emitted, skips):
    """Returns log β, eq. 10 and 11, without the emission at the step itself: of all that follows, at column s."""
    steps, size = emitted.shape
    beta = np.full((steps + 1, size + 2), -INF)
    beta[-1, max(size - 2, 0) : size] = 0.0
    entered = np.full(size + 2, -INF)
    skips = np.append(skips, (-INF, -INF))
    for t in range(steps)[::-1]:
        entered[:-2] = beta[t + 1, :-2] + emitted[t]
        beta[t, :-2] = np.logaddexp(np.logaddexp(entered[:-2], entered[1:-1]), entered[2:] + skips[2:])
    return beta


def ctc_loss_infer(log_probs, targets, input_lengths, target_lengths, reduction):
    spec = ctc_infer(log_probs, targets, input_lengths, target_lengths)
    return spec if reduction == "none" else opsdk.TensorSpec((), spec.dtype)


@opsdk.op(
    "contrib::ctc_loss(Tensor log_probs, Tensor<int> targets, Tensor<int> input_lengths, Tensor<int> target_lengths, "
    "int blank=0, 'none' | 'mean' | 'sum' reduction='mean', bool zero_infinity=False) -> Tensor loss",
    composite=True,
    infer=ctc_loss_infer,
)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    """-log Σ_π Π_t p_t(π_t), over all paths π that give the targets once repeats and then blanks are taken out.

    Connectionist temporal classification (Graves, Fernández, Gomez and Schmidhuber 2006), by its forward and backward
    variables (eq. 6 to 11), in float64: as logarithms, or in C with a power of 2 beside each. Arguments are those of
    `torch.nn.functional.ctc_loss`.

    Args:
        log_probs: float array (T, N, C): logarithms of probabilities, as log_softmax over classes gives them; -inf is
            a probability of 0, and +inf, which is none, counts as nan.
        targets: integer labels, (N, S), of which each sequence uses its first; or those of all sequences, one after
            another, (sum of target_lengths,). None is the blank.
        input_lengths: N integers from 0 to T: how many steps of each sequence count.
        target_lengths: N integers from 0 to S.
        blank: the class that stands for no label.
        reduction: "none" for the loss of each sequence; "mean" for the mean of each loss over its target length (at
            least 1), nan for no sequences; "sum".
        zero_infinity: the loss of a target that cannot be reached, such as one longer than the input, is 0 instead of
            infinite.

    Returns losses (N,), or 0-d with a reduction, of the dtype of log_probs.

    Raises ValueError: a shape, length, label, blank or reduction that does not fit; also from compiled kernels.

    Gradient: with respect to log_probs, order 1: minus the probability of being at a step in a class. It is 0 where
    the loss is infinite. (PyTorch adds exp(log_probs), which the log_softmax before it takes away again: after it both
    agree, and what is here is right for any log_probs.)
    """
    terms = ctc_terms(log_probs, targets, input_lengths, target_lengths, blank=blank)
    if zero_infinity:
        terms = opsdk.where(opsdk.equal(terms, INF), 0.0, terms)
    if reduction == "mean":
        return opsdk.mean(terms / opsdk.cast(opsdk.maximum(target_lengths, 1), terms.dtype))
    return opsdk.sum(terms) if reduction == "sum" else terms


@ctc_terms.samples
def ctc_terms_samples(rng):
    def sample(steps, targets, inputs, lengths, reason, classes=4, kinds=("int64",) * 3, **attrs):
        x = rng.normal(size=(steps, len(lengths), classes))
        whole = map(np.array, (targets, inputs, lengths), kinds)
        return opsdk.Sample(x, *whole, reason=reason, **attrs)

    yield sample(4, [[1, 2], [2, 2]], [4, 3], [2, 2], "a repeated label, a shorter input", classes=3)
    yield sample(3, [1, 2, 1], [3, 2], [1, 2], "labels one after another", classes=3)
    yield sample(3, [[0, 2, 7], [1, 7, 7]], [3, 2], [2, 1], "the last class is blank; padding of no class", blank=3)
    yield sample(2, [[1, 2], [1, 1]], [2, 2], [2, 2], "a target that cannot be reached", classes=3)
    yield sample(2, [[1], [2]], [2, 0], [0, 0], "no labels, and no steps either")
    yield sample(7, [[1, 2, 2, 1, 2]], [7], [5], "more states than a vector", classes=3)
    steps, labels = -0.04 + 0.01 * rng.normal(size=(36, 1, 3)), np.array([[1, 2] * 9])
    yield opsdk.Sample(steps, labels, np.array([36]), np.array([18]), reason="forward variables outgrow 2⁶⁴")
    yield sample(3, [[1, 200]], [3], [2], "labels without a sign", classes=201, kinds=("uint8", "int8", "uint16"))
    yield sample(3, [[1, 2]], [3], [2], "other integers", kinds=("int16", "uint32", "int32"))
    yield sample(2, np.zeros((0, 3)), np.zeros(0, int), np.zeros(0, int), "no sequences")


@ctc_loss.samples
def ctc_loss_samples(rng):
    x, lengths = rng.normal(size=(3, 2, 3)), np.array([3, 2])
    targets, sizes = np.array([[1, 2], [1, 1]]), np.array([2, 2])
    for reduction in REDUCTIONS:
        yield opsdk.Sample(x, targets, lengths, sizes, 0, reduction, True, reason=f"{reduction}, one out of reach")
    yield opsdk.Sample(x, targets, np.array([3, 3]), np.array([2, 0]), reason="an empty target, whose length counts 1")


@ctc_terms.bench
@ctc_loss.bench
def ctc_bench(rng, n):
    """Sequences of 150 steps and 15 to 30 labels of 79."""
    count = max(1, n // (150 * 80))
    logits, sizes = rng.normal(size=(150, count, 80)), rng.integers(15, 31, count)
    log_probs = logits - np.logaddexp.reduce(logits, axis=2, keepdims=True)
    return opsdk.Sample(log_probs, rng.integers(1, 80, (count, 30)), np.full(count, 150), sizes)


FLOATS = ("float32", "float64")
for op in (ctc_terms, ctc_terms_grad):
    op.kernel("cpu", language="c", dtype=FLOATS, source="ctc_loss.c", openmp=True, contiguous=True, checks=True)


def a_block_for_each_sequence(log_probs):
    return log_probs.shape[1], 64


def states(log_probs, targets, dtype, *more):
    """Returns the spec of something for each state, of as many as the longest target could have, and each sequence."""
    return opsdk.TensorSpec((log_probs.shape[1], *more, 2 * targets.shape[-1] + 1), dtype)


def forward_room(log_probs, targets):
    steps, labels = log_probs.shape[0], targets.shape[-1]
    return opsdk.TensorSpec((log_probs.shape[1], steps + 1, 2 * labels + 3), "float64")


ROOM = {"classes": lambda log_probs, targets: states(log_probs, targets, "int64"), "alpha": forward_room}
MORE = {
    "beta": lambda log_probs, targets: states(log_probs, targets, "float64", 2),
    "posterior": lambda log_probs, targets: states(log_probs, targets, "float64"),
}
for op, name, room in ((ctc_terms, "forward", ROOM), (ctc_terms_grad, "backward", ROOM | MORE)):
    source = f".ctc_loss_cuda:{name}"
    op.kernel("cuda", language="numba", source=source, launch=a_block_for_each_sequence, scratch=room)

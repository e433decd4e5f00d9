"""Dropout whose masks come from a state that it moves on, so that no two calls drop the same."""

import numpy as np

import opsdk


@opsdk.op("contrib::dropped(Tensor x, Tensor<int> key, *, 0 <= float < 1 p) -> Tensor y", infer=opsdk.infer.like("x"))
def dropped(x, key, *, p):
    """x / (1 - p) where the random numbers of a key are not below p, else 0.

    They are those of Philox4x32-10 (Salmon et al. 2011, Parallel random numbers), `opsdk.vmath.uniform(drawn, i)`: i is
    the place of an element in C order, and `drawn` the key `opsdk.vmath.random_bits(*key)`.

    Args:
        x: float array.
        key: int64 array [key, number of the draw]; what the numbers depend on, and the place alone.
        p: share that is dropped, 0 ≤ p < 1.

    Returns y of the shape and dtype of x.

    Gradient: with respect to x, to any order: the same of the cotangent.
    """
    return masked(x, key, p)


def masked(x, key, p):
    numbers = opsdk.vmath.uniform(opsdk.vmath.random_bits(*key), np.arange(x.size))
    kept = numbers.reshape(x.shape) >= p
    return np.where(kept, x * x.dtype.type(1 / (1 - p)), x.dtype.type(0))


@opsdk.op(
    "contrib::stateful_dropout(Tensor x, Tensor<int>(a!) state, *, 0 <= float < 1 p=0.5, bool training=True) "
    "-> (Tensor y, Tensor<int> key)",
    infer=lambda x, state: (x, state),
)
def stateful_dropout(x, state, *, p, training):
    """x / (1 - p) where a random number is not below p, else 0 (Srivastava et al. 2014, as `torch.nn.Dropout` has it).

    Each call in training adds 1 to the number of draws in its state, in place, so that masks never repeat: on tensors,
    in the runs of a Program, and where training goes on from a state that was saved. The backward draws once more from
    what the state was, 16 bytes, and keeps no mask. A Program's `clone(for_test=True)` sets `training=False`.

    Args:
        x: float array.
        state: int64 array [key, number of draws], changed in place; one for each layer, with a key of its own.
        p: share that is dropped, 0 ≤ p < 1.
        training: whether anything is dropped; otherwise y is x, and the state stays.

    Returns y of the shape and dtype of x; the state as it was, by which `dropped` draws the same.

    Raises ValueError: p is outside of [0, 1), or the state is no int64 array of two elements.

    Gradient: with respect to x, to any order; the mask is a constant.
    """
    key = state.copy()
    if training:
        state[1] += 1
    return (masked(x, key, p) if training else x.copy()), key


@stateful_dropout.backward(composite=True)
def stateful_dropout_grad(key, dy, p, training):
    return dropped(dy, key, p=p) if training else opsdk.assign(dy)


@dropped.backward(composite=True)
def dropped_grad(key, dy, p):
    return dropped(dy, key, p=p)


def unlike_a_state(state):
    if state.shape != (2,) or state.dtype != np.int64:
        return f"state expected int64 of shape (2,), the key and the number of draws, got {state.dtype}{state.shape}"
    return None


@stateful_dropout.check
def stateful_dropout_check(state):
    return unlike_a_state(state)


@dropped.check
def dropped_check(key):
    return unlike_a_state(key)


@stateful_dropout.samples
def stateful_dropout_samples(rng):
    yield opsdk.Sample(rng.normal(size=(3, 7)), np.array([5, 0]), reason="the first draw, no whole number of blocks")
    yield opsdk.Sample(rng.normal(size=8), np.array([-3, 2**40]), p=0.1, reason="a later draw, a negative key")
    yield opsdk.Sample(rng.normal(size=5), np.array([5, 2**63 - 1]), reason="the counter starts again")
    yield opsdk.Sample(rng.normal(size=4), np.array([5, 1]), training=False, reason="a test")
    yield opsdk.Sample(np.zeros((0, 4)), np.array([5, 1]), reason="empty")


@dropped.samples
def dropped_samples(rng):
    yield opsdk.Sample(rng.normal(size=(3, 7)), np.array([5, 0]), p=0.5, reason="no whole number of blocks")
    yield opsdk.Sample(rng.normal(size=()), np.array([1, 2]), p=0.0, reason="0-d, nothing is dropped")


@stateful_dropout.bench
def stateful_dropout_bench(rng, n):
    return opsdk.Sample(rng.normal(size=n), np.array([5, 0]))


@dropped.bench
def dropped_bench(rng, n):
    return opsdk.Sample(rng.normal(size=n), np.array([5, 0]), p=0.5)


FLOATS = ("float32", "float64")
for op, name in ((stateful_dropout, "state"), (dropped, "key")):
    dtypes = {name: "int64"}
    op.kernel("cpu", language="c", dtype=FLOATS, source="stateful_dropout.c", dtypes=dtypes, contiguous=True)

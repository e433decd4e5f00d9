"""What a function gives in every runtime, and whether its gradients are the slopes of what it gives."""

import numpy as np

import opsdk
from opsdk import static

STEP = 1e-6


def check(function, arrays, wanted, free=None, rtol=1e-9):
    """Holds a function of arrays to values, as arrays, tensors and Variables, and its gradients to differences.

    `free` are the positions of the arrays that it is differentiable in, all floats unless given.
    """
    arrays = [np.asarray(each) for each in arrays]
    free = [i for i, each in enumerate(arrays) if each.dtype.kind == "f"] if free is None else free
    np.testing.assert_allclose(np.asarray(function(*arrays)), wanted, rtol, 1e-12)
    weights = np.cos(np.arange(np.size(wanted))).reshape(np.shape(wanted))
    tensors = [opsdk.to_tensor(each) for each in arrays]
    for i in free:
        tensors[i].stop_gradient = False
    made = function(*tensors)
    np.testing.assert_allclose(made.numpy(), wanted, rtol, 1e-12)
    np.testing.assert_allclose(in_a_program(function, arrays), wanted, rtol, 1e-12)
    if free:
        (made * opsdk.to_tensor(weights)).sum().backward()
    for i in free:
        np.testing.assert_allclose(tensors[i].grad.numpy(), _slopes(function, arrays, i, weights), 1e-4, 1e-7)


def in_a_program(function, arrays):
    """Gives what a function of Variables computes when a Program runs."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        inputs = [static.data(f"x{i}", list(each.shape), each.dtype.name) for i, each in enumerate(arrays)]
        made = function(*inputs)
    feed = {f"x{i}": each for i, each in enumerate(arrays)}
    (found,) = static.Executor().run(main, feed=feed, fetch_list=[made])
    return found


def _slopes(function, arrays, i, weights):
    found = np.zeros(arrays[i].size)
    for at in range(arrays[i].size):
        ends = []
        for step in (STEP, -STEP):
            moved = [each.copy() for each in arrays]
            moved[i].reshape(-1)[at] += step
            ends.append((np.asarray(function(*moved)) * weights).sum())
        found[at] = (ends[0] - ends[1]) / (2 * STEP)
    return found.reshape(arrays[i].shape)

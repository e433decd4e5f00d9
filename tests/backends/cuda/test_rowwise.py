"""The text of row kernels, run thread by thread in lockstep: a barrier that is missing or not for all is seen."""

import functools
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.cuda.rowwise import MOST_THREADS, CudaRowCode
from opsdk.define.op import REGISTRY
from opsdk.expr.decorators import rowwise, static_defaults
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.row.row import COLUMN, FULL
from opsdk.expr.row.row_function import AXIS, RowFunction

ORDERS = [list, lambda threads: threads[::-1], lambda threads: threads[1::2] + threads[::2]]
MEANINGS = {name: functools.partial(known.meaning, np) for name, known in PRIMITIVES.items()}


def function_of(op):
    return next(row.source for row in op.opdef.kernels if isinstance(row.source, RowFunction))


def source_of(op, kinds, static=()):
    code = CudaRowCode(function_of(op), static, [np.dtype(kind) for kind in kinds])
    return code.source.replace(f"{code.name}(", "k("), code


class Block:
    """The threads of one block, which share memory that holds nothing yet."""

    def __init__(self, text, index, blocks, width, arguments):
        self.shared = {}
        self.threads = [self.thread(text, index, blocks, width, i, arguments) for i in range(width)]

    def thread(self, text, index, blocks, width, lane, arguments):
        serial = itertools.count()

        def shared(size, kind):
            assert size == MOST_THREADS
            return self.shared.setdefault(next(serial), np.full(size, np.nan))

        at = SimpleNamespace
        cuda = at(
            threadIdx=at(x=lane), blockIdx=at(x=index), blockDim=at(x=width), gridDim=at(x=blocks),
            shared=at(array=shared),
        )  # fmt: skip
        space = {**MEANINGS, "product": np.multiply, "cuda": cuda}
        space |= {"real": np.float64, "store": float, "int64": int, "inf": np.inf}
        space["nan"] = np.nan
        exec(text.replace("cuda.syncthreads()", "yield") + "    yield\n", space)
        return space["k"](*arguments)

    def run(self, order):
        going = order(self.threads)
        while going:
            at_barrier = [thread for thread in going if next(thread, "over") != "over"]
            assert len(at_barrier) in (0, len(going)), "a barrier was not reached by all threads of a block"
            going = at_barrier


def run(text, blocks, width, order, *arguments):
    with np.errstate(all="ignore"):
        for index in range(blocks):
            Block(text, index, blocks, width, arguments).run(order)


def test_the_source_of_a_kernel_reads_as_its_module_says():
    top = rowwise(lambda x: x - vmath.row_max(x), name="top", namespace="t")
    assert source_of(top, ["float32"])[0] == (
        "def k(p1, p0, rows, n):\n"
        "    tx = int64(cuda.threadIdx.x)\n"
        "    width = int64(cuda.blockDim.x)\n"
        "    size = real(n)\n"
        "    part0 = cuda.shared.array(256, real)\n"
        "    for r in range(int64(cuda.blockIdx.x), rows, int64(cuda.gridDim.x)):\n"
        "        row = r * n\n"
        "        t1 = real(-inf)\n"
        "        for j in range(tx, n, width):\n"
        "            x0 = real(p0[row + j])\n"
        "            t1 = maximum(t1, x0)\n"
        "        part0[tx] = t1\n"
        "        cuda.syncthreads()\n"
        "        half = width // 2\n"
        "        while half > 0:\n"
        "            if tx < half:\n"
        "                part0[tx] = maximum(part0[tx], part0[tx + half])\n"
        "            cuda.syncthreads()\n"
        "            half = half // 2\n"
        "        t1 = part0[0]\n"
        "        cuda.syncthreads()\n"
        "        for j in range(tx, n, width):\n"
        "            x0 = real(p0[row + j])\n"
        "            t3 = x0 - t1\n"
        "            p1[row + j] = store(t3)\n"
    )


FORWARD = [
    op
    for op in REGISTRY
    if op.opdef.name.startswith("opsdk::")
    and op.opdef.gradient_of is None
    and any(isinstance(row.source, RowFunction) for row in op.opdef.kernels)
]
ROW_OPS = {op.opdef.name: op for forward in FORWARD for op in (forward, forward.grad)}


@pytest.mark.parametrize("order", ORDERS, ids=["first to last", "last to first", "odd first"])
@pytest.mark.parametrize("name", ROW_OPS)
def test_whichever_thread_is_first_a_built_in_op_gives_what_its_reference_gives(name, order, rng):
    op = ROW_OPS[name]
    rows = function_of(op)
    shape, blocks, width = (5, 11), 2, 4
    decls = [decl for decl in op.opdef.schema.attrs if decl.name != AXIS]
    attrs = {decl.name: decl.default for decl in decls}
    names = [decl.name for decl in op.opdef.schema.inputs]
    made = {
        role: lambda role=role: rng.uniform(0.1, 1.0, {FULL: shape, COLUMN: shape[1:]}.get(role, (5, 1)))
        for role in rows.roles
    }
    given = [rng.integers(0, 11, (5, 1)) if n == "label" else made[r]() for n, r in zip(names, rows.roles, strict=True)]
    kinds = [array.dtype.name for array in given]
    static = tuple((key, value) for key, value in static_defaults(op.opdef.schema) if key != AXIS)
    text, code = source_of(op, kinds, static)
    outputs = [np.zeros((blocks, 11)) if r == COLUMN else np.full(shape if r == FULL else 5, 9.0) for r in code.results]
    numbers = [attrs[attr] for attr in code.expression.attrs]
    status = [np.zeros(1, np.int32)] if code.checks else []
    run(text, blocks, width, order, *(a.reshape(-1) for a in (*outputs, *given)), *numbers, *status, *shape)
    wanted = rows(*given, **attrs)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for ours, role, theirs in zip(outputs, code.results, wanted, strict=True):
        total = ours.sum(axis=0) if role == COLUMN else ours
        np.testing.assert_allclose(total.reshape(theirs.shape), theirs, rtol=1e-11, atol=1e-13)
    assert not status or status[0][0] == 0


@pytest.mark.parametrize("order", ORDERS)
def test_more_reductions_than_are_joined_at_once_are_joined_in_turn(order, rng):
    @rowwise(namespace="t")
    def many(x):
        return sum((vmath.row_sum(x * float(k)) * float(k) for k in range(1, 20)), vmath.row_min(x) + vmath.row_max(x))

    x = rng.normal(size=(3, 7))
    text, _ = source_of(many, ["float64"])
    assert text.count("shared.array") == 8
    y = np.empty(3)
    run(text, 1, 8, order, y, x.reshape(-1), 3, 7)
    np.testing.assert_allclose(y, x.sum(1) * (np.arange(1, 20) ** 2).sum() + x.min(1) + x.max(1), rtol=1e-12)


def test_a_block_adds_its_own_rows_to_its_own_line():
    weighted = rowwise(lambda x, w: x * w, name="weighted", namespace="t", per_column=("w",))
    text, code = source_of(weighted.grad, ["float64"] * 3, (("needs_input_grad", (False, True)),))
    assert code.results == (COLUMN,)
    x, lines = np.arange(15.0).reshape(5, 3), np.zeros((2, 3))
    run(text, 2, 4, list, lines.reshape(-1), x.reshape(-1), np.zeros(3), np.ones(15), 5, 3)
    assert lines.tolist() == [(x[0] + x[2] + x[4]).tolist(), (x[1] + x[3]).tolist()]


def test_a_sum_is_a_tree_over_the_threads_whichever_is_first():
    total = rowwise(lambda x: vmath.row_sum(x), name="total", namespace="t")
    text, _ = source_of(total, ["float64"])
    for order in ORDERS:
        y = np.empty(1)
        run(text, 1, 4, order, y, np.array([1e16, 1.0, -1e16, 1.0]), 1, 4)
        assert y[0] == 2.0  # one after the other it would be 1


def test_what_a_later_loop_needs_is_computed_again():
    softmax = opsdk.find_op("softmax")
    text, _ = source_of(softmax, ["float32"])
    assert text.count("exp(") == 2
    assert "scratch" not in text


def test_a_position_outside_ends_the_block_and_leaves_a_status():
    @rowwise(namespace="t", per_row=("at",), integer=("at",))
    def picked(x, at):
        return vmath.row_take(x, at) + vmath.row_sum(x)

    text, code = source_of(picked, ["float64", "int64"])
    assert code.checks
    for at, outside, wanted in (
        ([0, 2], 0, [0 + 3, 5 + 12]),
        ([0, 3], 1, [0 + 3, 9]),
        ([-1, 2], 1, [9, 5 + 12]),
    ):
        y, status = np.full(2, 9.0), np.zeros(1, np.int32)
        run(text, 2, 4, list, y, np.arange(6.0), np.array(at), status, 2, 3)
        assert (status[0], y.tolist()) == (outside, wanted)


def test_positions_are_compared_as_whole_numbers():
    @rowwise(namespace="t", per_row=("at",), integer=("at",))
    def marked(x, at):
        return vmath.where(vmath.row_index() == at, x, 0.0)

    assert "int64(p1[r]) == j" in source_of(marked, ["float32", "int64"])[0]
    assert "float" not in source_of(marked, ["float32", "int64"])[0]


def test_products_in_what_is_compared_with_its_own_extreme_are_rounded_before_they_are_added():
    @rowwise(namespace="t")
    def peaks(x, a, b):
        u = x * a
        t = u + b * b
        return vmath.where(t >= vmath.row_max(t), abs(u), 0.0) + x * b

    text, *_ = source_of(peaks, ["float32"] * 3)
    assert text.count("product(") == 4  # both factors, in the loop of the maximum and in the one after it
    assert text.count(" * ") - text.count("r * n") - text.count("width * ") == 1  # x * b, which nobody compares


def test_products_that_nobody_compares_may_be_fused():
    @rowwise(namespace="t")
    def shifted(x, a, b):
        t = x * a + b
        return t - vmath.row_max(t)

    assert "product(" not in source_of(shifted, ["float32"] * 3)[0]

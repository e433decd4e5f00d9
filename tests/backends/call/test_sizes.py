"""Buffers whose sizes data decide: what decides them, what a kernel says it filled, whose memory results are."""

import itertools

import numpy as np
import pytest

import opsdk
from opsdk.backends.call.buffers import infer
from opsdk.backends.call.sizes import Sized
from opsdk.backends.memory.arena import ARENA, Lease
from opsdk.core.errors import ShapeError, SizeError
from opsdk.define.kernel.sizes import SizeFunction

SHAPES = {
    "one": lambda x: opsdk.TensorSpec((None, 2), x.dtype),
    "two": lambda x: (opsdk.TensorSpec((None,), x.dtype), opsdk.TensorSpec((3, None), "int64")),
    "none": lambda x: opsdk.TensorSpec((3,), x.dtype),
    "rankless": lambda x: None,
}


def sized(decides, shapes="one", option="sizes"):
    outputs = "(Tensor y, Tensor<int> z)" if shapes == "two" else "Tensor y"
    op = opsdk.op(f"made(Tensor x) -> {outputs}", namespace="t", infer=SHAPES[shapes])(lambda x: x)
    return Sized(op.opdef, op.opdef.kernels.reference(), SizeFunction(option, decides))


def room(of, x=None):
    values = [np.arange(3.0) if x is None else x]
    return of.room(values, {}, infer(of.opdef, values, {}))


def test_buffers_have_the_sizes_that_the_function_gives_where_the_rule_has_none():
    one, two = room(sized(lambda x: x.size + 1)), room(sized(lambda x: (4, 5), "two"))
    assert [b.shape for b in one.buffers] == [(4, 2)]
    assert [(b.shape, b.dtype.name) for b in two.buffers] == [((4,), "float64"), ((3, 5), "int64")]


def test_one_number_is_the_size_of_all_that_are_open():
    made = room(sized(lambda x: np.int32(4), "two"))
    made.buffers[0][:] = 1
    made.buffers[1][:] = 2
    assert [a.tolist() for a in made.results(4)] == [[1.0] * 4, [[2] * 4] * 3]


@pytest.mark.parametrize("given", [2, np.int64(2), np.array(2), (2,), [2], np.array([2], "uint8")])
def test_whole_numbers_of_every_kind_are_sizes(given):
    assert room(sized(lambda x: given)).buffers[0].shape == (2, 2)


@pytest.mark.parametrize(
    "given", [-1, 2.0, True, np.bool_(True), None, "2", np.array([1.5]), np.array([[1]]), (np.nan,)]
)
def test_what_is_no_whole_number_from_0_on_is_no_size(given):
    with pytest.raises(SizeError, match=r"sizes=<lambda> expected whole numbers from 0 on, of y.shape\[0\], got"):
        room(sized(lambda x: given))


@pytest.mark.parametrize("given", [(1,), (1, 2, 3), ()])
def test_a_wrong_number_of_sizes_is_refused(given):
    said = r"sizes=<lambda> expected 2 sizes, of y.shape\[0\] and z.shape\[1\], or one number for all, got"
    with pytest.raises(SizeError, match=said):
        room(sized(lambda x: given, "two"))


@pytest.mark.parametrize("size", [2**50, 2**62, 2**70])
def test_sizes_that_no_memory_has_room_for_are_refused_by_name(size):
    with pytest.raises(SizeError, match=rf"expected sizes that memory has room for, got {size} for y.shape\[0\] \("):
        room(sized(lambda x: size, option="bound"))


def test_a_rule_that_leaves_nothing_open_leaves_nothing_to_decide():
    with pytest.raises(
        ShapeError, match="sizes=<lambda> expected a size that the infer rule leaves open, got y float64"
    ):
        room(sized(lambda x: 3, "none"))


def test_a_rule_that_does_not_know_the_dimensions_makes_no_buffer():
    with pytest.raises(ShapeError, match="'y': expected an infer rule that says how many dimensions it has, got None"):
        room(sized(lambda x: 3, "rankless"))


def test_a_kernel_that_fills_less_or_more_than_the_function_gave_is_refused():
    for filled in (2, 4):
        with pytest.raises(SizeError, match=rf"expected 3 for y.shape\[0\], which sizes=<lambda> gave, got {filled}"):
            room(sized(lambda x: 3)).results(filled)


def test_a_bound_is_cut_to_what_was_filled_and_not_passed():
    made = room(sized(lambda x: 3, option="bound"))
    made.buffers[0][:2] = [[1, 2], [3, 4]]
    assert made.results(2)[0].tolist() == [[1, 2], [3, 4]]
    with pytest.raises(
        SizeError, match=r"expected at most 3 for y.shape\[0\], which bound=<lambda> gave, got 4 filled"
    ):
        room(sized(lambda x: 3, option="bound")).results(4)


def test_every_open_size_is_cut_by_itself():
    made = room(sized(lambda x: (4, 5), "two", "bound"))
    made.buffers[0][:] = 1
    made.buffers[1][:] = np.arange(15).reshape(3, 5)
    assert [a.tolist() for a in made.results((0, 2))] == [[], [[0, 1], [5, 6], [10, 11]]]


def test_a_kernel_that_says_nothing_is_refused():
    with pytest.raises(SizeError, match=r"expected it to say how many it filled, of y.shape\[0\], got None"):
        room(sized(lambda x: 3)).results(None)


@pytest.mark.parametrize("returned", [-1, 2.5, (1, 2), "3", np.zeros(3)])
def test_what_a_kernel_returns_has_to_be_such_a_number(returned):
    with pytest.raises(SizeError, match="what the kernel says it filled expected"):
        room(sized(lambda x: 3)).results(returned)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int8", "bool", "complex128"])
def test_one_element_behind_a_buffer_is_seen_whatever_its_dtype(dtype):
    made = room(sized(lambda x: 3), np.zeros(3).astype(opsdk.TensorSpec((), dtype).dtype))
    buffer = made.buffers[0]
    whole = np.lib.stride_tricks.as_strided(buffer, (4, 2))
    buffer[...] = 1
    assert [a.shape for a in made.results(3)] == [(3, 2)]
    whole[3, 0] = 1
    with pytest.raises(
        SizeError, match=r"stay inside output 'y', of shape \(3, 2\) as sizes=<lambda> has it, got writes"
    ):
        made.results(3)


def test_what_the_inputs_could_fill_has_room_behind_a_buffer_in_watched_calls():
    of = sized(lambda x: 0)
    behind = [room(of, np.zeros(10_000)).buffers[0].base.nbytes for _ in range(5)]
    assert behind == [160_000, 160_000, 65_536, 160_000, 65_536]  # two float64 for each of 10 000, in calls 1, 2 and 4
    assert room(of, np.zeros(1000)).buffers[0].base.nbytes == 16_000
    assert room(of, np.zeros(1)).buffers[0].base.nbytes == 4096


def test_results_are_memory_of_their_own():
    of = sized(lambda x: x.size, option="bound")
    for size, filled in itertools.product((3, 50_000), ("all", "some", "nothing")):
        made = room(of, np.zeros(size))
        count = {"all": size, "some": size // 3, "nothing": 0}[filled]
        (result,) = made.results(count)
        assert result.shape == (count, 2)
        assert result.flags.owndata or result.base.__class__ is Lease
        assert not np.may_share_memory(result, made.buffers[0]) or filled == "all"


def test_a_large_buffer_that_was_filled_is_the_result_itself_unless_there_was_room_behind_it():
    of, kept = sized(lambda x: x.size), []
    for _ in range(5):
        made = room(of, np.zeros(50_000))
        at = made.buffers[0].ctypes.data
        (result,) = made.results(50_000)
        kept.append(result.ctypes.data == at)
        assert result.base.base.capacity <= 1.25 * 1.25 * result.nbytes  # a block of the arena
    assert kept == [False, False, True, False, True]  # calls 1, 2 and 4 are watched


def test_what_a_bound_took_beyond_the_result_goes_back_to_the_arena():
    of, before = sized(lambda x: x.size, option="bound"), ARENA.stats().in_use
    (result,) = room(of, np.zeros(100_000)).results(10_000)
    assert ARENA.stats().in_use - before <= 1.25 * result.nbytes


def test_what_was_changed_in_place_is_put_back_where_the_sizes_are_wrong():
    schema = "t::taken(Tensor(a!) x) -> (Tensor(a!) x_out, Tensor y)"
    op = opsdk.op(schema, infer=lambda x: (x, opsdk.TensorSpec((None,), x.dtype)))(lambda x: x.copy())
    of = Sized(op.opdef, op.opdef.kernels.reference(), SizeFunction("sizes", lambda x: 1))
    x = np.arange(3.0)
    made = of.room([x], {}, infer(op.opdef, [x], {}))
    x[...] = -1
    with pytest.raises(SizeError):
        made.results(2)
    assert x.tolist() == [0, 1, 2]


def test_a_program_and_a_tensor_run_such_an_op_with_its_open_size():
    pytest.importorskip("numba")

    @opsdk.op("above(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec((None,), x.dtype))
    def above(x):
        return x[x > 0]

    @above.backward
    def above_grad(x, dy):
        dx = np.zeros_like(x)
        dx[x > 0] = dy
        return dx

    @above.kernel("cpu", language="numba", bound=lambda x: x.size)
    def above_numba(x, y):
        filled = 0
        for value in x.flat:
            if value > 0:
                y[filled] = value
                filled += 1
        return filled

    @above_grad.kernel("cpu", language="numba")
    def above_grad_numba(x, dy, dx):
        filled = 0
        for i, value in np.ndenumerate(x):
            dx[i] = 0
            if value > 0:
                dx[i] = dy[filled]
                filled += 1

    for values in ([1.0, -2, 3], [-1.0, -2], [5.0, 6, 7, 8], []):  # one plan, which keeps no size
        x = opsdk.to_tensor(np.array(values), stop_gradient=False)
        y = above(x)
        (y * y).sum().backward()
        assert y.numpy().tolist() == [v for v in values if v > 0]
        assert x.grad.numpy().tolist() == [2 * v if v > 0 else 0 for v in values]
    main, start = opsdk.static.Program(), opsdk.static.Program()
    with opsdk.static.program_guard(main, start):
        x = opsdk.static.data("x", [None], "float64")
        x.stop_gradient = False
        y = above(x)
        loss = (y * y).sum()
        (dx,) = opsdk.static.gradients(loss, x)
        assert y.shape == (-1,)
    run = opsdk.static.Executor().run
    for values in ([1.0, -2, 3], [], [5.0, 6, 7, 8]):
        made, slope = run(main, feed={"x": np.array(values)}, fetch_list=[y, dx])
        assert made.tolist() == [v for v in values if v > 0]
        assert slope.tolist() == [2 * v if v > 0 else 0 for v in values]

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import FeedError, NotRecordedError

ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float32")


@pytest.fixture
def y(x):
    return x * 2.0


WRONG_FEEDS = {
    "missing": ({}, "feed: expected a value for 'x', got none"),
    "None": (None, "feed: expected a value for 'x', got none"),
    "unknown key": ({"x": ROWS, "z": ROWS}, "feed 'z': no data variable has that name; there are x"),
    "a variable that is no data": ({"x": ROWS, "scale_0.tmp_0": ROWS}, "no data variable has that name"),
    "float64": ({"x": ROWS.astype("float64")}, "feed 'x': expected dtype float32, got float64; feed value.astype"),
    "int": ({"x": ROWS.astype("int32")}, "feed 'x': expected dtype float32, got int32"),
    "another size": ({"x": ROWS[:, :2]}, r"feed 'x': expected shape \(\?, 3\), got \(2, 2\)"),
    "rank 1": ({"x": ROWS[0]}, r"expected shape \(\?, 3\), got \(3,\)"),
    "rank 3": ({"x": ROWS[None]}, r"expected shape \(\?, 3\), got \(1, 2, 3\)"),
    "scalar": ({"x": np.float32(1.0)}, r"expected shape \(\?, 3\), got \(\)"),
    "number": ({"x": 1.0}, r"expected shape \(\?, 3\), got \(\)"),
    "ragged list": ({"x": [[1.0, 2.0, 3.0], [1.0]]}, "feed 'x': expected an array of float32, got"),
    "texts": ({"x": [["1", "2", "3"]]}, "feed 'x': expected numbers that float32 can hold, got"),
    "nothing in a list": ({"x": [[None, 1.0, 2.0]]}, "expected numbers that float32 can hold"),
    "complex list": ({"x": [[1j, 0, 0]]}, "expected numbers that float32 can hold"),
    "not a dict": ([ROWS], "feed: expected a dict from names to arrays, got list"),
    "an empty list": ([], "feed: expected a dict from names to arrays, got list"),
    "a text": ("x", "feed: expected a dict from names to arrays, got str"),
}


@pytest.mark.parametrize(("feed", "text"), WRONG_FEEDS.values(), ids=WRONG_FEEDS)
def test_a_wrong_feed_is_refused(exe, y, feed, text):
    with pytest.raises(FeedError, match=text):
        exe.run(feed=feed, fetch_list=[y])


def test_a_feed_that_the_fetches_do_not_need_is_named_with_the_way_to_leave_it_out(exe, x, y):
    other = static.data("l", [None, 1], "float32") * 2.0
    wanted = "feed: expected a value for 'l', got one for 'x' only; add it to the feed, or run what the fetches"
    with pytest.raises(FeedError, match=wanted):
        exe.run(feed={"x": ROWS}, fetch_list=[y])
    np.testing.assert_array_equal(exe.run(feed={"x": ROWS}, fetch_list=[y], use_prune=True)[0], ROWS * 2.0)
    assert other.name in static.default_main_program().global_block().vars


def test_a_variable_that_is_fed_is_refused(exe, x, y):
    with pytest.raises(FeedError, match="feed 'x': expected an array of float32, got var x"):
        exe.run(feed={"x": x}, fetch_list=[y])


def test_nothing_runs_when_a_feed_is_wrong(exe, block, x):
    calls = []
    static.py_func(lambda: calls.append(0), None, block.create_var("made", [1], "float32"))
    with pytest.raises(FeedError, match="feed 'x': expected dtype float32"):
        exe.run(feed={"x": ROWS.astype("float64")})
    assert calls == []


def test_data_that_nothing_reads_need_not_be_fed(exe, y):
    static.data("unread", [None], "float32")
    assert len(exe.run(feed={"x": ROWS}, fetch_list=[y])) == 1


def test_data_that_nothing_reads_may_be_fed_and_fetched(exe, x):
    np.testing.assert_array_equal(exe.run(feed={"x": ROWS}, fetch_list=[x])[0], ROWS)


@pytest.mark.parametrize("rows", [ROWS.tolist(), tuple(map(tuple, ROWS.tolist())), [[1, 2, 3], [4, 5, 6]], list(ROWS)])
def test_lists_are_converted(exe, y, rows):
    np.testing.assert_array_equal(exe.run(feed={"x": rows}, fetch_list=[y])[0], ROWS * 2, strict=True)


@pytest.mark.parametrize("values", [[1.5, 2.0], [1, 300], [-1, 0], [float("nan"), 1.0]])
def test_a_list_that_a_variable_cannot_hold_is_refused(exe, values):
    n = static.data("n", [2], "uint8")
    with pytest.raises(FeedError, match="feed 'n': expected numbers that uint8 can hold, got"):
        exe.run(feed={"n": values}, fetch_list=[n])


def test_whole_numbers_with_a_point_are_integers(exe):
    n = static.data("n", [2], "int64")
    np.testing.assert_array_equal(exe.run(feed={"n": [1.0, 2.0]}, fetch_list=[n])[0], np.array([1, 2]), strict=True)


def test_a_dynamic_tensor_can_be_fed(exe, y):
    np.testing.assert_array_equal(exe.run(feed={"x": opsdk.to_tensor(ROWS)}, fetch_list=[y])[0], ROWS * 2)


def test_a_matrix_is_fed_as_a_plain_array(exe, block, x):
    kinds = []
    static.py_func(lambda x: kinds.append(type(x)) or x * 1, x, block.create_var("out", [None, 3], "float32"))
    exe.run(feed={"x": ROWS.view(np.matrix)})
    assert kinds == [np.ndarray]


LAYOUTS = {
    "Fortran": np.asfortranarray(ROWS),
    "strided": np.repeat(ROWS, 2, axis=1)[:, ::2],
    "reversed": ROWS[::-1, ::-1].copy()[::-1, ::-1],
    "broadcast": np.broadcast_to(ROWS[:1], (2, 3)),
    "read-only": np.frombuffer(ROWS.tobytes(), np.float32).reshape(2, 3),
}


@pytest.mark.parametrize("rows", LAYOUTS.values(), ids=LAYOUTS)
def test_any_layout_can_be_fed(exe, x, rows):
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(exe.run(feed={"x": rows}, fetch_list=[x @ weight])[0], rows @ weight)


def test_an_empty_batch_runs(exe, y):
    assert exe.run(feed={"x": np.zeros((0, 3), np.float32)}, fetch_list=[y])[0].shape == (0, 3)


def test_an_empty_batch_trains(exe, startup, x):
    opsdk.optimizer.SGD(0.1).minimize(static.nn.fc(x, 2).sum())
    exe.run(startup)
    before = exe.run(feed={"x": np.zeros((0, 3), np.float32)}, fetch_list=["fc_0.w_0"])[0]
    assert np.isfinite(before).all()


def test_fed_arrays_are_not_changed(exe, startup, x):
    fed = ROWS.copy()
    opsdk.optimizer.SGD(0.1).minimize(static.nn.fc(x, 2).sum())
    exe.run(startup)
    exe.run(feed={"x": fed})
    np.testing.assert_array_equal(fed, ROWS)


def test_a_list_of_whole_numbers_reaches_a_float_variable(exe):
    n = static.data("n", [2], "float32")
    np.testing.assert_array_equal(exe.run(feed={"n": [2**70, -1]}, fetch_list=[n])[0], np.array([2**70, -1], "f4"))


@pytest.mark.parametrize("value", [[1e300], [10**400], [None], None])
def test_what_is_beyond_a_float_variable_is_refused(exe, value):
    n = static.data("n", [1], "float32")
    with pytest.raises(FeedError, match="feed 'n': expected numbers that float32 can hold, got"):
        exe.run(feed={"n": value}, fetch_list=[n])


@pytest.mark.parametrize("wrap", [lambda t: t, lambda t: [t, t]])
def test_a_tensor_that_needs_a_gradient_is_not_fed(exe, wrap):
    n = static.data("n", [-1], "float32")
    with pytest.raises(NotRecordedError, match="expected a value outside of the graph, and a tensor of shape"):
        exe.run(feed={"n": wrap(opsdk.to_tensor([1.0], stop_gradient=False))}, fetch_list=[n])

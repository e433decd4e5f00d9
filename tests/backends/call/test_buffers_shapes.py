"""Shapes that `domain=` declares: what differs is refused in one sentence before anything runs, in both runtimes."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ShapeError

shape = opsdk.domain.shape
SCALED, BOTH = "t::scaled(Tensor x, Tensor w) -> Tensor y", {"x": shape("N", 2), "w": shape("N")}
RAN = []


def _scaled(x, w):
    RAN.append(1)
    return x * w[:, None]


def _scaled_grad(x, w, dy):
    RAN.append(1)
    return dy * w[:, None], (dy * x).sum(axis=1)


def _scaled_numba(x, w, y):
    for i in range(x.shape[0]):
        for j in range(2):
            y[i, j] = x[i, j] * w[i]


def scaled(language="numpy"):
    op = opsdk.op(SCALED, replace=True, domain=BOTH)(_scaled)
    op.backward(_scaled_grad)
    if language == "numba":
        op.kernel("cpu", _scaled_numba, language="numba")
    return op


WRONG = "op 't::scaled': input 'w' expected shape (N,) with N = 3 as of 'x', got (1,); pass one of that shape"


@pytest.fixture(params=[False, True], ids=["", "debug"])
def debug(request):
    opsdk.set_flags(debug=request.param)
    yield
    opsdk.set_flags(debug=False)


@pytest.mark.parametrize("language", ["numpy", "numba"])
@pytest.mark.usefixtures("debug")
def test_every_call_is_held_to_the_shapes_before_it_runs(language):
    op = scaled(language)
    x, w = np.ones((3, 2)), np.ones(3)
    for given in (x, opsdk.to_tensor(x), opsdk.to_tensor(x, stop_gradient=False)):
        for _ in range(2):  # with a plan and without one
            op(given, w)
            RAN.clear()
            with pytest.raises(ShapeError) as caught:
                op(given, w[:1])
            assert (str(caught.value), RAN) == (WRONG, [])
            assert caught.value.details == {"input": "w", "expected": "(N,)", "got": (1,)}
    with pytest.raises(ShapeError, match=r"input 'x' expected shape \(N, 2\), got \(3, 3\); pass one of that shape"):
        op(np.ones((3, 3)), w)


def test_a_gradient_op_that_is_called_itself_is_held_to_those_of_the_inputs_that_it_reads():
    grad = scaled().grad
    x, dy = np.ones((3, 2)), np.ones((3, 2))
    assert grad(x, np.ones(3), dy)[1].tolist() == [2, 2, 2]
    with pytest.raises(ShapeError, match=r"op 't::scaled_grad': input 'w' expected shape \(N,\) with N = 3 as of 'x'"):
        grad(x, np.ones(1), dy)


@pytest.mark.parametrize("composite", [False, True], ids=["a kernel", "a composite"])
def test_a_program_refuses_what_is_known_when_it_is_built_and_open_sizes_in_its_run(composite):
    op = scaled()
    if composite:
        op = opsdk.op(SCALED, replace=True, composite=True, domain=BOTH)(lambda x, w: x * w.reshape([-1, 1]))
    program = opsdk.static.Program()
    with opsdk.static.program_guard(program):
        x, w = opsdk.static.data("x", [None, 2], "float64"), opsdk.static.data("w", [None], "float64")
        x.stop_gradient = False
        with pytest.raises(ShapeError, match=r"op 't::scaled': input 'x' expected shape \(N, 2\), got \(\?,\)"):
            op(w, w)
        fetched = [*opsdk.static.gradients([op(x, w).sum()], [x])]
    run = opsdk.static.Executor().run
    (dx,) = run(program, feed={"x": np.ones((3, 2)), "w": np.arange(3.0)}, fetch_list=fetched)
    assert dx.tolist() == [[0, 0], [1, 1], [2, 2]]
    with pytest.raises(ShapeError) as caught:
        run(program, feed={"x": np.ones((3, 2)), "w": np.ones(1)}, fetch_list=fetched)
    assert str(caught.value) == WRONG


def test_a_composite_whose_sizes_are_known_is_not_asked_in_runs():
    op = opsdk.op("t::twice(Tensor x) -> Tensor y", replace=True, composite=True, domain={"x": shape("N", 2)})
    op = op(lambda x: x + x)
    program = opsdk.static.Program()
    with opsdk.static.program_guard(program):
        op(opsdk.static.data("x", [3, 2]))
        op(opsdk.static.data("open", [None, 2]))
    assert [operator.type for operator in program.global_block().ops] == [
        *("elementwise_add", "twice_check", "elementwise_add"),
    ]


def test_a_length_may_be_an_attribute_and_every_tensor_of_a_list_is_held_to_it():
    op = opsdk.op("t::joined(Tensor[] xs, Tensor? w=None, *, int k=2) -> Tensor y", replace=True,
                  domain={"xs": shape(..., "k"), "w": shape("k")})(lambda xs, w, k: xs[0] * 1)  # fmt: skip
    op([np.ones((3, 2)), np.ones(2)])
    op([np.ones((3, 4))], np.ones(4), k=4)
    with pytest.raises(ShapeError, match=r"input 'xs\[1\]' expected shape \(..., k\) with k = 2, got \(3,\)"):
        op([np.ones((3, 2)), np.ones(3)])
    with pytest.raises(ShapeError, match=r"input 'w' expected shape \(k,\) with k = 4, got \(2,\)"):
        op([np.ones(4)], np.ones(2), k=4)


@pytest.mark.parametrize("form", [opsdk.elementwise, opsdk.rowwise])
def test_expressions_are_held_to_shapes_too(form):
    op = form(namespace="t", name="form", replace=True, domain={"x": shape("N", 3)})(lambda x: x * 2)
    for _ in range(2):
        assert op(np.ones((1, 3))).tolist() == [[2, 2, 2]]
        with pytest.raises(ShapeError, match=r"op 't::form': input 'x' expected shape \(N, 3\), got \(1, 2\)"):
            op(opsdk.to_tensor(np.ones((1, 2)), stop_gradient=False))


def test_nothing_is_changed_in_place_where_a_shape_is_refused():
    @opsdk.op("t::add_(Tensor(a!) x, Tensor w) -> Tensor(a!) y", replace=True, domain=dict.fromkeys("xw", shape("N")))
    def add_(x, w):
        x += w

    array = np.ones(3)
    with pytest.raises(ShapeError, match=r"input 'w' expected shape \(N,\) with N = 3 as of 'x', got \(1,\)"):
        add_(array, np.ones(1))
    assert array.tolist() == [1, 1, 1]


def test_a_shape_is_told_before_the_infer_rule_meets_what_is_wrong_with_it():
    op = opsdk.op(SCALED, replace=True, domain=BOTH, infer=lambda x, w: {(3,): x}[w.shape])(_scaled)
    with pytest.raises(ShapeError) as caught:
        op(np.ones((3, 2)), np.ones(1))
    assert str(caught.value) == WRONG


SPLINE = "t::spline(Tensor x, Tensor w, Tensor d) -> Tensor y"
BINS = {"x": shape("*B"), "w": shape("*B", "K"), "d": shape("*B", "K-1")}
SPLINE_WRONG = [
    ((3,), (4, 2), (4, 1), r"'w' expected shape \(\*B, K\) with \*B = \(3,\) as of 'x', got \(4, 2\)"),
    ((3,), (3, 4), (3, 4), r"'d' expected shape \(\*B, K-1\) with K = 4 as of 'w', got \(3, 4\)"),
    ((3,), (3, 0), (3, 0), r"'d' expected shape \(\*B, K-1\) with K from 1 on, but K = 0 as of 'w', got \(3, 0\)"),
    ((2, 3), (3, 4), (2, 3, 3), r"'w' expected shape \(\*B, K\) with \*B = \(2, 3\) as of 'x', got \(3, 4\)"),
]


def spline():
    op = opsdk.op(SPLINE, replace=True, domain=BINS)(lambda x, w, d: x * (w[..., 1:] * d).sum(-1))
    op.backward(lambda x, w, d, dy: (dy * (w[..., 1:] * d).sum(-1), np.zeros_like(w), np.zeros_like(d)))
    return op


@pytest.mark.parametrize(("x", "w", "d", "wrong"), SPLINE_WRONG)
def test_lengths_made_of_others_and_leading_ones_are_held_in_both_runtimes(x, w, d, wrong):
    op = spline()
    arrays = {name: np.ones(sizes) for name, sizes in zip("xwd", (x, w, d), strict=True)}
    for leaf in (False, True):
        assert op(*(np.ones(s) for s in ((3,), (3, 4), (3, 3)))).tolist() == [3, 3, 3]
        with pytest.raises(ShapeError, match=wrong):
            op(*(opsdk.to_tensor(a, stop_gradient=not leaf) for a in arrays.values()))
    program = opsdk.static.Program()
    with opsdk.static.program_guard(program), pytest.raises(ShapeError, match=wrong):
        op(*(opsdk.static.data(name, [*array.shape], "float64") for name, array in arrays.items()))


def test_a_run_of_a_program_is_held_to_lengths_that_are_open_in_it():
    program = opsdk.static.Program()
    with opsdk.static.program_guard(program):
        x, w, d = (opsdk.static.data(name, [None] * (1 + (name != "x")), "float64") for name in "xwd")
        with pytest.raises(ShapeError, match=r"'w' expected shape \(\*B, K\) with \*B = \(\?,\) as of 'x', got"):
            spline()(x, x, d)
        fetched = [spline()(x, w, d)]

    def run(*given):
        feed = {name: np.ones(sizes) for name, sizes in zip("xwd", given, strict=True)}
        return opsdk.static.Executor().run(program, feed=feed, fetch_list=fetched)[0]

    assert run((2,), (2, 4), (2, 3)).tolist() == [3, 3]
    for *given, wrong in SPLINE_WRONG[:3]:
        with pytest.raises(ShapeError, match=wrong):
            run(*given)


def test_a_length_may_be_made_of_an_attribute():
    op = opsdk.op("t::padded(Tensor x, *, int k=2) -> Tensor y", replace=True,
                  domain={"x": shape(..., "2*k+1")})(lambda x, k: x * 1)  # fmt: skip
    op(np.ones((3, 5)))
    op(np.ones(3), k=1)
    with pytest.raises(ShapeError, match=r"input 'x' expected shape \(..., 2\*k\+1\) with k = 1, got \(5,\)"):
        op(np.ones(5), k=1)
    with pytest.raises(ShapeError, match=r"\(..., 2\*k\+1\) with k from 0 on, but k = -1, got \(5,\)"):
        op(np.ones(5), k=-1)


def test_a_length_of_which_no_whole_one_is_right_is_refused():
    op = opsdk.op("t::pairs(Tensor x, Tensor w) -> Tensor y", replace=True,
                  domain={"x": shape("2*K"), "w": shape("K")})(lambda x, w: x * 1)  # fmt: skip
    op(np.ones(4), np.ones(2))
    with pytest.raises(ShapeError) as caught:
        op(np.ones(3), np.ones(1))
    assert str(caught.value) == (
        "op 't::pairs': input 'x' expected shape (2*K,) with a whole K from 0 on, got (3,); pass one of that shape"
    )
    with pytest.raises(ShapeError, match=r"input 'w' expected shape \(K,\) with K = 2, as 2\*K = 4 in 'x', got \(3,\)"):
        op(np.ones(4), np.ones(3))

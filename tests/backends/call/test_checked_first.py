"""Value checks in front of every kernel: nothing of an op runs on values that its check refuses."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import InputValueError, KernelStatusError, ShapeError
from opsdk.verify.kernels.launch import launch

X = np.arange(6.0).reshape(3, 2)
GOOD, BAD = np.array([0, 2]), np.array([0, 3])
REFUSED = r"op 't::take_rows': index expected in \[0, 3\), got 0 to 3; drop what is outside"

C = """
int32_t take_rows_f64(const DLTensor *x, const DLTensor *index, DLTensor *y) {
  for (int64_t i = 0; i < index->shape[0]; ++i)
    for (int64_t j = 0; j < x->shape[1]; ++j)
      OPSDK_DATA(double, y)[i * x->shape[1] + j] =
          OPSDK_DATA(const double, x)[OPSDK_DATA(const int64_t, index)[i] * x->shape[1] + j];
  return 0;
}
"""


def inside(x, index):
    if index.min() < 0 or index.max() >= len(x):
        return f"index expected in [0, {len(x)}), got {index.min()} to {index.max()}; drop what is outside"
    return None


@pytest.fixture
def ran():
    return []


@pytest.fixture
def take_rows(ran):
    def take_rows(x, index):
        ran.append(index.tolist())
        return x[index]

    def take_rows_grad(x, index, dy):
        dx = np.zeros_like(x)
        np.add.at(dx, index, dy)
        return dx

    def infer(x, index):
        if len(index.shape) != 1:
            raise ShapeError("op 't::take_rows': index expected one dimension")
        return opsdk.TensorSpec((*index.shape, *x.shape[1:]), x.dtype)

    op = opsdk.op("t::take_rows(Tensor x, Tensor index) -> Tensor y", nondifferentiable=["index"], infer=infer)(
        take_rows
    )
    op.backward(take_rows_grad)
    op.check(inside)
    return op


def numba_row(x, index, y):
    for i in range(len(index)):
        y[i] = x[index[i]]


def test_a_reference_does_not_run_on_values_that_the_check_refuses(take_rows, ran):
    for _ in range(2):  # the call of a new kind, and one of a known kind
        with pytest.raises(InputValueError, match=REFUSED):
            take_rows(X, BAD)
        assert ran == []
        assert take_rows(X, GOOD).tolist() == X[GOOD].tolist()
        ran.clear()


@pytest.mark.parametrize("language", ["numba", "c"])
def test_a_compiled_row_does_not_read_beyond_its_arrays(take_rows, language):
    if language == "numba":
        take_rows.kernel("cpu", numba_row, language="numba")
    else:
        take_rows.kernel("cpu", language="c", dtype="float64", source=C, dtypes={"index": "int64"})
    for _ in range(3):  # a C kernel has a way of its own for a call like the one before
        with pytest.raises(InputValueError, match=REFUSED):
            take_rows(X, BAD)
        assert take_rows(X, GOOD).tolist() == X[GOOD].tolist()


def test_a_row_that_is_named_is_checked_too(take_rows):
    take_rows.kernel("cpu", numba_row, language="numba")
    for row in take_rows.opdef.kernels:
        with pytest.raises(InputValueError, match=REFUSED):
            launch(take_rows.opdef, row, [X, BAD], {})


def test_tensors_are_checked_and_nothing_is_recorded(take_rows):
    x = opsdk.to_tensor(X, stop_gradient=False)
    for _ in range(2):
        with pytest.raises(InputValueError, match=REFUSED):
            take_rows(x, BAD)
        take_rows(x, GOOD).sum().backward()
    assert x.grad.numpy().tolist() == [[2.0, 2.0], [0.0, 0.0], [2.0, 2.0]]


def test_one_tensor_on_its_way_through_a_lane_is_checked():
    op = opsdk.op("t::root(Tensor x) -> Tensor y")(lambda x: np.sqrt(x))
    op.backward(lambda y, dy: dy / (2 * y))
    op.check(lambda x: "x expected from 0, got a negative element; clip it" if (x < 0).any() else None)
    x = opsdk.to_tensor([4.0], stop_gradient=False)
    for _ in range(3):
        assert op(x).numpy().tolist() == [2.0]
    with pytest.raises(InputValueError, match="op 't::root': x expected from 0, got a negative element; clip it"):
        op(opsdk.to_tensor([-4.0], stop_gradient=False))


def test_debug_mode_checks_as_well(take_rows, debug):
    with pytest.raises(InputValueError, match=REFUSED):
        take_rows(X, BAD)


def test_a_program_is_checked_when_it_runs(take_rows):
    main = static.Program()
    with static.program_guard(main):
        x, index = static.data("x", [3, 2], "float64"), static.data("index", [None], "int64")
        y = take_rows(x, index)
    run = static.Executor().run
    assert run(main, feed={"x": X, "index": GOOD}, fetch_list=[y])[0].tolist() == X[GOOD].tolist()
    with pytest.raises(InputValueError, match=REFUSED):
        run(main, feed={"x": X, "index": BAD}, fetch_list=[y])


def test_a_gradient_op_has_a_check_of_its_own(take_rows):
    take_rows.grad.check(inside)
    with pytest.raises(InputValueError, match=r"op 't::take_rows_grad': index expected in \[0, 3\), got 0 to 3"):
        take_rows.grad(X, BAD, X[:2])
    assert take_rows.grad(X, GOOD, X[:2]).tolist() == [[0.0, 1.0], [0.0, 0.0], [2.0, 3.0]]


def test_attributes_reach_a_check_whether_they_are_given_or_not():
    seen = []
    op = opsdk.op("t::g(Tensor x, *, int k=2) -> Tensor y")(lambda x, k: x * k)
    op.check(lambda k: seen.append(k))
    op(X), op(X), op(X, k=5)
    assert seen == [2, 2, 5]


def test_a_check_that_stumbles_over_a_shape_gives_way_to_the_infer_rule(take_rows):
    take_rows(X, GOOD)
    take_rows.check(lambda index: str(index.shape[1]) and None)
    with pytest.raises(ShapeError, match="index expected one dimension"):
        take_rows(X, GOOD.reshape(2, 1)[0, 0])


def test_verify_leaves_out_what_the_check_refuses(take_rows):
    @take_rows.samples
    def samples(rng):
        yield opsdk.Sample(rng.normal(size=(4, 3)), np.array([0, 3, 1]), reason="rows")

    assert opsdk.verify(take_rows).verdict == "pass"


def test_verify_reports_a_sample_that_the_check_refuses(take_rows):
    take_rows.samples(lambda: iter([opsdk.Sample(X, BAD, reason="outside")]))
    (finding,) = opsdk.verify(take_rows).findings
    assert "expected to run, raised InputValueError: op 't::take_rows': index expected in [0, 3)" in finding.message


C_THAT_ASKS = """
int32_t take_rows_f64(const DLTensor *x, const DLTensor *index, DLTensor *y) {
  const int64_t *at = OPSDK_DATA(const int64_t, index);
  for (int64_t i = 0; i < index->shape[0]; ++i) {
    if (at[i] < 0 || at[i] >= x->shape[0]) return 1;
    for (int64_t j = 0; j < x->shape[1]; ++j)
      OPSDK_DATA(double, y)[i * x->shape[1] + j] = OPSDK_DATA(const double, x)[at[i] * x->shape[1] + j];
  }
  return at[0] == 1;
}
"""


def test_a_row_that_asks_for_itself_is_not_asked_for_until_it_refuses(take_rows):
    pytest.importorskip("cffi")
    asked = []

    @take_rows.check
    def counted(x, index):
        asked.append(index.tolist())
        return inside(x, index)

    take_rows.kernel("cpu", language="c", dtype="float64", source=C_THAT_ASKS, checks=True, dtypes={"index": "int64"})
    for _ in range(2):
        assert take_rows(X, GOOD).tolist() == X[GOOD].tolist()
    assert asked == []
    for _ in range(2):
        with pytest.raises(InputValueError, match=REFUSED):
            take_rows(X, BAD)
    assert asked == [BAD.tolist()] * 2


def test_a_status_that_the_check_knows_nothing_of_stays_what_it_is(take_rows):
    pytest.importorskip("cffi")
    take_rows.check(inside)
    take_rows.kernel("cpu", language="c", dtype="float64", source=C_THAT_ASKS, checks=True, dtypes={"index": "int64"})
    with pytest.raises(KernelStatusError, match="take_rows_f64 returned status 1"):
        take_rows(X, np.array([1, 0]))

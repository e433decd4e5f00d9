import numpy as np
import pytest

import opsdk
from opsdk.backends.call.buffers import allocate, infer, specs_of
from opsdk.backends.call.plan import make_plan
from opsdk.core.errors import KernelNotFoundError, ShapeError
from opsdk.core.spec import TensorSpec


@pytest.fixture
def opdef():
    @opsdk.op(
        "t::f(Tensor x, Tensor? w=None, *, int n=1) -> (Tensor y, Tensor z)",
        infer=lambda x, n: (TensorSpec([n, *x.shape], "int8"), TensorSpec([None], x.dtype)),
    )
    def f(x, w, n):
        raise AssertionError

    return f.opdef


def test_inputs_become_specs_in_the_form_that_rules_take():
    x = np.zeros((2, 0), "int8")
    assert specs_of([x, None, [x, x]]) == [TensorSpec([2, 0], "int8"), None, [TensorSpec([2, 0], "int8")] * 2]


def test_outputs_are_inferred_from_actual_inputs(opdef):
    specs = infer(opdef, [np.zeros((2, 3)), None], {"n": 4})
    assert specs == (TensorSpec([4, 2, 3], "int8"), TensorSpec([None], "float64"))


def test_buffers_are_made_for_the_outputs_that_a_kernel_fills(opdef):
    (buffer,) = allocate(opdef, [np.zeros(3), None], {"n": 2}, [0])
    assert (buffer.shape, buffer.dtype) == ((2, 3), np.int8)


def test_a_buffer_whose_size_nobody_knows_is_refused(opdef):
    with pytest.raises(ShapeError) as caught:
        allocate(opdef, [np.zeros(3), None], {"n": 2}, [1])
    assert str(caught.value) == (
        "op 't::f', output 'z': expected a shape known before the kernel runs, since the kernel fills a buffer, "
        "got float64(?,); let the kernel return the array"
    )


# Gradients of inputs that the backward does not read: their buffers have those inputs' shapes, which it is told.

SCALED = """
int32_t scaled_grad_f64(const DLTensor *dy, const DLTensor *dz, DLTensor *dx, DLTensor *db, double s) {
  for (int64_t i = 0; i < opsdk_size(dx); ++i) OPSDK_DATA(double, dx)[i] = s * OPSDK_DATA(const double, dy)[0];
  for (int64_t i = 0; i < opsdk_size(db); ++i) OPSDK_DATA(double, db)[i] = s * OPSDK_DATA(const double, dz)[i];
  return 0;
}
"""


def scaled_loop(dy, dz, dx, db, s):
    for i in range(dx.size):
        dx.flat[i] = s * dy[()]
    for i in range(db.size):
        db.flat[i] = s * dz[i]


@pytest.fixture(params=["numba", "c"])
def scaled(request):
    """Gives an op that sums x and scales b, whose backward reads neither, on a compiled kernel."""
    pytest.importorskip({"numba": "numba", "c": "cffi"}[request.param])

    @opsdk.op("t::scaled(Tensor x, Tensor b, *, float s=2.0) -> (Tensor y, Tensor z)")
    def scaled(x, b, s):
        return np.asarray(s * x.sum()), s * b

    scaled.infer(lambda x, b: (TensorSpec((), x.dtype), b))
    scaled.samples(lambda rng: iter([opsdk.Sample(rng.normal(size=(3, 4)), rng.normal(size=5))]))

    @scaled.backward
    def scaled_grad(dy, dz, s):
        raise AssertionError("the reference ran")

    row = {"function": scaled_loop} if request.param == "numba" else {"source": SCALED, "dtype": "float64"}
    scaled.grad.kernel("cpu", language=request.param, **row)
    return scaled


X, B = np.arange(12.0).reshape(3, 4), np.arange(5.0)


def test_the_tape_tells_a_gradient_row_the_shapes_of_inputs_that_it_does_not_read(scaled):
    for rows in (3, 7, 1):  # a call of a new kind, and calls of a known kind at other sizes
        x = opsdk.to_tensor(np.ones((rows, 4)), stop_gradient=False)
        b = opsdk.to_tensor(np.ones(rows), stop_gradient=False)
        y, z = scaled(x, b, s=3.0)
        (y + z.sum()).backward()
        assert x.grad.numpy().tolist() == [[3.0] * 4] * rows
        assert b.grad.numpy().tolist() == [3.0] * rows


def test_an_input_that_wants_no_gradient_has_a_shape_too(scaled):
    b = opsdk.to_tensor(B, stop_gradient=False)
    _, z = scaled(opsdk.to_tensor(X), b)
    z.sum().backward()
    assert b.grad.numpy().tolist() == [2.0] * 5


def test_a_program_tells_a_gradient_row_the_shapes_of_inputs_that_it_does_not_read(scaled):
    program = opsdk.static.Program()
    with opsdk.static.program_guard(program):
        x = opsdk.static.data("x", [None, 4], "float64")
        b = opsdk.static.data("b", [None], "float64")
        b.stop_gradient = False
        _, z = scaled(x, b)
        (db,) = opsdk.static.gradients([z], [b])
    for rows in (3, 7, 1):
        feed = {"x": np.ones((rows, 4)), "b": np.ones(2 * rows)}
        (made,) = opsdk.static.Executor().run(program, feed=feed, fetch_list=[db])
        assert made.tolist() == [2.0] * (2 * rows)


def test_a_direct_call_is_given_the_specs_or_computed_by_the_reference(scaled):
    dy, dz = np.asarray(2.0), np.ones(5)
    with pytest.raises(AssertionError, match="the reference ran"):
        scaled.grad(dy, dz)
    row = next(row for row in scaled.grad.opdef.kernels if row.language != "numpy")
    with pytest.raises(ShapeError, match=r"direct call gives x_spec=opsdk\.TensorSpec\(shape, dtype\)"):
        make_plan(scaled.grad.opdef, [dy, dz], {}, row=row).run_checked([dy, dz], {})
    given = {"x_spec": TensorSpec((2, 3), "float64"), "b_spec": TensorSpec(5, "float64")}
    dx, db = scaled.grad(dy, dz, **given)
    assert (dx.tolist(), db.tolist()) == ([[4.0] * 3] * 2, [2.0] * 5)
    with pytest.raises(ValueError, match=r"attribute 'x_spec' expected an opsdk\.TensorSpec, got \(2, 3\)"):
        scaled.grad(dy, dz, **{**given, "x_spec": (2, 3)})


def test_verify_gives_a_gradient_row_what_a_runtime_gives_it(scaled):
    report = opsdk.verify(scaled, rows=["numba", "c"])
    assert not [f for f in report.findings if "the reference ran" not in str(f)], report


def test_the_second_derivative_has_the_shape_of_the_input():
    op = opsdk.op("t::total(Tensor x) -> Tensor y", infer=lambda x: TensorSpec((), x.dtype))(
        lambda x: np.asarray(x.sum() ** 2)
    )
    gradient = op.backward(lambda y, dy: np.full((3,), 2 * np.sqrt(y) * dy))
    gradient.backward(lambda y, dy, ddx: (ddx.sum() * dy / np.sqrt(y), 2 * np.sqrt(y) * ddx.sum()))
    x = opsdk.to_tensor([1.0, 2.0, 3.0], dtype="float64", stop_gradient=False)
    (first,) = opsdk.grad(op(x), x, create_graph=True)
    (second,) = opsdk.grad(first[0], x)
    assert second.numpy().tolist() == [2.0, 2.0, 2.0]  # of (a + b + c) ** 2


def test_a_gradient_of_a_broadcast_input_that_is_not_read_is_not_rounded_to_the_dtype_of_another():
    pytest.importorskip("numba")
    op = opsdk.op("t::times(Tensor x, Tensor w) -> Tensor y", infer=opsdk.infer.broadcast)(lambda x, w: x * w)
    gradient = op.backward(lambda x, dy: (dy, x * dy))

    @gradient.kernel("cpu", language="numba")
    def loop(x, dy, dx, dw):
        for i in range(x.size):
            dw.flat[i] = x.flat[i] * dy.flat[i]
            dx.flat[i] = 0

    x = opsdk.to_tensor(np.ones(1, "float32"))
    w = opsdk.to_tensor(np.ones(1, "float64"), stop_gradient=False)
    op(x, w).backward(opsdk.to_tensor(np.array([1 + 2.0**-40])))
    assert w.grad.numpy().tolist() == [1 + 2.0**-40]


def test_the_gradients_of_a_list_that_is_not_read_are_told_their_number_and_shapes():
    pytest.importorskip("cffi")
    op = opsdk.op("t::sizes(Tensor[] xs) -> Tensor y", infer=lambda xs: TensorSpec((), xs[0].dtype))(
        lambda xs: np.asarray(sum(x.sum() for x in xs))
    )
    op.backward(lambda dy: (_ for _ in ()).throw(AssertionError("the reference ran")))
    source = """
    int32_t sizes_grad_f64(const DLTensor *dy, DLTensor *const *dxs, int64_t dxs_len) {
      for (int64_t k = 0; k < dxs_len; ++k)
        for (int64_t i = 0; i < opsdk_size(dxs[k]); ++i)
          OPSDK_DATA(double, dxs[k])[i] = (k + 1) * OPSDK_DATA(const double, dy)[0];
      return 0;
    }"""
    op.grad.kernel("cpu", language="c", source=source)
    a, b = (opsdk.to_tensor(np.zeros(n), stop_gradient=False) for n in (2, 3))
    op([a, b]).backward()
    assert (a.grad.numpy().tolist(), b.grad.numpy().tolist()) == ([1, 1], [2, 2, 2])


def test_an_absent_input_has_a_buffer_that_nobody_looks_at():
    op = opsdk.op("t::maybe(Tensor x, Tensor? b=None) -> Tensor y", infer=opsdk.infer.like("x"))(lambda x, b: x)
    gradient = op.backward(lambda b, dy: (dy, None)).opdef
    assert allocate(gradient, [None, np.zeros((2, 3))], {}, [0, 1])[1].shape == (2, 3)
    unread = op.backward(lambda dy: (dy, None)).opdef
    assert allocate(unread, [np.zeros((2, 3))], {"b_spec": None}, [1])[0].shape == (2, 3)
    with pytest.raises(ShapeError, match="output 'db': expected a shape known before the kernel runs"):
        allocate(unread, [np.zeros((2, 3))], {}, [1])


def test_a_gradient_that_has_another_dtype_than_the_c_function_writes_is_refused(scaled):
    if "c" not in [row.language for row in scaled.grad.opdef.kernels]:
        pytest.skip("a Numba kernel is compiled for what it is given")
    given = {"x_spec": TensorSpec(2, "float64"), "b_spec": TensorSpec(3, "float32")}
    told = "gradient 'db' expected float64 like 'dy', got float32, which its input has; cast that"
    with pytest.raises(KernelNotFoundError, match=told):
        scaled.grad(np.asarray(1.0), np.ones(3), **given)

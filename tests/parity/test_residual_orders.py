"""Composite backwards that read residuals of whole numbers, or specs of open sizes: any order, in both runtimes."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import DerivativeOrderError, ProgramError

X = np.array([[1.0, 3.0, -2.0, 0.5, 4.0, 2.0]])


@pytest.fixture
def pooled():
    """Maxima of three neighbours, y[i, j] = max(x[i, 3j], x[i, 3j + 1], x[i, 3j + 2])."""

    @opsdk.op("t::pooled(Tensor x) -> Tensor y, residuals (Tensor<int> arg)")
    def pooled(x):
        windows = x.reshape(len(x), -1, 3)
        return windows.max(axis=-1), windows.argmax(axis=-1)

    @pooled.infer
    def pooled_infer(x):
        shape = (x.shape[0], None if x.shape[1] is None else x.shape[1] // 3)
        return opsdk.TensorSpec(shape, x.dtype), opsdk.TensorSpec(shape, "int64")

    @pooled.backward(composite=True)
    def pooled_grad(arg, x_spec, dy):
        is_taken = opsdk.equal(opsdk.unsqueeze(arg, -1), opsdk.arange(3))
        return (is_taken.astype(x_spec.dtype) * opsdk.unsqueeze(dy, -1)).reshape(x_spec.shape)

    return pooled


@pytest.fixture
def cubed():
    """The cube of the greatest of each row, whose gradient moves with x itself too."""

    @opsdk.op("t::cubed(Tensor x) -> Tensor y, residuals (Tensor<int> arg)")
    def cubed(x):
        return x.max(axis=1) ** 3, x.argmax(axis=1)

    cubed.infer(lambda x: (opsdk.TensorSpec(x.shape[:1], x.dtype), opsdk.TensorSpec(x.shape[:1], "int64")))

    @cubed.backward(composite=True)
    def cubed_grad(x, arg, x_spec, dy):
        is_top = opsdk.equal(opsdk.unsqueeze(arg, -1), opsdk.arange(x_spec.shape[1])).astype(x_spec.dtype)
        top = opsdk.sum(x * is_top, axis=1)
        return opsdk.zeros(x_spec.shape, x_spec.dtype) + is_top * opsdk.unsqueeze(3 * top * top * dy, -1)

    return cubed


def on_tape(loss, x, orders=3):
    """Returns the gradient of a loss, of the sum of its squares, and so on."""
    x, found = opsdk.to_tensor(x, stop_gradient=False), []
    made = loss(x)
    for _ in range(orders):
        found += opsdk.grad(made, x, create_graph=True)
        made = opsdk.sum(found[-1] * found[-1])
    return [value.numpy() for value in found]


def in_program(loss, x, shape, orders=3):
    program, found = static.Program(), []
    with static.program_guard(program, static.Program()):
        entry = static.data("x", shape, "float64")
        entry.stop_gradient = False
        made = loss(entry)
        for _ in range(orders):
            found += static.gradients(made, [entry])
            made = opsdk.sum(found[-1] * found[-1])
    fetches = [value.name for value in found]
    return static.Executor().run(program.clone(), feed={"x": x}, fetch_list=fetches, scope=static.Scope())


SHAPES = [(None, 6), (None, None)]


def test_positions_are_constants_of_every_further_order(pooled):
    def loss(x):  # 2·9² − 16² of the two windows; the numbers are torch.nn.functional.max_pool1d's
        return opsdk.sum(opsdk.square(pooled(x * x)) * np.array([2.0, -1.0]))

    tape = on_tape(loss, X)
    for got, want in zip(tape, ([216, -256], [93312, 98304], [29023764480, 24159191040]), strict=True):
        np.testing.assert_array_equal(got, [[0, want[0], 0, 0, want[1], 0]])
    for shape in SHAPES:
        for one, other in zip(in_program(loss, X, shape), tape, strict=True):
            np.testing.assert_array_equal(one, other)


def test_so_they_are_where_the_gradient_moves_with_x_too(cubed):
    tape = on_tape(lambda x: opsdk.sum(cubed(x)), X)
    for got, want in zip(tape, (3 * 4**2, 36 * 4**3, 2 * 36 * 4**3 * 108 * 4**2), strict=True):
        np.testing.assert_array_equal(got, [[0, 0, 0, 0, want, 0]])
    for shape in SHAPES:
        for one, other in zip(in_program(lambda x: opsdk.sum(cubed(x)), X, shape), tape, strict=True):
            np.testing.assert_array_equal(one, other)


def test_append_backward_twice_reads_what_the_one_forward_kept(pooled):
    calls, scope = [], static.Scope()
    pooled.check(lambda x: calls.append(x.shape))
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 6], "float64")
        start = opsdk.nn.initializer.Constant(1.0)
        w = static.create_parameter([6], "float64", name="w", default_initializer=start)
        ((_, first),) = static.append_backward(opsdk.sum(opsdk.square(pooled(x * w))))
        ((_, second),) = static.append_backward(opsdk.sum(first * first))
    exe = static.Executor()
    exe.run(startup, scope=scope)
    for rows in (1, 2):  # another size in each run
        calls.clear()
        found = exe.run(main, feed={"x": np.repeat(X, rows, axis=0)}, fetch_list=[first, second], scope=scope)
        top = np.array(
            [0, 3.0, 0, 0, 4, 0]
        )  # d(Σ top² w²) = 2 rows top² w, and of the sum of its squares 8 rows² top⁴ w
        np.testing.assert_array_equal(found[0], 2 * rows * top**2)
        np.testing.assert_array_equal(found[1], 8 * rows**2 * top**4)
        assert calls == [(rows, 6)]


def test_verify_judges_the_second_order_of_such_a_backward(cubed):
    cubed.samples(lambda rng: [opsdk.Sample(rng.normal(size=(2, 3)), reason="rows")])

    @cubed.backward(composite=True, replace=True)
    def cubed_grad(x, arg, dy):  # right but for its derivative
        is_top = opsdk.equal(opsdk.unsqueeze(arg, -1), opsdk.arange(3)).astype(x.dtype)
        top = opsdk.sum(x.detach() * is_top, axis=1)
        return is_top * opsdk.unsqueeze(3 * top * top * dy, -1)

    assert "gradient of its gradient, gradient of 'x': wrong" in str(opsdk.verify(cubed))


def squared():
    """The square, whose backward reads twice the input and not the input, to which its own derivative goes."""
    schema = "t::squared(Tensor x) -> Tensor y, residuals (Tensor twice)"
    squared = opsdk.op(schema, replace=True)(lambda x: (x * x, 2 * x))
    squared.infer(lambda x: (x, x))
    gradient = squared.backward(lambda twice, dy: twice * dy)
    second = gradient.backward(lambda twice, dy, ddx: {"x": 2 * dy * ddx, "dy": twice * ddx})
    return squared, gradient, second


def _halve(x):
    x *= 0.5


X1 = np.array([1.0, 2.0, -3.0])
LOSSES = {
    "of a leaf": (lambda f, x: f(x).sum(), 2 * X1, 8 * X1),
    "of what was computed": (lambda f, x: f(x * 3.0).sum(), 18 * X1, 648 * X1),
    "of itself": (lambda f, x: f(f(x)).sum(), 4 * X1**3, 96 * X1**5),
    "beside the input itself": (lambda f, x: (f(x) * x).sum(), 3 * X1**2, 36 * X1**3),
}


@pytest.mark.parametrize("loss, first, second", LOSSES.values(), ids=LOSSES)
def test_a_second_derivative_goes_through_a_residual_to_inputs_that_nobody_reads(loss, first, second):
    op, *_ = squared()
    x = opsdk.to_tensor(X1, stop_gradient=False)
    (dx,) = opsdk.grad(loss(op, x), x, create_graph=True)
    tape = [dx.numpy(), opsdk.grad((dx * dx).sum(), x)[0].numpy()]
    for found in (tape, *[in_program(lambda x: loss(op, x), X1, shape, orders=2) for shape in ((3,), (None,))]):
        np.testing.assert_array_equal(found[0], first)
        np.testing.assert_array_equal(found[1], second)


def test_so_it_does_where_no_tensor_that_the_first_backward_reads_is_in_the_graph():
    op, *_ = squared()
    x = opsdk.to_tensor(X1, stop_gradient=False)
    (dx,) = opsdk.grad(op(x), x, create_graph=True)  # whose cotangent is a constant
    np.testing.assert_array_equal(opsdk.grad(dx, x)[0].numpy(), [2.0, 2.0, 2.0])


def test_who_asks_for_first_derivatives_alone_keeps_what_the_first_backward_reads():
    op, *_ = squared()
    y = op(opsdk.to_tensor(X1, stop_gradient=False) * 3.0)
    (kept,) = [value for value in y._edge[0].saved if isinstance(value, np.ndarray)]
    np.testing.assert_array_equal(kept, 6 * X1)
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [3], "float64")
        x.stop_gradient = False
        static.gradients(op(x * 3.0), [x])
    (gradient,) = [operator for operator in program.global_block().ops if operator.type == "squared_grad"]
    assert gradient.inputs == {"twice": [], "dy": gradient.inputs["dy"]}


def test_the_input_is_what_it_was_where_it_is_changed_later():
    op, *_ = squared()
    halved_ = opsdk.op("t::halved_(Tensor(a!) x) -> Tensor(a!) y", replace=True)(_halve)
    halved_.backward(composite=True)(lambda dy: dy * 0.5)

    def loss(x):
        m = x * 3.0
        y = op(m)
        n = halved_(m)
        return y.sum() + (n * n * n).sum()

    first = 18 * X1 + 3 * 1.5**3 * X1**2
    want = [first, 2 * first * (18 + 6 * 1.5**3 * X1)]
    x = opsdk.to_tensor(X1, stop_gradient=False)
    (dx,) = opsdk.grad(loss(x), x, create_graph=True)
    np.testing.assert_allclose(dx.numpy(), want[0])
    np.testing.assert_allclose(opsdk.grad((dx * dx).sum(), x)[0].numpy(), want[1])
    for got, one in zip(in_program(loss, X1, (3,), orders=2), want, strict=True):
        np.testing.assert_allclose(got, one)


def test_so_it_goes_to_every_order_that_has_a_backward():
    op, _, second = squared()

    @second.backward
    def third(twice, dy, ddx, dddy, dx_grad):
        return {"x": 2 * dddy * ddx, "dy": 2 * dx_grad * ddx, "ddx": dddy * twice + 2 * dx_grad * dy}

    x = opsdk.to_tensor(X1, stop_gradient=False)
    made = op(x * 3.0).sum()  # 18x, 2·18²x, 2·648²x
    for _ in range(2):
        (found,) = opsdk.grad(made, x, create_graph=True)
        made = opsdk.sum(found * found)
    np.testing.assert_array_equal(opsdk.grad(made, x)[0].numpy(), 2 * 648**2 * X1)
    for shape in ((3,), (None,)):
        found = in_program(lambda x: op(x * 3.0).sum(), X1, shape, orders=3)
        np.testing.assert_array_equal(found[2], 2 * 648**2 * X1)


@pytest.mark.parametrize("language", ["numba", "c"])
def test_compiled_kernels_of_the_first_backward_see_nothing_of_it(language):
    op, gradient, _ = squared()
    if language == "numba":
        pytest.importorskip("numba")

        @gradient.kernel("cpu", language="numba", dtype="float64")
        def squared_numba(twice, dy, dx):
            for i in range(twice.size):
                dx.flat[i] = twice.flat[i] * dy.flat[i]
    else:
        source = """int32_t squared_grad_f64(const DLTensor *twice, const DLTensor *dy, DLTensor *dx) {
          for (int64_t i = 0; i < opsdk_size(twice); ++i)
            OPSDK_DATA(double, dx)[i] = OPSDK_DATA(const double, twice)[i] * OPSDK_DATA(const double, dy)[i];
          return 0;
        }"""
        gradient.kernel("cpu", language="c", dtype="float64", source=source)
    x = opsdk.to_tensor(X1, stop_gradient=False)
    (dx,) = opsdk.grad(op(x * 3.0).sum(), x, create_graph=True)
    np.testing.assert_array_equal(dx.numpy(), 18 * X1)
    np.testing.assert_array_equal(opsdk.grad((dx * dx).sum(), x)[0].numpy(), 648 * X1)
    np.testing.assert_array_equal(in_program(lambda x: op(x * 3.0).sum(), X1, (3,), orders=2)[1], 648 * X1)


@pytest.mark.parametrize("kept", ["Tensor<int> arg, Tensor top", "Tensor top, object arg"])
@pytest.mark.parametrize("composite", [False, True])
def test_a_residual_that_moves_is_refused_though_nothing_else_that_is_read_does(kept, composite):
    moving = "'top'" if "<int>" in kept else "'top', 'arg'"
    names = [name.split()[-1] for name in kept.split(", ")]

    @opsdk.op(f"t::both(Tensor x) -> Tensor y, residuals ({kept})", infer=opsdk.infer.reduce)
    def both(x):
        held = {"top": x.max(), "arg": x.argmax()}
        return x.max() ** 2, *[held[name] for name in names]

    @both.backward(composite=composite)
    def both_grad(x_spec, top, arg, dy):
        return 2 * top * dy * np.eye(6)[int(arg)]

    for run in (lambda loss: on_tape(loss, X[0], orders=2), lambda loss: in_program(loss, X[0], [6], orders=2)):
        with pytest.raises(DerivativeOrderError, match=f"reads the residual {moving}, and .*; make {moving} an output"):
            run(both)  # whose cotangent is a constant


def test_a_derivative_in_a_program_needs_the_spec_of_the_residual(pooled):
    pooled.infer(lambda x: opsdk.TensorSpec((x.shape[0], x.shape[1] // 3), x.dtype), replace=True)
    assert len(on_tape(lambda x: opsdk.sum(opsdk.square(pooled(x))), X, orders=2)) == 2
    with pytest.raises(
        ProgramError, match=r"op 't::pooled', residual 'arg': expected a spec from its infer rule, since a derivative "
        "of pooled_grad reads it as a variable, got None; return its spec too, after those of the outputs"
    ):  # fmt: skip
        in_program(lambda x: opsdk.sum(opsdk.square(pooled(x))), X, X.shape, orders=2)


@pytest.fixture
def picked():
    """x[index], and the same cubed, whose composite backward hands a spec on to the gradient op of the first."""

    @opsdk.op("t::picked(Tensor x, Tensor<int> index) -> Tensor y")
    def picked(x, index):
        return x[index]

    picked.infer(lambda x, index: opsdk.TensorSpec(index.shape, x.dtype))
    gradient = picked.backward(lambda x_spec, index, dy: opsdk.sum_at(dy, index, x_spec.shape[0]))
    gradient.backward(composite=True)(lambda index, ddx: picked(ddx, index))
    return picked


def test_a_composite_hands_the_spec_on_to_another_gradient_op(picked):
    @opsdk.op("t::picked_cube(Tensor x, Tensor<int> index) -> Tensor y")
    def picked_cube(x, index):
        return x[index] ** 3

    picked_cube.infer(lambda x, index: opsdk.TensorSpec(index.shape, x.dtype))

    @picked_cube.backward(composite=True)
    def picked_cube_grad(x, x_spec, index, dy):
        return picked.grad(index, 3 * opsdk.square(picked(x, index)) * dy, x_spec=x_spec)

    def loss(x):
        return opsdk.sum(picked_cube(x, np.array([2, 2, 0])))

    tape = on_tape(loss, np.array([1.0, 5.0, 2.0]))  # x₀³ + 2x₂³: 6x₂² and Σ(6x₂²)² whose derivative is 144x₂³
    for got, want in zip(tape, ([3, 24], [36, 1152], [7776, 1152 * 2 * 1728]), strict=True):
        np.testing.assert_array_equal(got, [want[0], 0, want[1]])
    for shape in ([3], [None]):
        for one, other in zip(in_program(loss, np.array([1.0, 5.0, 2.0]), shape), tape, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_spec_that_a_run_has_no_numbers_for_is_refused_where_it_is_given(picked):
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [None], "float64")
        index = static.data("index", [2], "int64")
        dy = static.data("dy", [2], "float64")
        with pytest.raises(
            ProgramError, match=r"op 't::picked_grad': attribute 'x_spec' expected the spec that a backward is given "
            r"of a variable, or known sizes, since a run has no number for others, got float64\(\?,\); hand on x_spec "
        ):  # fmt: skip
            picked.grad(index, dy, x_spec=opsdk.TensorSpec(x.shape, x.dtype))
        made = picked.grad(index, dy, x_spec=opsdk.TensorSpec([3], x.dtype))
    feed = {"index": np.array([2, 2]), "dy": np.array([1.0, 2.0])}
    (found,) = static.Executor().run(program, feed=feed, fetch_list=[made], scope=static.Scope())
    np.testing.assert_array_equal(found, [0, 0, 3])


def test_specs_of_a_list_keep_their_places(picked):
    @opsdk.op("t::firsts(Tensor?[] xs) -> Tensor y", infer=lambda xs: opsdk.TensorSpec([], xs[0].dtype))
    def firsts(xs):
        return np.array(sum((x**2).sum() for x in xs if x is not None))

    seen = []

    @firsts.backward(composite=True)
    def firsts_grad(xs, xs_spec, dy):
        seen.append([None if spec is None else spec.shape for spec in xs_spec])
        pairs = zip(xs, xs_spec, strict=True)
        return [None if x is None else 2 * x * opsdk.expand(dy, spec.shape) for x, spec in pairs]

    def loss(x):
        return firsts([x, None, x * 2])

    tape = on_tape(loss, X, orders=2)
    np.testing.assert_array_equal(tape[0], 10 * X)
    np.testing.assert_array_equal(tape[1], 200 * X)
    for one, other in zip(in_program(loss, X, [None, 6], orders=2), tape, strict=True):
        np.testing.assert_array_equal(one, other)
    assert seen[-1] == [(-1, 6), None, (-1, 6)]

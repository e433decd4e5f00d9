"""embedding_bag: beside PyTorch's own, and plain loops for what that does not have."""

import numpy as np
import pytest

import opsdk
from contrib_ops import embedding_bag
from contrib_ops.segments.embedding_bag import bag_products, bags_to_table, maxima_of_bags
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch

INPUT, OFFSETS = np.array([1, 6, 1, 0, 4, 4, 2]), np.array([0, 3, 3, 4])
MODES = ["sum", "mean", "max"]


def in_torch(torch, weight, input, offsets, factors, mode, dy):
    table = torch.tensor(weight, requires_grad=True)
    scale = None if factors is None else torch.tensor(factors, requires_grad=True)
    y = torch.nn.functional.embedding_bag(
        torch.tensor(input), table, torch.tensor(offsets), mode=mode, per_sample_weights=scale
    )
    y.backward(torch.tensor(dy))
    return y.detach().numpy(), table.grad.numpy(), None if scale is None else scale.grad.numpy()


def here(weight, input, offsets, factors, mode, dy):
    table = opsdk.to_tensor(weight, stop_gradient=False)
    scale = None if factors is None else opsdk.to_tensor(factors, stop_gradient=False)
    y = embedding_bag(table, input, offsets, scale, mode=mode)
    y.backward(opsdk.to_tensor(dy))
    return y.numpy(), table.grad.numpy(), None if scale is None else scale.grad.numpy()


def agree(made, wanted, dtype):
    for got, want in zip(made, wanted, strict=True):
        assert (got is None) == (want is None)
        if got is not None:
            assert got.dtype == dtype
            close = {"rtol": 1e-12, "atol": 1e-13} if dtype == "float64" else {"rtol": 1e-5, "atol": 1e-6}
            np.testing.assert_allclose(got, want, **close)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 3, 64, 67, 130])
@pytest.mark.parametrize("mode", [*MODES, "weighted"])
def test_values_and_gradients_are_those_of_torch(mode, columns, dtype, index, rng):
    torch = pytest.importorskip("torch")
    factors = rng.normal(size=7).astype(dtype) if mode == "weighted" else None
    case = (
        rng.normal(size=(7, columns)).astype(dtype),
        INPUT.astype(index),
        OFFSETS.astype(index),
        factors,
        "sum" if mode == "weighted" else mode,
        rng.normal(size=(4, columns)).astype(dtype),
    )
    agree(here(*case), in_torch(torch, *case), dtype)


@pytest.mark.parametrize("mode", MODES)
def test_much_work_on_several_threads_gives_what_torch_gives(mode, rng):
    torch = pytest.importorskip("torch")
    weight, dy = rng.normal(size=(50, 40)), rng.normal(size=(300, 40))
    offsets = np.sort(rng.integers(0, 2000, 300))
    offsets[0] = 0
    case = (weight, rng.integers(0, 50, 2000), offsets, None, mode, dy)
    made = here(*case)
    agree(made, in_torch(torch, *case), "float64")
    for first, second in zip(made[:2], here(*case)[:2], strict=True):
        assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("mode", MODES)
def test_the_reference_is_the_same(mode, rng):
    torch = pytest.importorskip("torch")
    weight, dy = rng.normal(size=(7, 3)), rng.normal(size=(4, 3))
    wanted = in_torch(torch, weight, INPUT, OFFSETS, None, mode, dy)
    attrs, reference = {"mode": mode}, embedding_bag.opdef.kernels.reference()
    (y,) = launch(embedding_bag.opdef, reference, [weight, INPUT, OFFSETS, None], attrs)
    np.testing.assert_allclose(y, wanted[0], rtol=1e-13)
    reference = bags_to_table.opdef.kernels.reference()
    (dweight,) = launch(bags_to_table.opdef, reference, [weight, INPUT, OFFSETS, dy, None], attrs)
    np.testing.assert_allclose(dweight, wanted[1], rtol=1e-13)


def test_the_mean_is_what_there_is_without_a_mode():
    assert embedding_bag(np.array([[1.0], [3.0]]), np.array([0, 1]), np.array([0])).tolist() == [[2.0]]


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_bag_is_zero_and_has_no_part_in_the_gradient(mode):
    y, dweight, _ = here(np.full((2, 3), -1.0), np.array([1]), np.array([0, 0, 1]), None, mode, np.ones((3, 3)))
    assert y.tolist() == [[0.0] * 3, [-1.0] * 3, [0.0] * 3]
    assert dweight.tolist() == [[0.0] * 3, [1.0] * 3]


@pytest.mark.parametrize("mode", MODES)
def test_no_indices_and_no_bags_are_fine(mode):
    none = np.zeros(0, int)
    assert embedding_bag(np.ones((2, 3)), none, np.zeros(2, int), mode=mode).tolist() == [[0.0] * 3] * 2
    assert embedding_bag(np.ones((2, 3)), none, none, mode=mode).shape == (0, 3)
    assert embedding_bag(np.ones((0, 3)), none, none, mode=mode).shape == (0, 3)
    assert bags_to_table(np.ones((2, 3)), none, none, np.zeros((0, 3)), mode=mode).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("kernel", list(bags_to_table.opdef.kernels), ids=str)
def test_of_equal_maxima_the_first_gets_the_gradient(kernel):
    dtype = kernel.key.dtype or "float64"
    weight, dy = np.array([[5.0, 1], [5, 2], [5, 2]], dtype), np.ones((1, 2), dtype)
    inputs = [weight, np.array([1, 0, 2]), np.array([0]), dy, None]
    (made,) = launch(bags_to_table.opdef, kernel, inputs, {"mode": "max"})
    assert made.tolist() == [[0, 0], [1, 1], [0, 0]]


@pytest.mark.parametrize("kernel", list(embedding_bag.opdef.kernels), ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_nan_stays_in_the_bags_that_hold_it(kernel, mode):
    weight = np.array([[1.0], [np.nan], [2.0]], kernel.key.dtype or "float64")
    for input in ([0, 1, 2, 2], [1, 0, 2, 2]):
        (made,) = launch(embedding_bag.opdef, kernel, [weight, np.array(input), np.array([0, 3]), None], {"mode": mode})
        assert np.isnan(made[0, 0])
        assert made[1, 0] == 2.0


@pytest.mark.parametrize("kernel", list(bags_to_table.opdef.kernels), ids=str)
def test_the_gradient_of_a_maximum_that_is_nan_goes_to_the_first_nan(kernel):
    dtype = kernel.key.dtype or "float64"
    weight = np.array([[1.0], [np.nan], [np.nan]], dtype)
    inputs = [weight, np.array([0, 2, 1]), np.array([0]), np.ones((1, 1), dtype), None]
    (made,) = launch(bags_to_table.opdef, kernel, inputs, {"mode": "max"})
    assert made.tolist() == [[0], [0], [1]]


@pytest.mark.parametrize("mode", [*MODES, "weighted"])
def test_a_second_derivative_is_that_of_the_formula_in_torch(mode, rng):
    torch = pytest.importorskip("torch")
    weight, factors, dy = rng.normal(size=(7, 3)), rng.normal(size=7), rng.normal(size=(4, 3))
    given = [torch.tensor(array, requires_grad=True) for array in (weight, factors, dy)]
    rows = []
    for start, stop in zip(OFFSETS, [*OFFSETS[1:], 7], strict=True):
        taken = given[0][INPUT[start:stop]]
        if start == stop:
            rows.append(torch.zeros(3, dtype=torch.float64))
        elif mode == "weighted":
            rows.append(given[1][start:stop] @ taken)
        else:
            rows.append(taken.amax(0) if mode == "max" else getattr(taken, mode)(0))
    asked = given[:2] if mode == "weighted" else given[:1]
    first = torch.autograd.grad((torch.stack(rows) * given[2]).sum(), asked, create_graph=True)
    wanted = torch.autograd.grad(sum((g**3).sum() for g in first), given, allow_unused=True)

    tensors = [opsdk.to_tensor(array, stop_gradient=False) for array in (weight, factors, dy)]
    given = tensors[1] if mode == "weighted" else None
    y = embedding_bag(tensors[0], INPUT, OFFSETS, given, mode="sum" if mode == "weighted" else mode)
    asked = tensors[:2] if mode == "weighted" else tensors[:1]
    made = opsdk.grad(y, asked, tensors[2], create_graph=True)
    total = sum((g * g * g).sum() for g in made)
    found = opsdk.grad(total, tensors, allow_unused=True)
    for got, want, like in zip(found, wanted, tensors, strict=True):
        made, right = (np.zeros(like.numpy().shape) if g is None else g.detach().numpy() for g in (got, want))
        np.testing.assert_allclose(made, right, rtol=1e-11, atol=1e-13)


WEIGHT = np.ones((7, 3))
ROWS = [kernel for kernel in embedding_bag.opdef.kernels if "32" not in str(kernel.key)]


@pytest.mark.parametrize("kernel", ROWS, ids=str)
@pytest.mark.parametrize(
    ("input", "offsets", "factors", "mode", "text"),
    [
        ([0, 7], [0], None, "sum", "input expected in [0, 7), got 0 to 7; drop what is outside"),
        ([-1, 0], [0], None, "max", "input expected in [0, 7), got -1 to 0; drop what is outside"),
        ([0, 1], [1], None, "mean", "offsets expected to start at 0, got 1; each is where its bag starts"),
        ([0, 1], [0, 3], None, "mean", "offsets expected at most 2, as many as there are indices, got 3"),
        ([0, 1], [0, 2, 1], None, "mean", "offsets expected never to fall, got [2, 1] at 1; order the bags"),
        ([0, 1], [], None, "mean", "offsets expected a start for each bag of 2 indices, got none; one bag is [0]"),
        ([0, 1], [0], [1.0], "sum", "per_sample_weights expected the shape of input, (2,), got (1,)"),
        ([0, 1], [0], [1.0, 2.0], "max", "per_sample_weights expected with mode 'sum' only, got mode 'max'; divide"),
    ],
)
def test_no_row_runs_on_what_are_no_bags(kernel, input, offsets, factors, mode, text):
    factors = None if factors is None else np.array(factors)
    launch(embedding_bag.opdef, kernel, [WEIGHT, INPUT, OFFSETS, None], {"mode": "sum"})
    with pytest.raises(InputValueError) as caught:
        inputs = [WEIGHT, np.array(input), np.array(offsets, int), factors]
        launch(embedding_bag.opdef, kernel, inputs, {"mode": mode})
    assert str(caught.value).startswith(f"op 'contrib::embedding_bag': {text}")


@pytest.mark.parametrize("kernel", ROWS, ids=str)
def test_no_row_runs_in_a_mode_that_it_does_not_have(kernel):
    with pytest.raises(AttributeValueError, match=r"'sum' \| 'mean' \| 'max', got 'median'; write mode='mean'"):
        launch(embedding_bag.opdef, kernel, [WEIGHT, INPUT, OFFSETS, None], {"mode": "median"})


@pytest.mark.parametrize(
    ("weight", "input", "offsets", "factors", "error", "text"),
    [
        (
            WEIGHT[0],
            INPUT,
            OFFSETS,
            None,
            ShapeError,
            r"expected weight \(V, D\), input \(N,\) and offsets \(B,\), got \(3,\)",
        ),
        (WEIGHT, INPUT[None], OFFSETS, None, ShapeError, "bags of one size are input.ravel"),
        (
            WEIGHT.astype(int),
            INPUT,
            OFFSETS,
            None,
            DTypeError,
            "weight and per_sample_weights expected one dtype, float16, float32 or float64, got int64",
        ),
        (
            WEIGHT,
            INPUT,
            OFFSETS,
            np.ones(7, "f"),
            DTypeError,
            "expected one dtype, float16, float32 or float64, got float64 and float32; cast",
        ),
        (
            WEIGHT,
            INPUT,
            OFFSETS.astype("i4"),
            None,
            DTypeError,
            "input and offsets expected both int64 or both int32, got",
        ),
        (WEIGHT, INPUT / 1, OFFSETS / 1, None, DTypeError, "input expected integers, got float64; cast it to int64"),
    ],
)
def test_shapes_and_dtypes_that_do_not_fit_are_refused(weight, input, offsets, factors, error, text):
    for _ in range(2):
        with pytest.raises(error, match=text):
            embedding_bag(weight, input, offsets, factors, mode="sum")
        embedding_bag(WEIGHT, INPUT, OFFSETS, mode="sum")


def test_the_gradient_ops_refuse_what_does_not_fit():
    dy = np.ones((4, 3))
    with pytest.raises(
        InputValueError, match=r"op 'contrib::bags_to_table': dy expected shape \(4, 3\), a row per bag, got"
    ):
        bags_to_table(WEIGHT, INPUT, OFFSETS, dy[:3], mode="sum")
    with pytest.raises(InputValueError, match=r"op 'contrib::bags_to_table': input expected in \[0, 6\), got 0 to 6"):
        bags_to_table(WEIGHT[:6], INPUT, OFFSETS, dy, mode="sum")
    with pytest.raises(
        InputValueError, match=r"op 'contrib::bag_products': dy expected shape \(4, 3\), a row per bag, got"
    ):
        bag_products(WEIGHT, INPUT, OFFSETS, dy[:, :2])
    with pytest.raises(InputValueError, match=r"rows expected the shape of weight, \(7, 3\), got \(7, 2\)"):
        maxima_of_bags(WEIGHT[:, :2], WEIGHT, INPUT, OFFSETS)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_and_gradients_of_float16_are_added_in_float32(mode):
    count = 5000
    weight, input, offsets = np.ones((2, 3), np.float16), np.zeros(count, np.int64), np.arange(0, count, 1000)
    made = embedding_bag(weight, np.zeros(count, np.int64), np.array([0]), mode=mode)
    np.testing.assert_array_equal(made, np.full((1, 3), count if mode == "sum" else 1))
    table = opsdk.to_tensor(weight, stop_gradient=False)
    embedding_bag(table, input, offsets, mode=mode).sum().backward()
    np.testing.assert_array_equal(table.grad.numpy()[0], np.full(3, np.float16(count if mode == "sum" else 5)))


@pytest.mark.parametrize("columns", [1, 3, 16, 67])
@pytest.mark.parametrize("mode", ["sum", "mean", "max", "weighted"])
def test_a_long_bag_and_a_row_that_occurs_often_do_not_stop_to_add_up(mode, columns):
    count, tenth = 300_000, float(np.float32(0.1))
    weight, input = np.full((2, columns), 0.1, np.float32), np.zeros(count, np.int64)
    factors = np.full(count, 0.5, np.float32) if mode == "weighted" else None
    mode, share = ("sum", 0.5) if mode == "weighted" else (mode, 1.0)
    made = embedding_bag(weight, input, np.array([0]), factors, mode=mode)
    total = count * share * tenth if mode == "sum" else tenth
    np.testing.assert_allclose(made, np.full((1, columns), total), rtol=1e-6)
    dy = np.full((count // 100, columns), 0.1, np.float32)
    hits = {"sum": count, "mean": count / 100, "max": count / 100}[mode]
    dweight = bags_to_table(weight, input, np.arange(0, count, 100), dy, factors, mode=mode)
    np.testing.assert_allclose(dweight, [[hits * share * tenth] * columns, [0.0] * columns], rtol=1e-6)


def test_products_of_wide_rows_do_not_stop_to_add_up():
    ones = np.full((1, 4_000_003), 0.1, np.float32)
    made = bag_products(ones, np.zeros(1, np.int64), np.zeros(1, np.int64), ones)
    np.testing.assert_allclose(made, [4_000_003 * float(np.float32(0.1)) ** 2], rtol=1e-6)

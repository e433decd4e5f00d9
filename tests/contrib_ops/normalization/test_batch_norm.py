"""batch_norm: values, running statistics and gradients beside torch; the same training in both runtimes."""

import numpy as np
import pytest

import opsdk
from contrib_ops import batch_norm
from opsdk import static
from opsdk.core.errors import DTypeError

NEAR = {"float32": {"rtol": 3e-5, "atol": 3e-6}, "float64": {"rtol": 1e-11, "atol": 1e-12}}
SHAPES = [(4, 3), (2, 3, 5), (2, 70, 2, 2)]


def made(rng, shape, dtype):
    channels = shape[1]
    arrays = [rng.normal(size=shape), *rng.normal(size=(2, channels)), rng.normal(size=channels)]
    return [array.astype(dtype) for array in (*arrays, rng.uniform(0.5, 2.0, channels))]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", NEAR)
def test_values_statistics_and_gradients_are_those_of_torch(shape, dtype, training, rng):
    torch = pytest.importorskip("torch")
    arrays, dy = made(rng, shape, dtype), rng.normal(size=shape).astype(dtype)
    theirs = [torch.tensor(array, requires_grad=i < 3) for i, array in enumerate(arrays)]
    wanted = torch.nn.functional.batch_norm(theirs[0], theirs[3], theirs[4], theirs[1], theirs[2], training, 0.3, 1e-3)
    wanted.backward(torch.tensor(dy))
    ours = [opsdk.to_tensor(array, stop_gradient=i > 2) for i, array in enumerate(arrays)]
    y, _, _ = batch_norm(*ours, training=training, momentum=0.3, eps=1e-3)
    y.backward(opsdk.to_tensor(dy))
    np.testing.assert_allclose(y.numpy(), wanted.detach().numpy(), **NEAR[dtype])
    for one, other in zip(ours[:3], theirs[:3], strict=True):
        np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), **NEAR[dtype])
    for one, other in zip(ours[3:], theirs[3:], strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), **NEAR[dtype])


@pytest.mark.parametrize("training", [True, False])
def test_the_second_derivative_is_that_of_torch(training, rng):
    torch = pytest.importorskip("torch")
    arrays = made(rng, (3, 2, 2), "float64")
    ours = [opsdk.to_tensor(array, stop_gradient=i > 2) for i, array in enumerate(arrays)]
    first = opsdk.grad((batch_norm(*ours, training=training)[0] ** 3.0).sum(), ours[:3], create_graph=True)
    second = opsdk.grad(sum((g * g).sum() for g in first), ours[:3])
    theirs = [torch.tensor(array, requires_grad=i < 3) for i, array in enumerate(arrays)]
    y = torch.nn.functional.batch_norm(theirs[0], theirs[3], theirs[4], theirs[1], theirs[2], training)
    wanted = torch.autograd.grad((y**3).sum(), theirs[:3], create_graph=True)
    for one, other in zip(second, torch.autograd.grad(sum((g * g).sum() for g in wanted), theirs[:3]), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-9)


def test_values_by_hand():
    x = np.array([[1.0, -2.0], [3.0, -2.0], [5.0, 4.0]])
    mean, var = np.zeros(2), np.ones(2)
    y, used, rstd = batch_norm(x, np.array([2.0, 1.0]), np.array([0.5, 0.0]), mean, var, momentum=0.5, eps=1.0)
    np.testing.assert_allclose(used, [3.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(rstd, [1 / np.sqrt(8 / 3 + 1), 1 / 3.0])
    np.testing.assert_allclose(y[:, 0], 0.5 + 2 * np.array([-2.0, 0.0, 2.0]) / np.sqrt(11 / 3))
    np.testing.assert_allclose(y[:, 1], [-2 / 3, -2 / 3, 4 / 3])
    assert mean.tolist() == [1.5, 0.0]
    np.testing.assert_allclose(var, [0.5 + 0.5 * 4, 0.5 + 0.5 * 12])  # of one element less


def trained_on_tape(batches, steps=3):
    weight, bias = opsdk.to_tensor(np.ones(3), stop_gradient=False), opsdk.to_tensor(np.zeros(3), stop_gradient=False)
    mean, var = opsdk.to_tensor(np.zeros(3)), opsdk.to_tensor(np.ones(3))
    losses = []
    for step in range(steps):
        y, _, _ = batch_norm(opsdk.to_tensor(batches[step]), weight, bias, mean, var)
        loss = (y * y * y).mean()
        loss.backward()
        losses.append(loss.numpy())
        for parameter in (weight, bias):
            parameter.set_value(parameter.detach() - parameter.grad * 0.5)
            parameter.clear_grad()
    y, _, _ = batch_norm(opsdk.to_tensor(batches[-1]), weight, bias, mean, var, training=False)
    return [*losses, mean.numpy(), var.numpy(), y.numpy()]


def trained_in_program(batches, steps=3):
    main, startup = static.Program(), static.Program()
    constant = opsdk.nn.initializer.Constant
    with static.program_guard(main, startup):
        x = static.data("x", [None, 3], "float64")
        weight = static.create_parameter([3], "float64", default_initializer=constant(1.0))
        bias = static.create_parameter([3], "float64", default_initializer=constant(0.0))
        mean = static.create_global_var([3], 0.0, "float64", persistable=True)
        var = static.create_global_var([3], 1.0, "float64", persistable=True)
        y, _, _ = batch_norm(x, weight, bias, mean, var)
        loss = (y * y * y).mean()
        test = main.clone(for_test=True)
        opsdk.optimizer.SGD(0.5).minimize(loss)
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    losses = [exe.run(main, feed={"x": b}, fetch_list=[loss], scope=scope)[0] for b in batches[:steps]]
    after = [exe.run(test, feed={"x": batches[-1]}, fetch_list=[mean, var, y], scope=scope) for _ in range(2)]
    assert [a.tobytes() for a in after[0]] == [b.tobytes() for b in after[1]]  # a test moves no statistics
    return [*losses, *after[1]]


def test_training_and_testing_give_the_same_bits_on_tensors_and_in_a_program(rng):
    batches = rng.normal(size=(4, 8, 3)) * 2 + 1
    tape, program = trained_on_tape(batches), trained_in_program(batches)
    assert [array.tobytes() for array in tape] == [array.tobytes() for array in program]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"weight": np.ones(2)}, r"weight expected one element for each channel of x \(2, 3\), got \(2,\)"),
        ({"running_var": np.ones(4)}, r"running_var expected one element for each channel of x \(2, 3\), got \(4,\)"),
        ({"running_mean": np.zeros(3, "f")}, "running_mean expected float64 like x, got float32"),
        ({"running_mean": None}, "running_var expected beside running_mean, got one of them"),
        ({"running_mean": None, "running_var": None, "training": False}, "running_mean expected where training=False"),
        ({"x": np.ones((1, 3))}, r"x expected several values per channel where training=True, got shape \(1, 3\)"),
        ({"x": np.ones(3)}, r"x expected shape \(batch, channels, …\), got \(3,\)"),
    ],
)
def test_what_does_not_belong_together_is_refused_and_changes_nothing(change, text):
    given = {"x": np.ones((2, 3)), "weight": np.ones(3), "bias": np.zeros(3)}
    given |= {"running_mean": np.full(3, 7.0), "running_var": np.full(3, 9.0)} | change
    with pytest.raises((ValueError, TypeError), match=text):
        batch_norm(**given)
    for name, value in (("running_mean", 7.0), ("running_var", 9.0)):
        assert name in change or (given[name] == value).all()


@pytest.mark.parametrize(("dtype", "unit"), [("float16", 2**-10), ("bfloat16", 2**-7)])
def test_sums_of_16_bits_are_those_of_float64_rounded_once(dtype, unit, rng):
    def outcome(arrays, dy):
        tensors = [opsdk.to_tensor(array, stop_gradient=i > 2) for i, array in enumerate(arrays)]
        y, mean, rstd = batch_norm(*tensors)
        y.backward(opsdk.to_tensor(dy))
        found = (y, mean, rstd, *(tensor.grad for tensor in tensors[:3]), *tensors[3:])
        return [tensor.numpy().astype("float64") for tensor in found]

    kind = opsdk.to_tensor([0.0]).astype(dtype).numpy().dtype
    x, dy = rng.normal(3.0, 1.0, (20_000, 3)).astype(kind), rng.uniform(0, 1, (20_000, 3)).astype(kind)
    arrays = [x, *(array.astype(kind) for array in (np.ones(3), np.zeros(3), np.zeros(3), np.ones(3)))]
    wanted = outcome([array.astype("float64") for array in arrays], dy.astype("float64"))
    for one, other in zip(outcome(arrays, dy), wanted, strict=True):
        assert np.abs(one - other).max() < 3 * unit * np.abs(other).max()


def test_second_derivatives_of_more_elements_than_float16_has_numbers_for_are_those_of_float64(rng):
    def outcome(x, dy, ddx):
        ones = np.ones(1, x.dtype)
        tensors = [opsdk.to_tensor(array, stop_gradient=False) for array in (x, ones, ones, dy)]
        (dx,) = opsdk.grad(batch_norm(*tensors[:3])[0], tensors[:1], grad_outputs=tensors[3], create_graph=True)
        found = opsdk.grad(dx, [tensors[0], tensors[3]], grad_outputs=opsdk.to_tensor(ddx))
        return [tensor.numpy().astype("float64") for tensor in found]

    drawn = rng.normal(3.0, 1.0, (70_000, 1)), *rng.uniform(size=(2, 70_000, 1))
    arrays = [array.astype("float16") for array in drawn]
    for one, other in zip(outcome(*arrays), outcome(*(array.astype("float64") for array in arrays)), strict=True):
        assert np.abs(one - other).max() < 3 * 2**-10 * np.abs(other).max()


@pytest.mark.parametrize("dtype", ["int64", "complex64"])
def test_other_numbers_than_floats_are_refused(dtype):
    arrays = [array.astype(dtype) for array in (np.ones((4, 3)), np.ones(3), np.ones(3))]
    with pytest.raises(DTypeError, match=f"op 'contrib::batch_norm': x expected floats, got {dtype}; cast it"):
        batch_norm(*arrays)


def test_where_the_statistics_are_kept_a_gradient_says_nothing_of_x(rng):
    """As PyTorch: dx = dy · weight · rstd there, also where x is nan."""
    x, weight, bias, mean, var = made(rng, (2, 3, 4), "float64")
    x[1, 0, 0] = np.nan
    given = opsdk.to_tensor(x, stop_gradient=False)
    batch_norm(given, *map(opsdk.to_tensor, (weight, bias, mean, var)), training=False, eps=1e-3)[0].sum().backward()
    wanted = np.broadcast_to((weight / np.sqrt(var + 1e-3))[:, None], x.shape)
    np.testing.assert_allclose(given.grad.numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("position", "shape", "message"),
    [
        (4, (2, 2, 4), r"dy expected the shape of x, \(batch, channels, …\), got \(2, 2, 4\) and \(2, 3, 4\)"),
        (1, (2,), r"weight expected one element for each channel of x \(2, 3, 4\), got \(2,\)"),
        (6, (4,), r"drstd expected one element for each channel of x \(2, 3, 4\), got \(4,\)"),
    ],
)
def test_a_gradient_called_by_hand_refuses_what_its_kernel_would_read_beyond(position, shape, message):
    given = [np.ones((2, 3, 4)), np.ones(3), np.ones(3), np.ones(3), np.ones((2, 3, 4)), np.ones(3), np.ones(3)]
    given[position] = np.ones(shape)
    with pytest.raises(ValueError, match=message):
        batch_norm.grad(*given, training=True)

"""Complex gradients: ∂L/∂Re + i ∂L/∂Im of every op that admits them, in both runtimes, of first and second order."""

from types import SimpleNamespace

import numpy as np
import pytest

import opsdk
import opsdk.static
from opsdk.core.errors import DTypeError, GradientMissingError
from opsdk.ops import matmul as products
from opsdk.ops import normalization
from opsdk.ops import reduction as sums

NUMPY = SimpleNamespace(
    abs=np.abs, add=np.add, angle=np.angle, cumsum=np.cumsum, split=np.split, pad=np.pad, expand=np.broadcast_to,
    concat=np.concatenate, conj=np.conj, cos=np.cos, divide=np.divide, exp=np.exp,
    expm1=np.expm1, imag=np.imag, log=np.log, log1p=np.log1p, matmul=np.matmul, mean=np.mean, multiply=np.multiply,
    pow=np.power, real=np.real, reshape=np.reshape, sin=np.sin, sqrt=np.sqrt, square=np.square, stack=np.stack,
    subtract=np.subtract, sum=np.sum, tan=np.tan, tanh=np.tanh, transpose=np.transpose, where=np.where,
    sigmoid=lambda z: 1 / (1 + np.exp(-z)), rsqrt=lambda z: z**-0.5, reciprocal=lambda z: 1 / z,
    squeeze=np.squeeze, unsqueeze=np.expand_dims, gather=np.take,
    cast=lambda x, dtype: x.astype(dtype), mul=lambda x, y: x.reshape(len(x), -1) @ y.reshape(-1, 2),
    layer_norm=lambda x, w: (x - x.mean(-1, keepdims=True)) / np.sqrt(((x - x.mean(-1, keepdims=True)) ** 2).mean(
        -1, keepdims=True) + 1e-5) * w,
    sum_to=lambda x, like: x.sum(0), expand_as=lambda x, like: x + 0 * like, total=lambda *x: sum(x),
)  # fmt: skip
OPSDK = SimpleNamespace(
    **{name: getattr(opsdk, name) for name in vars(NUMPY) if hasattr(opsdk, name) and name != "mul"},
    mul=products.mul, total=lambda *x: sums.sum(list(x)),
    layer_norm=lambda x, w: normalization.layer_norm(x, w, 0 * w),
)  # fmt: skip
OPSDK.sum_to = sums.sum_to_like
RNG = np.random.default_rng(21)
COMPLEX, REAL = "complex", "real"


def drawn(shape, kind):
    x = RNG.uniform(0.4, 1.6, shape)
    return x + 1j * RNG.uniform(0.3, 1.0, shape) * RNG.choice((-1, 1), shape) if kind == COMPLEX else x


UNARY = [
    *("cos", "exp", "expm1", "log", "log1p", "real", "imag", "conj", "reciprocal", "rsqrt", "sigmoid", "sin", "sqrt"),
    *("square", "tan", "tanh", "abs"),
]
BINARY = ["add", "subtract", "multiply", "divide", "pow"]
Z, X = ((3,), COMPLEX), ((3,), REAL)
MATRIX, REAL_MATRIX = ((2, 3), COMPLEX), ((2, 3), REAL)
CASES = {
    **{name: (lambda m, z, name=name: getattr(m, name)(z), [Z]) for name in UNARY},
    **{name: (lambda m, z, w, name=name: getattr(m, name)(z, w), [Z, Z]) for name in BINARY},
    **{f"{name}, real first": (CASE, [X, Z]) for name in BINARY for CASE in [
        lambda m, x, w, name=name: getattr(m, name)(x, w)]},
    **{f"{name}, broadcast": (CASE, [MATRIX, ((3,), REAL)]) for name in BINARY for CASE in [
        lambda m, x, w, name=name: getattr(m, name)(x, w)]},
    "abs of the square": (lambda m, z: m.abs(z * z), [Z]),
    "scale": (lambda m, z: -(2.0 * z - 1.0) / 3.0, [Z]),
    "matmul": (lambda m, a, b: m.matmul(a, b), [MATRIX, ((3, 2), COMPLEX)]),
    "matmul, real first": (lambda m, a, b: m.matmul(a, b), [REAL_MATRIX, ((3, 2), COMPLEX)]),
    "matmul, vector": (lambda m, a, b: m.matmul(a, b), [MATRIX, Z]),
    "matmul, batch": (lambda m, a, b: m.matmul(a, b), [((2, 2, 3), COMPLEX), ((3, 2), COMPLEX)]),
    "mul": (lambda m, a, b: m.mul(a, b), [((2, 3), COMPLEX), ((3, 2), COMPLEX)]),
    "mul, real last": (lambda m, a, b: m.mul(a, b), [((2, 3), COMPLEX), ((3, 2), REAL)]),
    "sum": (lambda m, z: m.sum(z, 0) * m.sum(z), [MATRIX]),
    "mean": (lambda m, z: m.mean(z, 1) * m.mean(z), [MATRIX]),
    "reshape": (lambda m, z: m.reshape(z, [3, 2]) * 1j, [MATRIX]),
    "transpose": (lambda m, z: m.transpose(z, [1, 0]) * 1j, [MATRIX]),
    "squeeze": (lambda m, z: m.squeeze(m.unsqueeze(z, 0), 0) * 1j, [MATRIX]),
    "index": (lambda m, z: z[1, ::-1] * z[0], [MATRIX]),
    "gather": (lambda m, z: m.gather(z, np.array([0, 2, 2]), 1) * 1j, [MATRIX]),
    "concat": (lambda m, z, x: m.concat([z, x], 0) * 1j, [Z, X]),
    "stack": (lambda m, z, x: m.stack([z, x], 0) * 1j, [Z, X]),
    "where": (lambda m, z, x: m.where(np.array([True, False, True]), z * z, x * z), [Z, X]),
    "cast": (lambda m, x, z: m.cast(x, "complex128") * z, [X, Z]),
    "sum_to": (lambda m, z, w: m.sum_to(z * z, w), [MATRIX, Z]),
    "expand_as": (lambda m, z, w: m.expand_as(z * z, w), [Z, MATRIX]),
    "angle": (lambda m, z: m.angle(z) * z, [Z]),
    "cumsum": (lambda m, z: m.cumsum(z, 0) * 1j, [MATRIX]),
    "split": (lambda m, z: m.split(z, 2, 0)[1] * m.split(z, 2, 0)[0], [MATRIX]),
    "pad": (lambda m, z: m.pad(z, ((1, 0), (0, 2))) * 1j, [MATRIX]),
    "expand": (lambda m, z: m.expand(z, (2, 3)) * 1j, [Z]),
    "sum of several": (lambda m, z, w: m.total(z, w, z * w), [Z, Z]),
    "layer_norm": (lambda m, z, w: m.layer_norm(z, w), [MATRIX, Z]),
}  # fmt: skip
VALUES = {name: [drawn(*spec) for spec in specs] for name, (_, specs) in CASES.items()}


def weights(like):
    """Fixed complex numbers of a shape; with them every part of an output counts by itself."""
    rng = np.random.default_rng(like.size)
    return rng.normal(size=like.shape) + 1j * rng.normal(size=like.shape)


def loss(m, case, values, size):
    """A real function of what the case gives, not holomorphic, in which both parts have an effect of their own."""
    made = CASES[case][0](m, *values)
    return m.sum(m.real(made * size + made * m.conj(made) * made))


def directions(case):
    for i, value in enumerate(VALUES[case]):
        for index in np.ndindex(value.shape):
            for unit in (1, 1j) if value.dtype.kind == "c" else (1,):
                step = np.zeros_like(value)
                step[index] = unit
                yield i, index, unit, step


def numeric(function, case, h=1e-5):
    """∂/∂Re + i ∂/∂Im of a real function, by central differences."""
    gradients = [np.zeros_like(value) for value in VALUES[case]]
    for i, index, unit, step in directions(case):
        ahead, behind = ([v + s * h * step if j == i else v for j, v in enumerate(VALUES[case])] for s in (1, -1))
        gradients[i][index] += unit * (function(ahead) - function(behind)) / (2 * h)
    return gradients


def along(case):
    rng = np.random.default_rng(6)
    parts = [rng.normal(size=(2, *v.shape)) for v in VALUES[case]]
    return [p[0] + 1j * p[1] if v.dtype.kind == "c" else p[0] for p, v in zip(parts, VALUES[case], strict=True)]


def size_of(case):
    return weights(np.asarray(CASES[case][0](NUMPY, *VALUES[case])))


def expected(case):
    """First order, and the gradient of the derivative along a fixed direction, from NumPy's values alone."""
    size, way, t = size_of(case), along(case), 2e-4

    def plain(values):
        return float(loss(NUMPY, case, values, size))

    def slope(values):
        ahead, behind = ([v + s * t * u for v, u in zip(values, way, strict=True)] for s in (1, -1))
        return (plain(ahead) - plain(behind)) / (2 * t)

    return numeric(plain, case), numeric(slope, case, t)


def derived(m, case, values, grad):
    """The same by gradients of gradients."""
    first = grad(loss(m, case, values, size_of(case)), values)
    slopes = [m.sum(m.real(g * u.conj())) for g, u in zip(first, along(case), strict=True)]
    slope = slopes[0]
    for other in slopes[1:]:
        slope = slope + other
    return first, grad(slope, values)


def on_tape(case):
    tensors = [opsdk.to_tensor(v, stop_gradient=False) for v in VALUES[case]]

    def grad(of, values):
        found = opsdk.grad(of, values, create_graph=True, allow_unused=True)
        pairs = zip(found, values, strict=True)
        return [g if g is not None else opsdk.to_tensor(np.zeros(v.shape, v.dtype)) for g, v in pairs]

    first, second = derived(OPSDK, case, tensors, grad)
    return [g.numpy() for g in first], [g.numpy() for g in second]


def in_program(case):
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        values = [opsdk.static.data(f"v{i}", list(v.shape), v.dtype.name) for i, v in enumerate(VALUES[case])]
        for value in values:
            value.stop_gradient = False

        def grad(of, values):
            found = opsdk.static.gradients(of, values)
            return [g if g is not None else 0 * v for g, v in zip(found, values, strict=True)]

        first, second = derived(OPSDK, case, values, grad)
    feed = {f"v{i}": v for i, v in enumerate(VALUES[case])}
    made = opsdk.static.Executor().run(main, feed=feed, fetch_list=[*first, *second])
    return made[: len(first)], made[len(first) :]


@pytest.mark.parametrize("run", [on_tape, in_program])
@pytest.mark.parametrize("case", CASES)
def test_gradients_of_both_orders_are_those_of_real_and_imaginary_part(case, run):
    for got, want, atol in zip(run(case), expected(case), (3e-8, 3e-5), strict=True):
        for one, other, value in zip(got, want, VALUES[case], strict=True):
            assert one.dtype == value.dtype
            scale = max(1.0, np.abs(other).max())
            np.testing.assert_allclose(one, other, rtol=0, atol=atol * scale)


@pytest.mark.parametrize("case", CASES)
def test_torch_has_the_same_gradients(case):
    torch = pytest.importorskip("torch")
    there = SimpleNamespace(**{name: getattr(torch, name) for name in vars(NUMPY) if hasattr(torch, name)})
    there.cast = lambda x, dtype: x.to(torch.complex128)
    there.sum_to, there.expand_as = lambda x, like: x.sum(0), lambda x, like: x + 0 * like
    there.total = lambda *x: sum(x)
    there.gather = lambda x, index, axis: torch.index_select(x, axis, torch.as_tensor(index))
    there.where = lambda c, a, b: torch.where(torch.as_tensor(c), a, b)
    there.transpose = lambda x, perm: x.permute(perm)
    there.mul = there.matmul = lambda x, y: torch.matmul(x.to(torch.complex128), y.to(torch.complex128))
    there.imag = lambda x: torch.imag(x) if x.is_complex() else 0 * x
    there.concat = lambda parts, axis: torch.cat([p.to(torch.complex128) for p in parts], axis)
    there.stack = lambda parts, axis: torch.stack([p.to(torch.complex128) for p in parts], axis)
    there.cumsum = lambda x, axis: torch.cumsum(x, axis)
    there.split = lambda x, num, axis: torch.chunk(x, num, axis)
    there.pad = lambda x, pairs: torch.nn.functional.pad(x, [width for pair in pairs[::-1] for width in pair])
    there.expand = lambda x, sizes: x.expand(sizes)
    if case in ("index", "layer_norm"):
        pytest.skip("torch has no negative steps, and no layer_norm of complex numbers")
    tensors = [torch.tensor(v, requires_grad=True) for v in VALUES[case]]
    size = torch.tensor(size_of(case))
    first = torch.autograd.grad(loss(there, case, tensors, size), tensors, create_graph=True, allow_unused=True)
    ways = zip(first, along(case), strict=True)
    slope = sum((g * torch.tensor(u).conj()).real.sum() for g, u in ways if g is not None)
    second = torch.autograd.grad(slope, tensors, allow_unused=True)
    for got, torchs in zip(on_tape(case), (first, second), strict=True):
        for one, other in zip(got, torchs, strict=True):
            want = np.zeros_like(one) if other is None else other.detach().resolve_conj().numpy()
            np.testing.assert_allclose(one, want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("run", ["tape", "program"])
@pytest.mark.parametrize("name", ["relu", "maximum", "max", "softmax", "clip"])
def test_what_is_not_holomorphic_is_refused(name, run):
    z = np.array([1 + 1j, 2 - 1j])
    calls = {
        "maximum": lambda v: opsdk.maximum(v, v * 1j),
        "clip": lambda v: opsdk.clip(v, 0.0, 1.0),
    }
    function = calls.get(name, getattr(opsdk, name))
    # clip has no value of complex numbers either, and is refused where it is called
    kind, text = (GradientMissingError, "expected real")
    if name == "clip":
        kind, text = DTypeError, "expected numbers with an order"
    with pytest.raises(kind, match=text):
        if run == "tape":
            opsdk.abs(function(opsdk.to_tensor(z, stop_gradient=False))).sum().backward()
        else:
            main = opsdk.static.Program()
            with opsdk.static.program_guard(main, opsdk.static.Program()):
                v = opsdk.static.data("z", [2], "complex128")
                v.stop_gradient = False
                opsdk.static.gradients(opsdk.abs(function(v)).sum(), [v])
                opsdk.static.Executor().run(main, feed={"z": z}, fetch_list=[])
                gradient = opsdk.static.gradients(opsdk.abs(function(v)).sum(), [v])
            opsdk.static.Executor().run(main, feed={"z": z}, fetch_list=gradient)


def test_at_zero_the_gradient_of_the_magnitude_is_zero():
    z = opsdk.to_tensor(np.array([0j, 3 + 4j]), stop_gradient=False)
    (first,) = opsdk.grad(opsdk.abs(z).sum(), z, create_graph=True)
    np.testing.assert_allclose(first.numpy(), [0, 0.6 + 0.8j], rtol=1e-15)
    (second,) = opsdk.grad(opsdk.real(first).sum(), z)
    # d Re(z / |z|): (b² - i a b) / |z|³
    np.testing.assert_allclose(second.numpy(), [0, (16 - 12j) / 125], rtol=1e-14)

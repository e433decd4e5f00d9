"""What `verify` finds of residuals: each fault is planted in an op that solves a linear system."""

import re

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.verify.gradients import gradient_call, launch_reference
from opsdk.verify.inputs.calls import Call

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class Factor:
    """A factorisation that can be made anew."""

    def __init__(self, a):
        self.a = a.copy()

    def solve(self, b):
        return np.linalg.solve(self.a, b)

    def solve_transposed(self, b):
        return np.linalg.solve(self.a.T, b)


class Holds(Factor):
    def __init__(self, a):
        self.a = a


ONE = Factor(np.eye(1))


def reused(a):
    ONE.a = a.copy()
    return ONE


SEEN = {}


def stale(a):
    return SEEN.setdefault(a.shape, Factor(a))


def solve_op(kept, *, spoils=False, transposes=True):
    @opsdk.op("t::solve(Tensor a, Tensor b) -> Tensor x, residuals (object lu)", infer=opsdk.infer.like("b"))
    def solve(a, b):
        return Factor(a).solve(b), kept(a)

    @solve.backward
    def solve_grad(a, b, x, lu, dx):
        db = lu.solve_transposed(dx) if transposes else lu.solve(dx)
        if spoils:
            lu.a *= 2
        return -np.outer(db, x), db

    @solve.samples
    def solve_samples(rng):
        yield opsdk.Sample(rng.normal(size=(3, 3)) + 2 * np.eye(3), rng.normal(size=3), reason="a system")

    return solve


# What the check of gradients finds, with residuals as without, is left to the sweeps.
@pytest.mark.parametrize(
    ("kept", "options", "check", "words"),
    [
        (reused, {}, "residual.lu", "after another call, got another; a call changes what the one before kept"),
        (Holds, {}, "alias", "expected arrays of its own, got one that shares memory with input 'a'"),
        (Factor, {"spoils": True}, "residual.lu", "from a second backward, got another; the backward changes what"),
        pytest.param(stale, {}, "vjp.b", "gradient of 'b': wrong", marks=pytest.mark.slow),
        pytest.param(Factor, {"transposes": False}, "vjp.b", "gradient of 'b': wrong", marks=pytest.mark.slow),
        (lambda a: None, {}, "infer", "residual 'lu': expected an object"),
    ],
)
def test_a_wrong_residual_is_found(kept, options, check, words):
    SEEN.clear()
    found = {f.check: f.message for f in opsdk.verify(solve_op(kept, **options)).findings}
    assert check in found, found
    assert words in found[check]


def test_a_right_one_passes_and_is_said_to_be_of_one_order():
    report = opsdk.verify(solve_op(Factor))
    assert report.verdict == "pass", report
    assert "residual" in report.coverage.checks
    assert "t::solve: order 1 only, its backward reads the residual lu" in report.coverage.notes


# The right one is proven with sparse_solve; a wrong one is told from it.
@pytest.mark.parametrize(("factor", "verdict"), [pytest.param(1.0, "pass", marks=pytest.mark.slow), (2.0, "fail")])
def test_a_total_derivative_is_judged_with_the_residual_made_anew(factor, verdict):
    solve = solve_op(Factor)

    @solve.grad.backward
    def solve_grad_grad(a, b, x, lu, dx, dda, ddb):
        w = lu.solve_transposed(dx)  # da = -w xᵀ, db = w
        u = lu.solve(ddb - dda @ x)
        return -factor * np.outer(w, u), np.zeros_like(b), -dda.T @ w, u

    report = opsdk.verify(solve)
    assert report.verdict == verdict, report
    assert {f.check for f in report.findings} == (set() if verdict == "pass" else {"vjp2.a"})


def rows_op(offset):
    """The log of the sum of exponentials of rows, with a kernel that fills what it keeps."""

    @opsdk.op("t::lse(Tensor x) -> Tensor y, residuals (Tensor top)")
    def lse(x):
        top = x.max(axis=-1)
        return np.log(np.exp(x - top[..., None]).sum(axis=-1)) + top, top

    lse.infer(lambda x: (opsdk.TensorSpec(x.shape[:-1], x.dtype),) * 2)

    @lse.backward
    def lse_grad(x, top, dy):
        e = np.exp(x - top[:, None])
        return e / e.sum(axis=-1, keepdims=True) * dy[:, None]

    fills = "" if offset is None else f"OPSDK_DATA(double, top)[i] = most + {offset};"
    source = (
        "#include <math.h>\nint32_t lse_f64(const DLTensor *x, DLTensor *y, DLTensor *top) {\n"
        "const double *p = OPSDK_DATA(const double, x);\n"
        "for (int64_t i = 0, n = x->shape[1]; i < x->shape[0]; ++i) {\n"
        "double most = p[i * n], sum = 0; (void)top;\n"
        "for (int64_t j = 1; j < n; ++j) most = fmax(most, p[i * n + j]);\n"
        "for (int64_t j = 0; j < n; ++j) sum += exp(p[i * n + j] - most);\n"
        f"OPSDK_DATA(double, y)[i] = log(sum) + most; {fills} }}\nreturn 0; }}"
    )
    lse.kernel("cpu", language="c", source=source, dtype="float64")
    lse.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 4)), reason="rows")])
    return lse


# One that fills nothing is found by the same comparison as one that fills what is wrong.
@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (0.5, "residual 'top': wrong in 3 of 3 elements"),
        pytest.param(None, "residual 'top': wrong in 3 of 3 elements, first top", marks=pytest.mark.slow),
    ],
)
def test_a_residual_array_of_a_compiled_kernel_is_compared(offset, words):
    found = {(f.check, f.row): f.message for f in opsdk.verify(rows_op(offset)).findings}
    assert words in found["value.top", "cpu,float64,c"]


def test_a_second_kernel_that_keeps_another_object_is_found():
    solve = solve_op(Factor)

    @solve.kernel("cpu", language="numpy", dtype="float64")
    def solve_float64(a, b):
        return np.linalg.solve(a, b), Factor(a * 2)

    found = {(f.check, f.row): f.message for f in opsdk.verify(solve).findings}
    message = found["residual.lu", "cpu,float64,numpy"]
    assert "expected one that gives the gradient which the reference's gives, got another" in message


def test_runtimes_are_compared_with_what_the_kernel_that_they_take_keeps():
    @opsdk.op("t::squared(Tensor x) -> Tensor y, residuals (Tensor slope)", infer=lambda x: (x, x))
    def squared(x):
        return x * x, 2 * x

    @squared.backward
    def squared_grad(slope, dy):
        return slope * dy

    @squared.kernel("cpu", language="numpy", dtype="float64")
    def squared_float64(x):
        return x * x, np.nextafter(2 * x, np.inf)

    assert opsdk.verify(squared).findings == ()


def test_no_backward_goes_by_positions_that_a_kernel_got_wrong():
    specs = lambda x: (opsdk.TensorSpec(x.shape[:1], x.dtype), opsdk.TensorSpec(x.shape[:1], "int64"))  # noqa: E731

    @opsdk.op("t::most(Tensor x) -> Tensor y, residuals (Tensor at)", infer=specs)
    def most(x):
        at = x.argmax(1)
        return x[np.arange(len(x)), at], at

    @most.backward
    def most_grad(x, at, dy):
        assert at.max() < x.shape[1], "compiled it would write there"
        dx = np.zeros_like(x)
        dx[np.arange(len(x)), at] = dy
        return dx

    most.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 4)), reason="rows")])

    @most.kernel("cpu", language="numpy", dtype="float64")
    def most_float64(x):
        return x.max(1), x.argmax(1) + (1 << 40)

    report = opsdk.verify(most)
    assert [(one.check, one.row) for one in report.findings] == [("value.at", "cpu,float64,numpy")]
    told = "t::most: no gradient is judged after kernel numpy (cpu, float64), whose residual 'at' is wrong"
    assert told in report.coverage.skipped


GREATEST = "t::greatest(Tensor x) -> Tensor y, residuals (Tensor<int> at)"


def greatest_rows(offset=0, *, domain=True):
    """Returns an op that keeps where each row is greatest, off by an offset that its reference backward takes off."""

    def forward(x):
        at = x.argmax(axis=1)
        return x.max(axis=1), at + offset

    def backward(x_spec, at, dy):
        dx = np.zeros(x_spec.shape, x_spec.dtype)
        dx[np.arange(len(at)), at - offset] = dy
        return dx

    def backward_numba(x_spec, at, dy, dx):
        dx[:] = 0
        for i in range(dy.size):
            dx[i, at[i] - offset] = dy[i]

    declared = {"at": opsdk.domain.positions(of="x", axis=1) & opsdk.domain.shape("N")} if domain else {}
    op = opsdk.op(GREATEST, replace=True, domain=declared)(forward)
    op.infer(lambda x: (opsdk.TensorSpec(x.shape[:1], x.dtype), opsdk.TensorSpec(x.shape[:1], "int64")))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(4, 3)))])
    grad = op.backward(backward)
    grad.kernel("cpu", backward_numba, language="numba")
    return op


def test_a_residual_outside_of_what_the_domain_says_is_found_and_no_compiled_backward_goes_by_it():
    (finding,) = opsdk.verify(greatest_rows(offset=3)).findings
    assert (finding.check, finding.op) == ("infer.domain", "t::greatest")
    assert re.match(
        r"op 't::greatest': expected residual 'at' to be positions along axis 1 of 'x' and of shape \(N,\) as domain= "
        r"says, got \d at \[\d\], where \d would be right; correct what the forward keeps, or the domain",
        finding.message,
    )


def test_it_warns_where_a_gradient_op_takes_positions_that_its_reference_refuses():
    op = greatest_rows()
    report = opsdk.verify(op, level="quick")
    assert report.verdict == "pass"
    assert report.coverage.warnings == (
        "t::greatest_grad: a position in 'at' outside of 'x' is refused by the reference, and by nothing before its "
        "numba kernel runs, which may read beyond its arrays; refuse it in @greatest_grad.check",
    )
    op.grad.check(lambda at, x_spec: None if (at < x_spec.shape[1]).all() else f"at expected below 3, got {at.max()}")
    assert opsdk.verify(op, level="quick").coverage.warnings == ()
    spec, at = opsdk.TensorSpec((2, 3), "float64"), np.array([0, 7])
    with pytest.raises(InputValueError, match="op 't::greatest_grad': at expected below 3, got 7"):
        op.grad(at, np.ones(2), x_spec=spec)
    assert opsdk.verify(greatest_rows(domain=False), level="quick").coverage.warnings == ()


def test_a_gradient_op_is_held_to_the_shape_of_a_residual():
    grad, spec = greatest_rows().grad, opsdk.TensorSpec((2, 3), "float64")
    with pytest.raises(ShapeError, match=r"op 't::greatest_grad': input 'at' expected shape \(N,\), got \(2, 1\)"):
        grad(np.zeros((2, 1), int), np.ones(2), x_spec=spec)


def test_a_residual_that_a_kernel_was_given_is_the_same_in_more_digits_and_made_anew_in_fewer():
    third = opsdk.op("t::third(Tensor x) -> Tensor y, residuals (Tensor r)", infer=lambda x: (x, x))(
        lambda x: (x * x, x / 3)
    )
    third.backward(lambda r, dy: r * dy)
    x, dy = np.array([1.0, 2.0]), np.ones(2)
    short = Call([x.astype("float32")], {})
    made = gradient_call(third.opdef, short, launch_reference(third.opdef, short), [dy.astype("float32")])
    np.testing.assert_array_equal(made.cast(np.dtype("float64")).inputs[0], (x.astype("float32") / 3).astype("float64"))
    long = gradient_call(third.opdef, Call([x], {}), launch_reference(third.opdef, Call([x], {})), [dy])
    np.testing.assert_array_equal(long.cast(np.dtype("float32")).inputs[0], x.astype("float32") / 3, strict=True)


def test_an_array_that_every_call_keeps_is_told_of_the_reference_alone():
    """Kernels that are compared with it, and the backward that reads it, are wrong because of it."""
    shared = {}

    @opsdk.op("t::scaled(Tensor x) -> Tensor y, residuals (Tensor size)", infer=lambda x: (x, x))
    def scaled(x):
        size = shared.setdefault((x.shape, x.dtype), np.empty_like(x))
        size[...] = np.tanh(x)
        return size * 3, size

    @scaled.backward
    def scaled_grad(size, dy):
        return 3 * dy * (1 - size**2)

    def scaled_numba(x, y, size):
        for i in np.ndindex(x.shape):
            size[i] = np.tanh(x[i])
            y[i] = size[i] * 3

    def scaled_grad_numba(size, dy, dx):
        for i in np.ndindex(size.shape):
            dx[i] = 3 * dy[i] * (1 - size[i] ** 2)

    scaled.kernel("cpu", scaled_numba, language="numba", dtype="float64")
    scaled.grad.kernel("cpu", scaled_grad_numba, language="numba", dtype="float64")
    (finding,) = opsdk.verify(scaled).findings
    assert finding.id == "t::scaled[cpu,float64,numpy]::residual.size"
    assert finding.message == (
        "op 't::scaled', residual 'size': expected it to stay as it is, another call changed it; a call changes what "
        "the one before kept, make a new one in each"
    )

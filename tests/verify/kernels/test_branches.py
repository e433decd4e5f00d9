"""A kernel that changes its inputs only for some values is found by verify, whatever the values."""

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs.patterns import NUMBERS, ORDERS
from opsdk.verify.kernels.branches import check_branches

# By name: when a kernel changes the elements of its input, given as one line that is not empty.
WHEN = {
    "the first is above 1": lambda v: v[0] > 1,
    "the first is far below 0": lambda v: v[0] < -10,
    "some are above 100": lambda v: v.max() > 100,
    "some are above a million": lambda v: v.max() > 1e6,
    "all are small": lambda v: 0 < np.abs(v).max() < 1e-6,
    "all lie within ±1": lambda v: v.size > 1 and np.abs(v).max() <= 1,
    "some are nan": lambda v: np.isnan(v).any(),
    "the first is nan": lambda v: np.isnan(v[0]),
    "some are inf": lambda v: np.isposinf(v).any(),
    "some are -inf": lambda v: np.isneginf(v).any(),
    "some are subnormal": lambda v: ((v != 0) & (np.abs(v) < np.finfo(v.dtype).tiny)).any(),
    "some are -0": lambda v: ((v == 0) & np.signbit(v)).any(),
    "the first two are equal": lambda v: v.size > 1 and v[0] == v[1],
    "the first and the last are equal": lambda v: v.size > 1 and v[0] == v[-1],
    "all are equal": lambda v: v.size > 1 and v.min() == v.max(),
    "all are zero": lambda v: not v.any(),
    "all are positive": lambda v: v.size > 1 and (v > 0).all(),
    "all are negative": lambda v: v.size > 1 and (v < 0).all(),
    "all are whole": lambda v: v.size > 1 and (v == np.floor(v)).all() and v.any(),
    "they ascend": lambda v: v.size > 1 and (np.diff(v) > 0).all(),
    "they descend": lambda v: v.size > 1 and (np.diff(v) < 0).all(),
    "there is one": lambda v: v.size == 1,
    "their number is odd": lambda v: v.size % 2 == 1,
}


def mutations(report):
    return {finding.check for finding in report.findings}


@pytest.mark.parametrize("name", WHEN)
def test_a_python_kernel_that_changes_its_input_only_there_is_found(define, name):
    def forward(x):
        made = x * 2
        if x.size and WHEN[name](x.ravel()):
            x[...] = 9
        return made

    report = opsdk.verify(define(forward))
    assert mutations(report) == {"mutation.x"}


@pytest.mark.parametrize("name", ["above 1", "equal", "nan", "huge"])
def test_a_numba_kernel_that_changes_its_input_only_there_is_found(define, name):
    pytest.importorskip("numba")

    def above(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] * 2
        if x.size and x.flat[0] > 1:
            x.flat[0] = 1

    def equal(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] * 2
        if x.size > 1 and x.flat[0] == x.flat[1]:
            x.flat[0] = 1

    def nan(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] * 2
        for i in range(x.size):
            if np.isnan(x.flat[i]):
                x.flat[i] = 0

    def huge(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] * 2
        for i in range(x.size):
            if x.flat[i] > 1e20:
                x.flat[i] = 1e20

    op = define(lambda x: x * 2)
    op.kernel("cpu", {"above 1": above, "equal": equal, "nan": nan, "huge": huge}[name], language="numba")
    report = opsdk.verify(op)
    assert {(finding.check, finding.row.rpartition(",")[2]) for finding in report.findings} == {("mutation.x", "numba")}


@pytest.mark.parametrize("condition", ["in[0] > 1e6", "in[0] != in[0]", "n > 1 && in[0] == in[1]"])
def test_a_c_kernel_that_changes_its_input_only_there_is_found(define, condition):
    pytest.importorskip("cffi")
    source = f"""
    int32_t f_f64(const DLTensor *x, DLTensor *y) {{
      double *in = (double *)OPSDK_DATA(const double, x), *out = OPSDK_DATA(double, y);
      const int64_t n = opsdk_size(x);
      for (int64_t i = 0; i < n; ++i) out[i] = 2 * in[i];
      if (n && ({condition})) in[0] = 1;
      return 0;
    }}
    """
    op = define(lambda x: x * 2)
    op.kernel("cpu", language="c", source=source, dtype="float64")
    assert mutations(opsdk.verify(op)) == {"mutation.x"}


def test_the_other_input_may_stay_as_it_was(define):
    def forward(x, w):
        made = x * w
        if x.size and x.min() > 0 > w.min():
            w[...] = 0
        return made

    assert mutations(opsdk.verify(define(forward))) == {"mutation.w"}


def test_a_backward_that_changes_a_saved_value_only_there_is_found(define):
    def backward(x, dy):
        made = dy * 2
        if x.size and x.max() > 1e9:
            x[...] = 0
        return made

    report = opsdk.verify(define(lambda x: x * 2, backward))
    found = {(finding.op.rpartition("::")[2], finding.check) for finding in report.findings}
    assert found == {("f_grad", "mutation.x")}


def test_a_result_that_is_the_input_only_there_is_found(define):
    def forward(x):
        return x if x.size and x.max() > 1e9 else x * 1

    assert mutations(opsdk.verify(define(forward))) == {"alias"}


def test_what_is_declared_as_changed_is_changed(define):
    def forward(x):
        if x.size and x.max() > 1e9:
            x[...] = 0
        return x

    op = opsdk.op("planted::clears(Tensor(a!) x) -> Tensor(a!) y")(forward)
    assert not {check for check in mutations(opsdk.verify(op)) if check.startswith("mutation")}


def test_values_outside_of_the_domain_are_not_tried(define):
    seen = []

    def forward(x):
        seen.append((float(x.min(initial=0.5)), float(x.max(initial=0.5))))
        return x * 2

    opsdk.verify(define(forward, domain={"x": (0.25, 0.75)}))
    assert all(0.25 <= low <= high <= 0.75 for low, high in seen)


def test_what_the_reference_refuses_no_other_kernel_is_given(define):
    pytest.importorskip("numba")

    def forward(x):
        if np.isnan(x).any() or np.isinf(x).any() or x.min(initial=0) < 0 or x.max(initial=0) >= 4:
            raise ValueError("no positions")
        return np.arange(4.0).astype(x.dtype)[x.astype(int)]

    def kernel(x, y):
        table = np.arange(4.0)
        for i in range(x.size):
            y[i] = table[int(x[i])]  # of a nan: anywhere

    op = define(forward)
    op.kernel("cpu", kernel, language="numba")
    op.samples(lambda rng: [opsdk.Sample(rng.uniform(0, 3.9, 5))])
    assert opsdk.verify(op).findings == ()


def test_expressions_and_builtin_ops_are_not_tried(monkeypatch):
    from opsdk.verify.kernels import branches

    monkeypatch.setattr(branches, "_varied", lambda calls: pytest.fail("tried"))
    from opsdk.verify.session import Session

    for op in (opsdk.relu, opsdk.elementwise("planted::e(Tensor x) -> Tensor y")(lambda x: x * 2)):
        check_branches(Session(op.opdef, [], 0, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", [*ORDERS, *NUMBERS])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_pattern_keeps_size_and_kind(name, dtype, size, rng):
    line = rng.normal(size=size).astype(dtype)
    before = line.copy()
    with np.errstate(all="ignore"):
        made = (ORDERS.get(name) or NUMBERS[name])(line)
    assert (made.shape, made.dtype.kind) == ((size,), "f")
    assert line.tobytes() == before.tobytes()


def test_values_are_varied_at_the_first_two_samples_and_at_the_largest(define):
    def forward(x):
        made = x * 2
        if x.size == 70 and (x == x[0]).all():
            x[...] = 9
        return made

    op = define(forward)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=n), reason="") for n in (5, 6, 7, 70, 8)])
    assert mutations(opsdk.verify(op)) == {"mutation.x"}

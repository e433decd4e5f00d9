"""C kernels one of whose inputs may have several dtypes beside the first, which selects the function."""

import re

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DefinitionError, KernelNotFoundError
from opsdk.ship.describe.op_facts import facts_of
from tests.backends.c_rows import nothing

pytest.importorskip("cffi")

LOOKS = """
#define EACH(T, s)                                                                                     \\
  static void each_##s(int64_t n, double by, const T *in, T *out) {                                    \\
    for (int64_t i = 0; i < n; ++i) out[i] = (T)(by * in[i]);                                          \\
  }
EACH(float, f32)
EACH(double, f64)

static void scale(const DLTensor *pos, const DLTensor *from, DLTensor *to) {
  double s = 0;
  for (int64_t i = 0; i < opsdk_size(pos); ++i) s += OPSDK_DATA(const float, pos)[i];
  const int64_t n = opsdk_size(from);
  if (OPSDK_IS(from, kDLFloat, 64)) each_f64(n, s, OPSDK_DATA(const double, from), OPSDK_DATA(double, to));
  else each_f32(n, s, OPSDK_DATA(const float, from), OPSDK_DATA(float, to));
}
"""
FORWARD = f"{LOOKS}void mixed_f32(const DLTensor *pos, const DLTensor *table, DLTensor *y) {{ scale(pos, table, y); }}"
BACKWARD = f"""{LOOKS}
void mixed_grad_f32(const DLTensor *pos, const DLTensor *table, const DLTensor *dy, DLTensor *dpos, DLTensor *dtable) {{
  double s = 0;
  for (int64_t i = 0; i < opsdk_size(dy); ++i)
    s += OPSDK_IS(table, kDLFloat, 64) ? OPSDK_DATA(const double, table)[i] * OPSDK_DATA(const double, dy)[i]
                                       : OPSDK_DATA(const float, table)[i] * OPSDK_DATA(const float, dy)[i];
  for (int64_t i = 0; i < opsdk_size(pos); ++i) OPSDK_DATA(float, dpos)[i] = (float)s;
  scale(pos, dy, dtable);
}}"""
FLOATS = ("float32", "float64")
POS = np.ones(2, "float32")


def mixed(source=FORWARD, grad=BACKWARD, dtypes=FLOATS):
    def forward(pos, table):
        return (pos.sum(dtype="float64") * table).astype(table.dtype)

    def backward(pos, table, dy):
        dpos = np.full(pos.shape, (table.astype("float64") * dy).sum()).astype(pos.dtype)
        return dpos, (pos.sum(dtype="float64") * dy).astype(table.dtype)

    op = opsdk.op("t::mixed(Tensor pos, Tensor table) -> Tensor y", infer=opsdk.infer.like("table"))(forward)
    op.backward(backward)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=2), rng.normal(size=3), reason="both")])
    op.kernel("cpu", language="c", dtype="float32", source=source, dtypes={"table": dtypes})
    op.grad.kernel("cpu", language="c", dtype="float32", source=grad, dtypes={"table": dtypes, "dy": "table"})
    return op


@pytest.mark.parametrize("dtype", FLOATS)
def test_each_declared_dtype_is_handed_over_forward_and_backward(dtype):
    pos, table = (opsdk.to_tensor(a, stop_gradient=False) for a in (POS, np.array([1, 2, 3], dtype)))
    y = mixed()(pos, table)
    y.backward(opsdk.to_tensor(np.array([1, 10, 100], dtype)))
    assert (y.dtype, y.tolist()) == (dtype, [2, 4, 6])
    assert (table.grad.dtype, table.grad.tolist()) == (dtype, [2, 20, 200])
    assert (pos.grad.dtype, pos.grad.tolist()) == ("float32", [321, 321])


def test_one_call_after_another_may_have_another_of_them():
    op = mixed()
    for dtype in (*FLOATS, *FLOATS):
        assert op(POS, np.array([1.5, -2], dtype)).tolist() == [3, -4]


def test_another_dtype_is_refused_by_name():
    with pytest.raises(KernelNotFoundError) as caught:
        mixed()(POS, np.ones(3, "float16"))
    assert (
        str(caught.value) == "op 't::mixed', c kernel: input 'table' expected float32 or float64, got float16; cast it"
    )


def test_several_dtypes_that_the_source_does_not_tell_apart_are_refused():
    source = nothing("mixed", "const DLTensor *pos, const DLTensor *table, DLTensor *y")
    with pytest.raises(KernelNotFoundError) as caught:
        mixed(source)(POS, np.ones(3))
    assert str(caught.value) == (
        "op 't::mixed', c kernel: expected a source that looks at the dtype of input 'table', which dtypes= lets be "
        "float32 or float64, got one that looks at none; ask OPSDK_IS(table, …), or declare one dtype"
    )


def test_an_input_may_be_declared_to_have_the_dtype_of_another():
    op = opsdk.op("t::late(Tensor pos, Tensor table, Tensor w) -> Tensor y", infer=opsdk.infer.like("table"))(
        lambda pos, table, w: table * w
    )
    source = f"""{LOOKS}void late_f32(const DLTensor *pos, const DLTensor *table, const DLTensor *w, DLTensor *y) {{
        scale(pos, w, y); }}"""
    op.kernel("cpu", language="c", source=source, dtypes={"table": FLOATS, "w": "table"})
    for dtype in FLOATS:
        assert op(POS, np.ones(2, dtype), np.array([3, 4], dtype)).tolist() == [6, 8]
    with pytest.raises(KernelNotFoundError) as caught:
        op(POS, np.ones(2), np.ones(2, "float32"))
    assert str(caught.value) == (
        "op 't::late', c kernel: input 'w' expected float64 like 'table', got float32; cast one of them"
    )


@pytest.mark.parametrize(
    ("dtypes", "message"),
    [
        ((), "dtypes['table'] expected a dtype, several, or the name of another input, got ()"),
        (("float32", "float65"), "dtypes['table']: dtype: expected one of bool, "),
        ("table", "dtypes['table'] expected a dtype, several, or the name of another input, got 'table'"),
    ],
)
def test_what_is_no_dtype_is_refused_at_registration(dtypes, message):
    with pytest.raises(DefinitionError, match=re.escape(message)):
        mixed(dtypes=dtypes)


def test_the_dtypes_are_shown():
    facts = facts_of(mixed())
    assert facts.rows[-1].where.endswith(", table float32 or float64")
    assert facts.gradient_rows[-1].where.endswith(", table float32 or float64, dy like table")


@pytest.mark.slow  # three proofs; that of a gradient, below, stands for it
def test_verify_tries_each_declared_dtype():
    assert opsdk.verify(mixed()).findings == ()
    wrong = FORWARD.replace("each_f64(n, s,", "each_f64(n, 1.001 * s,")
    found = opsdk.verify(mixed(wrong)).findings
    assert [(finding.row, finding.check) for finding in found] == [("cpu,float32,c", "value.y")]
    assert "(float32(2,), float64(3,)) both" in found[0].sample


def test_verify_tries_each_declared_dtype_of_a_gradient():
    wrong = BACKWARD.replace("each_f64(n, s,", "each_f64(n, -s,")
    found = opsdk.verify(mixed(grad=wrong)).findings
    assert {finding.op for finding in found} == {"t::mixed_grad"}


def test_an_integer_residual_has_the_dtype_that_the_infer_rule_gives_it():
    op = opsdk.op("t::put(Tensor x) -> Tensor y, residuals (Tensor<int> order)")(
        lambda x: (x[[2, 0, 1]], np.array([2, 0, 1]))
    )
    op.infer(lambda x: (x, opsdk.TensorSpec(x.shape, "int64")))

    @op.backward
    def put_grad(order, dy):
        dx = np.empty_like(dy)
        dx[order] = dy
        return dx

    source = """
    void put_grad_f64(const DLTensor *order, const DLTensor *dy, DLTensor *dx) {
      for (int64_t i = 0; i < opsdk_size(dy); ++i)
        OPSDK_DATA(double, dx)[OPSDK_DATA(const int64_t, order)[i]] = 2 * OPSDK_DATA(const double, dy)[i];
    }"""
    op.grad.kernel("cpu", language="c", dtype="float64", source=source)
    x = opsdk.to_tensor([3.0, 1.0, 2.0], dtype="float64", stop_gradient=False)
    op(x).backward(opsdk.to_tensor([1.0, 10.0, 100.0], dtype="float64"))
    assert x.grad.tolist() == [20, 200, 2]

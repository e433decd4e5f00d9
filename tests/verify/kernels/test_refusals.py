"""Kernels that take what their op refuses, where nothing else refuses it before they run."""

import numpy as np
import pytest

import opsdk
from opsdk import errors
from opsdk.verify.inputs.sampling import calls_of
from opsdk.verify.kernels.refusals import check_refusals
from opsdk.verify.session import Session

pytest.importorskip("cffi")

SCALED = """
int32_t scaled_f64(const DLTensor *x, const DLTensor *power, DLTensor *y, int64_t base) {{
  const int64_t *powers = OPSDK_DATA(const int64_t, power), n = opsdk_size(power);
  {asks}
  for (int64_t i = 0; i < n; ++i) {{
    OPSDK_DATA(double, y)[i] = OPSDK_DATA(const double, x)[i];
    for (int64_t k = 0; k < powers[i]; ++k) OPSDK_DATA(double, y)[i] *= (double)base;
  }}
  return 0;
}}
"""
ASKS = """if (base < 1 || power->shape[0] != x->shape[0]) return 2;
  for (int64_t i = 0; i < n; ++i) if (powers[i] < 0) return 2;
  for (int64_t i = 0; i < n; ++i) if (!(OPSDK_DATA(const double, x)[i] == OPSDK_DATA(const double, x)[i])) return 2;"""


def scaled(asks):
    @opsdk.op("t::scaled(Tensor x, Tensor<int> power, *, int base=2) -> Tensor y", infer=opsdk.infer.like("x"))
    def op(x, power, base):
        return x * float(base) ** power

    @op.check
    def problem(x, power, base):
        if base < 1 or power.shape != x.shape or np.isnan(x).any():
            return "base expected from 1, power and x of one shape, and numbers"
        return "power expected from 0, got one below" if (power < 0).any() else None

    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=4), np.array([0, 1, 3, 2]), reason="plain")])
    op.kernel("cpu", language="c", source=SCALED.format(asks=asks), checks=True, dtypes={"power": "int64"})
    return op


def findings(op):
    session = Session(op.opdef, calls_of(op.opdef, None, 0), 0, 1500)
    check_refusals(session)
    return [(finding.check, finding.message) for finding in session.findings.values()]


def test_a_kernel_that_asks_what_its_check_asks_is_well():
    assert findings(scaled(ASKS)) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("int64_t i = 0; i < n; ++i) if (powers", "int64_t i = 1; i < n; ++i) if (powers", "power[0] = -1"),
        ("i < n; ++i) if (powers", "i < n - 1; ++i) if (powers", "power[3] = -1"),
        ("i < n; ++i) if (!(", "i < n - 1; ++i) if (!(", "x[3] = nan"),
        ("base < 1 ||", "base < 0 ||", "base = 0"),
    ],
)
def test_one_that_asks_for_less_is_told_with_what_it_takes(old, new, told):
    assert old in ASKS
    ((check, message),) = findings(scaled(ASKS.replace(old, new)))
    assert check == "refuses"
    assert message.startswith("op 't::scaled', kernel c (cpu, *): sample (")
    assert told in message
    assert "expected to be refused, as @scaled.check refuses it, " in message
    assert message.endswith("; it gives numbers: ask for that in the kernel too")


def test_one_that_leaves_its_arrays_at_such_a_call_is_told_of_that():
    ((check, message),) = findings(scaled(ASKS.replace(" || power->shape[0] != x->shape[0]", "")))
    assert check == "bounds"
    assert "'x' of (3,) beside 'power' of (4,), it read index 3 of input 'x', which has 3 elements" in message


INVERSE = """
static int32_t where;
const char *opsdk_message(int32_t status) {{
  static char text[32];
  snprintf(text, sizeof text, "x[%d] expected other than 0", status - 1);
  return text;
}}
int32_t inverse_f64(const DLTensor *x, DLTensor *y) {{
  for (int64_t i = 0; i < opsdk_size(x); ++i) {{
    if ({asks}) return (int32_t)({named});
    OPSDK_DATA(double, y)[i] = 1 / OPSDK_DATA(const double, x)[i];
  }}
  return 0;
}}
"""


def inverse(asks="OPSDK_DATA(const double, x)[i] == 0", named="i + 1"):
    @opsdk.op("t::inverse(Tensor x) -> Tensor y", domain={"x": (0.5, 2.0)})
    def op(x):
        if not x.all():
            where = int((x == 0).argmax())
            raise errors.InputValueError(f"op 't::inverse': x[{where}] expected other than 0, got 0")
        return 1 / x

    op.samples(lambda rng: [opsdk.Sample(rng.uniform(0.5, 2.0, 4), reason="plain")])
    op.kernel("cpu", language="c", source="#include <stdio.h>\n" + INVERSE.format(asks=asks, named=named))
    return op


def test_a_kernel_that_refuses_what_the_reference_refuses_passes_and_says_so():
    report = opsdk.verify(inverse())
    assert report.verdict == "pass"
    assert "refuses" in next(row for row in report.rows if row.row == "cpu,float64,c").passed


def test_numbers_that_the_reference_refuses_by_name_are_refused_by_kernels_too():
    ((check, message),) = findings(inverse("0"))
    assert check == "refuses"
    assert "expected to be refused, as the reference refuses it, InputValueError: op 't::inverse': x[0] ex" in message


def test_the_element_that_a_refusal_names_is_the_one_that_the_reference_names():
    ((check, message),) = findings(inverse(named="i + 2"))
    assert check == "refuses"
    assert message.endswith("x[0] expected other than 0, got 0; it names x[1]: count from 0")


def test_an_error_that_is_none_of_opsdk_is_no_refusal():
    @opsdk.op("t::root(Tensor x) -> Tensor y")
    def root(x):
        assert (x > 0).all(), "an accident"
        return np.sqrt(x)

    root.samples(lambda rng: [opsdk.Sample(rng.uniform(0.5, 2.0, 4), reason="plain")])
    root.kernel("cpu", language="c", source="""#include <math.h>
void root_f64(const DLTensor *x, DLTensor *y) {
  for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA(double, y)[i] = sqrt(OPSDK_DATA(const double, x)[i]);
}""")  # fmt: skip
    assert findings(root) == []

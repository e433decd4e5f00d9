"""Kernels of ops that change inputs in place: right ones pass, in every form of the schema, and wrong ones do not."""

import numpy as np
import pytest

import opsdk


def plus(x, w):
    x += 1 if w is None else w


def double(x):
    x *= 2


def both(x, w):
    x += 1
    w *= 2


def product(x, w):
    x += 1
    return x * w


def double_each(xs):
    for x in xs:
        x *= 2


def add_all(x, ws):
    for w in ws:
        x += w


def plus_loop(x, w):
    for i in range(x.size):
        x.flat[i] += w.flat[i]


def double_loop(x):
    for i in range(x.size):
        x.flat[i] *= 2


def both_loop(x, w):
    for i in range(x.size):
        x.flat[i] += 1
        w.flat[i] *= 2


def product_loop(x, w, v):
    for i in range(x.size):
        x.flat[i] += 1
        v.flat[i] = x.flat[i] * w.flat[i]


X, W = "DLTensor *x", "const DLTensor *w"
EACH = "const int64_t n = opsdk_size(x); T *a = OPSDK_DATA(T, x); for (int64_t i = 0; i < n; ++i)"
WS = "const DLTensor *const *ws, int64_t ws_count"
# By what is special: schema, reference, parameters and body of a C function, Numba kernel.
FORMS = {
    "one": ("(Tensor(a!) x) -> Tensor(a!) y", double, X, f"{EACH} a[i] *= 2;", double_loop),
    "no output": ("(Tensor(a!) x) -> ()", double, X, f"{EACH} a[i] *= 2;", double_loop),
    "a second input": (
        "(Tensor(a!) x, Tensor w) -> Tensor(a!) y",
        plus,
        f"{X}, {W}",
        f"const T *b = OPSDK_DATA(const T, w); {EACH} a[i] += b[i];",
        plus_loop,
    ),
    "an optional input": (
        "(Tensor(a!) x, Tensor? w=None) -> Tensor(a!) y",
        plus,
        f"{X}, {W}",
        f"const T *b = w ? OPSDK_DATA(const T, w) : 0; {EACH} a[i] += b ? b[i] : 1;",
        None,
    ),
    "two outputs": (
        "(Tensor(a!) x, Tensor(b!) w) -> (Tensor(a!) y, Tensor(b!) v)",
        both,
        f"{X}, DLTensor *w",
        f"T *b = OPSDK_DATA(T, w); {EACH} {{ a[i] += 1; b[i] *= 2; }}",
        both_loop,
    ),
    "one of two handed on": (
        "(Tensor(a!) x, Tensor(b!) w) -> Tensor(a!) y",
        both,
        f"{X}, DLTensor *w",
        f"T *b = OPSDK_DATA(T, w); {EACH} {{ a[i] += 1; b[i] *= 2; }}",
        both_loop,
    ),
    "a new output beside it": (
        "(Tensor(a!) x, Tensor w) -> (Tensor(a!) y, Tensor v)",
        product,
        f"{X}, {W}, DLTensor *v",
        f"const T *b = OPSDK_DATA(const T, w); T *c = OPSDK_DATA(T, v); {EACH} {{ a[i] += 1; c[i] = a[i] * b[i]; }}",
        product_loop,
    ),
    "a list that is changed": (
        "(Tensor(a!)[] xs) -> Tensor(a!)[] ys",
        double_each,
        "DLTensor *const *xs, int64_t xs_count",
        f"for (int64_t k = 0; k < xs_count; ++k) {{ DLTensor *x = xs[k]; {EACH} a[i] *= 2; }}",
        None,
    ),
    "a list that is read": (
        "(Tensor(a!) x, Tensor[] ws) -> Tensor(a!) y",
        add_all,
        f"{X}, {WS}",
        f"{EACH} for (int64_t k = 0; k < ws_count; ++k) a[i] += OPSDK_DATA(const T, ws[k])[i];",
        None,
    ),
}


def define(schema, reference):
    return opsdk.op(f"t::f{schema}")(reference)


def c_kernel(op, parameters, body):
    pytest.importorskip("cffi")
    text = "\n".join(f"#define T {kind}\nint32_t f_{suffix}({parameters}) {{ {body} return 0; }}\n#undef T"
                     for kind, suffix in (("float", "f32"), ("double", "f64")))  # fmt: skip
    op.kernel("cpu", language="c", source=text)


def passed(report, language):
    return {check for line in report.rows if line.row.endswith(language) for check in line.passed}


@pytest.mark.parametrize(("schema", "reference", "parameters", "body", "loop"), FORMS.values(), ids=FORMS)
def test_a_right_c_row_that_changes_inputs_passes_by_its_values(schema, reference, parameters, body, loop):
    op = define(schema, reference)
    c_kernel(op, parameters, body)
    report = opsdk.verify(op)
    assert (report.verdict, report.findings) == ("pass", ())
    assert {"bounds", "runs", "mutation", "value", "repeats"} <= passed(report, ",c")


@pytest.mark.parametrize(
    ("schema", "reference", "loop"), [(form[0], form[1], form[4]) for form in FORMS.values() if form[4]]
)
def test_a_right_numba_row_that_changes_inputs_passes_by_its_values(schema, reference, loop):
    pytest.importorskip("numba")
    op = define(schema, reference)
    op.kernel("cpu", loop, language="numba")
    report = opsdk.verify(op)
    assert (report.verdict, report.findings) == ("pass", ())
    assert {"bounds", "runs", "mutation", "value", "repeats"} <= passed(report, ",numba")


WRONG = {
    "no output": ("*= 2", "*= 3"),
    "an optional input": ("? b[i]", "? b[0]"),
    "a list that is changed": ("a[i] *= 2", "a[i] *= 2 + k"),
    "a list that is read": ("ws[k])[i]", "ws[k])[0]"),
}


@pytest.mark.parametrize(("form", "right", "wrong"), [(form, *texts) for form, texts in WRONG.items()], ids=WRONG)
def test_a_wrong_c_row_that_changes_inputs_is_found(form, right, wrong):
    schema, reference, parameters, body, _ = FORMS[form]
    assert right in body
    op = define(schema, reference)
    c_kernel(op, parameters, body.replace(right, wrong))
    findings = opsdk.verify(op).findings
    assert {finding.check.partition(".")[0] for finding in findings} == {"value"}
    assert {finding.row.rpartition(",")[2] for finding in findings} == {"c"}


def test_a_changed_input_that_no_output_hands_on_is_called_what_it_is():
    op = define("(Tensor(a!) x, Tensor(b!) w) -> Tensor(a!) y", both)
    c_kernel(op, f"{X}, DLTensor *w", f"T *b = OPSDK_DATA(T, w); {EACH} {{ a[i] += 1; b[i] *= 3; }}")
    finding = opsdk.verify(op).findings[0]
    assert finding.check == "value.w"
    assert finding.message.startswith("op 't::f', changed input 'w': wrong in ")


def test_what_is_changed_beside_a_list_that_may_be_is_found():
    def add_each(xs, w):
        for x in xs:
            x += w

    op = define("(Tensor(a!)[] xs, Tensor w) -> Tensor(a!)[] ys", add_each)
    loop = f"for (int64_t k = 0; k < xs_count; ++k) {{ DLTensor *x = xs[k]; {EACH} a[i] += b[i]; }}"
    body = f"T *b = OPSDK_DATA(T, w); {loop} if (opsdk_size(w)) b[0] = 7;"
    c_kernel(op, f"DLTensor *const *xs, int64_t xs_count, {W}", body)
    assert {finding.check for finding in opsdk.verify(op).findings} == {"mutation.w"}


@pytest.mark.parametrize(
    ("loop", "text"),
    [
        ("for (int64_t i = 0; i <= n; ++i) a[i] *= 2;", "index 15 of input 'x', which has 15 elements"),
        ("for (int64_t i = -1; i < n; ++i) a[i] *= 2;", "index -1 of input 'x', which has 15 elements"),
    ],
)
def test_a_c_row_that_leaves_an_input_that_it_changes_is_found_without_harm(loop, text):
    op = define("(Tensor(a!) x) -> Tensor(a!) y", double)
    c_kernel(op, X, f"const int64_t n = opsdk_size(x); T *a = OPSDK_DATA(T, x); {loop}")
    report = opsdk.verify(op)
    assert {finding.check for finding in report.findings} == {"bounds"}
    assert text in report.findings[0].message


def test_a_c_row_that_leaves_an_array_of_a_list_that_it_changes_is_found():
    op = define("(Tensor(a!)[] xs) -> Tensor(a!)[] ys", double_each)
    body = f"for (int64_t k = 0; k < xs_count; ++k) {{ DLTensor *x = xs[k]; {EACH} a[i] *= 2; a[n] = 7; }}"
    c_kernel(op, "DLTensor *const *xs, int64_t xs_count", body)
    report = opsdk.verify(op)
    assert {finding.check for finding in report.findings} == {"bounds"}
    assert "it wrote index 15 of input 'xs[0]', which has 15 elements" in report.findings[0].message


def test_a_compiled_kernel_that_gives_other_bits_may_read_what_nothing_wrote():
    pytest.importorskip("numba")
    op = define("(Tensor x) -> Tensor y", lambda x: 2 * x)

    @op.kernel("cpu", language="numba", dtype="float64")
    def noisy(x, y):
        for i in range(x.size):
            y[i] = 2 * x[i] + np.random.random()

    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=3), reason="a vector")])
    one, *_ = opsdk.verify(op, level="quick").findings
    assert one.message.endswith(
        "got other ones the second time; look for memory that it reads before it is written, and for threads that "
        "meet (opsdk check --thorough watches it); else seed what is random, or declare deterministic=False"
    )

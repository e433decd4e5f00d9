"""Kernels that read or write beside their arrays, or leave elements out, though the numbers come out right."""

import signal
import subprocess
import sys

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs.calls import Call
from opsdk.verify.kernels import memory
from opsdk.verify.session import Session

pytest.importorskip("cffi")
numba = pytest.importorskip("numba")

DOUBLING = """
#include <math.h>
#include <stdlib.h>
int32_t {name}_f64(const DLTensor *x, DLTensor *y) {{
  const double *in = OPSDK_DATA(const double, x);
  double *out = OPSDK_DATA(double, y);
  const int64_t n = opsdk_size(x);
  {body}
  return 0;
}}
"""
FIRST = 18  # where its text begins in this file
GOOD = "for (int64_t i = 0; i < n; ++i) out[i] = 2 * in[i];"
SKIPPING = "for (int64_t i = 0; i < n; ++i) if (i != 3) out[i] = 2 * in[i];"
SCHEMA = "t::f(Tensor x, Tensor<int> index) -> Tensor y"
DRAW = "(next = next * 6364136223846793005u + 1) >> 60"


def doubling(body="", of_gradient="", **options):
    @opsdk.op("t::f(Tensor x) -> Tensor y", **options)
    def f(x):
        return 2 * x

    @f.backward
    def f_grad(dy):
        return 2 * dy

    for op, name, text in ((f, "f", body), (f_grad, "f_grad", of_gradient)):
        if text:
            op.kernel("cpu", language="c", source=DOUBLING.format(name=name, body=text))
    return f


def tried(op, *inputs):
    return memory.tried(op.opdef, [*op.opdef.kernels][-1], Call(inputs or [np.arange(1.0, 16).reshape(3, 5)], {}))


@pytest.mark.parametrize(
    ("body", "told", "line"),
    [
        (f"volatile double after = in[n]; (void)after;\n{GOOD}", "it read index 15 of input 'x', which has 15 el", 8),
        (
            f"{GOOD}\nvolatile double before = in[-1]; (void)before;",
            "it read index -1 of input 'x', which has 15 el",
            9,
        ),
        ("for (int64_t i = 0; i <= n; ++i)\nout[i] = i < n ? 2 * in[i] : 0;", "it wrote index 15 of output 'y', wh", 9),
        (f"{GOOD}\n\nout[-2] = 0;", "it wrote index -2 of output 'y', which has 15 elements", 10),
    ],
)
def test_a_c_kernel_that_leaves_its_arrays_is_told_with_line_index_and_length(body, told, line):
    found = tried(doubling(body))
    assert found.is_tried
    assert found.outside.message.startswith(told)
    assert found.outside.at == f"tests/verify/kernels/test_memory.py:{FIRST + line - 1}"
    assert str(found.outside.index[0]) in told


def test_such_a_kernel_is_a_finding_of_its_bounds():
    (finding,) = opsdk.verify(doubling(f"{GOOD} volatile double after = in[n]; (void)after;")).findings
    assert finding.id == "t::f[cpu,float64,c]::bounds"
    assert finding.message == (
        "op 't::f', kernel c (cpu, *): expected it to stay inside its arrays at sample (float64(3, 5)) matrix, with an "
        "exact 0, it read index 15 of input 'x', which has 15 elements: end its loops at the sizes of its arrays"
    )
    assert finding.at == f"tests/verify/kernels/test_memory.py:{FIRST + 7}"
    assert (finding.input, finding.index) == ("x", (15,))


def test_a_gradient_kernel_is_tried_before_a_derivative_runs_it():
    op = doubling(of_gradient="for (int64_t i = 0; i < n + 4000; ++i) out[i] = i < n ? 2 * in[i] : 1e300;")
    report = opsdk.verify(op)
    assert [finding.id for finding in report.findings] == ["t::f_grad[cpu,float64,c]::bounds"]
    assert "it wrote index 15 of output 'dx', which has 15 elements" in report.findings[0].message
    assert "t::f: gradient not judged, a kernel of t::f_grad leaves its arrays" in report.coverage.skipped


@pytest.mark.parametrize(
    "hidden", ["out[3] = fmax(out[3], 2 * in[3]);", "out[3] = fmin(out[3], 2 * in[3]);", "out[3] += 2 * in[3];", ""]
)
def test_an_output_that_depends_on_what_its_memory_held_is_told(hidden):
    left = tried(doubling(f"{SKIPPING} if (n > 3) {{ {hidden} }}")).left
    assert (left.name, left.is_own) == ("y", False)
    assert np.argwhere(left.where).tolist() == [[0, 3]]


def test_an_element_that_nobody_wrote_is_a_finding():
    finding = opsdk.verify(doubling(SKIPPING)).findings[0]
    assert finding.check == "value.y"
    assert "wrong in 1 of 15 elements, first y[0, 3]: this kernel leaves it as the memory was" in finding.message


@pytest.mark.parametrize(("options", "told"), [({}, False), ({"openmp": True}, True)])
def test_of_a_kernel_that_runs_in_threads_a_race_is_named_beside_memory_that_is_left(options, told):
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: 2 * x)
    op.kernel("cpu", language="c", dtype="float64", source=DOUBLING.format(name="f", body=SKIPPING), **options)
    session = Session(op.opdef, [Call([np.arange(1.0, 16)], {})], 0, 200)
    assert not memory.stays_in_memory(session.case([*op.opdef.kernels][-1], session.calls[0]))
    (finding,) = session.findings.values()
    left = "elements that no loop of it sets: none writes them, or one adds to what was there"
    race = "; or a race, as of threads that add to one element: --thorough tells one"
    assert finding.cause == left + race * told


@pytest.mark.parametrize("size", [15, 400])  # glibc keeps small pieces for the thread that gave them back
@pytest.mark.parametrize(("more", "count"), [("0", 1), ("0 * room[0]", 15)])
def test_memory_that_a_kernel_asks_for_and_reads_before_it_writes_is_told(size, more, count):
    body = f"""
    double *room = malloc({size} * sizeof(double));
    for (int64_t i = 1; i < n; ++i) room[i] = 2 * in[i];
    for (int64_t i = 0; i < n; ++i) out[i] = room[i] + {more};
    free(room);"""
    left = tried(doubling(body)).left
    assert (left.name, left.is_own, left.where.sum()) == ("y", True, count)


def test_memory_that_was_read_before_it_was_written_is_a_finding():
    reading = "if (n) { double *room = malloc(n * 8); out[0] += 0 * room[n / 2]; free(room); }"
    finding = opsdk.verify(doubling(f"{GOOD} {reading}")).findings[0]
    assert finding.check == "value.y"
    assert "wrong in 1 of 15 elements, first y[0, 0]: this kernel reads memory that it asked for and never" in (
        finding.message
    )


def test_kernels_that_stay_inside_pass_and_say_so():
    report = opsdk.verify(doubling(GOOD, GOOD))
    assert report.verdict == "pass"
    lines = [row for row in report.rows if row.row == "cpu,float64,c"]
    assert len(lines) == 2
    assert all("bounds" in row.passed for row in lines)


def test_where_nothing_can_be_watched_it_is_said_once_with_the_remedy(monkeypatch):
    monkeypatch.setattr(memory, "watcher", lambda: "guarded memory: no C compiler, apt install gcc")
    report = opsdk.verify(doubling(GOOD), samples=[opsdk.Sample(np.ones(3)), opsdk.Sample(np.ones(2))])
    (said,) = [text for text in report.coverage.skipped if "beside" in text]
    assert said.startswith(
        "t::f, kernel c (cpu, *): what it reads beside its arrays is not watched, guarded memory: no"
    )
    assert "bounds" not in next(row for row in report.rows if row.row == "cpu,float64,c").passed


def test_the_buffers_of_open_sizes_are_watched_where_they_end():
    @opsdk.op("t::kept(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec((None,), x.dtype))
    def kept(x):
        return x[x > 0]

    kept.kernel("cpu", language="c", bound=lambda x: x.size, source="""
void kept_f64(const DLTensor *x, DLTensor *y, int64_t *sizes) {
  const double *in = OPSDK_DATA(const double, x);
  volatile double *out = OPSDK_DATA(double, y);
  sizes[0] = 0;
  for (int64_t i = 0; i < opsdk_size(x); ++i) if (in[i] > 0) out[sizes[0]++] = in[i];
  (void)out[opsdk_size(x)];
}""")  # fmt: skip
    found = tried(kept, np.array([1.0, -2.0, 3.0, 4.0]))
    assert found.outside.message == "it read index 4 of output 'y', which has 4 elements"


def test_an_input_that_is_changed_in_place_is_watched():
    @opsdk.op("t::grow(Tensor(a!) x) -> Tensor(a!)")
    def grow(x):
        x *= 2

    grow.kernel("cpu", language="c", source="""
int32_t grow_f64(DLTensor *x) {
  double *out = OPSDK_DATA(double, x);
  for (int64_t i = 0; i <= opsdk_size(x); ++i) out[i] *= 2;
  return 0;
}""")  # fmt: skip
    assert tried(grow, np.ones(3)).outside.message == "it read index 3 of input 'x', which has 3 elements"


@pytest.mark.parametrize(("first", "left"), [(0, None), (1, [[0, 0]])])
def test_a_kernel_that_draws_is_blamed_for_what_it_leaves_alone(first, left):
    body = f"static uint64_t next = 1; for (int64_t i = {first}; i < n; ++i) out[i] = 2 * in[i] + 1e-9 * ({DRAW});"
    found = tried(doubling(body, deterministic=False))
    assert left is found.left is None or np.argwhere(found.left.where).tolist() == left


def test_bits_that_depend_on_where_an_array_lies_are_no_fault():
    by_place = "for (int64_t i = 0; i < n; ++i) out[i] = 2 * in[i] * ((uintptr_t)in & 32 ? 1 : 1 + 0x1p-52);"
    assert tried(doubling(by_place)).left is None


def test_the_line_of_a_numba_kernel_is_told():
    op = doubling()

    @op.kernel("cpu", language="numba")
    def f_numba(x, y):
        for i in range(x.size):
            y.flat[i] = 2 * x.flat[i] + 0 * x.flat[i + 1]

    found, line = tried(op), [*op.opdef.kernels][-1].origin.line
    assert (
        found.outside.message
        == "index 15 is out of bounds for size 15; compiled it reads or overwrites what lies there"
    )
    assert found.outside.at == f"tests/verify/kernels/test_memory.py:{line + 3}, f_numba"


def test_a_numba_kernel_that_is_too_large_for_its_python_text_is_watched_as_compiled():
    op = doubling()

    @op.kernel("cpu", language="numba")
    def f_numba(x, y):
        for i in range(x.size):
            y[i] = 2 * x[i] + 0 * x[min(i + 1, 5000)]

    found = tried(op, np.ones(5000))
    assert found.outside.message == "it read index 5000 of input 'x', which has 5000 elements"


def test_a_thread_of_a_kernel_that_leaves_its_arrays_is_told_and_goes_on():
    made = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: 2 * x)
    shared = "#pragma omp parallel for num_threads(3) schedule(static, 1)"
    body = f"{shared}\nfor (int64_t i = 0; i <= n; ++i)\nout[i] = 2 * in[i];"
    made.kernel("cpu", language="c", source=DOUBLING.format(name="f", body=body), openmp=True)
    found = tried(made, np.arange(5.0))
    assert found.outside.message in (
        "it read index 5 of input 'x', which has 5 elements",
        "it wrote index 5 of output 'y', which has 5 elements",
    )
    assert found.outside.at == "<C source of t::f>:10"


@pytest.mark.slow  # a process that compiles and ends; test_guarded.py has one that compiles nothing
def test_a_kernel_that_ends_the_process_far_from_its_arrays_is_named_before(tmp_path):
    (tmp_path / "far.py").write_text(
        'import opsdk\n@opsdk.op("far::f(Tensor x) -> Tensor y")\ndef f(x): return 2 * x\n'
        'f.kernel("cpu", language="c", dtype="float64", source="""\n'
        "void f_f64(const DLTensor *x, DLTensor *y) { OPSDK_DATA(double, y)[100000000000] = opsdk_size(x); }\n"
        '""")\nopsdk.verify(f)\n'
    )
    done = subprocess.run([sys.executable, "far.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGSEGV
    assert done.stderr.splitlines()[-1] == (
        "op 'far::f', kernel c (cpu, float64): expected it to stay inside its arrays at sample (float64(3, 5)) matrix, "
        "with an exact 0, it left them by more than 1 MiB, which ends this process: end its loops at the sizes of its "
        "arrays; opsdk check judges such ops in processes of their own"
    )


# An element of the index more than there is, or the one before: who goes by what lies there leaves the table.
@pytest.mark.parametrize(
    ("first", "end", "told"),
    [(0, "n + 1", "it read index 5 of input 'index', which has 5 elements"), (-1, "n", "it read index -1 of input 'i")],
)
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_a_c_kernel_that_reads_beside_an_index_and_goes_by_it_is_told_and_does_not_crash(first, end, told, dtype):
    op = opsdk.op(SCHEMA, infer=lambda x, index: opsdk.TensorSpec(index.shape, x.dtype))(lambda x, index: x[index])
    text = f"""
int32_t f_f64(const DLTensor *x, const DLTensor *index, DLTensor *y) {{
  const {dtype}_t *at = OPSDK_DATA(const {dtype}_t, index);
  const int64_t n = opsdk_size(index);
  for (int64_t i = {first}; i < {end}; ++i) {{
    const volatile double taken = OPSDK_DATA(const double, x)[at[i]];
    if (i >= 0 && i < n) OPSDK_DATA(double, y)[i] = taken;
  }}
  return 0;
}}
"""
    op.kernel("cpu", language="c", source=text, dtypes={"index": dtype})
    found = tried(op, np.arange(1.0, 8), np.array([3, 0, 6, 2, 2], dtype))
    assert found.outside.message.startswith(told)
    assert found.outside.name == "index"

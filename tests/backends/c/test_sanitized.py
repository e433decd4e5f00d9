"""C kernels in a program that sanitizers watch: what it is told, and what is read from what it says."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.c import sanitized
from opsdk.backends.call.language import NotWatchedError
from opsdk.define.call import complete_attrs
from tests.backends.c_rows import op

pytest.importorskip("cffi")


def faults(made, *calls):
    kernel = [*made.opdef.kernels][-1]
    given = [(inputs, complete_attrs(made.opdef, attrs)) for inputs, attrs in calls]
    try:
        return list(sanitized.sanitized(made.opdef, kernel, given))
    except NotWatchedError as error:
        if " has no " in str(error):
            pytest.skip(str(error))
        raise


def test_a_whole_number_that_overflows_and_memory_of_its_own_that_it_leaves_are_found():
    source = """
#include <stdlib.h>
int32_t sums_i32(const DLTensor *x, DLTensor *y) {
  const int64_t n = opsdk_size(x);
  int32_t *kept = malloc(n * sizeof *kept), total = 0;
  for (int64_t i = 0; i < n; ++i) {
    total += OPSDK_DATA(const int32_t, x)[i];
    kept[i] = total;
  }
  for (int64_t i = 0; i < n; ++i) OPSDK_DATA(int32_t, y)[i] = kept[i];
  if (n > 2) kept[n] = 1;
  free(kept);
  return 0;
}"""
    made = op("sums(Tensor x) -> Tensor y", source)
    large = np.array([2**31 - 1, 1], np.int32)
    told = faults(made, ([large], {}), ([np.ones(5, np.int32)], {}))
    assert [(fault.call, fault.kind) for fault in told] == [(0, "undefined"), (1, "bounds")]
    assert told[0].message.startswith("signed integer overflow: ")
    assert told[0].at.endswith(":7")
    assert told[1].message == "it wrote byte 20 of memory of 20 bytes"
    assert told[1].at.endswith(":11")


@pytest.mark.slow  # a build under sanitizers takes a second; of what is told the test above has some of each
def test_the_program_is_given_what_the_kernel_is_given():
    source = """
#include <math.h>
#include <string.h>
int32_t told_f32(const DLTensor *x, const DLTensor *gone, const DLTensor *const *many, int64_t many_len, DLTensor *y,
                 double scale, const int64_t *sizes, int64_t sizes_len, const char *mode, int32_t flag,
                 const double *maybe, DLDataType kind, const char *const *names, int64_t names_len) {
  const float *in = OPSDK_DATA(const float, x), *last = OPSDK_DATA(const float, many[1]);
  const int right = x->ndim == 2 && x->shape[0] == 2 && x->strides[0] == 1 && x->strides[1] == 2 && in[2] == 2 && !gone
    && many_len == 2 && last[1] == 7 && y->ndim == 2 && isnan(OPSDK_DATA(float, y)[5]) && scale == 0.5
    && sizes_len == 3 && sizes[2] == -4 && !strcmp(mode, "mean") && flag && *maybe == 2.5
    && kind.code == kDLInt && kind.bits == 16 && names_len == 2 && !strcmp(names[1], "bc");
  int big = 2147483647;
  OPSDK_DATA(float, y)[0] = right ? 0 : big + (int)x->shape[0];
  return 0;
}"""
    made = op(
        "told(Tensor x, Tensor? gone, Tensor[] many, *, float scale, int[] sizes, str mode, bool flag, float? maybe, "
        "dtype kind, str[] names) -> Tensor y",
        source,
        infer=lambda x: x,
        contiguous=False,
    )
    x = np.asfortranarray(np.array([[0, 2, 4], [1, 3, 5]], np.float32))
    attrs = {"scale": 0.5, "sizes": (1, 2, -4), "mode": "mean", "flag": True, "maybe": 2.5, "kind": np.dtype("int16")}
    many = [np.zeros(1, np.float32), np.array([6, 7], np.float32)]
    call = [x, None, many], {**attrs, "names": ("a", "bc")}
    other = [x, None, many], {**attrs, "names": ("a", "bd")}
    assert [fault.call for fault in faults(made, call, other)] == [1]


@pytest.mark.slow  # another build
def test_functions_that_count_are_watched_too():
    source = """
void many_f64(const DLTensor *x, int64_t *sizes) {
  int most = 2147483645 + (int)opsdk_size(x);
  sizes[0] = most ? opsdk_size(x) : 0;
}
void ones_f64(const DLTensor *x, DLTensor *y, int64_t *sizes) {
  sizes[0] = opsdk_size(x);
  for (int64_t i = 0; i < sizes[0]; ++i) OPSDK_DATA(double, y)[i] = 1;
}"""
    open_sizes = lambda x: opsdk.TensorSpec((None,), "float64")  # noqa: E731
    made = op("ones(Tensor x) -> Tensor y", source, infer=open_sizes, sizes="many")
    told = faults(made, ([np.ones(2)], {}), ([np.ones(3)], {}))
    assert [(fault.call, fault.kind, fault.at[-2:]) for fault in told] == [(1, "undefined", ":3")]


@pytest.mark.slow  # two more builds
def test_two_threads_at_one_element_are_found_and_a_reduction_is_none():
    source = """
void summed_f64(const DLTensor *x, DLTensor *y) {
  const double *in = OPSDK_DATA(const double, x);
  double *out = OPSDK_DATA(double, y), total = 0;
  #pragma omp parallel for reduction(+ : total) schedule(dynamic)
  for (int64_t i = 0; i < opsdk_size(x); ++i) total += in[i];
  out[0] = total;
  if (opsdk_size(x) < 10) return;
  #pragma omp parallel for
  for (int64_t i = 0; i < opsdk_size(x); ++i)
    out[0] += in[i];
}"""
    made = op("summed(Tensor x) -> Tensor y", source, infer=lambda x: opsdk.TensorSpec((), x.dtype), openmp=True)
    told = faults(made, ([np.ones(9)], {}), ([np.ones(20)], {}))
    assert {(fault.call, fault.kind, fault.at[-3:]) for fault in told} == {(1, "race", ":11")}
    assert " index 0 of 'y', which has 1 element, and another " in told[0].message


def nothing():
    return op("gone(Tensor x) -> Tensor y", "void gone_f64(const DLTensor *x, DLTensor *y) { }")


def test_a_compiler_without_sanitizers_is_named_with_the_remedy(monkeypatch):
    monkeypatch.setattr(sanitized, "_missing", lambda compiler, flags: b"cannot find -lasan")
    monkeypatch.setattr(sanitized, "cached_bytes", lambda kind, key, suffix, make: make())
    made, told = nothing(), r"has no AddressSanitizer \(cannot find -lasan\); install GCC or Clang with it, or name one"
    with pytest.raises(NotWatchedError, match=told):
        list(sanitized.sanitized(made.opdef, [*made.opdef.kernels][-1], [([np.ones(2)], {})]))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (("opsdk: call 0\nkilled by somebody\n", -9), "ended with status -9, killed by somebody"),
        (("opsdk: call 0\n", 99), "ended with status 99"),
    ],
)
def test_a_program_that_dies_is_not_taken_for_one_that_found_nothing(monkeypatch, told, said):
    monkeypatch.setattr(sanitized, "_program", lambda *_: b"")
    monkeypatch.setattr(sanitized, "_run", lambda *_: told)
    with pytest.raises(NotWatchedError, match=f"the program that AddressSanitizer watches {said}"):
        faults(nothing(), ([np.ones(2)], {}))


def test_one_program_serves_calls_of_every_function_of_a_source(monkeypatch):
    built = []
    monkeypatch.setattr(sanitized, "_missing", lambda compiler, flags: b"")
    monkeypatch.setattr(sanitized, "_built", lambda job, sources, watch, path: built.append(path.write_bytes(b"")))
    monkeypatch.setattr(sanitized, "_run", lambda *_: ("opsdk: end\n", 0))
    source = "void two_{0}(const DLTensor *x, DLTensor *y) {{ }}\n"
    made = op("two(Tensor x) -> Tensor y", source.format("f32") + source.format("f64"))
    assert faults(made, ([np.ones(2)], {})) == faults(made, ([np.ones(2, np.float32)], {})) == []
    assert len(built) == 1


def test_a_program_that_cannot_be_run_says_so():
    with pytest.raises(NotWatchedError, match="the program does not run, "):
        sanitized._run(b"no program", b"")


def test_a_program_that_takes_too_long_says_so(monkeypatch):
    monkeypatch.setattr(sanitized, "_LONGEST", 0.05)
    with pytest.raises(NotWatchedError, match=r"the program takes more than 0\.05 s"):
        sanitized._run(b"#!/bin/sh\nsleep 5\n", b"")


def test_a_source_that_cannot_be_built_so_says_why(monkeypatch):
    monkeypatch.setattr(sanitized, "_missing", lambda compiler, flags: b"")
    monkeypatch.setattr(sanitized, "cached_bytes", lambda kind, key, suffix, make: make())
    source = "#ifdef __SANITIZE_ADDRESS__\n#error never\n#endif\nvoid gone_f64(const DLTensor *x, DLTensor *y) { }"
    with pytest.raises(NotWatchedError, match=r"it cannot be built with AddressSanitizer, .*never"):
        faults(op("gone(Tensor x) -> Tensor y", source), ([np.ones(2)], {}))

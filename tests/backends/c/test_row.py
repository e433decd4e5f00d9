import ctypes
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import opsdk
from opsdk.backends.c import frame as c_frame
from opsdk.backends.c.row import launch_of, native_entry
from opsdk.core.errors import AttributeValueError, KernelNotFoundError, KernelStatusError, ShapeError
from tests.backends.c_rows import LEAKY, leaky, nothing, op
from tests.contracts.tree import REPOSITORY

SHAPES = [(), (1,), (7,), (0,), (3, 5), (2, 0, 3), (2, 3, 4), (1, 1, 1, 1, 2), (70, 131)]


def wanted(x, slope=0.5):
    return np.where(x > 0, x, x.dtype.type(slope) * x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_gives_what_numpy_gives(rng, shape, dtype):
    x = np.asarray(rng.standard_normal(shape)).astype(dtype)
    made = leaky()(x, slope=0.25)
    assert made.dtype == dtype
    np.testing.assert_array_equal(made, wanted(x, 0.25))


LAYOUTS = {
    "transposed": lambda x: x.T.copy().T,
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "read only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "unaligned": lambda x: np.frombuffer(b"0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape),
    "swapped bytes": lambda x: x.astype(x.dtype.newbyteorder("S")),
    "in a record": lambda x: x.astype([("a", "i1"), ("b", x.dtype)])["b"],
}

STRIDED = """
int32_t leaky_f64(const DLTensor *x, DLTensor *y, double slope) {
  const double *in = OPSDK_DATA(const double, x);
  double *out = OPSDK_DATA(double, y);
  for (int64_t i = 0; i < opsdk_size(x); ++i) {
    const double value = in[opsdk_offset(x, i)];
    out[i] = value > 0 ? value : slope * value;
  }
  return 0;
}
"""


@pytest.mark.parametrize("source", [LEAKY, STRIDED])
@pytest.mark.parametrize("name", LAYOUTS)
def test_any_layout_gives_the_same(rng, name, source):
    x = LAYOUTS[name](rng.standard_normal((4, 6)))
    made = op("leaky(Tensor x, *, float slope=0.5) -> Tensor y", source, contiguous=source == LEAKY)
    for _ in range(3):  # checked in full, by the plan, by the quick launch
        np.testing.assert_array_equal(made(x), wanted(x))


def test_layouts_and_shapes_may_change_from_call_to_call(rng):
    made = leaky()
    for _ in range(3):
        for shape in [(4, 6), (4, 6), (24,), (6, 4), (4, 6)]:
            x = rng.standard_normal(shape)
            for there in (x, np.asfortranarray(x), x.astype("float32")):
                np.testing.assert_array_equal(made(there), wanted(there))


def test_attributes_may_change_from_call_to_call():
    made, x = leaky(), np.array([-1.0, 2.0])
    assert [made(x, slope=s).tolist() for s in (0.5, 0.25, 0.25, 0.5)] == [[-s, 2.0] for s in (0.5, 0.25, 0.25, 0.5)]
    signs = [np.signbit(made(np.array([0.0]), slope=s)).tolist() for s in (0.0, -0.0, -0.0, 0.0)]
    assert signs == [[False], [True], [True], [False]]


def test_every_call_gives_new_memory():
    made, x = leaky(), np.array([-1.0, 2.0])
    results = [made(x) for _ in range(5)]
    results[0][:] = 9.0
    assert [result.tolist() for result in results[1:]] == [[-0.5, 2.0]] * 4


COPY = """
#define COPY(suffix) int32_t same_##suffix(const DLTensor *x, DLTensor *y) { \\
    memcpy(y->data, x->data, (size_t)(opsdk_size(x) * x->dtype.bits / 8)); return x->dtype.lanes - 1; }
COPY(f16) COPY(f32) COPY(f64) COPY(bf16) COPY(i8) COPY(i16) COPY(i32) COPY(i64) COPY(u8) COPY(u16) COPY(u32) COPY(u64)
COPY(bool) COPY(c64) COPY(c128)
"""


@pytest.mark.parametrize("dtype", [*opsdk.core.dtype.NAMES])
def test_every_dtype_is_handed_over(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    same = op("same(Tensor x) -> Tensor y", COPY)
    x = np.array([[1, 0, 1], [0, 1, 1]]).astype(opsdk.core.dtype.as_dtype(dtype))
    for there in (x, x.T, x[:, ::2], x[:0]):
        for _ in range(3):
            made = same(there)
            assert made.dtype == x.dtype
            assert made.tobytes() == there.tobytes()


def test_several_outputs_are_filled():
    source = """
    int32_t both_f64(const DLTensor *x, DLTensor *low, DLTensor *count) {
      const double *in = OPSDK_DATA(const double, x);
      double best = INFINITY;
      for (int64_t i = 0; i < opsdk_size(x); ++i) if (in[i] < best) best = in[i];
      *OPSDK_DATA(double, low) = best;
      if (!OPSDK_IS(count, kDLInt, 64) || count->ndim != 1 || count->shape[0] != 2) return 1;
      OPSDK_DATA(int64_t, count)[0] = opsdk_size(x);
      OPSDK_DATA(int64_t, count)[1] = x->ndim;
      return 0;
    }
    """
    both = op(
        "both(Tensor x) -> (Tensor low, Tensor count)",
        "#include <math.h>\n" + source,
        infer=lambda x: (opsdk.TensorSpec((), x.dtype), opsdk.TensorSpec((2,), "int64")),
    )
    for _ in range(2):
        low, count = both(np.array([[3.0, -2.0, 5.0]]))
        assert (low.shape, low.item(), count.tolist()) == ((), -2.0, [3, 2])


def test_lists_of_inputs_and_outputs_are_arrays_of_tensors():
    source = """
    int32_t twice_f32(const DLTensor *const *xs, int64_t xs_len, DLTensor *const *ys, int64_t ys_len) {
      if (xs_len != ys_len) return 1;
      for (int64_t k = 0; k < xs_len; ++k)
        for (int64_t i = 0; i < opsdk_size(xs[k]); ++i)
          OPSDK_DATA(float, ys[k])[i] = 2 * OPSDK_DATA(float, xs[k])[i];
      return 0;
    }
    """
    twice = op("twice(Tensor[] xs) -> Tensor[] ys", source, infer=lambda xs: list(xs))
    one, two = np.ones((2, 3), "float32"), np.arange(4, dtype="float32")[::2]
    for given in ([one, two], [two], [two, one, one]):
        assert [array.tolist() for array in twice(given)] == [(2 * array).tolist() for array in given]


def test_an_optional_input_that_is_not_given_is_null():
    source = """
    int32_t plus_f32(const DLTensor *x, const DLTensor *w, DLTensor *y) {
      for (int64_t i = 0; i < opsdk_size(x); ++i)
        OPSDK_DATA(float, y)[i] = OPSDK_DATA(float, x)[i] + (w ? OPSDK_DATA(float, w)[i] : 100);
      return 0;
    }
    """
    plus, x = op("plus(Tensor x, Tensor? w=None) -> Tensor y", source), np.ones(2, "float32")
    assert [plus(x).tolist(), plus(x, x).tolist(), plus(x).tolist()] == [[101, 101], [2, 2], [101, 101]]


SIGNED = """
int32_t signed_f32(const DLTensor *x, const DLTensor *w, DLTensor *y, double by, const char *sign) {
  for (int64_t i = 0; i < opsdk_size(x); ++i)
    OPSDK_DATA(float, y)[i] = (sign[0] == '-' ? -1 : 1) *
                              (by + OPSDK_DATA(float, x)[i] + (w ? OPSDK_DATA(float, w)[i] : 0));
  return sign[0] == '?';
}
"""


def test_texts_and_absent_inputs_may_change_between_quick_calls():
    made = op("signed(Tensor x, Tensor? w=None, *, float by=0.0, str sign='+') -> Tensor y", SIGNED)
    launch, x, w = launch_of(made.opdef, [*made.opdef.kernels][-1]), np.ones(2, "float32"), np.full(2, 5, "float32")
    for _ in range(3):  # the first of two equal calls learns, the second is quick
        for given, by, sign, wanted in (
            (None, 1.0, "+", 2),
            (None, 1.0, "-", -2),
            (w, 1.0, "-", -7),
            (w, 2.0, "-", -8),
            (None, 2.0, "minus"[:0] + "-", -3),
            (None, -0.0, "+", 1),
        ):
            for _ in range(2):
                assert launch(x, given, by=by, sign=sign).tolist() == [wanted] * 2
        with pytest.raises(KernelStatusError, match="signed_f32 returned status 1"):
            launch(x, None, by=0.0, sign="?")


def test_a_launch_infers_anew_when_an_optional_input_is_left_out():
    made = op(
        "plus(Tensor x, Tensor? w=None) -> Tensor y",
        nothing("plus", "const DLTensor *x, const DLTensor *w, DLTensor *y", body="memset(y->data, 0, 4); return 0;"),
        infer=lambda x, w: x if w is None else opsdk.TensorSpec((1,), x.dtype),
    )
    launch, x = launch_of(made.opdef, [*made.opdef.kernels][-1]), np.ones(3, "float32")
    assert [launch(x, w).shape for w in (x, None, x, None)] == [(1,), (3,), (1,), (3,)]


MUTATING = """
int32_t step_f64(DLTensor *x, const DLTensor *g, double rate) {
  for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA(double, x)[i] -= rate * OPSDK_DATA(double, g)[i];
  return rate < 0;
}
"""


@pytest.mark.parametrize("layout", ["plain", "transposed", "every second"])
def test_an_input_that_is_declared_mutated_is_changed_in_place(layout):
    step = op("step(Tensor(a!) x, Tensor g, *, float rate) -> Tensor(a!) y", MUTATING)
    whole = np.ones((4, 4))
    x = {"plain": whole, "transposed": whole.T, "every second": whole[:, ::2]}[layout]
    for left in (0.5, 0.0, -0.5):
        assert step(x, np.ones(x.shape), rate=0.5) is x
        assert x.tolist() == np.full(x.shape, left).tolist()
    if layout == "every second":
        assert whole[:, 1::2].tolist() == np.ones((4, 2)).tolist()


ATTRIBUTES = """
#include <stdio.h>
int32_t told_u8(const DLTensor *x, DLTensor *y, double f, int64_t i, int32_t b, const char *s, const double *c,
                DLDataType d, const int64_t *k, int64_t k_len, const double *h, int64_t h_len, const int32_t *m,
                int64_t m_len, const char *const *t, int64_t t_len, const double *low, const char *name,
                const int64_t *axes, int64_t axes_len) {
  int n = snprintf((char *)y->data, 256, "%g %lld %d %s %g+%gi %d/%d [", f, (long long)i, b, s, c[0], c[1],
                   d.code, d.bits);
  char *out = (char *)y->data;
  for (int64_t j = 0; j < k_len; ++j) n += snprintf(out + n, 32, "%lld,", (long long)k[j]);
  for (int64_t j = 0; j < h_len; ++j) n += snprintf(out + n, 32, "%g,", h[j]);
  for (int64_t j = 0; j < m_len; ++j) n += snprintf(out + n, 32, "%d,", m[j]);
  for (int64_t j = 0; j < t_len; ++j) n += snprintf(out + n, 32, "%s,", t[j]);
  n += snprintf(out + n, 32, "] %g %s %d", low ? *low : -1.0, name ? name : "null", axes ? (int)axes_len : -1);
  return 0;
}
"""


def test_attributes_of_every_type_arrive():
    told = op(
        "told(Tensor x, *, float f=0.5, int i=-7, bool b=True, str s='text', complex c=1+2j, dtype d=float16, "
        "int[] k=[1, 2], float[] h=[0.5], bool[] m=[True, False], str[] t=['a', 'bc'], float? low=None, "
        "str? name=None, int[]? axes=None) -> Tensor y",
        ATTRIBUTES,
    )

    def text(**attrs):
        return bytes(told(np.zeros(512, "uint8"), **attrs)).partition(b"\0")[0].decode()

    assert text() == "0.5 -7 1 text 1+2i 2/16 [1,2,0.5,1,0,a,bc,] -1 null -1"
    assert text(low=3, name="ü", axes=[], k=[], t=[], m=[]) == "0.5 -7 1 text 1+2i 2/16 [0.5,] 3 ü 0"
    assert text(axes=[4, 5], d="int32", b=False) == "0.5 -7 0 text 1+2i 0/32 [1,2,0.5,1,0,a,bc,] -1 null 2"


def test_an_op_without_inputs_is_served_by_the_dtype_of_its_output():
    source = """
    int32_t seven_i64(DLTensor *y, int64_t n) {
      for (int64_t i = 0; i < n; ++i) OPSDK_DATA(int64_t, y)[i] = 7;
      return 0;
    }
    """
    seven = op("seven(*, int n=3) -> Tensor y", source, infer=lambda n: opsdk.TensorSpec((n,), "int64"))
    assert [seven().tolist(), seven(n=2).tolist(), seven(n=0).tolist()] == [[7] * 3, [7] * 2, []]


def test_a_backward_may_have_a_c_row_too():
    forward = leaky()

    @forward.backward
    def leaky_grad(x, dy, slope):
        raise AssertionError("the reference ran")

    source = """
    int32_t leaky_grad_f64(const DLTensor *x, const DLTensor *dy, DLTensor *dx, double slope) {
      for (int64_t i = 0; i < opsdk_size(x); ++i)
        OPSDK_DATA(double, dx)[i] = OPSDK_DATA(double, dy)[i] * (OPSDK_DATA(double, x)[i] > 0 ? 1 : slope);
      return 0;
    }
    """
    leaky_grad.kernel("cpu", language="c", source=source)
    x = opsdk.to_tensor(np.array([-1.0, 2.0]), stop_gradient=False)
    (forward(x, slope=0.25) * 3.0).sum().backward()
    assert x.grad.numpy().tolist() == [0.75, 3.0]


# -- what a function refuses -------------------------------------------------------------------------------------------


def test_a_status_is_an_error_with_the_sources_own_words():
    source = nothing("f", "const DLTensor *x, DLTensor *y, int64_t status", body="return (int32_t)status;")
    source += 'const char *opsdk_message(int32_t status) { return status == 3 ? "x is not sorted" : 0; }'
    f = op("f(Tensor x, *, int status=0) -> Tensor y", source)
    x = np.ones(2, "float32")
    f(x)
    for status, said in ((3, ", x is not sorted"), (-4, ""), (3, ", x is not sorted")):
        with pytest.raises(KernelStatusError) as caught:
            f(x, status=status)
        assert str(caught.value) == f"op 't::f', c kernel: f_f32 returned status {status}{said}"
        assert (caught.value.code, caught.value.details["status"]) == ("OP223", status)
        f(x)
    assert isinstance(caught.value, RuntimeError)


def test_a_status_that_depends_on_the_values_is_an_error_in_the_quick_launch_too():
    source = nothing("f", "const DLTensor *x, DLTensor *y", body="return *OPSDK_DATA(float, x) < 0;")
    f = op("f(Tensor x) -> Tensor y", source)
    for _ in range(3):
        f(np.ones(2, "float32"))
        with pytest.raises(KernelStatusError, match="f_f32 returned status 1"):
            f(-np.ones(2, "float32"))


def test_a_function_may_return_nothing():
    source = nothing("f", "const DLTensor *x, DLTensor *y", "void", "*OPSDK_DATA(float, y) = 3;")
    f = op("f(Tensor x) -> Tensor y", source)
    assert [f(np.ones(1, "float32")).tolist() for _ in range(3)] == [[3.0]] * 3


def test_a_dtype_without_a_function_names_those_that_there_are():
    with pytest.raises(KernelNotFoundError) as caught:
        leaky()(np.ones(2, "int32"))
    assert str(caught.value) == (
        "op 't::leaky', c kernel: no function leaky_i32 for int32; there are leaky_f32, leaky_f64; write it, or cast "
        "the "
        "inputs"
    )
    help = "  help     int32_t leaky_i32(const DLTensor *x, DLTensor *y, double slope) { ... }"
    assert help in caught.value.__notes__


def test_a_row_for_one_dtype_leaves_the_others_to_the_reference():
    made = leaky(dtype="float32")
    assert made(np.array([-1.0], "float32")).tolist() == [-0.5]
    with pytest.raises(AssertionError, match="the reference ran"):
        made(np.array([-1.0]))


SUM = "const DLTensor *x, const DLTensor *w, DLTensor *y"


def test_inputs_of_two_floating_dtypes_are_refused():
    f = op("f(Tensor x, Tensor w) -> Tensor y", nothing("f", SUM))
    with pytest.raises(KernelNotFoundError) as caught:
        f(np.ones(2, "float32"), np.ones(2))
    assert str(caught.value) == (
        "op 't::f', c kernel: input 'w' expected float32 like 'x', got float64; cast one of them, or give the kernel "
        "dtypes={'w': 'float64'}, or a tuple that OPSDK_IS(w, …) tells apart"
    )


def test_an_input_may_be_declared_to_have_another_dtype():
    body = "*OPSDK_DATA(float, y) = (float)*OPSDK_DATA(double, w); return 0;"
    f = op("f(Tensor x, Tensor w) -> Tensor y", nothing("f", SUM, body=body), dtypes={"w": "float64"})
    assert f(np.ones(1, "float32"), np.array([7.0])).tolist() == [7.0]
    with pytest.raises(
        KernelNotFoundError, match="op 't::f', c kernel: input 'w' expected float64, got float32; cast it"
    ):
        f(np.ones(1, "float32"), np.ones(1, "float32"))


def test_an_integer_input_beside_a_floating_one_is_handed_over_where_the_op_or_the_row_says_so():
    body = "*OPSDK_DATA(float, y) = OPSDK_IS(w, kDLInt, 32) ? (float)*OPSDK_DATA(int32_t, w) : -1; return 0;"
    rule = opsdk.infer.like("x")
    f = op("f(Tensor x, Tensor w) -> Tensor y", nothing("f", SUM, body=body), infer=rule)
    assert f(np.ones(1, "float32"), np.array([7], "int32")).tolist() == [7.0]
    f = op("f(Tensor x, Tensor w) -> Tensor y", nothing("f", SUM, body=body), dtypes={"w": "int32"})
    assert f(np.ones(1, "float32"), np.array([7], "int32")).tolist() == [7.0]
    f = op("f(Tensor x, Tensor w) -> Tensor y", nothing("f", SUM, body=body))
    with pytest.raises(KernelNotFoundError, match="input 'w' expected float32 like 'x', got int32; cast one of them"):
        f(np.ones(1, "float32"), np.array([7], "int32"))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool"])
def test_an_input_of_another_kind_that_is_neither_declared_nor_looked_up_is_refused(dtype):
    body = "*OPSDK_DATA(float, y) = OPSDK_DATA(const float, x)[*OPSDK_DATA(const int64_t, w)]; return 0;"
    rule, x, w = opsdk.infer.like("x"), np.array([7.0], "float32"), np.zeros(1, dtype)
    f = op("f(Tensor x, Tensor w) -> Tensor y", nothing("f", SUM, body=body), infer=rule)
    with pytest.raises(
        KernelNotFoundError, match=rf"input 'w', which is of .* give the kernel dtypes={{'w': '{dtype}'}}"
    ):
        f(x, w)
    f = op("f(Tensor x, Tensor w) -> Tensor y", nothing("f", SUM, body=body), infer=rule, dtypes={"w": "int64"})
    if dtype == "int64":
        assert f(x, w).tolist() == [7.0]
    else:
        with pytest.raises(KernelNotFoundError, match=f"input 'w' expected int64, got {dtype}; cast it"):
            f(x, w)


def test_a_text_that_c_would_cut_is_refused():
    f = op(
        "f(Tensor x, *, str how, str[] more=[]) -> Tensor y",
        nothing("f", "const DLTensor *x, DLTensor *y, const char *how, const char *const *more, int64_t more_len"),
    )
    x = np.ones(1, "float32")
    f(x, how="max")
    for attrs in ({"how": "max\0imum"}, {"how": "max", "more": ["a", "b\0"]}):
        with pytest.raises(
            ValueError, match=r"c kernel: expected a text without the character NUL, at which C ends it"
        ):
            f(x, **attrs)


def test_an_output_whose_shape_only_the_run_knows_is_refused():
    f = op(
        "f(Tensor x) -> Tensor y",
        nothing("f", "const DLTensor *x, DLTensor *y"),
        infer=lambda x: opsdk.TensorSpec([None], x.dtype),
    )
    with pytest.raises(ShapeError, match="output 'y': expected a shape known before the C function runs, since it"):
        f(np.ones(1, "float32"))


def test_a_number_that_c_does_not_hold_is_refused():
    f = op("f(Tensor x, *, int k) -> Tensor y", nothing("f", "const DLTensor *x, DLTensor *y, int64_t k"))
    with pytest.raises(AttributeValueError, match=r"attribute 'k' expected int, a whole number from -2\*\*63 to"):
        f(np.ones(1, "float32"), k=2**70)


def test_a_text_that_utf8_does_not_have_is_refused():
    f = op(
        "f(Tensor x, *, str how, str[] more=[]) -> Tensor y",
        nothing("f", "const DLTensor *x, DLTensor *y, const char *how, const char *const *more, int64_t more_len"),
    )
    for attrs in ({"how": "a\ud800"}, {"how": "max", "more": ["a", "\udfff"]}):
        with pytest.raises(AttributeValueError, match=r"c kernel: expected a text of characters that UTF-8 has, got '"):
            f(np.ones(1, "float32"), **attrs)


def test_a_large_copy_is_said_once_and_only_where_nobody_asked_for_it(capfd):
    x = np.ones((1024, 512)).T
    for options in ({}, {"contiguous": True}):
        made = leaky(**options)
        made(x[:4])
        assert capfd.readouterr().err == ""
        made(x)
        made(x)
        said = capfd.readouterr().err
        assert said == (
            ""
            if options
            else "op 't::leaky', c kernel: copies x (float64(512, 1024)), which is not contiguous; contiguous=True "
            "says "
            "that this is meant, contiguous=False hands it over as it lies\n"
        )


# -- threads, processes, the bare function -----------------------------------------------------------------------------


def test_eight_threads_may_call_at_once(rng):
    made = leaky()
    inputs = [rng.standard_normal(n) for n in (5, 5, 5, 100, 100, 1000, 7, 7)]
    expected = [wanted(x).tobytes() for x in inputs]
    gate = threading.Barrier(8)

    def work(k):
        gate.wait()
        return all(made(inputs[k]).tobytes() == expected[k] for _ in range(300))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [True] * 8


def test_other_threads_run_while_a_function_does():
    source = """
    int32_t meet_i32(const DLTensor *x, DLTensor *y) {
      volatile int32_t *flags = OPSDK_DATA(volatile int32_t, x);
      flags[0] = 1; /* the other thread sets flags[1] once it sees this one */
      for (int64_t i = 0; i < 20000000000LL; ++i) if (flags[1]) return 0;
      return 1;
    }
    """
    meet = op("meet(Tensor(a!) x) -> (Tensor(a!) y, Tensor z)", source.replace("const DLTensor", "DLTensor"))
    flags = np.zeros(2, "int32")

    def answer():
        while not flags[0]:
            pass
        flags[1] = 1

    thread = threading.Thread(target=answer)
    thread.start()
    meet(flags)
    thread.join()


def test_a_finalizer_that_calls_the_op_in_between_disturbs_nothing(monkeypatch):
    armed, inside = [], []

    def interrupted(*args):
        if armed:
            armed.clear()
            inside.append(made(np.array([-8.0, 8.0])).tolist())
        return np.empty(*args)

    monkeypatch.setattr(c_frame, "empty", interrupted)
    monkeypatch.setattr(c_frame, "SMALLEST", 0)  # so that all outputs come from there
    made, x = leaky(), np.array([-1.0, 2.0])
    for calls in range(1, 5):
        armed.append(True)
        assert made(x).tolist() == [-0.5, 2.0]
        assert inside == [[-4.0, 8.0]] * calls


OPENMP = """
int32_t half_f64(const DLTensor *x, DLTensor *y) {
  const double *in = OPSDK_DATA(const double, x);
  double *out = OPSDK_DATA(double, y);
  int64_t n = opsdk_size(x), parts = 0;
  #pragma omp parallel reduction(+ : parts)
  {
    parts += 1;
    #pragma omp for
    for (int64_t i = 0; i < n; ++i) out[i] = in[i] / 2;
  }
  if (n) out[0] = (double)parts;
  return 0;
}
"""


@pytest.mark.parametrize(("options", "least"), [({}, 1), ({"openmp": True}, 2), ({"flags": ("-fopenmp",)}, 2)])
def test_openmp_is_obeyed_where_it_is_asked_for(options, least, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    made = op("half(Tensor x) -> Tensor y", OPENMP, **options)(np.ones(1000))
    assert made[1:].tolist() == [0.5] * 999
    assert made[0] == 1 if least == 1 else made[0] >= 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("openmp", [False, True])
def test_a_forked_child_may_call(openmp):
    source = f"""
import os, sys
import numpy as np
from tests.backends.c_rows import op
from tests.backends.c.test_row import OPENMP
half = op("half(Tensor x) -> Tensor y", OPENMP, openmp={openmp})
x = np.ones(1000)
half(x)
half(x)
pid = os.fork()
if not pid:
    os._exit(0 if half(x)[1:].tolist() == [0.5] * 999 else 1)
print(os.waitpid(pid, 0)[1], half(x)[1])
"""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "3"}
    # Python 3.12 and later warn of every fork of a process with threads, which is what is tried here.
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", source]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("0 0.5\n", "")


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def test_the_bare_function_can_be_called_by_its_address():
    entry = native_entry(leaky(), "float32")
    assert entry.prototype == "int32_t leaky_f32(const DLTensor *x, DLTensor *y, double slope)"
    assert entry.symbol == "leaky_f32"
    x, y = (ctypes.c_float * 3)(-2.0, 3.0, -4.0), (ctypes.c_float * 2)()
    shape, strides = (ctypes.c_int64 * 1)(2), (ctypes.c_int64 * 1)(1)
    first = DLTensor(ctypes.addressof(x), 1, 0, 1, 2, 32, 1, shape, strides, 4)  # from the second element on
    second = DLTensor(ctypes.addressof(y), 1, 0, 1, 2, 32, 1, shape, strides, 0)
    pointer = ctypes.POINTER(DLTensor)
    function = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, ctypes.c_double)(entry.address)
    assert function(ctypes.byref(first), ctypes.byref(second), 0.5) == 0
    assert list(y) == [3.0, -2.0]


def test_the_bare_function_of_a_row_for_its_dtype_comes_first():
    made = leaky()
    made.kernel(
        "cpu",
        language="c",
        source=nothing("leaky", "const DLTensor *x, DLTensor *y, double slope", "void"),
        dtype="float32",
    )
    assert native_entry(made.opdef, "float32").prototype.startswith("void leaky_f32(")
    assert native_entry(made.opdef, "float64").prototype.startswith("int32_t leaky_f64(")


def test_a_dtype_or_op_without_a_c_row_has_no_bare_function():
    with pytest.raises(KernelNotFoundError, match="op 't::leaky', c kernel: no function leaky_i8 for int8; there are"):
        native_entry(leaky(), "int8")
    with pytest.raises(KernelNotFoundError, match=r"op 'opsdk::relu': no C kernel for float32; there are numpy \(cpu"):
        native_entry(opsdk.relu, "float32")


COUNTS = """
int32_t count_bool(const DLTensor *m, DLTensor *y) {
  for (int64_t i = 0; i < opsdk_size(m); ++i) OPSDK_DATA(double, y)[i] = OPSDK_DATA(const unsigned char, m)[i];
  return 0;
}
"""


@pytest.mark.parametrize("step", [1, 2, -1])
def test_bools_come_as_0_and_1_whatever_byte_they_have(step):
    made = op("count(Tensor<bool> m) -> Tensor y", COUNTS, infer=lambda m: opsdk.TensorSpec(m.shape, "float64"))
    plain = np.array([True, False, True, True])
    odd = np.repeat(np.array([255, 0, 2, 1][:: step if step < 0 else 1], "uint8"), abs(step)).view(bool)[::step]
    for mask in (plain, odd, plain, odd):
        assert made(mask).tolist() == [1.0, 0.0, 1.0, 1.0]
        assert made(opsdk.to_tensor(mask)).tolist() == [1.0, 0.0, 1.0, 1.0]
    assert odd.view("uint8").tolist() == [255, 0, 2, 1]


def test_bools_that_are_changed_in_place_are_changed_where_they_are():
    source = """
    int32_t flip_bool(DLTensor *m) {
      unsigned char *in = OPSDK_DATA(unsigned char, m);
      for (int64_t i = 0; i < opsdk_size(m); ++i) in[i] = 1 - in[i];
      return 0;
    }
    """
    made = op("flip(Tensor(a!) m) -> Tensor(a!) y", source)
    odd = np.array([255, 0, 2, 1], "uint8").view(bool)
    made(odd)
    assert odd.tolist() == [False, True, False, False]

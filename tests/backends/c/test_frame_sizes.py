"""C kernels that fill outputs whose sizes data decide: functions of the source that count, and what the fill says."""

from functools import cache

import numpy as np
import pytest

import opsdk
from opsdk.backends.c.job import Job
from opsdk.backends.c.prebuilt import place_of
from opsdk.backends.c.row import launch_into, native_entry
from opsdk.core.errors import BindingError, KernelStatusError, SizeError
from tests.backends.c_rows import op

SCHEMA = "above(Tensor x, *, float least=0.0) -> (Tensor values, Tensor<int> places)"
SOURCE = """
#define ABOVE(T, suffix, number)                                                                                     \\
  int32_t many_##suffix(const DLTensor *x, double least, int64_t *sizes) {                                           \\
    if (least > 100) return 7;                                                                                       \\
    int64_t count = 0;                                                                                               \\
    for (int64_t i = 0; i < opsdk_size(x); ++i) count += number(OPSDK_DATA(const T, x)[i]) > least;                  \\
    sizes[0] = sizes[1] = count;                                                                                     \\
    return 0;                                                                                                        \\
  }                                                                                                                  \\
  void most_##suffix(const DLTensor *x, double least, int64_t *sizes) { sizes[0] = sizes[1] = opsdk_size(x); }       \\
  void few_##suffix(const DLTensor *x, double least, int64_t *sizes) { sizes[0] = sizes[1] = opsdk_size(x) - 2; }    \\
  void half_##suffix(const DLTensor *x, double least, int64_t *sizes) { sizes[0] = opsdk_size(x); }                  \\
  int32_t above_##suffix(const DLTensor *x, DLTensor *values, DLTensor *places, double least, int64_t *sizes) {      \\
    int64_t filled = 0;                                                                                              \\
    for (int64_t i = 0; i < opsdk_size(x); ++i)                                                                      \\
      if (number(OPSDK_DATA(const T, x)[i]) > least) {                                                               \\
        OPSDK_DATA(T, values)[filled] = OPSDK_DATA(const T, x)[i];                                                   \\
        OPSDK_DATA(int64_t, places)[filled++] = i;                                                                   \\
      }                                                                                                              \\
    if (least < -100) return 0;                                                                                      \\
    sizes[0] = sizes[1] = filled;                                                                                    \\
    return 0;                                                                                                        \\
  }
ABOVE(double, f64, (double))
ABOVE(opsdk_f16, f16, opsdk_from_f16)
ABOVE(opsdk_bf16, bf16, opsdk_from_bf16)
ABOVE(int32_t, i32, (double))
const char *opsdk_message(int32_t status) { return status == 7 ? "least is beyond 100" : 0; }
"""


def above(source=SOURCE, **options):
    def rule(x):
        return opsdk.TensorSpec((None,), x.dtype), opsdk.TensorSpec((None,), "int64")

    return op(SCHEMA, source, infer=rule, **options)


@cache
def counted():
    return above(sizes="many")


@cache
def bounded():
    return above(bound="most")


@cache
def by_python():
    return above(sizes=lambda x, least: np.count_nonzero(x > least))


@pytest.mark.parametrize("made", [counted, bounded, by_python])
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32"])
@pytest.mark.parametrize("x", [[1, -1, 2, 0, 3], [-1, -2], [4, 5], [7], []])
def test_a_kernel_fills_what_numpy_selects(made, dtype, x):
    x = np.array(x, "float64").astype(opsdk.TensorSpec((), dtype).dtype)
    values, places = made()(x)
    wanted = x.astype(float) > 0
    assert values.tolist() == x[wanted].tolist()
    assert places.tolist() == np.nonzero(wanted)[0].tolist()
    assert (values.dtype, places.dtype) == (x.dtype, np.int64)


def test_strides_attributes_and_sizes_are_those_of_the_call():
    x = np.arange(-6.0, 6)[::-2]
    for _ in range(3):  # inputs of one shape, whose results are not
        assert counted()(x, least=1.5)[0].tolist() == bounded()(x, least=1.5)[0].tolist() == [5, 3]
        assert counted()(-x, least=3.5)[0].tolist() == bounded()(-x, least=3.5)[0].tolist() == [5]
    assert bounded()(np.array(3.0))[1].tolist() == [0]


def test_a_function_that_counts_too_few_is_an_error_in_every_call():
    few = above(bound="few")
    for _ in range(5):
        with pytest.raises(
            SizeError, match=r"c kernel: expected it to stay inside output 'values', of shape \(997,\) as"
        ):
            few(np.arange(1.0, 1000))
    assert few(np.array([1.0, -1, 0]))[0].tolist() == [1]


def test_a_kernel_that_fills_less_than_was_counted_is_an_error():
    with pytest.raises(SizeError, match=r"expected 3 for values.shape\[0\], which sizes=most gave, got 2 filled"):
        above(sizes="most")(np.array([1.0, -1, 2]))


def test_what_a_function_does_not_write_is_no_size():
    with pytest.raises(SizeError, match=r"bound=half expected whole numbers from 0 on, .* got \[2, -1\]"):
        above(bound="half")(np.ones(2))
    with pytest.raises(SizeError, match=r"what the kernel says it filled expected whole numbers .* got \[-1, -1\]"):
        counted()(np.ones(2), least=-101)


def test_the_status_of_a_function_that_counts_has_its_name_and_words():
    with pytest.raises(KernelStatusError, match="c kernel: many_f64 returned status 7, least is beyond 100"):
        counted()(np.ones(2), least=101)


def test_a_function_that_is_not_there_is_refused_with_its_declaration():
    said = (
        r"sizes=mean expected a function int32_t mean_f64\(const DLTensor \*x, double least, int64_t \*sizes\) beside"
    )
    with pytest.raises(BindingError, match=said):
        above(sizes="mean")(np.ones(2))


def test_a_function_of_another_type_is_refused_with_its_declaration():
    outputs = "DLTensor *values, DLTensor *places"
    wrong = "void most_f64(const DLTensor *x, int64_t *sizes) { sizes[0] = sizes[1] = opsdk_size(x); }\n"
    fills = (
        f"void above_f64(const DLTensor *x, {outputs}, double least, int64_t *sizes) {{ sizes[0] = sizes[1] = 0; }}\n"
    )
    with pytest.raises(
        BindingError, match=r"expected int32_t most_f64\(const DLTensor \*x, double least, int64_t \*sizes\)"
    ):
        above(wrong + fills, bound="most")(np.ones(2))
    with pytest.raises(BindingError, match=r"DLTensor \*places, double least, int64_t \*sizes\), got void above_f64"):
        above(f"void above_f64(const DLTensor *x, {outputs}, double least) {{}}", bound=lambda x: x.size)(np.ones(2))


def test_every_tensor_of_a_list_has_sizes_of_its_own():
    source = """
    void parts_f64(const DLTensor *x, DLTensor *const *ys, int64_t ys_len, int64_t *sizes) {
      for (int64_t k = 0; k < ys_len; ++k) {
        sizes[k] = 0;
        for (int64_t i = 0; i < opsdk_size(x); ++i)
          if (OPSDK_DATA(const double, x)[i] == k) OPSDK_DATA(double, ys[k])[sizes[k]++] = i;
      }
    }
    """
    parts = op(
        "parts(Tensor x) -> Tensor[] ys",
        source,
        infer=lambda x: ([opsdk.TensorSpec((None,), "float64")] * 3,),
        bound=lambda x: x.size,
    )
    assert [y.tolist() for y in parts(np.array([2.0, 0, 2, 5]))] == [[1], [], [0, 2]]


def test_an_op_with_a_parameter_of_that_name_keeps_it():
    source = "void kept_f64(const DLTensor *sizes, DLTensor *y, int64_t *sizes_) { sizes_[0] = 0; }"
    kept = op(
        "kept(Tensor sizes) -> Tensor y",
        source,
        infer=lambda sizes: opsdk.TensorSpec((None,), "float64"),
        bound=lambda sizes: sizes.size,
    )
    assert kept(np.ones(2)).shape == (0,)


def test_buffers_of_another_memory_have_no_room_behind_them():
    shapes = []

    def empty(shape, dtype):
        shapes.append(shape)
        return np.full(shape, 1, dtype)

    launch = launch_into(bounded().opdef, list(bounded().opdef.kernels)[-1], empty)
    assert [item.tolist() for item in launch(np.array([1.0, -1, 2]), least=0.0)] == [[1, 2], [0, 2]]
    assert shapes[:2] == [(3,), (3,)]


def test_the_native_entry_says_how_many_it_filled():
    wanted = "(const DLTensor *x, DLTensor *values, DLTensor *places, double least, int64_t *sizes)"
    assert native_entry(counted(), "float64").prototype == f"int32_t above_f64{wanted}"
    assert opsdk.native(bounded(), np.ones(3)).prototype == f"int32_t above_f64{wanted}"


def test_what_decides_sizes_is_part_of_what_a_library_is():
    jobs = [Job.of(made.opdef, list(made.opdef.kernels)[-1]) for made in (counted(), bounded(), by_python())]
    assert len({job.key for job in jobs}) == 3
    assert len({place_of(job) for job in jobs}) == 3

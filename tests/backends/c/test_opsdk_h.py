import subprocess

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.c.job import Job
from opsdk.backends.c.source import HEADER
from tests import philox
from tests.backends.c_rows import op


def like(dtype):
    return lambda x: opsdk.TensorSpec(x.shape, dtype)


def elementwise(name, source, target, expression):
    suffix = {"float32": "f32", "uint16": "u16"}[source]
    kinds = {"float32": "float", "uint16": "uint16_t"}
    text = f"""
    void {name}_{suffix}(const DLTensor *x, DLTensor *y) {{
      const {kinds[source]} *in = OPSDK_DATA(const {kinds[source]}, x);
      for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA({kinds[target]}, y)[i] = {expression};
    }}
    """
    return op(f"{name}(Tensor x) -> Tensor y", text, infer=like(target))


def same_floats(got, want):
    """Whether two arrays have the same bits, NaNs apart, which need only be NaN."""
    nan = np.isnan(want)
    return np.array_equal(np.isnan(got), nan) and np.array_equal(got[~nan].view("uint32"), want[~nan].view("uint32"))


ALL16 = np.arange(65536, dtype="uint16")


def float32s(rng):
    """Gives float32 values of every magnitude, and those in the middle between two 16-bit ones with both neighbours."""
    bits = rng.integers(0, 2**32, 400_000, dtype="uint32")
    with np.errstate(all="ignore"):
        halves = ALL16.view("float16").astype("float32")
    middles = np.concatenate(
        [halves.view("uint32") + step for step in (0x0FFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001)]
    )
    edges = np.array([65504, 65519.996, 65520, 2**-24, 2**-25, 2**-14, 2.9802326e-08, 0, np.inf], "float32")
    return np.concatenate([bits.view("float32"), middles.view("float32"), edges, -edges])


def test_float16_is_read_as_numpy_reads_it():
    read = elementwise("read", "uint16", "float32", "opsdk_from_f16(in[i])")
    assert same_floats(read(ALL16), ALL16.view("float16").astype("float32"))


def test_float16_is_written_as_numpy_writes_it(rng):
    x = float32s(rng)
    made = elementwise("write", "float32", "uint16", "opsdk_to_f16(in[i])")(x).view("float16")
    with np.errstate(all="ignore"):
        expected = x.astype("float16")
    assert np.array_equal(np.isnan(made), np.isnan(x))
    assert np.array_equal(made[~np.isnan(x)].view("uint16"), expected[~np.isnan(x)].view("uint16"))


def test_bfloat16_is_read_and_written_as_ml_dtypes_does(rng):
    bfloat16 = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    read = elementwise("read", "uint16", "float32", "opsdk_from_bf16(in[i])")
    assert same_floats(read(ALL16), ALL16.view(bfloat16).astype("float32"))
    x = float32s(rng)
    x = x[~np.isnan(x)]
    made = elementwise("write", "float32", "uint16", "opsdk_to_bf16(in[i])")(x)
    assert np.array_equal(made, x.astype(bfloat16).view("uint16"))


def test_a_nan_is_written_as_a_nan(rng):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    payloads = np.array([0x7F800001, 0xFF800001, 0x7FFFFFFF, 0x7FC00000, 0x7F8000FF], "uint32").view("float32")
    for name, dtype in (("bf16", ml_dtypes.bfloat16), ("f16", np.float16)):
        made = elementwise(f"write_{name}", "float32", "uint16", f"opsdk_to_{name}(in[i])")(payloads)
        assert np.isnan(made.view(dtype).astype("float32")).all()


def test_same_shape_compares_all_sizes():
    source = """
    int32_t same_f32(const DLTensor *x, const DLTensor *w, DLTensor *y) {
      *OPSDK_DATA(float, y) = opsdk_same_shape(x, w);
      return 0;
    }
    """
    same = op("same(Tensor x, Tensor w) -> Tensor y", source, infer=lambda x, w: opsdk.TensorSpec((), "float32"))
    shapes = [(), (1,), (2, 3), (3, 2), (2, 3, 1), (2, 3)]
    arrays = [np.zeros(shape, "float32") for shape in shapes]
    assert [[bool(same(a, b)) for b in arrays] for a in arrays] == [[s == t for t in shapes] for s in shapes]


def test_the_header_compiles_as_strict_c_and_as_cplusplus(tmp_path):
    import shutil
    import subprocess

    for compiler, name, standard in (("cc", "a.c", "-std=c99"), ("c++", "a.cc", "-std=c++11")):
        if shutil.which(compiler) is None:
            pytest.skip(f"no {compiler}")
        (tmp_path / name).write_text('#include "opsdk.h"\n')
        command = [compiler, standard, "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic", "-fsyntax-only"]
        command += ["-Wno-unused-function", f"-I{HEADER.parent}", str(tmp_path / name)]
        assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""


LOOP = """
int32_t loop_f32(const DLTensor *x, DLTensor *y) {
  const float *in = OPSDK_DATA(const float, x);
  float *out = OPSDK_DATA(float, y);
  for (int64_t i = 0; i < opsdk_size(x); ++i) out[i] = in[i] < 0 ? 0 : in[i];
  return 0;
}
"""


def test_the_natural_loop_is_compiled_to_vectors():
    made = op("loop(Tensor x) -> Tensor y", LOOP)
    job = Job.of(made.opdef, next(row for row in made.opdef.kernels if row.language == "c"))
    asked = ("-c", "-x", "c", "-", "-o", "/dev/null", "-fopt-info-vec-optimized")
    command = [*job.compiler.command, *job.arguments, *asked]
    told = subprocess.run(command, input=job.source.unit, text=True, capture_output=True, check=False)
    if told.returncode:
        pytest.skip("the compiler does not tell what it made vectors of")
    at = 1 + LOOP[: LOOP.index("for (")].count("\n")
    lines = [line for line in told.stderr.splitlines() if "loop vectorized" in line]
    assert any(f":{job.source.line + at - 1}:" in line for line in lines), told.stderr


def test_the_size_of_a_tensor_that_a_kernel_makes_is_that_of_its_shape_now():
    source = """
    __attribute__((noinline)) static int64_t count(const DLTensor *t) { return opsdk_size(t); }
    int32_t sized_f64(const DLTensor *x, DLTensor *y) {
      int64_t dims[2] = {x->shape[0], 2};
      DLTensor view = *x;
      view.ndim = 2;
      view.shape = dims;
      OPSDK_DATA(double, y)[0] = count(&view);
      dims[1] = 5;
      OPSDK_DATA(double, y)[1] = count(&view);
      OPSDK_DATA(double, y)[2] = opsdk_size(x);
      return 0;
    }
    """
    made = op("sized(Tensor x) -> Tensor y", source)
    assert made(np.zeros(3)).tolist() == [6, 15, 3]


def test_the_size_of_an_absent_input_is_not_looked_at():
    source = """
    int32_t kept_f64(const DLTensor *x, const DLTensor *w, DLTensor *y) {
      for (int64_t i = 0; i < opsdk_size(x); ++i) {
        OPSDK_DATA(double, y)[i] = OPSDK_DATA(const double, x)[i];
        if (w) OPSDK_DATA(double, y)[i] += opsdk_size(w);
      }
      return 0;
    }
    """
    made = op("kept(Tensor x, Tensor? w=None) -> Tensor y", source)
    assert made(np.ones(3)).tolist() == [1, 1, 1]
    assert made(np.ones(3), np.ones(3)).tolist() == [4, 4, 4]


# -- random numbers


def test_philox_in_c_gives_the_published_vectors():
    text = """
    void words_u32(const DLTensor *counter, const DLTensor *key, DLTensor *y) {
      const uint32_t *k = OPSDK_DATA(const uint32_t, key);
      uint32_t *out = OPSDK_DATA(uint32_t, y);
      memcpy(out, OPSDK_DATA(const uint32_t, counter), 16);
      opsdk_philox(out, k[0], k[1]);
    }
    """
    words = op("words(Tensor counter, Tensor key) -> Tensor y", text, infer=lambda counter, key: counter)
    for counter, key, wanted in philox.VECTORS:
        assert tuple(words(np.array(counter, "uint32"), np.array(key, "uint32")).tolist()) == wanted


def test_random_numbers_in_c_are_those_of_vmath():
    text = """
    void draws_i64(const DLTensor *i, DLTensor *bits, DLTensor *u, DLTensor *uf, DLTensor *z, DLTensor *zf, int64_t k) {
      const int64_t *at = OPSDK_DATA(const int64_t, i);
      for (int64_t n = 0; n < opsdk_size(i); ++n) {
        OPSDK_DATA(uint64_t, bits)[n] = opsdk_random_bits(k, at[n]);
        OPSDK_DATA(double, u)[n] = opsdk_uniform(k, at[n]);
        OPSDK_DATA(float, uf)[n] = opsdk_uniformf(k, at[n]);
        OPSDK_DATA(double, z)[n] = opsdk_normal(k, at[n]);
        OPSDK_DATA(float, zf)[n] = opsdk_normalf(k, at[n]);
      }
    }
    """
    kinds = ("uint64", "float64", "float32", "float64", "float32")
    outputs = "(Tensor bits, Tensor u, Tensor uf, Tensor z, Tensor zf)"
    draws = op(
        f"draws(Tensor i, *, int k) -> {outputs}",
        text,
        infer=lambda i: tuple(opsdk.TensorSpec(i.shape, kind) for kind in kinds),
    )
    i = np.concatenate([np.arange(500), 2**32 - 3 + np.arange(6), [2**63 - 1, -1]])
    for key in (5, 2**45 + 3, -7):
        bits, u, uf, z, zf = draws(i, k=key)
        np.testing.assert_array_equal(bits, vmath.random_bits(key, i))
        np.testing.assert_array_equal(u, vmath.uniform(key, i))
        np.testing.assert_array_equal(uf, vmath.uniform(key, i, np.float32))
        np.testing.assert_allclose(z, vmath.normal(key, i), rtol=0, atol=4e-15)
        np.testing.assert_allclose(zf, vmath.normal(key, i, np.float32), rtol=0, atol=2e-6)

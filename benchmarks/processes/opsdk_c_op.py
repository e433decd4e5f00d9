"""A C op of opsdk, from its source to its first call."""

from stages import Stages

stages = Stages()
import numpy as np  # noqa: E402

stages.end("import numpy")
import opsdk  # noqa: E402

stages.end("import the framework")


@opsdk.op(namespace="bench")
def leaky(x, *, slope: float = 0.1):
    return np.where(x > 0, x, x.dtype.type(slope) * x)


leaky.kernel(
    "cpu",
    language="c",
    source="""
int32_t leaky_f32(const DLTensor *x, DLTensor *y, double slope) {
  const float *in = OPSDK_DATA(const float, x);
  float *out = OPSDK_DATA(float, y);
  const int64_t n = opsdk_size(x);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = in[i] > 0 ? in[i] : (float)slope * in[i];
  }
  return 0;
}
""",
)
x = np.linspace(-3, 3, 1000, dtype=np.float32)
stages.end("definition")
y = leaky(x, slope=0.5)
stages.end("first call")
leaky(x, slope=0.5)
stages.end("second call")
assert np.array_equal(y, np.where(x > 0, x, np.float32(0.5) * x))
stages.print()

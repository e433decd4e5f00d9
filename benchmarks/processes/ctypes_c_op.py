"""A C function, compiled by hand and called through ctypes: what a C op costs without a framework."""

from stages import Stages

stages = Stages()
import ctypes  # noqa: E402
import os  # noqa: E402
import subprocess  # noqa: E402

import numpy as np  # noqa: E402

stages.end("import numpy")
stages.end("import the framework")
SOURCE = """
#include <stdint.h>
int32_t leaky_f32(const float *in, float *out, int64_t n, double slope) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = in[i] > 0 ? in[i] : (float)slope * in[i];
  }
  return 0;
}
"""
x = np.linspace(-3, 3, 1000, dtype=np.float32)
stages.end("definition")
library = os.path.join(os.environ["BENCHMARK_CACHE_DIR"], "leaky.so")  # noqa: PTH118 - no import more than is needed
if not os.path.exists(library):  # noqa: PTH110
    os.makedirs(os.path.dirname(library), exist_ok=True)  # noqa: PTH103, PTH120
    command = ["cc", "-x", "c", "-O3", "-march=native", "-fPIC", "-shared", "-o", library, "-"]
    subprocess.run(command, input=SOURCE, text=True, check=True)
function = ctypes.CDLL(library).leaky_f32
function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double]


def leaky(x, slope):
    y = np.empty_like(x)
    function(x.ctypes.data, y.ctypes.data, x.size, slope)
    return y


y = leaky(x, 0.5)
stages.end("first call")
leaky(x, 0.5)
stages.end("second call")
assert np.array_equal(y, np.where(x > 0, x, np.float32(0.5) * x))
stages.print()

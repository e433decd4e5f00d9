"""A C++ op as paddle.utils.cpp_extension builds and loads it, from its source to its first call."""

from stages import Stages

stages = Stages()
import os  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

stages.end("import numpy")
import paddle  # noqa: E402
from paddle.utils.cpp_extension import load  # noqa: E402

stages.end("import the framework")
SOURCE = """
#include "paddle/extension.h"
std::vector<paddle::Tensor> Leaky(const paddle::Tensor &x, float slope) {
  auto y = paddle::empty_like(x);
  const float *in = x.data<float>();
  float *out = y.data<float>();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = in[i] > 0 ? in[i] : slope * in[i];
  return {y};
}
PD_BUILD_OP(bench_leaky).Inputs({"X"}).Outputs({"Y"}).Attrs({"slope: float"}).SetKernelFn(PD_KERNEL(Leaky));
"""
folder = Path(os.environ["BENCHMARK_CACHE_DIR"])
folder.mkdir(parents=True, exist_ok=True)
source = folder / "leaky.cc"
if not source.exists():
    source.write_text(SOURCE)
x = paddle.linspace(-3, 3, 1000, dtype="float32")
stages.end("definition")
leaky = load("bench_leaky", [str(source)], build_directory=str(folder)).bench_leaky
y = leaky(x, 0.5)
stages.end("first call")
leaky(x, 0.5)
stages.end("second call")
values = x.numpy()
assert np.array_equal(y.numpy(), np.where(values > 0, values, np.float32(0.5) * values))
stages.print()

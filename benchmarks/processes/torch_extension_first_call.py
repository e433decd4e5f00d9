"""A C++ op as torch.utils.cpp_extension loads it: built by the first process, found built by the next ones."""

from stages import Stages

stages = Stages()
import numpy  # noqa: E402, F401

stages.end("import numpy")
import torch  # noqa: E402
from torch.utils.cpp_extension import load_inline  # noqa: E402

stages.end("import the framework")
SOURCE = """
#include <torch/extension.h>
torch::Tensor leaky(torch::Tensor x, double slope) {
  x = x.contiguous();
  auto y = torch::empty_like(x);
  const float *in = x.data_ptr<float>();
  float *out = y.data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = in[i] > 0 ? in[i] : (float)slope * in[i];
  return y;
}
"""
x = torch.linspace(-3, 3, 1000)
stages.end("definition")
leaky = load_inline("bench_leaky", SOURCE, functions="leaky").leaky
y = leaky(x, 0.5)
stages.end("first call")
leaky(x, 0.5)
stages.end("second call")
assert torch.equal(y, torch.where(x > 0, x, 0.5 * x))
stages.print()

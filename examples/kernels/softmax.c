/* Softmax over the last axis: y = exp(x - max x) / sum, and dx = y (dy - sum of y dy). */

#include <math.h>

#define SOFTMAX(T, suffix, EXP)                                                                       \
  int32_t softmax_##suffix(const DLTensor *x, DLTensor *y) {                                          \
    const int64_t n = x->shape[x->ndim - 1], size = opsdk_size(x);                                    \
    for (int64_t start = 0; start < size; start += n) {                                               \
      const T *in = OPSDK_DATA(const T, x) + start;                                                   \
      T *out = OPSDK_DATA(T, y) + start, top = in[0], total = 0;                                      \
      for (int64_t j = 1; j < n; ++j)                                                                 \
        if (in[j] > top) top = in[j];                                                                 \
      for (int64_t j = 0; j < n; ++j) total += out[j] = EXP(in[j] - top);                             \
      for (int64_t j = 0; j < n; ++j) out[j] /= total;                                                \
    }                                                                                                 \
    return 0;                                                                                         \
  }                                                                                                   \
                                                                                                      \
  int32_t softmax_grad_##suffix(const DLTensor *y, const DLTensor *dy, DLTensor *dx) {                \
    const int64_t n = y->shape[y->ndim - 1], size = opsdk_size(y);                                    \
    for (int64_t start = 0; start < size; start += n) {                                               \
      const T *out = OPSDK_DATA(const T, y) + start, *arriving = OPSDK_DATA(const T, dy) + start;     \
      T *leaving = OPSDK_DATA(T, dx) + start, inner = 0;                                              \
      for (int64_t j = 0; j < n; ++j) inner += out[j] * arriving[j];                                  \
      for (int64_t j = 0; j < n; ++j) leaving[j] = out[j] * (arriving[j] - inner);                    \
    }                                                                                                 \
    return 0;                                                                                         \
  }

SOFTMAX(float, f32, expf)
SOFTMAX(double, f64, exp)

/* Swish: y = x sigmoid(beta x), and dx = dy (s + beta x s (1 - s)) with s = sigmoid(beta x). */

#include <math.h>

/* Where exp overflows, 1 / (1 + inf) is the 0 that it should be. */
#define SWISH(T, suffix, EXP)                                                                                \
  static T sigmoid_##suffix(T z) { return 1 / (1 + EXP(-z)); }                                               \
                                                                                                             \
  int32_t swish_##suffix(const DLTensor *x, DLTensor *y, double beta) {                                      \
    const T *in = OPSDK_DATA(const T, x), b = (T)beta;                                                       \
    T *out = OPSDK_DATA(T, y);                                                                               \
    const int64_t n = opsdk_size(x);                                                                         \
    for (int64_t i = 0; i < n; ++i) out[i] = in[i] * sigmoid_##suffix(b * in[i]);                            \
    return 0;                                                                                                \
  }                                                                                                          \
                                                                                                             \
  int32_t swish_grad_##suffix(const DLTensor *x, const DLTensor *dy, DLTensor *dx, double beta) {            \
    const T *in = OPSDK_DATA(const T, x), *arriving = OPSDK_DATA(const T, dy), b = (T)beta;                  \
    T *leaving = OPSDK_DATA(T, dx);                                                                          \
    const int64_t n = opsdk_size(x);                                                                         \
    for (int64_t i = 0; i < n; ++i) {                                                                        \
      const T s = sigmoid_##suffix(b * in[i]);                                                               \
      leaving[i] = arriving[i] * (s + b * in[i] * s * (1 - s));                                              \
    }                                                                                                        \
    return 0;                                                                                                \
  }

SWISH(float, f32, expf)
SWISH(double, f64, exp)

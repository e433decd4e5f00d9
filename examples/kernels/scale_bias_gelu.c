/* y = gelu(x w + b) and its three gradients; x holds rows of n elements, w and b hold n. */

#include <math.h>

#define SCALE_BIAS_GELU(T, suffix, ERFC, EXP)                                                                     \
  int32_t scale_bias_gelu_##suffix(const DLTensor *x, const DLTensor *w, const DLTensor *b, DLTensor *y) {        \
    const T *in = OPSDK_DATA(const T, x), *scale = OPSDK_DATA(const T, w), *bias = OPSDK_DATA(const T, b);        \
    const T root_half = (T)0.70710678118654752;                                                                   \
    T *out = OPSDK_DATA(T, y);                                                                                    \
    const int64_t n = w->shape[0], size = opsdk_size(x);                                                          \
    for (int64_t start = 0; start < size; start += n)                                                             \
      for (int64_t j = 0; j < n; ++j) {                                                                           \
        const T z = in[start + j] * scale[j] + bias[j];                                                           \
        out[start + j] = z * ERFC(-z * root_half) / 2;                                                            \
      }                                                                                                           \
    return 0;                                                                                                     \
  }                                                                                                               \
                                                                                                                  \
  int32_t scale_bias_gelu_grad_##suffix(const DLTensor *x, const DLTensor *w, const DLTensor *b,                  \
                                        const DLTensor *dy, DLTensor *dx, DLTensor *dw, DLTensor *db) {           \
    const T *in = OPSDK_DATA(const T, x), *scale = OPSDK_DATA(const T, w), *bias = OPSDK_DATA(const T, b);        \
    const T *arriving = OPSDK_DATA(const T, dy);                                                                  \
    const T root_half = (T)0.70710678118654752, density_at_0 = (T)0.39894228040143268;                            \
    T *leaving = OPSDK_DATA(T, dx), *sum_w = OPSDK_DATA(T, dw), *sum_b = OPSDK_DATA(T, db);                       \
    const int64_t n = w->shape[0], size = opsdk_size(x);                                                          \
    for (int64_t j = 0; j < n; ++j) sum_w[j] = sum_b[j] = 0;                                                      \
    for (int64_t start = 0; start < size; start += n)                                                             \
      for (int64_t j = 0; j < n; ++j) {                                                                           \
        const T x_j = in[start + j], z = x_j * scale[j] + bias[j];                                                \
        const T slope = ERFC(-z * root_half) / 2 + z * density_at_0 * EXP(-z * z / 2);                            \
        const T dz = arriving[start + j] * slope;                                                                 \
        leaving[start + j] = dz * scale[j];                                                                       \
        sum_w[j] += dz * x_j;                                                                                     \
        sum_b[j] += dz;                                                                                           \
      }                                                                                                           \
    return 0;                                                                                                     \
  }

SCALE_BIAS_GELU(float, f32, erfcf, expf)
SCALE_BIAS_GELU(double, f64, erfc, exp)

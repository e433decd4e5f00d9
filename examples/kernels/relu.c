/* ReLU: y = max(x, 0), and dx = dy where y > 0. opsdk.h is in front of this file. */

#define RELU(T, suffix)                                                                            \
  int32_t relu_##suffix(const DLTensor *x, DLTensor *y) {                                          \
    const T *in = OPSDK_DATA(const T, x);                                                          \
    T *out = OPSDK_DATA(T, y);                                                                     \
    const int64_t n = opsdk_size(x);                                                               \
    for (int64_t i = 0; i < n; ++i) out[i] = in[i] < 0 ? 0 : in[i]; /* NaN stays NaN */           \
    return 0;                                                                                      \
  }                                                                                                \
                                                                                                   \
  int32_t relu_grad_##suffix(const DLTensor *y, const DLTensor *dy, DLTensor *dx) {                \
    const T *out = OPSDK_DATA(const T, y), *arriving = OPSDK_DATA(const T, dy);                    \
    T *leaving = OPSDK_DATA(T, dx);                                                                \
    const int64_t n = opsdk_size(y);                                                               \
    for (int64_t i = 0; i < n; ++i) leaving[i] = out[i] > 0 ? arriving[i] : 0;                     \
    return 0;                                                                                      \
  }

RELU(float, f32)
RELU(double, f64)

/* One step of AdamW for a list of parameters: one pass over the four arrays of each. */
#include <math.h>

#define DEFINE(T, suffix)                                                                                            \
  int32_t fused_adamw_##suffix(DLTensor *const *params, int64_t params_len, const DLTensor *const *grads,            \
                               int64_t grads_len, DLTensor *const *means, int64_t means_len,                         \
                               DLTensor *const *squares, int64_t squares_len, DLTensor *step, const DLTensor *lr,    \
                               double beta1, double beta2, double eps, double weight_decay) {                        \
    const double number = (double)++*OPSDK_DATA(int64_t, step), rate = *OPSDK_DATA(const T, lr);                     \
    const double share1 = 1 - pow(beta1, number), share2 = 1 - pow(beta2, number);                                   \
    (void)grads_len, (void)means_len, (void)squares_len;                                                             \
    for (int64_t k = 0; k < params_len; ++k) {                                                                       \
      T *p = OPSDK_DATA(T, params[k]), *m = OPSDK_DATA(T, means[k]), *v = OPSDK_DATA(T, squares[k]);                 \
      const T *g = OPSDK_DATA(const T, grads[k]);                                                                    \
      for (int64_t i = 0; i < opsdk_size(params[k]); ++i) {                                                          \
        const double mean = m[i] + (1 - beta1) * ((double)g[i] - m[i]);                                              \
        const double square = v[i] + (1 - beta2) * ((double)g[i] * g[i] - v[i]);                                     \
        m[i] = (T)mean;                                                                                              \
        v[i] = (T)square;                                                                                            \
        p[i] = (T)(p[i] - rate * (weight_decay * p[i] + mean / share1 / (sqrt(square / share2) + eps)));             \
      }                                                                                                              \
    }                                                                                                                \
    return 0;                                                                                                        \
  }

DEFINE(float, f32)
DEFINE(double, f64)

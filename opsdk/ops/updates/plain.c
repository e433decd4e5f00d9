/* Steps of SGD, Momentum and Adam, each in one pass, with the roundings of the formulas in NumPy. */
#include <math.h>

enum { ALONE = 1 << 16 }; /* elements that one thread takes in the time that the others take to wake up */
enum { WELL, OTHER_SHAPE, MANY };

const char *opsdk_message(int32_t status) {
  return status == OTHER_SHAPE ? "grad, and what is kept beside it, expected the shape of param"
         : status == MANY      ? "learning_rate, beta1_pow and beta2_pow expected one element each"
                               : 0;
}

static double number(const DLTensor *x) {
  return OPSDK_IS(x, kDLFloat, 32) ? OPSDK_DATA(const float, x)[0] : OPSDK_DATA(const double, x)[0];
}

#define EACH(count) _Pragma("omp parallel for schedule(static) if (count > ALONE)") for (int64_t i = 0; i < count; ++i)

#define STEPS(T, suffix, root)                                                                                        \
  int32_t sgd_##suffix(DLTensor *param, const DLTensor *grad, const DLTensor *learning_rate) {                        \
    if (!opsdk_same_shape(param, grad)) return OTHER_SHAPE;                                                           \
    if (opsdk_size(learning_rate) != 1) return MANY;                                                                  \
    T *p = OPSDK_DATA(T, param);                                                                                      \
    const T *g = OPSDK_DATA(const T, grad), rate = (T)number(learning_rate);                                          \
    const int64_t count = opsdk_size(param);                                                                          \
    EACH(count) p[i] -= rate * g[i];                                                                                  \
    return WELL;                                                                                                      \
  }                                                                                                                   \
                                                                                                                      \
  int32_t momentum_##suffix(DLTensor *param, const DLTensor *grad, const DLTensor *learning_rate, DLTensor *velocity, \
                            double mu, int32_t use_nesterov) {                                                        \
    if (!opsdk_same_shape(param, grad) || !opsdk_same_shape(param, velocity)) return OTHER_SHAPE;                     \
    if (opsdk_size(learning_rate) != 1) return MANY;                                                                  \
    T *p = OPSDK_DATA(T, param), *v = OPSDK_DATA(T, velocity);                                                        \
    const T *g = OPSDK_DATA(const T, grad), rate = (T)number(learning_rate), part = (T)mu;                            \
    const int64_t count = opsdk_size(param);                                                                          \
    EACH(count) {                                                                                                     \
      const T speed = v[i] * part + g[i];                                                                             \
      v[i] = speed;                                                                                                   \
      p[i] -= rate * (use_nesterov ? g[i] + part * speed : speed);                                                    \
    }                                                                                                                 \
    return WELL;                                                                                                      \
  }                                                                                                                   \
                                                                                                                      \
  int32_t adam_##suffix(DLTensor *param, const DLTensor *grad, const DLTensor *learning_rate, DLTensor *moment1,      \
                        DLTensor *moment2, DLTensor *beta1_pow, DLTensor *beta2_pow, double beta1, double beta2,      \
                        double epsilon, double decay) {                                                               \
    if (!opsdk_same_shape(param, grad) || !opsdk_same_shape(param, moment1) || !opsdk_same_shape(param, moment2))     \
      return OTHER_SHAPE;                                                                                             \
    if (opsdk_size(learning_rate) != 1 || opsdk_size(beta1_pow) != 1 || opsdk_size(beta2_pow) != 1) return MANY;      \
    double *power1 = OPSDK_DATA(double, beta1_pow), *power2 = OPSDK_DATA(double, beta2_pow);                          \
    *power1 *= beta1, *power2 *= beta2;                                                                               \
    const double told = number(learning_rate), correction = sqrt(1 - *power2);                                        \
    const T rate = (T)(told * correction / (1 - *power1)), least = (T)(epsilon * correction);                         \
    const T kept1 = (T)beta1, new1 = (T)(1 - beta1), kept2 = (T)beta2, new2 = (T)(1 - beta2);                         \
    const T drawn = decay ? 1 - (T)told * (T)decay : 1;                                                               \
    T *p = OPSDK_DATA(T, param), *m = OPSDK_DATA(T, moment1), *s = OPSDK_DATA(T, moment2);                            \
    const T *g = OPSDK_DATA(const T, grad);                                                                           \
    const int64_t count = opsdk_size(param);                                                                          \
    EACH(count) {                                                                                                     \
      const T mean = m[i] * kept1 + new1 * g[i], square = s[i] * kept2 + g[i] * g[i] * new2;                          \
      m[i] = mean, s[i] = square;                                                                                     \
      p[i] = p[i] * drawn - rate * mean / (root(square) + least);                                                     \
    }                                                                                                                 \
    return WELL;                                                                                                      \
  }

STEPS(float, f32, sqrtf)
STEPS(double, f64, sqrt)

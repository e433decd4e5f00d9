/* Batch normalization and its gradient, over x as (batch, channels, inner). A block of channels at a time, so that rows
 * of single values are read in lines as images are. Sums are in double. The gradient takes off what the mean of the batch
 * was rounded by, which a sum of many cotangents of one sign would multiply.
 */
#include <math.h>

enum { BLOCK = 64 };

typedef struct {
  int64_t batch, channels, inner;
} sizes;

static sizes sizes_of(const DLTensor *x) {
  sizes s = {x->shape[0], x->shape[1], 1};
  for (int32_t axis = 2; axis < x->ndim; ++axis) s.inner *= x->shape[axis];
  return s;
}

/* Runs BODY for every element of channels first … end: at is its place in memory, k its channel. */
#define EACH(s, first, end, ...)                                              \
  for (int64_t i = 0; i < (s).batch; ++i)                                     \
    for (int64_t k = (first); k < (end); ++k) {                               \
      const int64_t row = (i * (s).channels + k) * (s).inner;                 \
      for (int64_t at = row; at < row + (s).inner; ++at) __VA_ARGS__          \
    }

#define DEFINE(T, suffix)                                                                                            \
  int32_t batch_norm_##suffix(const DLTensor *x, const DLTensor *weight, const DLTensor *bias,                       \
                              DLTensor *running_mean, DLTensor *running_var, DLTensor *y, DLTensor *mean,            \
                              DLTensor *rstd, int32_t training, double momentum, double eps) {                       \
    const sizes s = sizes_of(x);                                                                                     \
    const double count = (double)(s.batch * s.inner);                                                                \
    const T *in = OPSDK_DATA(const T, x), *w = OPSDK_DATA(const T, weight), *b = OPSDK_DATA(const T, bias);          \
    T *out = OPSDK_DATA(T, y), *used = OPSDK_DATA(T, mean), *scale = OPSDK_DATA(T, rstd);                            \
    T *kept_mean = running_mean ? OPSDK_DATA(T, running_mean) : 0;                                                   \
    T *kept_var = running_var ? OPSDK_DATA(T, running_var) : 0;                                                      \
    for (int64_t first = 0; first < s.channels; first += BLOCK) {                                                    \
      const int64_t end = first + BLOCK < s.channels ? first + BLOCK : s.channels;                                   \
      double middle[BLOCK] = {0}, spread[BLOCK] = {0};                                                               \
      if (training) {                                                                                                \
        EACH(s, first, end, middle[k - first] += in[at];)                                                            \
        for (int64_t k = first; k < end; ++k) middle[k - first] /= count;                                            \
        EACH(s, first, end, {                                                                                        \
          const double apart = in[at] - middle[k - first];                                                           \
          spread[k - first] += apart * apart;                                                                        \
        })                                                                                                           \
      }                                                                                                              \
      for (int64_t k = first; k < end; ++k) {                                                                        \
        double *m = middle + k - first, *v = spread + k - first;                                                     \
        if (training && kept_mean) {                                                                                 \
          kept_mean[k] += (T)(momentum * (*m - kept_mean[k]));                                                       \
          kept_var[k] += (T)(momentum * (*v / (count - 1) - kept_var[k]));                                           \
        }                                                                                                            \
        *v = training ? *v / count : kept_var[k];                                                                    \
        if (!training) *m = kept_mean[k];                                                                            \
        *v = 1 / sqrt(*v + eps);                                                                                     \
        used[k] = (T)*m;                                                                                             \
        scale[k] = (T)*v;                                                                                            \
      }                                                                                                              \
      EACH(s, first, end, out[at] = (T)((in[at] - middle[k - first]) * (spread[k - first] * w[k]) + b[k]);)          \
    }                                                                                                                \
    return 0;                                                                                                        \
  }                                                                                                                  \
                                                                                                                     \
  int32_t batch_norm_grad_##suffix(const DLTensor *x, const DLTensor *weight, const DLTensor *mean,                  \
                                   const DLTensor *rstd, const DLTensor *dy, const DLTensor *dmean,                  \
                                   const DLTensor *drstd, DLTensor *dx, DLTensor *dweight, DLTensor *dbias,          \
                                   int32_t training) {                                                               \
    const sizes s = sizes_of(x);                                                                                     \
    const double count = (double)(s.batch * s.inner);                                                                \
    const T *in = OPSDK_DATA(const T, x), *arriving = OPSDK_DATA(const T, dy), *w = OPSDK_DATA(const T, weight);     \
    const T *used = OPSDK_DATA(const T, mean), *scale = OPSDK_DATA(const T, rstd);                                   \
    T *out = OPSDK_DATA(T, dx), *dw = OPSDK_DATA(T, dweight), *db = OPSDK_DATA(T, dbias);                            \
    for (int64_t first = 0; first < s.channels; first += BLOCK) {                                                    \
      const int64_t end = first + BLOCK < s.channels ? first + BLOCK : s.channels;                                   \
      double shift[BLOCK] = {0}, stretch[BLOCK] = {0}, drift[BLOCK] = {0};                                           \
      EACH(s, first, end, {                                                                                          \
        shift[k - first] += arriving[at];                                                                            \
        const double apart = (double)in[at] - used[k];                                                               \
        drift[k - first] += apart;                                                                                   \
        stretch[k - first] += arriving[at] * apart;                                                                  \
      })                                                                                                             \
      for (int64_t k = first; k < end; ++k) {                                                                        \
        const double rounding = drift[k - first] = training ? drift[k - first] / count : 0;                          \
        const double r = scale[k], sum = shift[k - first], projected = stretch[k - first] - sum * rounding;          \
        dw[k] = (T)(projected * r);                                                                                  \
        db[k] = (T)sum;                                                                                              \
        shift[k - first] = training ? (OPSDK_DATA(const T, dmean)[k] - w[k] * r * sum) / count : 0;                  \
        stretch[k - first] = training ? r * r * r * (OPSDK_DATA(const T, drstd)[k] + w[k] * projected) / count : 0;  \
      }                                                                                                              \
      EACH(s, first, end, {                                                                                          \
        const double through = arriving[at] * ((double)w[k] * scale[k]); /* of x itself nothing, where it is nan */  \
        const double apart = training ? (double)in[at] - used[k] - drift[k - first] : 0;                             \
        out[at] = (T)(through + shift[k - first] - apart * stretch[k - first]);                                      \
      })                                                                                                             \
    }                                                                                                                \
    return 0;                                                                                                        \
  }

DEFINE(float, f32)
DEFINE(double, f64)

/* Attention of one query after the other, with a running maximum and sum over the keys. */

#include <math.h>
#include <stdlib.h>

const char *opsdk_message(int32_t status) {
  (void)status;
  return "expected memory for the sum of one query, got none";
}

/* Where the row of a mask for query i of batch b begins; the mask broadcasts to the axes of q but the last. */
static const uint8_t *seen_from(const DLTensor *mask, const DLTensor *q, int64_t b, int64_t i) {
  int64_t offset = 0, step = mask->shape[mask->ndim - 1];
  for (int32_t axis = mask->ndim - 2, its = q->ndim - 2; axis >= 0; --axis, --its) {
    const int64_t at = its == q->ndim - 2 ? i : b % q->shape[its];
    if (its != q->ndim - 2) b /= q->shape[its];
    if (mask->shape[axis] != 1) offset += at * step;
    step *= mask->shape[axis];
  }
  return OPSDK_DATA(const uint8_t, mask) + offset;
}

#define ATTENTION(T, suffix)                                                                                          \
  int32_t flash_attention_##suffix(const DLTensor *q, const DLTensor *k, const DLTensor *v, const DLTensor *mask,     \
                                   DLTensor *out, DLTensor *lse, int32_t causal, const double *scale) {               \
    const int64_t n = q->shape[q->ndim - 2], d = q->shape[q->ndim - 1], m = k->shape[k->ndim - 2];                    \
    const int64_t width = v->shape[v->ndim - 1], rows = opsdk_size(lse);                                              \
    const double factor = scale ? *scale : 1 / sqrt((double)d);                                                       \
    const int64_t last = mask ? mask->shape[mask->ndim - 1] : 0;                                                      \
    double *sum = malloc((width ? width : 1) * sizeof(double));                                                       \
    if (!sum) return -1;                                                                                              \
    for (int64_t row = 0; row < rows; ++row) {                                                                        \
      const int64_t b = row / n, i = row % n, end = causal && i + m - n + 1 < m ? i + m - n + 1 : m;                  \
      const T *query = OPSDK_DATA(const T, q) + row * d, *keys = OPSDK_DATA(const T, k) + b * m * d;                  \
      const T *values = OPSDK_DATA(const T, v) + b * m * width;                                                       \
      const uint8_t *seen = mask ? seen_from(mask, q, b, i) : 0;                                                      \
      double top = -INFINITY, total = 0;                                                                              \
      for (int64_t e = 0; e < width; ++e) sum[e] = 0;                                                                 \
      for (int64_t j = 0; j < end; ++j) {                                                                             \
        if (seen && !seen[last == 1 ? 0 : j]) continue;                                                               \
        double score = 0;                                                                                             \
        for (int64_t c = 0; c < d; ++c) score += (double)query[c] * (double)keys[j * d + c];                          \
        score *= factor;                                                                                              \
        if (score == -INFINITY) continue;                                                                             \
        if (score > top) {                                                                                            \
          const double kept = exp(top - score);                                                                       \
          total *= kept;                                                                                              \
          for (int64_t e = 0; e < width; ++e) sum[e] *= kept;                                                         \
          top = score;                                                                                                \
        }                                                                                                             \
        const double share = exp(score - top);                                                                        \
        total += share;                                                                                               \
        for (int64_t e = 0; e < width; ++e) sum[e] += share * (double)values[j * width + e];                          \
      }                                                                                                               \
      for (int64_t e = 0; e < width; ++e)                                                                             \
        OPSDK_DATA(T, out)[row * width + e] = (T)(total != 0 ? sum[e] / total : 0);                                   \
      OPSDK_DATA(T, lse)[row] = (T)(total != 0 ? top + log(total) : -INFINITY);                                       \
    }                                                                                                                 \
    free(sum);                                                                                                        \
    return 0;                                                                                                         \
  }

ATTENTION(float, f32)
ATTENTION(double, f64)

/* Bilinear resizing of (N, C, H, W) with half-pixel centres, and its gradient, which is the transpose. */

typedef struct {
  int64_t low, high; /* the two input pixels that an output pixel lies between */
  double weight;     /* of the second */
} tap;

static tap tap_of(int64_t i, int64_t made, int64_t size) {
  const double place = ((double)i + 0.5) * (double)size / (double)made - 0.5;
  tap t;
  t.low = place > 0 ? (int64_t)place : 0;
  if (t.low > size - 1) t.low = size - 1;
  t.high = t.low < size - 1 ? t.low + 1 : t.low;
  t.weight = place > 0 ? place - (double)t.low : 0;
  return t;
}

#define RESIZE_BILINEAR(T, suffix)                                                                              \
  int32_t resize_bilinear_##suffix(const DLTensor *x, DLTensor *y, const int64_t *size, int64_t size_len) {     \
    const int64_t planes = x->shape[0] * x->shape[1], in_h = x->shape[2], in_w = x->shape[3];                   \
    const int64_t h = y->shape[2], w = y->shape[3];                                                             \
    (void)size, (void)size_len; /* y has that shape already */                                                  \
    for (int64_t i = 0; i < h; ++i) {                                                                           \
      const tap v = tap_of(i, h, in_h);                                                                         \
      for (int64_t j = 0; j < w; ++j) {                                                                         \
        const tap u = tap_of(j, w, in_w);                                                                       \
        const T v1 = (T)v.weight, u1 = (T)u.weight, v0 = 1 - v1, u0 = 1 - u1;                                   \
        for (int64_t plane = 0; plane < planes; ++plane) {                                                      \
          const T *in = OPSDK_DATA(const T, x) + plane * in_h * in_w;                                           \
          const T *above = in + v.low * in_w, *below = in + v.high * in_w;                                      \
          OPSDK_DATA(T, y)[(plane * h + i) * w + j] =                                                           \
              v0 * (u0 * above[u.low] + u1 * above[u.high]) + v1 * (u0 * below[u.low] + u1 * below[u.high]);    \
        }                                                                                                       \
      }                                                                                                         \
    }                                                                                                           \
    return 0;                                                                                                   \
  }                                                                                                             \
                                                                                                                \
  int32_t resize_bilinear_grad_##suffix(const DLTensor *dy, DLTensor *dx, const int64_t *size,                  \
                                        int64_t size_len, const DLTensor *x) {                                  \
    const int64_t planes = x->shape[0] * x->shape[1], in_h = x->shape[2], in_w = x->shape[3];                   \
    const int64_t h = dy->shape[2], w = dy->shape[3];                                                           \
    (void)size, (void)size_len;                                                                                 \
    memset(OPSDK_DATA(T, dx), 0, (size_t)opsdk_size(dx) * sizeof(T));                                           \
    for (int64_t i = 0; i < h; ++i) {                                                                           \
      const tap v = tap_of(i, h, in_h);                                                                         \
      for (int64_t j = 0; j < w; ++j) {                                                                         \
        const tap u = tap_of(j, w, in_w);                                                                       \
        const T v1 = (T)v.weight, u1 = (T)u.weight, v0 = 1 - v1, u0 = 1 - u1;                                   \
        for (int64_t plane = 0; plane < planes; ++plane) {                                                      \
          const T arriving = OPSDK_DATA(const T, dy)[(plane * h + i) * w + j];                                  \
          T *leaving = OPSDK_DATA(T, dx) + plane * in_h * in_w;                                                 \
          T *above = leaving + v.low * in_w, *below = leaving + v.high * in_w;                                  \
          above[u.low] += v0 * u0 * arriving;                                                                   \
          above[u.high] += v0 * u1 * arriving;                                                                  \
          below[u.low] += v1 * u0 * arriving;                                                                   \
          below[u.high] += v1 * u1 * arriving;                                                                  \
        }                                                                                                       \
      }                                                                                                         \
    }                                                                                                           \
    return 0;                                                                                                   \
  }

RESIZE_BILINEAR(float, f32)
RESIZE_BILINEAR(double, f64)

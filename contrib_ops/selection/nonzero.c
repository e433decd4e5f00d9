/* nonzero: a pass that counts, and one that writes positions. */

#define NONZERO(T, suffix)                                                                 \
  void nonzero_count_##suffix(const DLTensor *x, int64_t *sizes) {                         \
    const T *in = OPSDK_DATA(const T, x);                                                  \
    int64_t count = 0;                                                                     \
    for (int64_t i = 0; i < opsdk_size(x); ++i) count += in[i] != 0;                       \
    sizes[0] = count;                                                                      \
  }                                                                                        \
                                                                                           \
  void nonzero_##suffix(const DLTensor *x, DLTensor *index, int64_t *sizes) {              \
    const T *in = OPSDK_DATA(const T, x);                                                  \
    int64_t *out = OPSDK_DATA(int64_t, index), filled = 0;                                 \
    for (int64_t i = 0; i < opsdk_size(x); ++i) {                                          \
      if (in[i] == 0) continue;                                                            \
      int64_t rest = i;                                                                    \
      for (int32_t d = x->ndim - 1; d >= 0; rest /= x->shape[d--])                         \
        out[filled * x->ndim + d] = rest % x->shape[d];                                    \
      ++filled;                                                                            \
    }                                                                                      \
    sizes[0] = filled;                                                                     \
  }

NONZERO(float, f32)
NONZERO(double, f64)
NONZERO(int64_t, i64)
NONZERO(uint8_t, bool)

/* masked_select: elements are moved as they are, whatever they hold. Its gradient puts them back. */

#define MASKED_SELECT(T, suffix)                                                                                \
  void masked_select_##suffix(const DLTensor *x, const DLTensor *mask, DLTensor *y, int64_t *sizes) {           \
    const T *in = OPSDK_DATA(const T, x);                                                                       \
    const uint8_t *is_selected = OPSDK_DATA(const uint8_t, mask);                                               \
    T *out = OPSDK_DATA(T, y);                                                                                  \
    int64_t filled = 0;                                                                                         \
    for (int64_t i = 0; i < opsdk_size(x); ++i) {                                                               \
      if (!is_selected[i]) continue;                                                                            \
      out[filled++] = in[i];                                                                                    \
    }                                                                                                           \
    sizes[0] = filled;                                                                                          \
  }

MASKED_SELECT(float, f32)
MASKED_SELECT(double, f64)
MASKED_SELECT(int64_t, i64)

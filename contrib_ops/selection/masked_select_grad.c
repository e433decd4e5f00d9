/* The gradient of masked_select: each cotangent to where its element was, and zero beside. */

#define MASKED_SELECT_GRAD(T, suffix)                                                                    \
  void masked_select_grad_##suffix(const DLTensor *mask, const DLTensor *dy, DLTensor *dx) {             \
    const T *in = OPSDK_DATA(const T, dy);                                                               \
    const uint8_t *is_selected = OPSDK_DATA(const uint8_t, mask);                                        \
    T *out = OPSDK_DATA(T, dx);                                                                          \
    int64_t left = 0;                                                                                    \
    for (int64_t i = 0; i < opsdk_size(mask); ++i) out[i] = is_selected[i] ? in[left++] : 0;             \
  }

MASKED_SELECT_GRAD(float, f32)
MASKED_SELECT_GRAD(double, f64)

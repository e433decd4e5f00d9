#define DEFINE(T, suffix)                                                                                             \
  int32_t dropped_##suffix(const DLTensor *x, const DLTensor *key, DLTensor *y, double p) {                           \
    const int64_t *words = OPSDK_DATA(const int64_t, key);                                                            \
    const int64_t drawn = (int64_t)opsdk_random_bits(words[0], words[1]);                                             \
    const T *in = OPSDK_DATA(const T, x), scale = (T)(1 / (1 - p));                                                   \
    for (int64_t i = 0; i < opsdk_size(x); ++i)                                                                       \
      OPSDK_DATA(T, y)[i] = opsdk_uniform(drawn, i) >= p ? in[i] * scale : 0;                                         \
    return 0;                                                                                                         \
  }                                                                                                                   \
                                                                                                                      \
  int32_t stateful_dropout_##suffix(const DLTensor *x, DLTensor *state, DLTensor *y, DLTensor *key, double p,         \
                                    int32_t training) {                                                               \
    int64_t *words = OPSDK_DATA(int64_t, state), *used = OPSDK_DATA(int64_t, key);                                    \
    const T *in = OPSDK_DATA(const T, x);                                                                             \
    used[0] = words[0], used[1] = words[1];                                                                           \
    if (training) {                                                                                                   \
      words[1] = (int64_t)((uint64_t)words[1] + 1);                                                                   \
      return dropped_##suffix(x, key, y, p);                                                                          \
    }                                                                                                                 \
    for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA(T, y)[i] = in[i];                                          \
    return 0;                                                                                                         \
  }

DEFINE(float, f32)
DEFINE(double, f64)

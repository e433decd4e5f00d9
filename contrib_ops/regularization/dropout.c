#define DEFINE(T, suffix)                                                                            \
  int32_t dropout_##suffix(const DLTensor *x, DLTensor *y, double p, int64_t rng) {                  \
    const T *in = OPSDK_DATA(const T, x), scale = (T)(1 / (1 - p));                                  \
    for (int64_t i = 0; i < opsdk_size(x); ++i)                                                      \
      OPSDK_DATA(T, y)[i] = opsdk_uniform(rng, i) >= p ? in[i] * scale : 0;                          \
    return 0;                                                                                        \
  }

DEFINE(float, f32)
DEFINE(double, f64)

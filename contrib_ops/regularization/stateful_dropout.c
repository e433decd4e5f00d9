/* Dropout by Philox4x64-10 (Salmon et al. 2011), the generator of numpy.random.Philox: one block of four numbers after
 * the other, of which NumPy leaves out number 0.
 */
static uint64_t high_of(uint64_t a, uint64_t b, uint64_t *low) {
  const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  const uint64_t mid = a1 * b0 + ((a0 * b0) >> 32), cross = a0 * b1 + (uint32_t)mid;
  *low = a * b;
  return a1 * b1 + (mid >> 32) + (cross >> 32);
}

static void block_of(uint64_t key, uint64_t number, uint64_t block, uint64_t made[4]) {
  uint64_t c0 = block, c1 = number, c2 = 0, c3 = 0, k0 = key, k1 = 0, low0, low1;
  for (int round = 0; round < 10; ++round) {
    const uint64_t high0 = high_of(0xD2E7470EE14C6C93u, c0, &low0), high1 = high_of(0xCA5A826395121157u, c2, &low1);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += 0x9E3779B97F4A7C15u;
    k1 += 0xBB67AE8584CAA73Bu;
  }
  made[0] = c0, made[1] = c1, made[2] = c2, made[3] = c3;
}

#define DEFINE(T, suffix)                                                                                             \
  int32_t dropped_##suffix(const DLTensor *x, const DLTensor *key, DLTensor *y, double p) {                           \
    const int64_t n = opsdk_size(x), *words = OPSDK_DATA(const int64_t, key);                                         \
    const T *in = OPSDK_DATA(const T, x), scale = (T)(1 / (1 - p));                                                   \
    T *out = OPSDK_DATA(T, y);                                                                                        \
    uint64_t made[4];                                                                                                 \
    for (int64_t i = 0; i < n; ++i) {                                                                                 \
      if (i % 4 == 0) block_of((uint64_t)words[0], (uint64_t)words[1], (uint64_t)(i / 4) + 1, made);                  \
      out[i] = (double)(made[i % 4] >> 11) * (1.0 / 9007199254740992.0) >= p ? in[i] * scale : 0;                     \
    }                                                                                                                 \
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

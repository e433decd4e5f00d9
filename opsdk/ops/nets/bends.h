/* Functions of sixteen floats that nets bend by, and sixteen floats in memory, of which fewer may be there. */
#include "tile.h"

typedef int32_t ints __attribute__((vector_size(64)));

static inline lanes chosen(ints where, lanes yes, lanes no) { return (lanes)(((ints)yes & where) | ((ints)no & ~where)); }

static inline lanes within(lanes x, float low, float high) { /* NaN stays */
  const lanes least_of = {0}, lows = least_of + low, highs = least_of + high;
  return chosen(x < lows, lows, chosen(x > highs, highs, x));
}

/* p and 2^n with e^y = (1 + p) · 2^n and |p| < 0.42, where y lies between -87 and 89. */
static inline lanes reduced(lanes y, lanes *power) {
  const lanes shift = y * 1.44269504f + 12582912.0f, n = shift - 12582912.0f;
  const lanes r = (y - n * 0.693359375f) + n * 2.12194440e-4f;
  const lanes more = 0.5f + r * (1.0f / 6 + r * (1.0f / 24 + r * (1.0f / 120 + r * (1.0f / 720 + r * (1.0f / 5040)))));
  *power = (lanes)(((ints)shift << 23) + 0x3f800000);
  return r + r * r * more;
}

static inline lanes power_of_e(lanes x) { /* 0 below e^-87, inf from e^88.4 on */
  lanes power;
  const lanes p = reduced(within(x, -87, 89), &power), none = {0};
  return chosen(x < none - 87.0f, none, power * (1.0f + p));
}

static inline lanes sigmoid(lanes x) {
  lanes power;
  const lanes p = reduced(within(-x, -87, 89), &power); /* beyond 88.4 the power is inf, of which 0 is made */
  return 1.0f / (1.0f + power * (1.0f + p));
}

static inline lanes bent(lanes x) { /* tanh */
  lanes power;
  const lanes p = reduced(within(x + x, -40, 40), &power), less = power * p + (power - 1.0f); /* e^2x - 1 */
  return less / (less + 2.0f);
}

static inline lanes taken(const float *from, int64_t count) {
  lanes made = {0};
  if (count >= LANES) return *(const lanes_at *)from;
  memcpy(&made, from, sizeof(float) * (size_t)count);
  return made;
}

static inline void give(lanes value, float *to, int64_t count) {
  if (count >= LANES)
    *(lanes_at *)to = value;
  else
    memcpy(to, &value, sizeof(float) * (size_t)count);
}

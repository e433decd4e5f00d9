/* unique: positions sorted by what they hold, a byte at a time, and a pass over the runs of equal elements. */
#include <stdlib.h>

enum { NO_MEMORY = 1 };

typedef struct {
  uint64_t key; /* rises with the element; of all nan the same, behind all numbers */
  int64_t place;
} placed;

static uint64_t key_f64(double value) {
  uint64_t bits;
  value += 0.0; /* -0.0 is 0.0 */
  memcpy(&bits, &value, 8);
  return value != value ? UINT64_MAX : bits >> 63 ? ~bits : bits | 1ull << 63;
}

static uint64_t key_f32(float value) { return key_f64(value); }
static uint64_t key_i64(int64_t value) { return (uint64_t)value ^ 1ull << 63; }

/* Sorts by key, of equal ones by place, from one half of the memory to the other; returns where they are then. */
static placed *sorted(placed *from, int64_t size) {
  placed *to = from + size;
  for (int shift = 0; shift < 64; shift += 8) {
    int64_t starts[257] = {0};
    for (int64_t i = 0; i < size; ++i) ++starts[(from[i].key >> shift & 255) + 1];
    if (size && starts[(from[0].key >> shift & 255) + 1] == size) continue; /* all alike */
    for (int digit = 0; digit < 256; ++digit) starts[digit + 1] += starts[digit];
    for (int64_t i = 0; i < size; ++i) to[starts[from[i].key >> shift & 255]++] = from[i];
    placed *other = from;
    from = to;
    to = other;
  }
  return from;
}

#define UNIQUE(T, suffix)                                                                               \
  int32_t unique_##suffix(const DLTensor *x, DLTensor *values, DLTensor *inverse, DLTensor *counts,     \
                          int64_t *sizes) {                                                             \
    const int64_t size = opsdk_size(x);                                                                 \
    const T *in = OPSDK_DATA(const T, x);                                                               \
    int64_t *often = OPSDK_DATA(int64_t, counts), filled = 0;                                           \
    placed *memory = malloc((2 * size + 1) * sizeof *memory);                                           \
    if (!memory) return NO_MEMORY;                                                                      \
    for (int64_t i = 0; i < size; ++i) memory[i] = (placed){key_##suffix(in[i]), i};                    \
    const placed *rising = sorted(memory, size);                                                        \
    for (int64_t i = 0; i < size; ++i) {                                                                \
      if (!i || rising[i].key != rising[i - 1].key) {                                                   \
        OPSDK_DATA(T, values)[filled] = in[rising[i].place];                                            \
        often[filled++] = 0;                                                                            \
      }                                                                                                 \
      OPSDK_DATA(int64_t, inverse)[rising[i].place] = filled - 1;                                       \
      ++often[filled - 1];                                                                              \
    }                                                                                                   \
    free(memory);                                                                                       \
    sizes[0] = sizes[1] = filled;                                                                       \
    return 0;                                                                                           \
  }

UNIQUE(float, f32)
UNIQUE(double, f64)
UNIQUE(int64_t, i64)

const char *opsdk_message(int32_t status) { return status == NO_MEMORY ? "no memory to sort in" : 0; }

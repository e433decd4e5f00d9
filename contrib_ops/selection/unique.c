/* unique: elements with their positions, sorted, and a pass over the runs of equal ones. */
#include <stdlib.h>

enum { NO_MEMORY = 1 };

#define UNIQUE(T, suffix)                                                                                          \
  typedef struct {                                                                                                 \
    T value;                                                                                                       \
    int64_t place;                                                                                                 \
  } placed_##suffix;                                                                                               \
                                                                                                                   \
  /* nan is behind all numbers, and equal to nan; of equal elements the first comes first. */                      \
  static int order_##suffix(const void *left, const void *right) {                                                 \
    const placed_##suffix *a = left, *b = right;                                                                   \
    const int a_is_nan = a->value != a->value, b_is_nan = b->value != b->value;                                    \
    if (a_is_nan != b_is_nan) return a_is_nan - b_is_nan;                                                          \
    if (!a_is_nan && a->value != b->value) return a->value < b->value ? -1 : 1;                                    \
    return a->place < b->place ? -1 : 1;                                                                           \
  }                                                                                                                \
                                                                                                                   \
  int32_t unique_##suffix(const DLTensor *x, DLTensor *values, DLTensor *inverse, DLTensor *counts,                \
                          int64_t *sizes) {                                                                        \
    const int64_t size = opsdk_size(x);                                                                            \
    int64_t *places = OPSDK_DATA(int64_t, inverse), *often = OPSDK_DATA(int64_t, counts), filled = 0;              \
    placed_##suffix *sorted = malloc((size ? size : 1) * sizeof *sorted);                                          \
    if (!sorted) return NO_MEMORY;                                                                                 \
    for (int64_t i = 0; i < size; ++i) sorted[i] = (placed_##suffix){OPSDK_DATA(const T, x)[i], i};                \
    qsort(sorted, size, sizeof *sorted, order_##suffix);                                                           \
    for (int64_t i = 0; i < size; ++i) {                                                                           \
      const T value = sorted[i].value, before = i ? sorted[i - 1].value : value;                                   \
      if (!i || (value != before && (value == value || before == before))) {                                       \
        OPSDK_DATA(T, values)[filled] = value;                                                                     \
        often[filled++] = 0;                                                                                       \
      }                                                                                                            \
      places[sorted[i].place] = filled - 1;                                                                        \
      ++often[filled - 1];                                                                                         \
    }                                                                                                              \
    free(sorted);                                                                                                  \
    sizes[0] = sizes[1] = filled;                                                                                  \
    return 0;                                                                                                      \
  }

UNIQUE(float, f32)
UNIQUE(double, f64)
UNIQUE(int64_t, i64)

const char *opsdk_message(int32_t status) { return status == NO_MEMORY ? "no memory to sort in" : 0; }

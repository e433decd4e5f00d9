/* advanced_index: blocks of neighbours are moved as they are. */
#include <string.h>

#include "advanced_index.h"

#define ADVANCED_INDEX(T, suffix)                                                                                 \
  int32_t advanced_index_##suffix(const DLTensor *x, const DLTensor *const *indices, int64_t indices_len,         \
                                  DLTensor *y) {                                                                  \
    Places places;                                                                                                \
    const int status = find_places(x, indices, indices_len, &places);                                             \
    if (status) return status;                                                                                    \
    T *in = (T *)OPSDK_DATA(const T, x), *out = OPSDK_DATA(T, y);                                                 \
    const size_t bytes = sizeof(T) * (size_t)places.inner;                                                        \
    if (places.inner == 1) {                                                                                      \
      EACH_BLOCK(T, places, in, out, block, other, *other = *block;)                                              \
    } else {                                                                                                      \
      EACH_BLOCK(T, places, in, out, block, other, memcpy(other, block, bytes);)                                  \
    }                                                                                                             \
    free_places(&places);                                                                                         \
    return 0;                                                                                                     \
  }

ADVANCED_INDEX(float, f32)
ADVANCED_INDEX(double, f64)

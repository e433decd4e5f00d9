/* The gradient of advanced_index: cotangents are added where the elements were taken. */
#include "advanced_index.h"

#define ADVANCED_INDEX_GRAD(T, suffix)                                                                            \
  int32_t advanced_index_grad_##suffix(const DLTensor *const *indices, int64_t indices_len, const DLTensor *dy,   \
                                       DLTensor *dx, const DLTensor *x_spec) {                                    \
    Places places;                                                                                                \
    const int status = find_places(x_spec, indices, indices_len, &places);                                        \
    if (status) return status;                                                                                    \
    T *in = (T *)OPSDK_DATA(const T, dy), *out = OPSDK_DATA(T, dx);                                               \
    for (int64_t i = 0; i < opsdk_size(dx); ++i) out[i] = 0;                                                      \
    EACH_BLOCK(T, places, out, in, block, other,                                                                  \
               for (int64_t i = 0; i < places.inner; ++i) block[i] += other[i];)                                  \
    free_places(&places);                                                                                         \
    return 0;                                                                                                     \
  }

ADVANCED_INDEX_GRAD(float, f32)
ADVANCED_INDEX_GRAD(double, f64)

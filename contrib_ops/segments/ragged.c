/* ragged_from_padded and padded_from_ragged: rows are moved as they are, whatever they hold. */

#include "integers.h"

/* How many bytes all elements at one position of a row have. */
static int64_t bytes_after(const DLTensor *x, int32_t axis) {
  int64_t bytes = x->dtype.bits / 8;
  for (int32_t d = axis; d < x->ndim; ++d) bytes *= x->shape[d];
  return bytes;
}

static int32_t cut(const DLTensor *x, const DLTensor *lengths, DLTensor *values, DLTensor *offsets, int64_t *sizes) {
  const int64_t rows = x->shape[0], item = bytes_after(x, 2);
  int64_t filled = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t length = integer(lengths, i);
    OPSDK_DATA(int64_t, offsets)[i] = filled;
    memcpy(OPSDK_DATA(char, values) + filled * item, OPSDK_DATA(const char, x) + i * x->shape[1] * item, length * item);
    filled += length;
  }
  OPSDK_DATA(int64_t, offsets)[rows] = sizes[0] = filled;
  return 0;
}

static int32_t pad(const DLTensor *values, const DLTensor *lengths, DLTensor *x) {
  const int64_t rows = x->shape[0], width = x->shape[1], item = bytes_after(x, 2);
  const char *next = OPSDK_DATA(const char, values);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t length = integer(lengths, i) * item;
    char *row = OPSDK_DATA(char, x) + i * width * item;
    memcpy(row, next, length);
    memset(row + length, 0, width * item - length);
    next += length;
  }
  return 0;
}

#define RAGGED(suffix)                                                                                                \
  int32_t ragged_from_padded_##suffix(const DLTensor *x, const DLTensor *lengths, DLTensor *values,                   \
                                      DLTensor *offsets, int64_t *sizes) {                                            \
    return cut(x, lengths, values, offsets, sizes);                                                                   \
  }                                                                                                                   \
  int32_t padded_from_ragged_##suffix(const DLTensor *values, const DLTensor *lengths, DLTensor *x, int64_t width) {  \
    return pad(values, lengths, x);                                                                                   \
  }

RAGGED(f16)
RAGGED(bf16)
RAGGED(f32)
RAGGED(f64)

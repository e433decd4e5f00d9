/* Where the blocks of neighbours in x lie that advanced_index takes, and to which its gradient adds. */
#include <stdlib.h>

#include "../segments/integers.h"

enum { AXES = 64, NO_MEMORY = 1 };

/* Two offsets in x make the place of a block: of the axes with positions, and of the whole ones before the last. */
typedef struct {
  int64_t *offsets[2], counts[2]; /* that which varies slower in y comes first */
  int64_t inner;                  /* how long a block is */
} Places;

const char *opsdk_message(int32_t status) { return status == NO_MEMORY ? "there is no memory for the offsets" : 0; }

static int64_t position_of(const DLTensor *index, int64_t i, int64_t size) {
  const int64_t at = integer(index, i);
  return at < 0 ? at + size : at;
}

/* Steps to the next place of a shape, the last axis first. */
static void step(int64_t *at, const int64_t *shape, int64_t axes) {
  for (int64_t a = axes - 1; a >= 0 && ++at[a] == shape[a]; --a) at[a] = 0;
}

/* Which element of a contiguous index stands at a place of the shape that all are broadcast to. */
static int64_t element_of(const DLTensor *index, const int64_t *at, int64_t axes) {
  int64_t i = 0;
  for (int64_t a = 0; a < index->ndim; ++a)
    i = i * index->shape[a] + (index->shape[a] == 1 ? 0 : at[axes - index->ndim + a]);
  return i;
}

static void free_places(Places *places) {
  free(places->offsets[0]);
  free(places->offsets[1]);
}

static int find_places(const DLTensor *x, const DLTensor *const *indices, int64_t length, Places *places) {
  int64_t strides[AXES], whole[AXES], shape[AXES], steps[AXES], at[AXES] = {0};
  int64_t first = -1, last = -1, taken = 0, axes = 0, rest = 0;
  for (int64_t a = x->ndim - 1, stride = 1; a >= 0; stride *= x->shape[a--]) strides[a] = stride;
  for (int64_t a = 0; a < length; ++a) {
    if (!indices[a]) continue;
    if (first < 0) first = a;
    last = a, ++taken;
    if (indices[a]->ndim > axes) axes = indices[a]->ndim;
  }
  for (int64_t a = 0; a < axes; ++a) shape[a] = 1;
  for (int64_t a = 0; a <= last; ++a) {
    if (!indices[a]) {
      whole[rest] = x->shape[a], steps[rest++] = strides[a];
      continue;
    }
    for (int64_t d = 0; d < indices[a]->ndim; ++d)
      if (indices[a]->shape[d] != 1) shape[axes - indices[a]->ndim + d] = indices[a]->shape[d];
  }
  const int by_whole = last - first < taken; /* no whole axis lies between, so that those before come first */
  int64_t counts[2] = {1, 1};
  for (int64_t a = 0; a < axes; ++a) counts[0] *= shape[a];
  for (int64_t a = 0; a < rest; ++a) counts[1] *= whole[a];
  places->inner = 1;
  for (int64_t a = last + 1; a < x->ndim; ++a) places->inner *= x->shape[a];
  int64_t *offsets[2];
  for (int i = 0; i < 2; ++i) {
    offsets[i] = malloc(sizeof(int64_t) * (size_t)(counts[i] + 1));
    places->offsets[i ^ by_whole] = offsets[i];
    places->counts[i ^ by_whole] = counts[i];
  }
  if (!offsets[0] || !offsets[1]) return free_places(places), NO_MEMORY;
  for (int64_t t = 0; t < counts[0]; ++t, step(at, shape, axes)) {
    offsets[0][t] = 0;
    for (int64_t a = first; a >= 0 && a <= last; ++a)
      if (indices[a]) offsets[0][t] += strides[a] * position_of(indices[a], element_of(indices[a], at, axes), x->shape[a]);
  }
  for (int64_t t = 0; t < counts[1]; ++t, step(at, whole, rest)) {
    offsets[1][t] = 0;
    for (int64_t a = 0; a < rest; ++a) offsets[1][t] += steps[a] * at[a];
  }
  return 0;
}

/* Goes through the blocks in the order of y: `block` is one in x, `other` one in y. */
#define EACH_BLOCK(T, places, x, y, block, other, body)                                                        \
  for (int64_t s_ = 0, i_ = 0; s_ < (places).counts[0]; ++s_)                                                  \
    for (int64_t f_ = 0; f_ < (places).counts[1]; ++f_, i_ += (places).inner) {                                \
      T *block = (x) + (places).offsets[0][s_] + (places).offsets[1][f_], *other = (y) + i_;                   \
      body                                                                                                     \
    }

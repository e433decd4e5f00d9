/* The steps of an LSTM and the way back, float32: products of a step and its gates by blocks of 32 units.
 *
 * A thread has the same blocks in every step. Weights are packed once into panels of 32 columns, rows of zeros where there
 * are none, so that a tile reads them in order; states before a step are read where they are.
 */
#include "bends.h"

enum { WELL, NO_ROOM, GATES = 4, WORTH = 1 << 16 }; /* products of a step that are worth waking a thread for */

const char *opsdk_message(int32_t status) { return status == NO_ROOM ? "there is no memory" : 0; }

/* -- products ----------------------------------------------------------------------------------------------------- */

/* Eight rows from a row on, each of a width; the last one again where there are fewer. */
static inline void rows_of(const float *from, int64_t row, int64_t rows, int64_t width, const float *a[ROWS]) {
  for (int64_t i = 0; i < ROWS; ++i) a[i] = from + least(row + i, rows - 1) * width;
}

/* Columns from..from + 32 of a matrix, of which `width` are there, as rows one behind another. */
static void pack(const float *from, int64_t rows, int64_t row_step, int64_t width, float *to) {
  for (int64_t k = 0; k < rows; ++k) {
    memset(to + k * COLUMNS, 0, sizeof(float) * COLUMNS);
    memcpy(to + k * COLUMNS, from + k * row_step, sizeof(float) * (size_t)least(width, COLUMNS));
  }
}

static const segment WHOLE[1] = {{0, 0}};

/* -- forward ------------------------------------------------------------------------------------------------------- */

int32_t lstm_f32(const DLTensor *entered, const DLTensor *state, const DLTensor *w_hh, DLTensor *out, DLTensor *last,
                 DLTensor *kept, int32_t reverse) {
  const int64_t steps = entered->shape[0], batch = entered->shape[1], size = state->shape[2], all = batch * size;
  const int64_t blocks = parts(size, COLUMNS);
  const float *in = OPSDK_DATA(const float, entered), *first = OPSDK_DATA(const float, state);
  float *h = OPSDK_DATA(float, out), *k = OPSDK_DATA(float, kept), *end = OPSDK_DATA(float, last);
  if (!steps || !all) return memcpy(end, first, sizeof(float) * (size_t)(2 * all)), WELL;
  float *packed = aligned_alloc(64, sizeof(float) * (size_t)(blocks * GATES * size * COLUMNS));
  if (!packed) return NO_ROOM;
#pragma omp parallel if (GATES * all * size > WORTH)
  {
#pragma omp for schedule(static)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t gate = 0; gate < GATES; ++gate) {
        const int64_t width = least(COLUMNS, size - block * COLUMNS);
        float *to = packed + (block * GATES + gate) * size * COLUMNS;
        if (width < COLUMNS) memset(to, 0, sizeof(float) * (size_t)(size * COLUMNS));
        transpose(width, size, OPSDK_DATA(const float, w_hh) + (gate * size + block * COLUMNS) * size, size, 1, to, 1, COLUMNS);
      }
    for (int64_t s = 0; s < steps; ++s) {
      const int64_t t = reverse ? steps - 1 - s : s, before = (reverse ? t + 1 : t - 1) * all;
      const float *hidden = s ? h + before : first, *cell = s ? k + 4 * steps * all + before : first + all;
#pragma omp for schedule(static)
      for (int64_t block = 0; block < blocks; ++block)
        for (int64_t row = 0; row < batch; row += ROWS) {
          float products[GATES][ROWS][COLUMNS] __attribute__((aligned(64)));
          const float *a[ROWS];
          rows_of(hidden, row, batch, size, a);
          for (int64_t gate = 0; gate < GATES; ++gate)
            tile(1, WHOLE, size, a, 1, packed + (block * GATES + gate) * size * COLUMNS, COLUMNS, products[gate][0], COLUMNS);
          for (int64_t i = 0; i < ROWS && row + i < batch; ++i)
            for (int64_t j = 0; j < COLUMNS && block * COLUMNS + j < size; j += LANES) {
              const int64_t unit = block * COLUMNS + j, count = size - unit, at = (row + i) * size + unit;
              const float *told = in + (t * batch + row + i) * GATES * size + unit;
              lanes gates[GATES];
              for (int64_t gate = 0; gate < GATES; ++gate)
                gates[gate] = taken(told + gate * size, count) + *(const lanes_at *)&products[gate][i][j];
              const lanes goes = sigmoid(gates[0]), stays = sigmoid(gates[1]), new = bent(gates[2]), shows = sigmoid(gates[3]);
              const lanes held = stays * taken(cell + at, count) + goes * new;
              const lanes each[5] = {goes, stays, new, shows, held};
              for (int64_t n = 0; n < 5; ++n) give(each[n], k + (n * steps + t) * all + at, count);
              give(shows * bent(held), h + t * all + at, count);
            }
        }
    }
  }
  const int64_t t = reverse ? 0 : steps - 1;
  memcpy(end, h + t * all, sizeof(float) * (size_t)all);
  memcpy(end + all, k + (4 * steps + t) * all, sizeof(float) * (size_t)all);
  free(packed);
  return WELL;
}

/* -- back ---------------------------------------------------------------------------------------------------------- */

typedef struct {
  int64_t steps, batch, size, reverse;
  const float *state, *w, *out, *kept, *dout, *dlast;
  float *dentered, *dstate, *dw, *panels, *across, *packed;
} way;

/* Cotangents of the gates of a step, of 16 units of a row; leaves that of the cell before in its place. */
static inline void back_through(const way *l, int64_t t, int64_t before, int64_t row, int64_t unit, int is_first) {
  const int64_t all = l->batch * l->size, at = row * l->size + unit, count = l->size - unit;
  lanes each[5];
  for (int64_t n = 0; n < 5; ++n) each[n] = taken(l->kept + (n * l->steps + t) * all + at, count);
  const lanes goes = each[0], stays = each[1], new = each[2], shows = each[3], curve = bent(each[4]);
  const float *cell = is_first ? l->state + all : l->kept + 4 * l->steps * all + before;
  const lanes dh = taken(l->dstate + at, count) + taken(l->dout + t * all + at, count);
  const lanes dc = taken(l->dstate + all + at, count) + dh * shows * (1.0f - curve * curve);
  const lanes made[GATES] = {dc * new * (goes * (1.0f - goes)), dc * taken(cell + at, count) * (stays * (1.0f - stays)),
                             dc * goes * (1.0f - new * new), dh * curve * (shows * (1.0f - shows))};
  for (int64_t gate = 0; gate < GATES; ++gate)
    give(made[gate], l->dentered + (t * l->batch + row) * GATES * l->size + gate * l->size + unit, count);
  give(dc * stays, l->dstate + all + at, count);
}

static void steps_back(const way *l) {
  const int64_t all = l->batch * l->size, blocks = parts(l->size, COLUMNS), wide = GATES * l->size;
  for (int64_t s = l->steps - 1; s >= 0; --s) {
    const int64_t t = l->reverse ? l->steps - 1 - s : s, before = (l->reverse ? t + 1 : t - 1) * all;
#pragma omp for schedule(static)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t row = 0; row < l->batch; ++row)
        for (int64_t unit = block * COLUMNS; unit < least(l->size, (block + 1) * COLUMNS); unit += LANES)
          back_through(l, t, before, row, unit, s == 0);
#pragma omp for schedule(static)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t row = 0; row < l->batch; row += ROWS) {
        float sums[ROWS][COLUMNS] __attribute__((aligned(64)));
        const float *a[ROWS];
        rows_of(l->dentered + t * l->batch * wide, row, l->batch, wide, a);
        tile(1, WHOLE, wide, a, 1, l->packed + block * wide * COLUMNS, COLUMNS, sums[0], COLUMNS);
        for (int64_t i = 0; i < ROWS && row + i < l->batch; ++i)
          memcpy(l->dstate + (row + i) * l->size + block * COLUMNS, sums[i],
                 sizeof(float) * (size_t)least(COLUMNS, l->size - block * COLUMNS));
      }
  }
}

/* The gradient of the weights: cotangents of the gates, turned, by the states before, in panels. */
static void weights_back(const way *l, int64_t lines, int64_t line) {
  const int64_t all = l->batch * l->size, blocks = parts(l->size, COLUMNS), wide = GATES * l->size;
#pragma omp for schedule(static)
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t t = 0; t < l->steps; ++t) {
      const int is_first = t == (l->reverse ? l->steps - 1 : 0);
      const float *hidden = is_first ? l->state : l->out + (l->reverse ? t + 1 : t - 1) * all;
      pack(hidden + block * COLUMNS, l->batch, l->size, l->size - block * COLUMNS,
           l->panels + (block * lines + t * l->batch) * COLUMNS);
    }
#pragma omp for schedule(static)
  for (int64_t row = 0; row < wide; row += LANES)
    transpose(lines, least(LANES, wide - row), l->dentered + row, wide, 1, l->across + row * line, 1, line);
#pragma omp for schedule(static)
  for (int64_t row = 0; row < wide; row += ROWS)
    for (int64_t block = 0; block < blocks; ++block) {
      float sums[ROWS][COLUMNS] __attribute__((aligned(64)));
      const float *a[ROWS];
      rows_of(l->across, row, wide, line, a);
      tile(1, WHOLE, lines, a, 1, l->panels + block * lines * COLUMNS, COLUMNS, sums[0], COLUMNS);
      for (int64_t i = 0; i < ROWS && row + i < wide; ++i)
        memcpy(l->dw + (row + i) * l->size + block * COLUMNS, sums[i],
               sizeof(float) * (size_t)least(COLUMNS, l->size - block * COLUMNS));
    }
}

int32_t lstm_grad_f32(const DLTensor *state, const DLTensor *w_hh, const DLTensor *out, const DLTensor *kept,
                      const DLTensor *dout, const DLTensor *dlast, DLTensor *dentered, DLTensor *dstate, DLTensor *dw_hh,
                      int32_t reverse) {
  way l = {.steps = out->shape[0], .batch = out->shape[1], .size = state->shape[2], .reverse = reverse,
           .state = OPSDK_DATA(const float, state), .w = OPSDK_DATA(const float, w_hh), .out = OPSDK_DATA(const float, out),
           .kept = OPSDK_DATA(const float, kept), .dout = OPSDK_DATA(const float, dout), .dlast = OPSDK_DATA(const float, dlast),
           .dentered = OPSDK_DATA(float, dentered), .dstate = OPSDK_DATA(float, dstate), .dw = OPSDK_DATA(float, dw_hh)};
  const int64_t all = l.batch * l.size, wide = GATES * l.size, blocks = parts(l.size, COLUMNS);
  const int64_t lines = l.steps * l.batch, line = lines + LANES; /* rows 4 KB apart would share lines of the cache */
  memcpy(l.dstate, l.dlast, sizeof(float) * (size_t)(2 * all));
  memset(l.dw, 0, sizeof(float) * (size_t)(wide * l.size));
  if (!lines || !l.size) return WELL;
  float *room = aligned_alloc(64, sizeof(float) * (size_t)(blocks * COLUMNS * (wide + lines) + (wide * line + LANES) / LANES * LANES));
  if (!room) return NO_ROOM;
  l.packed = room, l.panels = room + blocks * COLUMNS * wide, l.across = l.panels + blocks * COLUMNS * lines;
#pragma omp parallel if (GATES * all * l.size > WORTH)
  {
#pragma omp for schedule(static)
    for (int64_t block = 0; block < blocks; ++block)
      pack(l.w + block * COLUMNS, wide, l.size, l.size - block * COLUMNS, l.packed + block * wide * COLUMNS);
    steps_back(&l);
    weights_back(&l, lines, line);
  }
  free(room);
  return WELL;
}

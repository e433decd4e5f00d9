/* Attention without mask, bias or dropout, float32: a head at a time, blocks of queries by all the keys that they see.
 *
 * Keys and values are packed into panels of 32 columns, so that scores, outputs and gradients are tiles of 8 × 32. Rows of
 * scores are as long as keys are many, and there are 8 of them at once, in the way back 128.
 */
#include <math.h>

#include "bends.h"

enum { WELL, NO_ROOM, BLOCK = 128, WORTH = 1 << 20 }; /* products that are worth waking a thread for */

const char *opsdk_message(int32_t status) { return status == NO_ROOM ? "there is no memory" : 0; }

static const segment WHOLE[1] = {{0, 0}};

typedef struct {
  int64_t heads, queries, keys, size, wide, length, causal; /* length: keys, up to whole panels */
  float scale;
  const float *q, *k, *v, *out, *lse, *dout; /* of one sequence and head, whose rows are `heads` apart */
  float *dq, *dk, *dv, *made, *sums;
} head;

static inline int64_t panels(int64_t columns) { return parts(columns, COLUMNS); }

/* A matrix of rows of a head as panels: 32 of its columns, row by row; zeros where it has none. */
static void pack_rows(const float *from, int64_t rows, int64_t columns, int64_t step, float *to) {
  for (int64_t p = 0; p < panels(columns); ++p)
    for (int64_t r = 0; r < rows; ++r) {
      float *at = to + (p * rows + r) * COLUMNS;
      const int64_t width = least(COLUMNS, columns - p * COLUMNS);
      if (width < COLUMNS) memset(at, 0, sizeof(float) * COLUMNS);
      memcpy(at, from + r * step + p * COLUMNS, sizeof(float) * (size_t)width);
    }
}

/* The same of the matrix turned: 32 of its rows, column by column. */
static void pack_turned(const float *from, int64_t rows, int64_t columns, int64_t step, float *to) {
  memset(to, 0, sizeof(float) * (size_t)(panels(rows) * columns * COLUMNS));
  for (int64_t r = 0; r < rows; r += COLUMNS)
    transpose(least(COLUMNS, rows - r), columns, from + r * step, step, 1, to + r * columns, 1, COLUMNS);
}

static inline void rows_of(const float *from, int64_t row, int64_t rows, int64_t step, const float *a[ROWS]) {
  for (int64_t i = 0; i < ROWS; ++i) a[i] = from + least(row + i, rows - 1) * step;
}

/* How many keys a query sees, and those that are computed for eight of them: whole panels. */
static inline int64_t seen(const head *h, int64_t query) { return h->causal ? least(h->keys, query + 1) : h->keys; }
static inline int64_t computed(const head *h, int64_t row) { return panels(seen(h, least(row + ROWS, h->queries) - 1)) * COLUMNS; }

/* Eight rows of products with what is packed, as many columns as there are to compute. */
static void products(const float *from, int64_t row, const head *h, int64_t size, const float *packed, float *to) {
  const float *a[ROWS];
  rows_of(from, row, h->queries, h->heads * size, a);
  for (int64_t c = 0; c < computed(h, row); c += COLUMNS)
    tile(1, WHOLE, size, a, 1, packed + c * size, COLUMNS, to + c, h->length);
}

static inline lanes counted(const head *h, const float *scores, int64_t column, int64_t limit) {
  const ints places = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const lanes none = {0}, low = none - INFINITY, value = *(const lanes_at *)(scores + column) * h->scale;
  if (column + LANES <= limit) return value;
  return chosen(places < (int32_t)(limit - column), value, low);
}

/* Rows that were made of 8 × 32 tiles, where they belong; added to what is there, or times a number of each row. */
static void put_rows(const float *tiles, int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t step,
                     const float *factors, float *to) {
  for (int64_t i = 0; i < ROWS && row + i < rows; ++i)
    for (int64_t j = 0; j < COLUMNS && column + j < columns; j += LANES) {
      float *at = to + (row + i) * step + column + j;
      const int64_t count = columns - column - j;
      const lanes value = *(const lanes_at *)(tiles + i * COLUMNS + j);
      give(factors ? value * factors[i] : taken(at, count) + value, at, count);
    }
}

static void forward(const head *h, float *room) {
  float *turned = room, *values = turned + h->length * h->size, *scores = values + panels(h->wide) * COLUMNS * h->keys;
  pack_turned(h->k, h->keys, h->size, h->heads * h->size, turned);
  pack_rows(h->v, h->keys, h->wide, h->heads * h->wide, values);
  for (int64_t row = 0; row < h->queries; row += ROWS) {
    const int64_t width = computed(h, row), most_seen = seen(h, least(row + ROWS, h->queries) - 1);
    float factors[ROWS], tiles[ROWS][COLUMNS] __attribute__((aligned(64)));
    products(h->q, row, h, h->size, turned, scores);
    for (int64_t i = 0; i < ROWS && row + i < h->queries; ++i) {
      float *line = scores + i * h->length, top = -INFINITY;
      const int64_t limit = seen(h, row + i);
      lanes tops = {0}, sums = {0};
      tops -= INFINITY;
      for (int64_t c = 0; c < width; c += LANES) {
        const lanes value = counted(h, line, c, limit);
        tops = chosen(value > tops, value, tops);
        *(lanes_at *)(line + c) = value;
      }
      for (int n = 0; n < LANES; ++n) top = tops[n] > top ? tops[n] : top;
      const float held = top == -INFINITY ? 0 : top;
      for (int64_t c = 0; c < width; c += LANES) {
        const lanes share = power_of_e(*(const lanes_at *)(line + c) - held);
        sums += share;
        *(lanes_at *)(line + c) = share;
      }
      double sum = 0;
      for (int n = 0; n < LANES; ++n) sum += sums[n];
      h->sums[row + i] = sum == 0 ? -INFINITY : top + (float)log(sum);
      factors[i] = sum == 0 ? 0 : (float)(1 / sum);
    }
    const float *a[ROWS];
    rows_of(scores, 0, least(ROWS, h->queries - row), h->length, a);
    for (int64_t c = 0; c < h->wide; c += COLUMNS) {
      tile(1, WHOLE, most_seen, a, 1, values + c * h->keys, COLUMNS, tiles[0], COLUMNS);
      put_rows(tiles[0], row, h->queries, c, h->wide, h->heads * h->wide, factors, h->made);
    }
  }
}

/* Adds, to gradients of keys or values, what a block of queries gives: shares or their cotangents, turned, by rows. */
static void add_turned(const head *h, const float *shares, int64_t start, int64_t count, const float *packed, int64_t columns,
                       float *to) {
  const int64_t last = seen(h, start + count - 1);
  for (int64_t key = 0; key < last; key += ROWS) {
    const int64_t from = h->causal ? most(0, key - start) : 0; /* queries before a key do not see it */
    const float *a[ROWS];
    for (int64_t i = 0; i < ROWS; ++i) a[i] = shares + from * h->length + least(key + i, last - 1);
    for (int64_t c = 0; c < columns; c += COLUMNS) {
      float tiles[ROWS][COLUMNS] __attribute__((aligned(64)));
      tile(1, WHOLE, count - from, a, h->length, packed + (c * count + from * COLUMNS), COLUMNS, tiles[0], COLUMNS);
      put_rows(tiles[0], key, last, c, columns, h->heads * columns, 0, to);
    }
  }
}

static void backward(const head *h, float *room) {
  const int64_t q_step = h->heads * h->size, v_step = h->heads * h->wide;
  float *k_turned = room, *v_turned = k_turned + h->length * h->size, *k_rows = v_turned + h->length * h->wide;
  float *packed = k_rows + panels(h->size) * COLUMNS * h->keys;
  float *shares = packed + BLOCK * COLUMNS * most(panels(h->size), panels(h->wide)), *slopes = shares + BLOCK * h->length;
  const float ones[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
  pack_turned(h->k, h->keys, h->size, q_step, k_turned);
  pack_turned(h->v, h->keys, h->wide, v_step, v_turned);
  pack_rows(h->k, h->keys, h->size, q_step, k_rows);
  for (int64_t start = 0; start < h->queries; start += BLOCK) {
    const int64_t count = least(BLOCK, h->queries - start), whole = panels(seen(h, start + count - 1)) * COLUMNS;
    for (int64_t row = start; row < start + count; row += ROWS) {
      const int64_t width = computed(h, row), rows = least(ROWS, h->queries - row), most_seen = seen(h, row + rows - 1);
      float *share = shares + (row - start) * h->length, *slope = slopes + (row - start) * h->length;
      products(h->q, row, h, h->size, k_turned, share);
      products(h->dout, row, h, h->wide, v_turned, slope);
      for (int64_t i = 0; i < rows; ++i) {
        const float *arrived = h->dout + (row + i) * v_step, *given = h->out + (row + i) * v_step;
        const float level = h->lse[row + i] == -INFINITY ? 0 : h->lse[row + i];
        double rest = 0;
        for (int64_t j = 0; j < h->wide; ++j) rest += (double)arrived[j] * given[j];
        float *s = share + i * h->length, *d = slope + i * h->length;
        for (int64_t c = 0; c < whole; c += LANES) {
          lanes part = {0}, bent_by = {0};
          if (c < width) {
            part = power_of_e(counted(h, s, c, seen(h, row + i)) - level);
            bent_by = part * (*(const lanes_at *)(d + c) - (float)rest) * h->scale;
          }
          *(lanes_at *)(s + c) = part, *(lanes_at *)(d + c) = bent_by;
        }
      }
      const float *a[ROWS];
      rows_of(slope, 0, rows, h->length, a);
      for (int64_t c = 0; c < h->size; c += COLUMNS) {
        float tiles[ROWS][COLUMNS] __attribute__((aligned(64)));
        tile(1, WHOLE, most_seen, a, 1, k_rows + c * h->keys, COLUMNS, tiles[0], COLUMNS);
        put_rows(tiles[0], row, h->queries, c, h->size, q_step, ones, h->dq);
      }
    }
    pack_rows(h->dout + start * v_step, count, h->wide, v_step, packed);
    add_turned(h, shares, start, count, packed, h->wide, h->dv);
    pack_rows(h->q + start * q_step, count, h->size, q_step, packed);
    add_turned(h, slopes, start, count, packed, h->size, h->dk);
  }
}

/* Does all heads of all sequences, each by one thread with a room of its own. */
static int32_t by_head(const DLTensor *q, const DLTensor *k, const DLTensor *v, int32_t causal, const double *scale, head all,
                       int64_t room_size, void (*work)(const head *, float *)) {
  const int64_t batch = q->shape[0], n = q->shape[1], heads = q->shape[2], d = q->shape[3], m = k->shape[1], e = v->shape[3];
  int32_t status = WELL;
#pragma omp parallel if (batch * heads * n * m * d > WORTH)
  {
    float *room = aligned_alloc(64, sizeof(float) * (size_t)((room_size + LANES) / LANES * LANES));
    if (!room) status = NO_ROOM;
#pragma omp for schedule(static)
    for (int64_t each = 0; each < batch * heads; ++each) {
      const int64_t b = each / heads, i = each % heads, from_q = (b * n * heads + i) * d, from_k = (b * m * heads + i) * d;
      const int64_t from_v = (b * m * heads + i) * e, from_out = (b * n * heads + i) * e;
      head h = all;
      h.heads = heads, h.queries = n, h.keys = m, h.size = d, h.wide = e, h.length = panels(m) * COLUMNS, h.causal = causal;
      h.scale = scale ? (float)*scale : (float)(1 / sqrt((double)d));
      h.q = OPSDK_DATA(const float, q) + from_q, h.k = OPSDK_DATA(const float, k) + from_k;
      h.v = OPSDK_DATA(const float, v) + from_v;
      if (all.made) h.made += from_out, h.sums += each * n;
      if (all.dq) h.dq += from_q, h.dk += from_k, h.dv += from_v, h.out += from_out, h.dout += from_out, h.lse += each * n;
      if (room && n) work(&h, room);
    }
    free(room);
  }
  return status;
}

int32_t unmasked_attention_f32(const DLTensor *q, const DLTensor *k, const DLTensor *v, DLTensor *out, DLTensor *lse, int32_t causal,
                      const double *scale) {
  const int64_t d = q->shape[3], m = k->shape[1], e = v->shape[3], length = panels(m) * COLUMNS;
  const head all = {.made = OPSDK_DATA(float, out), .sums = OPSDK_DATA(float, lse)};
  return by_head(q, k, v, causal, scale, all, length * d + panels(e) * COLUMNS * m + ROWS * length, forward);
}

int32_t unmasked_attention_grad_f32(const DLTensor *q, const DLTensor *k, const DLTensor *v, const DLTensor *out, const DLTensor *lse,
                           const DLTensor *dout, DLTensor *dq, DLTensor *dk, DLTensor *dv, int32_t causal,
                           const double *scale) {
  const int64_t d = q->shape[3], m = k->shape[1], e = v->shape[3], length = panels(m) * COLUMNS;
  const head all = {.dq = OPSDK_DATA(float, dq), .dk = OPSDK_DATA(float, dk), .dv = OPSDK_DATA(float, dv),
                    .out = OPSDK_DATA(const float, out), .lse = OPSDK_DATA(const float, lse),
                    .dout = OPSDK_DATA(const float, dout)};
  memset(all.dk, 0, sizeof(float) * (size_t)opsdk_size(dk));
  memset(all.dv, 0, sizeof(float) * (size_t)opsdk_size(dv));
  const int64_t room = length * (d + e) + panels(d) * COLUMNS * m + BLOCK * COLUMNS * most(panels(d), panels(e)) + 2 * BLOCK * length;
  return by_head(q, k, v, causal, scale, all, room, backward);
}

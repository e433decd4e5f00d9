/* Products of matrices by tiles of 8 × 32 floats that stay in registers, out of operands that lie wherever they lie.
 *
 * A tile adds up, over segments and over the length of each, a[row][step] · b[step][column]. Rows of a are pointers and
 * a segment moves all of them, so pixels of an image are read where they are, tap by tap, and nothing is copied once for
 * each tap. GNU's vectors, which clang has too, are of 16 floats on any processor.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, LANES = 16, COLUMNS = 32 };

typedef float lanes __attribute__((vector_size(64)));
typedef float lanes_at __attribute__((vector_size(64), aligned(4), may_alias));

typedef struct {
  int64_t a, b; /* what a segment moves the pointers of a and of b by */
} segment;

/* out[row][column], of 8 × 32, from so many segments of a length; steps of a and b in floats. */
static inline void tile(int64_t count, const segment *segments, int64_t length, const float *const a[ROWS], int64_t a_step,
                        const float *b, int64_t b_step, float *restrict out, int64_t out_step) {
  lanes sum[ROWS][2] = {{{0}}};
  for (int64_t s = 0; s < count; ++s) {
    const float *at = b + segments[s].b;
    const float *r0 = a[0] + segments[s].a, *r1 = a[1] + segments[s].a, *r2 = a[2] + segments[s].a;
    const float *r3 = a[3] + segments[s].a, *r4 = a[4] + segments[s].a, *r5 = a[5] + segments[s].a;
    const float *r6 = a[6] + segments[s].a, *r7 = a[7] + segments[s].a;
    for (int64_t k = 0; k < length; ++k, at += b_step) {
      const lanes left = *(const lanes_at *)at, right = *(const lanes_at *)(at + LANES);
      const int64_t i = k * a_step;
#define ROW(n) sum[n][0] += r##n[i] * left, sum[n][1] += r##n[i] * right
      ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5), ROW(6), ROW(7);
#undef ROW
    }
  }
  for (int row = 0; row < ROWS; ++row) {
    *(lanes_at *)(out + row * out_step) = sum[row][0];
    *(lanes_at *)(out + row * out_step + LANES) = sum[row][1];
  }
}

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t parts(int64_t total, int64_t each) { return (total + each - 1) / each; }

#if defined(__clang__)
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int32_t places __attribute__((vector_size(64)));
#define PICK(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})
#endif

/* Exchanges the rows and columns of 16 vectors: halves, then quarters, eighths and sixteenths change places. */
static inline void transpose_block(lanes v[LANES]) {
#define STAGE(step, low, high)                                      \
  for (int i = 0; i < LANES; ++i)                                   \
    if (!(i & step)) {                                              \
      const lanes a = v[i], b = v[i + step];                        \
      v[i] = PICK(a, b, low), v[i + step] = PICK(a, b, high);       \
    }
#define LOW8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define HIGH8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define LOW4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define HIGH4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define LOW2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define LOW1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define HIGH1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
  STAGE(8, LOW8, HIGH8) STAGE(4, LOW4, HIGH4) STAGE(2, LOW2, HIGH2) STAGE(1, LOW1, HIGH1)
}

/* to[column · to_column + row] = from[row · from_row + column], or with steps between rows of `to`, and columns of
 * `from`, that are not 1, element by element. Whole lines are read and written: rows may lie 4 KB apart. */
static void transpose(int64_t rows, int64_t columns, const float *from, int64_t from_row, int64_t from_column, float *to,
                      int64_t to_row, int64_t to_column) {
  for (int64_t r = 0; r < rows; r += LANES)
    for (int64_t c = 0; c < columns; c += LANES) {
      const int64_t height = least(LANES, rows - r), width = least(LANES, columns - c);
      const float *at = from + r * from_row + c * from_column;
      float *into = to + r * to_row + c * to_column;
      if (from_column == 1 && to_row == 1 && height == LANES && width == LANES) {
        lanes v[LANES];
        for (int i = 0; i < LANES; ++i) v[i] = *(const lanes_at *)(at + i * from_row);
        transpose_block(v);
        for (int i = 0; i < LANES; ++i) *(lanes_at *)(into + i * to_column) = v[i];
      } else {
        float held[LANES][LANES];
        for (int64_t i = 0; i < height; ++i)
          for (int64_t j = 0; j < width; ++j) held[i][j] = at[i * from_row + j * from_column];
        for (int64_t j = 0; j < width; ++j)
          for (int64_t i = 0; i < height; ++i) into[i * to_row + j * to_column] = held[i][j];
      }
    }
}

/* Cholesky factors of a batch of matrices, and their gradient, by halves: all but small triangles is one product. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 6, BASE = 32, DEEP = 256 }; /* of a tile; of a triangle that is not halved; of a panel */
enum { A_UPPER = 1, A_LOWER = 2, B_LOWER = 4, C_LOWER = 8 };

/* Multiplications from which on threads share a batch, and one product. The second is high: a product is over in less
   time than threads of a busy machine take to meet. */
enum { MANY = 96 * 96 * 96, LARGE = 256 * 256 * 256 };

static int64_t clip(int64_t k, int64_t most) { return k < 0 ? 0 : k > most ? most : k; }

static _Thread_local char message[96];

const char *opsdk_message(int32_t status) {
  if (status < 0) return "expected memory for panels, got none; use smaller matrices";
  snprintf(message, sizeof message, "A[%d] expected positive definite, got a matrix that is not; add to its diagonal",
           status - 1);
  return message;
}

#define CHOLESKY(T, suffix, root)                                                                                     \
  typedef T lane_##suffix __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));                            \
  enum { LANES_##suffix = 64 / sizeof(T), COLUMNS_##suffix = 2 * LANES_##suffix };                                    \
                                                                                                                      \
  /* A matrix whose element (i, j) is at i * down + j * right. */                                                     \
  typedef struct {                                                                                                    \
    T *at;                                                                                                            \
    int64_t down, right;                                                                                              \
  } view_##suffix;                                                                                                    \
                                                                                                                      \
  static view_##suffix part_##suffix(view_##suffix x, int64_t i, int64_t j) {                                         \
    x.at += i * x.down + j * x.right;                                                                                 \
    return x;                                                                                                         \
  }                                                                                                                   \
                                                                                                                      \
  static view_##suffix turned_##suffix(view_##suffix x) {                                                             \
    view_##suffix y = {x.at, x.right, x.down};                                                                        \
    return y;                                                                                                         \
  }                                                                                                                   \
                                                                                                                      \
  /* tile += a b, of panels: a by columns of ROWS, b by rows of COLUMNS. */                                           \
  static void tile_##suffix(int64_t depth, const T *a, const T *b, T *tile) {                                         \
    lane_##suffix sum[ROWS][2] = {{{0}}};                                                                             \
    for (int64_t k = 0; k < depth; ++k) {                                                                             \
      const lane_##suffix left = *(const lane_##suffix *)(b + k * COLUMNS_##suffix);                                  \
      const lane_##suffix right = *(const lane_##suffix *)(b + k * COLUMNS_##suffix + LANES_##suffix);                \
      _Pragma("GCC unroll 6") for (int i = 0; i < ROWS; ++i) {                                                        \
        sum[i][0] += a[k * ROWS + i] * left;                                                                          \
        sum[i][1] += a[k * ROWS + i] * right;                                                                         \
      }                                                                                                               \
    }                                                                                                                 \
    memcpy(tile, sum, sizeof sum);                                                                                    \
  }                                                                                                                   \
                                                                                                                      \
  /* packed[k] = sign times column k of x (high, deep), with zeros up to `room`; x is read the way it lies. */        \
  static void pack_##suffix(T sign, int64_t high, int64_t room, int64_t deep, view_##suffix x, T *packed) {           \
    if (x.right == 1) {                                                                                               \
      for (int64_t i = 0; i < high; ++i)                                                                              \
        for (int64_t k = 0; k < deep; ++k) packed[k * room + i] = sign * x.at[i * x.down + k];                        \
    } else {                                                                                                          \
      for (int64_t k = 0; k < deep; ++k)                                                                              \
        for (int64_t i = 0; i < high; ++i) packed[k * room + i] = sign * x.at[i * x.down + k * x.right];              \
    }                                                                                                                 \
    for (int64_t k = 0; k < deep && high < room; ++k)                                                                 \
      for (int64_t i = high; i < room; ++i) packed[k * room + i] = 0;                                                 \
  }                                                                                                                   \
                                                                                                                      \
  /* c += sign a b, of (m, depth) and (depth, n); rows of c lie together. `parts` says which parts of a and b are zero, */\
  /* and skipped, and whether only what is on and below the diagonal of c has to be right. */                         \
  static int product_##suffix(int64_t m, int64_t n, int64_t depth, T sign, view_##suffix a, view_##suffix b,          \
                              view_##suffix c, int parts) {                                                           \
    const int64_t bands = (m + ROWS - 1) / ROWS, strips = (n + COLUMNS_##suffix - 1) / COLUMNS_##suffix;              \
    const int64_t most = depth < DEEP ? depth : DEEP;                                                                 \
    T *b_panel = malloc((size_t)(strips * COLUMNS_##suffix * most + 1) * sizeof(T));                                  \
    T *a_panel = malloc((size_t)(bands * ROWS * most + 1) * sizeof(T));                                               \
    const int shared = m * n * depth > LARGE;                                                                         \
    for (int64_t from = 0; b_panel && a_panel && from < depth; from += DEEP) {                                        \
      const int64_t deep = depth - from < DEEP ? depth - from : DEEP;                                                 \
      _Pragma("omp parallel if (shared)") {                                                                           \
        _Pragma("omp for schedule(dynamic, 2)") for (int64_t s = 0; s < strips; ++s) {                                \
          const int64_t left = s * COLUMNS_##suffix, start = parts & B_LOWER ? clip(left - from, deep) : 0;           \
          const int64_t wide = n - left < COLUMNS_##suffix ? n - left : COLUMNS_##suffix;                             \
          pack_##suffix(1, wide, COLUMNS_##suffix, deep - start,                                                      \
                        turned_##suffix(part_##suffix(b, from + start, left)),                                        \
                        b_panel + left * deep + start * COLUMNS_##suffix);                                            \
        }                                                                                                             \
        _Pragma("omp for schedule(dynamic, 2)") for (int64_t r = 0; r < bands; ++r) {                                 \
          const int64_t top = r * ROWS, high = m - top < ROWS ? m - top : ROWS;                                       \
          const int64_t start = parts & A_UPPER ? clip(top - from, deep) : 0;                                         \
          const int64_t end = parts & A_LOWER ? clip(top + high - from, deep) : deep;                                 \
          T *band = a_panel + top * deep, tile[ROWS * COLUMNS_##suffix];                                              \
          if (start >= end) continue;                                                                                 \
          pack_##suffix(sign, high, ROWS, end - start, part_##suffix(a, top, from + start), band + start * ROWS);     \
          for (int64_t s = 0; s < strips; ++s) {                                                                      \
            const int64_t left = s * COLUMNS_##suffix;                                                                \
            const int64_t wide = n - left < COLUMNS_##suffix ? n - left : COLUMNS_##suffix;                           \
            const int64_t first = parts & B_LOWER && left - from > start ? left - from : start;                       \
            if (first >= end || (parts & C_LOWER && left >= top + high)) break;                                       \
            tile_##suffix(end - first, band + first * ROWS, b_panel + left * deep + first * COLUMNS_##suffix, tile);  \
            for (int64_t i = 0; i < high; ++i)                                                                        \
              for (int64_t j = 0; j < wide; ++j)                                                                      \
                c.at[(top + i) * c.down + left + j] += tile[i * COLUMNS_##suffix + j];                                \
          }                                                                                                           \
        }                                                                                                             \
      }                                                                                                               \
    }                                                                                                                 \
    const int status = b_panel && a_panel ? 0 : -1;                                                                   \
    free(a_panel), free(b_panel);                                                                                     \
    return status;                                                                                                    \
  }                                                                                                                   \
                                                                                                                      \
                                                                                                                      \
  /* Turns x (m, n) into x l⁻ᵀ, for a lower triangle l (n, n). */                                                     \
  static int divide_##suffix(int64_t m, int64_t n, view_##suffix l, view_##suffix x) {                                \
    if (n > BASE) {                                                                                                   \
      const int64_t half = (n / 2 + BASE - 1) / BASE * BASE;                                                          \
      const view_##suffix rest = part_##suffix(x, 0, half);                                                           \
      const int64_t other = n - half;                                                                                 \
      if (divide_##suffix(m, half, l, x)) return -1;                                                                  \
      if (product_##suffix(m, other, half, -1, x, turned_##suffix(part_##suffix(l, half, 0)), rest, 0)) return -1;    \
      return divide_##suffix(m, other, part_##suffix(l, half, half), rest);                                           \
    }                                                                                                                 \
    /* Four rows at a time, of fixed length: what is beyond n meets zeros. Results go elsewhere, since a vector that is */\
    /* read just after one number of it was written has to wait. */                                                   \
    lane_##suffix columns[BASE][BASE / LANES_##suffix] = {{{0}}};                                                     \
    T scale[BASE];                                                                                                    \
    for (int64_t k = 0; k < n; ++k) {                                                                                 \
      scale[k] = 1 / l.at[k * l.down + k];                                                                            \
      for (int64_t j = k + 1; j < n; ++j) ((T *)columns[k])[j] = l.at[j * l.down + k];                                \
    }                                                                                                                 \
    for (int64_t i = 0; i < m; i += 4) {                                                                              \
      const int64_t high = m - i < 4 ? m - i : 4;                                                                     \
      lane_##suffix rows[4][BASE / LANES_##suffix] = {{{0}}};                                                         \
      T done[4][BASE];                                                                                                \
      for (int64_t r = 0; r < high; ++r) memcpy(rows[r], x.at + (i + r) * x.down, (size_t)n * sizeof(T));             \
      for (int64_t k = 0; k < n; ++k)                                                                                 \
        _Pragma("GCC unroll 4") for (int r = 0; r < 4; ++r) {                                                         \
          const T here = done[r][k] = ((T *)rows[r])[k] * scale[k];                                                   \
          _Pragma("GCC unroll 4") for (int v = 0; v < BASE / LANES_##suffix; ++v) rows[r][v] -= here * columns[k][v]; \
        }                                                                                                             \
      for (int64_t r = 0; r < high; ++r) memcpy(x.at + (i + r) * x.down, done[r], (size_t)n * sizeof(T));             \
    }                                                                                                                 \
    return 0;                                                                                                         \
  }                                                                                                                   \
                                                                                                                      \
  /* Turns the lower triangle of a (n, n) into its factor. 0, -1 without memory, 1 where there is none. */            \
  static int factor_##suffix(int64_t n, view_##suffix a) {                                                            \
    if (n > BASE) {                                                                                                   \
      const int64_t half = (n / 2 + BASE - 1) / BASE * BASE, other = n - half;                                        \
      const view_##suffix below = part_##suffix(a, half, 0), rest = part_##suffix(a, half, half);                     \
      const int status = factor_##suffix(half, a);                                                                    \
      if (status) return status;                                                                                      \
      if (divide_##suffix(other, half, a, below)) return -1;                                                          \
      if (product_##suffix(other, other, half, -1, below, turned_##suffix(below), rest, C_LOWER)) return -1;          \
      return factor_##suffix(other, rest);                                                                            \
    }                                                                                                                 \
    T column[BASE];                                                                                                   \
    for (int64_t k = 0; k < n; ++k) {                                                                                 \
      const T pivot = a.at[k * a.down + k];                                                                           \
      if (!(pivot > 0) || pivot > pivot * 2) return 1;                                                                \
      const T scale = 1 / root(pivot);                                                                                \
      for (int64_t i = k; i < n; ++i) column[i] = a.at[i * a.down + k] *= scale;                                      \
      for (int64_t i = k + 1; i < n; ++i) {                                                                           \
        T *row = a.at + i * a.down;                                                                                   \
        for (int64_t j = k + 1; j <= i; ++j) row[j] -= column[i] * column[j];                                         \
      }                                                                                                               \
    }                                                                                                                 \
    return 0;                                                                                                         \
  }                                                                                                                   \
                                                                                                                      \
  int32_t cholesky_##suffix(const DLTensor *A, DLTensor *L) {                                                         \
    const int64_t n = A->shape[A->ndim - 1], count = n ? opsdk_size(A) / (n * n) : 0;                                 \
    int32_t failed = 0;                                                                                               \
    _Pragma("omp parallel for schedule(dynamic) if (count > 1 && count * n * n * n > MANY)")                          \
    for (int64_t b = 0; b < count; ++b) {                                                                             \
      const T *in = OPSDK_DATA(const T, A) + b * n * n;                                                               \
      T *out = OPSDK_DATA(T, L) + b * n * n;                                                                          \
      for (int64_t i = 0; i < n; ++i) memcpy(out + i * n, in + i * n, (size_t)(i + 1) * sizeof(T));                   \
      const view_##suffix whole = {out, n, 1};                                                                        \
      const int status = factor_##suffix(n, whole);                                                                   \
      for (int64_t i = 0; i < n; ++i) memset(out + i * n + i + 1, 0, (size_t)(n - i - 1) * sizeof(T));                \
      if (status) {                                                                                                   \
        _Pragma("omp critical") if (status < 0 || !failed || (failed > 0 && b + 1 < failed)) failed =                 \
            status < 0 ? -1 : (int32_t)(b + 1);                                                                       \
      }                                                                                                               \
    }                                                                                                                 \
    return failed;                                                                                                    \
  }                                                                                                                   \
                                                                                                                      \
  /* Writes the inverse of a lower triangle l into x, which is zero; work is room for as many numbers as l has. */    \
  static int invert_##suffix(int64_t n, view_##suffix l, view_##suffix x, T *work) {                                  \
    if (n > BASE) {                                                                                                   \
      const int64_t half = (n / 2 + BASE - 1) / BASE * BASE, other = n - half;                                        \
      const view_##suffix rest = part_##suffix(x, half, half), between = {work, half, 1};                             \
      if (invert_##suffix(half, l, x, work)) return -1;                                                               \
      if (invert_##suffix(other, part_##suffix(l, half, half), rest, work)) return -1;                                \
      memset(work, 0, (size_t)(other * half) * sizeof(T));                                                            \
      if (product_##suffix(other, half, half, 1, part_##suffix(l, half, 0), x, between, B_LOWER)) return -1;          \
      return product_##suffix(other, half, other, -1, rest, between, part_##suffix(x, half, 0), A_LOWER);             \
    }                                                                                                                 \
    for (int64_t i = 0; i < n; ++i) {                                                                                 \
      T row[BASE] = {0};                                                                                              \
      const T scale = 1 / l.at[i * l.down + i];                                                                       \
      for (int64_t k = 0; k < i; ++k) {                                                                               \
        const T factor = l.at[i * l.down + k];                                                                        \
        for (int64_t j = 0; j <= k; ++j) row[j] -= factor * x.at[k * x.down + j];                                     \
      }                                                                                                               \
      for (int64_t j = 0; j < i; ++j) x.at[i * x.down + j] = row[j] * scale;                                          \
      x.at[i * x.down + i] = scale;                                                                                   \
    }                                                                                                                 \
    return 0;                                                                                                         \
  }                                                                                                                   \
                                                                                                                      \
  /* Copies the lower triangle of x, and halves its diagonal if told; what is above becomes zero. */                  \
  static void lower_##suffix(int64_t n, const T *x, T *y, int halves) {                                               \
    for (int64_t i = 0; i < n; ++i) {                                                                                 \
      if (x != y) memcpy(y + i * n, x + i * n, (size_t)(i + 1) * sizeof(T));                                          \
      memset(y + i * n + i + 1, 0, (size_t)(n - i - 1) * sizeof(T));                                                  \
      if (halves) y[i * n + i] /= 2;                                                                                  \
    }                                                                                                                 \
  }                                                                                                                   \
                                                                                                                      \
  /* x = l⁻ᵀ Φ(lᵀ dl) l⁻¹, where Φ takes the lower triangle and half of the diagonal: four products of triangles. The */\
  /* other arrays, of the size of x, are room to work in. */                                                          \
  static int gradient_##suffix(int64_t n, const T *given, const T *dl, T *x, T *l, T *inverse, T *y) {                \
    const view_##suffix ls = {l, n, 1}, inverses = {inverse, n, 1}, xs = {x, n, 1}, ys = {y, n, 1};                   \
    const size_t size = (size_t)(n * n) * sizeof(T);                                                                  \
    lower_##suffix(n, given, l, 0);                                                                                   \
    memset(inverse, 0, size);                                                                                         \
    if (invert_##suffix(n, ls, inverses, x)) return -1;                                                               \
    lower_##suffix(n, dl, y, 0);                                                                                      \
    memset(x, 0, size);                                                                                               \
    if (product_##suffix(n, n, n, 1, turned_##suffix(ls), ys, xs, A_UPPER | B_LOWER | C_LOWER)) return -1;            \
    lower_##suffix(n, x, x, 1);                                                                                       \
    memset(y, 0, size);                                                                                               \
    if (product_##suffix(n, n, n, 1, xs, inverses, ys, A_LOWER | B_LOWER)) return -1;                                 \
    memset(x, 0, size);                                                                                               \
    return product_##suffix(n, n, n, 1, turned_##suffix(inverses), ys, xs, A_UPPER | B_LOWER);                        \
  }                                                                                                                   \
                                                                                                                      \
  int32_t cholesky_grad_##suffix(const DLTensor *L, const DLTensor *dL, DLTensor *dA) {                               \
    const int64_t n = L->shape[L->ndim - 1], count = n ? opsdk_size(L) / (n * n) : 0, size = n * n;                   \
    int32_t failed = 0;                                                                                               \
    _Pragma("omp parallel for schedule(dynamic) if (count > 1 && count * n * n * n > MANY)")                          \
    for (int64_t b = 0; b < count; ++b) {                                                                             \
      const T *l = OPSDK_DATA(const T, L) + b * size, *dl = OPSDK_DATA(const T, dL) + b * size;                       \
      T *out = OPSDK_DATA(T, dA) + b * size, *x = malloc((size_t)(4 * size) * sizeof(T));                             \
      if (!x || gradient_##suffix(n, l, dl, x, x + size, x + 2 * size, x + 3 * size)) {                               \
        _Pragma("omp critical") failed = -1;                                                                          \
      } else {                                                                                                        \
        for (int64_t top = 0; top < n; top += 16) /* by tiles, since columns are far apart in memory */               \
          for (int64_t left = 0; left <= top; left += 16)                                                             \
            for (int64_t i = top; i < n && i < top + 16; ++i)                                                         \
              for (int64_t j = left; j <= i && j < left + 16; ++j)                                                    \
                out[i * n + j] = out[j * n + i] = (x[i * n + j] + x[j * n + i]) / 2;                                  \
      }                                                                                                               \
      free(x);                                                                                                        \
    }                                                                                                                 \
    return failed;                                                                                                    \
  }

CHOLESKY(float, f32, sqrtf)
CHOLESKY(double, f64, sqrt)

/* embedding_bag and its gradients. Columns are taken in blocks that stay in registers while the rows of a bag go by. */
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { BLOCK = 128, CHAIN = 64, MANY = 64, AHEAD = 16, REFUSED = 2, SUM = 's', MAX = 'a', MEAN = 'e' };

/* What tells the modes apart: the second letter, but for "sum". */
static int mode_of(const char *mode) { return mode[0] == 's' ? SUM : mode[1]; }

/* Asks for the row that is wanted soon: rows lie anywhere, and waiting for memory is most of the work. */
#define COMING(T, memory, width, writes)                                                   \
  for (int64_t d_ = 0; d_ < (width); d_ += 64 / (int64_t)sizeof(T)) __builtin_prefetch((memory) + d_, writes)

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* How many columns are taken at once: as many as there is code for where the rows' sums stay in registers. */
static int64_t block_of(int64_t columns) {
  for (int64_t n = BLOCK; n >= 16; n /= 2)
    if (columns >= n) return n;
  return columns;
}

/* How many columns one thread takes of a table that all write to, whole lines of cache. */
static int64_t share_of(int64_t columns) {
#ifdef _OPENMP
  const int64_t threads = omp_get_max_threads();
#else
  const int64_t threads = 1;
#endif
  const int64_t share = (columns + threads - 1) / threads;
  return share > 16 ? (share + 15) / 16 * 16 : 16; /* a loop in steps of 0 has no end */
}

/* Whether shapes, dtypes and the mode of the forward fit together; weight has the dtype of the function. */
static int is_call(const DLTensor *weight, const DLTensor *input, const DLTensor *offsets, const DLTensor *factors,
                   const char *mode) {
  if (weight->ndim != 2 || input->ndim != 1 || offsets->ndim != 1) return 0;
  const int wide = OPSDK_IS(input, kDLInt, 64), narrow = OPSDK_IS(input, kDLInt, 32);
  if (!(wide && OPSDK_IS(offsets, kDLInt, 64)) && !(narrow && OPSDK_IS(offsets, kDLInt, 32))) return 0;
  if (strcmp(mode, "sum") && strcmp(mode, "mean") && strcmp(mode, "max")) return 0;
  if (!factors) return 1;
  return mode_of(mode) == SUM && factors->ndim == 1 && factors->shape[0] == input->shape[0] &&
         factors->dtype.code == weight->dtype.code && factors->dtype.bits == weight->dtype.bits;
}

const char *opsdk_message(int32_t status) { return status == 1 ? "there is no memory for the sums or maxima of bags" : 0; }

/* The sum of a bag, n columns of it, divided by `shares`; without factors there is nothing to multiply by. */
#define SUM_OF(suffix, index, n)                                                                        \
  (factors ? add_##suffix##index(made, table + c, rows, factors, start, end, count, columns, shares, n) \
           : add_##suffix##index(made, table + c, rows, 0, start, end, count, columns, shares, n))

#define BAGS(T, I, suffix, index)                                                                                   \
  static int64_t end_##suffix##index(const I *offsets, int64_t bags, int64_t b, int64_t count) {                    \
    return b + 1 < bags ? (int64_t)offsets[b + 1] : count;                                                          \
  }                                                                                                                 \
                                                                                                                    \
  /* Adds rows, n columns of each, in registers where n is a constant: whole lanes of 16. At most CHAIN rows are    \
   * added one by one; what they give is added in double, so that a long bag does not outgrow its terms. */         \
  static inline __attribute__((always_inline)) void add_##suffix##index(                                            \
      T *restrict made, const T *restrict table, const I *rows, const T *factors, int64_t start, int64_t end,       \
      int64_t count, int64_t columns, T shares, const int64_t n) {                                                  \
    typedef T lane __attribute__((vector_size(16 * sizeof(T)), aligned(sizeof(T)), may_alias));                     \
    double totals[BLOCK];                                                                                           \
    for (int64_t from = start, to; from == start || from < end; from = to) {                                        \
      to = least(from + CHAIN, end);                                                                                \
      lane sums[BLOCK / 16] = {{0}};                                                                                \
      for (int64_t i = from; i < to; ++i) {                                                                         \
        const T *row = table + rows[i] * columns;                                                                   \
        const T factor = factors ? factors[i] : 1;                                                                  \
        COMING(T, table + rows[least(i + AHEAD, count - 1)] * columns, n, 0);                                       \
        for (int64_t v = 0; v < n / 16; ++v) sums[v] += factor * *(const lane *)(row + 16 * v);                     \
      }                                                                                                             \
      if (end - start <= CHAIN) {                                                                                   \
        for (int64_t v = 0; v < n / 16; ++v) *(lane *)(made + 16 * v) = sums[v] / shares;                           \
        return;                                                                                                     \
      }                                                                                                             \
      for (int64_t d = 0; d < n; ++d) totals[d] = (from == start ? 0 : totals[d]) + (double)sums[d / 16][d % 16];   \
    }                                                                                                               \
    for (int64_t d = 0; d < n; ++d) made[d] = (T)(totals[d] / (double)shares);                                      \
  }                                                                                                                 \
                                                                                                                    \
  static void add_few_##suffix##index(T *restrict made, const T *restrict table, const I *rows, const T *factors,   \
                                      int64_t start, int64_t end, int64_t columns, T shares, int64_t n) {           \
    double sums[BLOCK] = {0};                                                                                       \
    for (int64_t i = start; i < end; ++i)                                                                           \
      for (int64_t d = 0; d < n; ++d)                                                                               \
        sums[d] += (double)(factors ? factors[i] : 1) * (double)table[rows[i] * columns + d];                       \
    for (int64_t d = 0; d < n; ++d) made[d] = (T)(sums[d] / (double)shares);                                        \
  }                                                                                                                 \
                                                                                                                    \
  static void maximum_##suffix##index(T *restrict made, const T *restrict table, const I *rows, int64_t start,      \
                                      int64_t end, int64_t count, int64_t columns, int64_t n) {                     \
    T most[BLOCK] = {0};                                                                                            \
    if (start < end) memcpy(most, table + rows[start] * columns, sizeof(T) * (size_t)n);                            \
    for (int64_t i = start + 1; i < end; ++i) {                                                                     \
      const T *row = table + rows[i] * columns;                                                                     \
      COMING(T, table + rows[least(i + AHEAD, count - 1)] * columns, n, 0);                                         \
      for (int64_t d = 0; d < n; ++d) most[d] = (row[d] > most[d]) | (row[d] != row[d]) ? row[d] : most[d];         \
    }                                                                                                               \
    memcpy(made, most, sizeof(T) * (size_t)n);                                                                      \
  }                                                                                                                 \
                                                                                                                    \
  /* Whether bags are some: their rows lie in the table, and none ends before its start. */                         \
  static int are_bags_##suffix##index(const I *rows, const I *offsets, int64_t first, int64_t last, int64_t bags,   \
                                      int64_t count, int64_t size) {                                                \
    int in_order = offsets[first] >= 0;                                                                             \
    for (int64_t b = first; b < last; ++b) in_order &= offsets[b] <= end_##suffix##index(offsets, bags, b, count);  \
    const int64_t end = end_##suffix##index(offsets, bags, last - 1, count);                                        \
    if (!in_order || end > count) return 0;                                                                         \
    uint64_t most = 0;                                                                                              \
    for (int64_t i = offsets[first]; i < end; ++i) {                                                                \
      const uint64_t row = (uint64_t)(int64_t)rows[i]; /* without a sign, what is below 0 is far above */           \
      most = row > most ? row : most;                                                                               \
    }                                                                                                               \
    return offsets[first] == end || most < (uint64_t)size;                                                          \
  }                                                                                                                 \
                                                                                                                    \
  static void bag_##suffix##index(const T *table, const I *rows, const T *factors, int64_t start, int64_t end,      \
                                  int64_t count, int64_t columns, int mode, T *y) {                                 \
    const T shares = mode == MEAN && start < end ? (T)(end - start) : 1;                                            \
    for (int64_t c = 0, n; c < columns; c += n) {                                                                   \
      n = block_of(columns - c);                                                                                    \
      if (n < 16 && columns >= 16) n = 16, c = columns - n; /* some columns twice, which is faster than a rest */   \
      T *made = y + c;                                                                                              \
      switch (mode == MAX ? MAX : n) {                                                                              \
        case MAX: maximum_##suffix##index(made, table + c, rows, start, end, count, columns, n); break;             \
        case 128: SUM_OF(suffix, index, 128); break;                                                                \
        case 64: SUM_OF(suffix, index, 64); break;                                                                  \
        case 32: SUM_OF(suffix, index, 32); break;                                                                  \
        case 16: SUM_OF(suffix, index, 16); break;                                                                  \
        default: add_few_##suffix##index(made, table + c, rows, factors, start, end, columns, shares, n);           \
      }                                                                                                             \
    }                                                                                                               \
  }                                                                                                                 \
                                                                                                                    \
  /* Reduces some bags if they are bags. Not inlined: what threads share is read once, and then in registers. */    \
  static __attribute__((noinline)) int some_bags_##suffix##index(                                                   \
      const T *table, const I *rows, const I *offsets, const T *factors, T *y, int64_t first, int64_t last,         \
      int64_t bags, int64_t count, int64_t size, int64_t columns, int mode) {                                       \
    if (!are_bags_##suffix##index(rows, offsets, first, last, bags, count, size)) return 0;                         \
    for (int64_t b = first; b < last; ++b)                                                                          \
      bag_##suffix##index(table, rows, factors, offsets[b], end_##suffix##index(offsets, bags, b, count), count,    \
                          columns, mode, y + b * columns);                                                          \
    return 1;                                                                                                       \
  }                                                                                                                 \
                                                                                                                    \
  /* Returns whether all bags were bags; what is in y matters only then. */                                         \
  static int reduce_##suffix##index(const DLTensor *weight, const DLTensor *input, const DLTensor *starts,          \
                                    const T *factors, T *y, int mode) {                                             \
    const T *table = OPSDK_DATA(const T, weight);                                                                   \
    const I *rows = OPSDK_DATA(const I, input), *offsets = OPSDK_DATA(const I, starts);                             \
    const int64_t columns = weight->shape[1], count = input->shape[0], bags = starts->shape[0];                     \
    int all_well = bags ? offsets[0] == 0 : count == 0;                                                             \
    _Pragma("omp parallel for schedule(dynamic) reduction(& : all_well) if (count * columns > 16384)")              \
    for (int64_t first = 0; first < bags; first += MANY)                                                            \
      all_well &= some_bags_##suffix##index(table, rows, offsets, factors, y, first, least(first + MANY, bags),     \
                                            bags, count, weight->shape[0], columns, mode);                          \
    return all_well;                                                                                                \
  }                                                                                                                 \
                                                                                                                    \
  /* Numbers the rows that occur more than CHAIN times, from 1; all others have 0. Returns how many there are. */   \
  static int64_t number_often_##suffix##index(const I *rows, int64_t count, int64_t size, int64_t *number) {        \
    int64_t often = 0;                                                                                              \
    for (int64_t i = 0; i < count; ++i) ++number[rows[i]];                                                          \
    for (int64_t v = 0; v < size; ++v) number[v] = number[v] > CHAIN ? ++often : 0;                                 \
    return often;                                                                                                   \
  }                                                                                                                 \
                                                                                                                    \
  /* A thread owns columns of the table, and goes through all bags in order: no two threads add to one element, and \
   * the sums do not depend on the number of threads. What belongs to rows that occur too often for float is added  \
   * in double, in a table of their own. */                                                                         \
  static int32_t scatter_##suffix##index(const DLTensor *weight, const DLTensor *input, const DLTensor *starts,     \
                                         const T *dy, const T *factors, T *dweight, int mode) {                     \
    const T *table = OPSDK_DATA(const T, weight);                                                                   \
    const I *rows = OPSDK_DATA(const I, input), *offsets = OPSDK_DATA(const I, starts);                             \
    const int64_t size = weight->shape[0], columns = weight->shape[1], count = input->shape[0];                     \
    const int64_t bags = starts->shape[0], share = share_of(columns);                                               \
    int32_t status = 0;                                                                                             \
    int64_t *number = 0;                                                                                            \
    double *wide = 0;                                                                                               \
    if (sizeof(T) < sizeof(double) && count > CHAIN && columns) {                                                   \
      if (!(number = calloc((size_t)size, sizeof(int64_t)))) return 1;                                              \
      const int64_t often = number_often_##suffix##index(rows, count, size, number);                                \
      if (often && !(wide = calloc((size_t)(often * columns), sizeof(double)))) {                                   \
        free(number);                                                                                               \
        return 1;                                                                                                   \
      }                                                                                                             \
    }                                                                                                               \
    _Pragma("omp parallel if (count * columns > 16384)") {                                                          \
      _Pragma("omp for schedule(static)")                                                                           \
      for (int64_t v = 0; v < size; ++v) memset(dweight + v * columns, 0, sizeof(T) * (size_t)columns);             \
      _Pragma("omp for schedule(static, 1)")                                                                        \
      for (int64_t c = 0; c < columns; c += share) {                                                                \
        const int64_t n = least(share, columns - c);                                                                \
        T *best = mode == MAX ? malloc((sizeof(T) + sizeof(int64_t)) * (size_t)n) : 0;                              \
        int64_t *place = (int64_t *)best;                                                                           \
        if (mode == MAX && !best) {                                                                                 \
          _Pragma("omp atomic write") status = 1;                                                                   \
          continue;                                                                                                 \
        }                                                                                                           \
        best = mode == MAX ? (T *)(place + n) : 0;                                                                  \
        for (int64_t b = 0; b < bags; ++b) {                                                                        \
          const int64_t start = offsets[b], end = end_##suffix##index(offsets, bags, b, count);                     \
          const T *restrict arriving = dy + b * columns + c;                                                        \
          for (int64_t i = start; i < end; ++i) {                                                                   \
            const int64_t at = rows[i] * columns + c;                                                               \
            const int64_t soon = rows[least(i + AHEAD, count - 1)] * columns + c;                                   \
            if (mode == MAX) {                                                                                      \
              const T *row = table + at;                                                                            \
              COMING(T, table + soon, n, 0);                                                                        \
              for (int64_t d = 0; d < n; ++d) {                                                                     \
                const int better = (i == start) | (row[d] > best[d]) | ((row[d] != row[d]) & (best[d] == best[d])); \
                best[d] = better ? row[d] : best[d];                                                                \
                place[d] = better ? (int64_t)rows[i] : place[d];                                                    \
              }                                                                                                     \
              continue;                                                                                             \
            }                                                                                                       \
            const T factor = factors ? factors[i] : mode == MEAN ? 1 / (T)(end - start) : 1;                        \
            if (wide && number[rows[i]]) {                                                                          \
              double *restrict leaving = wide + (number[rows[i]] - 1) * columns + c;                                \
              for (int64_t d = 0; d < n; ++d) leaving[d] += (double)factor * (double)arriving[d];                   \
            } else {                                                                                                \
              T *restrict leaving = dweight + at;                                                                   \
              COMING(T, dweight + soon, n, 1);                                                                      \
              for (int64_t d = 0; d < n; ++d) leaving[d] += factor * arriving[d];                                   \
            }                                                                                                       \
          }                                                                                                         \
          if (mode == MAX && start < end) {                                                                         \
            for (int64_t d = 0; d < n; ++d) __builtin_prefetch(dweight + place[d] * columns + c + d, 1);            \
            for (int64_t d = 0; d < n; ++d) {                                                                       \
              if (wide && number[place[d]])                                                                         \
                wide[(number[place[d]] - 1) * columns + c + d] += (double)arriving[d];                              \
              else                                                                                                  \
                dweight[place[d] * columns + c + d] += arriving[d];                                                 \
            }                                                                                                       \
          }                                                                                                         \
        }                                                                                                           \
        free(place);                                                                                                \
      }                                                                                                             \
      _Pragma("omp for schedule(static)")                                                                           \
      for (int64_t v = 0; v < size; ++v)                                                                            \
        for (int64_t d = 0; wide && number[v] && d < columns; ++d)                                                  \
          dweight[v * columns + d] = (T)wide[(number[v] - 1) * columns + d];                                        \
    }                                                                                                               \
    free(wide);                                                                                                     \
    free(number);                                                                                                   \
    return status;                                                                                                  \
  }                                                                                                                 \
  static void products_##suffix##index(const DLTensor *weight, const DLTensor *input, const DLTensor *starts,       \
                                       const T *dy, T *dfactors) {                                                  \
    const T *table = OPSDK_DATA(const T, weight);                                                                   \
    const I *rows = OPSDK_DATA(const I, input), *offsets = OPSDK_DATA(const I, starts);                             \
    const int64_t columns = weight->shape[1], count = input->shape[0], bags = starts->shape[0];                     \
    _Pragma("omp parallel for schedule(dynamic, 16) if (count * columns > 16384)")                                  \
    for (int64_t b = 0; b < bags; ++b)                                                                              \
      for (int64_t i = offsets[b]; i < end_##suffix##index(offsets, bags, b, count); ++i) {                         \
        const T *row = table + rows[i] * columns, *arriving = dy + b * columns;                                     \
        COMING(T, table + rows[least(i + AHEAD, count - 1)] * columns, columns, 0);                                 \
        double sum = 0; /* of lanes that add CHAIN numbers each: in one order it would be one number at a time */   \
        int64_t d = 0;                                                                                              \
        while (d + 16 <= columns) {                                                                                 \
          const int64_t until = least(columns / 16 * 16, d + 16 * CHAIN);                                           \
          T lanes[16] = {0};                                                                                        \
          for (; d < until; d += 16)                                                                                \
            for (int64_t l = 0; l < 16; ++l) lanes[l] += row[d + l] * arriving[d + l];                              \
          for (int64_t l = 0; l < 16; ++l) sum += (double)lanes[l];                                                 \
        }                                                                                                           \
        for (; d < columns; ++d) sum += (double)row[d] * (double)arriving[d];                                       \
        dfactors[i] = (T)sum;                                                                                       \
      }                                                                                                             \
  }

#define EMBEDDING_BAG(T, suffix)                                                                                    \
  BAGS(T, int32_t, suffix, _i32)                                                                                    \
  BAGS(T, int64_t, suffix, _i64)                                                                                    \
                                                                                                                    \
  int32_t embedding_bag_##suffix(const DLTensor *weight, const DLTensor *input, const DLTensor *offsets,            \
                                 const DLTensor *per_sample_weights, DLTensor *y, const char *mode) {               \
    const T *factors = per_sample_weights ? OPSDK_DATA(const T, per_sample_weights) : 0;                            \
    T *made = OPSDK_DATA(T, y);                                                                                     \
    if (!is_call(weight, input, offsets, per_sample_weights, mode)) return REFUSED;                                 \
    const int all_well = OPSDK_IS(input, kDLInt, 64)                                                                \
                             ? reduce_##suffix##_i64(weight, input, offsets, factors, made, mode_of(mode))          \
                             : reduce_##suffix##_i32(weight, input, offsets, factors, made, mode_of(mode));         \
    return all_well ? 0 : REFUSED;                                                                                  \
  }                                                                                                                 \
                                                                                                                    \
  int32_t bags_to_table_##suffix(const DLTensor *weight, const DLTensor *input, const DLTensor *offsets,            \
                                 const DLTensor *dy, const DLTensor *per_sample_weights, DLTensor *dweight,         \
                                 const char *mode) {                                                                \
    const T *factors = per_sample_weights ? OPSDK_DATA(const T, per_sample_weights) : 0;                            \
    const T *arriving = OPSDK_DATA(const T, dy);                                                                    \
    T *leaving = OPSDK_DATA(T, dweight);                                                                            \
    if (OPSDK_IS(input, kDLInt, 64))                                                                                \
      return scatter_##suffix##_i64(weight, input, offsets, arriving, factors, leaving, mode_of(mode));             \
    return scatter_##suffix##_i32(weight, input, offsets, arriving, factors, leaving, mode_of(mode));               \
  }                                                                                                                 \
                                                                                                                    \
  int32_t bag_products_##suffix(const DLTensor *weight, const DLTensor *input, const DLTensor *offsets,             \
                                const DLTensor *dy, DLTensor *dfactors) {                                           \
    const T *arriving = OPSDK_DATA(const T, dy);                                                                    \
    T *made = OPSDK_DATA(T, dfactors);                                                                              \
    if (OPSDK_IS(input, kDLInt, 64))                                                                                \
      products_##suffix##_i64(weight, input, offsets, arriving, made);                                              \
    else                                                                                                            \
      products_##suffix##_i32(weight, input, offsets, arriving, made);                                              \
    return 0;                                                                                                       \
  }

EMBEDDING_BAG(float, f32)
EMBEDDING_BAG(double, f64)

/* Eigenvalues and eigenvectors of a batch of symmetric matrices, by rotations (Jacobi 1846; Golub and Van Loan, Matrix
   Computations, 4th ed., algorithm 8.5.2): a sweep turns each pair of rows and columns once, and few sweeps are needed.
   All is done in double: the roundings of some n² rotations a sweep would show in float from 100 rows on. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 60, FAILED = 1, REFUSED = 2 }; /* six to ten are usual; the check has words for what is refused */

static const double EPS = 2.220446049250313e-16;

const char *opsdk_message(int32_t status) {
  return status == FAILED ? "expected memory for a matrix, or sweeps that end, got none; use smaller matrices" : 0;
}

/* Rows of v are the eigenvectors while it works; a is symmetric, and diagonal in the end. */
static int rotate(int64_t n, double *a, double *v) {
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    double off = 0, all = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        const double size = fabs(a[i * n + j]);
        if (j < i && size > off) off = size;
        if (size > all) all = size;
      }
    if (off <= all * EPS * EPS) return 0;
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        const double between = a[q * n + p];
        if (between == 0) continue;
        const double half = (a[q * n + q] - a[p * n + p]) / (2 * between);
        const double far = fabs(half) < 1 / EPS ? fabs(half) + sqrt(half * half + 1) : 2 * fabs(half);
        const double tangent = (half < 0 ? -1 : 1) / far, cosine = 1 / sqrt(tangent * tangent + 1);
        const double sine = tangent * cosine;
        for (int64_t k = 0; k < n; ++k) {
          const double x = a[k * n + p], y = a[k * n + q];
          a[k * n + p] = cosine * x - sine * y;
          a[k * n + q] = sine * x + cosine * y;
        }
        for (int64_t k = 0; k < n; ++k) {
          const double x = a[p * n + k], y = a[q * n + k], s = v[p * n + k], t = v[q * n + k];
          a[p * n + k] = cosine * x - sine * y;
          a[q * n + k] = sine * x + cosine * y;
          v[p * n + k] = cosine * s - sine * t;
          v[q * n + k] = sine * s + cosine * t;
        }
        a[p * n + q] = a[q * n + p] = 0;
      }
  }
  return FAILED; /* unreached: no matrix is known that takes so many sweeps */
}

#define EIGH(T, suffix)                                                                                               \
  static int solve_##suffix(int64_t n, const T *in, T *values, T *vectors, double *a) {                               \
    double *v = a + n * n;                                                                                            \
    memset(v, 0, (size_t)(n * n) * sizeof(double));                                                                   \
    for (int64_t i = 0; i < n; ++i) {                                                                                 \
      v[i * n + i] = 1;                                                                                               \
      for (int64_t j = 0; j <= i; ++j) {                                                                              \
        if (!isfinite(in[i * n + j])) return REFUSED;                                                                 \
        a[i * n + j] = a[j * n + i] = in[i * n + j];                                                                  \
      }                                                                                                               \
    }                                                                                                                 \
    const int status = rotate(n, a, v);                                                                               \
    if (status) return status;                                                                                        \
    for (int64_t k = 0; k < n; ++k) { /* the least that is left comes next */                                         \
      int64_t least = k;                                                                                              \
      for (int64_t i = k + 1; i < n; ++i)                                                                             \
        if (a[i * n + i] < a[least * n + least]) least = i;                                                           \
      values[k] = (T)a[least * n + least];                                                                            \
      a[least * n + least] = a[k * n + k];                                                                            \
      double most = 0, sign = 1, length = 0;                                                                          \
      for (int64_t i = 0; i < n; ++i) {                                                                               \
        const double x = v[least * n + i];                                                                            \
        v[least * n + i] = v[k * n + i];                                                                              \
        v[k * n + i] = x;                                                                                             \
        if (fabs(x) > most) most = fabs(x);                                                                           \
        length += x * x;                                                                                              \
      }                                                                                                               \
      for (int64_t i = n; i-- > 0;)                                                                                   \
        if (fabs(v[k * n + i]) > most / 2) sign = v[k * n + i] < 0 ? -1 : 1;                                          \
      for (int64_t i = 0; i < n; ++i) vectors[i * n + k] = (T)(sign * v[k * n + i] / sqrt(length));                   \
    }                                                                                                                 \
    return 0;                                                                                                         \
  }                                                                                                                   \
                                                                                                                      \
  int32_t eigh_##suffix(const DLTensor *A, DLTensor *values, DLTensor *vectors) {                                     \
    if (A->ndim < 2 || A->shape[A->ndim - 2] != A->shape[A->ndim - 1]) return REFUSED;                                \
    const int64_t n = A->shape[A->ndim - 1], size = n * n, count = n ? opsdk_size(A) / size : 0;                      \
    int32_t failed = 0;                                                                                               \
    _Pragma("omp parallel for schedule(dynamic) if (count > 1 && count * size * n > 1 << 15)")                        \
    for (int64_t b = 0; b < count; ++b) {                                                                             \
      double *room = malloc((size_t)(2 * size) * sizeof(double));                                                     \
      const int status = !room ? FAILED                                                                               \
                               : solve_##suffix(n, OPSDK_DATA(const T, A) + b * size, OPSDK_DATA(T, values) + b * n,  \
                                                OPSDK_DATA(T, vectors) + b * size, room);                             \
      free(room);                                                                                                     \
      if (status) {                                                                                                   \
        _Pragma("omp critical") failed = status;                                                                      \
      }                                                                                                               \
    }                                                                                                                 \
    return failed;                                                                                                    \
  }

EIGH(float, f32)
EIGH(double, f64)

/* Eigenvalues and eigenvectors of a batch of symmetric matrices, by rotations (Jacobi 1846; Golub and Van Loan, Matrix
   Computations, 4th ed., algorithm 8.5.2): a sweep turns each pair of rows and columns once, and few sweeps are needed. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 60, FAILED = 1, REFUSED = 2 }; /* six to ten are usual; the check has words for what is refused */

const char *opsdk_message(int32_t status) {
  return status == FAILED ? "expected memory for a matrix, or sweeps that end, got none; use smaller matrices" : 0;
}

#define EIGH(T, suffix, root, magnitude, eps)                                                                     \
  /* Rows of v are the eigenvectors while it works; a is symmetric, and diagonal in the end. */                       \
  static int rotate_##suffix(int64_t n, T *a, T *v) {                                                                 \
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {                                                                    \
      T off = 0, all = 0;                                                                                             \
      for (int64_t i = 0; i < n; ++i)                                                                                 \
        for (int64_t j = 0; j <= i; ++j) {                                                                            \
          const T size = magnitude(a[i * n + j]);                                                                     \
          if (j < i && size > off) off = size;                                                                        \
          if (size > all) all = size;                                                                                 \
        }                                                                                                             \
      if (off <= all * (eps) * (eps)) return 0;                                                                       \
      for (int64_t p = 0; p < n; ++p)                                                                                 \
        for (int64_t q = p + 1; q < n; ++q) {                                                                         \
          const T between = a[q * n + p];                                                                             \
          if (between == 0) continue;                                                                                 \
          const T half = (a[q * n + q] - a[p * n + p]) / (2 * between);                                               \
          const T far = magnitude(half) < 1 / (eps) ? magnitude(half) + root(half * half + 1) : 2 * magnitude(half); \
          const T tangent = (half < 0 ? -1 : 1) / far, cosine = 1 / root(tangent * tangent + 1);                      \
          const T sine = tangent * cosine;                                                                            \
          for (int64_t k = 0; k < n; ++k) {                                                                           \
            const T x = a[k * n + p], y = a[k * n + q];                                                               \
            a[k * n + p] = cosine * x - sine * y;                                                                     \
            a[k * n + q] = sine * x + cosine * y;                                                                     \
          }                                                                                                           \
          for (int64_t k = 0; k < n; ++k) {                                                                           \
            const T x = a[p * n + k], y = a[q * n + k], s = v[p * n + k], t = v[q * n + k];                           \
            a[p * n + k] = cosine * x - sine * y;                                                                     \
            a[q * n + k] = sine * x + cosine * y;                                                                     \
            v[p * n + k] = cosine * s - sine * t;                                                                     \
            v[q * n + k] = sine * s + cosine * t;                                                                     \
          }                                                                                                           \
          a[p * n + q] = a[q * n + p] = 0;                                                                            \
        }                                                                                                             \
    }                                                                                                                 \
    return FAILED; /* unreached: no matrix is known that takes so many sweeps */                                      \
  }                                                                                                                   \
                                                                                                                      \
  static int solve_##suffix(int64_t n, const T *in, T *values, T *vectors, T *a) {                                    \
    T *v = a + n * n;                                                                                                 \
    memset(v, 0, (size_t)(n * n) * sizeof(T));                                                                        \
    for (int64_t i = 0; i < n; ++i) {                                                                                 \
      v[i * n + i] = 1;                                                                                               \
      for (int64_t j = 0; j <= i; ++j) {                                                                              \
        if (!isfinite(in[i * n + j])) return REFUSED;                                                                 \
        a[i * n + j] = a[j * n + i] = in[i * n + j];                                                                  \
      }                                                                                                               \
    }                                                                                                                 \
    const int status = rotate_##suffix(n, a, v);                                                                      \
    if (status) return status;                                                                                        \
    for (int64_t k = 0; k < n; ++k) { /* the least that is left comes next */                                         \
      int64_t least = k;                                                                                              \
      for (int64_t i = k + 1; i < n; ++i)                                                                             \
        if (a[i * n + i] < a[least * n + least]) least = i;                                                           \
      values[k] = a[least * n + least];                                                                               \
      a[least * n + least] = a[k * n + k];                                                                            \
      T most = 0, sign = 1, length = 0;                                                                               \
      for (int64_t i = 0; i < n; ++i) {                                                                               \
        const T x = v[least * n + i];                                                                                 \
        v[least * n + i] = v[k * n + i];                                                                              \
        v[k * n + i] = x;                                                                                             \
        if (magnitude(x) > most) most = magnitude(x);                                                                 \
        length += x * x;                                                                                              \
      }                                                                                                               \
      for (int64_t i = n; i-- > 0;)                                                                                   \
        if (magnitude(v[k * n + i]) > most / 2) sign = v[k * n + i] < 0 ? -1 : 1;                                     \
      for (int64_t i = 0; i < n; ++i) vectors[i * n + k] = sign * v[k * n + i] / root(length);                        \
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
      T *room = malloc((size_t)(2 * size) * sizeof(T));                                                               \
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

EIGH(float, f32, sqrtf, fabsf, 1.1920929e-7f)
EIGH(double, f64, sqrt, fabs, 2.220446049250313e-16)

/* What a C kernel of opsdk sees: arrays in DLPack's layout, and small functions over them.
 *
 * Every source is compiled with this header in front; including it is allowed and changes nothing.
 */
#ifndef OPSDK_H
#define OPSDK_H
#define DLPACK_DLPACK_H_ /* the same types: a DLPack header that is included later would define them again */

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kDLCPU = 1 };
enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 };

typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code; /* kDLFloat and the like */
  uint8_t bits; /* of one element */
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements, not in bytes; never NULL */
  uint64_t byte_offset;
} DLTensor;

/* The first element, as a pointer to its type: OPSDK_DATA(const float, x). */
#define OPSDK_DATA(type, tensor) ((type *)((char *)(tensor)->data + (tensor)->byte_offset))

/* Whether a tensor has a type: OPSDK_IS(index, kDLInt, 64). */
#define OPSDK_IS(tensor, kind, width) ((tensor)->dtype.code == (kind) && (tensor)->dtype.bits == (width))

/* How many elements a tensor has; 1 for one without dimensions.
 *
 * In a loop's condition it is computed once: to the compiler it is a function of the pointer alone, which it is as long
 * as no tensor's shape changes while a kernel runs. opsdk defines OPSDK_SHAPES_STAY for sources that make no DLTensor
 * and change none; without it, memory is read each time. Calls may be moved to where the pointer is not looked at, hence
 * the look at NULL.
 */
#if defined(OPSDK_SHAPES_STAY) && defined(__GNUC__)
__attribute__((const, noinline, unused)) static int64_t opsdk_size(const DLTensor *tensor) {
  if (!tensor) return 0;
#else
static inline int64_t opsdk_size(const DLTensor *tensor) {
#endif
  int64_t size = 1;
  for (int32_t d = 0; d < tensor->ndim; ++d) size *= tensor->shape[d];
  return size;
}

/* Whether two tensors have the same shape. */
static inline int opsdk_same_shape(const DLTensor *a, const DLTensor *b) {
  if (a->ndim != b->ndim) return 0;
  for (int32_t d = 0; d < a->ndim; ++d)
    if (a->shape[d] != b->shape[d]) return 0;
  return 1;
}

/* Where element i of the C order lies, in elements from the first one; for kernels registered with contiguous=False. */
static inline int64_t opsdk_offset(const DLTensor *tensor, int64_t i) {
  int64_t offset = 0;
  for (int32_t d = tensor->ndim - 1; d >= 0; --d) {
    const int64_t size = tensor->shape[d];
    offset += (i % size) * tensor->strides[d];
    i /= size;
  }
  return offset;
}

/* float16 and bfloat16 as they are stored; compute in float. */
typedef uint16_t opsdk_f16;
typedef uint16_t opsdk_bf16;

static inline float opsdk_bits_f32(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static inline uint32_t opsdk_f32_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}

static inline float opsdk_from_bf16(opsdk_bf16 value) { return opsdk_bits_f32((uint32_t)value << 16); }

/* To the nearest, ties to even; NaN stays NaN. */
static inline opsdk_bf16 opsdk_to_bf16(float value) {
  const uint32_t bits = opsdk_f32_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (opsdk_bf16)((bits >> 16) | 0x40);
  return (opsdk_bf16)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

static inline float opsdk_from_f16(opsdk_f16 value) {
  const uint32_t sign = (uint32_t)(value & 0x8000) << 16, rest = value & 0x7fff;
  if (rest >= 0x7c00) return opsdk_bits_f32(sign | 0x7f800000u | (rest & 0x3ff) << 13);
  if (rest >= 0x0400) return opsdk_bits_f32(sign | ((rest << 13) + 0x38000000u));
  /* Below 2^-14 the element counts in units of 2^-24. */
  return opsdk_bits_f32(sign | opsdk_f32_bits((float)rest * 5.9604644775390625e-8f));
}

/* To the nearest, ties to even; NaN stays NaN. */
static inline opsdk_f16 opsdk_to_f16(float value) {
  const uint32_t bits = opsdk_f32_bits(value), rest = bits & 0x7fffffffu;
  const uint16_t sign = (uint16_t)((bits >> 16) & 0x8000);
  if (rest > 0x7f800000u) return (opsdk_f16)(sign | 0x7e00 | ((rest >> 13) & 0x3ff));
  if (rest >= 0x477ff000u) return (opsdk_f16)(sign | 0x7c00); /* from 65520 on, which rounds to infinity */
  if (rest >= 0x38800000u) {
    const uint32_t odd = (rest >> 13) & 1;
    return (opsdk_f16)(sign | ((rest - 0x38000000u + 0xfff + odd) >> 13));
  }
  /* Below 2^-14: 0.5 has a unit of 2^-24 in the last place of its float, so that adding it rounds. */
  return (opsdk_f16)(sign | (opsdk_f32_bits(opsdk_bits_f32(rest) + 0.5f) - 0x3f000000u));
}

/* Random numbers by counting, those of opsdk.vmath: number i of a key, from Philox4x32-10 (Salmon et al. 2011, Parallel
 * random numbers: as easy as 1, 2, 3). The four words of a counter, in place, by the two halves of a key.
 */
static inline void opsdk_philox(uint32_t counter[4], uint32_t low, uint32_t high) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = (uint64_t)0xD2511F53u * counter[0], second = (uint64_t)0xCD9E8D57u * counter[2];
    counter[0] = (uint32_t)(second >> 32) ^ counter[1] ^ low;
    counter[2] = (uint32_t)(first >> 32) ^ counter[3] ^ high;
    counter[1] = (uint32_t)second;
    counter[3] = (uint32_t)first;
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
}

static inline uint64_t opsdk_random_words(uint64_t key, uint64_t i, uint32_t stream, uint64_t *more) {
  uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), stream, 0};
  opsdk_philox(counter, (uint32_t)key, (uint32_t)(key >> 32));
  *more = (uint64_t)counter[3] << 32 | counter[2];
  return (uint64_t)counter[1] << 32 | counter[0];
}

static inline uint64_t opsdk_random_bits(int64_t key, int64_t i) {
  uint64_t more;
  return opsdk_random_words((uint64_t)key, (uint64_t)i, 0, &more);
}

/* In [0, 1): a multiple of 2^-53, in float of 2^-24, that of double rounded down. */
static inline double opsdk_uniform(int64_t key, int64_t i) {
  return (double)(int64_t)(opsdk_random_bits(key, i) >> 11) * (1.0 / 9007199254740992.0);
}

static inline float opsdk_uniformf(int64_t key, int64_t i) {
  return (float)(int32_t)(opsdk_random_bits(key, i) >> 40) * (1.0f / 16777216.0f);
}

/* Of mean 0 and variance 1, by Box and Muller (1958); independent of the uniform number at the same place. */
static inline double opsdk_normal(int64_t key, int64_t i) {
  uint64_t angle;
  const uint64_t radius = opsdk_random_words((uint64_t)key, (uint64_t)i, 1, &angle);
  const double u = (double)(int64_t)(radius >> 11) * (1.0 / 9007199254740992.0);
  const double v = (double)(int64_t)(angle >> 11) * (1.0 / 9007199254740992.0);
  return __builtin_sqrt(-2.0 * __builtin_log(1.0 - u)) * __builtin_cos(6.283185307179586 * v);
}

static inline float opsdk_normalf(int64_t key, int64_t i) {
  uint64_t angle;
  const uint64_t radius = opsdk_random_words((uint64_t)key, (uint64_t)i, 1, &angle);
  const float u = (float)(int32_t)(radius >> 40) * (1.0f / 16777216.0f);
  const float v = (float)(int32_t)(angle >> 40) * (1.0f / 16777216.0f);
  return __builtin_sqrtf(-2.0f * __builtin_logf(1.0f - u)) * __builtin_cosf(6.2831853f * v);
}

#ifdef __cplusplus
}
#endif
#endif

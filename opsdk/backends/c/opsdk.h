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

#ifdef __cplusplus
}
#endif
#endif

/* The greatest element of each window and its gradient, float32: a list of the places of every window serves all planes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 8, ALONE = 1 << 16 }; /* elements that one thread takes in the time that the others take to wake up */

const char *opsdk_message(int32_t status) {
  return status == 2 ? "expected 8 axes of an image at most" : "expected memory for windows, got none";
}

typedef struct {
  int64_t first, count, step; /* of the places along an axis */
} span;

static int64_t floored(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static span span_of(int64_t at, int64_t size, int64_t outputs, int64_t kernel, int64_t stride, int64_t before,
                    int64_t dilation) {
  if (!kernel) { /* so many windows share the axis out */
    const int64_t first = at * size / outputs;
    return (span){first, ((at + 1) * size + outputs - 1) / outputs - first, 1};
  }
  const int64_t start = at * stride - before, skipped = start < 0 ? -floored(start, dilation) : 0;
  const int64_t first = start + skipped * dilation, seen = first < size ? (size - 1 - first) / dilation + 1 : 0;
  const int64_t left = kernel > skipped ? kernel - skipped : 0;
  return (span){first, left < seen ? left : seen, dilation};
}

int32_t max_pool_f32(const DLTensor *x, DLTensor *out, DLTensor *indices, const int64_t *kernel, int64_t kernel_len,
                     const int64_t *stride, int64_t stride_len, const int64_t *padding, int64_t padding_len,
                     const int64_t *dilation, int64_t dilation_len, int32_t ceil_mode, const int64_t *output_size,
                     int64_t output_size_len, int32_t channels_last) {
  (void)kernel_len, (void)stride_len, (void)padding_len, (void)dilation_len, (void)ceil_mode, (void)output_size;
  const int64_t axes = x->ndim - 2, skip = channels_last ? 1 : 2, channels = x->shape[channels_last ? x->ndim - 1 : 1];
  const int is_shared = output_size_len > 0;
  int64_t pixels = 1, windows = 1, most = 1;
  if (axes > AXES) return 2;
  if (!opsdk_size(out)) return 0;
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t size = x->shape[skip + i], count = out->shape[skip + i];
    pixels *= size, windows *= count, most *= is_shared ? size / count + 2 : kernel[i];
  }
  int64_t *begin = malloc(sizeof(int64_t) * (size_t)(windows + 1)), *place = malloc(sizeof(int64_t) * (size_t)(windows * most));
  if (!begin || !place) {
    free(begin), free(place);
    return 1;
  }
  begin[0] = 0;
  for (int64_t w = 0; w < windows; ++w) {
    span of[AXES];
    int64_t left = w, count = 1;
    for (int64_t i = axes - 1; i >= 0; --i) {
      const int64_t outputs = out->shape[skip + i];
      of[i] = span_of(left % outputs, x->shape[skip + i], outputs, is_shared ? 0 : kernel[i], is_shared ? 1 : stride[i],
                      is_shared ? 0 : padding[2 * i], is_shared ? 1 : dilation[i]);
      left /= outputs, count *= of[i].count;
    }
    for (int64_t k = 0; k < count; ++k) {
      int64_t rest = k, step = 1, at = 0;
      for (int64_t i = axes - 1; i >= 0; --i) {
        at += (of[i].first + rest % of[i].count * of[i].step) * step;
        rest /= of[i].count, step *= x->shape[skip + i];
      }
      place[begin[w] + k] = at;
    }
    begin[w + 1] = begin[w] + count;
  }
  /* A plane is a channel of an image, or all channels that lie side by side. */
  const int64_t side = channels_last ? channels : 1, planes = x->shape[0] * (channels_last ? 1 : channels);
#pragma omp parallel for schedule(static) if (planes * begin[windows] * side > ALONE)
  for (int64_t n = 0; n < planes; ++n) {
    const float *from = OPSDK_DATA(const float, x) + n * pixels * side;
    for (int64_t w = 0; w < windows; ++w)
      for (int64_t c = 0; c < side; ++c) {
        int64_t best = place[begin[w]];
        float greatest = from[best * side + c];
        for (int64_t k = begin[w] + 1; k < begin[w + 1]; ++k) {
          const float value = from[place[k] * side + c];
          /* Of nans the last one counts in windows that move, the first one where they share an axis out. */
          if (value > greatest || (isnan(value) && !(is_shared && isnan(greatest)))) greatest = value, best = place[k];
        }
        OPSDK_DATA(float, out)[(n * windows + w) * side + c] = greatest;
        OPSDK_DATA(int64_t, indices)[(n * windows + w) * side + c] = best;
      }
  }
  free(begin), free(place);
  return 0;
}

/* The first tensor, which chooses the function, has integers: floats of every size go through one double each. */
#define EACH_FLOAT(x, DO)                                                       \
  if (OPSDK_IS(x, kDLFloat, 32)) DO(float, , )                                  \
  else if (OPSDK_IS(x, kDLFloat, 64)) DO(double, , )                            \
  else if (OPSDK_IS(x, kDLFloat, 16)) DO(opsdk_f16, opsdk_from_f16, opsdk_to_f16) \
  else DO(opsdk_bf16, opsdk_from_bf16, opsdk_to_bf16)

static void send(const DLTensor *indices, const DLTensor *dout, DLTensor *dx, int64_t first, int64_t sent, int64_t side,
                 int64_t to, int64_t count, double *sum) {
#define ADD(T, wide, narrow)         \
  for (int64_t i = 0; i < sent; ++i) \
    sum[OPSDK_DATA(const int64_t, indices)[first + i] * side + i % side] += (double)wide(OPSDK_DATA(const T, dout)[first + i]);
#define GIVE(T, wide, narrow) \
  for (int64_t i = 0; i < count; ++i) OPSDK_DATA(T, dx)[to + i] = (T)narrow(sum[i]);
  memset(sum, 0, sizeof(double) * (size_t)count);
  EACH_FLOAT(dout, ADD)
  EACH_FLOAT(dx, GIVE)
}

int32_t max_pool_grad_i64(const DLTensor *indices, const DLTensor *dout, DLTensor *dx, int32_t channels_last,
                          const DLTensor *x_spec) {
  (void)x_spec;
  const int64_t channels = dx->shape[channels_last ? dx->ndim - 1 : 1], side = channels_last ? channels : 1;
  const int64_t planes = dx->shape[0] * (channels_last ? 1 : channels), size = opsdk_size(dx), sent = opsdk_size(dout);
  if (!size) return 0;
  const int64_t each = size / planes, windows = sent / planes / side;
  int failed = 0;
#pragma omp parallel reduction(| : failed) if (size > ALONE)
  {
    double *sum = malloc(sizeof(double) * (size_t)each);
    failed |= !sum;
#pragma omp for schedule(static)
    for (int64_t n = 0; n < planes; ++n) {
      if (!sum) continue;
      send(indices, dout, dx, n * windows * side, windows * side, side, n * each, each, sum);
    }
    free(sum);
  }
  return failed;
}

/* RoIAlign and its gradient. A sample is a weight per row times a weight per column, so the average over a bin is too:
 * a box is pooled over its rows first, in lines of neighbouring pixels, and then over its columns.
 */
#include <math.h>
#include <stdlib.h>

typedef struct {
  int64_t pixel;
  double weight;
} tap;

/* The pixels that one axis of all boxes reads: those of bin p of box k are taps[k * room + first[k * (bins + 1) + p]]
 * and on, up to those of the next bin. */
typedef struct {
  int64_t bins, extent, room;
  int64_t *first;
  tap *taps;
} axis;

typedef struct {
  double start, length;
  int64_t samples;
} span;

static span span_of(double low, double high, int64_t bins, double scale, int64_t ratio, int32_t aligned) {
  span s = {low * scale - (aligned ? 0.5 : 0.0), high * scale - low * scale, ratio};
  if (!aligned && !(s.length > 1)) s.length = 1;
  if (ratio <= 0) s.samples = (int64_t)ceil(s.length / (double)bins);
  return s;
}

/* Adds weight to a pixel. Samples come in order, so a pixel that is there already is one of the last two of its bin. */
static int64_t add_tap(tap *taps, int64_t begin, int64_t end, int64_t pixel, double weight) {
  for (int64_t i = end - 1; i >= begin && i >= end - 2; --i)
    if (taps[i].pixel == pixel) {
      taps[i].weight += weight;
      return end;
    }
  taps[end].pixel = pixel;
  taps[end].weight = weight;
  return end + 1;
}

static void fill(const axis *a, int64_t k, span s) {
  tap *taps = a->taps + k * a->room;
  int64_t *first = a->first + k * (a->bins + 1), end = 0;
  const double step = s.samples > 0 ? s.length / (double)(a->bins * s.samples) : 0, share = 1 / (double)s.samples;
  for (int64_t p = 0; p < a->bins; ++p) {
    const int64_t begin = first[p] = end;
    for (int64_t i = 0; i < s.samples; ++i) {
      double place = s.start + ((double)(p * s.samples + i) + 0.5) * step;
      if (place < -1 || place > (double)a->extent) continue;
      if (place < 0) place = 0;
      if (place > (double)(a->extent - 1)) place = (double)(a->extent - 1);
      const int64_t low = (int64_t)place;
      const double upper = place - (double)low;
      end = add_tap(taps, begin, end, low, share * (1 - upper));
      if (upper > 0) end = add_tap(taps, begin, end, low + 1, share * upper);
    }
  }
  first[a->bins] = end;
}

static void release(axis *a) {
  free(a->first);
  free(a->taps);
}

static int reserve(axis *a, int64_t boxes, int64_t most_samples) {
  const int64_t most = most_samples < a->extent ? 2 * most_samples : a->extent;
  a->room = a->bins * (most < a->extent ? most : a->extent);
  a->first = malloc(sizeof(int64_t) * (size_t)(boxes * (a->bins + 1) + 1));
  a->taps = malloc(sizeof(tap) * (size_t)(boxes * a->room + 1));
  return a->first && a->taps;
}

const char *opsdk_message(int32_t status) { return status == 1 ? "no memory for the samples of the boxes" : 0; }

#define ROI_ALIGN(T, suffix)                                                                                          \
  /* Reads what both axes of all boxes need; returns whether there was memory for it. */                              \
  static int prepare_##suffix(const DLTensor *boxes, axis axes[2], double scale, int64_t ratio, int32_t aligned) {     \
    const T *box = OPSDK_DATA(const T, boxes);                                                                        \
    const int64_t count = boxes->shape[0];                                                                            \
    int64_t most[2] = {0, 0};                                                                                         \
    for (int64_t k = 0; k < count; ++k)                                                                               \
      for (int d = 0; d < 2; ++d) {                                                                                   \
        const span s = span_of(box[5 * k + 2 - d], box[5 * k + 4 - d], axes[d].bins, scale, ratio, aligned);          \
        if (s.samples > most[d]) most[d] = s.samples;                                                                 \
      }                                                                                                               \
    if (!reserve(&axes[0], count, most[0]) | !reserve(&axes[1], count, most[1])) return 0;                            \
    for (int64_t k = 0; k < count; ++k)                                                                               \
      for (int d = 0; d < 2; ++d)                                                                                     \
        fill(&axes[d], k, span_of(box[5 * k + 2 - d], box[5 * k + 4 - d], axes[d].bins, scale, ratio, aligned));      \
    return 1;                                                                                                         \
  }                                                                                                                   \
                                                                                                                      \
  /* The columns that a box reads, from *left on; their number. */                                                    \
  static int64_t width_##suffix(const tap *taps, int64_t count, int64_t *left) {                                      \
    *left = count ? taps[0].pixel : 0;                                                                                \
    return count ? taps[count - 1].pixel - *left + 1 : 0;                                                             \
  }                                                                                                                   \
                                                                                                                      \
  int32_t roi_align_##suffix(const DLTensor *input, const DLTensor *boxes, DLTensor *y, const int64_t *output_size,    \
                             int64_t output_size_len, double spatial_scale, int64_t sampling_ratio,                   \
                             int32_t aligned) {                                                                       \
    const int64_t channels = input->shape[1], height = input->shape[2], width = input->shape[3];                      \
    const int64_t count = boxes->shape[0], h = y->shape[2], w = y->shape[3];                                          \
    const T *in = OPSDK_DATA(const T, input), *box = OPSDK_DATA(const T, boxes);                                      \
    T *out = OPSDK_DATA(T, y);                                                                                        \
    axis axes[2] = {{h, height, 0, 0, 0}, {w, width, 0, 0, 0}};                                                       \
    int32_t status = prepare_##suffix(boxes, axes, spatial_scale, sampling_ratio, aligned) ? 0 : 1;                   \
    (void)output_size, (void)output_size_len; /* y has that shape already */                                          \
    if (!status) _Pragma("omp parallel if (count * channels * h * w > 16384)") {                                      \
      T *line = malloc(sizeof(T) * (size_t)(width + 1));                                                              \
      if (!line) _Pragma("omp atomic write") status = 1;                                                              \
      _Pragma("omp for collapse(2) schedule(dynamic, 16)")                                                            \
      for (int64_t k = 0; k < count; ++k)                                                                             \
        for (int64_t c = 0; c < channels; ++c) {                                                                      \
          if (!line) continue;                                                                                        \
          const tap *rows = axes[0].taps + k * axes[0].room, *columns = axes[1].taps + k * axes[1].room;              \
          const int64_t *row_of = axes[0].first + k * (h + 1), *column_of = axes[1].first + k * (w + 1);              \
          const T *plane = in + ((int64_t)box[5 * k] * channels + c) * height * width;                                \
          T *made = out + (k * channels + c) * h * w;                                                                 \
          int64_t left;                                                                                               \
          const int64_t n = width_##suffix(columns, column_of[w], &left);                                             \
          for (int64_t p = 0; p < h; ++p) {                                                                           \
            memset(line, 0, sizeof(T) * (size_t)n);                                                                   \
            for (int64_t i = row_of[p]; i < row_of[p + 1]; ++i) {                                                     \
              const T *restrict row = plane + rows[i].pixel * width + left;                                           \
              const T weight = (T)rows[i].weight;                                                                     \
              T *restrict sum = line;                                                                                 \
              for (int64_t x = 0; x < n; ++x) sum[x] += weight * row[x];                                              \
            }                                                                                                         \
            for (int64_t q = 0; q < w; ++q) {                                                                         \
              T sum = 0;                                                                                              \
              for (int64_t i = column_of[q]; i < column_of[q + 1]; ++i)                                               \
                sum += (T)columns[i].weight * line[columns[i].pixel - left];                                          \
              made[p * w + q] = sum;                                                                                  \
            }                                                                                                         \
          }                                                                                                           \
        }                                                                                                             \
      free(line);                                                                                                     \
    }                                                                                                                 \
    release(&axes[0]), release(&axes[1]);                                                                             \
    return status;                                                                                                    \
  }                                                                                                                   \
                                                                                                                      \
  /* Each plane is written by one thread, which goes through the boxes in order: no two add to one pixel at a time,   \
   * and the sums do not depend on the number of threads. */                                                          \
  int32_t roi_align_grad_##suffix(const DLTensor *boxes, const DLTensor *dy, DLTensor *dinput,                        \
                                  const int64_t *output_size, int64_t output_size_len, double spatial_scale,          \
                                  int64_t sampling_ratio, int32_t aligned, const DLTensor *input) {                   \
    const int64_t channels = input->shape[1], height = input->shape[2], width = input->shape[3];                      \
    const int64_t planes = input->shape[0] * channels, count = boxes->shape[0], h = dy->shape[2], w = dy->shape[3];   \
    const T *box = OPSDK_DATA(const T, boxes), *arriving = OPSDK_DATA(const T, dy);                                   \
    T *leaving = OPSDK_DATA(T, dinput);                                                                               \
    axis axes[2] = {{h, height, 0, 0, 0}, {w, width, 0, 0, 0}};                                                       \
    int32_t status = prepare_##suffix(boxes, axes, spatial_scale, sampling_ratio, aligned) ? 0 : 1;                   \
    (void)output_size, (void)output_size_len;                                                                         \
    if (!status) _Pragma("omp parallel if (planes * height * width + count * channels * h * w > 16384)") {            \
      T *line = malloc(sizeof(T) * (size_t)(width + 1));                                                              \
      if (!line) _Pragma("omp atomic write") status = 1;                                                              \
      _Pragma("omp for schedule(dynamic, 4)")                                                                         \
      for (int64_t m = 0; m < planes; ++m) {                                                                          \
        T *plane = leaving + m * height * width;                                                                      \
        memset(plane, 0, sizeof(T) * (size_t)(height * width));                                                       \
        for (int64_t k = 0; k < count && line; ++k) {                                                                 \
          if ((int64_t)box[5 * k] != m / channels) continue;                                                          \
          const tap *rows = axes[0].taps + k * axes[0].room, *columns = axes[1].taps + k * axes[1].room;              \
          const int64_t *row_of = axes[0].first + k * (h + 1), *column_of = axes[1].first + k * (w + 1);              \
          const T *given = arriving + (k * channels + m % channels) * h * w;                                          \
          int64_t left;                                                                                               \
          const int64_t n = width_##suffix(columns, column_of[w], &left);                                             \
          for (int64_t p = 0; p < h; ++p) {                                                                           \
            memset(line, 0, sizeof(T) * (size_t)n);                                                                   \
            for (int64_t q = 0; q < w; ++q)                                                                           \
              for (int64_t i = column_of[q]; i < column_of[q + 1]; ++i)                                               \
                line[columns[i].pixel - left] += (T)columns[i].weight * given[p * w + q];                             \
            for (int64_t i = row_of[p]; i < row_of[p + 1]; ++i) {                                                     \
              T *restrict row = plane + rows[i].pixel * width + left;                                                 \
              const T weight = (T)rows[i].weight;                                                                     \
              const T *restrict sum = line;                                                                           \
              for (int64_t x = 0; x < n; ++x) row[x] += weight * sum[x];                                              \
            }                                                                                                         \
          }                                                                                                           \
        }                                                                                                             \
      }                                                                                                               \
      free(line);                                                                                                     \
    }                                                                                                                 \
    release(&axes[0]), release(&axes[1]);                                                                             \
    return status;                                                                                                    \
  }

ROI_ALIGN(float, f32)
ROI_ALIGN(double, f64)

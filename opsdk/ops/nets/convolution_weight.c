/* The gradient of convolution with respect to its weight, float32. */
#include "padded.h"

enum { SUMMED = 256, PIECE = 128, ACROSS = 16 }; /* pixels, output channels and small images taken together */

/* Adds a[i · a_step] · b[i · b_step] to sixteen sums. */
static void multiply(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t count, lanes *sum) {
  int64_t i = 0;
  for (; a_step == 1 && b_step == 1 && i + LANES <= count; i += LANES)
    *sum += *(const lanes_at *)(a + i) * *(const lanes_at *)(b + i);
  for (; i < count; ++i) (*sum)[i % LANES] += a[i * a_step] * b[i * b_step];
}

static int weights_narrow(const images *x, const images *dout, int64_t groups, windows *win, int64_t in, float *made) {
  if (!look(win, dout->size, 1)) return 1;
  const int64_t last = win->axes - 1, width = dout->size[last], out = dout->channels / groups, each = out * in * win->taps;
  int failed = 0;
#pragma omp parallel reduction(| : failed) if (x->batch * groups * win->pixels * each > ALONE)
  {
    float *planes = calloc((size_t)(in * win->room + 1), sizeof(float));
    failed |= !planes;
#pragma omp for schedule(dynamic)
    for (int64_t g = 0; g < groups; ++g) {
      float *to = made + g * each;
      memset(to, 0, sizeof(float) * (size_t)each);
      for (int64_t n = 0; planes && n < x->batch; ++n) {
        pad_planes(x, n, g * in, in, win, planes);
        for (int64_t i = 0; i < each; ++i) {
          const int64_t o = i / (in * win->taps), c = i / win->taps % in, t = i % win->taps;
          const float *arrived = dout->data + n * dout->by_image + (g * out + o) * dout->by_channel;
          lanes sum = {0};
          for (int64_t p = 0; p < win->pixels; p += width)
            multiply(arrived + offset(dout, p, win->axes), dout->by[last],
                     planes + c * win->room + win->pixel[p] + win->tap[t], win->stride[last], width, &sum);
          float total = 0;
          for (int lane = 0; lane < LANES; ++lane) total += sum[lane];
          to[i] += total;
        }
      }
    }
    free(planes);
  }
  free(win->pixel);
  return failed;
}

/* What a few images send to the weights of output channels from `first` on, added to part[o][outer tap][run].
 *
 * Segments are lines of the result, one image after the other. Of small images these would be short: a segment is one
 * pixel of all of them there, `held` and `arrived` have the images of a place side by side, and taps that see zeros are
 * left out. */
typedef struct {
  int64_t start, count, chunk, first, end, in;
  int is_small;
  const float *held;
  float *arrived;
  segment *segments;
} few;

static void add_weights(const images *dout, const images *x, const few *f, const windows *win, float *part) {
  const int64_t last = win->axes - 1, width = dout->size[last], lines = win->pixels / width, in = f->in;
  const int is_run = win->dilation[last] == 1 && !f->is_small; /* taps of the last axis are neighbours, as channels are */
  const int64_t kernel = win->kernel[last], run = (is_run ? kernel : 1) * in, taps = win->taps / (is_run ? kernel : 1);
  const int64_t outs = f->end - f->first, place = (f->is_small ? f->chunk : 1) * outs;
  int64_t count = 0;
  for (int64_t n = 0; n < f->count; ++n) /* with channels side by side: rows of a tile 4 KB apart share their cache lines */
    transpose(outs, win->pixels, dout->data + (f->start + n) * dout->by_image + f->first * dout->by_channel,
              dout->by_channel, dout->by[last], f->arrived + n * outs * (f->is_small ? 1 : win->pixels), 1, place);
  for (int64_t n = 0; n < f->count * lines && !f->is_small; ++n) {
    const int64_t image = n / lines, p = n % lines * width;
    f->segments[count++] = (segment){(image * win->pixels + p) * outs, image * win->room * in + win->pixel[p]};
  }
  for (int64_t t = 0; t < taps; ++t) {
    if (f->is_small) count = 0;
    for (int64_t p = 0; p < win->pixels && f->is_small; ++p)
      if (sees(win, dout->size, x->size, p, t)) f->segments[count++] = (segment){p * place, win->pixel[p]};
    for (int64_t o = 0; o < outs; o += ROWS) {
      const float *a[ROWS];
      const int64_t rows = least(ROWS, outs - o);
      for (int64_t r = 0; r < ROWS; ++r) a[r] = f->arrived + o + least(r, rows - 1);
      for (int64_t c = 0; c < run; c += COLUMNS) {
        const int64_t columns = least(COLUMNS, run - c);
        const float *b = f->held + win->tap[is_run ? t * kernel : t] + c;
        float made[ROWS * COLUMNS], *to = part + (o * taps + t) * run + c;
        tile(count, f->segments, f->is_small ? f->count : width, a, outs, b, f->is_small ? in : win->stride[last] * in, made,
             COLUMNS);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t i = 0; i < columns; ++i) to[r * taps * run + i] += made[r * COLUMNS + i];
      }
    }
  }
}

int32_t conv_weight_f32(const DLTensor *x, const DLTensor *like, const DLTensor *dout, DLTensor *dweight,
                        const int64_t *stride, int64_t stride_len, const int64_t *padding, int64_t padding_len,
                        const int64_t *dilation, int64_t dilation_len, int64_t groups, int32_t channels_last) {
  (void)stride_len, (void)padding_len, (void)dilation_len;
  if (x->ndim - 2 > AXES) return 2;
  windows win = windows_of(like, stride, padding, dilation);
  const images from = images_of(x, channels_last), to = images_of(dout, channels_last);
  const int64_t in = like->shape[1], all = like->shape[0], out = all / groups, batch = x->shape[0];
  int64_t pixels = 1, taps = 1;
  for (int64_t i = 0; i < win.axes; ++i) pixels *= to.size[i], taps *= win.kernel[i];
  if (groups > 1 && out <= NARROW) return weights_narrow(&from, &to, groups, &win, in, OPSDK_DATA(float, dweight));
  const int64_t each = taps * in;
  /* Images are shared out among sums of their own, fewer where weights are many, which are added up in the end. */
  const int64_t sums = least(batch, most(2, least(16, (1 << 20) / most(all * each, 1)))), share = sums ? parts(batch, sums) : 0;
  const int is_small = pixels <= SMALL && share >= ROWS && in >= LANES;
  const int64_t chunk = is_small ? least(share, ACROSS) : most(1, least(share, parts(SUMMED, most(pixels, 1))));
  const int64_t pieces = parts(out, PIECE), side = is_small ? chunk * in : in;
  if (!look(&win, to.size, side)) return 1;
  const int64_t size = win.room * in;
  float *sum = calloc((size_t)(sums * all * each + 1), sizeof(float));
  int failed = !sum;
#pragma omp parallel reduction(| : failed) if (batch * pixels * all * each > ALONE)
  {
    float *held = calloc((size_t)(chunk * size + COLUMNS), sizeof(float));
    float *arrived = malloc(sizeof(float) * (size_t)(chunk * pixels * least(out, PIECE) + 1));
    segment *segments = malloc(sizeof(segment) * (size_t)(chunk * pixels + 1));
    failed |= !held || !arrived || !segments;
#pragma omp for schedule(dynamic)
    for (int64_t n = 0; n < sums * groups * pieces; ++n) {
      if (!held || !arrived || !segments || !sum) continue;
      const int64_t s = n / (groups * pieces), g = n / pieces % groups, first = g * out + n % pieces * PIECE;
      const int64_t end = least(first + PIECE, (g + 1) * out);
      for (int64_t start = s * share; start < least(batch, (s + 1) * share); start += chunk) {
        const int64_t count = least(chunk, least(batch, (s + 1) * share) - start);
        for (int64_t i = 0; i < count; ++i)
          pad(&from, start + i, g * in, in, &win, held + i * (is_small ? in : size), side);
        const few f = {start, count, chunk, first, end, in, is_small, held, arrived, segments};
        add_weights(&to, &from, &f, &win, sum + (s * all + first) * each);
      }
    }
    free(held), free(arrived), free(segments);
  }
  float *made = OPSDK_DATA(float, dweight);
  if (!failed) {
#pragma omp parallel for schedule(static) if (sums * all * each > ALONE / 16)
    for (int64_t o = 0; o < all; ++o)
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t c = 0; c < in; ++c) {
          float total = 0;
          for (int64_t s = 0; s < sums; ++s) total += sum[(s * all + o) * each + t * in + c];
          made[o * each + c * taps + t] = total;
        }
  }
  free(sum), free(win.pixel);
  return failed;
}

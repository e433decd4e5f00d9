/* Convolution, and its gradient with respect to what goes in, float32. */
#include "padded.h"

enum { PIXELS = 96 }; /* of a few images that a thread takes together, at least */

/* Where weights lie: of an output channel of a group, one that goes in, a tap; the group moves all. */
typedef struct {
  const float *data;
  int64_t by_group, by_out, by_in, in, out;
  int64_t *tap;
} weights;

static float *packed(const weights *w, int64_t groups, int64_t taps) {
  const int64_t panels = parts(w->out, COLUMNS), size = taps * w->in * COLUMNS;
  float *made = malloc(sizeof(float) * (size_t)(groups * panels * size + 1));
  if (!made) return made;
#pragma omp parallel for schedule(static) if (groups * panels * size > ALONE / 16)
  for (int64_t n = 0; n < groups * panels; ++n) {
    const int64_t g = n / panels, o = n % panels * COLUMNS, count = least(COLUMNS, w->out - o);
    const float *from = w->data + g * w->by_group + o * w->by_out;
    float *to = made + n * size;
    for (int64_t c = 0; c < w->in; ++c)
      for (int64_t t = 0; t < taps; ++t) {
        float *line = to + (t * w->in + c) * COLUMNS;
        const float *at = from + c * w->by_in + w->tap[t];
        for (int64_t i = 0; i < count; ++i) line[i] = at[i * w->by_out];
        for (int64_t i = count; i < COLUMNS; ++i) line[i] = 0;
      }
  }
  return made;
}

/* Writes what was made of an image, a pixel behind the other, to some of its channels. */
static void put(const float *made, const images *out, int64_t axes, int64_t pixels, int64_t columns, float *to) {
  const int64_t last = axes - 1, by = out->by[last];
  int64_t run = 1; /* pixels that follow each other in memory as in the result */
  for (int64_t i = last; i >= 0 && out->by[i] == run * by; --i) run *= out->size[i];
  for (int64_t p = 0; p < pixels; p += run) {
    float *into = to + offset(out, p, axes);
    const float *from = made + p * COLUMNS;
    if (out->by_channel == 1)
      for (int64_t i = 0; i < run; ++i) memcpy(into + i * by, from + i * COLUMNS, sizeof(float) * (size_t)columns);
    else
      transpose(run, columns, from, COLUMNS, 1, into, by, out->by_channel);
  }
}

static int correlate_narrow(const images *x, const weights *w, int64_t groups, windows *win, const images *out) {
  if (!look(win, out->size, 1)) return 1;
  const int64_t width = out->size[win->axes - 1], step = win->stride[win->axes - 1], by = out->by[win->axes - 1];
  int failed = 0;
#pragma omp parallel reduction(| : failed) if (out->batch * groups * win->pixels * win->taps * w->in > ALONE / NARROW)
  {
    float *planes = calloc((size_t)(w->in * win->room + LANES * step), sizeof(float));
    failed |= !planes;
#pragma omp for schedule(dynamic)
    for (int64_t n = 0; n < out->batch * groups; ++n) {
      if (!planes) continue;
      const int64_t image = n / groups, g = n % groups;
      pad_planes(x, image, g * w->in, w->in, win, planes);
      const float *weight[NARROW];
      for (int64_t o = 0; o < NARROW; ++o) weight[o] = w->data + g * w->by_group + least(o, w->out - 1) * w->by_out;
      for (int64_t p = 0; p < win->pixels; p += width)
        for (int64_t i = 0; i < width; i += LANES) {
          lanes sum[NARROW] = {{0}};
          for (int64_t c = 0; c < w->in; ++c)
            for (int64_t t = 0; t < win->taps; ++t) {
              const float *from = planes + c * win->room + win->pixel[p] + win->tap[t] + i * step;
              const int64_t at = c * w->by_in + w->tap[t];
              lanes seen;
              if (step == 1)
                seen = *(const lanes_at *)from;
              else
                for (int lane = 0; lane < LANES; ++lane) seen[lane] = from[lane * step];
              for (int o = 0; o < NARROW; ++o) sum[o] += weight[o][at] * seen;
            }
          float *to = out->data + image * out->by_image + g * w->out * out->by_channel + offset(out, p + i, win->axes);
          for (int64_t o = 0; o < w->out; ++o)
            for (int64_t lane = 0; lane < least(LANES, width - i); ++lane) to[o * out->by_channel + lane * by] = sum[o][lane];
        }
    }
    free(planes);
  }
  free(win->pixel);
  return failed;
}

/* out[n][o][p] = Σ_c Σ_tap weight[o][c][tap] · x[n][c][p · stride + tap · dilation - before], in every group.
 *
 * A tile has eight pixels of one image. Of small images it has one pixel of eight: there many taps see zeros, and are
 * left out. */
static int correlate(const images *x, const weights *w, int64_t groups, windows *win, const images *out) {
  int64_t pixels = 1;
  for (int64_t i = 0; i < win->axes; ++i) pixels *= out->size[i];
  if (out->batch * groups * w->out * pixels == 0) return 0;
  if (groups > 1 && w->out <= NARROW) return correlate_narrow(x, w, groups, win, out);
  const int is_small = pixels <= SMALL && out->batch >= ROWS;
  const int64_t in = w->in, panels = parts(w->out, COLUMNS);
  const int64_t chunk = is_small ? ROWS : least(out->batch, parts(PIXELS, pixels)), chunks = parts(out->batch, chunk);
  if (!look(win, out->size, in)) return 1;
  const int64_t taps = win->taps, size = win->room * in, lists = is_small ? pixels : 1;
  float *weight = packed(w, groups, taps);
  segment *segments = malloc(sizeof(segment) * (size_t)(lists * taps));
  int64_t *counts = calloc((size_t)lists, sizeof(int64_t));
  int failed = !weight || !segments || !counts;
  for (int64_t p = 0; p < lists && !failed; ++p)
    for (int64_t t = 0; t < taps; ++t)
      if (!is_small || sees(win, out->size, x->size, p, t))
        segments[p * taps + counts[p]++] = (segment){win->tap[t], t * in * COLUMNS};
  if (!failed) {
#pragma omp parallel reduction(| : failed) if (out->batch * groups * w->out * pixels * taps * in > ALONE)
    {
      float *held = calloc((size_t)(chunk * size + 1), sizeof(float));
      float *made = malloc(sizeof(float) * (size_t)((chunk * pixels + ROWS) * COLUMNS));
      failed |= !held || !made;
#pragma omp for schedule(dynamic)
      for (int64_t n = 0; n < chunks * groups; ++n) {
        if (!held || !made) continue;
        const int64_t g = n % groups, start = n / groups * chunk, count = least(chunk, out->batch - start);
        for (int64_t i = 0; i < count; ++i) pad(x, start + i, g * in, in, win, held + i * size, in);
        for (int64_t panel = 0; panel < panels; ++panel) {
          const float *b = weight + (g * panels + panel) * taps * in * COLUMNS;
          for (int64_t p = 0; p < (is_small ? pixels : count * pixels); p += is_small ? 1 : ROWS) {
            const int64_t list = is_small ? p : 0;
            float *to = made + p * COLUMNS;
            const float *a[ROWS];
            for (int64_t r = 0; r < ROWS; ++r) {
              const int64_t q = is_small ? least(r, count - 1) * pixels + p : least(p + r, count * pixels - 1);
              a[r] = held + q / pixels * size + win->pixel[q % pixels];
            }
            tile(counts[list], segments + list * taps, in, a, 1, b, COLUMNS, to, (is_small ? pixels : 1) * COLUMNS);
          }
          const int64_t first = g * w->out + panel * COLUMNS, columns = least(COLUMNS, w->out - panel * COLUMNS);
          for (int64_t i = 0; i < count; ++i)
            put(made + i * pixels * COLUMNS, out, win->axes, pixels, columns,
                out->data + (start + i) * out->by_image + first * out->by_channel);
        }
      }
      free(held), free(made);
    }
  }
  free(weight), free(segments), free(counts), free(win->pixel);
  return failed;
}

int32_t conv_f32(const DLTensor *x, const DLTensor *weight, DLTensor *out, const int64_t *stride, int64_t stride_len,
                 const int64_t *padding, int64_t padding_len, const int64_t *dilation, int64_t dilation_len,
                 int64_t groups, int32_t channels_last) {
  (void)stride_len, (void)padding_len, (void)dilation_len;
  if (x->ndim - 2 > AXES) return 2;
  windows win = windows_of(weight, stride, padding, dilation);
  const images from = images_of(x, channels_last), to = images_of(out, channels_last);
  weights w = {OPSDK_DATA(const float, weight), .in = weight->shape[1], .out = weight->shape[0] / groups};
  int64_t taps = 1;
  for (int64_t i = 0; i < win.axes; ++i) taps *= win.kernel[i];
  w.by_in = taps, w.by_out = taps * w.in, w.by_group = w.by_out * w.out;
  w.tap = malloc(sizeof(int64_t) * (size_t)taps);
  if (!w.tap) return 1;
  for (int64_t t = 0; t < taps; ++t) w.tap[t] = t;
  const int failed = correlate(&from, &w, groups, &win, &to);
  free(w.tap);
  return failed;
}

/* Of one axis: which taps read the pixels with a residue of the stride, the last of them first. */
typedef struct {
  int64_t first, step, count, apart, before;
} residue;

static residue residue_of(int64_t r, int64_t kernel, int64_t stride, int64_t dilation, int64_t before) {
  residue made = {.first = 0};
  int64_t common = stride, rest = dilation;
  while (rest) {
    const int64_t next = common % rest;
    common = rest, rest = next;
  }
  while (made.first < least(kernel, stride) && (made.first * dilation - before - r) % stride) ++made.first;
  if (made.first == least(kernel, stride)) return made;
  made.step = stride / common, made.apart = dilation / common;
  made.count = parts(kernel - made.first, made.step);
  made.before = (made.first * dilation - before - r) / stride + (made.count - 1) * made.apart;
  return made;
}

int32_t conv_input_f32(const DLTensor *like, const DLTensor *weight, const DLTensor *dout, DLTensor *dx,
                       const int64_t *stride, int64_t stride_len, const int64_t *padding, int64_t padding_len,
                       const int64_t *dilation, int64_t dilation_len, int64_t groups, int32_t channels_last) {
  (void)like, (void)stride_len, (void)padding_len, (void)dilation_len;
  if (dx->ndim - 2 > AXES) return 2;
  const windows all = windows_of(weight, stride, padding, dilation);
  const images from = images_of(dout, channels_last), whole = images_of(dx, channels_last);
  weights w = {OPSDK_DATA(const float, weight), .in = weight->shape[0] / groups, .out = weight->shape[1]};
  int64_t taps = 1, residues = 1;
  for (int64_t i = 0; i < all.axes; ++i) taps *= all.kernel[i], residues *= all.stride[i];
  memset(OPSDK_DATA(float, dx), 0, sizeof(float) * (size_t)opsdk_size(dx)); /* some pixels may be read by no tap */
  w.by_out = taps, w.by_in = taps * w.out, w.by_group = w.by_in * w.in;
  w.tap = malloc(sizeof(int64_t) * (size_t)taps);
  int failed = !w.tap;
  for (int64_t n = 0; n < residues && !failed; ++n) {
    images to = whole;
    windows win = {.axes = all.axes};
    residue of[AXES];
    int64_t left = n, count = 1;
    for (int64_t i = all.axes - 1; i >= 0; --i) {
      const int64_t r = left % all.stride[i];
      left /= all.stride[i];
      of[i] = residue_of(r, all.kernel[i], all.stride[i], all.dilation[i], all.before[i]);
      to.data += r * to.by[i], to.by[i] *= all.stride[i];
      to.size[i] = most(parts(to.size[i] - r, all.stride[i]), 0);
      win.stride[i] = 1, win.dilation[i] = of[i].apart, win.before[i] = of[i].before, win.kernel[i] = of[i].count;
      count *= of[i].count;
    }
    for (int64_t t = 0; t < count; ++t) {
      int64_t rest = t, step = 1, at = 0;
      for (int64_t i = all.axes - 1; i >= 0; --i) {
        at += (of[i].first + (of[i].count - 1 - rest % of[i].count) * of[i].step) * step;
        rest /= of[i].count, step *= all.kernel[i];
      }
      w.tap[t] = at;
    }
    if (count)
      failed = correlate(&from, &w, groups, &win, &to);
  }
  free(w.tap);
  return failed;
}

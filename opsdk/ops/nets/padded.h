/* Images whose channels lie last, with zeros around them, from which convolution and its gradients read all taps.
 *
 * A few images at a time are copied so, and nothing once for each tap. Every sum is taken in an order that the shapes
 * alone decide, whichever thread takes it.
 */
#include "tile.h"

enum { AXES = 8, SMALL = 64, NARROW = 8 }; /* pixels of an image that is small, channels of a group that is narrow */
enum { ALONE = 1 << 22 }; /* products that one thread takes in the time that the others take to wake up */

const char *opsdk_message(int32_t status) {
  return status == 2 ? "expected 8 axes of an image at most" : "expected memory for padded images and weights, got none";
}

typedef struct { /* images, wherever their elements lie */
  float *data;
  int64_t batch, channels, size[AXES], by_image, by_channel, by[AXES];
} images;

typedef struct {
  int64_t axes, taps, pixels, room; /* room: places of a padded image */
  int64_t stride[AXES], dilation[AXES], before[AXES], kernel[AXES], reach[AXES];
  int64_t *pixel, *tap; /* where a pixel of the result begins in a padded image, and what a tap adds to it */
} windows;

static images images_of(const DLTensor *x, int32_t channels_last) {
  images made = {.data = OPSDK_DATA(float, x), .batch = x->shape[0]};
  const int32_t axes = x->ndim - 2, first = channels_last ? 1 : 2;
  made.channels = x->shape[channels_last ? x->ndim - 1 : 1];
  int64_t step = channels_last ? made.channels : 1;
  for (int32_t i = axes - 1; i >= 0; --i) {
    made.size[i] = x->shape[first + i];
    made.by[i] = step;
    step *= made.size[i];
  }
  made.by_channel = channels_last ? 1 : step;
  made.by_image = channels_last ? step : step * made.channels;
  return made;
}

/* The places of the last axis follow each other, `channels` floats apart. */
static int look(windows *w, const int64_t *sizes, int64_t channels) {
  w->taps = w->pixels = w->room = 1;
  for (int64_t i = 0; i < w->axes; ++i) {
    w->reach[i] = (sizes[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
    w->taps *= w->kernel[i], w->pixels *= sizes[i], w->room *= w->reach[i];
  }
  w->pixel = malloc(sizeof(int64_t) * (size_t)(w->pixels + w->taps + 1));
  if (!w->pixel) return 0;
  w->tap = w->pixel + w->pixels;
  for (int64_t p = 0; p < w->pixels + w->taps; ++p) {
    const int is_tap = p >= w->pixels;
    int64_t left = is_tap ? p - w->pixels : p, step = channels, at = 0;
    for (int64_t i = w->axes - 1; i >= 0; --i) {
      const int64_t n = is_tap ? w->kernel[i] : sizes[i];
      at += left % n * (is_tap ? w->dilation[i] : w->stride[i]) * step;
      left /= n, step *= w->reach[i];
    }
    w->pixel[p] = at;
  }
  return 1;
}

/* Copies channels of an image to where they lie last, each place so many floats behind the one before; zeros around
 * them are there and stay. */
static void pad(const images *x, int64_t image, int64_t channel, int64_t channels, const windows *w, float *to,
                int64_t step) {
  const int64_t last = w->axes - 1, first = most(w->before[last], 0), by = x->by[last];
  const int64_t end = least(w->reach[last], x->size[last] + w->before[last]);
  for (int64_t line = 0; line < w->room / w->reach[last]; ++line) {
    const float *from = x->data + image * x->by_image + channel * x->by_channel + (first - w->before[last]) * by;
    int64_t left = line, inside = first < end;
    for (int64_t i = last - 1; i >= 0; --i) {
      const int64_t at = left % w->reach[i] - w->before[i];
      inside &= at >= 0 && at < x->size[i];
      from += at * x->by[i], left /= w->reach[i];
    }
    float *into = to + (line * w->reach[last] + first) * step;
    if (inside && x->by_channel == 1)
      for (int64_t p = 0; p < end - first; ++p) memcpy(into + p * step, from + p * by, sizeof(float) * (size_t)channels);
    else if (inside)
      transpose(channels, end - first, from, x->by_channel, by, into, 1, step);
  }
}

static windows windows_of(const DLTensor *weight, const int64_t *stride, const int64_t *padding, const int64_t *dilation) {
  windows made = {.axes = weight->ndim - 2};
  for (int64_t i = 0; i < made.axes && i < AXES; ++i) {
    made.stride[i] = stride[i], made.dilation[i] = dilation[i], made.before[i] = padding[2 * i];
    made.kernel[i] = weight->shape[2 + i];
  }
  return made;
}

static int64_t offset(const images *x, int64_t pixel, int64_t axes) {
  int64_t at = 0;
  for (int64_t i = axes - 1; i >= 0; --i) at += pixel % x->size[i] * x->by[i], pixel /= x->size[i];
  return at;
}

/* Whether a pixel of the result sees, with a tap, a place inside of an image of these sizes. */
static int sees(const windows *w, const int64_t *sizes, const int64_t *from, int64_t pixel, int64_t tap) {
  int inside = 1;
  for (int64_t i = w->axes - 1; i >= 0; --i) {
    const int64_t at = pixel % sizes[i] * w->stride[i] + tap % w->kernel[i] * w->dilation[i] - w->before[i];
    inside &= at >= 0 && at < from[i];
    pixel /= sizes[i], tap /= w->kernel[i];
  }
  return inside;
}

/* Groups of few channels have no tiles: their planes are padded each alone, and lines are added to, or multiplied. */
static void pad_planes(const images *x, int64_t image, int64_t first, int64_t count, const windows *w, float *planes) {
  for (int64_t c = 0; c < count; ++c) pad(x, image, first + c, 1, w, planes + c * w->room, 1);
}

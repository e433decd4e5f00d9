/* Batch normalization and its gradient, float32: one thread has a channel, or sixteen that lie side by side.
 *
 * A channel's elements are read as vectors of 16 pixels; where channels lie last, of 16 channels. Sixteen vectors are
 * added in float32, and these sums in double.
 */
#include <math.h>

#include "tile.h"

enum { CHAIN = 16, ALONE = 1 << 16 }; /* elements that one thread takes in the time that the others take to wake up */

typedef struct { /* of the vectors that belong to one channel, or to neighbours */
  int64_t runs, run_step, vectors, ends, units, unit_step, size;
  int is_last;
} layout;

static layout layout_of(const DLTensor *x, int32_t channels_last) {
  const int64_t batch = x->shape[0], channels = x->shape[channels_last ? x->ndim - 1 : 1];
  int64_t pixels = 1;
  for (int32_t i = 1; i < x->ndim; ++i) pixels *= x->shape[i];
  pixels = channels ? pixels / channels : 0;
  layout made = {.size = batch * pixels, .is_last = channels_last || pixels == 1};
  if (made.is_last) {
    made.runs = batch * pixels, made.run_step = channels, made.vectors = 1;
    made.units = parts(channels, LANES), made.unit_step = LANES, made.ends = channels - (made.units - 1) * LANES;
  } else {
    made.runs = batch, made.run_step = channels * pixels, made.vectors = parts(pixels, LANES);
    made.units = channels, made.unit_step = pixels, made.ends = pixels - (made.vectors - 1) * LANES;
  }
  return made;
}

/* How many lanes of a vector of a unit count. */
static inline int64_t counted(const layout *l, int64_t unit, int64_t vector) {
  return (l->is_last ? unit == l->units - 1 : vector == l->vectors - 1) ? l->ends : LANES;
}

static inline lanes taken(const float *from, int64_t count) {
  lanes made = {0};
  if (count == LANES) return *(const lanes_at *)from;
  memcpy(&made, from, sizeof(float) * (size_t)count);
  return made;
}

static inline void give(lanes value, float *to, int64_t count) {
  if (count == LANES)
    *(lanes_at *)to = value;
  else
    memcpy(to, &value, sizeof(float) * (size_t)count);
}

/* Numbers of the channels of a unit: one of each lane, or one for all lanes. */
static inline lanes of_unit(const float *values, const layout *l, int64_t unit, float otherwise) {
  lanes made;
  for (int i = 0; i < LANES; ++i) {
    const int64_t c = l->is_last ? unit * LANES + i : unit, count = l->is_last ? counted(l, unit, 0) : LANES;
    made[i] = values && i < count ? values[c] : otherwise;
  }
  return made;
}

static inline void set_unit(float *values, const layout *l, int64_t unit, const double *numbers) {
  for (int64_t i = 0; i < (l->is_last ? counted(l, unit, 0) : 1); ++i) values[l->is_last ? unit * LANES + i : unit] = (float)numbers[i];
}

typedef struct {
  double at[3][LANES];
} sums;

/* What a vector adds to three sums, of which any may stay 0: x less a number, that times dout, dout; or its square. */
static void add_up(const float *x, const float *dout, const layout *l, int64_t unit, lanes less, int is_square, sums *to) {
  lanes part[3] = {{0}};
  int64_t chain = 0;
  memset(to, 0, sizeof *to);
  for (int64_t run = 0; run < l->runs; ++run)
    for (int64_t v = 0; v < l->vectors; ++v) {
      const int64_t count = counted(l, unit, v), at = unit * l->unit_step + run * l->run_step + v * LANES;
      lanes centred = taken(x + at, count) - less;
      if (count < LANES) memset((float *)&centred + count, 0, sizeof(float) * (size_t)(LANES - count));
      part[0] += is_square ? centred * centred : centred;
      if (dout) {
        const lanes arrived = taken(dout + at, count);
        part[1] += arrived * centred, part[2] += arrived;
      }
      if (++chain == CHAIN || (run == l->runs - 1 && v == l->vectors - 1)) {
        for (int s = 0; s < 3; ++s)
          for (int i = 0; i < LANES; ++i) to->at[s][i] += part[s][i], part[s][i] = 0;
        chain = 0;
      }
    }
  for (int s = 0; s < 3 && !l->is_last; ++s) { /* all lanes are of one channel */
    for (int i = 1; i < LANES; ++i) to->at[s][0] += to->at[s][i];
    for (int i = 1; i < LANES; ++i) to->at[s][i] = to->at[s][0];
  }
}

static inline lanes single(const double *numbers) {
  lanes made;
  for (int i = 0; i < LANES; ++i) made[i] = (float)numbers[i];
  return made;
}

static double counted_batches(const DLTensor *x) {
#define ADD(code_, bits_, T) \
  if (OPSDK_IS(x, code_, bits_)) return (double)(*OPSDK_DATA(T, x) += 1);
  ADD(kDLInt, 64, int64_t) ADD(kDLInt, 32, int32_t) ADD(kDLInt, 16, int16_t) ADD(kDLInt, 8, int8_t)
  ADD(kDLUInt, 64, uint64_t) ADD(kDLUInt, 32, uint32_t) ADD(kDLUInt, 16, uint16_t) ADD(kDLUInt, 8, uint8_t)
  return 0;
}

void batch_norm_f32(const DLTensor *x, const DLTensor *weight, const DLTensor *bias, DLTensor *running_mean,
                    DLTensor *running_var, DLTensor *batches, DLTensor *out, DLTensor *mean, DLTensor *rstd,
                    int32_t training, const double *momentum, double epsilon, int32_t unbiased, int32_t channels_last) {
  const layout l = layout_of(x, channels_last);
  const float *from = OPSDK_DATA(const float, x), *scale = weight ? OPSDK_DATA(const float, weight) : 0;
  const float *shift = bias ? OPSDK_DATA(const float, bias) : 0;
  float *kept_mean = running_mean ? OPSDK_DATA(float, running_mean) : 0;
  float *kept_var = running_var ? OPSDK_DATA(float, running_var) : 0;
  const double seen = training && batches ? counted_batches(batches) : 1;
  const double part = momentum ? *momentum : 1 - 1 / seen, size = (double)l.size;
#pragma omp parallel for schedule(static) if (opsdk_size(x) > ALONE)
  for (int64_t unit = 0; unit < l.units; ++unit) {
    double means[LANES], variances[LANES], factors[LANES];
    if (training) {
      sums first, second;
      add_up(from, 0, &l, unit, (lanes){0}, 0, &first);
      for (int i = 0; i < LANES; ++i) means[i] = first.at[0][i] / size;
      add_up(from, 0, &l, unit, single(means), 1, &second);
      for (int i = 0; i < LANES; ++i) variances[i] = second.at[0][i] / size;
      if (kept_mean && kept_var) {
        const lanes before = of_unit(kept_mean, &l, unit, 0), held = of_unit(kept_var, &l, unit, 0);
        double moved[LANES], spread[LANES];
        for (int i = 0; i < LANES; ++i) {
          moved[i] = part * before[i] + (1 - part) * means[i];
          spread[i] = part * held[i] + (1 - part) * variances[i] * (unbiased ? size / (size - 1) : 1);
        }
        set_unit(kept_mean, &l, unit, moved), set_unit(kept_var, &l, unit, spread);
      }
    } else {
      const lanes before = of_unit(kept_mean, &l, unit, 0), held = of_unit(kept_var, &l, unit, 1);
      for (int i = 0; i < LANES; ++i) means[i] = before[i], variances[i] = held[i];
    }
    for (int i = 0; i < LANES; ++i) factors[i] = 1 / sqrt(variances[i] + epsilon);
    set_unit(OPSDK_DATA(float, mean), &l, unit, means), set_unit(OPSDK_DATA(float, rstd), &l, unit, factors);
    const lanes less = single(means), times = single(factors) * of_unit(scale, &l, unit, 1), more = of_unit(shift, &l, unit, 0);
    for (int64_t run = 0; run < l.runs; ++run)
      for (int64_t v = 0; v < l.vectors; ++v) {
        const int64_t count = counted(&l, unit, v), at = unit * l.unit_step + run * l.run_step + v * LANES;
        give((taken(from + at, count) - less) * times + more, OPSDK_DATA(float, out) + at, count);
      }
  }
}

void batch_norm_grad_f32(const DLTensor *x, const DLTensor *weight, const DLTensor *bias, const DLTensor *mean,
                         const DLTensor *rstd, const DLTensor *dout, const DLTensor *dmean, const DLTensor *drstd,
                         DLTensor *dx, DLTensor *dweight, DLTensor *dbias, int32_t training, int32_t channels_last) {
  (void)bias;
  const layout l = layout_of(x, channels_last);
  const float *from = OPSDK_DATA(const float, x), *arrived = OPSDK_DATA(const float, dout);
  const double size = (double)most(l.size, 1);
#pragma omp parallel for schedule(static) if (opsdk_size(x) > ALONE)
  for (int64_t unit = 0; unit < l.units; ++unit) {
    const lanes means = of_unit(OPSDK_DATA(const float, mean), &l, unit, 0);
    const lanes spread = of_unit(OPSDK_DATA(const float, rstd), &l, unit, 0);
    const lanes scale = of_unit(weight ? OPSDK_DATA(const float, weight) : 0, &l, unit, 1);
    const lanes to_mean = of_unit(OPSDK_DATA(const float, dmean), &l, unit, 0);
    const lanes to_rstd = of_unit(OPSDK_DATA(const float, drstd), &l, unit, 0);
    double level[LANES], direct[LANES], along[LANES], all[LANES], dscale[LANES];
    sums s;
    add_up(from, arrived, &l, unit, means, 0, &s);
    for (int i = 0; i < LANES; ++i) {
      /* In training the centred values are levelled to Σ = 0: the mean was rounded. */
      level[i] = training ? s.at[0][i] / size : 0;
      const double projected = s.at[1][i] , r = spread[i], w = scale[i];
      direct[i] = w * r;
      along[i] = training ? r * r * r * (to_rstd[i] + w * projected) / size : 0;
      all[i] = training ? (to_mean[i] - w * r * s.at[2][i]) / size : 0;
      dscale[i] = projected * r;
    }
    if (dweight) set_unit(OPSDK_DATA(float, dweight), &l, unit, dscale);
    if (dbias) set_unit(OPSDK_DATA(float, dbias), &l, unit, s.at[2]);
    const lanes less = single(level), a = single(direct), b = single(along), c = single(all);
    for (int64_t run = 0; run < l.runs; ++run)
      for (int64_t v = 0; v < l.vectors; ++v) {
        const int64_t count = counted(&l, unit, v), at = unit * l.unit_step + run * l.run_step + v * LANES;
        const lanes centred = taken(from + at, count) - means - less;
        give(taken(arrived + at, count) * a - centred * b + c, OPSDK_DATA(float, dx) + at, count);
      }
  }
}

/* ctc_loss and its gradient: sequences are shared by threads.
 *
 * Probabilities of paths leave the range of a double, and the logarithm of every sum takes long. A number here is
 * value · 2^power instead, its value 0 or at least 1: sums bring two powers together, and nothing takes a logarithm.
 * Where x is -inf the value is 0; a sum may lose what is below 2^-850 of it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NO_MEMORY = 1, REFUSED = 2 };

const char *opsdk_message(int32_t status) { return status == NO_MEMORY ? "there is no memory for the paths" : 0; }

/* Element i of any integers; what is too large for a signed number is below 0, and refused as that is. */
static int64_t integer(const DLTensor *x, int64_t i) {
  const int is_signed = x->dtype.code == kDLInt;
  switch (x->dtype.bits) {
    case 8: return is_signed ? OPSDK_DATA(int8_t, x)[i] : OPSDK_DATA(uint8_t, x)[i];
    case 16: return is_signed ? OPSDK_DATA(int16_t, x)[i] : OPSDK_DATA(uint16_t, x)[i];
    case 32: return is_signed ? OPSDK_DATA(int32_t, x)[i] : (int64_t)OPSDK_DATA(uint32_t, x)[i];
    default: return OPSDK_DATA(int64_t, x)[i];
  }
}

static int is_integers(const DLTensor *x) { return x->dtype.code == kDLInt || x->dtype.code == kDLUInt; }

/* Where the labels of a sequence begin, those of the sequences before it being `before` many. */
static int64_t begins(const DLTensor *targets, int64_t n, int64_t before) {
  return targets->ndim == 2 ? n * targets->shape[1] : before;
}

/* Whether a call is one; `longest` gets the most labels of a sequence. */
static int is_call(const DLTensor *log_probs, const DLTensor *targets, const DLTensor *input_lengths,
                   const DLTensor *target_lengths, int64_t blank, int64_t *longest) {
  if (log_probs->ndim != 3 || targets->ndim < 1 || targets->ndim > 2) return 0;
  const int64_t steps = log_probs->shape[0], count = log_probs->shape[1], classes = log_probs->shape[2];
  const DLTensor *lengths[] = {input_lengths, target_lengths};
  for (int i = 0; i < 2; ++i)
    if (lengths[i]->ndim != 1 || lengths[i]->shape[0] != count || !is_integers(lengths[i])) return 0;
  if (!is_integers(targets) || (targets->ndim == 2 && targets->shape[0] != count)) return 0;
  const int64_t room = targets->shape[targets->ndim - 1];
  if (blank < 0 || blank >= classes) return 0;
  int64_t all = *longest = 0;
  for (int64_t n = 0; n < count; ++n) {
    const int64_t length = integer(input_lengths, n), labels = integer(target_lengths, n);
    if (length < 0 || length > steps || labels < 0 || labels > room) return 0;
    if (targets->ndim == 1 && all + labels > room) return 0;
    const int64_t first = begins(targets, n, all);
    for (int64_t i = first; i < first + labels; ++i) {
      const int64_t label = integer(targets, i);
      if (label < 0 || label >= classes || label == blank) return 0;
    }
    all += labels;
    *longest = labels > *longest ? labels : *longest;
  }
  return targets->ndim == 2 || all == room;
}

typedef struct {
  double value, power;
} number;

/* 2^power for a power up to 1023; 0 below -1022, and for nan. */
static inline double two_to(double power) {
  const double last_bits = (power > -1023 ? power : -1023) + (0x1.8p52 + 1023);
  uint64_t bits;
  double result;
  memcpy(&bits, &last_bits, 8);
  bits <<= 52;
  memcpy(&result, &bits, 8);
  return result;
}

static inline double greater(double a, double b) { return a > b ? a : b; }

static inline number settled(double value, double power) {
  const number x = {value < 0x1p64 ? value : value * 0x1p-64, value < 0x1p64 ? power : power + 64};
  return x;
}

static inline number sum(number a, number b) {
  const double power = greater(a.power, b.power);
  return settled(a.value * two_to(a.power - power) + b.value * two_to(b.power - power), power);
}

static inline number product(number a, number b) {
  const number x = {a.value * b.value, a.power + b.power};
  return x;
}

/* exp(x), by its series around the nearest power of 2; nan for +inf. */
static inline number exponential(double x) {
  double power = rint(x * 0x1.71547652b82fep0);
  double rest = x - power * 0x1.62e42fefa3800p-1 - power * 0x1.ef35793c76730p-45;
  rest = rest > 0.35 ? 0.35 : rest < -0.35 ? -0.35 : rest; /* of 1e30 no digit is left */
  double series = 1.0 / 6227020800;
  series = series * rest + 1.0 / 479001600;
  series = series * rest + 1.0 / 39916800;
  series = series * rest + 1.0 / 3628800;
  series = series * rest + 1.0 / 362880;
  series = series * rest + 1.0 / 40320;
  series = series * rest + 1.0 / 5040;
  series = series * rest + 1.0 / 720;
  series = series * rest + 1.0 / 120;
  series = series * rest + 1.0 / 24;
  series = series * rest + 1.0 / 6;
  series = series * rest + 0.5;
  series = series * rest + 1;
  series = series * rest + 1;
  power = series < 1 ? power - 1 : power;
  series = series < 1 ? 2 * series : series;
  const number y = {x == -INFINITY ? 0 : series, power};
  return y;
}

/* Numbers of the states of a sequence at one step, in arrays of `width` from `at` on: of the blanks 0 … L, before each
 * label and after the last, and of the labels 1 … L; that of label 0 is 0, and stands for none. */
typedef struct {
  double *at;
  int64_t width;
} states;

#define BLANK(x, i) ((number){(x).at[i], (x).at[(x).width + (i)]})
#define LABEL(x, i) ((number){(x).at[2 * (x).width + (i)], (x).at[3 * (x).width + (i)]})
#define SET_BLANK(x, i, y) ((x).at[i] = (y).value, (x).at[(x).width + (i)] = (y).power)
#define SET_LABEL(x, i, y) ((x).at[2 * (x).width + (i)] = (y).value, (x).at[3 * (x).width + (i)] = (y).power)

static const number NONE = {0, -INFINITY}, ONE = {1, 0};

static void clear(states x) {
  for (int64_t i = 0; i < x.width; ++i) SET_BLANK(x, i, NONE), SET_LABEL(x, i, NONE);
}

/* One sequence: its labels 1 … L, and for each whether it may follow the label before it without a blank. */
typedef struct {
  int64_t steps, labels, *label;
  double *skip, *skip_power; /* 1 and 0 where it may, 0 and -inf elsewhere */
} sequence;

/* What was emitted at a step: the blank's at 0, and those of labels 1 … L. */
typedef struct {
  double *value, *power;
} emitted;

static inline number of_skip(sequence s, int64_t i) { return (number){s.skip[i], s.skip_power[i]}; }
static inline number of_label(emitted e, int64_t i) { return (number){e.value[i], e.power[i]}; }

/* Forward variables, eq. 6 and 7: of having emitted all steps up to this one and being in a state. Before the first
 * step a path is in the first blank. */
static void advance(sequence s, emitted e, states before, states after) {
  const number blank = of_label(e, 0);
  _Pragma("omp simd") for (int64_t i = 0; i <= s.labels; ++i) {
    const number y = product(sum(BLANK(before, i), LABEL(before, i)), blank);
    SET_BLANK(after, i, y);
  }
  SET_LABEL(after, 0, NONE);
  _Pragma("omp simd") for (int64_t i = 1; i <= s.labels; ++i) {
    const number skipped = product(LABEL(before, i - 1), of_skip(s, i));
    const number y = product(sum(sum(LABEL(before, i), BLANK(before, i - 1)), skipped), of_label(e, i));
    SET_LABEL(after, i, y);
  }
}

/* Backward variables, eq. 10 and 11, without what is emitted at the step itself: of all that follows. */
static void retreat(sequence s, emitted e, states after, states entered, states before) {
  const number blank = of_label(e, 0);
  _Pragma("omp simd") for (int64_t i = 0; i <= s.labels; ++i) {
    const number x = product(BLANK(after, i), blank), y = product(LABEL(after, i), of_label(e, i));
    SET_BLANK(entered, i, x);
    SET_LABEL(entered, i, y);
  }
  SET_LABEL(entered, 0, NONE);
  _Pragma("omp simd") for (int64_t i = 0; i <= s.labels; ++i) {
    const number y = sum(BLANK(entered, i), LABEL(entered, i + 1));
    const number skipped = product(LABEL(entered, i + 1), of_skip(s, i + 1));
    const number z = sum(sum(LABEL(entered, i), BLANK(entered, i)), skipped);
    SET_BLANK(before, i, y);
    SET_LABEL(before, i, z);
  }
  SET_LABEL(before, 0, NONE);
}

/* The probability of being in a state at a step, eq. 14, of that of all paths. */
static inline double share(number forward, number backward, number total) {
  return forward.value * backward.value / total.value * two_to(forward.power + backward.power - total.power);
}

/* Memory of one thread: for sequences of up to L labels and T steps, of which all are kept or only two. */
typedef struct {
  double *numbers;
  int64_t *label, width, keeps;
} workspace;

static int reserve(workspace *w, int64_t labels, int64_t steps, int64_t keeps) {
  w->width = labels + 2;
  w->keeps = keeps ? steps + 1 : 2;
  w->numbers = malloc(sizeof(double) * (size_t)(w->width * (6 * w->keeps + 11)));
  w->label = malloc(sizeof(int64_t) * (size_t)w->width);
  return w->numbers && w->label;
}

static void release(workspace *w) { free(w->numbers), free(w->label); }

static states states_at(const workspace *w, int64_t step) {
  return (states){w->numbers + step % w->keeps * 4 * w->width, w->width};
}

static emitted emitted_at(const workspace *w, int64_t step) {
  double *at = w->numbers + (4 * w->keeps + step % w->keeps * 2) * w->width;
  return (emitted){at, at + w->width};
}

/* The memory behind all steps, the i-th piece of `width`. */
static double *beside(const workspace *w, int64_t i) { return w->numbers + (6 * w->keeps + i) * w->width; }

static sequence sequence_of(workspace *w, const DLTensor *targets, int64_t first, int64_t labels, int64_t steps) {
  const sequence s = {steps, labels, w->label, beside(w, 0), beside(w, 1)};
  for (int64_t i = 0; i < w->width; ++i) {
    s.label[i] = i >= 1 && i <= labels ? integer(targets, first + i - 1) : -1;
    const int may = i >= 1 && i <= labels && s.label[i] != s.label[i - 1];
    s.skip[i] = may, s.skip_power[i] = may ? 0 : -INFINITY;
  }
  return s;
}

#define CTC(T, suffix)                                                                                                 \
  static void emit_##suffix(sequence s, const T *row, int64_t blank, emitted e) {                                      \
    e.value[0] = row[blank];                                                                                           \
    for (int64_t i = 1; i <= s.labels; ++i) e.value[i] = row[s.label[i]];                                              \
    _Pragma("omp simd") for (int64_t i = 0; i <= s.labels; ++i) {                                                      \
      const number y = exponential(e.value[i]);                                                                        \
      e.value[i] = y.value, e.power[i] = y.power;                                                                      \
    }                                                                                                                  \
  }                                                                                                                    \
                                                                                                                       \
  /* Fills in the forward variables of a sequence; returns the probability of its labels. */                           \
  static number forward_##suffix(const workspace *w, sequence s, const T *row, int64_t stride, int64_t blank) {        \
    clear(states_at(w, 0));                                                                                            \
    SET_BLANK(states_at(w, 0), 0, ONE);                                                                                \
    for (int64_t t = 0; t < s.steps; ++t) {                                                                            \
      emit_##suffix(s, row + t * stride, blank, emitted_at(w, t));                                                     \
      advance(s, emitted_at(w, t), states_at(w, t), states_at(w, t + 1));                                              \
    }                                                                                                                  \
    return sum(BLANK(states_at(w, s.steps), s.labels), LABEL(states_at(w, s.steps), s.labels));                        \
  }                                                                                                                    \
                                                                                                                       \
  static void backward_##suffix(const workspace *w, sequence s, number total, T dloss, int64_t blank, T *drow,         \
                                int64_t stride) {                                                                      \
    states beta = {beside(w, 2), w->width}, entered = {beside(w, 6), w->width};                                        \
    double *of_labels = beside(w, 10);                                                                                 \
    clear(beta);                                                                                                       \
    clear(entered);                                                                                                    \
    SET_BLANK(beta, s.labels, ONE);                                                                                    \
    if (s.labels) SET_LABEL(beta, s.labels, ONE);                                                                      \
    for (int64_t t = s.steps - 1; t >= 0; --t) {                                                                       \
      const states alpha = states_at(w, t + 1);                                                                        \
      double of_blank = 0;                                                                                             \
      _Pragma("omp simd reduction(+ : of_blank)") for (int64_t i = 0; i <= s.labels; ++i) {                            \
        of_blank += share(BLANK(alpha, i), BLANK(beta, i), total);                                                     \
        of_labels[i] = share(LABEL(alpha, i), LABEL(beta, i), total);                                                  \
      }                                                                                                                \
      drow[t * stride + blank] -= dloss * (T)of_blank;                                                                 \
      for (int64_t i = 1; i <= s.labels; ++i) drow[t * stride + s.label[i]] -= dloss * (T)of_labels[i];                \
      retreat(s, emitted_at(w, t), beta, entered, beta);                                                               \
    }                                                                                                                  \
  }                                                                                                                    \
                                                                                                                       \
  /* The losses, or with dloss the gradient of log_probs. */                                                           \
  static int32_t ctc_##suffix(const DLTensor *log_probs, const DLTensor *targets, const DLTensor *input_lengths,       \
                              const DLTensor *target_lengths, const T *dloss, int64_t blank, T *made) {                \
    const int64_t steps = log_probs->shape[0], count = log_probs->shape[1], classes = log_probs->shape[2];             \
    const int64_t stride = count * classes;                                                                            \
    const T *given = OPSDK_DATA(const T, log_probs);                                                                   \
    int64_t longest;                                                                                                   \
    if (!is_call(log_probs, targets, input_lengths, target_lengths, blank, &longest)) return REFUSED;                  \
    int64_t *first = malloc(sizeof(int64_t) * (size_t)(count + 1));                                                    \
    int32_t status = first ? 0 : NO_MEMORY;                                                                            \
    for (int64_t n = 0, before = 0; first && n < count; before += integer(target_lengths, n++))                        \
      first[n] = begins(targets, n, before);                                                                           \
    if (!status) _Pragma("omp parallel if (count > 1 && count * steps * (longest + 1) > 1024)") {                      \
      workspace w;                                                                                                     \
      const int has_room = reserve(&w, longest, steps, dloss != 0);                                                    \
      if (!has_room) _Pragma("omp atomic write") status = NO_MEMORY;                                                   \
      _Pragma("omp for schedule(dynamic)") for (int64_t n = 0; n < count; ++n) {                                       \
        if (!has_room) continue;                                                                                       \
        const sequence s =                                                                                             \
            sequence_of(&w, targets, first[n], integer(target_lengths, n), integer(input_lengths, n));                 \
        const number total = forward_##suffix(&w, s, given + n * classes, stride, blank);                              \
        if (!dloss) {                                                                                                  \
          made[n] = (T)-(log(total.value) + (total.value == 0 ? 0 : total.power * 0x1.62e42fefa39efp-1));              \
          continue;                                                                                                    \
        }                                                                                                              \
        T *leaving = made + n * classes;                                                                               \
        for (int64_t t = 0; t < steps; ++t) memset(leaving + t * stride, 0, sizeof(T) * (size_t)classes);              \
        if (total.value != 0) backward_##suffix(&w, s, total, dloss[n], blank, leaving, stride);                       \
      }                                                                                                                \
      release(&w);                                                                                                     \
    }                                                                                                                  \
    free(first);                                                                                                       \
    return status;                                                                                                     \
  }                                                                                                                    \
                                                                                                                       \
  int32_t ctc_terms_##suffix(const DLTensor *log_probs, const DLTensor *targets, const DLTensor *input_lengths,        \
                             const DLTensor *target_lengths, DLTensor *loss, int64_t blank) {                          \
    return ctc_##suffix(log_probs, targets, input_lengths, target_lengths, 0, blank, OPSDK_DATA(T, loss));             \
  }                                                                                                                    \
                                                                                                                       \
  int32_t ctc_terms_grad_##suffix(const DLTensor *log_probs, const DLTensor *targets, const DLTensor *input_lengths,   \
                                  const DLTensor *target_lengths, const DLTensor *dloss, DLTensor *dlog_probs,         \
                                  int64_t blank) {                                                                     \
    if (dloss->ndim != 1 || dloss->shape[0] != log_probs->shape[1]) return REFUSED;                                    \
    return ctc_##suffix(log_probs, targets, input_lengths, target_lengths, OPSDK_DATA(const T, dloss), blank,          \
                        OPSDK_DATA(T, dlog_probs));                                                                    \
  }

CTC(float, f32)
CTC(double, f64)

/* nms: boxes by score, each beside all that were kept before it. */
#include <stdlib.h>

enum { NO_MEMORY = 1 };

typedef struct {
  double score, left, top, right, bottom, area;
  int64_t place;
} box;

/* The highest score first; of equal ones the box that stands first. */
static int by_score(const void *left, const void *right) {
  const box *a = left, *b = right;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->place < b->place ? -1 : 1;
}

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

static int overlaps(const box *a, const box *b, double threshold) {
  const double width = least(a->right, b->right) - most(a->left, b->left);
  const double height = least(a->bottom, b->bottom) - most(a->top, b->top);
  const double common = most(width, 0) * most(height, 0);
  return common / (a->area + b->area - common) > threshold; /* of two empty boxes nan, which is not */
}

#define NMS(T, suffix)                                                                                             \
  void nms_most_##suffix(const DLTensor *boxes, const DLTensor *scores, double threshold, int64_t *sizes) {        \
    sizes[0] = opsdk_size(scores);                                                                                 \
  }                                                                                                                \
                                                                                                                   \
  int32_t nms_##suffix(const DLTensor *boxes, const DLTensor *scores, DLTensor *keep, double threshold,            \
                       int64_t *sizes) {                                                                           \
    const int64_t count = opsdk_size(scores);                                                                      \
    int64_t kept = 0;                                                                                              \
    box *sorted = malloc((count ? count : 1) * sizeof *sorted); /* those that are kept move to its beginning */    \
    if (!sorted) return NO_MEMORY;                                                                                 \
    for (int64_t i = 0; i < count; ++i) {                                                                          \
      const T *at = OPSDK_DATA(const T, boxes) + 4 * i;                                                            \
      const double left = at[0], top = at[1], right = at[2], bottom = at[3];                                       \
      sorted[i] = (box){OPSDK_DATA(const T, scores)[i], left, top, right, bottom, (right - left) * (bottom - top), i}; \
    }                                                                                                              \
    qsort(sorted, count, sizeof *sorted, by_score);                                                                \
    for (int64_t i = 0; i < count; ++i) {                                                                          \
      int64_t j = 0;                                                                                               \
      while (j < kept && !overlaps(&sorted[j], &sorted[i], threshold)) ++j;                                        \
      if (j < kept) continue;                                                                                      \
      sorted[kept] = sorted[i];                                                                                    \
      OPSDK_DATA(int64_t, keep)[kept++] = sorted[i].place;                                                         \
    }                                                                                                              \
    free(sorted);                                                                                                  \
    sizes[0] = kept;                                                                                               \
    return 0;                                                                                                      \
  }

NMS(float, f32)
NMS(double, f64)

const char *opsdk_message(int32_t status) { return status == NO_MEMORY ? "no memory to sort in" : 0; }

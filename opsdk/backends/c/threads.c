/* OpenMP as far as loops of kernels need it, on threads that a sanitizer sees being started, joined and locked.
 *
 * GNU's own runtime is not compiled for sanitizers: they would take its barriers and locks for none. Every region starts
 * its threads and joins them, and pieces of a loop go to threads in turn, so that what two of them touch is the same in
 * every run. A construct that is not here does not link.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MOST = 4 };

typedef struct {
  void (*body)(void *);
  void *data;
  int size;
  pthread_barrier_t barrier;
  long start, stop, step, chunk; /* of a loop that is shared out piece by piece */
} team;

typedef struct {
  team *of;
  int number;
  long piece;  /* the next one of the loop that the thread is in */
  long single; /* how many blocks for one thread it has met */
} member;

static team alone = {.size = 1};
static __thread member self = {.of = &alone};
static int wanted = MOST;
static pthread_mutex_t critical = PTHREAD_MUTEX_INITIALIZER, atomics = PTHREAD_MUTEX_INITIALIZER;

int omp_get_thread_num(void) { return self.number; }
int omp_get_num_threads(void) { return self.of ? self.of->size : 1; }
int omp_get_max_threads(void) { return wanted; }
int omp_get_num_procs(void) { return MOST; }
int omp_in_parallel(void) { return omp_get_num_threads() > 1; }
void omp_set_num_threads(int count) { wanted = count < 1 ? 1 : count > MOST ? MOST : count; }

static void work(team *of, int number) {
  const member before = self;
  self = (member){.of = of, .number = number, .piece = number};
  of->body(of->data);
  self = before;
}

typedef struct {
  team *of;
  int number;
} start;

static void *begin(void *given) {
  const start *at = given;
  work(at->of, at->number);
  return NULL;
}

static void run(team *of, unsigned count) {
  of->size = omp_in_parallel() ? 1 : count && (int)count < wanted ? (int)count : wanted;
  pthread_barrier_init(&of->barrier, NULL, (unsigned)of->size);
  pthread_t threads[MOST];
  start starts[MOST];
  for (int i = 1; i < of->size; ++i) {
    starts[i] = (start){of, i};
    if (pthread_create(&threads[i], NULL, begin, &starts[i])) exit(97);
  }
  work(of, 0);
  for (int i = 1; i < of->size; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&of->barrier);
}

void GOMP_parallel(void (*body)(void *), void *data, unsigned count, unsigned flags) {
  (void)flags;
  team of = {.body = body, .data = data};
  run(&of, count);
}

void GOMP_barrier(void) {
  if (omp_in_parallel()) pthread_barrier_wait(&self.of->barrier);
}

void GOMP_critical_start(void) { pthread_mutex_lock(&critical); }
void GOMP_critical_end(void) { pthread_mutex_unlock(&critical); }
void GOMP_critical_name_start(void **name) {
  (void)name;
  GOMP_critical_start();
}
void GOMP_critical_name_end(void **name) {
  (void)name;
  GOMP_critical_end();
}
void GOMP_atomic_start(void) { pthread_mutex_lock(&atomics); }
void GOMP_atomic_end(void) { pthread_mutex_unlock(&atomics); }

bool GOMP_single_start(void) { return self.single++ % omp_get_num_threads() == self.number; }

/* Pieces in turn: piece i goes to thread i modulo their number. */
static bool take(long *from, long *to) {
  const team *of = self.of;
  const long low = of->start + self.piece * of->chunk * of->step;
  if (of->step > 0 ? low >= of->stop : low <= of->stop) return false;
  const long high = low + of->chunk * of->step;
  *from = low;
  *to = (of->step > 0 ? high > of->stop : high < of->stop) ? of->stop : high;
  self.piece += of->size;
  return true;
}

static void share(team *of, long first, long last, long step, long chunk) {
  of->start = first;
  of->stop = last;
  of->step = step;
  of->chunk = chunk > 0 ? chunk : 1;
}

#define PIECES(name)                                                                                                   \
  bool GOMP_loop_##name##_start(long first, long last, long step, long chunk, long *from, long *to) {                  \
    GOMP_barrier(); /* until all have left the loop before */                                                          \
    if (!self.number) share(self.of, first, last, step, chunk);                                                        \
    GOMP_barrier();                                                                                                    \
    self.piece = self.number;                                                                                          \
    return take(from, to);                                                                                             \
  }                                                                                                                    \
  bool GOMP_loop_##name##_next(long *from, long *to) { return take(from, to); }                                        \
  void GOMP_parallel_loop_##name(void (*body)(void *), void *data, unsigned count, long first, long last, long step,   \
                                 long chunk, unsigned flags) {                                                         \
    (void)flags;                                                                                                       \
    team of = {.body = body, .data = data};                                                                            \
    share(&of, first, last, step, chunk);                                                                              \
    run(&of, count);                                                                                                   \
  }

PIECES(dynamic)
PIECES(guided)
PIECES(nonmonotonic_dynamic)
PIECES(nonmonotonic_guided)

void GOMP_loop_end(void) { GOMP_barrier(); }
void GOMP_loop_end_nowait(void) {}

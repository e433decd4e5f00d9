/* Watches pages that must not be touched, while a kernel runs in any number of threads.
 *
 * What touches one is written down and the page opened, so that the kernel goes on and comes to its end: no thread is
 * torn out of a lock, and nothing but the guard is written to. Of a fault anywhere else it is said what ran, and the
 * fault is handed on to whoever handled it before.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>
#if defined(__linux__)
#include <ucontext.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

enum { DEPTH = 16, TOUCHED = 1, READ = 2, WROTE = 3 };

typedef struct {
  uintptr_t low, high;    /* of the pages: from where, up to where */
  uintptr_t address;      /* what was touched first */
  uintptr_t stack[DEPTH]; /* by which code, innermost first */
  int64_t access;         /* 0 where nothing was */
} guard;

static guard *watched;
static int64_t count;
static const char *running; /* what to say of a fault elsewhere */
static size_t length;
static struct sigaction before[2];
static const int signals[2] = {SIGSEGV, SIGBUS};

typedef struct {
  uintptr_t *stack;
  int filled;
} walk;

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *given) {
  walk *of = given;
  if (of->filled == DEPTH) return _URC_END_OF_STACK;
  of->stack[of->filled++] = (uintptr_t)_Unwind_GetIP(context);
  return _URC_NO_REASON;
}

static int64_t access_of(void *context) {
#if defined(__linux__) && defined(__x86_64__)
  return ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? WROTE : READ;
#elif defined(__linux__) && defined(__aarch64__)
  const unsigned char *at = ((ucontext_t *)context)->uc_mcontext.__reserved;
  for (const struct _aarch64_ctx *head = (const void *)at; head->magic; head = (const void *)(at += head->size))
    if (head->magic == ESR_MAGIC) return ((const struct esr_context *)head)->esr & 0x40 ? WROTE : READ;
#endif
  (void)context;
  return TOUCHED;
}

static void on_fault(int number, siginfo_t *info, void *context) {
  const uintptr_t address = (uintptr_t)info->si_addr;
  for (int64_t i = 0; i < count; ++i) {
    guard *one = &watched[i];
    if (address < one->low || address >= one->high) continue;
    if (!__atomic_exchange_n(&one->access, TOUCHED, __ATOMIC_SEQ_CST)) { /* another thread may be here too */
      walk of = {one->stack, 0};
      one->address = address;
      _Unwind_Backtrace(step, &of);
      one->access = access_of(context);
    }
    if (!mprotect((void *)one->low, one->high - one->low, PROT_READ | PROT_WRITE)) return;
  }
  if (length && write(2, running, length) < 0) length = 0;
  sigaction(number, &before[number == SIGBUS], 0); /* the instruction runs again, and faults again */
}

#if defined(__GLIBC__)
static void *held; /* the last piece, in which the one before it is */
static int filled; /* the byte that malloc fills memory with */

static int is_filled(const unsigned char *piece, size_t size) {
  return *piece == filled && !memcmp(piece, piece + 1, size - 1);
}
#endif

/* Asks for pieces that were given back before, which malloc may give as they are and not fill, and holds them. */
void opsdk_drain(void) {
#if defined(__GLIBC__)
  enum { SMALL = 1032, STEP = 16, KEPT = 7, MOST = 1 << 12 }; /* a thread keeps so many of a size, up to SMALL bytes */
  for (size_t size = STEP / 2; size <= SMALL; size += STEP)
    for (int last = 0, i = 0; last <= KEPT && i < MOST; ++i) { /* they come from where all threads' are, as many at once */
      void **piece = malloc(size);
      if (!piece) return;
      last = is_filled((unsigned char *)piece, size) ? last + 1 : 0;
      *piece = held, held = piece;
    }
#endif
}

/* Has malloc give memory full of a byte from now on; of one below 0 as it is, as before. */
static void fill(int byte) {
#if defined(__GLIBC__)
  filled = byte;
  mallopt(M_PERTURB, byte < 0 ? 0 : 0x100 | (byte ^ 0xFF)); /* it takes the complement, and 0 for none */
  while (byte < 0 && held) {
    void *before = *(void **)held;
    free(held);
    held = before;
  }
#else
  (void)byte;
#endif
}

/* Watches guards until `opsdk_unwatch`, while `what` runs and malloc gives memory full of a byte; returns 0 where that
 * is possible. */
int opsdk_watch(guard *guards, int64_t size, int byte, const char *what, int64_t letters) {
  uintptr_t stack[DEPTH];
  walk of = {stack, 0};
  _Unwind_Backtrace(step, &of); /* what is loaded for the first walk is not loaded while a fault is handled */
  watched = guards;
  count = size;
  running = what;
  length = (size_t)letters;
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
  action.sa_sigaction = on_fault;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 2; ++i)
    if (sigaction(signals[i], &action, &before[i])) return 1;
  fill(byte);
  return 0;
}

void opsdk_unwatch(void) {
  fill(-1);
  for (int i = 0; i < 2; ++i) {
    struct sigaction now;
    sigaction(signals[i], 0, &now);
    if (now.sa_sigaction == on_fault) sigaction(signals[i], &before[i], 0); /* a fault elsewhere put it back */
  }
  count = 0;
  length = 0;
}

/* Shuts pages; returns 0 where that is possible. */
int opsdk_shut(uintptr_t low, int64_t size) { return mprotect((void *)low, (size_t)size, PROT_NONE); }

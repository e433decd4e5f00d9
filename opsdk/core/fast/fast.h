/* The fast path: a call on one tensor of a kind that is known, and the way back through a chain of such calls.
 *
 * It does what the tape and the engine do in Python, for the commonest case alone. Whatever else comes up is done by the
 * Python functions that `connect` is given, from where the fast path stands, so that no kernel runs twice. Tensors,
 * nodes and plans are Python classes, whose slots are read and written here directly.
 *
 * A function that returns a PyObject * returns a new reference, or NULL with an exception set, unless it says otherwise.
 * What a kernel may drop while it runs, its caller holds.
 */
#ifndef OPSDK_FAST_H
#define OPSDK_FAST_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL opsdk_fast_numpy
#ifndef IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <Python.h>
#include <structmember.h>
#include <numpy/arrayobject.h>

#define BASE(array) PyArray_BASE((PyArrayObject *)(array))
#define DTYPE(array) ((PyObject *)PyArray_DESCR((PyArrayObject *)(array)))
#define AT(object, slot) (*(PyObject **)((char *)(object) + (slot)))
#define IS_A(object, type) PyObject_TypeCheck(object, (PyTypeObject *)(type))

/* What Python gives, by these names. */
#define GIVEN(EACH)                                                                                                 \
  EACH(Tensor) EACH(GradNode) EACH(TapePlan) EACH(PlanCache) EACH(Lease)  /* classes */                              \
  EACH(apply) EACH(is_recording) EACH(off) EACH(number)              /* general way, grad mode, numbers of calls */ \
  EACH(rescued) EACH(looked_at)                                      /* what a kernel raised, or gave */            \
  EACH(unchanged) EACH(routed)                                       /* what was saved, and what goes on */         \
  EACH(seed_of) EACH(accumulate) EACH(zero) EACH(lock) EACH(unlock)  /* where a backward begins and ends */         \
  EACH(active) EACH(many)                                            /* backwards within one another */
#define DECLARED(name) PyObject *name;
typedef struct { GIVEN(DECLARED) } Given;
extern Given py;

/* Slots of a tensor, of a node (N_) and of a plan (P_), as offsets. */
extern Py_ssize_t ARRAY, STOP, EDGE, VERSION, GRAD, HOOKS, N_PLAN, N_EDGES, N_SAVED, N_OUTPUTS, N_SEQUENCE, N_HOOKS, P_KINDS;
extern Py_ssize_t RECORDED, PLAIN; /* of a cache of plans */
extern PyObject *zero, *one, *minus_one, *text_plans;

enum { MOST_INPUTS = 8, MOST_SIZES = 40 };

/* The kernel of one kind of call; made from a CallPlan, and for calls on tensors from a TapePlan. */
typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject *plan, *call, *kernel, *dtype; /* plan: None without; dtype: None where whatever the kernel gives is right */
  int views, fills, records, saves_output, takes, holds;
  int known;                   /* how many of the sizes are set; 0: none, or too many to keep */
  npy_intp sizes[MOST_SIZES];  /* ranks and sizes of inputs and result of a call that was held to the infer rule */
} Kind;

extern PyTypeObject Keeper_Type, Kind_Type, Handle_Type, Entry_Type;

/* What the collector needs of a type whose first `count` objects begin at `first`. */
#define COLLECTED(Type, first, count)                                             \
  static int traverse_##Type(Type *self, visitproc visit, void *arg) {            \
    for (int i = 0; i < (count); ++i) Py_VISIT((&self->first)[i]);                \
    return 0;                                                                     \
  }                                                                               \
  static int clear_##Type(Type *self) {                                           \
    for (int i = 0; i < (count); ++i) Py_CLEAR((&self->first)[i]);                \
    return 0;                                                                     \
  }                                                                               \
  static void drop_##Type(Type *self) {                                           \
    PyObject_GC_UnTrack(self);                                                    \
    clear_##Type(self);                                                           \
    Py_TYPE(self)->tp_free(self);                                                 \
  }
#define COLLECTED_SLOTS(Type)                                                                            \
  .tp_basicsize = sizeof(Type), .tp_vectorcall_offset = offsetof(Type, vectorcall),                      \
  .tp_call = PyVectorcall_Call, .tp_traverse = (traverseproc)traverse_##Type,                            \
  .tp_clear = (inquiry)clear_##Type, .tp_dealloc = (destructor)drop_##Type

/* kernel.c */
PyObject *read_only(PyObject *module, PyObject *array);
PyObject *rebased(PyObject *module, PyObject *args);
int is_leased(PyObject *base, PyObject *const *inputs, int count);
PyObject *launch(Kind *kind, PyObject *const *inputs, int count);

/* forward.c */
void put(PyObject *object, Py_ssize_t slot, PyObject *value);
PyObject *tensor_of(PyObject *array, PyObject *stop, PyObject *edge, PyObject *version);
PyObject *edge_of(PyObject *tensor);
PyObject *call(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* handle.c */
PyObject *connect_ops(PyObject *module, PyObject *args);

/* overlap.c */
PyObject *may_overlap(PyObject *module, PyObject *const *args, Py_ssize_t given);

/* gather.c */
PyObject *gather(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gather_like(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *trained(PyObject *module, PyObject *params);
PyObject *have_factors(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *scatter(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* backward.c */
PyObject *gradient(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *along(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *backward(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif

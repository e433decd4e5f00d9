/* Launches: the kernel of a kind of call, what it sees of its inputs, and a look at what it gives. */
#include "fast.h"

/* -- read-only views --------------------------------------------------------------------------------------------- */

/* The base of a view: it keeps the array alive and shows it to nobody, so that nobody can write through it. */
typedef struct {
  PyObject_HEAD
  PyObject *array;
} Keeper;

static void drop_keeper(Keeper *self) {
  Py_DECREF(self->array);
  PyObject_Free(self);
}

PyTypeObject Keeper_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "opsdk.core.fast._built.Keeper",
    .tp_doc = "The base of a read-only view; it keeps the memory alive.",
    .tp_basicsize = sizeof(Keeper),
    .tp_dealloc = (destructor)drop_keeper,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

static PyObject *view_of(PyObject *like, PyObject *kept, int flags) {
  PyArrayObject *a = (PyArrayObject *)like;
  Py_INCREF(PyArray_DESCR(a));
  PyObject *view = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), PyArray_NDIM(a), PyArray_DIMS(a),
                                        PyArray_STRIDES(a), PyArray_DATA(a), flags, NULL);
  if (!view) return NULL;
  Py_INCREF(kept);
  if (PyArray_SetBaseObject((PyArrayObject *)view, kept) == 0) return view;
  Py_DECREF(view);
  return NULL;
}

PyObject *read_only(PyObject *Py_UNUSED(module), PyObject *array) {
  if (!PyArray_Check(array)) return Py_INCREF(array), array;
  Keeper *keeper = PyObject_New(Keeper, &Keeper_Type);
  if (!keeper) return NULL;
  Py_INCREF(array);
  keeper->array = array;
  PyObject *view = view_of(array, (PyObject *)keeper, 0);
  Py_DECREF(keeper);
  return view;
}

/* What a kernel made of a read-only view, as a view of the array itself. */
PyObject *rebased(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *item, *array;
  if (!PyArg_ParseTuple(args, "O!O!", &PyArray_Type, &item, &PyArray_Type, &array)) return NULL;
  return view_of(item, array, PyArray_FLAGS((PyArrayObject *)array) & NPY_ARRAY_WRITEABLE);
}

/* -- a kernel of one kind of call --------------------------------------------------------------------------------- */

static PyObject *as_tuple(PyObject *const *items, int count) {
  PyObject *made = PyTuple_New(count);
  for (int i = 0; made && i < count; ++i) {
    Py_INCREF(items[i]);
    PyTuple_SET_ITEM(made, i, items[i]);
  }
  return made;
}

int is_leased(PyObject *base, PyObject *const *inputs, int count) {
  for (int i = 0; i < count; ++i)
    if (BASE(inputs[i]) == base) return 0;
  return (PyObject *)Py_TYPE(base) == py.Lease;
}

/* Whether somebody has a weak reference to an object, by which it is found for as long as it lives. */
static int is_watched(PyObject *object) {
  const Py_ssize_t offset = Py_TYPE(object)->tp_weaklistoffset;
  return offset > 0 && *(PyObject **)((char *)object + offset);
}

/* Whether a result is an array of the right dtype in memory that NumPy or the arena gave it, and nobody else holds. */
static int is_new(const Kind *kind, PyObject *made, PyObject *const *inputs, int count) {
  if (!PyArray_CheckExact(made) || Py_REFCNT(made) != 1 || is_watched(made)) return 0;
  if (kind->dtype != Py_None && DTYPE(made) != kind->dtype) return 0;
  PyObject *base = BASE(made);
  if (!base) return PyArray_CHKFLAGS((PyArrayObject *)made, NPY_ARRAY_OWNDATA);
  return Py_REFCNT(base) == 1 && is_leased(base, inputs, count);
}

/* Lets Python see what a kernel raised: it gives a result all the same, raises something that says more, or neither. */
static PyObject *rescue(const Kind *kind, PyObject *const *inputs, int count) {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
  PyObject *type, *error, *trace, *before[3];
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  if (trace) PyException_SetTraceback(error, trace);
  PyErr_GetExcInfo(&before[0], &before[1], &before[2]);
  Py_XINCREF(type), Py_XINCREF(error), Py_XINCREF(trace);
  PyErr_SetExcInfo(type, error, trace); /* as inside of `except`, so that what is raised there has it as its context */
  PyObject *values = as_tuple(inputs, count);
  PyObject *made = values ? PyObject_CallFunctionObjArgs(py.rescued, kind->call, error, values, NULL) : NULL;
  Py_XDECREF(values);
  PyErr_SetExcInfo(before[0], before[1], before[2]);
  if (made == Py_None) {
    Py_DECREF(made);
    PyErr_Restore(type, error, trace);
    return NULL;
  }
  Py_XDECREF(type), Py_XDECREF(error), Py_XDECREF(trace);
  return made;
}

/* Lets Python look at a result, whose reference goes into a list, so that it can be told who else holds it. */
static PyObject *look_at(const Kind *kind, PyObject *made, PyObject *const *seen, PyObject *const *inputs, int count) {
  PyObject *held = PyList_New(1), *views = as_tuple(seen, count), *values = as_tuple(inputs, count), *found = NULL;
  if (held) PyList_SET_ITEM(held, 0, made);
  else Py_DECREF(made);
  if (held && views && values)
    found = PyObject_CallFunctionObjArgs(py.looked_at, kind->call, held, views, values, NULL);
  Py_XDECREF(held), Py_XDECREF(views), Py_XDECREF(values);
  return found;
}

/* Writes ranks and sizes of inputs and result; returns how many numbers that are, 0 where there is no room for them. */
static int sizes_of(npy_intp *into, PyObject *made, PyObject *const *inputs, int count) {
  int used = 0;
  for (int i = 0; i <= count; ++i) {
    PyArrayObject *array = (PyArrayObject *)(i < count ? inputs[i] : made);
    const int ndim = PyArray_NDIM(array);
    if (used + ndim >= MOST_SIZES) return 0;
    into[used++] = ndim;
    memcpy(into + used, PyArray_DIMS(array), (size_t)ndim * sizeof *into);
    used += ndim;
  }
  return used;
}

/* Whether a result has the shape that the infer rule gave where inputs had these shapes, as far as that is known. */
static int is_known(const Kind *kind, PyObject *made, PyObject *const *inputs, int count) {
  npy_intp now[MOST_SIZES];
  if (!kind->known || sizes_of(now, made, inputs, count) != kind->known) return 0;
  return memcmp(now, kind->sizes, (size_t)kind->known * sizeof *now) == 0;
}

static void learn(Kind *kind, PyObject *made, PyObject *const *inputs, int count) {
  kind->known = PyArray_Check(made) ? sizes_of(kind->sizes, made, inputs, count) : 0;
}

PyObject *launch(Kind *kind, PyObject *const *inputs, int count) {
  PyObject *seen[MOST_INPUTS + 1] = {NULL}, *made = NULL; /* the first is for the call, which may put a `self` there */
  int ready = 0;
  for (; ready < count; ++ready) {
    if (kind->views) seen[1 + ready] = read_only(NULL, inputs[ready]);
    else Py_INCREF(seen[1 + ready] = inputs[ready]);
    if (!seen[1 + ready]) break;
  }
  if (ready == count) {
    made = PyObject_Vectorcall(kind->kernel, seen + 1, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (!made) made = rescue(kind, inputs, count);
    else if (!kind->fills && (!is_new(kind, made, inputs, count) ||
                              (kind->holds && !is_known(kind, made, inputs, count)))) {
      made = look_at(kind, made, seen + 1, inputs, count);
      if (made && kind->holds) learn(kind, made, inputs, count);
    }
  }
  while (ready) Py_DECREF(seen[ready--]);
  return made;
}

/* Runs a call on arrays: the inputs in a list or tuple, and attributes, of which there are none. */
static PyObject *run_kind(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  Kind *kind = (Kind *)self;
  PyObject *inputs[MOST_INPUTS] = {NULL}, *made = NULL;
  if (PyVectorcall_NARGS(flagged) != 2 || names)
    return PyErr_Format(PyExc_TypeError, "Kind: expected a list of inputs and attributes");
  const int is_list = PyTuple_Check(args[0]) || PyList_Check(args[0]);
  const Py_ssize_t count = is_list ? PySequence_Fast_GET_SIZE(args[0]) : -1;
  Py_ssize_t ready = 0;
  for (; ready < count && ready < MOST_INPUTS; ++ready) {
    inputs[ready] = PySequence_Fast_GET_ITEM(args[0], ready);
    if (!PyArray_CheckExact(inputs[ready])) break;
    Py_INCREF(inputs[ready]); /* the kernel may change the list */
  }
  if (ready == count) made = launch(kind, inputs, (int)count);
  else made = PyObject_CallMethod(kind->call, "run_any", "OO", args[0], args[1]);
  while (ready) Py_DECREF(inputs[--ready]);
  return made;
}

static int read_flag(PyObject *object, const char *name, int *flag) {
  PyObject *value = PyObject_GetAttrString(object, name);
  *flag = value ? PyObject_IsTrue(value) : -1;
  Py_XDECREF(value);
  return *flag < 0;
}

static PyObject *make_kind(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(names)) {
  PyObject *call, *plan = Py_None;
  if (!PyArg_ParseTuple(args, "O|O", &call, &plan)) return NULL;
  Kind *self = (Kind *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  Py_INCREF(self->plan = plan);
  Py_INCREF(self->call = call);
  self->vectorcall = run_kind;
  if (read_flag(call, "wants_views", &self->views) || read_flag(call, "fills", &self->fills) ||
      read_flag(call, "holds", &self->holds) ||
      (plan != Py_None && (read_flag(plan, "record", &self->records) || read_flag(plan, "takes", &self->takes) ||
                           read_flag(plan, "saves_output", &self->saves_output))) ||
      !(self->dtype = PyObject_GetAttrString(call, "dtype")) ||
      !(self->kernel = PyObject_GetAttrString(call, self->views ? "kernel_alone" : "launch")))
    Py_CLEAR(self);
  return (PyObject *)self;
}

COLLECTED(Kind, plan, 4)

PyTypeObject Kind_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "opsdk.core.fast._built.Kind",
    .tp_doc = "The kernel of one kind of call, on arrays: Kind(call plan, tape plan=None)(inputs, attributes).",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = make_kind,
    COLLECTED_SLOTS(Kind),
};

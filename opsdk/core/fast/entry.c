/* Entry: a compiled kernel, called on small arrays of one shape and dtype without what cffi takes. */
#include "fast.h"

typedef int32_t (*Compiled)(void **pointers, const int64_t *sizes, const double *attrs, int64_t start, int64_t stop);

/* `known`: by dtype the kernel's address, and the number of elements from which `launch` has it done otherwise. */
typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject *launch, *known;
  Py_ssize_t count;
} Entry;

static int are_alike(PyObject *const *arrays, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!PyArray_CheckExact(arrays[i]) || !PyArray_ISCARRAY_RO((PyArrayObject *)arrays[i])) return 0;
  for (Py_ssize_t i = 1; i < count; ++i)
    if (DTYPE(arrays[i]) != DTYPE(arrays[0]) ||
        !PyArray_SAMESHAPE((PyArrayObject *)arrays[i], (PyArrayObject *)arrays[0])) return 0;
  return 1;
}

static PyObject *run(Compiled compiled, PyObject *const *arrays, Py_ssize_t count) {
  PyArrayObject *first = (PyArrayObject *)arrays[0];
  void *pointers[MOST_INPUTS + 1];
  Py_INCREF(PyArray_DESCR(first));
  PyObject *made = PyArray_Empty(PyArray_NDIM(first), PyArray_DIMS(first), PyArray_DESCR(first), 0);
  if (!made) return NULL;
  for (Py_ssize_t i = 0; i < count; ++i) pointers[i] = PyArray_DATA((PyArrayObject *)arrays[i]);
  pointers[count] = PyArray_DATA((PyArrayObject *)made);
  if (compiled(pointers, NULL, NULL, 0, PyArray_SIZE(first)) == 0) return made;
  Py_DECREF(made);
  return NULL; /* without an exception: `launch` says what the status means */
}

static PyObject *call_entry(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const Entry *entry = (Entry *)self;
  if (PyVectorcall_NARGS(flagged) == entry->count && !names && are_alike(args, entry->count)) {
    PyObject *known = PyDict_GetItemWithError(entry->known, DTYPE(args[0]));
    PyObject *made = NULL;
    if (known && PyArray_SIZE((PyArrayObject *)args[0]) < PyLong_AsSsize_t(PyTuple_GET_ITEM(known, 1)))
      made = run((Compiled)PyLong_AsVoidPtr(PyTuple_GET_ITEM(known, 0)), args, entry->count);
    if (made || PyErr_Occurred()) return made;
  }
  return PyObject_Vectorcall(entry->launch, args, flagged, names);
}

static PyObject *make_entry(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(names)) {
  PyObject *launch, *known;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "OO!n", &launch, &PyDict_Type, &known, &count)) return NULL;
  if (count < 1 || count > MOST_INPUTS)
    return PyErr_Format(PyExc_ValueError, "Entry: expected 1 to %d inputs, got %zd", MOST_INPUTS, count);
  Entry *self = (Entry *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = call_entry;
  self->count = count;
  Py_INCREF(self->launch = launch);
  Py_INCREF(self->known = known);
  return (PyObject *)self;
}

COLLECTED(Entry, launch, 2)

PyTypeObject Entry_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "opsdk.core.fast._built.Entry",
    .tp_doc = "A compiled kernel on small arrays of one shape and dtype: Entry(launch, known, count of inputs).",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = make_entry,
    COLLECTED_SLOTS(Entry),
};

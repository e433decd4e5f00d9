/* Memory that a call changes in place, beside all else that it reads or changes. */
#include "fast.h"

typedef struct { const char *low, *high; int changes; } Span; /* from the first byte to behind the last */

/* Where the elements of an array lie; nowhere if there are none. */
static Span span_of(PyArrayObject *array, int changes) {
  Span span = {PyArray_BYTES(array), PyArray_BYTES(array) + PyArray_ITEMSIZE(array), changes};
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    const npy_intp count = PyArray_DIM(array, i), reach = (count - 1) * PyArray_STRIDE(array, i);
    if (!count) return (Span){NULL, NULL, changes};
    if (reach < 0) span.low += reach;
    else span.high += reach;
  }
  return span;
}

/* Adds a value of a call, an array, a list of arrays or None; -1 where that is something else. */
static Py_ssize_t add(Span *spans, Py_ssize_t count, PyObject *value, int changes) {
  if (value == Py_None) return count;
  if (PyArray_Check(value)) {
    if (spans) spans[count] = span_of((PyArrayObject *)value, changes);
    return count + 1;
  }
  if (!PyList_Check(value)) return -1;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value) && count >= 0; ++i)
    count = PyArray_Check(PyList_GET_ITEM(value, i)) ? add(spans, count, PyList_GET_ITEM(value, i), changes) : -1;
  return count;
}

/* Lists where all arrays of a call lie, or, without a place for that, counts them; -1 where something is no array. */
static Py_ssize_t list(Span *spans, PyObject *inputs, PyObject *changed) {
  Py_ssize_t count = 0;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(inputs) && count >= 0; ++i) {
    int changes = 0;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(changed); ++k)
      changes |= PyLong_AsSsize_t(PyTuple_GET_ITEM(changed, k)) == i;
    count = add(spans, count, PySequence_Fast_GET_ITEM(inputs, i), changes);
  }
  return count;
}

PyObject *may_overlap(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t given) {
  Span few[16], *spans = few;
  if (given != 2 || !PyTuple_Check(args[1])) return PyErr_Format(PyExc_TypeError, "may_overlap: expected two tuples");
  const int is_sequence = PyTuple_Check(args[0]) || PyList_Check(args[0]);
  const Py_ssize_t count = is_sequence ? list(NULL, args[0], args[1]) : -1;
  if (count > 16 && !(spans = PyMem_New(Span, count))) return PyErr_NoMemory();
  int found = count < 0;
  if (!found) list(spans, args[0], args[1]);
  for (Py_ssize_t i = 0; i < count && !found; ++i)
    for (Py_ssize_t k = 0; spans[i].changes && k < count && !found; ++k)
      found = k != i && spans[i].low < spans[k].high && spans[k].low < spans[i].high;
  if (spans != few) PyMem_Free(spans);
  return PyBool_FromLong(found);
}

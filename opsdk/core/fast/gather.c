/* Many small arrays as one, and back: what an optimizer does for all of its small parameters at once. */
#include "fast.h"

static int is_plain(PyObject *array, int flags) {
  return array && PyArray_CheckExact(array) && PyArray_CHKFLAGS((PyArrayObject *)array, flags) &&
         PyArray_ISNOTSWAPPED((PyArrayObject *)array);
}

/* How often a tensor was changed in place, borrowed; NULL where something else stands there. */
static PyObject *count_of(PyObject *tensor) {
  PyObject *version = AT(tensor, VERSION);
  if (!version || !PyList_CheckExact(version) || !PyList_GET_SIZE(version)) return NULL;
  return PyLong_CheckExact(PyList_GET_ITEM(version, 0)) ? PyList_GET_ITEM(version, 0) : NULL;
}

/* Copies between a flat array and arrays, one behind another, in either direction. */
static void copy(PyObject *flat, PyObject *arrays, int back) {
  char *at = PyArray_BYTES((PyArrayObject *)flat);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(arrays); ++i) {
    PyArrayObject *array = (PyArrayObject *)PyList_GET_ITEM(arrays, i);
    const npy_intp bytes = PyArray_NBYTES(array);
    memcpy(back ? PyArray_BYTES(array) : at, back ? at : PyArray_BYTES(array), (size_t)bytes);
    at += bytes;
  }
}

/* Whether lists of tensors and arrays and a flat array belong together; -1 with an exception where they cannot. */
static int belong(PyObject *const *args, Py_ssize_t count) {
  if (count != 3 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]) || !is_plain(args[2], NPY_ARRAY_CARRAY) ||
      PyList_GET_SIZE(args[0]) != PyList_GET_SIZE(args[1])) {
    PyErr_SetString(PyExc_TypeError, "expected tensors and their arrays in two lists, and a flat array");
    return -1;
  }
  npy_intp bytes = 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[1]); ++i) {
    PyObject *tensor = PyList_GET_ITEM(args[0], i), *array = PyList_GET_ITEM(args[1], i);
    if (!IS_A(tensor, py.Tensor) || !is_plain(array, NPY_ARRAY_CARRAY) || DTYPE(array) != DTYPE(args[2]) || !count_of(tensor))
      return 0;
    bytes += PyArray_NBYTES((PyArrayObject *)array);
  }
  return bytes == PyArray_NBYTES((PyArrayObject *)args[2]);
}

PyObject *gather(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  int fits = belong(args, count);
  if (fits < 0) return NULL;
  for (Py_ssize_t i = 0; fits && i < PyList_GET_SIZE(args[0]); ++i)
    fits = AT(PyList_GET_ITEM(args[0], i), ARRAY) == PyList_GET_ITEM(args[1], i);
  if (fits) copy(args[2], args[1], 0);
  return PyBool_FromLong(fits);
}

/* Copies an array of any strides to a place; -1 with an exception. */
static int copy_to(char *at, PyArrayObject *array) {
  if (PyArray_IS_C_CONTIGUOUS(array)) return memcpy(at, PyArray_BYTES(array), (size_t)PyArray_NBYTES(array)), 0;
  Py_INCREF(PyArray_DESCR(array));
  PyObject *place = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(array), PyArray_NDIM(array), PyArray_DIMS(array), NULL,
                                         at, NPY_ARRAY_CARRAY, NULL);
  const int failed = !place || PyArray_CopyInto((PyArrayObject *)place, array);
  Py_XDECREF(place);
  return -failed;
}

PyObject *gather_like(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  int fits = belong(args, count - 1);
  if (fits < 0) return NULL;
  const int shared = PyObject_IsTrue(args[3]);
  char *at = PyArray_BYTES((PyArrayObject *)args[2]);
  for (Py_ssize_t i = 0; fits && i < PyList_GET_SIZE(args[0]); ++i) {
    PyObject *tensor = PyList_GET_ITEM(args[0], i), *array = AT(tensor, ARRAY), *like = PyList_GET_ITEM(args[1], i);
    fits = is_plain(array, NPY_ARRAY_ALIGNED) && DTYPE(array) == DTYPE(like) &&
           PyArray_SAMESHAPE((PyArrayObject *)array, (PyArrayObject *)like) &&
           (shared || (AT(tensor, STOP) == Py_True && PyList_GET_SIZE(AT(tensor, VERSION)) == 1));
    if (fits && copy_to(at, (PyArrayObject *)array)) return NULL;
    at += PyArray_NBYTES((PyArrayObject *)like);
  }
  return PyBool_FromLong(fits);
}

/* Parameters that are trained and have a gradient, with it; None where one is no tensor, and Python has to look. */
PyObject *trained(PyObject *Py_UNUSED(module), PyObject *params) {
  if (!PyList_CheckExact(params)) return PyErr_Format(PyExc_TypeError, "trained: expected a list");
  PyObject *pairs = PyList_New(0);
  for (Py_ssize_t i = 0; pairs && i < PyList_GET_SIZE(params); ++i) {
    PyObject *param = PyList_GET_ITEM(params, i), *grad;
    if (!IS_A(param, py.Tensor)) return Py_DECREF(pairs), Py_INCREF(Py_None), Py_None;
    if (AT(param, STOP) != Py_False || AT(param, GRAD) == Py_None) continue;
    if (AT(param, GRAD) == py.zero) grad = PyObject_GetAttrString(param, "grad");
    else Py_XINCREF(grad = AT(param, GRAD));
    PyObject *pair = grad ? PyTuple_Pack(2, param, grad) : NULL;
    if (!pair || PyList_Append(pairs, pair)) Py_CLEAR(pairs);
    Py_XDECREF(pair), Py_XDECREF(grad);
  }
  return pairs;
}

/* Whether a parameter has no regularizer, and a factor on the learning rate; -1 with an exception. */
static int has_factor(PyObject *param, PyObject *factor, PyObject *const names[3]) {
  PyObject *held = PyObject_GenericGetDict(param, NULL), *regularizer, *attrs, *found = NULL;
  if (!held) return -1;
  regularizer = PyDict_GetItemWithError(held, names[0]);
  attrs = PyDict_GetItemWithError(held, names[1]);
  int same = !regularizer || regularizer == Py_None;
  if (attrs && PyDict_CheckExact(attrs)) found = PyDict_GetItemWithError(attrs, names[2]);
  else same = same && (!attrs || attrs == Py_None);
  if (same) same = found == factor || (!found && factor == Py_None);
  Py_DECREF(held);
  return PyErr_Occurred() ? -1 : same;
}

PyObject *have_factors(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  static PyObject *names[3];
  static const char *const texts[3] = {"regularizer", "optimize_attr", "learning_rate"};
  for (int i = 0; i < 3; ++i)
    if (!names[i] && !(names[i] = PyUnicode_InternFromString(texts[i]))) return NULL;
  if (count != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]) ||
      PyList_GET_SIZE(args[0]) != PyList_GET_SIZE(args[1]))
    return PyErr_Format(PyExc_TypeError, "have_factors: expected parameters and factors in two lists");
  int same = 1;
  for (Py_ssize_t i = 0; same > 0 && i < PyList_GET_SIZE(args[0]); ++i)
    same = has_factor(PyList_GET_ITEM(args[0], i), PyList_GET_ITEM(args[1], i), names);
  return same < 0 ? NULL : PyBool_FromLong(same);
}

PyObject *scatter(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  const int fits = belong(args, count);
  if (fits < 0) return NULL;
  if (!fits) return PyErr_Format(PyExc_ValueError, "scatter: expected what gather took");
  copy(args[2], args[1], 1);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); ++i) {
    PyObject *tensor = PyList_GET_ITEM(args[0], i), *more = PyNumber_Add(count_of(tensor), one);
    if (!more || PyList_SetItem(AT(tensor, VERSION), 0, more)) return NULL;
  }
  Py_RETURN_NONE;
}

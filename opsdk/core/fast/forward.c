/* Forward: a call on one tensor of a kind that is known makes a tensor, and a node where it is recorded. */
#include "fast.h"

static PyObject *instance(PyObject *type) { return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0); }

void put(PyObject *object, Py_ssize_t slot, PyObject *value) {
  Py_INCREF(value);
  PyObject *before = AT(object, slot);
  AT(object, slot) = value;
  Py_XDECREF(before);
}

PyObject *tensor_of(PyObject *array, PyObject *stop, PyObject *edge, PyObject *version) {
  PyObject *made = instance(py.Tensor);
  if (!made) return NULL;
  put(made, ARRAY, array), put(made, STOP, stop), put(made, EDGE, edge), put(made, VERSION, version);
  put(made, GRAD, Py_None), put(made, HOOKS, Py_None);
  return made;
}

PyObject *edge_of(PyObject *tensor) {
  PyObject *edge = AT(tensor, EDGE);
  if (edge == Py_None) return PyTuple_Pack(2, tensor, minus_one);
  if (edge && PyTuple_Check(edge) && PyTuple_GET_SIZE(edge) == 2) return Py_INCREF(edge), edge;
  return PyErr_Format(PyExc_TypeError, "tensor: expected the call that made it and which output it is, or None");
}

/* Shape and dtype of an array, as a node keeps them of an output that was not saved. */
static PyObject *spec_of(PyObject *array) {
  PyArrayObject *a = (PyArrayObject *)array;
  PyObject *shape = PyArray_IntTupleFromIntp(PyArray_NDIM(a), PyArray_DIMS(a));
  PyObject *spec = shape ? PyTuple_Pack(2, shape, DTYPE(array)) : NULL;
  PyObject *specs = spec ? PyTuple_Pack(1, spec) : NULL;
  Py_XDECREF(shape), Py_XDECREF(spec);
  return specs;
}

static PyObject *node_of(const Kind *kind, PyObject *tensor, PyObject *array, PyObject *made, PyObject *version) {
  PyObject *counter = kind->saves_output ? version : AT(tensor, VERSION);
  if (!counter) counter = Py_None;
  PyObject *count = PyList_Check(counter) && PyList_GET_SIZE(counter) ? PyList_GET_ITEM(counter, 0) : zero;
  Py_INCREF(counter), Py_INCREF(count); /* what is made below may let the collector run, and with it anybody's code */
  PyObject *edge = edge_of(tensor), *edges = edge ? PyTuple_Pack(1, edge) : NULL;
  PyObject *saved = PyTuple_Pack(3, kind->saves_output ? made : array, counter, count);
  PyObject *outputs = kind->saves_output ? (Py_INCREF(Py_None), Py_None) : spec_of(made);
  PyObject *sequence = PyIter_Next(py.number), *node = instance(py.GradNode);
  if (node && edges && saved && outputs && sequence) {
    put(node, N_PLAN, kind->plan), put(node, N_EDGES, edges), put(node, N_SAVED, saved);
    put(node, N_OUTPUTS, outputs), put(node, N_SEQUENCE, sequence), put(node, N_HOOKS, Py_None);
  } else Py_CLEAR(node);
  Py_XDECREF(edge), Py_XDECREF(edges), Py_XDECREF(saved), Py_XDECREF(outputs), Py_XDECREF(sequence);
  Py_DECREF(counter), Py_DECREF(count);
  return node;
}

static PyObject *forward(Kind *kind, PyObject *tensor, PyObject *array) {
  PyObject *made = launch(kind, &array, 1);
  if (!made) return NULL;
  if (!PyArray_Check(made)) {
    PyErr_Format(PyExc_TypeError, "fast path: expected an array, got %R", made);
    Py_DECREF(made);
    return NULL;
  }
  PyObject *version = PyList_New(1), *node = NULL, *edge = NULL, *out = NULL;
  if (version) {
    Py_INCREF(zero);
    PyList_SET_ITEM(version, 0, zero);
    if (!kind->records) out = tensor_of(made, Py_True, Py_None, version);
    else if ((node = node_of(kind, tensor, array, made, version)) && (edge = PyTuple_Pack(2, node, zero)))
      out = tensor_of(made, Py_False, edge, version);
  }
  Py_XDECREF(edge), Py_XDECREF(node), Py_XDECREF(version);
  Py_DECREF(made);
  return out;
}

/* Whether calls on a tensor are recorded now; -1 where that cannot be told. */
static int is_recorded(PyObject *tensor) {
  const int stop = PyObject_IsTrue(AT(tensor, STOP));
  if (stop) return stop < 0 ? -1 : 0;
  if (!PySet_GET_SIZE(py.off)) return 1;
  PyObject *mode = PyObject_CallNoArgs(py.is_recording);
  const int recording = mode ? PyObject_IsTrue(mode) : -1;
  Py_XDECREF(mode);
  return recording;
}

/* The kernel of this kind of call on one tensor; None where it is not known. */
static PyObject *kind_of(PyObject *opdef, int recorded, PyObject *array) {
  PyObject *plans = PyObject_GetAttr(opdef, text_plans), *kind = NULL;
  if (plans && IS_A(plans, py.PlanCache)) kind = PyDict_GetItemWithError(AT(plans, recorded ? RECORDED : PLAIN), DTYPE(array));
  if (!kind && !PyErr_Occurred()) kind = Py_None;
  Py_XINCREF(kind);
  Py_XDECREF(plans);
  return kind;
}

PyObject *call(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "call: expected an op's definition and a tensor");
  PyObject *opdef = args[0], *tensor = args[1], *kind = NULL, *made = NULL;
  PyObject *array = IS_A(tensor, py.Tensor) ? AT(tensor, ARRAY) : NULL;
  if (array && PyArray_CheckExact(array) && AT(tensor, STOP) && AT(tensor, VERSION)) {
    const int recorded = is_recorded(tensor);
    if (recorded < 0 || !(kind = kind_of(opdef, recorded, array))) return NULL;
    if (Py_TYPE(kind) == &Kind_Type) {
      Py_INCREF(array); /* the kernel may give the tensor another one */
      made = forward((Kind *)kind, tensor, array);
      Py_DECREF(array), Py_DECREF(kind);
      return made;
    }
    Py_DECREF(kind);
  }
  PyObject *values = PyTuple_Pack(1, tensor), *attrs = PyDict_New();
  if (values && attrs) made = PyObject_CallFunctionObjArgs(py.apply, opdef, values, attrs, NULL);
  Py_XDECREF(values), Py_XDECREF(attrs);
  return made;
}


/* Backward: a gradient goes along a chain of calls, each of which leads to one place, and is added to the leaf there. */
#include "fast.h"

static int has_shape(PyObject *array, PyObject *shape) {
  const PyArrayObject *a = (PyArrayObject *)array;
  if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) != PyArray_NDIM(a)) return 0;
  for (int i = 0; i < PyArray_NDIM(a); ++i)
    if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) != PyArray_DIM(a, i)) return PyErr_Clear(), 0;
  return 1;
}

/* Whether an array has dtype and shape of another one. */
static int is_like(PyObject *array, PyObject *other) {
  return other && PyArray_Check(other) && DTYPE(array) == DTYPE(other) &&
         PyArray_SAMESHAPE((PyArrayObject *)array, (PyArrayObject *)other);
}

/* Whether a gradient is of the kind that its edge leads to; where that is not plain, Python is asked. */
static int fits(PyObject *gradient, PyObject *edge) {
  PyObject *target = PyTuple_GET_ITEM(edge, 0);
  if (!PyArray_CheckExact(gradient)) return 0;
  if (IS_A(target, py.Tensor)) return is_like(gradient, AT(target, ARRAY));
  if ((PyObject *)Py_TYPE(target) != py.GradNode) return 0;
  PyObject *outputs = AT(target, N_OUTPUTS), *saved = AT(target, N_SAVED);
  if (outputs == Py_None) return saved && PyTuple_Check(saved) && is_like(gradient, PyTuple_GET_ITEM(saved, 0));
  PyObject *spec = outputs && PyTuple_Check(outputs) && PyTuple_GET_SIZE(outputs) == 1 ? PyTuple_GET_ITEM(outputs, 0) : NULL;
  return spec && DTYPE(gradient) == PyTuple_GET_ITEM(spec, 1) && has_shape(gradient, PyTuple_GET_ITEM(spec, 0));
}

/* The one edge of a node, borrowed; NULL where it has others. */
static PyObject *only_edge(PyObject *node) {
  PyObject *edges = AT(node, N_EDGES);
  if (!edges || !PyTuple_Check(edges) || PyTuple_GET_SIZE(edges) != 1) return NULL;
  PyObject *edge = PyTuple_GET_ITEM(edges, 0);
  return PyTuple_Check(edge) && PyTuple_GET_SIZE(edge) == 2 ? edge : NULL;
}

/* How the gradient of a call is computed, borrowed; NULL where the fast path does not know. */
static Kind *kind_back(PyObject *node) {
  PyObject *plan = AT(node, N_PLAN), *kinds = plan ? AT(plan, P_KINDS) : NULL;
  PyObject *kind = kinds && PyDict_Check(kinds) ? PyDict_GetItemWithError(kinds, plan) : NULL;
  return kind && Py_TYPE(kind) == &Kind_Type ? (Kind *)kind : NULL;
}

/* What a call saved, borrowed: the array, its version counter, and the count then. */
static PyObject *saved_of(PyObject *node) {
  PyObject *saved = AT(node, N_SAVED);
  if (!saved || !PyTuple_Check(saved) || PyTuple_GET_SIZE(saved) != 3) return NULL;
  return PyArray_Check(PyTuple_GET_ITEM(saved, 0)) && PyList_Check(PyTuple_GET_ITEM(saved, 1)) ? saved : NULL;
}

static PyObject *gradient_of(Kind *kind, PyObject *node, PyObject *saved, PyObject *cotangent) {
  PyObject *value = PyTuple_GET_ITEM(saved, 0), *counter = PyTuple_GET_ITEM(saved, 1);
  const int same = PyList_GET_SIZE(counter)
                       ? PyObject_RichCompareBool(PyList_GET_ITEM(counter, 0), PyTuple_GET_ITEM(saved, 2), Py_EQ)
                       : 0;
  if (same < 0) return NULL;
  if (!same) return PyObject_CallFunctionObjArgs(py.unchanged, node, saved, NULL); /* raises */
  PyObject *inputs[2] = {kind->takes ? value : cotangent, kind->takes ? cotangent : value};
  return launch(kind, inputs, 2);
}

/* gradient(kind, node, cotangent): what the gradient's kernel gives, for the engine in Python. */
PyObject *gradient(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  PyObject *node = count == 3 && (PyObject *)Py_TYPE(args[1]) == py.GradNode ? args[1] : NULL;
  PyObject *saved = node && Py_TYPE(args[0]) == &Kind_Type && PyArray_Check(args[2]) ? saved_of(node) : NULL;
  if (!saved) return PyErr_Format(PyExc_TypeError, "gradient: expected a kind of call, a node and an array");
  Py_INCREF(saved);
  PyObject *made = gradient_of((Kind *)args[0], node, saved, args[2]);
  Py_DECREF(saved);
  return made;
}

/* Goes from an edge along calls that lead to one place each, as far as their kinds are known; counts them. */
static int follow(PyObject **edge, PyObject **value, Py_ssize_t *steps) {
  for (;;) {
    PyObject *node = PyTuple_GET_ITEM(*edge, 0), *next, *saved, *made;
    if ((PyObject *)Py_TYPE(node) != py.GradNode || AT(node, N_HOOKS) != Py_None || !PyArray_Check(*value)) return 0;
    Kind *kind = kind_back(node);
    if (!kind || !(next = only_edge(node)) || !(saved = saved_of(node))) return PyErr_Occurred() ? -1 : 0;
    Py_INCREF(node), Py_INCREF(kind), Py_INCREF(next), Py_INCREF(saved); /* a kernel may do anything meanwhile */
    made = gradient_of(kind, node, saved, *value);
    if (made && !fits(made, next)) {
      PyObject *given = made;
      made = PyObject_CallFunctionObjArgs(py.routed, node, given, NULL);
      Py_DECREF(given);
    }
    Py_DECREF(node), Py_DECREF(kind), Py_DECREF(saved);
    if (!made) return Py_DECREF(next), -1;
    Py_SETREF(*value, made);
    Py_SETREF(*edge, next);
    ++*steps;
  }
}

/* Whether hooks may see the gradient of a tensor that is no leaf, and keep it; Python asks which. */
static int has_hooks(PyObject *tensor) {
  PyObject *edge = AT(tensor, EDGE);
  if (!edge || !PyTuple_CheckExact(edge)) return 0;
  PyObject *node = PyTuple_GET_ITEM(edge, 0);
  return (PyObject *)Py_TYPE(node) != py.GradNode || AT(node, N_HOOKS) != Py_None;
}

/* The cotangent that a backward starts from. */
static PyObject *seed_for(PyObject *root, PyObject *given) {
  PyObject *array = AT(root, ARRAY);
  if (array && PyArray_CheckExact(array) && AT(root, STOP) == Py_False) {
    PyObject *value = IS_A(given, py.Tensor) ? AT(given, ARRAY) : NULL;
    if (value && PyArray_CheckExact(value) && is_like(value, array) && !has_hooks(root)) return Py_INCREF(value), value;
    if (given == Py_None && PyArray_ISFLOAT((PyArrayObject *)array)) {
      PyObject *ones = PyArray_NewLikeArray((PyArrayObject *)array, NPY_CORDER, NULL, 0);
      if (ones && PyArray_FillWithScalar((PyArrayObject *)ones, one)) Py_CLEAR(ones);
      return ones;
    }
  }
  return PyObject_CallFunctionObjArgs(py.seed_of, root, given, NULL);
}

/* Puts a gradient that nobody else holds where there was none; 0 where one came meanwhile, -1 on failure. */
static int put_first(PyObject *leaf, PyObject *value) {
  PyObject *version = Py_BuildValue("[O]", zero), *held = NULL, *done;
  PyObject *made = version ? tensor_of(value, Py_True, Py_None, version) : NULL;
  Py_XDECREF(version);
  if (!made || !(done = PyObject_CallNoArgs(py.lock))) return Py_XDECREF(made), -1;
  Py_DECREF(done);
  const int is_first = AT(leaf, GRAD) == Py_None || AT(leaf, GRAD) == py.zero;
  if (is_first) held = AT(leaf, GRAD), AT(leaf, GRAD) = made, made = NULL;
  done = PyObject_CallNoArgs(py.unlock);
  Py_XDECREF(held), Py_XDECREF(made);
  return done ? Py_DECREF(done), is_first : -1;
}

/* Adds a gradient to `grad` of a leaf; takes the reference. */
static int add_to(PyObject *leaf, PyObject *value) {
  int done = 0;
  PyObject *base = BASE(value), *held = AT(leaf, GRAD), *leaves;
  if (Py_REFCNT(value) == 1 && (!base || is_leased(base, NULL, 0)) && (held == Py_None || held == py.zero))
    done = put_first(leaf, value);
  leaves = done ? NULL : Py_BuildValue("{O(OO)}", zero, leaf, value);
  Py_DECREF(value);
  if (done) return done < 0 ? -1 : 0;
  PyObject *made = leaves ? PyObject_CallFunctionObjArgs(py.accumulate, leaves, py.Tensor, NULL) : NULL;
  Py_XDECREF(leaves), Py_XDECREF(made);
  return made ? 0 : -1;
}

/* Gives up what the calls saved that were gone through, or lists them. */
static PyObject *free_or_list(PyObject *edge, Py_ssize_t steps, int lists) {
  PyObject *visited = lists ? PyList_New(0) : (Py_INCREF(Py_None), Py_None);
  for (; visited && steps; --steps, edge = only_edge(PyTuple_GET_ITEM(edge, 0))) {
    if (!lists) put(PyTuple_GET_ITEM(edge, 0), N_SAVED, Py_None);
    else if (PyList_Append(visited, PyTuple_GET_ITEM(edge, 0))) Py_CLEAR(visited);
  }
  return visited;
}

/* backward(tensor, cotangent, retain_graph): None where all is done, else where the engine in Python is to go on: the
 * edge, the gradient that goes along it, and the calls that were gone through. */
PyObject *backward(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  if (count != 3 || !IS_A(args[0], py.Tensor))
    return PyErr_Format(PyExc_TypeError, "backward: expected a tensor, a cotangent and retain_graph");
  const int retains = PyObject_IsTrue(args[2]);
  PyObject *value = retains < 0 ? NULL : seed_for(args[0], args[1]), *made = NULL;
  PyObject *first = value ? edge_of(args[0]) : NULL, *edge = first;
  Py_ssize_t steps = 0;
  int failed = !first;
  Py_XINCREF(edge);
  if (first && PyList_GET_SIZE(py.active) <= PyLong_AsSsize_t(py.many) && !(failed = PyList_Append(py.active, Py_None))) {
    failed = follow(&edge, &value, &steps);
    const Py_ssize_t last = PyList_GET_SIZE(py.active) - 1;
    if (PyList_SetSlice(py.active, last, last + 1, NULL)) failed = -1;
  }
  PyObject *leaf = failed ? NULL : PyTuple_GET_ITEM(edge, 0);
  if (leaf && steps && PyArray_CheckExact(value) && IS_A(leaf, py.Tensor) && AT(leaf, ARRAY) &&
      PyArray_Check(AT(leaf, ARRAY)) && AT(leaf, HOOKS) == Py_None) { /* not of one that was moved to a device since */
    failed = add_to(leaf, value);
    value = NULL;
    if (!failed) made = free_or_list(first, retains ? 0 : steps, 0);
  } else if (leaf) {
    PyObject *visited = free_or_list(first, steps, 1);
    if (visited) made = PyTuple_Pack(3, edge, value, visited);
    Py_XDECREF(visited);
  }
  Py_XDECREF(first), Py_XDECREF(edge), Py_XDECREF(value);
  return made;
}

/* along(edge, gradient, visited): where the engine in Python is to go on, and with which gradient. */
PyObject *along(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
  if (count != 3 || !PyTuple_Check(args[0]) || PyTuple_GET_SIZE(args[0]) != 2 || !PyList_Check(args[2]))
    return PyErr_Format(PyExc_TypeError, "along: expected an edge, a gradient and a list");
  PyObject *edge = args[0], *value = args[1], *made = NULL;
  Py_ssize_t steps = 0;
  Py_INCREF(edge), Py_INCREF(value);
  if (!follow(&edge, &value, &steps)) {
    PyObject *visited = free_or_list(args[0], steps, 1);
    if (visited && !PyList_SetSlice(args[2], PyList_GET_SIZE(args[2]), PyList_GET_SIZE(args[2]), visited))
      made = PyTuple_Pack(2, edge, value);
    Py_XDECREF(visited);
  }
  Py_DECREF(edge), Py_DECREF(value);
  return made;
}


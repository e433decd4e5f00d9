/* Handle: what `Op` is made of, so that a call of one value, with nothing beside it, needs no frame of Python's. */
#include "fast.h"

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject *opdef;
  char is_unary;
} Handle;

static struct { PyObject *general, *ways, *error, *trimmed; } ops; /* `ways`: by class of a value what serves it */

/* Lets an error of opsdk's end at the call, as the general way does. */
static void trim(void) {
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  if (trace) PyException_SetTraceback(error, trace);
  Py_XDECREF(trace);
  PyObject *trimmed = PyObject_CallOneArg(ops.trimmed, error);
  if (!trimmed) return Py_DECREF(type), Py_DECREF(error);
  Py_DECREF(trimmed);
  PyErr_Restore(type, error, PyException_GetTraceback(error));
}

static PyObject *call_handle(PyObject *self, PyObject *const *args, size_t flagged, PyObject *names) {
  const Handle *handle = (Handle *)self;
  PyObject *made, *way = NULL;
  if (PyVectorcall_NARGS(flagged) == 1 && !names && handle->is_unary && handle->opdef)
    way = PyDict_GetItemWithError(ops.ways, (PyObject *)Py_TYPE(args[0]));
  if (way) {
    PyObject *const given[] = {handle->opdef, args[0]};
    Py_INCREF(given[0]); /* what runs may give the op another definition */
    made = PyObject_Vectorcall(way, given, 2, NULL);
    Py_DECREF(given[0]);
    if (!made && PyErr_ExceptionMatches(ops.error)) trim();
    return made;
  }
  PyObject *bound = PyErr_Occurred() ? NULL : PyMethod_New(ops.general, self);
  if (!bound) return NULL;
  made = PyObject_Vectorcall(bound, args, flagged, names);
  Py_DECREF(bound);
  return made;
}

static PyObject *make_handle(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(names)) {
  PyObject *self = type->tp_alloc(type, 0);
  if (self) ((Handle *)self)->vectorcall = call_handle;
  return self;
}

COLLECTED(Handle, opdef, 1)

static PyMemberDef MEMBERS[] = {{"_opdef", T_OBJECT_EX, offsetof(Handle, opdef), 0, "The op's definition."},
                                {"_is_unary", T_BOOL, offsetof(Handle, is_unary), 0, "Whether one value is all it takes."},
                                {NULL, 0, 0, 0, NULL}};

PyTypeObject Handle_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "opsdk.core.fast._built.Handle",
    .tp_doc = "What an op's handle is made of.",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = make_handle,
    COLLECTED_SLOTS(Handle),
    .tp_members = MEMBERS,
};

/* connect_ops(class, ways, error, trimmed): calls of the class's instances come here first, then to its `__call__`. */
PyObject *connect_ops(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *type, *ways, *error, *trimmed;
  if (!PyArg_ParseTuple(args, "O!O!OO", &PyType_Type, &type, &PyDict_Type, &ways, &error, &trimmed)) return NULL;
  if (!PyType_IsSubtype((PyTypeObject *)type, &Handle_Type))
    return PyErr_Format(PyExc_TypeError, "connect_ops: expected a class of handles, got %R", type);
  PyObject *general = PyObject_GetAttrString(type, "__call__");
  if (!general) return NULL;
  Py_INCREF(ways), Py_INCREF(error), Py_INCREF(trimmed); /* for as long as the process lives */
  ops.general = general, ops.ways = ways, ops.error = error, ops.trimmed = trimmed;
  ((PyTypeObject *)type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL; /* not inherited where `__call__` is Python's */
  PyType_Modified((PyTypeObject *)type);
  Py_RETURN_NONE;
}

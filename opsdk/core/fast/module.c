/* The module, and what it is connected with. */
#define IMPORTS_NUMPY
#include "fast.h"

#define COUNT(items) (sizeof(items) / sizeof *(items))
#define NAME(name) #name,

Given py;
Py_ssize_t ARRAY, STOP, EDGE, VERSION, GRAD, HOOKS, N_PLAN, N_EDGES, N_SAVED, N_OUTPUTS, N_SEQUENCE, N_HOOKS, P_KINDS;
Py_ssize_t RECORDED, PLAIN;
PyObject *zero, *one, *minus_one, *text_plans;

static const char *const NAMES[] = {GIVEN(NAME)};
#define SLOT(type, name, slot) {offsetof(Given, type), name, &slot}
static const struct { size_t type; const char *name; Py_ssize_t *slot; } SLOTS[] = {
    SLOT(Tensor, "_array", ARRAY), SLOT(Tensor, "_stop", STOP), SLOT(Tensor, "_edge", EDGE),
    SLOT(Tensor, "_version", VERSION), SLOT(Tensor, "_grad", GRAD), SLOT(Tensor, "_hooks", HOOKS),
    SLOT(GradNode, "plan", N_PLAN), SLOT(GradNode, "edges", N_EDGES), SLOT(GradNode, "saved", N_SAVED),
    SLOT(GradNode, "outputs", N_OUTPUTS), SLOT(GradNode, "sequence", N_SEQUENCE), SLOT(GradNode, "hooks", N_HOOKS),
    SLOT(TapePlan, "kinds", P_KINDS), SLOT(PlanCache, "recorded", RECORDED), SLOT(PlanCache, "plain", PLAIN)};

/* Where a slot of a class lies in its instances; -1 where it is none. */
static Py_ssize_t place_of(PyObject *type, const char *name) {
  PyObject *found = PyObject_GetAttrString(type, name);
  Py_ssize_t place = -1;
  if (found && Py_IS_TYPE(found, &PyMemberDescr_Type)) place = ((PyMemberDescrObject *)found)->d_member->offset;
  else if (found) PyErr_Format(PyExc_TypeError, "fast path: expected %s of %R to be a slot, got %R", name, type, found);
  Py_XDECREF(found);
  return place;
}

static PyObject *connect(PyObject *Py_UNUSED(module), PyObject *args) {
  PyObject *names, *given[COUNT(NAMES)];
  Py_ssize_t places[COUNT(SLOTS)];
  if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &names)) return NULL;
  for (size_t i = 0; i < COUNT(NAMES); ++i)
    if (!(given[i] = PyDict_GetItemString(names, NAMES[i])))
      return PyErr_Format(PyExc_TypeError, "fast path: expected %s, got nothing", NAMES[i]);
  for (size_t i = 0; i < COUNT(SLOTS); ++i)
    if ((places[i] = place_of(AT(given, SLOTS[i].type), SLOTS[i].name)) < 0) return NULL;
  for (size_t i = 0; i < COUNT(NAMES); ++i) Py_INCREF(AT(&py, i * sizeof(PyObject *)) = given[i]);
  for (size_t i = 0; i < COUNT(SLOTS); ++i) *SLOTS[i].slot = places[i];
  Py_RETURN_NONE;
}

static PyMethodDef FUNCTIONS[] = {
    {"connect", connect, METH_VARARGS, "Takes classes and functions of Python's, by name."},
    {"connect_ops", connect_ops, METH_VARARGS, "Takes the class of handles, and what serves their calls."},
    {"read_only", read_only, METH_O, "Returns a view of an array that nothing can be written through."},
    {"rebased", rebased, METH_VARARGS, "Returns what was made of a view of an array as a view of the array itself."},
    {"may_overlap", (PyCFunction)(void (*)(void))may_overlap, METH_FASTCALL,
     "Whether what a call changes may share memory with another of its arrays, by where they begin and end."},
    {"gather", (PyCFunction)(void (*)(void))gather, METH_FASTCALL,
     "Copies the arrays of tensors into a flat one; False, and nothing is told, where one has another array."},
    {"gather_like", (PyCFunction)(void (*)(void))gather_like, METH_FASTCALL,
     "Copies gradients, each like an array, into a flat one; False where one is not, or, unless told, may be shared."},
    {"trained", trained, METH_O, "Returns tensors of a list that are trained and have a gradient, with that."},
    {"have_factors", (PyCFunction)(void (*)(void))have_factors, METH_FASTCALL,
     "Whether parameters have no regularizer and these factors on the learning rate, None for those without."},
    {"scatter", (PyCFunction)(void (*)(void))scatter, METH_FASTCALL,
     "Copies a flat array into the arrays of tensors, and counts a change in place of each."},
    {"call", (PyCFunction)(void (*)(void))call, METH_FASTCALL, "Applies an op to one tensor."},
    {"gradient", (PyCFunction)(void (*)(void))gradient, METH_FASTCALL, "Returns what the gradient of a call gives."},
    {"along", (PyCFunction)(void (*)(void))along, METH_FASTCALL, "Takes a gradient along a chain of calls."},
    {"backward", (PyCFunction)(void (*)(void))backward, METH_FASTCALL, "Adds gradients to the leaf of a chain of calls."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, .m_name = "opsdk.core.fast._built", .m_size = -1,
                                    .m_doc = "The fast path of a call on one tensor.", .m_methods = FUNCTIONS};

PyMODINIT_FUNC PyInit__built(void) {
  import_array();
  zero = PyLong_FromLong(0), one = PyLong_FromLong(1), minus_one = PyLong_FromLong(-1);
  text_plans = PyUnicode_InternFromString("plans");
  if (!zero || !one || !minus_one || !text_plans) return NULL;
  if (PyType_Ready(&Keeper_Type) || PyType_Ready(&Kind_Type) || PyType_Ready(&Handle_Type) || PyType_Ready(&Entry_Type)) return NULL;
  PyObject *module = PyModule_Create(&MODULE);
  if (module && PyModule_AddObjectRef(module, "Kind", (PyObject *)&Kind_Type)) Py_CLEAR(module);
  if (module && PyModule_AddObjectRef(module, "Handle", (PyObject *)&Handle_Type)) Py_CLEAR(module);
  if (module && PyModule_AddObjectRef(module, "Entry", (PyObject *)&Entry_Type)) Py_CLEAR(module);
  if (module && PyModule_AddStringConstant(module, "SOURCE", OPSDK_SOURCE)) Py_CLEAR(module);
  return module;
}

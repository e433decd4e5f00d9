"""CallPlan: everything about a kind of call that need not be decided again.

The first call of a kind (dtypes, attribute types) is checked in full; when it succeeds the plan is kept and later calls
take the fast path. In debug mode every call is checked in full.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy import ndarray

from opsdk.backends.call import normalise
from opsdk.backends.call.assumed import check_assumed
from opsdk.backends.call.buffers import Hold, fills_buffers, held_to_shapes, infer, without_unneeded
from opsdk.backends.call.checked import Sampling, checked_first, compared, guarded, sampled, widened
from opsdk.backends.call.first_call import check_filled, fillable, undone
from opsdk.backends.call.language import Language, Launch, compiled, is_usable, language_of
from opsdk.backends.call.overlap import apart
from opsdk.backends.memory.device import HOST, Memory, check_places, memory_at
from opsdk.core.errors import DTypeError, KernelNotFoundError, OpsdkError, attach_note
from opsdk.core.fast import FAST
from opsdk.core.flags import FLAGS, on_change
from opsdk.core.nested import flat
from opsdk.core.place import CPU, Place
from opsdk.core.spec import TensorSpec
from opsdk.define.call import check_inputs, complete_attrs
from opsdk.define.infer import STOCK, Inferred
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.define.schema.scalars import CALLABLE, OBJECT
from opsdk.define.schema.schema import ResidualDecl

Run = Callable[[Sequence[Any], Mapping[str, Any]], Any]  # any: inputs, attribute values and what comes of them

_KEYED = (str, bool, np.dtype)  # attributes that may decide an output's dtype are part of the key by value

_planned: WeakSet[OpDef] = WeakSet()


def keep(opdef: OpDef, key: Hashable, plan: object) -> None:
    """Keeps a plan that has served its first call; a change of flags forgets all plans."""
    opdef.plans[key] = plan
    will_forget(opdef)


def will_forget(opdef: OpDef) -> None:
    """Says that there are plans of an op, among its own or beside them, which `forget_plans` is to forget."""
    _planned.add(opdef)


@on_change
def forget_plans() -> None:
    """Forgets every plan of every op: what it was decided by, such as a flag, is not what it was."""
    for opdef in list(_planned):
        opdef.kernels.forget()


# Any, in this file: one entry per input, an array, a list of arrays or None; attribute values.
def attrs_key(attrs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns what a plan's key holds of the attributes: names, types, and values where these are few."""
    return (*attrs, *[value if isinstance(value, _KEYED) else _kind(value) for value in attrs.values()])


def _kind(value: Any) -> Any:
    """Returns the class of an attribute's value; of a list those of its items, since [1] equals [True]."""
    return tuple(map(type, value)) if value.__class__ is tuple else value.__class__


class CallPlan:
    """One kernel, bound to one kind of call.

    `run(inputs, attrs)` returns the array of an op with one kernel output, else a tuple with one entry per output that
    the kernel makes; mutated inputs are not among them, nor residuals where `outputs` says how many come before.
    `launch` is the kernel as it is watched, `kernel_alone` without that; where `wants_views` is True the watch is no
    more than what the fast path does itself.
    """

    def __init__(
        self,
        opdef: OpDef,
        kernel: Kernel,
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
        memory: Memory = HOST,
        outputs: int | None = None,
    ) -> None:
        check_inputs(opdef, inputs)
        complete = complete_attrs(opdef, attrs)
        kernel = opdef.kernels.loaded(kernel)
        language = language_of(kernel)
        self.opdef = opdef
        self.kernel = kernel
        self.memory, self.place = memory, memory.place
        launch = compiled(opdef, kernel)
        alone: Launch = checked_first(
            opdef, kernel, launch if language.reads_python else without_unneeded(opdef, launch, inputs)
        )
        if language.reads_python and not kernel.form:  # expressions promote by themselves
            alone = widened(opdef, alone, inputs)
        self._hold = Hold(opdef)
        if self._asks_first(language):
            alone = self._hold.first(alone)
        if opdef.shapes:
            alone = held_to_shapes(opdef, alone)
        self._repeat = getattr(alone, "repeat", None)
        watched, self.wants_views = alone, False
        self._sampling: Sampling | None = None
        if self.place is CPU and opdef.schema.namespace != "opsdk" and not language.is_derived:
            self.wants_views = language.reads_python and not opdef.schema.mutated_inputs
            self._sampling = None if language.reads_python else Sampling()
            watched = sampled(opdef, alone, self._sampling) if self._sampling else guarded(opdef, alone)
        self.has_attrs = bool(attrs)
        # A call that leaves all attributes at their defaults need not name them.
        defaults = complete if complete and not attrs and not opdef.schema.generators else {}
        self.launch = partial(watched, **defaults) if defaults else watched
        self.kernel_alone = partial(alone, **defaults) if defaults else alone
        self.reads_python, self.fills = language.reads_python, language.fills
        self.loose = opdef.gradient_of is not None  # a gradient's specs are its input's: the runtime knows them
        # An author's kernel may return another shape for other values, so that each call is held to the infer rule.
        is_author_s = not opdef.is_builtin and not language.is_derived
        fresh = opdef.schema.fresh_outputs
        self.holds = bool(fresh) and is_author_s and not self.loose and not fills_buffers(opdef, kernel)
        self.single = len(fresh) == 1
        is_unary = [decl.kind for decl in opdef.schema.inputs] == ["tensor"]
        self.is_view = self.single and is_unary and bool(opdef.schema.aliased_sources(fresh[0]))
        self._dtypes = [None] * len(fresh) if self.loose else self._dtypes_of(infer(opdef, inputs, complete))
        check_assumed(opdef, kernel, inputs, complete, self._dtypes)
        # No plan keeps residuals and what callables hold alive: only defaults may stand for attributes of such kinds.
        keeps = not attrs or all(decl.type.scalar not in (OBJECT, CALLABLE) for decl in opdef.schema.attrs)
        repeats = keeps and all(map(_is_exact, attrs.values())) and not opdef.schema.generators
        self._given, self._attrs = dict(attrs) if repeats else None, complete if keeps else {}
        self._zeros = tuple((name, str(value)) for name, value in attrs.items() if _is_zero(value))
        self._outputs = outputs
        self.run: Run = self._way()

    def _dtypes_of(self, specs: Inferred) -> list[np.dtype[Any] | None]:
        wanted = [specs[i] for i in self.opdef.schema.fresh_outputs]
        return [spec.dtype if isinstance(spec, TensorSpec) else None for spec in wanted]

    def _asks_first(self, language: Language) -> bool:
        """Whether the infer rule is asked before the kernel runs: one that fills buffers has them by asking it.

        A change in place cannot be taken back, and a compiled loop leaves arrays that do not belong together.
        """
        opdef = self.opdef
        if opdef.is_builtin or language.is_derived or isinstance(opdef.infer, STOCK):
            return False  # a stock rule refuses nothing that `one_shape` does not
        is_compiled = not language.reads_python and not fills_buffers(opdef, self.kernel)
        return is_compiled or bool(opdef.schema.mutated_inputs)

    def _way(self) -> Run:
        """Returns what runs a call of this kind; what overlaps with an input that the op changes is a copy there."""
        run: Run = self.run_any
        if FLAGS.debug:
            run = self._run_checked
        elif FAST is not None and self.is_fast:
            run = FAST.Kind(self)
        opdef = self.opdef
        if self._outputs is not None:
            return lambda inputs, attrs: self._kept(run(apart(opdef, inputs), attrs))
        return (lambda inputs, attrs: run(apart(opdef, inputs), attrs)) if opdef.schema.mutated_inputs else run

    def _kept(self, made: Any) -> Any:
        """Returns the outputs, the first of what the kernel gave; nobody keeps the residuals behind them."""
        outputs: Sequence[Any] = () if self.single else made[: self._outputs]  # a single one is a residual
        return outputs[0] if len(outputs) == 1 else outputs

    def unguarded(self) -> CallPlan:
        """Makes this the plan of the kernel alone, for who compares inputs with copies himself; returns it."""
        self.launch, self.wants_views = self.kernel_alone, False
        self.run = self._way()
        return self

    def repeat(self, kind: type) -> Callable[[Sequence[Any], Mapping[str, Any]], Any] | None:
        """Returns the fast path of a call like the one before, on values of a class that hold arrays, if there is one.

        Attributes have to be texts: of others, equal ones may differ.
        """
        if self._repeat is None or self._given is None or not all(isinstance(v, str) for v in self._given.values()):
            return None
        made = self._repeat(self._given, self._attrs, kind, self._sampling)
        way: Callable[[Sequence[Any], Mapping[str, Any]], Any] = made
        return way

    @property
    def is_fast(self) -> bool:
        """Whether one new array of the right dtype is all that a call can give, so that it needs no normalising."""
        simple = self.place is CPU and self.single and not self.has_attrs and not FLAGS.debug
        return simple and (self.dtype is not None or self.loose)

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The dtype of the first output that the kernel makes; None where only its caller knows."""
        return self._dtypes[0] if self._dtypes else None

    @property
    def gives_complex(self) -> bool:
        """Whether an output that the kernel makes is known to be complex."""
        decls = [self.opdef.schema.outputs[i] for i in self.opdef.schema.fresh_outputs]
        made = [dtype for dtype, decl in zip(self._dtypes, decls, strict=True) if not isinstance(decl, ResidualDecl)]
        return any(dtype is not None and dtype.kind == "c" for dtype in made)

    def run_checked(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Runs with every check: nothing mutated, nothing aliased, shapes and dtypes as declared."""
        made = self._run_checked(inputs, attrs)
        return made if self._outputs is None else self._kept(made)

    def _run_checked(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        with undone(self.opdef, inputs):
            return self._held(inputs, attrs)

    def _held(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Runs a call and holds it to all that the op says."""
        check_inputs(self.opdef, inputs)
        check_places(self.opdef, inputs)
        inputs = apart(self.opdef, inputs)
        complete = complete_attrs(self.opdef, attrs)
        if self.loose:
            infer(self.opdef, inputs, complete)  # refuses cotangents that are none of the op's
        try:
            if self.reads_python and self.memory.has_views:
                raw = guarded(self.opdef, self.kernel_alone)(*inputs, **complete)
            else:
                tried = fillable(self.opdef, self.kernel, inputs) if self.place is CPU else None
                raw = compared(self.opdef, self.kernel_alone, inputs, complete)  # asks the op's value check first
                if tried is not None:
                    check_filled(self.opdef, self.kernel, tried, complete)
        except Exception as error:
            self.annotate(error)
            raise
        if self.loose:
            outputs = self.normalised(raw, inputs)
        else:
            inferred = infer(self.opdef, inputs, complete)
            outputs = self.normalised(raw, inputs, self._dtypes_of(inferred))
            normalise.check_specs(self.opdef, outputs, inferred)
            if self.holds:
                self._hold.remember(inputs, complete, inferred)
        return outputs[0] if self.single else tuple(outputs)

    def run_any(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Runs a call of this kind the general way."""
        if attrs == self._given and (not self._zeros or all(str(attrs[name]) == zero for name, zero in self._zeros)):
            complete: Mapping[str, Any] = self._attrs
        else:
            complete = complete_attrs(self.opdef, attrs)
        try:
            raw = self.launch(*inputs, **complete)
        except Exception as error:
            self.annotate(error, inputs, complete)
            raise
        if self.fills and self._dtypes:
            return raw
        try:
            if self.single:
                return self.one(raw, inputs, complete)
            outputs = self.normalised(raw, inputs)
        except DTypeError:
            if self.loose or not self.has_attrs:
                raise
            # The dtype may follow from the value of an attribute, of which the plan's key holds the type only.
            outputs = self.normalised(raw, inputs, self._dtypes_of(infer(self.opdef, inputs, complete)))
        if self.holds:
            self._hold(outputs, inputs, complete)
        return outputs[0] if self.single else tuple(outputs)

    def one(self, raw: Any, inputs: Sequence[Any], attrs: Mapping[str, Any] | None = None) -> Any:
        """Returns what a kernel of one output returned, normalised; a new array of the right dtype, or a scalar, is."""
        array, dtype = np.asarray(raw) if isinstance(raw, np.generic) else raw, self._dtypes[0]
        if self.is_view and array.__class__ is ndarray and array.dtype is dtype and not self.holds:
            whole = inputs[0].base
            if array.base is (inputs[0] if whole is None else whole):
                return array
        if not self.memory.is_new(array, inputs) or (array.dtype is not dtype and dtype is not None):
            array = self.normalised(raw, inputs)[0]
        if self.holds:
            self._hold([array], inputs, self._attrs if attrs is None else attrs)
        return array

    def normalised(
        self, raw: Any, inputs: Sequence[Any], dtypes: Sequence[np.dtype[Any] | None] | None = None
    ) -> list[Any]:
        """Returns what the kernel returned as one entry per output that it makes, held to what was declared."""
        try:
            return normalise.normalised(self.opdef, raw, inputs, dtypes or self._dtypes, self.memory)
        except OpsdkError as error:
            if not self.reads_python:
                attach_note(error, f"  returned by the {self.kernel.language} kernel at {self.kernel.origin}")
            raise

    def annotate(
        self, error: BaseException, inputs: Sequence[Any] | None = None, attrs: Mapping[str, Any] | None = None
    ) -> None:
        """Notes on a user's exception which op raised it and where that is defined; type and traceback stay.

        Args:
            error: what came out of the kernel.
            inputs: those of the call, where they were not held to the infer rule before.
            attrs: those of the call.

        Raises:
            OpsdkError: the arrays live at several places, or the infer rule refuses the call: that says more than the
                kernel's own exception.
        """
        if isinstance(error, OpsdkError):
            return
        opdef = self.opdef
        role = f", backward of op {opdef.gradient_of!r}" if opdef.gradient_of else ""
        where = f"{opdef.subject}{role}, {self.kernel.language} kernel at {self.kernel.origin}"
        if not any(note.startswith(f"  raised in {opdef.subject}, ") for note in getattr(error, "__notes__", ())):
            attach_note(error, f"  raised in {where}")  # unless the op's check or infer rule did, before it ran
        if self.place is not CPU and self.kernel.key.place != self.place.kind:  # it may read host memory
            attach_note(
                error,
                f"  {opdef.subject} has no kernel for {self.place.kind}; its reference ran on arrays at {self.place}"
                f". Add a kernel: @{opdef.schema.name}.kernel({self.place.kind!r}, language='numba', launch=...)",
            )
        if inputs is not None:
            check_places(opdef, inputs)
            if not self.loose:
                try:
                    infer(opdef, inputs, self._attrs if attrs is None else attrs)
                except OpsdkError as refusal:
                    raise refusal from error


def _is_exact(value: Any) -> bool:
    """Whether a value that equals this one is the same; ±0.0 are told apart at the call, ±0.0 in lists are not."""
    if isinstance(value, (list, tuple)):
        return all(_is_exact(item) and not _is_zero(item) for item in value)
    return value is None or value.__class__ in (bool, int, float, str, TensorSpec) or isinstance(value, np.dtype)


def _is_zero(value: Any) -> bool:
    return value.__class__ is float and value == 0


def make_plan(
    opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any], *, place: Place = CPU, row: Kernel | None = None
) -> CallPlan:
    """Returns the plan of a kind of call on arrays of a place, on the kernel that serves it or on a given kernel.

    Where an op has no kernel for a device, its reference runs on the device's arrays themselves: NumPy functions hand
    them on to the module that they are of.

    Raises:
        KernelNotFoundError: no kernel serves the place and dtype.
        PlaceError: there is no such device here.
    """
    named = zip(opdef.schema.input_names, inputs, strict=True)
    present = [(name, value) for name, entry in named for value in flat(entry)]
    usable = is_usable
    if opdef.schema.callables:
        usable = partial(is_usable, functions=flat([attrs.get(name) for name in opdef.schema.callables]))
    deciding = opdef.schema.deciding(inputs)
    name = next((name for name, value in present if value is deciding), "")
    dtype = None if deciding is None else deciding.dtype
    kernel = row or opdef.kernels.select(place.kind, dtype, [value.dtype for _, value in present], usable)
    if kernel is None and place is not CPU:
        kernel = opdef.kernels.reference()
    is_untold = any(name not in attrs for name, _ in getattr(opdef.infer, "asks", ()))
    if kernel is not None and row is None and is_untold and fills_buffers(opdef, kernel):
        # The shapes of its buffers are those of a gradient op that is called by hand, which the reference finds out.
        kernel = opdef.kernels.reference() or kernel
    if kernel is None:
        rows = ", ".join(str(entry.key) for entry in opdef.kernels) or "none"
        if place is not CPU:
            raise KernelNotFoundError(
                f"{opdef.subject}: no kernel for ({place.kind}, {dtype}), and no reference that could run there; "
                f"registered: {rows}; add a kernel: @{opdef.schema.name}.kernel('cuda', language='numba')"
            )
        raise KernelNotFoundError(
            f"{opdef.subject}: no kernel for ({place.kind}, {dtype}); registered: {rows}; "
            "cast the input or add a kernel",
            because=f"input {name!r} is {dtype}" if name else "",
        )
    outputs = len(opdef.schema.fresh_outputs) if opdef.schema.residuals else None
    return CallPlan(opdef.whole, kernel, inputs, attrs, memory_at(place, opdef.subject), outputs)

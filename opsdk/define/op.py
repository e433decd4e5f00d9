"""Op: the handle that a user holds and calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as dataclass_replace
from inspect import cleandoc
from os import PathLike
from typing import Any, TypeVar, overload

from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import DTypeError, KernelNotFoundError, NameClashError, UnknownOpError
from opsdk.core.fast import FAST, Handle
from opsdk.core.origin import trimmed
from opsdk.define.call import absences, bind, check_captured, draws_taken, generators_of
from opsdk.define.expectation import Expectation
from opsdk.define.frontend import APPLY, FAST_PATHS, apply_slowly
from opsdk.define.giving import as_infer, held_gradient, renewed, with_gift
from opsdk.define.gradient import GradientInfer, make_gradient
from opsdk.define.kernel.kernel import KernelKey
from opsdk.define.kernel.notation import notation_of
from opsdk.define.op_registry import OpRegistry, Providers
from opsdk.define.opdef import GradRule, OpDef
from opsdk.define.schema.attribute import freeze
from opsdk.define.schema.binding import ValueCheck
from opsdk.define.schema.signature import SignatureOf

F = TypeVar("F", bound=Callable[..., Any])

_ABSENT: Any = object()


class Op(Handle):
    """A registered op: call it, and give it a backward, kernels, an infer rule and samples.

    Tensors give tensors and are recorded on the tape, Program variables give variables, NumPy arrays give arrays.
    """

    __signature__ = SignatureOf()

    def __init__(self, opdef: OpDef) -> None:
        self.opdef = opdef

    @property
    def opdef(self) -> OpDef:
        """The current definition; graphs hold the one they were built with."""
        return self._opdef

    @opdef.setter
    def opdef(self, opdef: OpDef) -> None:
        self._opdef = opdef
        opdef.kernels.forget()  # plans hold the definition before, also those of an op that this one is the gradient of
        self._left_out = absences(opdef)
        self._attrs, self._lists = frozenset(opdef.schema.attr_names), opdef.schema.list_attrs
        self._callables = opdef.schema.callables
        self._generators = opdef.schema.generators
        self._is_unary = list(self._left_out) == [1]
        self.__name__ = opdef.schema.name
        self.__doc__ = f"{cleandoc(opdef.doc)}\n\n{opdef.schema}" if opdef.doc else str(opdef.schema)

    # Any: the values of a call belong to whichever runtime they come from.
    def __call__(self, value: Any = _ABSENT, /, *values: Any, **attrs: Any) -> Any:
        """Applies the op; see the op's own schema for what it takes."""
        try:
            if self._is_unary and not values and not attrs:
                fast = FAST_PATHS.get(value.__class__)
                if fast is not None:
                    return fast(self._opdef, value)
            args = () if value is _ABSENT else (value, *values)
            absent = self._left_out.get(len(args))
            if absent is None or (attrs and not self._attrs.issuperset(attrs)):
                args, attrs = bind(self._opdef, args, attrs)
                generators = generators_of(attrs, self._generators) if self._generators else None
                if generators:
                    with draws_taken(attrs, generators) as drawn:
                        return self(*args, **drawn)
            elif absent:
                args += absent
            if attrs and self._lists:
                freeze(attrs, self._lists)
            if attrs and self._callables:
                check_captured(self._opdef, attrs)
            for argument in args:
                apply = APPLY.get(argument.__class__)
                if apply is not None:
                    return apply(self._opdef, args, attrs)
            return apply_slowly(self._opdef, args, attrs)
        except Exception as error:
            raise trimmed(error)  # noqa: B904 - the same error, without the frames below the user's

    # -- defining ----------------------------------------------------------------------------------------------------

    @overload
    def backward(self, function: Callable[..., Any]) -> Op: ...

    @overload
    def backward(
        self,
        function: None = None,
        *,
        composite: bool = ...,
        materialize: bool = ...,
        disconnected: Sequence[str] = ...,
        complex: bool = ...,
        name: str | None = ...,
        replace: bool = ...,
    ) -> Callable[[Callable[..., Any]], Op]: ...

    def backward(
        self,
        function: Callable[..., Any] | None = None,
        *,
        composite: bool = False,
        materialize: bool = True,
        disconnected: Sequence[str] = (),
        complex: bool = False,
        name: str | None = None,
        replace: bool = False,
    ) -> Op | Callable[[Callable[..., Any]], Op]:
        """Registers the backward, and returns it: it is an op of its own.

        Args:
            function: takes inputs, outputs, `d<output>` cotangents and attributes by name; what it names is what is
                saved. Returns one gradient per differentiable input, in order, or a dict by input name.
            composite: the function is made of registered ops and so can itself be differentiated, to any order.
            materialize: an output that nobody used gives a cotangent of zeros; False gives None.
            disconnected: inputs whose gradient is None, because nothing depends on their values.
            complex: it is right for complex tensors too, `dy * conj(derivative)`; unless declared they are refused.
            name: name of the gradient op; `<op>_grad` unless given.
            replace: replaces a backward that graphs already use; those graphs keep the old one.

        Raises:
            BindingError: a parameter names nothing that the op has.
            DefinitionError: the op has a backward from elsewhere, or is used in a graph already.
        """

        def register(function: Callable[..., Any]) -> Op:
            with REGISTRY.lock:
                old = self.opdef
                rule = make_gradient(
                    old,
                    function,
                    Op,
                    composite=composite,
                    materialize=materialize,
                    disconnected=disconnected,
                    name=name,
                    complex=complex,
                )
                opdef = rule.op.opdef
                held = None if replace else held_gradient(old, rule)
                if held is not None and isinstance(held.op, Op):
                    return held.op
                gradient = Op(opdef)
                if REGISTRY.holds(old):
                    REGISTRY.admit(opdef, replace=replace)
                    REGISTRY.remove(opdef.name)
                    REGISTRY.put(opdef.name, gradient)
                self.opdef = renewed(old, rule=dataclass_replace(rule, op=gradient))
                return gradient

        return register if function is None else register(function)

    def kernel(
        self,
        place: str,
        function: Callable[..., Any] | None = None,
        *,
        language: str,
        dtype: DTypeLike | tuple[DTypeLike, ...] | None = None,
        source: str | PathLike[str] | None = None,
        replace: bool = False,
        **options: Any,
    ) -> Callable[[F], F]:
        """Registers a kernel; used as a decorator. One of the same place, dtype and language from this file gives way.

        Args:
            place: the kind of place, such as `cpu`.
            function: the kernel, where this is not used as a decorator.
            language: what the kernel is written in, such as `numba`.
            dtype: the dtype of the first tensor that the kernel serves, or a tuple of such dtypes, each as if it had a
                call of its own; every dtype unless given.
            source: for languages that are not Python, text or a file name; for the others, `module:function`, imported
                when the kernel is first chosen, so that the op can be defined without what its kernels import
                (`.rows:f` is a module of the same package). Then this is a plain call.
            replace: replaces a kernel of the same place, dtype and language that another file registered.
            options: what only the language understands, such as `launch` and `scratch` of CUDA kernels, or `dtypes` of
                C kernels: of inputs beside the first one dtype, a tuple of those that the source tells apart, or the
                input whose dtype it is, by name. Numba and CUDA kernels are compiled for the dtypes of each call.

        Raises:
            BindingError: a parameter of the kernel or of its launch names no input, output or attribute.
            DefinitionError: there is no such language for the place, it does not read what was given, or `launch` is
                no launch shape of this op.
            DTypeError: `dtype` is no dtype.
            NameClashError: another file registered another kernel of that place, dtype and language.
        """
        notation = notation_of(self.opdef, place, language)
        return notation.give(self, _keys(place, dtype), function, source, options, replace=replace)

    def unregister_kernel(
        self, place: str, *, language: str, dtype: DTypeLike | tuple[DTypeLike, ...] | None = None
    ) -> None:
        """Takes back what `kernel` registered with the same place, language and dtypes; calls use the others.

        Without a dtype that is the kernel of every dtype, or, where there is none, those of single dtypes, all of them.

        Raises:
            KernelNotFoundError: there is no such kernel, or it is the one that came with the definition.
        """
        rows = [row for row in self.opdef.kernels if row is not self.opdef.kernels.reference()]
        held = {row.slot: row for row in rows}
        slots = [(key, language) for key in _keys(place, dtype)]
        if dtype is None and slots[0] not in held:
            slots = [slot for slot in held if (slot[0].place, slot[1]) == (place, language)] or slots
        for slot in slots:
            if slot not in held:
                raise KernelNotFoundError(
                    f"{self.opdef.subject}: expected a kernel to take back, got {language} {slot[0]}; registered: "
                    f"{', '.join(map(str, rows)) or 'none beside the reference'}"
                )
        for slot in slots:
            self.opdef.kernels.remove(held[slot])

    def infer(self, function: F, *, replace: bool = False) -> F:
        """Registers the infer rule: a function from `TensorSpec`s and attributes, bound by name, or a stock rule.

        Args:
            function: the rule.
            replace: replaces a rule that graphs already use, which keep it, or that another file gave; here and in
                `samples`, `check` and `bench`.

        Raises:
            BindingError: the rule names no input or attribute.
            DefinitionError: another file gave another rule, or a graph holds the op.
        """
        rule = as_infer(function, self.opdef.schema)
        opdef = with_gift(self.opdef, "infer", function, rule, replace=replace)
        grad = self.opdef.grad
        if grad is not None:  # the backward came first: its gradients are summed where this rule broadcasts
            grad = dataclass_replace(grad, reduces=rule.reduces_gradients)
            if isinstance(grad.op, Op) and isinstance(grad.op.opdef.infer, GradientInfer):
                old = grad.op.opdef.infer
                forward = self.opdef.schema, rule
                its_rule = GradientInfer(old.names, old.positions, forward=forward, schema=old.schema)
                grad.op.opdef = renewed(grad.op.opdef, infer=its_rule, kernels=grad.op.opdef.kernels.continued())
        self.opdef = renewed(opdef, rule=grad)
        return function

    def samples(self, function: F, *, replace: bool = False) -> F:
        """Registers a generator of sample inputs: `function(rng)` yields `opsdk.Sample`s, each with its reason."""
        self.opdef = with_gift(self.opdef, "samples", function, function, replace=replace)
        return function

    def check(self, function: F, *, replace: bool = False) -> F:
        """Registers a check of values: a function of inputs and attributes, bound by name, asked before kernels run.

        It returns None, or a text that says what is wrong, as in "index expected in [0, 3), got 5; drop what is
        outside": that becomes an InputValueError. A gradient op is an op of its own, `@f.grad.check`.

        Raises:
            BindingError: the function names something that is no input or attribute.
        """
        check = ValueCheck(function, self.opdef.schema)
        self.opdef = with_gift(self.opdef, "check", function, check, replace=replace)
        return function

    def bench(self, function: F, *, replace: bool = False) -> F:
        """Registers what `opsdk bench` times the op on: `function(rng, n)` returns a Sample of about n elements.

        Where there is none, a sample or a default input is enlarged, which cannot tell how several shapes belong
        together.
        """
        self.opdef = with_gift(self.opdef, "bench", function, function, replace=replace)
        return function

    def expect(self, finding: str, *, reason: str, row: str = "") -> None:
        """Says that `opsdk.verify` finds something that stays as it is: it is told as a note, with the reason.

        What is expected and not found is a finding itself. Those about the gradient belong to it: `f.grad.expect`.

        Args:
            finding: a check as the id of a finding ends, `vjp.x` or all of `vjp`; or a code, `OP301`.
            reason: why it stays.
            row: the kernels that it is about, `numba` or `float32,numba`; all unless given.

        Raises:
            DefinitionError: one of them is no text, or finding or reason is empty.
        """
        known = Expectation.of(self.opdef.subject, finding, reason, row)
        self.opdef = renewed(self.opdef, expectations=(*self.opdef.expectations, known))

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def schema(self) -> str:
        """The signature, as text."""
        return str(self.opdef.schema)

    @property
    def grad(self) -> Op | None:
        """The gradient op, or None."""
        rule = self.opdef.grad
        return rule.op if rule is not None and isinstance(rule.op, Op) else None

    def __repr__(self) -> str:
        return f"<op {self.opdef.schema} at {self.opdef.origin}>"

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: Mapping[int, object]) -> Op:
        return self  # an op is an identity: copies of a layer call the same one

    def __reduce__(self) -> tuple[Callable[..., Op], tuple[str, ...]]:
        """Returns the name, and what tells whether it still means this op: a pickle never comes back as another one.

        Raises:
            NameClashError: the name belongs to another definition, or to none.
        """
        opdef = self.opdef
        if opdef.is_builtin:
            return find_op, (opdef.name,)
        held = REGISTRY.held(opdef.name)
        if held is not self and (held is None or held.opdef.fingerprint != opdef.fingerprint):
            same = held is not None and str(held.opdef.origin) == str(opdef.origin)
            later = "a later one of the same line, as a factory makes them"
            got = "nothing" if held is None else later if same else f"the op defined at {held.opdef.origin}"
            raise NameClashError(
                f"{opdef.subject}: expected its name, by which a pickle finds it, to be that of the op defined at "
                f"{opdef.origin}, got {got}; give each a name of its own"
            )
        return _unpickled, (opdef.name, opdef.fingerprint, str(opdef.origin))


if FAST is not None:
    FAST.connect_ops(Op, FAST_PATHS, Exception, trimmed)
PROVIDERS = Providers()
REGISTRY: OpRegistry[Op] = OpRegistry(PROVIDERS)


def find_op(name: str) -> Op:
    """Returns the op of a name: `namespace::name`, or a bare name that is built in or unique.

    Where none is registered, installed packages that announce ops are loaded, the likely ones first.

    Raises:
        UnknownOpError: no op has that name; the message lists the nearest, and packages that did not load.
        NameClashError: two installed packages define it differently.
    """
    return REGISTRY.find(name)


def _unpickled(name: str, fingerprint: str, at: str = "elsewhere") -> Op:
    """Returns the op that was pickled, and was defined `at` a place.

    Raises:
        UnknownOpError: no op has its name here.
        NameClashError: the op that has it computes something else, as far as can be told.
    """
    try:
        found = find_op(name)
    except UnknownOpError as error:
        raise UnknownOpError(
            f"op {name!r}: expected the op that was pickled, by its name, to be defined in the process that loads it "
            f"too, got none; define it at the top of a module that both import, where {at} was run by the other alone"
        ) from error
    if found.opdef.fingerprint != fingerprint:
        raise NameClashError(
            f"op {name!r}: expected the definition that was pickled, {fingerprint}, got {found.opdef.fingerprint}, "
            f"defined at {found.opdef.origin}; load it beside the code, and under the Python, that it was pickled with"
        )
    return found


def deferred(make: Callable[[], GradRule | None]) -> Callable[[], GradRule | None]:
    """Returns a function that makes a rule when it is first called, and gives that one from then on."""
    made: list[GradRule | None] = []

    def rule() -> GradRule | None:
        if not made:
            with REGISTRY.lock:
                if not made:
                    made.append(make())
        return made[0]

    return rule


def _keys(place: str, dtypes: DTypeLike | tuple[DTypeLike, ...] | None) -> list[KernelKey]:
    """Returns where a kernel of one dtype, several or every dtype applies.

    Raises:
        DTypeError: there is none, or it is no dtype.
    """
    if dtypes == ():
        raise DTypeError("kernel: dtype expected one or several, got (); leave dtype= out for a kernel of every dtype")
    each = dtypes if isinstance(dtypes, tuple) else (dtypes,)
    return [KernelKey(place, None if dtype is None else as_dtype(dtype)) for dtype in each]

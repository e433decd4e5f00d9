"""The frame of a C call: its arguments, kept from call to call as far as they stay the same."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import FunctionType
from typing import Any

import numpy as np

from opsdk.backends.c.library import Library
from opsdk.backends.c.options import COptions
from opsdk.backends.c.signature import attribute_converter, prototype, size_symbols, symbols
from opsdk.backends.c.slots import slot_of
from opsdk.backends.call.buffers import given_by_hand, infer_buffers
from opsdk.backends.call.one_shape import one_shape
from opsdk.backends.call.sizes import sized_of
from opsdk.backends.memory.arena import SMALLEST, empty
from opsdk.backends.memory.layout import C_ALIGNED, is_plain, is_truth, plain
from opsdk.core.errors import KernelNotFoundError, KernelStatusError, ShapeError
from opsdk.core.nested import flat
from opsdk.core.origin import Origin
from opsdk.core.spec import TensorSpec
from opsdk.define.infer import Inferred
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.sizes import SizeFunction
from opsdk.define.opdef import OpDef
from opsdk.define.schema.schema import InputDecl, OutputDecl

LARGE = 1 << 20  # bytes; a copy of more is worth a word, unless the kernel's author said that it is meant

_told: set[tuple[str, str]] = set()  # kernels and inputs that the word was said about
_CALL = (lambda function, arguments: function(*arguments)).__code__


# Any, in this file: cffi's interfaces, types and values, which have no types in Python; attribute values.
class Frame:
    """The C arguments of one call at a time.

    What `launch_of` reads is `quick`, where it is not None: in calls with one contiguous tensor per input or none, one
    output, and numbers and texts as attributes, all like those of the call before.
    """

    def __init__(
        self, opdef: OpDef, kernel: Kernel, library: Library, allocate: Callable[..., np.ndarray] | None = None
    ) -> None:
        schema, ffi = opdef.schema, library.ffi
        self._opdef = opdef
        self._origin = str(kernel.origin)
        self.enter = call_at(kernel.origin, f"{schema.name}, c kernel")
        self._library = library
        self._options = COptions(**kernel.options)
        self._inputs = [slot_of(ffi, decl) for decl in schema.inputs]
        self._fresh = [schema.outputs[i] for i in schema.fresh_outputs]
        self._outputs = [slot_of(ffi, decl) for decl in self._fresh]
        self._one_shape = one_shape(opdef)
        self._converters = [(decl.name, attribute_converter(ffi, decl)) for decl in schema.attrs]
        self._present: list[bool] = []
        self._specs: list[Any] = []  # (shape, dtype), or a list of them, per output
        plainly = all(
            convert is None or decl.type.base == "str"  # a text is equal where its bytes are; 0.0 equals -0.0
            for decl, (_, convert) in zip(schema.attrs, self._converters, strict=True)
        )
        kinds = {decl.kind for decl in schema.inputs}
        plainly = plainly and not schema.mutated_inputs and kinds <= {"tensor", "optional"} and "tensor" in kinds
        self._sized = sized_of(opdef, kernel, is_exact=allocate is not None)
        self._inferred: Inferred = ()
        plainly = plainly and self._sized is None
        self._may_be_quick = plainly and [decl.kind for decl in self._fresh] == ["tensor"]
        self._allocate = allocate or empty
        self.attrs: Mapping[str, Any] = {}
        self.function: Callable[..., Any] | Any = None  # Any: cffi's, which is called as it is
        self.quick: tuple[Any, ...] | None = None  # Any: see `_learn`; one tuple, since attributes cost time

    def run(self, values: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Calls the function; returns the outputs that it filled."""
        values = values if self._one_shape is None else self._one_shape(values)
        keep: list[Any] = []
        arguments: list[Any] = []
        back: list[tuple[np.ndarray, np.ndarray]] = []
        present = [value is not None for value in values]
        differs = self.function is None or attrs != self.attrs or present != self._present
        for decl, slot, value in zip(self._opdef.schema.inputs, self._inputs, values, strict=True):
            if value is None:
                arguments.append(self._library.ffi.NULL)
                continue
            ready = self._ready(decl, value, back)
            keep.append(ready)
            differs = slot.fill(ready) or differs
            arguments += slot.arguments
        if differs:
            self._prepare(values, attrs)
            self._present = present
        texts: dict[str, Any] = {}  # Any: as C has them
        last: list[Any] = []  # attributes, behind the outputs
        for name, convert in self._converters:
            given = (attrs[name],) if convert is None else convert(attrs[name], keep)
            if convert is not None:
                texts[name] = given[0]
            last += given
        new, sized, room = self._allocate, self._sized, None
        if sized is None:
            made = [[i and new(*i) for i in s] if s.__class__ is list else s and new(*s) for s in self._specs]
        else:
            ask = partial(self._asked, [*arguments, *last], values, attrs)
            room = sized.room(values, attrs, self._inferred, ask, new)
            made = room.buffers
            filled = self._library.ffi.new("int64_t[]", [-1] * room.count)
            last.append(filled)
        for output, slot in zip(made, self._outputs, strict=True):
            if output is None:  # a result that is not given
                arguments.append(self._library.ffi.NULL)
                continue
            slot.fill(output)
            arguments += slot.arguments
        status = self.enter(self.function, [*arguments, *last])  # without the GIL
        if status:
            raise self.failure(status, values, attrs)
        if room is not None:
            made = room.results(list(filled))
        for array, copy in back:
            array[...] = copy
        if self._may_be_quick:
            self._learn(values, keep, texts)
        if len(made) == 1:
            return made[0]
        return tuple(made) if made else None

    def _asked(
        self, arguments: Sequence[Any], values: Sequence[Any], attrs: Mapping[str, Any], count: int
    ) -> list[int]:
        """Returns what the function of the source that decides open sizes gives."""
        sizes = self._library.ffi.new("int64_t[]", [-1] * count)
        status = self.enter(self._library.counting[self._dtype], [*arguments, sizes])
        if status:
            raise self.failure(status, values, attrs, size_symbols(self._opdef.schema, self._options.decides))
        return list(sizes)

    def failure(
        self, status: int, values: Sequence[Any], attrs: Mapping[str, Any], named: Mapping[str, str] | None = None
    ) -> KernelStatusError:
        """Returns the error of a function that returned a status; one of the op's own, unless others are named.

        Raises:
            InputValueError: the function asked what the op's value check asks, which has words for it.
        """
        if self._options.checks and self._opdef.check is not None:
            self._opdef.check(values, attrs)
        said = self._library.message(status)
        symbol = (named or symbols(self._opdef.schema))[self._dtype]
        return KernelStatusError(
            f"{self._opdef.subject}, c kernel: {symbol} returned status {status}{f', {said}' if said else ''}",
            at=self._origin,
            details={"status": status, "message": said},
        )

    def _learn(self, values: Sequence[Any], ready: list[np.ndarray], texts: Mapping[str, Any]) -> None:
        """Keeps what the next call is compared with, and what it needs."""
        if not all(array.flags.num & C_ALIGNED == C_ALIGNED and array.dtype.kind != "b" for array in ready):
            self.quick = None
            return
        arrays = iter(ready)
        slots, seen = [], []
        for slot, value in zip(self._inputs, values, strict=True):
            array = None if value is None else next(arrays)
            slots.append(self._library.ffi.NULL if array is None else slot.arguments[0])
            seen.append((None, None, None) if array is None else (slots[-1], array.shape, array.dtype))
        output = self._outputs[0].arguments[0]
        shape, dtype = self._specs[0]
        make = np.empty if math.prod(shape) * dtype.itemsize < SMALLEST else empty
        arguments, names = (*slots, output), self._opdef.schema.attr_names
        if len(texts) == len(names):  # or none at all
            arguments, names, texts = (*arguments, *texts.values()), (), {}
        self.quick = (seen, make, shape, dtype, output, self.function, arguments, texts, names)

    def _ready(self, decl: InputDecl, value: Any, back: list[tuple[np.ndarray, np.ndarray]]) -> Any:
        """Returns an array as the function takes it; what it changes in a copy is written back afterwards."""
        if value.__class__ is list:
            return [None if item is None else self._ready(decl, item, back) for item in value]
        lies_well = is_plain(value, contiguous=self._options.contiguous is not False)
        if lies_well and is_truth(value):
            return value
        copy = plain(value)
        if decl.mutated:
            back.append((value, copy))
        if lies_well:
            return copy
        if copy.nbytes >= LARGE and self._options.contiguous is None and (self._origin, decl.name) not in _told:
            _told.add((self._origin, decl.name))
            sys.stderr.write(
                f"{self._opdef.subject}, c kernel: copies {decl.name} ({value.dtype}{value.shape}), which is not "
                "contiguous; contiguous=True says that this is meant, contiguous=False hands it over as it lies\n"
            )
        return copy

    def _prepare(self, values: Sequence[Any], attrs: Mapping[str, Any]) -> None:
        """Decides what follows from shapes, dtypes and attributes: the outputs and the function."""
        inferred = self._inferred = infer_buffers(self._opdef, values, attrs)
        specs = [inferred[i] for i in self._opdef.schema.fresh_outputs]
        self._specs = [
            [self._closed(decl, item, f"[{i}]") for i, item in enumerate(spec)]
            if isinstance(spec, list)
            else self._closed(decl, spec)
            for decl, spec in zip(self._fresh, specs, strict=True)
        ]
        dtype = self._dtype_of(values)
        function = function_for(self._opdef, self._library, dtype, self._options.decides)
        self._dtype = dtype.name
        self.attrs = dict(attrs)
        self.function = function

    def _closed(self, decl: OutputDecl, spec: Any, number: str = "") -> tuple[tuple[int, ...], np.dtype[Any]] | None:
        """Returns shape and dtype of an output, or of one of a list; None of what is not given."""
        if spec is None and (decl.holes if number else decl.kind == "optional"):
            return None
        if isinstance(spec, TensorSpec) and (None not in spec.shape or self._sized is not None):
            return tuple(dim or 0 for dim in spec.shape), spec.dtype
        output = self._opdef.schema.output_names.index(decl.name)
        remedy = given_by_hand(self._opdef, output) or "give the op an infer rule that tells it"
        raise ShapeError(
            f"{self._opdef.subject}, output {decl.name + number!r}: expected a shape known before the C function runs, "
            f"since it fills a buffer, got {spec}; {remedy}",
            at=self._origin,
        )

    def _dtype_of(self, values: Sequence[Any]) -> np.dtype[Any]:
        """Returns the dtype that chooses the function: that of the input which chose the kernel; others agree.

        Those that the kernel declares may differ, as may those of another kind where the op has an infer rule of its
        own, and the source looks at dtypes. A residual of another kind has the dtype that the infer rule gives
        it, whoever calls.

        Raises:
            KernelNotFoundError: an input has another dtype than the function can expect.
        """
        schema = self._opdef.schema
        deciding = schema.deciding(values)
        named = [(decl.name, item) for decl, value in zip(schema.inputs, values, strict=True) for item in flat(value)]
        first = next(((name, item.dtype) for name, item in named if item is deciding), None)
        if first is None:
            specs = [item for spec in self._specs for item in (spec if isinstance(spec, list) else [spec]) if item]
            return specs[0][1] if specs else np.dtype("float32")
        wanted, given = dict(self._options.dtypes), dict(named)
        for name, item in named:
            told = wanted.get(name)
            if isinstance(told, tuple):
                self._check_declared(name, told, item.dtype)
            elif told is None and name in self._opdef.reads and item.dtype.kind != first[1].kind:
                continue  # as the infer rule says
            else:  # like another, the first unless it is declared
                other = (told, given[told].dtype) if told in given else first
                self._check_like(name, item.dtype, other, is_told=told is not None)
        self._check_gradients(*first)
        return first[1]

    def _check_declared(self, name: str, told: tuple[str, ...], dtype: np.dtype[Any]) -> None:
        """Holds an input to the dtypes that the kernel declares of it."""
        several = " or ".join(told)
        if dtype.name not in told:
            raise KernelNotFoundError(
                f"{self._opdef.subject}, c kernel: input {name!r} expected {several}, got {dtype.name}; cast it"
            )
        if len(told) > 1 and not self._library.looks_up:
            raise KernelNotFoundError(
                f"{self._opdef.subject}, c kernel: expected a source that looks at the dtype of input {name!r}, which "
                f"dtypes= lets be {several}, got one that looks at none; ask OPSDK_IS({name}, …), or declare one dtype"
            )

    def _check_like(self, name: str, dtype: np.dtype[Any], other: tuple[str, np.dtype[Any]], *, is_told: bool) -> None:
        """Holds an input to the dtype of another, as the kernel told or since it tells nothing of it.

        In the latter case one of another kind may differ, where the source looks at dtypes.
        """
        subject, got = f"{self._opdef.subject}, c kernel", dtype.name
        if is_told or dtype.kind == other[1].kind or self._one_shape is not None:
            if got == other[1].name:
                return
            declare = f"give the kernel dtypes={{{name!r}: {got!r}}}, or a tuple that OPSDK_IS({name}, …) tells apart"
            raise KernelNotFoundError(
                f"{subject}: input {name!r} expected {other[1].name} like {other[0]!r}, got {got}; cast one of them"
                f"{'' if is_told else f', or {declare}'}"
            )
        # An index beside numbers belongs to an op whose rule knows of it; a loop over elements misreads it.
        if not self._library.looks_up:
            raise KernelNotFoundError(
                f"{subject}: expected a dtype declared for input {name!r}, which is of another kind than {other[0]!r} "
                f"and which the source reads without a look at dtypes, got {got}; give the kernel "
                f"dtypes={{{name!r}: {got!r}}}, or ask OPSDK_IS({name}, …)"
            )

    def _check_gradients(self, name: str, dtype: np.dtype[Any]) -> None:
        """Checks that gradients of inputs that the function does not see have the dtype that it writes.

        Raises:
            KernelNotFoundError: one has another of the same kind.
        """
        if self._opdef.gradient_of is None or self._options.dtypes:
            return
        for decl, spec in zip(self._fresh, self._specs, strict=True):
            for _, its in filter(None, spec if isinstance(spec, list) else [spec]):
                if its.kind == dtype.kind and its.name != dtype.name:
                    raise KernelNotFoundError(
                        f"{self._opdef.subject}, c kernel: gradient {decl.name!r} expected {dtype.name} like {name!r}, "
                        f"got {its.name}, which its input has; cast that"
                    )


@cache
def call_at(origin: Origin, name: str) -> Callable[[Any, Sequence[Any]], Any]:
    """Returns a function that calls another, and looks in every stack as if it stood where a kernel was registered.

    A C function has no frame of its own: what faulthandler or a profiler shows is the Python code that called it, which
    is opsdk's and the same for every kernel.

    Args:
        origin: the place.
        name: what the frame is called.
    """
    code = _CALL.replace(co_filename=origin.file, co_firstlineno=origin.line, co_name=name)
    return FunctionType(code, {}, name)


def function_for(
    opdef: OpDef, library: Library, dtype: np.dtype[Any], decides: SizeFunction | None = None
) -> Callable[..., Any]:
    """Returns the function of a library for a dtype.

    Raises:
        KernelNotFoundError: the source has none; the message names those that it has.
    """
    function = library.functions.get(dtype.name)
    if function is None:
        named = symbols(opdef.schema)
        there, symbol = ", ".join(named[name] for name in library.functions), named[dtype.name]
        raise KernelNotFoundError(
            f"{opdef.subject}, c kernel: no function {symbol} for {dtype.name}; there are {there}; write it, or cast "
            "the inputs",
            help=f"{prototype(opdef.schema, symbol, decides=decides)} {{ ... }}",
        )
    return function

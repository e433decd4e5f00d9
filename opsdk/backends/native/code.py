"""Code: the kernels of an expression, one for each combination of dtypes, compiled or taken from the cache."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy import ndarray

from opsdk.backends.cache.store import cached_bytes
from opsdk.backends.call.language import NativeEntry
from opsdk.backends.memory import arena
from opsdk.backends.native import ARGUMENTS
from opsdk.backends.native.loader import Image, host_key, load, sources_key
from opsdk.backends.native.runtime import PROTOTYPE, ffi
from opsdk.core.bounded import Bounded
from opsdk.core.errors import AttributeValueError
from opsdk.core.lazy import optional, slow
from opsdk.core.spec import TensorSpec
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.expr.count import cost
from opsdk.expr.exact import check_whole
from opsdk.expr.node import DIGEST, topological
from opsdk.expr.row.row import COLUMN, FULL
from opsdk.expr.scalar import MOST_COMBINATIONS, Static, static_of
from opsdk.expr.trace import Expression

# Work below this is done by the caller alone. A thread that is awake comes after 1 µs or two; one that sleeps, as all
# do from 30 µs after a job on, takes another 30 to 50 and may find nothing left to do.
SHARED_FROM = 25_000  # nanoseconds
_NS_PER_COST, _NS_PER_TENSOR = 0.03, 0.06  # of one element of float32, one thread

_images: WeakValueDictionary[str, Image] = WeakValueDictionary()


def compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype that results of a dtype are computed in."""
    return np.dtype("float64" if dtype == np.float64 else "float32")


class Code:
    """A kernel in memory, for one combination of dtypes and static attributes.

    Args:
        name: of the function; what is not ASCII in it is replaced.
        expression: what is computed.
        dtypes: of the inputs.
        dtype: of the results.
        source: Python text that defines `kernel(start, stop, sizes, *pointers, *numbers)`.
        results: roles of the results that are wanted; all are of the full shape unless given.
        may_round: whether it computes with elements that are whole numbers and that it might round, and does not look
            at them itself.

    Attributes:
        outputs: per result whether it is wanted.
        name: of the C symbol.
        pointers: names of the dtypes of inputs and results.
        attrs: names of the numbers that it takes.
        compute: the dtype that it computes in.
        ns: a rough time for one element.
        shared_from: the number of elements from which all threads work on it.
        image: holds the memory that it is in.
        address: of its entry, as long as the image is there.
        call: the entry, callable with cffi arrays (Any: cffi has no types).
        kind: the cffi type of its pointers.
    """

    def __init__(
        self,
        name: str,
        expression: Expression,
        dtypes: Sequence[np.dtype[Any]],
        dtype: np.dtype[Any],
        source: str,
        results: Sequence[str] | None = None,
        may_round: bool = False,
    ) -> None:
        inputs = [each.name for each in dtypes]
        self.name = "".join(char if char.isascii() else "_" for char in f"{name}_{'_'.join(inputs)}")
        self.source = source
        self.dtype = dtype
        self.compute = compute_dtype(dtype)
        self.may_round = may_round
        self.outputs = tuple(node is not None for node in expression.outputs)
        self.results = tuple(results) if results is not None else (FULL,) * len(expression.wanted)
        self.pointers = (*inputs, *("float64" if role == COLUMN else dtype.name for role in self.results))
        self.attrs = expression.attrs
        self.ns = _NS_PER_COST * cost(expression.wanted) + _NS_PER_TENSOR * len(self.pointers)
        self.shared_from = int(SHARED_FROM / self.ns)
        if any(DIGEST in node.op for node in topological(expression.wanted)):
            slow("opsdk.backends.vmath.foreign").provide(expression.wanted)
        self.image = self._loaded()
        self.address = self.image.addresses[self.name]
        self.call: Any = ffi().cast(PROTOTYPE, self.address)
        self.kind: Any = ffi().typeof(f"void *[{len(self.pointers)}]")
        self._numbers: dict[tuple[float, ...], Any] = {}  # for the values that come again (Any: cffi arrays)

    def compiled(self) -> bytes:
        """Returns the object file, compiled now."""
        optional("numba", extra="numba", subject=f"compiling {self.name}")
        build = slow("opsdk.backends.native.compiler").build
        made: bytes = build(self.name, self.source, self.pointers, len(self.attrs), self.compute)
        return made

    def _loaded(self) -> Image:
        """Returns the kernel in memory, from the cache where it is there; equal texts share one image."""
        key = "\n".join([host_key(), sources_key(), self.name, self.compute.name, *self.pointers, self.source])
        found = _images.get(key)
        if found is None:
            data = cached_bytes("native", key, ".o", self.compiled)
            found = _images.setdefault(key, load(data, [self.name]))
        return found

    def numbers(self, attrs: Mapping[str, Any]) -> Any:  # Any: attribute values; a cffi array
        """Returns the attributes of a call as the kernel reads them."""
        if not self.attrs:
            return ffi().NULL
        values = tuple([attrs[name] for name in self.attrs])
        found = self._numbers.get(values)
        if found is None or 0.0 in values:  # 0.0 and -0.0 are one key
            check_whole(self.attrs, values, self.compute)
            if len(self._numbers) > 64:
                self._numbers.clear()
            found = self._numbers[values] = ffi().new("double[]", values)
        return found


# Any, below: attribute values.
class Kernels(ABC):
    """The compiled kernels of an op's expression, by kind of call.

    Args:
        opdef: the op.
        function: what it computes (Any: a `ScalarFunction` of the kind that the class is for).
        empty: makes the arrays that they fill, of a shape and a dtype.
    """

    def __init__(self, opdef: OpDef, function: Any, empty: Callable[..., ndarray] = arena.empty) -> None:
        self.opdef = opdef
        self.function = function
        self._empty = empty
        self._codes: Bounded[tuple[Any, ...], Code] = Bounded(MOST_COMBINATIONS)
        # Attributes that are whole numbers; a kernel refuses one that would be rounded.
        self._whole = tuple(decl.name for decl in opdef.schema.attrs if decl.type.base in ("int", "int?"))

    @abstractmethod
    def _made(self, expression: Expression, static: Static, dtypes: Sequence[np.dtype[Any]]) -> Code:
        """Returns a new kernel."""

    @abstractmethod
    def turns(self, arrays: Sequence[ndarray], attrs: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
        """Yields what the loops of a kernel do from some size on, and whether they do it for a call."""

    def _static(self, attrs: Mapping[str, Any]) -> Static:
        """Returns what of the attributes decides the expression."""
        return static_of(attrs)

    def code(self, arrays: Sequence[ndarray], static: Static) -> Code | None:
        """Returns the kernel for actual inputs; None where no result is wanted."""
        dtypes = [array.dtype for array in arrays]
        key = (static, *dtypes)
        found = self._codes.get(key)
        if found is None:
            expression = self.function.expression(static)
            if expression.wanted:
                found = self._codes[key] = self._made(expression, static, dtypes)
        return found

    def entry(self, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: Mapping[str, Any]) -> NativeEntry:
        """Returns the C function over a part of the elements, or of the rows, of arrays that lie side by side.

        Raises:
            AttributeValueError: no result is wanted.
        """
        opdef = self.opdef
        present: Any = [spec for spec in specs if spec is not None]  # which have dtypes, as arrays do
        code = self.code(present, self._static(attrs))
        if code is None:
            raise AttributeValueError(
                f"{opdef.subject}: native entry expected a result that is wanted, got none; let needs_input_grad hold "
                "True"
            )
        schema = opdef.schema
        outputs = [name for name, is_wanted in zip(schema.output_names, code.outputs, strict=True) if is_wanted]
        pointers = tuple(zip([*schema.input_names, *outputs], code.pointers, strict=True))
        prototype = f"int32_t {code.name}{ARGUMENTS}"
        return NativeEntry(code.address, prototype, kernel.form, str(kernel), pointers, code.attrs, code)


def spread(outputs: Sequence[bool], made: Sequence[ndarray]) -> tuple[ndarray | None, ...]:
    """Returns the results with None where one is not wanted."""
    ready = iter(made)
    return tuple(next(ready) if wanted else None for wanted in outputs)

"""CUDA code without a device: a kernel compiled to PTX or to machine code, with an entry that any launcher can call.

The entry takes plain values, in the order of the kernel's parameters: a tensor is a pointer to contiguous elements
and its sizes as int64, a float attribute a double, an int or bool one an int64, and so is the key of a generator.
That of an expression takes pointers only, outputs first, then the attributes, then the number of elements; that of a
row expression ends with the number of rows and the length of one, and is launched as `rowwise.CudaRowCode` says.
Nothing of Numba or Python is in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from types import SimpleNamespace
from typing import Any

import numpy as np

from opsdk.backends.cuda.author import check_row
from opsdk.backends.cuda.draws import teach_draws
from opsdk.backends.cuda.elementwise import elementwise_kernel
from opsdk.backends.cuda.launch import classes_of, failures
from opsdk.backends.cuda.math import compiled_text, compute_dtype, device_function
from opsdk.backends.cuda.rowwise import CudaRowCode
from opsdk.backends.cuda.runtime import SIMULATOR, is_simulated, numba_cuda
from opsdk.backends.memory.device import HOST
from opsdk.core.dtype import DTypeLike, as_dtype, promote_types
from opsdk.core.errors import ArityError, CompileError, DTypeError, KernelNotFoundError, MissingDependencyError
from opsdk.core.lazy import optional
from opsdk.core.spec import TensorSpec
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.launch import Elementwise, Rows
from opsdk.define.kernel.sizes import size_function, size_parameter
from opsdk.define.opdef import Handle, OpDef
from opsdk.expr.exact import check_constants
from opsdk.expr.row.row import COLUMN
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.row.row_infer import AXIS
from opsdk.expr.scalar import ScalarFunction, static_of

_ENTRY = re.compile(r"\.visible \.entry (\w+)\(")
_NUMBERS = {"float": "double", "int": "int64", "bool": "int64", "Generator": "int64"}
_NO_COMPILER = {"NvvmSupportError", "DynamicLibNotFoundError", "CudaSupportError", "NvrtcSupportError"}
_lock = RLock()


@dataclass(frozen=True)
class CudaCode:
    """A compiled entry.

    Args:
        name: of the entry.
        parameters: `(name, type)` of each, types as C writes them, in order.
        ptx: as text.
        cc: the compute capability that it was compiled for.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    ptx: str
    cc: tuple[int, int]

    def cubin(self) -> bytes:
        """Returns machine code for that capability; it loads on drivers older than the compiler, as PTX may not.

        Raises:
            MissingDependencyError: cuda-core or nvJitLink is not installed.
        """
        core = optional("cuda.core", extra="cuda", subject="linking CUDA code")
        try:
            source = core.ObjectCode.from_ptx(self.ptx.encode())
            linker = core.Linker(source, options=core.LinkerOptions(arch=f"sm_{self.cc[0]}{self.cc[1]}"))
            return linker.link("cubin").code
        except (ImportError, RuntimeError) as error:
            raise MissingDependencyError(
                f'linking CUDA code needs nvJitLink, which does not work here ({error}): pip install "opsdk[cuda]"'
            ) from error


# Any, in this file: attribute values, Numba's types and functions.
def compile_cuda(
    op: Handle,
    dtypes: DTypeLike | Sequence[DTypeLike],
    cc: tuple[int, int] = (8, 0),
    *,
    attrs: Mapping[str, Any] | None = None,
    ndims: Mapping[str, int] | None = None,
) -> CudaCode:
    """Returns the CUDA kernel of an op, compiled for a device that need not be here.

    Args:
        op: the op; its kernel of place `cuda` for these dtypes is taken.
        dtypes: one for every input, or one for all.
        cc: the compute capability, `(major, minor)`.
        attrs: values of attributes that are no numbers, where they are not the defaults.
        ndims: by name of an input or output its number of dimensions, where the launch shape does not say it: all are
            1 with `launch.elementwise`, those named are 2 with `launch.rows`, and others are 1 unless given here.

    Raises:
        KernelNotFoundError: the op has no such kernel.
        CompileError: Numba cannot compile it, or an attribute is no number.
        DTypeError: a dtype that devices do not compute with.
        MissingDependencyError: numba-cuda or its compiler is not installed, or the simulator stands in its place.
    """
    opdef = op.opdef
    if is_simulated():
        raise MissingDependencyError(f"compiling for CUDA needs numba-cuda itself, {SIMULATOR} puts a simulator there")
    optional("numba_cuda", extra="cuda", subject=f"{opdef.subject}: compiling for CUDA")  # not Numba's own target
    count = len(opdef.schema.inputs)
    given: Sequence[DTypeLike] = [dtypes] * count if isinstance(dtypes, (str, type, np.dtype)) else dtypes
    kinds = [as_dtype(dtype) for dtype in given]
    if len(kinds) != count:
        raise ArityError(f"{opdef.subject}: expected {count} dtypes, one per input, got {len(kinds)}")
    row = opdef.kernels.select("cuda", opdef.schema.deciding(kinds), kinds)
    if row is None:
        rows = ", ".join(str(entry.key) for entry in opdef.kernels) or "none"
        raise KernelNotFoundError(f"{opdef.subject}: no kernel for (cuda, {kinds[0]}); registered: {rows}")
    complete = complete_attrs(opdef, attrs or {})
    if isinstance(row.source, RowFunction):
        name, parameters, make = _row_entry(row.source, kinds, complete)
    elif isinstance(row.source, ScalarFunction):
        name, parameters, make = _expression_entry(row.source, kinds, complete)
    else:
        check_row(opdef, row)
        teach_draws()
        name, parameters, make = _user_entry(opdef, row, kinds, complete, ndims or {})
    ptx = _compiled(opdef, row, make, [_numba_type(kind) for _, kind in parameters], cc)
    mangled = _ENTRY.search(ptx)
    assert mangled is not None, ptx
    return CudaCode(name, tuple(parameters), ptx.replace(mangled[1], name), cc)


# A function to be compiled: its name, its parameters as `CudaCode` has them, and what makes it.
_Entry = tuple[str, list[tuple[str, str]], Callable[[], Callable[..., Any]]]


def _expression_entry(scalar: ScalarFunction, kinds: Sequence[np.dtype[Any]], attrs: Mapping[str, Any]) -> _Entry:
    expression = scalar.expression(static_of(attrs))
    dtype = promote_types(*kinds)
    check_constants(expression.wanted, compute_dtype(dtype), f"op {scalar.name!r}")
    name = _named(scalar.name, kinds)
    parameters = [
        *((f"y{k}", f"{dtype.name} *") for k in range(len(expression.wanted))),
        *((x, f"{kind.name} *") for x, kind in zip(expression.inputs, kinds, strict=True)),
        *((attr, "double") for attr in expression.attrs),
        ("n", "int64"),
    ]
    return name, parameters, lambda: elementwise_kernel(name, expression, dtype)


def _row_entry(rows: RowFunction, kinds: Sequence[np.dtype[Any]], attrs: Mapping[str, Any]) -> _Entry:
    code = CudaRowCode(rows, static_of({name: value for name, value in attrs.items() if name != AXIS}), kinds)
    stored = [code.computed if role == COLUMN else code.stored for role in code.results]
    parameters = [
        *((f"y{k}", f"{dtype.name} *") for k, dtype in enumerate(stored)),
        *((x, f"{kind.name} *") for x, kind in zip(rows.inputs, kinds, strict=True)),
        *((attr, "double") for attr in code.expression.attrs),
        *([("status", "int32 *")] if code.checks else []),
        ("rows", "int64"),
        ("n", "int64"),
    ]
    return _named(rows.name, kinds), parameters, code.made


def _user_entry(
    opdef: OpDef, row: Kernel, kinds: Sequence[np.dtype[Any]], attrs: Mapping[str, Any], ndims: Mapping[str, int]
) -> _Entry:
    schema = opdef.schema
    given = dict(zip(schema.input_names, kinds, strict=True))
    sizes = {name: _ndim(row, name, ndims) for name in (*schema.input_names, *schema.output_names)}
    specs = [TensorSpec([None] * sizes[name], kind) for name, kind in given.items()]
    inferred = opdef.infer(schema, specs, attrs)
    for decl, spec in zip(schema.outputs, inferred, strict=True):
        if isinstance(spec, TensorSpec):
            given.setdefault(decl.name, spec.dtype)
    ones = {name: np.ones([1] * sizes[name], given[name]) for name in schema.input_names}
    for scratch_name, scratch in row.options.get("scratch", {}).items():
        room = scratch.made({**ones, **attrs}, HOST.holds)
        given[scratch_name], sizes[scratch_name] = room.dtype, len(room.shape)
    if size_function(row) is not None:
        counts = size_parameter([*schema.attr_names, *given])
        given[counts], sizes[counts] = np.dtype("int64"), 1
    parameters: list[tuple[str, str]] = []
    arguments: list[str] = []
    for parameter in row.parameters:
        if parameter in given:
            lengths = [f"{parameter}_size{axis}" for axis in range(sizes[parameter])]
            parameters += [(parameter, f"{given[parameter].name} *"), *((length, "int64") for length in lengths)]
            arguments.append(f"array({parameter}, ({''.join(f'{length}, ' for length in lengths)}))")
            continue
        kind = _NUMBERS.get(schema.attr(parameter).type.base)
        if kind is None:
            raise CompileError(
                f"{opdef.subject}, CUDA kernel: attribute {parameter!r} expected a float, int or bool in compiled "
                f"code, got {schema.attr(parameter).type}",
                at=str(row.origin),
            )
        parameters.append((parameter, kind))
        arguments.append(parameter)
    name = _named(schema.name, kinds)
    source = f"def {name}({', '.join(p for p, _ in parameters)}):\n    kernel({', '.join(arguments)})\n"
    function: Any = row.source
    python = getattr(function, "py_func", function)
    return name, parameters, lambda: compiled_text(source, name, {"kernel": device_function(python), "array": _array()})


def _named(name: str, kinds: Sequence[np.dtype[Any]]) -> str:
    return f"{name}_{'_'.join(kind.name for kind in kinds)}"


def _ndim(row: Kernel, name: str, ndims: Mapping[str, int]) -> int:
    shape = row.options.get("launch")
    if isinstance(shape, Elementwise):
        return 1
    if isinstance(shape, Rows) and name in shape.names:
        return 2
    return ndims.get(name, 1)


def _numba_type(kind: str) -> Any:
    """Returns how Numba writes the type of a parameter."""
    numba = optional("numba", extra="cuda", subject="compiling for CUDA")
    if not kind.endswith(" *"):
        return {"double": numba.types.float64, "int64": numba.types.int64}[kind]
    dtype = as_dtype(kind.removesuffix(" *"))
    try:
        return numba.types.CPointer(numba.from_dtype(dtype))
    except numba.core.errors.NumbaNotImplementedError as error:
        raise DTypeError(f"compiling for CUDA: expected a dtype that Numba knows, got {dtype}") from error


def _array() -> Any:
    """Returns what makes an array of a pointer and its sizes, inside a kernel."""
    subject = "compiling for CUDA"
    types = optional("numba", extra="cuda", subject=subject).types
    extending = optional("numba.cuda.extending", extra="cuda", subject=subject)
    arrayobj = optional("numba.cuda.np.arrayobj", extra="cuda", subject=subject)  # numba-cuda's own, not Numba's
    cgutils = optional("numba.cuda.cgutils", extra="cuda", subject=subject)

    @extending.intrinsic  # type: ignore[untyped-decorator]
    def array(typing: Any, data: Any, shape: Any) -> Any:
        made = types.Array(data.dtype, len(shape), "C")

        def build(context: Any, builder: Any, signature: Any, values: Sequence[Any]) -> Any:
            sizes = cgutils.unpack_tuple(builder, values[1], len(shape))
            item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(data.dtype)))
            steps: list[Any] = []
            step = item
            for size in reversed(sizes):
                steps.insert(0, step)
                step = builder.mul(step, size)
            view = arrayobj.make_array(made)(context, builder)
            arrayobj.populate_array(view, values[0], sizes, steps, item, None)
            return view._getvalue()

        return made(data, shape), build

    return array


def _compiled(
    opdef: OpDef, row: Kernel, make: Callable[[], Callable[..., Any]], types: Sequence[Any], cc: tuple[int, int]
) -> str:
    cuda = numba_cuda("compiling for CUDA")
    void = optional("numba", extra="cuda", subject="compiling for CUDA").types.void
    with failures(opdef, row.origin, opdef.subject), _compiling_for(cc):
        try:
            made = cuda.compile(make(), void(*types), cc=cc, device=False, abi="numba", output="ptx", opt=True)[0]
        except Exception as error:
            if not classes_of(error) & _NO_COMPILER:
                raise
            raise MissingDependencyError(
                f"{opdef.subject}: compiling for CUDA needs NVVM and NVRTC, Numba says {error}: "
                'pip install "opsdk[cuda]"'
            ) from error
    return made.decode() if isinstance(made, bytes) else str(made)


@contextmanager
def _compiling_for(cc: tuple[int, int]) -> Iterator[None]:
    """Answers numba-cuda, while it compiles functions that a kernel calls, for which device they are meant.

    It asks the driver, also where the kernel itself is compiled for a device that is named; the answer goes into no
    code, which is made for the named one.
    """
    dispatcher: Any = optional("numba.cuda.dispatcher", extra="cuda", subject="compiling for CUDA")
    with _lock:
        asked = dispatcher.get_current_device
        dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)
        try:
            yield
        finally:
            dispatcher.get_current_device = asked

"""Native entries: the C function of a compiled kernel, for whoever calls it without Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdk.backends.call.language import NativeEntry, check_packages, is_usable, language_of, missing_packages
from opsdk.backends.call.plan import attrs_key, keep
from opsdk.core.errors import BindingError, KernelNotFoundError
from opsdk.core.spec import TensorSpec
from opsdk.define.call import bind, complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.notation import LANGUAGES
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef


# Any: arrays, tensors or specs, None for an input that is left out; attribute values.
def native(op: Op | OpDef, *values: Any, **attrs: Any) -> NativeEntry:
    """Returns the C function that computes an op for a kind of call, compiled where it is not yet.

    It computes one call or a part of one, knows nothing of Python, and may be called from any thread. It returns 0, or
    another status: 1 for an exception in the kernel, 2 for a `row_take` outside of its row, 3 where there is no memory,
    4 where the kernel gives another shape than it was told, 5 for a whole number (an attribute, or a position in a very
    long row) that the doubles of `attrs` or the dtype of the computation do not hold; what a C kernel returns is its
    own affair. Gradients have functions of their own: ask for `op.grad`.

    Args:
        op: an op with a compiled kernel: an expression, a Numba kernel, or C source.
        values: the inputs as specs, arrays or tensors, of which only dtypes and numbers of dimensions matter.
        attrs: attributes; numbers are arguments of the C function, everything else is decided here.

    Returns:
        The entry. All arrays that it is called with are C-contiguous and aligned.

    Raises:
        BindingError: this is no op.
        KernelNotFoundError: no compiled kernel serves these inputs.
        ShapeError: the inputs of an elementwise op differ in shape, or a row op has none with rows.
        AttributeValueError: the axis of a row op is not the last one.
        DTypeError, CompileError: the kernel cannot be compiled for them.

    Example:
        >>> import opsdk
        >>> entry = opsdk.native(opsdk.relu, opsdk.TensorSpec((None,), "float32"))
        >>> entry.kind, entry.pointers
        ('elements', (('x', 'float32'), ('out', 'float32')))
    """
    opdef = op.opdef if isinstance(op, Op) else op
    if not isinstance(opdef, OpDef):
        raise BindingError(
            f"native entry: expected an op, got {type(op).__name__} {getattr(op, '__name__', '')!r}; opsdk.find_op "
            "finds an op by its name"
        )
    inputs, given = bind(opdef, values, attrs)
    specs = [_spec(opdef, name, value) for name, value in zip(opdef.schema.input_names, inputs, strict=True)]
    complete = complete_attrs(opdef, given)
    kernel = _row(opdef, specs)
    language = language_of(kernel)
    language.check_entry(opdef, specs, complete)
    frozen = tuple((name, value) for name, value in complete.items() if type(value) not in (int, float))
    shapes = tuple(spec and (spec.dtype, spec.shape) for spec in specs)
    key = ("native", kernel, shapes, attrs_key(complete), repr(frozen))
    found = opdef.plans.get(key)
    if not isinstance(found, NativeEntry):
        check_packages(opdef, language)
        found = language.entry(opdef, kernel, specs, complete)
        keep(opdef, key, found)
    return found


def _spec(opdef: OpDef, name: str, value: Any) -> TensorSpec | None:
    if isinstance(value, list):
        raise KernelNotFoundError(
            f"{opdef.subject}: native entry expected inputs that are single tensors, got a list for {name!r}"
        )
    if value is None or isinstance(value, TensorSpec):
        return value
    return TensorSpec(value.shape, value.dtype)


def _row(opdef: OpDef, specs: Sequence[TensorSpec | None]) -> Kernel:
    dtypes = [spec.dtype for spec in specs if spec is not None]
    deciding = opdef.schema.deciding(specs)
    first = None if deciding is None else deciding.dtype
    row = opdef.kernels.select("cpu", first, dtypes, lambda row: language_of(row).has_entry and is_usable(row))
    if row is None:
        missing = sorted({package for row in opdef.kernels for package in missing_packages(row)})
        names = {name for (name, _, _), known in LANGUAGES.items() if getattr(known, "has_entry", False)}
        readers = " or ".join(sorted(names, reverse=True))
        raise KernelNotFoundError(
            f"{opdef.subject}: no compiled kernel for (cpu, {', '.join(map(str, dtypes)) or 'no tensor'}); kernels: "
            f"{', '.join(map(str, opdef.kernels)) or 'none'}; give it a kernel in {readers}",
            because=f"not installed: {', '.join(missing)}" if missing else "",
        )
    return row

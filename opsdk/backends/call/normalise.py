"""Normalising: what a kernel returned, made into arrays and held to what was declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.memory.device import HOST, Memory, is_device_array
from opsdk.core.dtype import is_differentiable, word_of
from opsdk.core.errors import AliasError, ArityError, DTypeError, ReturnError, ShapeError
from opsdk.core.fit import check_unmasked
from opsdk.core.nested import flat
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.identity.callables import captured
from opsdk.define.infer import Assumed, Inferred
from opsdk.define.opdef import OpDef
from opsdk.define.schema.scalars import OBJECT
from opsdk.define.schema.schema import ResidualDecl


# Any, in this file: what a user's kernel returned can be anything; of inputs an array, a list of arrays or None.
def normalised(
    opdef: OpDef, raw: Any, inputs: Sequence[Any], dtypes: Sequence[np.dtype[Any] | None], memory: Memory = HOST
) -> list[Any]:
    """Returns what a kernel returned as one entry per output that it makes, new arrays of a memory.

    Args:
        opdef: the op; of a gradient op, an output may be None.
        raw: what came back.
        inputs: those of the call.
        dtypes: those that were declared of the outputs, None for those of a list and where only the caller knows.
        memory: where the arrays lie.

    Raises:
        ArityError, ReturnError, DTypeError, AliasError: it is not what was declared.
    """
    schema, is_loose = opdef.schema, opdef.gradient_of is not None
    made: list[Any] = []
    arrays: list[Any] = []

    def one(position: int, dtype: np.dtype[Any] | None, value: Any) -> Any:
        if value is None and (is_loose or schema.outputs[position].may_lack):
            return None
        is_right = memory.is_new(value, inputs) and (value.dtype is dtype or dtype is None)
        if is_right and not any(np.may_share_memory(value, other) for other in arrays):
            arrays.append(value)
            return value
        array = as_array(opdef, schema.output_names[position], value, dtype, memory, inputs)
        if not memory.is_new(array, inputs):
            array = separate(opdef, position, array, inputs)
        # Two results that are one buffer, as `return dy, dy` gives them, become two.
        arrays.append(array.copy() if any(shares(array, other) for other in arrays) else array)
        return arrays[-1]

    for position, dtype, value in zip(schema.fresh_outputs, dtypes, as_outputs(opdef, raw), strict=True):
        decl = schema.outputs[position]
        if decl.kind == OBJECT:
            made.append(_checked_object(opdef, decl.name, value, inputs))
            continue
        if decl.kind != "list" or (value is None and is_loose):
            made.append(one(position, dtype, value))
            continue
        if not isinstance(value, (list, tuple)):
            raise ReturnError(
                f"{_where(opdef)}, output {decl.name!r}: expected a list of arrays, got {_kind(value)}",
                at=str(opdef.origin),
            )
        made.append([one(position, None, item) for item in value])
    return made


def as_outputs(opdef: OpDef, raw: Any) -> list[Any]:
    """Returns one entry per output that the kernel had to return, in order.

    Raises:
        ArityError: a wrong number of values.
        ReturnError: a dict whose keys are not the outputs.
    """
    schema = opdef.schema
    wanted = [schema.outputs[i] for i in schema.fresh_outputs]
    names = [decl.name for decl in wanted]
    if isinstance(raw, Mapping):
        by_name = {}
        for key, value in raw.items():  # gradients go by their inputs' names too
            spellings = (key, f"d{key}", f"{key}_grad") if opdef.gradient_of else (key,)
            by_name[next((name for name in spellings if name in names), key)] = value
        if set(by_name) != set(names):
            keys = ", ".join(map(str, raw)) or "none"
            raise ReturnError(f"{_where(opdef)}: expected a dict with keys {', '.join(names)}, got {keys}")
        return [by_name[name] for name in names]
    if len(wanted) == 1 and wanted[0].kind == "list":
        return [raw[0] if isinstance(raw, tuple) and len(raw) == 1 and isinstance(raw[0], (list, tuple)) else raw]
    if not wanted and raw is None:
        return []
    is_nothing = raw is None and len(wanted) > 1
    values = list(raw) if isinstance(raw, (tuple, list)) else [raw]
    if is_nothing or len(values) != len(wanted):
        names = [f"residual {decl.name}" if isinstance(decl, ResidualDecl) else decl.name for decl in wanted]
        got, remedy = str(len(values)), "; return a tuple in that order, or a dict by name" if wanted else ""
        if is_nothing:
            declare = " What nothing depends on is declared: disconnected=(...)" if opdef.gradient_of else ""
            got, remedy = "nothing", f"; is a `return` missing?{declare}"
        elif len(wanted) == 1:
            remedy = _several(opdef)
        kind = "gradient" if opdef.gradient_of else "output"
        raise ArityError(
            f"{_where(opdef)}: expected {len(wanted)} {kind}{'' if len(wanted) == 1 else 's'} "
            f"({', '.join(names) or 'none'}), got {got}{remedy}",
            at=str(opdef.origin),
        )
    return values


def _checked_object(opdef: OpDef, name: str, value: Any, inputs: Sequence[Any]) -> Any:
    """Returns a residual that is an object of Python.

    Raises:
        ReturnError: it is None.
        AliasError: it holds an input, which may be changed before the backward reads it.
    """
    if value is None:
        raise ReturnError(
            f"{_where(opdef)}, residual {name!r}: expected an object, got nothing (None); return what the backward "
            "reads, or take it out of the residuals",
            at=str(opdef.origin),
        )
    for array in _arrays_in(value):
        for i, given in enumerate(inputs):
            if any(shares(array, source) for source in flat(given)):
                held = opdef.schema.inputs[i].name
                raise AliasError(
                    f"{opdef.subject}, residual {name!r}: expected arrays of its own, got one that shares memory with "
                    f"input {held!r}, which may change before the backward; name {held!r} in the backward, or copy it",
                    at=str(opdef.origin),
                )
    return value


def _arrays_in(value: Any) -> Iterator[Any]:
    """Yields the arrays in collections, in attributes of objects and in what functions read; libraries' are theirs."""
    held = list(value.values()) if isinstance(value, Mapping) else value
    return (array for _, array in captured(held, lambda item: isinstance(item, np.ndarray)))


def _called(opdef: OpDef, output: str) -> str:
    """Returns what messages call an output, or a tensor of one that is a list: residuals go by that name."""
    position = opdef.schema.output_names.index(output.partition("[")[0])
    return f"{opdef.schema.outputs[position].role} {output!r}"


def _several(opdef: OpDef) -> str:
    """Returns how an op of several outputs is declared, for an op that was declared with one."""
    if opdef.gradient_of is not None or opdef.function is None:
        return ""  # a backward's outputs follow from its forward, those of a py_func are Variables
    schema = opdef.schema
    takes = str(schema).partition("(")[2].rpartition(" -> ")[0]
    return f'; several outputs need a schema: @opsdk.op("{schema.name}({takes} -> (Tensor a, Tensor b)")'


def as_array(
    opdef: OpDef,
    output: str,
    value: Any,
    dtype: np.dtype[np.generic] | None,
    memory: Memory = HOST,
    inputs: Sequence[Any] = (),
) -> Any:
    """Returns a returned value as an array of a memory; NumPy scalars and plain numbers become 0-d arrays.

    The inputs of the call are for the message alone, which names those of another dtype than was declared.

    Raises:
        ReturnError: the value is not an array of that memory.
        DTypeError: its dtype is not the declared one.
    """
    array: Any
    if memory is not HOST and is_device_array(value):
        array = value
    elif memory is HOST and isinstance(value, np.ndarray):
        check_unmasked(value, f"{_where(opdef)}, {_called(opdef, output)}", ReturnError)
        array = value if type(value) is np.ndarray else np.asarray(value)
    elif isinstance(value, (np.generic, bool, int, float, complex)):
        array = np.asarray(value)
        if dtype is not None and not isinstance(value, np.generic):  # a plain number has no dtype of its own
            order = "biufc"
            kind = "f" if is_differentiable(dtype) and dtype.kind not in order else dtype.kind  # bfloat16 is kind V
            keeps_all = order.index(array.dtype.kind) <= order.index(kind)  # its fraction and its imaginary part
            array = np.asarray(value, dtype) if keeps_all else array
        array = array if memory is HOST else memory.from_host(array)
    else:
        wanted = "a NumPy array" if memory is HOST else f"an array at {memory.place} like its inputs"
        raise ReturnError(
            f"{_where(opdef)}, {_called(opdef, output)}: expected {wanted}, got {_kind(value)}", at=str(opdef.origin)
        )
    if dtype is not None and array.dtype != dtype and _is_promoted(opdef, array.dtype, dtype, inputs):
        with np.errstate(over="ignore"):  # of a finite number beyond the dtype, as where it is computed in it
            return array.astype(dtype)
    check_dtype(opdef, output, array, dtype, inputs)
    return array


def _is_promoted(opdef: OpDef, got: np.dtype[Any], wanted: np.dtype[Any], inputs: Sequence[Any]) -> bool:
    """Whether a kernel computed in a wider dtype because NumPy gives whole numbers one that holds all of them.

    So it does beside floats, and where a quotient is taken of them; no input is as wide then.
    """
    given = {item.dtype for value in inputs for item in flat(value)}
    word = word_of(wanted)
    is_wider = word == word_of(got) and word in ("float", "complex") and got.itemsize > wanted.itemsize
    has_whole = any(dtype.kind in "biu" for dtype in given)
    return is_wider and has_whole and got not in given and getattr(opdef.infer, "promotes", False)


# Any: an array of whichever module holds the memory; of inputs an array, a list of arrays or None.
def check_dtype(
    opdef: OpDef, output: str, array: Any, dtype: np.dtype[np.generic] | None, inputs: Sequence[Any] = ()
) -> None:
    """Holds an output to its declared dtype.

    Raises:
        DTypeError: it has another.
    """
    if dtype is not None and array.dtype != dtype:
        raise DTypeError(
            f"{_where(opdef)}, {_called(opdef, output)}: expected {dtype}, got {array.dtype}; "
            f"{_odd_inputs(opdef, inputs, array.dtype, dtype)}cast it with .astype, or declare the dtype with an infer "
            "rule",
            at=str(opdef.origin),
        )


def _odd_inputs(opdef: OpDef, inputs: Sequence[Any], got: np.dtype[Any], wanted: np.dtype[Any]) -> str:
    """Returns which inputs have the dtype that came out, where others have the one that was expected."""
    of: dict[np.dtype[Any], list[str]] = {got: [], wanted: []}
    for decl, value in zip(opdef.schema.inputs, inputs, strict=False):
        for dtype in {item.dtype for item in flat(value)} & of.keys():
            of[dtype].append(repr(decl.name))
    if not all(of.values()):
        return ""
    named = [f"{' and '.join(names)} {'are' if names[1:] else 'is'} {dtype}" for dtype, names in of.items()]
    return f"{', '.join(named)}: give them one dtype, "


def _kind(value: Any) -> str:
    return "nothing (None)" if value is None else type(value).__name__


def check_specs(opdef: OpDef, outputs: Sequence[Any], inferred: Inferred) -> None:
    """Holds the shapes of a run to the infer rule, and the dtypes of lists, which no plan knows beforehand.

    Raises:
        ArityError: a list has another length than inferred.
        ShapeError, DTypeError: an output has another shape or dtype than inferred.
        ReturnError: what may be absent is there though the rule says None, or the other way round.
    """
    for position, value in zip(opdef.schema.fresh_outputs, outputs, strict=True):
        name, spec = opdef.schema.outputs[position].name, inferred[position]
        if opdef.schema.outputs[position].kind == "optional":
            _check_there(opdef, name, value, spec)
        if isinstance(spec, TensorSpec) and hasattr(value, "shape"):
            _check_spec(opdef, name, value, spec)
        elif isinstance(spec, list) and isinstance(value, list):
            if len(spec) != len(value):
                raise ArityError(
                    f"{_where(opdef)}, output {name!r}: expected a list of {len(spec)} by its infer rule, "
                    f"got {len(value)}",
                    at=str(opdef.origin),
                )
            for i, (item, want) in enumerate(zip(value, spec, strict=True)):
                _check_there(opdef, f"{name}[{i}]", item, want)
                if want is not None:
                    _check_spec(opdef, f"{name}[{i}]", item, want)


# Any: an array or None; what the infer rule has in its place.
def _check_there(opdef: OpDef, name: str, value: Any, spec: Any) -> None:
    if (value is None) is not (spec is None):
        raise ReturnError(
            f"{_where(opdef)}, {_called(opdef, name)}: expected {'None' if spec is None else 'an array'} by its "
            f"infer rule, got {_kind(value)}; let @{opdef.schema.name}.infer return None where the result is None",
            at=str(opdef.origin),
        )


def _check_spec(opdef: OpDef, name: str, array: Any, spec: TensorSpec) -> None:
    if not spec.admits(array.shape):
        rule, remedy = "by its infer rule", "mend the rule or the result"
        if isinstance(opdef.infer, Assumed):
            first = opdef.schema.inputs[0] if opdef.schema.inputs else None
            like = repr(first.name) if first is not None and first.kind == "tensor" else "its first input"
            rule = f"like {like} by the default rule"
            remedy = (
                f"write the op's own: @{opdef.schema.name}.infer, which returns opsdk.TensorSpec(shape, dtype), or "
                "infer=opsdk.infer.reduce and the like"
            )
        raise ShapeError(
            f"{_where(opdef)}, {_called(opdef, name)}: expected shape {shape_text(spec.shape)} {rule}, "
            f"got {array.shape}; {remedy}",
            at=str(opdef.origin),
        )
    check_dtype(opdef, name, array, spec.dtype)


def shares(left: Any, right: Any) -> bool:
    """Whether two arrays overlap in memory; answered exactly where that is cheap, else on the safe side."""
    if left is right:
        return True
    if not np.may_share_memory(left, right):
        return False
    if not isinstance(left, np.ndarray):  # on a device, the exact answer costs more than a copy
        return True
    try:
        return bool(np.shares_memory(left, right, max_work=10_000))  # type: ignore[arg-type]  # any count is right
    except (np.exceptions.TooHardError, ValueError):
        return True


def separate(opdef: OpDef, position: int, array: Any, inputs: Sequence[Any]) -> Any:
    """Returns an output that shares no memory with an input, unless the schema allows it.

    A gradient that is a cotangent's own buffer is copied: `return dy` is right mathematics. A forward that hands out
    its input is refused, since a later change of one value would silently change the other.

    Raises:
        AliasError: an undeclared alias.
    """
    schema = opdef.schema
    allowed = schema.aliased_sources(position)
    for i, value in enumerate(inputs):
        for source in flat(value):
            if i in allowed or not shares(array, source):
                continue
            if opdef.gradient_of is not None or opdef.is_composite:
                return array.copy()
            name, output = schema.inputs[i].name, schema.outputs[position].name
            what = f"input {name!r} itself" if array is source else f"a view of input {name!r}"
            if isinstance(schema.outputs[position], ResidualDecl):
                keeping = "" if i in schema.mutated_inputs else f"name {name!r} in the backward, which keeps it, or "
                raise AliasError(
                    f"{opdef.subject}, residual {output!r}: expected a new array, got {what}; {keeping}return a copy",
                    at=str(opdef.origin),
                )
            raise AliasError(
                f"{opdef.subject}, output {output!r}: expected a new array, got {what}; "
                f"return a copy, or declare the alias: Tensor(a) {name} -> Tensor(a) {output}",
                at=str(opdef.origin),
            )
    return array


def _where(opdef: OpDef) -> str:
    if opdef.gradient_of is not None:
        return f"op {opdef.gradient_of!r}, backward {opdef.schema.name}"
    return opdef.subject

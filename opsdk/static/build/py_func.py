"""py_func: a Python callable as an operator of a Program, with Paddle's contract."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import ArityError, ProgramError
from opsdk.core.origin import origin_of
from opsdk.core.spec import TensorSpec
from opsdk.define.infer import Attrs, Inferred, Specs
from opsdk.define.kernel.kernel import REFERENCE, Kernel, KernelKey, KernelTable
from opsdk.define.op import Op
from opsdk.define.opdef import GradRule, OpDef, Source
from opsdk.define.schema.schema import InputDecl, OpSchema, OutputDecl
from opsdk.define.traits import Traits
from opsdk.static.build.recording import connect, stops
from opsdk.static.ir.block import Block
from opsdk.static.ir.operator import FORWARD, PY_FUNC
from opsdk.static.ir.variable import Variable

# Any, in this file: a user's callable takes arrays and returns whatever it returns; that is checked when it runs.
Function = Callable[..., Any]


class _Declared:
    """The specs that the output variables were created with; None of gradients, which are like the inputs."""

    reduces_gradients = False

    def __init__(self, specs: Sequence[TensorSpec | None]) -> None:
        self.specs = tuple(specs)

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        return self.specs


def py_func(
    func: Function,
    x: Variable | Sequence[Variable] | None,
    out: Variable | Sequence[Variable] | None,
    backward_func: Function | None = None,
    skip_vars_in_backward_input: Variable | Sequence[Variable] | None = None,
) -> Any:
    """Appends a call of a Python function to the Program.

    Args:
        func: takes one read-only array per variable of `x`, returns one array per variable of `out`.
        x: inputs; None for none.
        out: outputs, created before with `create_var`; their shapes and dtypes are held against every run. None for
            none.
        backward_func: takes the inputs, the outputs and the cotangents of the outputs, in this order, less what is
            skipped; returns one gradient per input, None for one that needs none.
        skip_vars_in_backward_input: inputs and outputs that `backward_func` does not take; it always takes the
            cotangents, zeros for an output that nothing used.

    Returns:
        `out`, the same object. Differentiable if there is a backward_func, once.

    Raises:
        ProgramError: an argument is not a Variable or not callable, the variables are of several Programs, an output
            is data or given twice, or a variable to skip is neither input nor output.
        ArityError: a function does not take as many arguments as it will get.
    """
    inputs, outputs = _listed(x, "x"), _listed(out, "out")
    skipped = _listed(skip_vars_in_backward_input, "skip_vars_in_backward_input")
    if not inputs and not outputs:
        raise ProgramError("py_func: expected variables as x or out, got none of either")
    for function, role in ((func, "func"), (backward_func, "backward_func")):
        if not callable(function) and not (function is None and role == "backward_func"):
            raise ProgramError(f"py_func: {role} expected a callable, got {type(function).__name__}")
    for variable in skipped:
        if not any(variable is held for held in (*inputs, *outputs)):
            raise ProgramError(
                f"py_func: skip_vars_in_backward_input expected inputs or outputs, {variable.name!r} is neither"
            )
    block = (inputs or outputs)[0].block
    _check_variables(block, inputs, outputs)
    check_arity(func, [variable.name for variable in inputs], "func")
    names = [f"x{i}" for i in range(len(inputs))], [f"out{i}" for i in range(len(outputs))]
    opdef = _definition(func, *names, [variable.spec for variable in outputs])
    if backward_func is not None:
        opdef = replace(opdef, rule=_rule(opdef, backward_func, inputs, outputs, skipped))
    with block.program.lock:
        for variable, stop in zip(outputs, stops(opdef, inputs), strict=True):
            variable.mark_stop(stop or variable.is_cut or not is_differentiable(variable.dtype))
        connect(block, opdef, inputs, outputs, {}, FORWARD)
    return out


def _listed(value: Any, role: str) -> list[Variable]:
    entries = [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
    for entry in entries:
        if not isinstance(entry, Variable):
            raise ProgramError(f"py_func: {role} expected Variables, got {type(entry).__name__}")
    return entries


def _check_variables(block: Block, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
    for variable in (*inputs, *outputs):
        if block.vars.get(variable.name) is not variable:
            raise ProgramError(
                f"py_func: expected variables of one Program, {(*inputs, *outputs)[0].name!r} and {variable.name!r} "
                "belong to two"
            )
    for position, variable in enumerate(outputs):
        if variable.is_data or variable.value is not None:
            kind = "data" if variable.is_data else "a constant"
            raise ProgramError(f"py_func: out expected variables to write to, {variable.name!r} is {kind}")
        if any(variable is other for other in outputs[:position]):
            raise ProgramError(f"py_func: out expected each variable once, got {variable.name!r} twice")


def check_arity(function: Function, given: Sequence[str], role: str, remedy: str = "") -> None:
    """Checks that a callable can be called with as many positional arguments as there are names in `given`.

    Raises:
        ArityError: it cannot.
    """
    name = getattr(function, "__name__", type(function).__name__)
    if isinstance(function, np.ufunc):  # more arguments than inputs would be buffers to write to
        if function.nin != len(given):
            raise ArityError(
                f"py_func: {role} {name} expected {len(given)} inputs like the call, it takes {function.nin}"
            )
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a class of a C extension, say, has no signature to read
    try:
        signature.bind(*given)
    except TypeError as error:
        raise ArityError(
            f"py_func: {role} {name}{signature} expected to take {len(given)} argument{'' if len(given) == 1 else 's'} "
            f"({', '.join(given)}), it does not: {error}{remedy}"
        ) from error


def _definition(
    source: Function,
    inputs: Sequence[str],
    outputs: Sequence[str],
    specs: Sequence[TensorSpec | None],
    gradient_of: str | None = None,
) -> OpDef:
    """Returns the op that a callable is, with inputs and outputs of these names."""
    name = getattr(source, "__name__", type(source).__name__)
    schema = OpSchema(
        PY_FUNC,
        name if name.isidentifier() else "callable",
        tuple(map(InputDecl, inputs)),
        (),
        tuple(map(OutputDecl, outputs)),
        positional=tuple(inputs),
    )
    kernels = KernelTable()
    kernels.add(Kernel(KernelKey("cpu"), REFERENCE, source, origin_of(source), schema.input_names))
    return OpDef(schema, _Declared(specs), Traits(), origin_of(source), kernels, gradient_of=gradient_of)


def _rule(
    opdef: OpDef,
    backward: Function,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    skipped: Sequence[Variable],
) -> GradRule:
    def kept(variable: Variable) -> bool:
        return not any(variable is held for held in skipped)

    sources = [Source("input", i) for i, variable in enumerate(inputs) if kept(variable)]
    sources += [Source("output", i) for i, variable in enumerate(outputs) if kept(variable)]
    sources += [Source("cotangent", i) for i in range(len(outputs))]
    held = {"input": inputs, "output": outputs, "cotangent": outputs}
    given = [f"{held[s.kind][s.position].name}{'@GRAD' if s.kind == 'cotangent' else ''}" for s in sources]
    remedy = "; inputs and outputs may be left out: skip_vars_in_backward_input=[...]"
    check_arity(backward, given, "backward_func", remedy)
    names = {"input": "x", "output": "out", "cotangent": "dout"}
    taken = [f"{names[source.kind]}{source.position}" for source in sources]
    made = [f"dx{i}" for i in range(len(inputs))]
    gradient = _definition(backward, taken, made, [None] * len(inputs), gradient_of=opdef.name)
    because = "a backward_func says nothing of them; register an op with @op.backward(complex=True) in its place"
    return GradRule(Op(gradient), tuple(sources), (), tuple(range(len(inputs))), real_because=because)

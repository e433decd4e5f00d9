"""Sweeps the expressions in the registry: the C that each is emitted as gives what NumPy and compiled kernels give."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.c.emit import c_source
from opsdk.backends.call.plan import make_plan
from opsdk.core.errors import DefinitionError
from opsdk.define.kernel.kernel import Kernel, KernelKey, KernelTable
from opsdk.define.op import Op, renewed
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.scalar import ScalarFunction
from opsdk.verify.inputs.sampling import calls_of

TOLERANCE = {"float32": 4e-6, "float64": 1e-13}


def has_expression(opdef):
    return any(
        isinstance(row.source, ScalarFunction) and not isinstance(row.source, RowFunction) for row in opdef.kernels
    )


def expressions():
    forward = [op for op in opsdk.REGISTRY if op.opdef.schema.namespace == "opsdk" and has_expression(op.opdef)]
    gradients = [op.grad for op in forward if op.grad is not None]
    return {op.opdef.name: op for op in [*forward, *gradients]}


OPS = expressions()


def with_c_row(op):
    """The op with its reference and the C kernel that its expression is emitted as."""
    text = c_source(op)
    reference = op.opdef.kernels.reference()
    kernels = KernelTable()
    names = (*op.opdef.schema.input_names, *op.opdef.schema.output_names, *op.opdef.schema.attr_names)
    kernels.restore([reference, Kernel(KernelKey("cpu"), "c", text, reference.origin, names, {})])
    return renewed(op.opdef, kernels=kernels)


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def agree(got, want, dtype):
    for one, other in zip(as_tuple(got), as_tuple(want), strict=True):
        if one is not None and other is not None:
            np.testing.assert_allclose(one, other, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("name", OPS)
def test_c_and_compiled_rows_agree_with_numpy(name):
    op = OPS[name]
    try:
        opdef = with_c_row(op)
    except DefinitionError as error:
        pytest.skip(f"no single C function: {error}")
    reference, row = opdef.kernels
    compiled = next(row for row in op.opdef.kernels if row.language == "numba" and row.key.place == "cpu")
    compared = 0
    for call in calls_of(op.opdef, None, 0):
        for dtype in TOLERANCE:
            with np.errstate(over="ignore"):
                cast = call.cast(np.dtype(dtype))
            if any(array.dtype != dtype for array in cast.inputs) or "overflow" in call.reason:
                continue
            want = make_plan(opdef, cast.inputs, cast.attrs, row=reference).run(cast.inputs, cast.attrs)
            for each, owner in ((row, opdef), (compiled, op.opdef)):
                agree(make_plan(owner, cast.inputs, cast.attrs, row=each).run(cast.inputs, cast.attrs), want, dtype)
            compared += 1
    assert compared


def test_the_sweep_has_something_to_sweep():
    assert {"opsdk::relu", "opsdk::relu_grad", "opsdk::elementwise_mul", "opsdk::elementwise_mul_grad"} <= set(OPS)
    assert isinstance(OPS["opsdk::relu"], Op)

"""The calls in the dtypes that a kernel declares of inputs beside the first."""

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs.calls import Call
from opsdk.verify.kernels.declared import declared

SOURCE = "int never_built;"


@pytest.fixture
def made():
    return opsdk.op("t::looked(Tensor pos, Tensor table, Tensor dy) -> Tensor y", infer=opsdk.infer.like("pos"))(
        lambda pos, table, dy: pos + table + dy
    )


def dtypes_of(op, call):
    (kernel,) = [kernel for kernel in op.opdef.kernels if kernel.language == "c"]
    return [tuple(str(array.dtype) for array in each.inputs) for each in declared(op.opdef, kernel, call)]


def call_of(*dtypes, extra=False):
    return Call([np.arange(3).astype(dtype) for dtype in dtypes], {}, extra=extra)


def test_every_combination_is_yielded_and_the_calls_own_is_first(made):
    said = {"table": ("float32", "float64"), "dy": ("float32", "float64")}
    made.kernel("cpu", language="c", dtype="float32", source=SOURCE, dtypes=said)
    assert dtypes_of(made, call_of("float32", "float64", "float32")) == [
        ("float32", "float64", "float32"),
        ("float32", "float32", "float32"),
        ("float32", "float32", "float64"),
        ("float32", "float64", "float64"),
    ]


def test_an_input_that_is_like_another_follows_it(made):
    said = {"table": ("float32", "float64"), "dy": "table"}
    made.kernel("cpu", language="c", dtype="float32", source=SOURCE, dtypes=said)
    assert dtypes_of(made, call_of("float32", "float32", "float32")) == [
        ("float32", "float32", "float32"),
        ("float32", "float64", "float64"),
    ]


def test_a_call_that_adds_to_others_gives_one_combination(made):
    made.kernel("cpu", language="c", dtype="float32", source=SOURCE, dtypes={"table": ("float32", "float64")})
    assert dtypes_of(made, call_of("float32", "float64", "float32", extra=True)) == [("float32", "float64", "float32")]


def test_where_nothing_is_declared_the_call_alone_is_yielded(made):
    made.kernel("cpu", language="c", dtype="float32", source=SOURCE)
    call = call_of("float32", "float32", "float32")
    (kernel,) = [kernel for kernel in made.opdef.kernels if kernel.language == "c"]
    (same,) = declared(made.opdef, kernel, call)
    assert same is call

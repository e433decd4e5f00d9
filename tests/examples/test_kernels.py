"""The kernels of examples/kernels: each row gives what a plain loop gives, and verify finds nothing.

Their CUDA rows run in tests/cuda_sim/sim_kernel_examples.py.
"""

import re

import numpy as np
import pytest

import opsdk
from opsdk.backends.call.buffers import asked_specs
from opsdk.define.op import REGISTRY
from opsdk.verify.kernels.launch import launch
from tests.contracts.tree import REPOSITORY
from tests.examples.references import EXAMPLES, FOLDER
from tests.thorough import assert_proven_thoroughly

pytest.importorskip("numba")
LANGUAGES = ["c (cpu, float32)", "c (cpu, float64)", "numba (cpu, *)", "numba (cuda, *)", "numpy (cpu, *)"]
TOLERANCE = {"float32": 2e-6, "float64": 1e-8}  # of results about 1; in float64 that of the differences


@pytest.fixture(params=EXAMPLES, ids=lambda example: example.name)
def example(request):
    """An example whose ops are forgotten after the test."""
    with REGISTRY.scoped():
        yield request.param


@pytest.fixture
def module(example):
    """Its file, run."""
    return example.load()


@pytest.fixture
def op(example, module):
    """The op that it is named after."""
    return getattr(module, example.name)


def cpu_rows(op, dtype):
    return [row for row in op.opdef.kernels if row.key.serves("cpu", np.dtype(dtype), (np.dtype(dtype),))]


def test_every_file_is_an_example_that_is_tested():
    names = {example.name for example in EXAMPLES}
    assert {path.stem for path in FOLDER.glob("*.py")} == {path.stem for path in FOLDER.glob("*.c")} == names


def test_both_directions_have_a_row_in_every_language(op):
    for each in (op, op.grad):
        assert sorted(map(str, each.opdef.kernels)) == LANGUAGES


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_cpu_row_gives_what_a_plain_loop_gives(example, op, dtype, rng):
    inputs, dy, y, gradients = example.call(rng)
    given = [array.astype(dtype) for array in inputs]
    (own,) = launch(op.opdef, op.opdef.kernels.reference(), given, example.attrs)
    values = {**dict(zip(op.opdef.schema.input_names, given, strict=True)), "y": own, "dy": dy.astype(dtype)}
    saved = [values[name] for name in op.grad.opdef.schema.input_names]
    attrs = {name: example.attrs[name] for name in op.grad.opdef.schema.attr_names if name in example.attrs}
    attrs |= asked_specs(op.grad.opdef, given)
    assert len(cpu_rows(op, dtype)) == len(cpu_rows(op.grad, dtype)) == 3
    for row in cpu_rows(op, dtype):
        (made,) = launch(op.opdef, row, given, example.attrs)
        np.testing.assert_allclose(made, y, rtol=0, atol=TOLERANCE[dtype], err_msg=str(row))
    for row in cpu_rows(op.grad, dtype):
        made = launch(op.grad.opdef, row, saved, attrs)
        for got, wanted in zip(made, gradients, strict=True):
            assert got.dtype == dtype
            np.testing.assert_allclose(got, wanted, rtol=0, atol=10 * TOLERANCE[dtype], err_msg=str(row))


def test_the_short_form_gives_what_a_plain_loop_gives(example, module, rng):
    if not example.short:
        assert not hasattr(module, f"{example.name}_expression")
        return
    inputs, dy, y, gradients = example.call(rng)
    tensors = [opsdk.to_tensor(array, stop_gradient=False) for array in inputs]
    made = getattr(module, f"{example.name}_expression")(*tensors, **example.attrs)
    np.testing.assert_allclose(made.numpy(), y, rtol=0, atol=1e-12)
    made.backward(opsdk.to_tensor(dy))
    for tensor, wanted in zip(tensors, gradients, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), wanted, rtol=0, atol=1e-8)


@pytest.mark.slow  # every kernel, also as it watches itself; a plain loop holds each with every run
def test_a_thorough_proof_passes_and_leaves_nothing_out(op):
    assert_proven_thoroughly(op)


@pytest.mark.slow  # the same, of the expressions
def test_a_thorough_proof_of_the_short_form_passes_and_leaves_nothing_out(example, module):
    if example.short:
        assert_proven_thoroughly(getattr(module, f"{example.name}_expression"))


def test_integers_go_to_a_row_that_takes_them(example, op):
    if example.name == "relu":
        assert op(np.array([-2, 3])).tolist() == [0, 3]


def test_shapes_that_no_kernel_expects_are_refused_before_one_runs(example, op):
    if example.name == "softmax":
        op(np.ones(3))
        with pytest.raises(ValueError, match=r"x expected at least one axis, got shape \(\)"):
            op(np.float32(1))
    if example.name == "scale_bias_gelu":
        op(np.ones((2, 3)), np.ones(3), np.ones(3))
        with pytest.raises(ValueError, match=r"w and b expected shape \(3,\), got \(2,\) and \(3,\)"):
            op(np.ones((2, 3)), np.ones(2), np.ones(3))


def test_the_files_are_short():
    for path in FOLDER.iterdir():
        if path.suffix in {".py", ".c"}:
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 180, path.name


def test_the_readme_names_every_file():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    files = set(re.findall(r"`(\w+\.(?:py|c))`", text))
    assert {path.name for path in FOLDER.glob("*.py")} <= files
    assert all((FOLDER / name).exists() or (REPOSITORY / name).exists() for name in files)

import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import BindingError, DefinitionError, MissingDependencyError
from opsdk.define.op import REGISTRY

X = np.array([1.0, 2.0])
# The kernels give other numbers than the reference: which one ran can be seen.
OPS = """
import opsdk

@opsdk.op("far::thrice(Tensor x, *, float by=3.0) -> Tensor y")
def thrice(x, by):
    return x * by
{rows}
"""
ROWS = "def forward(x, by):\n    return x * by + 100\n\nconstant = 3\n"


@pytest.fixture
def packaged(tmp_path, monkeypatch):
    """Makes a package of two modules, the second with kernels; gives what imports the op with a kernel."""
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "far_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")

    def make(source=".rows:forward", text=ROWS, **options):
        given = "".join(f", {name}={value!r}" for name, value in options.items())
        row = f'thrice.kernel("cpu", language="numba", source={source!r}{given})'
        (folder / "ops.py").write_text(OPS.format(rows=row))
        (folder / "rows.py").write_text(text)
        from far_package.ops import thrice

        return thrice

    yield make
    for name in [name for name in sys.modules if name.startswith("far_package")]:
        del sys.modules[name]


@pytest.mark.parametrize("source", [".rows:forward", "far_package.rows:forward"])
def test_the_module_is_imported_when_the_row_is_first_chosen(packaged, source):
    thrice = packaged(source)
    assert "far_package.rows" not in sys.modules
    assert thrice(X).tolist() == [103.0, 106.0]
    assert "far_package.rows" in sys.modules


def test_to_list_the_rows_imports_nothing(packaged):
    thrice = packaged()
    numpy, numba = thrice.opdef.kernels
    assert (str(numba), numba.source, numba.parameters) == ("numba (cpu, *)", "far_package.rows:forward", ())
    assert str(numba.origin).endswith("ops.py:7")
    assert thrice.opdef.kernels.reference() is numpy
    assert "far_package.rows" not in sys.modules


def test_the_row_is_told_from_where_its_function_is_once_that_is_known(packaged):
    thrice = packaged()
    thrice(X)
    _, numba = thrice.opdef.kernels
    assert str(numba.origin).endswith("rows.py:1")
    assert numba.parameters == ("x", "by")


def test_a_dtype_and_options_belong_to_the_row(packaged):
    thrice = packaged(dtype="float32", contiguous=True, text="def forward(x, by):\n    return x + x\n")
    assert thrice(X).tolist() == [3.0, 6.0]
    assert "far_package.rows" not in sys.modules
    assert thrice(X.astype("float32")).tolist() == [2.0, 4.0]
    assert thrice.opdef.kernels.select("cpu", np.dtype("float32")).options == {"contiguous": True}


def test_threads_that_choose_it_at_once_get_the_same_numbers(packaged):
    thrice = packaged(text="import time\n" + ROWS)
    found = []
    threads = [threading.Thread(target=lambda: found.append(thrice(X).tolist())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[103.0, 106.0]] * 8


def test_verify_judges_such_a_row_without_a_call_before(packaged):
    thrice = packaged()
    report = opsdk.verify(thrice)
    (wrong,) = [finding for finding in report.findings if finding.check == "value.y"]
    assert (wrong.row, wrong.analytic, wrong.numeric) == ("cpu,float64,numba", 100.0, 0.0)


def test_the_gradient_op_has_such_rows_too(packaged):
    thrice = packaged(text=ROWS + "def back(x, by, dy):\n    return dy * 50\n")

    @thrice.backward
    def thrice_grad(x, by, dy):
        return dy * by

    thrice_grad.kernel("cpu", language="numba", source="far_package.rows:back")
    x = opsdk.to_tensor(X, stop_gradient=False)
    thrice(x).sum().backward()
    assert x.grad.numpy().tolist() == [50.0, 50.0]


@pytest.mark.parametrize("source", ["rows", "rows.c", "a b:f", ":f", "rows:", "rows:f g", "..:f", 3, b"rows:f"])
def test_a_source_that_names_no_function_of_a_module_is_refused(source):
    @opsdk.op("t::near(Tensor x) -> Tensor y")
    def near(x):
        return x

    with pytest.raises(DefinitionError) as caught:
        near.kernel("cpu", language="numba", source=source)
    assert str(caught.value) == (
        "op 't::near', numba kernel: source expected 'module:function', such as '.rows:forward', got "
        f"{source!r}; write @op.kernel(...) above a function of this module"
    )
    assert [row.language for row in near.opdef.kernels] == ["numpy"]


def test_a_function_and_a_source_are_one_too_many(packaged):
    thrice = packaged()
    told = "expected a function or source=, got f and '.rows:forward'"

    def f(x):
        return x

    with pytest.raises(DefinitionError, match=told):
        thrice.kernel("cpu", f, language="numba", source=".rows:forward")
    with pytest.raises(DefinitionError, match=told):
        thrice.kernel("cpu", language="numba", source=".rows:forward", dtype="float32")(f)


def test_a_module_beside_one_that_has_no_package_is_refused():
    text = OPS.format(rows='thrice.kernel("cpu", language="numba", source=".rows:forward")')
    with pytest.raises(DefinitionError) as caught:
        exec(compile(text, "loose.py", "exec"), {"__name__": "loose"})
    assert str(caught.value) == (
        "op 'far::thrice', numba kernel: source '.rows:forward' expected a package around the module 'loose', got "
        "none; name the module in full"
    )


def test_a_module_that_needs_what_is_not_installed_says_so_at_the_call(packaged):
    thrice = packaged(text="import no_such_package_anywhere\n")
    with pytest.raises(MissingDependencyError) as caught:
        thrice(X)
    assert str(caught.value) == (
        "op 'far::thrice', numba kernel far_package.rows:forward: the module cannot be imported (No module named "
        "'no_such_package_anywhere'); install what it needs"
    )


def test_a_module_that_raises_is_named(packaged):
    thrice = packaged(text="raise ValueError('no')\n")
    with pytest.raises(DefinitionError) as caught:
        thrice(X)
    assert str(caught.value) == (
        "op 'far::thrice', numba kernel far_package.rows:forward: the module expected to be importable, raised "
        "ValueError: no"
    )


def test_an_error_of_opsdk_in_the_module_passes_as_it_is(packaged):
    thrice = packaged(text="import opsdk\nraise opsdk.errors.ShapeError('as it is')\n")
    with pytest.raises(opsdk.errors.ShapeError, match="as it is"):
        thrice(X)


@pytest.mark.parametrize(("name", "got"), [("forwards", "nothing of that name"), ("constant", "int")])
def test_a_name_that_is_no_function_of_the_module_is_told_with_those_there_are(packaged, name, got):
    thrice = packaged(f".rows:{name}")
    with pytest.raises(BindingError) as caught:
        thrice(X)
    assert str(caught.value) == (
        f"op 'far::thrice', numba kernel far_package.rows:{name}: expected a function, got {got}; there are forward"
    )


def test_a_parameter_that_the_op_does_not_have_is_refused_when_it_is_seen(packaged):
    thrice = packaged(text="def forward(x, bye):\n    return x\n")
    with pytest.raises(BindingError, match=r"forward\(x, bye\): nothing is called 'bye'; there are by, x, y"):
        thrice(X)


@pytest.mark.parametrize("name", ["room", "1a"])
def test_a_scratch_that_the_kernel_does_not_take_is_refused(name):
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x)
    with pytest.raises(BindingError, match=f"scratch '{name}' expected a parameter of that name, got x, y; take it"):
        op.kernel(
            "cuda",
            lambda x, y: None,
            language="numba",
            launch=opsdk.launch.elementwise("y"),
            scratch={name: lambda x: opsdk.TensorSpec(x.shape, "float64")},
        )
    assert len(list(op.opdef.kernels)) == 1


# -- texts

SOURCE = "int32_t f_f32(const DLTensor *x, DLTensor *y) { return 0; }"


@pytest.fixture
def op():
    with REGISTRY.scoped():

        @opsdk.op("t::f(Tensor x, *, float slope=0.5) -> Tensor y")
        def f(x, slope):
            return np.copy(x)

        yield f


def test_a_text_kernel_is_data_and_holds_the_line_that_registered_it(op):
    op.kernel("cpu", language="c", source=SOURCE, dtype="float32", openmp=True)
    (row,) = [row for row in op.opdef.kernels if row.language == "c"]
    assert (str(row), row.source, row.parameters) == ("c (cpu, float32)", SOURCE, ("x", "y", "slope"))
    assert row.options["openmp"] is True
    assert str(row.origin).endswith("test_notation.py:222")


def test_a_language_that_reads_text_refuses_a_function(op):
    text = "op 't::f': language 'c' expected source=, a file or its text, got the Python function kernel; call kernel"

    def kernel(x):
        raise AssertionError

    with pytest.raises(DefinitionError) as caught:
        op.kernel("cpu", kernel, language="c")
    assert str(caught.value).startswith(text)
    with pytest.raises(DefinitionError) as caught:
        op.kernel("cpu", language="c", source=SOURCE)(kernel)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(("source", "said"), [(None, "nothing"), (3, "3"), (b"x", "b'x'")])
def test_a_language_that_reads_text_refuses_what_is_no_text(op, source, said):
    with pytest.raises(DefinitionError, match=f"expected source=, a file or its text, got {said}"):
        op.kernel("cpu", language="c", source=source)
    assert [row.language for row in op.opdef.kernels] == ["numpy"]


def test_a_path_is_a_source_too(op, tmp_path):
    file = Path(tmp_path, "f.c")
    file.write_text(SOURCE)
    op.kernel("cpu", language="c", source=file)
    assert next(row for row in op.opdef.kernels if row.language == "c").source == str(file)


@pytest.mark.parametrize("results", ["(Tensor y, Tensor z)", "Tensor y, residuals (Tensor z)"])
def test_a_kernel_fills_all_outputs_and_residuals_or_none(results):
    two = opsdk.op(f"t::two(Tensor x) -> {results}")(lambda x: (x, x))
    held = list(two.opdef.kernels)
    with pytest.raises(BindingError) as caught:
        two.kernel("cpu", lambda x, z: x, language="numba")
    assert str(caught.value).startswith(
        "op 't::two', numba kernel <lambda>: expected a parameter for every output and residual, which the kernel "
        "fills, or for none, got none for 'y'; take all of y, z"
    )
    assert list(two.opdef.kernels) == held

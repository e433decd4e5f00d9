import numpy as np
import pytest

import opsdk
from opsdk.core.errors import KernelNotFoundError, NameClashError, UnknownOpError

X = np.array([1.0, 2.0])


def double(x):
    return 2 * x


@pytest.fixture
def op():
    made = opsdk.op(double, namespace="t")
    made.backward(lambda dy: 2 * dy)
    return made


@pytest.mark.parametrize("given", ["op", "t::double", "double"])
def test_an_op_that_is_unregistered_is_not_found_and_works_on(op, given):
    opsdk.unregister(op if given == "op" else given)
    for name in ("t::double", "t::double_grad"):
        with pytest.raises(UnknownOpError):
            opsdk.find_op(name)
    x = opsdk.to_tensor(X, stop_gradient=False)
    op(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_name_that_was_unregistered_is_free_for_another_file(op, run_file, capsys):
    opsdk.unregister(op)
    other = run_file("t/other.py", "@opsdk.op(namespace='t')\ndef double(x):\n    return x + x\n")["double"]
    assert opsdk.find_op("t::double") is other
    assert capsys.readouterr().err == ""


def test_an_op_whose_name_belongs_to_another_is_not_unregistered(op):
    other = opsdk.op(lambda x: x, name="double", namespace="t", replace=True)
    with pytest.raises(UnknownOpError, match="expected its name to be registered for it, the op defined at"):
        opsdk.unregister(op)
    assert opsdk.find_op("t::double") is other
    opsdk.unregister(other)
    with pytest.raises(UnknownOpError, match="got another op or none; unregister that one by its name"):
        opsdk.unregister(other)


def test_a_name_that_nothing_has_is_refused():
    with pytest.raises(UnknownOpError, match="not registered"):
        opsdk.unregister("t::nothing")


def test_a_built_in_op_is_not_unregistered():
    with pytest.raises(NameClashError, match=r"expected an op to unregister that is not built in, got one of 'opsdk'"):
        opsdk.unregister("relu")
    assert opsdk.find_op("relu") is not None


def test_a_scope_forgets_what_was_registered_redefined_or_given_inside_it(op, capsys):
    gradient = op.grad
    with opsdk.scoped_registry():
        opsdk.op(double, name="other", namespace="t")
        redefined = opsdk.op(lambda x: 3 * x, name="double", namespace="t", replace=True)
        op.kernel("cpu", lambda x: x * 2.0, language="numba")
        assert opsdk.find_op("t::double") is redefined
    assert "t::other" not in opsdk.REGISTRY
    assert opsdk.find_op("t::double") is op
    assert opsdk.find_op("t::double_grad") is gradient
    assert redefined(X).tolist() == [3.0, 6.0]
    capsys.readouterr()


def test_a_kernel_is_taken_back(op):
    def first(x, y):
        y[:] = 7.0

    op.kernel("cpu", first, language="numba", dtype="float64")
    assert op(X).tolist() == [7.0, 7.0]
    op.unregister_kernel("cpu", language="numba", dtype="float64")
    assert op(X).tolist() == [2.0, 4.0]


def test_a_kernel_that_is_not_there_and_the_reference_are_not_taken_back(op):
    with pytest.raises(KernelNotFoundError) as caught:
        op.unregister_kernel("cpu", language="numba")
    assert str(caught.value) == (
        "op 't::double': expected a kernel to take back, got numba (cpu, *); registered: none beside the reference"
    )
    with pytest.raises(KernelNotFoundError, match=r"got numpy \(cpu, \*\); registered: none beside the reference"):
        op.unregister_kernel("cpu", language="numpy")


def test_the_first_to_end_of_blocks_that_overlap_forgets_for_the_others_too():
    kept = opsdk.register_op("scoped::kept", forward=lambda x: x * 1.0)
    first, second = opsdk.scoped_registry(), opsdk.scoped_registry()
    first.__enter__()
    kept.kernel("cpu", language="numba")(lambda x, y: None)
    opsdk.register_op("scoped::kept", forward=lambda x: x * 7.0, replace=True)
    opsdk.register_op("scoped::tried", forward=lambda x: x * 7.0)
    second.__enter__()
    first.__exit__(None, None, None)
    assert opsdk.find_op("scoped::kept") is kept
    second.__exit__(None, None, None)
    assert opsdk.find_op("scoped::kept") is kept
    assert [kernel.language for kernel in kept.opdef.kernels] == ["numpy"]
    assert "scoped::tried" not in opsdk.REGISTRY

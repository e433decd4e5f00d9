import functools
import types

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import (
    BindingError,
    DefinitionError,
    KernelNotFoundError,
    NameClashError,
    SchemaError,
    UnknownOpError,
)
from opsdk.define.decorators import namespace_of

X = np.array([-1.0, 2.0])


def relu_of(x):
    return np.maximum(x, 0)


def test_a_bare_decorator_reads_the_schema_from_the_function():
    op = opsdk.op(relu_of)
    assert op.schema == "tests::relu_of@1(Tensor x) -> Tensor y"
    assert op(X).tolist() == [0.0, 2.0]


def test_a_schema_as_text_gives_name_namespace_and_version():
    op = opsdk.op("contrib::ramp@4(Tensor x) -> Tensor out")(relu_of)
    assert op.schema == "contrib::ramp@4(Tensor x) -> Tensor out"


def test_options_change_name_and_namespace():
    assert opsdk.op(name="ramp", namespace="contrib")(relu_of).schema == "contrib::ramp@1(Tensor x) -> Tensor y"


def test_a_forward_may_name_its_parameters_in_any_order():
    @opsdk.op("t::axpy(Tensor x, Tensor y, *, float a) -> Tensor out")
    def axpy(y, x, *, a):
        return a * x + y

    assert axpy(X, np.ones(2), a=3.0).tolist() == [-2.0, 7.0]


def test_the_docstring_of_the_function_is_the_ops():
    def documented(x):
        """Half of x.

        Exactly.
        """
        return x / 2

    assert opsdk.op(documented).__doc__ == "Half of x.\n\nExactly.\n\ntests::documented@1(Tensor x) -> Tensor y"


def test_an_op_without_a_docstring_shows_its_schema():
    assert opsdk.op(relu_of).__doc__ == "tests::relu_of@1(Tensor x) -> Tensor y"


def test_a_callable_without_a_name_needs_one():
    half = functools.partial(lambda k, x: k * x, 0.5)
    with pytest.raises(DefinitionError, match=r"has no name of its own; pass name='...'"):
        opsdk.op(half)
    assert opsdk.op(half, name="half")(X).tolist() == [-0.5, 1.0]


def test_a_lambda_has_no_name_of_its_own():
    with pytest.raises(DefinitionError, match="has no name of its own; pass name="):
        opsdk.op(lambda x: x)


def test_a_forward_parameter_that_the_schema_has_not_is_refused():
    with pytest.raises(BindingError) as caught:
        opsdk.op("t::f(Tensor x, *, int axis=0) -> Tensor y")(lambda x, axes: x)
    assert str(caught.value) == "op 't::f', forward <lambda>(x, axes): nothing is called 'axes'; there are axis, x"


def test_a_forward_that_does_not_take_what_the_schema_declares_is_refused():
    with pytest.raises(BindingError) as caught:
        opsdk.op("t::f(Tensor x, *, int axis=0) -> Tensor y")(relu_of)
    assert str(caught.value) == (
        "op 't::f', forward relu_of(x): expected a parameter 'axis', which the schema declares"
    )


def test_a_promise_about_a_name_that_the_op_has_not_is_refused():
    with pytest.raises(DefinitionError) as caught:
        opsdk.op(namespace="t", nondifferentiable=("z",))(relu_of)
    assert str(caught.value) == "op 't::relu_of': 'z' was declared, but its inputs and outputs are x, y"


def test_a_definition_that_is_refused_registers_nothing():
    with pytest.raises(SchemaError):
        opsdk.op("t::f(Tensor x -> Tensor y")(relu_of)
    with pytest.raises(DefinitionError):
        opsdk.op(namespace="t", nondifferentiable=("z",))(relu_of)
    assert not any(name.startswith("t::") for name in opsdk.REGISTRY.names())


def test_the_function_form_defines_the_same_op():
    op = opsdk.register_op("t::ramp", forward=relu_of, backward=lambda y, dy: dy * (y > 0))
    assert op.schema == "t::ramp@1(Tensor x) -> Tensor y"
    assert op.grad.schema == "t::ramp_grad@1(Tensor y, Tensor dy) -> Tensor dx"


def test_the_function_form_takes_a_bare_name_and_a_whole_schema():
    assert opsdk.register_op("ramp", forward=relu_of).opdef.name == "tests::ramp"
    assert opsdk.register_op("t::ramp(Tensor x) -> Tensor out", forward=relu_of).opdef.schema.output_names == ("out",)


def test_the_function_form_takes_a_composite_backward():
    op = opsdk.register_op("t::ramp", forward=relu_of, backward=lambda y, dy: dy * y, composite=True)
    assert op.grad.opdef.is_composite
    assert not op.opdef.is_composite


def test_the_function_form_twice_is_the_same_op():
    made = [opsdk.register_op("t::ramp", forward=relu_of, backward=np_grad) for _ in range(2)]
    assert made[0] is made[1]


def np_grad(y, dy):
    return dy * (y > 0)


def test_a_rule_for_shapes_may_be_a_stock_rule_its_class_or_a_function():
    for rule in (opsdk.infer.like(), opsdk.infer.like, lambda x: x):
        assert opsdk.op(infer=rule, replace=True, namespace="t")(relu_of)(X).shape == (2,)


@pytest.mark.parametrize(
    ("rule", "remedy"), [("broadcast", "broadcast"), ("reduce", "reduce"), ("same", "broadcast"), (3, "broadcast")]
)
def test_a_rule_for_shapes_that_is_none_is_refused(rule, remedy):
    with pytest.raises(DefinitionError) as caught:
        opsdk.op(infer=rule, namespace="t")(relu_of)
    assert str(caught.value) == (
        f"op 't::relu_of', infer: expected a rule or a function of specs, got {rule!r}; "
        f"write infer=opsdk.infer.{remedy}"
    )


@pytest.mark.parametrize("definition", [3, ["t::f"], b"t::f"])
def test_what_is_neither_function_nor_schema_is_refused(definition):
    with pytest.raises(DefinitionError) as caught:
        opsdk.op(definition)
    assert str(caught.value) == (
        f"op: expected a function, or a schema as text, got {definition!r}; write @opsdk.op above the function"
    )


def test_an_option_that_there_is_not_is_named():
    with pytest.raises(TypeError, match="unexpected keyword argument 'infr'"):
        opsdk.op(infr=opsdk.infer.broadcast)


def made_in(module):
    function = types.FunctionType(relu_of.__code__, {})
    function.__module__ = module
    return function


@pytest.mark.parametrize(
    ("module", "namespace"),
    [
        ("my_ops.activations.relu", "my_ops"),
        ("my-ops", "my_ops"),
        ("_private", "private"),
        ("2fast", "fast"),
        ("--", "main"),
    ],
)
def test_the_namespace_is_the_defining_package_as_an_identifier(module, namespace):
    assert namespace_of(made_in(module)) == namespace


@pytest.mark.parametrize(
    ("file", "namespace"), [("/a/b/relu.py", "relu"), ("C:\\ops\\my relu.py", "my_relu"), (None, "main")]
)
def test_the_namespace_of_a_script_is_its_file_and_that_of_a_notebook_main(monkeypatch, file, namespace):
    main = types.ModuleType("__main__")
    main.__file__ = file
    monkeypatch.setitem(__import__("sys").modules, "__main__", main)
    assert namespace_of(made_in("__main__")) == namespace


# -- names that are taken back


VALUES = np.array([1.0, 2.0])


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
    x = opsdk.to_tensor(VALUES, stop_gradient=False)
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
    assert redefined(VALUES).tolist() == [3.0, 6.0]
    capsys.readouterr()


def test_a_kernel_is_taken_back(op):
    def first(x, y):
        y[:] = 7.0

    op.kernel("cpu", first, language="numba", dtype="float64")
    assert op(VALUES).tolist() == [7.0, 7.0]
    op.unregister_kernel("cpu", language="numba", dtype="float64")
    assert op(VALUES).tolist() == [2.0, 4.0]


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

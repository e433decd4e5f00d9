import copy
import os
import pickle

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, BindingError, DefinitionError, DTypeError, KernelNotFoundError
from opsdk.define.op import find_op


@pytest.fixture
def half():
    @opsdk.op(namespace="t")
    def half(x):
        return x / 2

    return half


def test_an_op_is_called_as_its_function_is(half):
    assert half(np.array([2.0])).tolist() == [1.0]
    assert half(x=np.array([2.0])).tolist() == [1.0]


def test_an_op_has_the_name_and_the_schema_of_its_definition(half):
    assert (half.__name__, half.schema) == ("half", "t::half@1(Tensor x) -> Tensor y")


def test_an_op_prints_with_its_schema_and_where_it_was_defined(half):
    line = half.opdef.origin.line
    assert repr(half).startswith("<op t::half@1(Tensor x) -> Tensor y at ")
    assert repr(half).endswith(f"test_op.py:{line}>")


def test_copies_of_an_op_are_the_op(half):
    assert copy.copy(half) is half
    assert copy.deepcopy([half])[0] is half
    assert pickle.loads(pickle.dumps(half)) is half


def test_the_backward_is_an_op_that_is_registered(half):
    gradient = half.backward(lambda dy: dy / 2)
    assert half.grad is gradient
    assert find_op("t::half_grad") is gradient


def test_an_op_without_a_backward_has_no_gradient_op(half):
    assert half.grad is None


def test_a_backward_from_the_same_file_takes_the_place_of_the_earlier_one(half):
    half.backward(lambda dy: dy / 3)
    second = half.backward(lambda dy: dy / 2)
    assert half.grad is second


def test_another_backward_from_the_same_file_is_told_and_after_a_use_needs_replace(half, capsys):
    first = half.backward(lambda dy: dy / 3)
    second = half.backward(lambda dy: dy / 2)
    assert "t::half_grad redefined" in capsys.readouterr().err
    half(opsdk.to_tensor([1.0], stop_gradient=False))
    with pytest.raises(DefinitionError) as caught:
        half.backward(lambda dy: dy / 4)
    assert str(caught.value).startswith(f"op 't::half': has a backward from {second.opdef.origin} ")
    assert "and is used in a graph already, got another from" in str(caught.value)
    assert str(caught.value).endswith("; run the definition of the op again, or pass replace=True")
    assert half.grad is second
    assert first is not second
    third = half.backward(replace=True)(lambda dy: dy / 4)
    assert half.grad is third


GIVEN = {
    "infer": "{how}(lambda x: opsdk.TensorSpec(x.shape, 'float{width}'){more})",
    "check": "{how}(lambda x: None if x.size < {width} else 'x expected to be small'{more})",
    "samples": "{how}(lambda rng: [opsdk.Sample(rng.normal(size={width}), reason='some')]{more})",
    "bench": "{how}(lambda rng, n: opsdk.Sample(rng.normal(size={width} * n), reason='some'){more})",
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_one_file_gave_another_replaces_only_where_it_says_so(half, run_file, name):
    scope = {"half": half, "opsdk": opsdk}
    text = GIVEN[name].replace("{how}", f"half.{name}")
    run_file("my_ops/first.py", text.format(width=32, more=""), scope=scope)
    given = half.opdef
    run_file("my_ops/same.py", text.format(width=32, more=""), scope=scope)
    with pytest.raises(DefinitionError) as caught:
        run_file("my_ops/second.py", text.format(width=64, more=""), scope=scope)
    assert str(caught.value) == (
        f"op 't::half', {name}: has one from my_ops{os.sep}first.py:1, got another from my_ops{os.sep}second.py:1; "
        "pass replace=True to replace it"
    )
    assert getattr(half.opdef, name) is not None
    run_file("my_ops/first.py", text.format(width=16, more=""), scope=scope)
    run_file("my_ops/second.py", text.format(width=64, more=", replace=True"), scope=scope)
    assert getattr(half.opdef, name) is not getattr(given, name)


def test_a_rule_that_came_with_the_definition_is_another_files_too(run_file):
    op = run_file("my_ops/first.py", "@opsdk.op(infer=opsdk.infer.broadcast)\ndef f(x):\n    return x\n")["f"]
    with pytest.raises(DefinitionError, match=r"infer: has one from my_ops.first.py:1, got another from"):
        op.infer(opsdk.infer.reduce)


BACKWARD = "def half_grad(dy):\n    return dy / 2\ngradient = half.backward({})(half_grad)"


def test_a_backward_from_another_file_is_refused_with_both_places(half, run_file):
    scope = {"half": half}
    run_file("my_ops/first.py", BACKWARD.format(""), scope=scope)
    with pytest.raises(DefinitionError) as caught:
        run_file("my_ops/second.py", BACKWARD.format("").replace("/ 2", "/ 3"), scope=scope)
    assert str(caught.value) == (
        f"op 't::half': has a backward from my_ops{os.sep}first.py:1, got another from my_ops{os.sep}second.py:1; "
        "pass replace=True to replace it"
    )
    assert half.grad is scope["gradient"]


def test_the_same_backward_from_another_file_changes_nothing(half, run_file):
    scope = {"half": half}
    first = run_file("my_ops/first.py", BACKWARD.format(""), scope=scope)["gradient"]
    assert run_file("my_ops/second.py", BACKWARD.format(""), scope=scope)["gradient"] is first


def test_the_same_text_under_other_conditions_is_another_backward(half, run_file):
    scope = {"half": half}
    run_file("my_ops/first.py", BACKWARD.format(""), scope=scope)
    with pytest.raises(DefinitionError, match="pass replace=True to replace it"):
        run_file("my_ops/second.py", BACKWARD.format("composite=True"), scope=scope)


def test_replace_takes_a_backward_from_another_file(half, run_file):
    scope = {"half": half}
    run_file("my_ops/first.py", BACKWARD.format(""), scope=scope)
    run_file("my_ops/second.py", BACKWARD.format("replace=True").replace("/ 2", "/ 3"), scope=scope)
    assert half.grad is scope["gradient"]


def test_a_backward_after_the_first_use_in_a_graph_is_refused(half):
    half(opsdk.to_tensor([1.0], stop_gradient=False))
    with pytest.raises(DefinitionError) as caught:
        half.backward(lambda dy: dy / 2)
    assert str(caught.value) == (
        "op 't::half': expected its backward before its first use in a graph, got it after; define it earlier or pass "
        "replace=True, graphs that exist keep the op without a backward"
    )


def test_a_backward_after_a_use_that_was_not_recorded_is_accepted(half):
    half(np.array([1.0]))
    half(opsdk.to_tensor([1.0]))
    half.backward(lambda dy: dy / 2)
    assert half.grad is not None


def test_a_kernel_row_may_name_inputs_outputs_and_attributes_in_any_order(half):
    def filled(y, x):
        y[:] = x / 2

    half.kernel("cpu", filled, language="numba", dtype="float32", contiguous=True)
    row = list(half.opdef.kernels)[-1]
    assert (row.parameters, str(row.key), row.options) == (("y", "x"), "(cpu, float32)", {"contiguous": True})


def test_one_kernel_serves_the_dtypes_that_it_names_and_no_other(half):
    @half.kernel("cpu", language="numba", dtype=("float32", np.float16))
    def always_seven(x, y):
        y[:] = 7

    assert [half(np.ones(1, dtype))[0] for dtype in ("float32", "float64")] == [7, 0.5]
    assert always_seven.__name__ == "always_seven"
    half.unregister_kernel("cpu", language="numba", dtype=("float32", "float16"))
    assert half(np.ones(1, "float32"))[0] == 0.5


def test_kernels_of_several_dtypes_are_taken_back_at_once(half):
    def kernel(x):
        return 7 * x

    half.kernel("cpu", kernel, language="numba", dtype=("float32", "float64"))
    half.kernel("cpu", kernel, language="numba")
    half.unregister_kernel("cpu", language="numba")  # that of every dtype
    assert [str(each.key) for each in half.opdef.kernels] == ["(cpu, *)", "(cpu, float32)", "(cpu, float64)"]
    half.unregister_kernel("cpu", language="numba")
    assert list(half.opdef.kernels) == [half.opdef.kernels.reference()]
    with pytest.raises(KernelNotFoundError, match=r"expected a kernel to take back, got numba \(cpu, \*\)"):
        half.unregister_kernel("cpu", language="numba")


def test_a_text_serves_several_dtypes_too(half):
    half.kernel(
        "cpu",
        language="c",
        dtype=("float32", "float64"),
        contiguous=True,
        source="""
        void half_f32(const DLTensor *x, DLTensor *y) { *OPSDK_DATA(float, y) = 7; }
        void half_f64(const DLTensor *x, DLTensor *y) { *OPSDK_DATA(double, y) = 8; }
    """,
    )
    assert [half(np.ones(1, dtype))[0] for dtype in ("float32", "float64", "float16")] == [7, 8, 0.5]


def test_either_all_dtypes_of_a_kernel_are_registered_or_none(half):
    before = list(half.opdef.kernels)
    with pytest.raises(DTypeError, match=r"expected one of bool, .*, got 'float31'"):
        half.kernel("cpu", lambda x: x, language="numba", dtype=("float32", "float31"))
    with pytest.raises(DTypeError, match=r"dtype expected one or several, got \(\); leave dtype= out for a kernel of"):
        half.kernel("cpu", lambda x: x, language="numba", dtype=())
    half.kernel("cpu", lambda x: x, language="numba", dtype="float32")
    with pytest.raises(KernelNotFoundError, match=r"a kernel to take back, got numba \(cpu, float64\); registered: "):
        half.unregister_kernel("cpu", language="numba", dtype=("float32", "float64"))
    assert len(list(half.opdef.kernels)) == len(before) + 1


def test_a_kernel_is_handed_back_by_its_decorator(half):
    def kernel(x):
        return x / 2

    assert half.kernel("cpu", language="numba")(kernel) is kernel


def test_a_kernel_parameter_that_names_nothing_is_refused(half):
    with pytest.raises(BindingError) as caught:
        half.kernel("cpu", language="numba")(lambda x, out: None)
    assert str(caught.value) == "op 't::half', numba kernel <lambda>(x, out): nothing is called 'out'; there are x, y"


@pytest.mark.parametrize(
    ("place", "language"), [("gpu", "numba"), ("CPU", "numba"), (None, "numba"), ("cpu", "cuda"), ("cpu", "nonsense")]
)
def test_a_place_and_language_that_do_not_exist_are_refused_where_they_are_written(half, place, language):
    with pytest.raises(DefinitionError) as caught:
        half.kernel(place, language=language)
    assert str(caught.value).startswith(
        f"op 't::half': kernel expected a place and language that exist here, got ({place!r}, {language!r}); there are "
    )
    assert "('cpu', 'numba'), ('cuda', 'numba'), ('cpu', 'numpy')" in str(caught.value)


def test_an_infer_rule_and_samples_are_given_by_decorators(half):
    @half.infer
    def rule(x):
        return opsdk.TensorSpec(x.shape, "float64")

    @half.samples
    def samples(rng):
        yield opsdk.Sample(rng.normal(size=3), reason="plain")

    assert half.opdef.samples is samples
    assert half(np.ones(2, "int32")).dtype == np.float64


def test_a_rule_keeps_the_backward_and_the_rows_that_were_there(half):
    gradient = half.backward(lambda dy: dy / 2)
    half.kernel("cpu", language="numba")(lambda x: x / 2)
    half.infer(opsdk.infer.like)
    assert half.grad is gradient
    assert len(half.opdef.kernels) == 2


def test_a_graph_keeps_its_definition_when_the_op_gets_another_rule(half):
    half.backward(lambda dy: dy / 2)
    x = opsdk.to_tensor([1.0], stop_gradient=False)
    y = half(x)
    with pytest.raises(DefinitionError, match="expected its infer rule before its first use in a graph, got it after"):
        half.infer(lambda x: opsdk.TensorSpec([9], x.dtype))
    half.infer(lambda x: opsdk.TensorSpec([9], x.dtype), replace=True)
    y.sum().backward()
    assert x.grad.numpy().tolist() == [0.5]


def test_one_tensor_alone_may_be_passed_where_a_list_stands():
    @opsdk.op(namespace="t", infer=lambda xs: opsdk.TensorSpec([None], xs[0].dtype))
    def joined(*xs):
        return np.concatenate(xs)

    @joined.backward
    def joined_grad(*xs, dy):
        return np.split(dy, np.cumsum([len(x) for x in xs])[:-1])

    x = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
    (joined(x) * opsdk.to_tensor([3.0, 4.0])).sum().backward()
    assert x.grad.numpy().tolist() == [3.0, 4.0]


@pytest.fixture(params=["python", "composite", "elementwise"])
def scaled(request):
    """An op that multiplies by the sum of a list, defined in each of the ways that there are."""
    if request.param == "elementwise":
        define = opsdk.elementwise("t::scaled(Tensor x, *, float[] k=[1.0, 1.0]) -> Tensor y")
        return define(lambda x, k: x * (k[0] + k[1]))
    made = opsdk.op("t::scaled(Tensor x, *, float[] k) -> Tensor y")(lambda x, k: x * sum(k))
    made.backward(lambda dy, k: dy * sum(k), composite=request.param == "composite")
    return made


LISTS = [[1.0, 2.0], [1, 2], [np.float64(1), 2.0], np.array([1.0, 2.0]), np.array([1, 2]), np.array([1, 2], "float32")]


@pytest.mark.parametrize("k", LISTS)
@pytest.mark.parametrize("place", [np.asarray, opsdk.to_tensor])
def test_a_list_that_changed_since_the_last_call_is_read_anew(scaled, place, k):
    k, x = k.copy(), place(np.ones(1))
    made = []
    for first in (1, 1, 50, 7):
        k[0] = first
        made.append(np.asarray(scaled(x, k=k)).item())
    assert made == [3.0, 3.0, 52.0, 9.0]


@pytest.mark.parametrize("k", LISTS)
def test_a_list_that_changes_after_the_call_leaves_the_gradient_as_it_was(scaled, k):
    for _ in range(3):  # a call of a new kind, and those that have a plan
        given = k.copy()
        x = opsdk.to_tensor(np.ones(1), stop_gradient=False)
        y = scaled(x, k=given)
        given[0] = 50
        y.sum().backward()
        assert x.grad.numpy().tolist() == [3.0]


def test_a_list_passed_by_position_is_taken_as_it_was_at_the_call():
    made = opsdk.op("t::placed(Tensor x, float[] k) -> Tensor y")(lambda x, k: x * sum(k))
    made.backward(lambda dy, k: dy * sum(k))
    for _ in range(3):
        k = [1.0, 2.0]
        x = opsdk.to_tensor(np.ones(1), stop_gradient=False)
        y = made(x, k)
        k.append(50.0)
        y.sum().backward()
        assert (y.tolist(), x.grad.numpy().tolist()) == ([3.0], [3.0])


def test_a_list_of_what_gradients_are_wanted_is_read_anew():
    made = opsdk.op("t::both(Tensor x, Tensor w) -> Tensor y")(lambda x, w: x * w)

    @made.backward
    def both_grad(x, w, dy, needs_input_grad):
        return dy * w if needs_input_grad[0] else None, dy * x if needs_input_grad[1] else None

    wanted = [True, False]
    x = np.array([2.0])
    for _ in range(2):
        assert [value is None for value in both_grad(x, x, x, needs_input_grad=wanted)] == [False, True]
    wanted[:] = [False, True]
    assert [value is None for value in both_grad(x, x, x, needs_input_grad=wanted)] == [True, False]


def test_built_in_ops_read_their_lists_anew():
    x, axes = opsdk.to_tensor(np.arange(24.0).reshape(2, 3, 4)), [1, 2]
    for order in ([1, 2], [1, 2], [2, 1]):
        axes[:] = order[:1]
        assert opsdk.sum(x, axis=axes).tolist() == x.numpy().sum(axis=order[0]).tolist()


@pytest.mark.parametrize("k", [np.ones((2, 2)), [[1.0, 2.0], [3.0, 4.0]], [np.array(1.0)], np.array(["a"]), ["a"]])
def test_what_is_no_list_of_numbers_is_refused_at_every_call(scaled, k):
    for _ in range(2):
        scaled(np.ones(1), k=[1.0, 2.0])
        with pytest.raises(AttributeValueError, match=r"attribute 'k' expected float\[\], got"):
            scaled(np.ones(1), k=k)

import re
import threading
from collections.abc import Callable

import numpy as np
import pytest

import opsdk
from opsdk.backends.call.plan import attrs_key, make_plan
from opsdk.core.errors import (
    ArityError,
    AttributeValueError,
    DTypeError,
    KernelNotFoundError,
    MutationError,
    ShapeError,
)
from opsdk.core.flags import set_flags
from opsdk.verify.kernels.launch import plan_of
from tests.by_reference import by_reference

X = np.array([1.0, 2.0])


def define(function, schema="t::f(Tensor x) -> Tensor y", **options):
    return opsdk.op(schema, replace=True, **options)(function)


def test_the_second_call_of_a_kind_is_not_inferred_again():
    seen = []
    op = define(lambda x: x + 1, infer=lambda x: seen.append(x.shape) or x)
    op(X)
    first = len(seen)
    op(X)
    assert len(seen) == first > 0


def test_each_dtype_has_its_own_plan():
    op = define(lambda x: x + x)
    for dtype in ("float32", "float64", "float32"):
        assert op(X.astype(dtype)).dtype == dtype
    assert len(op.opdef.plans) == 2


def test_each_type_of_an_attribute_has_its_own_plan_and_each_string_too():
    assert attrs_key({"k": 1}) == attrs_key({"k": 2}) != attrs_key({"k": 1.0})
    assert attrs_key({"mode": "a"}) != attrs_key({"mode": "b"})
    assert attrs_key({"to": np.dtype("int8")}) != attrs_key({"to": np.dtype("int16")})
    assert attrs_key({"on": True}) != attrs_key({"on": False})


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: x.astype("int8"), DTypeError),
        (lambda x: x[:1] + 0, ShapeError),
        (lambda x: (x + 1, x + 1), ArityError),
        (lambda x: x.fill(3) or x + 1, MutationError),
    ],
    ids=["dtype", "shape", "count", "mutation"],
)
def test_a_first_call_that_fails_leaves_no_plan_and_the_second_fails_alike(function, error):
    op = define(function)
    texts = []
    for _ in range(2):
        with pytest.raises(error) as caught:
            op(X.copy())
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert len(op.opdef.plans) == 0


def test_a_first_call_that_fails_on_tensors_leaves_no_plan_either():
    op = define(lambda x: x[:1] + 0)
    for stop in (True, False):
        for _ in range(2):
            with pytest.raises(ShapeError, match=r"expected shape \(2,\) like 'x' by the default rule, got \(1,\)"):
                op(opsdk.to_tensor(X, stop_gradient=stop))
    assert (len(op.opdef.plans), op.opdef.plans.recorded, op.opdef.plans.plain) == (0, {}, {})


def test_a_call_with_a_wrong_attribute_is_refused_also_on_a_known_plan():
    op = define(lambda x, k: x * k, "t::f(Tensor x, *, int[] k) -> Tensor y")
    op(X, k=[1, 2])
    with pytest.raises(AttributeValueError, match=r"attribute 'k' expected int\[\], got \[1.5, 2\] \(list\)"):
        op(X, k=[1.5, 2])


def test_attributes_of_a_later_call_are_taken():
    op = define(lambda x, k: x * k, "t::f(Tensor x, *, float k=1.0) -> Tensor y")
    assert [op(X, k=k).tolist() for k in (2.0, 3.0, 2.0)] == [[2.0, 4.0], [3.0, 6.0], [2.0, 4.0]]


def test_zeros_of_both_signs_are_told_apart():
    op = define(lambda x, k: np.copysign(x, k), "t::f(Tensor x, *, float k) -> Tensor y")
    assert [op(X, k=k).tolist() for k in (0.0, -0.0, 0.0)] == [[1.0, 2.0], [-1.0, -2.0], [1.0, 2.0]]


def test_zeros_of_both_signs_in_lists_are_told_apart():
    op = define(lambda x, k: np.copysign(x, k), "t::f(Tensor x, *, float[] k) -> Tensor y")
    assert [op(X, k=[k, 1.0]).tolist() for k in (0.0, -0.0)] == [[1.0, 2.0], [-1.0, 2.0]]


def test_an_attribute_may_be_an_array_in_every_call():
    op = define(lambda x, k: x * k, "t::f(Tensor x, *, int[] k) -> Tensor y")
    for k in ([1, 2], [3, 4]):
        assert op(X, k=np.array(k)).tolist() == (X * k).tolist()


def test_a_dtype_that_follows_from_the_value_of_an_attribute_is_inferred_again():
    def bits(x, bits):
        return x.astype(f"int{bits}")

    op = define(
        bits,
        "t::bits(Tensor x, *, int bits) -> Tensor y",
        infer=lambda x, bits: opsdk.TensorSpec(x.shape, f"int{bits}"),
    )
    assert [op(X, bits=n).dtype.name for n in (8, 16, 32, 8)] == ["int8", "int16", "int32", "int8"]


def test_no_row_for_a_dtype_is_refused_with_the_rows_there_are():
    op = define(lambda x: x + 1)
    op.opdef.kernels.restore([])
    for dtype in ("float64", "float32"):
        op.kernel("cuda" if dtype == "float32" else "cpu", lambda x: x, language="numba", dtype=dtype)
    with pytest.raises(KernelNotFoundError) as caught:
        op(X.astype("int8"))
    assert str(caught.value) == (
        "op 't::f': no kernel for (cpu, int8); registered: (cpu, float64), (cuda, float32); cast the input or "
        "add a kernel"
    )
    assert "  because  input 'x' is int8" in caught.value.__notes__
    assert isinstance(caught.value, LookupError)


def test_no_row_at_all_is_said():
    op = define(lambda x: x + 1)
    op.opdef.kernels.restore([])
    with pytest.raises(KernelNotFoundError, match="registered: none; cast the input or add a kernel"):
        op(X)


def test_the_input_that_decides_the_row_is_the_first_that_is_present():
    op = define(lambda w, x: x + 1, "t::f(Tensor? w, Tensor x) -> Tensor y")
    op.opdef.kernels.restore([])
    with pytest.raises(KernelNotFoundError) as caught:
        op(None, X)
    assert "  because  input 'x' is float64" in caught.value.__notes__


def test_a_row_that_comes_later_serves_the_next_call():
    op = define(lambda x: x + 1)
    op(X)
    op.kernel("cpu", lambda x: x + 10, language="numpy", dtype="float64")
    assert op(X).tolist() == [11.0, 12.0]


def test_a_given_row_is_launched_whatever_else_there_is():
    op = define(lambda x: x + 1)
    reference = op.opdef.kernels.reference()
    op.kernel("cpu", lambda x: x + 10, language="numpy", dtype="float64")
    plan = make_plan(op.opdef, [X], {}, row=reference)
    assert plan.run([X], {}).tolist() == [2.0, 3.0]


def test_an_exception_of_the_infer_rule_names_the_rule():
    def rule(x):
        raise KeyError("axis")

    with pytest.raises(KeyError) as caught:
        define(lambda x: x + 1, infer=rule)(X)
    assert "infer rule at " in caught.value.__notes__[0]


def test_debug_checks_every_call(debug):
    op = define(lambda x: x + 1 if x.size == 2 else x[:1] + 0)
    op(X)
    with pytest.raises(ShapeError, match=r"expected shape \(3,\) like 'x' by the default rule, got \(1,\)"):
        op(np.ones(3))


def test_debug_finds_a_mutation_of_a_later_call(debug):
    def f(x):
        if x.size == 3:
            x[0] = 9
        return x + 1

    op = define(f)
    op(X)
    with pytest.raises(MutationError, match="input 'x' was changed in place"):
        op(np.ones(3))


def test_debug_takes_the_dtype_that_an_attributes_value_decides(debug):
    op = define(
        lambda x, bits: x.astype(f"int{bits}"),
        "t::bits(Tensor x, *, int bits) -> Tensor y",
        infer=lambda x, bits: opsdk.TensorSpec(x.shape, f"int{bits}"),
    )
    assert [op(X, bits=n).dtype.name for n in (8, 16)] == ["int8", "int16"]


def test_a_change_of_flags_makes_all_plans_forgotten():
    op = define(lambda x: x + 1)
    op.backward(lambda dy: dy + 0)
    op(X)
    op(opsdk.to_tensor(X, stop_gradient=False))
    op(opsdk.to_tensor(X))
    set_flags(debug=True)
    assert (len(op.opdef.plans), op.opdef.plans.recorded, op.opdef.plans.plain) == (0, {}, {})


def test_a_change_of_flags_makes_plans_forgotten_that_verify_keeps_beside_the_ops_own():
    op = define(lambda x: x + 1)
    kernel = op.opdef.kernels.reference()
    plan = plan_of(op.opdef, kernel, [X], {})
    assert plan_of(op.opdef, kernel, [X], {}) is plan
    set_flags(debug=True)
    assert plan_of(op.opdef, kernel, [X], {}) is not plan


def test_what_references_served_for_a_while_is_compiled_before_and_after():
    op = opsdk.elementwise("tests::sum_of_products(Tensor x, Tensor y) -> Tensor z", replace=True)(
        lambda x, y: x * y + y * x * 0.5
    )

    def serving():
        op(opsdk.to_tensor(X, stop_gradient=False), opsdk.to_tensor(X))
        op(X, X)
        return {getattr(plan, "call", plan).kernel.language for plan in op.opdef.plans.values()}

    assert serving() == {"numba"}
    with by_reference():
        assert serving() == {"numpy"}
    assert serving() == {"numba"}


def test_eight_threads_may_make_the_first_call_together():
    op = define(lambda x: x + 1)
    made = []
    threads = [threading.Thread(target=lambda: made.append(op(X).tolist())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [[2.0, 3.0]] * 8


def test_an_optional_input_may_be_absent_or_present():
    op = define(lambda x, w: x if w is None else x * w, "t::f(Tensor x, Tensor? w=None) -> Tensor y")
    op = define(lambda x, w: x + 0 if w is None else x * w, "t::f(Tensor x, Tensor? w=None) -> Tensor y")
    assert [op(X).tolist(), op(X, X).tolist(), op(X, None).tolist()] == [[1.0, 2.0], [1.0, 4.0], [1.0, 2.0]]


def test_an_op_without_inputs_runs():
    op = define(lambda: np.zeros(2), "t::zero() -> Tensor y", infer=lambda: opsdk.TensorSpec([2], "float64"))
    assert [op().tolist(), op().tolist()] == [[0.0, 0.0]] * 2


def test_two_outputs_of_which_one_carries_no_gradient():
    op = define(
        lambda x: (np.sort(x), np.argsort(x)),
        "t::sort(Tensor x) -> (Tensor y, Tensor order)",
        nondifferentiable=("order",),
        infer=lambda x: (x, opsdk.TensorSpec(x.shape, "int64")),
    )

    @op.backward
    def sort_grad(order, dy):
        dx = np.empty_like(dy)
        dx[order] = dy
        return dx

    x = opsdk.to_tensor([3.0, 1.0, 2.0], stop_gradient=False)
    y, order = op(x)
    assert order.stop_gradient
    (y * opsdk.to_tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.numpy().tolist() == [100.0, 1.0, 10.0]


def test_a_composite_backward_can_be_differentiated_again():
    op = define(lambda x: x**3)
    op.backward(composite=True)(lambda x, dy: dy * 3.0 * x * x)
    x = opsdk.to_tensor([2.0], stop_gradient=False)
    (first,) = opsdk.grad(op(x), x, create_graph=True)
    (second,) = opsdk.grad(first, x)
    assert (first.numpy().tolist(), second.numpy().tolist()) == ([12.0], [12.0])


def test_shapes_that_do_not_fit_are_refused_by_the_infer_rule_on_a_later_call_too():
    opsdk.matmul(np.ones((2, 3)), np.ones((3, 4)))
    with pytest.raises(ShapeError, match="expected matrices whose inner sizes agree") as caught:
        opsdk.matmul(np.ones((2, 3)), np.ones((5, 4)))
    assert isinstance(caught.value.__cause__, ValueError)


def test_what_a_compiled_row_returns_wrongly_is_told_with_the_row():
    pytest.importorskip("numba")
    op = define(lambda x: x)
    op.kernel("cpu", lambda x: x.astype(np.float64), language="numba")
    for _ in range(2):
        with pytest.raises(DTypeError, match="output 'y': expected float32, got float64") as caught:
            op(np.ones(2, np.float32))
        (row,) = [note for note in caught.value.__notes__ if "kernel at" in note]
        assert row.startswith(f"  returned by the numba kernel at {list(op.opdef.kernels)[1].origin}")


def test_what_a_reference_returns_wrongly_needs_no_row():
    with pytest.raises(DTypeError) as caught:
        define(lambda x: x.astype(np.float64))(np.ones(2, np.float32))
    assert not any("kernel" in note for note in getattr(caught.value, "__notes__", []))


def test_the_first_call_of_a_gradient_op_refuses_a_cotangent_that_is_none_of_the_op():
    op = define(lambda x: x * x, infer=opsdk.infer.like("x"))
    gradient = op.backward(lambda x, dy: 2 * x * dy)
    for _ in range(2):
        with pytest.raises(ShapeError, match=r"op 't::f_grad': expected dy of the shape of y, \(2,\), got \(1,\)"):
            gradient(X, X[:1])
    assert gradient(X, X).tolist() == [2.0, 8.0]


@pytest.mark.parametrize(
    ("kind", "given", "wrong"), [("float[]", [2, 1], [2, True]), ("int[]", [1], [True]), ("bool[]", [True], [1])]
)
def test_a_list_that_equals_one_that_was_taken_is_looked_at_all_the_same(kind, given, wrong):
    made = opsdk.op(f"t::first(Tensor x, *, {kind} at) -> Tensor y")(lambda x, at: x + at[0])
    for _ in range(3):
        made(np.ones(2), at=given)
        with pytest.raises(AttributeValueError, match=f"attribute 'at' expected {re.escape(kind)}, got"):
            made(np.ones(2), at=wrong)


def test_attributes_beside_an_absent_callable_are_taken_in_every_call():
    @opsdk.op(namespace="t")
    def act(x, *, k: float = 1.0, f: Callable | None = None):
        return k * x if f is None else f(k * x)

    for _ in range(3):
        assert act(X, k=3.0).tolist() == [3.0, 6.0]
        assert act(X).tolist() == [1.0, 2.0]
        assert act(X, k=3.0, f=np.negative).tolist() == [-3.0, -6.0]


def test_an_object_kept_for_the_backward_reaches_it_in_every_call_whatever_it_equals():
    @opsdk.op("t::counted(Tensor x, *, float k=2.0) -> Tensor y, residuals (object n)", infer=opsdk.infer.like("x"))
    def counted(x, k):
        return x * 5 * k, 5

    @counted.backward
    def counted_grad(dy, k, n):
        return dy * n * k

    for _ in range(3):
        x = opsdk.to_tensor([1.0], stop_gradient=False)
        counted(x).backward()
        assert x.grad.tolist() == [10.0]

import numpy as np
import pytest

import opsdk
from opsdk import static, vmath
from opsdk.core.errors import AttributeValueError, DefinitionError, DTypeError, ShapeError, TraceError
from opsdk.expr.decorators import RowInfer, rowwise
from opsdk.expr.row.row_function import RowFunction


def norm(**options):
    @rowwise(namespace="t", **options)
    def norm(x):
        return vmath.sqrt(vmath.row_sum(x * x))

    return norm


def test_a_number_per_row_drops_the_last_axis_or_keeps_it():
    x = np.array([[3.0, 4.0], [0.0, 2.0]])
    assert norm()(x).tolist() == [5.0, 2.0]
    assert norm(keepdim=True, name="kept")(x).tolist() == [[5.0], [2.0]]


def test_the_gradient_of_a_number_per_row_has_the_shape_of_its_input():
    x = opsdk.to_tensor(np.array([[3.0, 4.0], [0.0, 2.0]]), stop_gradient=False)
    norm()(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0.6, 0.8], [0.0, 1.0]], rtol=1e-15)


def test_an_attribute_named_axis_chooses_the_rows_and_is_not_seen_by_the_function(rng):
    @rowwise("t::total(Tensor x, *, int axis=-1) -> Tensor y", keepdim=False)
    def total(x):
        return vmath.row_sum(x)

    x = rng.normal(size=(2, 3, 4))
    for axis in range(-3, 3):
        np.testing.assert_allclose(total(x, axis=axis), x.sum(axis), rtol=1e-12)
        tensor = opsdk.to_tensor(x, stop_gradient=False)
        (total(tensor, axis=axis) * 3.0).sum().backward()
        np.testing.assert_array_equal(tensor.grad.numpy(), np.full(x.shape, 3.0))


def test_a_weight_per_position_has_a_gradient_summed_over_rows(rng):
    @rowwise(namespace="t", per_column=("w",))
    def weighted(x, w):
        return x * w

    x, w = rng.normal(size=(4, 3, 5)), rng.normal(size=5)
    tensors = [opsdk.to_tensor(a, stop_gradient=False) for a in (x, w)]
    weighted(*tensors).sum().backward()
    np.testing.assert_allclose(tensors[1].grad.numpy(), x.sum((0, 1)), rtol=1e-12)
    np.testing.assert_allclose(tensors[0].grad.numpy(), np.broadcast_to(w, x.shape), rtol=1e-15)


def test_second_derivatives_follow_from_the_expression(rng):
    @rowwise(namespace="t")
    def log_sum(x):
        return vmath.row_logsumexp(x)

    x = rng.normal(size=(2, 3))
    tensor = opsdk.to_tensor(x, stop_gradient=False)
    (first,) = opsdk.grad(log_sum(tensor).sum(), [tensor], create_graph=True)
    p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    v = rng.normal(size=(2, 3))
    (second,) = opsdk.grad((first * opsdk.to_tensor(v)).sum(), [tensor])
    np.testing.assert_allclose(first.numpy(), p, rtol=1e-12)
    np.testing.assert_allclose(second.numpy(), p * (v - (p * v).sum(-1, keepdims=True)), rtol=1e-10)


def test_a_program_gives_the_same_bits_as_the_tape(rng):
    x = rng.normal(size=(5, 7)).astype(np.float32)
    tensor = opsdk.to_tensor(x, stop_gradient=False)
    out = opsdk.softmax(tensor)
    (out * out).sum().backward()
    main = static.Program()
    with static.program_guard(main, static.Program()):
        data = static.data("x", [None, 7], "float32")
        data.stop_gradient = False
        y = opsdk.softmax(data)
        (grad,) = static.gradients(opsdk.sum(y * y), data)
    got = static.Executor().run(main, feed={"x": x}, fetch_list=[y, grad])
    np.testing.assert_array_equal(got[0], out.numpy())
    np.testing.assert_array_equal(got[1], tensor.grad.numpy())


def test_the_infer_rule_knows_sizes_that_only_a_run_decides():
    rule = norm().opdef.infer
    assert isinstance(rule, RowInfer)
    (spec,) = rule(norm().opdef.schema, [opsdk.TensorSpec((None, 3), "float32")], {})
    assert spec == opsdk.TensorSpec((None,), "float32")


def test_whole_numbers_give_floats():
    assert norm()(np.array([[3, 4]])).tolist() == [5.0]


def test_a_row_function_must_have_a_full_input():
    with pytest.raises(DefinitionError, match="expected an input of the full shape, got all of them declared other"):
        rowwise(namespace="t", per_column=("w",))(_one_weight)


def _one_weight(w):
    return w * 2.0


def test_a_declared_input_must_exist():
    with pytest.raises(DefinitionError, match="op 't::_one_weight': 'v' was declared, but its inputs are w"):
        rowwise(namespace="t", per_row=("v",))(_one_weight)


def test_a_branch_on_a_symbol_is_refused_where_the_op_is_defined():
    with pytest.raises(TraceError, match=r"op 't::branch', line \d+: 'if'.*vmath.where"):

        @rowwise(namespace="t")
        def branch(x):
            return x if vmath.row_sum(x) > 0 else -x


def test_labels_must_be_whole_numbers_and_one_per_row():
    @rowwise(namespace="t", per_row=("label",), integer=("label",))
    def pick(x, label):
        return vmath.row_take(x, label)

    x = np.arange(6.0).reshape(2, 3)
    assert pick(x, np.array([2, 0])).tolist() == [2, 3]
    assert pick(x, np.array([[2], [0]])).tolist() == [2, 3]
    with pytest.raises(DTypeError, match="op 't::pick': label expected integers, got float64; cast it to int64"):
        pick(x, np.array([2.0, 0.0]))
    with pytest.raises(ShapeError, match=r"input 'label' expected shape \(2, 1\) beside x \(2, 3\), got \(3,\)"):
        pick(x, np.array([2, 0, 1]))
    with pytest.raises(AttributeValueError, match=r"op 't::pick', row_take: position expected in \[0, 3\), got 3"):
        pick(x, np.array([2, 3]))


def test_an_input_without_axes_is_refused():
    with pytest.raises(ShapeError, match=r"op 't::norm': input 'x' expected at least one axis, got shape \(\)"):
        norm()(np.array(1.0))


def test_the_reference_is_the_same_function_in_numpy(rng):
    reference = norm().opdef.kernels.reference().source
    assert isinstance(reference, RowFunction)
    x = rng.normal(size=(3, 4))
    np.testing.assert_allclose(reference(x), np.sqrt((x**2).sum(-1)), rtol=1e-15)


def test_a_row_op_and_its_gradients_have_rows_on_both_machines():
    op = norm()
    for opdef in (op.opdef, op.grad.opdef, op.grad.grad.opdef):
        assert [str(row) for row in opdef.kernels][1:] == ["numba (cpu, floating)", "numba (cuda, floating)"]


def test_a_position_must_be_one_number_per_row():
    with pytest.raises(TraceError, match="row_take expected a position that is one number per row, got at, one per"):
        rowwise(namespace="t")(_taken)


def _taken(x, at):
    return vmath.row_take(x, at)


def test_shapes_are_checked_after_a_valid_call_too_whatever_the_dtype():
    @opsdk.rowwise(per_column=("w",), namespace="tests")
    def weighted(x, w):
        return x * w / vmath.row_sum(x)

    whole = np.arange(1, 16).reshape(3, 5)
    for dtype, precision in (("int64", 1e-7), ("float64", 1e-15)):
        x = whole.astype(dtype)
        np.testing.assert_allclose(weighted(x, x[0]), x * x[0] / x.sum(axis=1, keepdims=True), rtol=precision)
        for w in (x, x[:1], x[0, :1], np.array(2, dtype)):
            with pytest.raises(ShapeError, match=r"op 'tests::weighted': input 'w' expected shape \(5,\)"):
                weighted(x, w)


def test_numbers_per_row_may_be_flat_only_where_they_have_no_gradient():
    @opsdk.rowwise(per_row=("s",), namespace="tests")
    def shifted(x, s):
        return x - s * vmath.row_mean(x)

    @opsdk.rowwise(per_row=("label",), integer=("label",), namespace="tests")
    def chosen(x, label):
        return vmath.row_take(x, label)

    x = np.arange(15.0).reshape(3, 5)
    for _ in range(2):
        shifted(x, np.ones((3, 1)))
        with pytest.raises(ShapeError, match=r"input 's' expected shape \(3, 1\)"):
            shifted(x, np.ones(3))
        assert chosen(x, np.array([0, 1, 4])).tolist() == chosen(x, np.array([[0], [1], [4]])).tolist() == [0, 6, 14]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("label", [0.5, np.nan, -1.0, 5.0])
def test_a_position_between_two_elements_is_refused_compiled_or_not(dtype, label):
    @opsdk.rowwise(per_row=("label",), nondifferentiable=("label",), namespace="tests")
    def chosen_at(x, label):
        return vmath.row_take(x, label)

    x = np.arange(15.0, dtype=dtype).reshape(3, 5)
    assert chosen_at(x, np.array([0, 1, 4], dtype)).tolist() == [0, 6, 14]
    wrong = np.array([0, label, 4], dtype)
    expected = rf"row_take: position expected (a whole number )?in \[0, 5\), got {label:g}"
    with pytest.raises(AttributeValueError, match=expected):
        chosen_at(x, wrong)
    with pytest.raises(AttributeValueError, match=expected):
        chosen_at(x.astype(int), wrong)  # by the reference


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])  # by the reference, and compiled
def test_a_number_of_the_row_counts_once_per_position_when_it_is_summed(dtype):
    @rowwise(namespace="t")
    def total(x):
        return vmath.row_sum(vmath.row_max(x)) + vmath.row_sum(1.0)

    assert total(np.array([[1, 2, 3, 6]], dtype)).tolist() == [28.0]


def test_taking_an_element_of_a_number_of_the_row_is_refused_where_the_op_is_defined():
    with pytest.raises(TraceError, match="op 't::f', expression: row_take expected one number per element"):

        @rowwise(namespace="t")
        def f(x):
            return vmath.row_take(vmath.row_max(x), 0.0) + x


# by hand: a number of the row that every element has, counts once per element
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: vmath.row_sum(x - vmath.row_mean(x)), [0.0, 0.0, 0.0, 0.0]),
        (lambda x: vmath.row_mean(x + vmath.row_max(x)), [0.25, 0.25, 0.25, 1.25]),
        (lambda x: vmath.row_sum(vmath.row_min(x)), [4.0, 0.0, 0.0, 0.0]),
    ],
)
def test_what_every_element_sends_to_a_number_of_the_row_is_added_up(function, expected, dtype):
    op = rowwise("t::f(Tensor x) -> Tensor y")(function)
    x = opsdk.to_tensor(np.array([[1.0, 2.0, 3.0, 6.0]], dtype), stop_gradient=False)
    op(x).sum().backward()
    assert x.grad.numpy().tolist() == [expected]


def test_the_gradient_of_an_input_with_one_number_per_row_is_the_sum_over_it():
    op = rowwise("t::f(Tensor x, Tensor r) -> Tensor y", per_row=("r",))(lambda x, r: vmath.row_sum(x - r))
    x, r = (opsdk.to_tensor(a, stop_gradient=False) for a in (np.ones((2, 5)), np.ones((2, 1))))
    op(x, r).sum().backward()
    assert r.grad.numpy().tolist() == [[-5.0], [-5.0]]


# a product that is fused into a sum beside one use and not beside two would differ from itself in the last bit
@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: vmath.row_max(x * w + x) * vmath.row_sum(x * w),
        lambda x, w: vmath.row_min(x * w + w) * vmath.row_sum(vmath.exp(x * w)),
        lambda x, w: x * w * vmath.row_max(x * w + w),
    ],
)
def test_the_extreme_is_found_again_by_compiled_code_that_fuses(function, rng):
    op = rowwise("t::f(Tensor x, Tensor w) -> Tensor y")(function)
    arrays = [rng.normal(size=(50, 257)).astype(np.float32) for _ in range(2)]
    found = {}
    for dtype in ("float32", "float64"):
        tensors = [opsdk.to_tensor(array.astype(dtype), stop_gradient=False) for array in arrays]
        op(*tensors).sum().backward()
        found[dtype] = [tensor.grad.numpy() for tensor in tensors]
    for narrow, wide in zip(found["float32"], found["float64"], strict=True):
        np.testing.assert_allclose(narrow, wide, rtol=1e-4, atol=1e-4 * np.abs(wide).max())


def test_a_condition_that_a_later_loop_reads_is_a_condition_there(rng):
    @rowwise(namespace="t")
    def chosen(x):
        near = (vmath.exp(x) > 1.0) & (vmath.sin(x) < 0.5)
        share = vmath.row_sum(vmath.where(near, x, 0.0))
        return vmath.where(near | (x > share), x, share)

    x = rng.normal(size=(3, 40)).astype(np.float32)
    near = (np.exp(x) > 1.0) & (np.sin(x) < 0.5)
    share = np.where(near, x, 0.0).sum(-1, keepdims=True)
    np.testing.assert_allclose(chosen(x), np.where(near | (x > share), x, share), rtol=1e-5)


def test_a_first_expression_may_load_the_functions_that_it_names(monkeypatch):
    monkeypatch.delitem(vars(opsdk), "vmath")  # as in a process that has only imported opsdk

    @opsdk.rowwise
    def centred(x):
        return x - opsdk.vmath.row_mean(x)

    np.testing.assert_array_equal(centred(np.array([[1.0, 2.0, 6.0]])), [[-2, -1, 3]])


def greatest(x):
    return vmath.row_max(x)


def least(x):
    return vmath.row_min(x)


@pytest.mark.parametrize(("function", "wanted"), [(greatest, [0.5, 0, 0.5]), (least, [0, 1, 0])])
def test_a_row_whose_extreme_is_nan_gets_no_gradient(function, wanted):
    extreme = rowwise(namespace="t")(function)
    x = opsdk.to_tensor([[1.0, np.nan, 3.0], [3.0, 1.0, 3.0]], "float64", stop_gradient=False)
    made = extreme(x)
    assert np.isnan(made.numpy()).tolist() == [True, False]
    made.sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], wanted]


# -- attributes that mean something ----------------------------------------------------------------------------------


def with_attribute(text, of=rowwise, body="x - x"):
    """Defines an op of one input and an attribute that is declared by a text."""
    names = {"vmath": vmath}
    exec(f"def f(x, *, {text}):\n    return {body}\n", names)
    return of(namespace="t")(names["f"])


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("keepdim: bool = True", r"it is an option of the decorator: @opsdk\.rowwise\(keepdim=…\)"),
        ("per_row: bool = True", r"@opsdk\.rowwise\(per_row=…\)"),
        ("name: str = 'n'", r"@opsdk\.rowwise\(name=…\)"),
        ("keepdims: bool = False", r"results keep their axis under @opsdk\.rowwise\(keepdim=True\)"),
        ("dim: int = -1", "the axis of the rows is an attribute 'axis: int = -1'"),
    ],
)
def test_an_attribute_that_means_an_option_and_is_never_read_is_refused(text, remedy):
    name = text.partition(":")[0]
    with pytest.raises(DefinitionError, match=f"attribute '{name}' expected to be read by the function, .*{remedy}"):
        with_attribute(text)


def test_of_a_schema_as_text_too():
    with pytest.raises(DefinitionError, match="attribute 'keepdim' expected to be read by the function, it is not"):

        @rowwise("t::kept(Tensor x, *, bool keepdim=True) -> Tensor y")
        def kept(x, keepdim):
            return vmath.row_mean(x)


def test_another_attribute_may_be_left_to_a_kernel_or_a_backward():
    assert with_attribute("factor: float = 1.0").opdef.schema.attr_names == ("factor",)


def test_an_option_of_the_decorator_that_the_function_reads_is_an_attribute():
    op = with_attribute("keepdim: bool = True", body="x * (2.0 if keepdim else 3.0)")
    assert (op(np.ones((1, 2))).tolist(), op(np.ones((1, 2)), keepdim=False).tolist()) == ([[2.0, 2.0]], [[3.0, 3.0]])


@pytest.mark.parametrize("declared", ["axis: bool = True", "axis: float = 1.0", "axis: 'int[]' = (1,)"])
def test_an_axis_is_an_int(declared):
    with pytest.raises(DefinitionError, match="attribute 'axis', along which the rows lie, expected an int, got"):
        with_attribute(declared)


@pytest.mark.parametrize("dtype", ["int64", "float64", "complex128"])
@pytest.mark.parametrize("name", ["row_index", "row_size", "row_sum", "self", "values", "like", "n", "y", "dy"])
@pytest.mark.parametrize("is_attribute", [True, False])
def test_an_input_or_attribute_may_have_any_name(name, dtype, is_attribute):
    names = {"vmath": vmath}
    star = "*, " if is_attribute else ""
    kind = ": float = 1.0" if is_attribute else ""
    body = f"x * {name} + vmath.row_sum(x) + vmath.row_index() * vmath.row_size()"
    exec(f"def f(x, {star}{name}{kind}):\n    return {body}\n", names)
    op = rowwise(namespace="t")(names["f"])
    x = np.array([[1, 2, 6]], dtype)
    want = [[3 + 9 + 0, 6 + 9 + 3, 18 + 9 + 6]]
    three = {name: 3.0 if is_attribute else np.full((1, 3), 3, dtype)}
    assert op(x, **three).tolist() == want
    if dtype == "float64":
        t = opsdk.to_tensor(x, stop_gradient=False)
        op(t, **(three if is_attribute else {name: opsdk.to_tensor(three[name])})).sum().backward()
        assert t.grad.tolist() == [[6.0, 6.0, 6.0]]  # the factor, and each element in the sums of three


def test_a_list_of_whole_numbers_that_would_be_rounded_is_refused_at_every_call():
    listed = opsdk.rowwise("test_held::listed(Tensor x, *, int[] k=[0]) -> Tensor y")(lambda x, k: x + k[0])
    x = np.zeros((1, 2), np.float32)
    for _ in range(2):
        with pytest.raises(AttributeValueError, match="constants expected to be whole numbers that float32 holds"):
            listed(x, k=[2**24 + 1])
        assert listed(x, k=[2**24]).tolist() == [[2**24, 2**24]]
    assert listed(x.astype(np.float64), k=[2**24 + 1]).tolist() == [[2**24 + 1, 2**24 + 1]]

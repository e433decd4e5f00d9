"""`Tensor?[]`: lists with None in places, among inputs and results, mean one thing in every runtime and language."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import (
    ArityError,
    AttributeValueError,
    DefinitionError,
    MutationError,
    ProgramError,
    ReturnError,
    ShapeError,
)

A, B, W = np.array([1.0, -2.0, 3.0]), np.array([[4.0, 0.5, 6.0]]), np.array([2.0, 3.0, -1.0])
TEXT = "t::scaled(Tensor?[] xs, Tensor w) -> Tensor?[] ys"


def scaled(xs, w):
    return [None if x is None else x * w for x in xs]


def scaled_infer(xs, w):
    return list(xs)


def scaled_grad(xs, w, dys):
    assert [dy is None for dy in dys] == [x is None for x in xs]  # zeros where nobody asked, None where there is none
    dw = sum(((x * dy).reshape(-1, w.size).sum(axis=0) for x, dy in zip(xs, dys, strict=True) if x is not None), 0 * w)
    return [None if x is None else dy * w for x, dy in zip(xs, dys, strict=True)], dw


def scaled_grad_grad(xs, w, dys, ddxs, ddw):
    assert [ddx is None for ddx in ddxs] == [x is None for x in xs]
    rows = list(zip(xs, dys, ddxs, strict=True))
    dw = sum(((dy * ddx).reshape(-1, w.size).sum(axis=0) for _, dy, ddx in rows if dy is not None), 0 * w)
    dxs = [None if x is None else ddw * dy for x, dy, _ in rows]
    return dxs, dw, [None if x is None else w * ddx + ddw * x for x, _, ddx in rows]


C_KERNEL = """
#include "opsdk.h"
int32_t scaled_f64(const DLTensor *const *xs, int64_t xs_len, const DLTensor *w, DLTensor *const *ys, int64_t ys_len) {
    if (xs_len != ys_len) return 1;
    for (int64_t k = 0; k < xs_len; ++k) {
        if (!xs[k] != !ys[k]) return 2;
        if (!xs[k]) continue;
        for (int64_t i = 0; i < opsdk_size(xs[k]); ++i)
            OPSDK_DATA(double, ys[k])[i] =
                OPSDK_DATA(const double, xs[k])[i] * OPSDK_DATA(const double, w)[i % opsdk_size(w)];
    }
    return 0;
}
"""


def defined(language="numpy"):
    made = opsdk.op(TEXT, infer=scaled_infer)(scaled)
    made.backward(scaled_grad).backward(scaled_grad_grad)
    if language == "c":
        made.kernel("cpu", language="c", source=C_KERNEL)

    @made.samples
    def samples(rng):
        yield opsdk.Sample([rng.normal(size=3), None, rng.normal(size=(2, 3))], rng.normal(size=3), reason="a hole")
        yield opsdk.Sample([rng.normal(size=3)], rng.normal(size=3), reason="no hole")

    return made


@pytest.fixture(params=["numpy", "c"])
def op(request):
    return defined(request.param)


def numbers(values):
    return [None if value is None else np.asarray(getattr(value, "_array", value)).tolist() for value in values]


def leaves(*arrays):
    return [None if array is None else opsdk.to_tensor(array, stop_gradient=False) for array in arrays]


def in_program(build, feed):
    """Runs what a function of data variables, one an array, gives to be fetched."""
    with static.program_guard(static.Program()):
        named = {f"v{i}": array for i, array in enumerate(feed)}
        held = [static.data(name, [None] * array.ndim, "float64") for name, array in named.items()]
        for variable in held:
            variable.stop_gradient = False
        return static.Executor().run(feed=named, fetch_list=build(*held))


def test_arrays_tensors_and_programs_give_none_where_the_rule_does(op):
    for values in ([A, None, B], leaves(A, None, B), [opsdk.to_tensor(A), None, opsdk.to_tensor(B)]):
        for _ in range(2):  # with every check, then by the plan
            assert numbers(op(values, W)) == [[2.0, -6.0, -3.0], None, [[8.0, 1.5, -6.0]]]
    assert numbers(op([None, A], W)) == [None, [2.0, -6.0, -3.0]]
    assert numbers(op([A, B], W)) == [[2.0, -6.0, -3.0], [[8.0, 1.5, -6.0]]]
    assert numbers(op([None, None], W)) == [None, None]
    assert op([], W) == []

    def build(a, b, w):
        made = op([a, None, b], w)
        assert made[1] is None
        return [made[0], made[2]]

    assert numbers(in_program(build, [A, B, W])) == [[2.0, -6.0, -3.0], [[8.0, 1.5, -6.0]]]


def test_a_gradient_has_holes_where_its_list_has_them(op):
    assert numbers(op.grad([A, None], W, [np.ones(3), None])[0]) == [[2.0, 3.0, -1.0], None]
    a, b, w = leaves(A, B, W)
    for _ in range(2):
        ys = op([a, None, b], w)
        da, dw = opsdk.grad(ys[0].sum(), [a, w], retain_graph=True)  # of ys[2] nobody asked: zeros enter
        assert (da.tolist(), dw.tolist()) == ([2.0, 3.0, -1.0], [1.0, -2.0, 3.0])
    (op([a, None, b], w)[0].sum() + 2 * ys[2].sum()).backward()
    assert (b.grad.tolist(), w.grad.tolist()) == ([[4.0, 6.0, -2.0]], [9.0, -1.0, 15.0])


def test_a_program_gives_the_same_gradients_of_both_orders(op):
    def build(a, b, w):
        ys = op([a, None, b], w)
        da, dw = static.gradients(ys[0].sum(), [a, w])
        (second,) = static.gradients((da * da).sum() + dw.sum(), [w])
        return [da, dw, second]

    def on_tape(a, b, w):
        ys = op([a, None, b], w)
        da, dw = opsdk.grad(ys[0].sum(), [a, w], create_graph=True)
        (second,) = opsdk.grad((da * da).sum() + dw.sum(), [w])
        return [da, dw, second]

    found = numbers(on_tape(*leaves(A, B, W)))
    assert found == [[2.0, 3.0, -1.0], [1.0, -2.0, 3.0], [4.0, 6.0, -2.0]]
    assert numbers(in_program(build, [A, B, W])) == found


@pytest.mark.parametrize("materialize", [True, False])
def test_a_cotangent_is_zeros_in_a_place_that_nobody_used_and_none_in_a_hole(materialize):
    seen = []

    @opsdk.op("t::same(Tensor?[] xs) -> Tensor?[] ys", infer=lambda xs: list(xs))
    def same(xs):
        return [None if x is None else x.copy() for x in xs]

    @same.backward(materialize=materialize)
    def same_grad(dys):
        seen.append(numbers(dys))
        return dys

    a, b = leaves(A, B)
    same([a, None, b])[2].sum().backward()
    assert seen[-1] == [[0.0, 0.0, 0.0], None, [[1.0, 1.0, 1.0]]]


def test_a_composite_is_differentiated_through_its_parts_and_a_composite_backward_to_any_order():
    def body(xs, w):
        return [None if x is None else x * w for x in xs]

    made = opsdk.op("t::parts(Tensor?[] xs, Tensor w) -> Tensor?[] ys", infer=scaled_infer, composite=True)(body)
    other = opsdk.op("t::whole(Tensor?[] xs, Tensor w) -> Tensor?[] ys", infer=scaled_infer)(scaled)

    @other.backward(composite=True)
    def other_grad(xs, w, dys):
        pairs = [(x, dy) for x, dy in zip(xs, dys, strict=True) if x is not None]
        return [None if dy is None else dy * w for dy in dys], sum((x * dy for x, dy in pairs), 0.0)

    for op in (made, other):

        def second(a, w, gradients, op=op):
            ys = op([None, a], w)
            assert ys[0] is None
            (dw,) = gradients((ys[1] * ys[1]).sum(), [w])
            return dw

        a, w = leaves(A, W)
        dw = second(a, w, lambda y, x: opsdk.grad(y, x, create_graph=True))
        expected = [(2 * A * A * W).tolist(), (2 * A * A).tolist()]
        assert numbers([dw, *opsdk.grad(dw.sum(), [w])]) == expected

        def build(a, w, second=second):
            dw = second(a, w, static.gradients)
            return [dw, *static.gradients(dw.sum(), [w])]

        assert numbers(in_program(build, [A, W])) == expected


def test_a_backward_sees_the_specs_of_a_list_with_none_at_its_holes():
    @opsdk.op("t::summed(Tensor?[] xs) -> Tensor y", infer=lambda xs: opsdk.TensorSpec((), "float64"))
    def summed(xs):
        return np.asarray(sum(x.sum() for x in xs if x is not None))

    @summed.backward
    def summed_grad(xs_spec, dy):
        return [None if spec is None else np.full(spec.shape, dy) for spec in xs_spec]

    a, b = leaves(A, B)
    summed([a, None, b]).backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([1.0] * 3, [[1.0] * 3])
    found = in_program(lambda a, b: static.gradients(summed([a, None, b]), [a, b]), [A, B])
    assert numbers(found) == [[1.0] * 3, [[1.0] * 3]]
    assert numbers(summed.grad(np.array(2.0), xs_spec=[None, opsdk.TensorSpec((1,), "float64")])) == [None, [2.0]]


STEP = "t::step(Tensor(a!)?[] ps, Tensor?[] gs, *, float lr) -> Tensor(a!)?[] qs"


def test_a_list_with_holes_is_changed_in_place_and_handed_on():
    @opsdk.op(STEP)
    def step(ps, gs, *, lr):
        for p, g in zip(ps, gs, strict=True):
            if p is not None and g is not None:
                p -= lr * g

    @step.backward
    def step_grad(dqs, gs, lr):
        return dqs, [None if g is None else 0 * g if dq is None else -lr * dq for dq, g in zip(dqs, gs, strict=True)]

    @step.samples
    def samples(rng):
        pair = rng.normal(size=3), rng.normal(size=2)
        yield opsdk.Sample([pair[0], None, pair[1]], [2 * pair[0], pair[1], None], lr=0.5, reason="holes")
        yield opsdk.Sample([pair[0]], [pair[0]], lr=0.5, reason="no holes")

    held = A.copy()
    made = step([held, None], [A, None], lr=0.5)
    assert made[0] is held and made[1] is None
    assert held.tolist() == (0.5 * A).tolist()
    shared = np.arange(4.0)
    step([shared[1:], None], [shared[:-1], None], lr=1.0)  # gs is what it was before the call
    assert shared.tolist() == [0.0, 1.0, 1.0, 1.0]
    assert opsdk.verify(step).verdict == "pass"


def test_an_input_that_is_changed_undeclared_is_found_behind_a_hole():
    @opsdk.op("t::greedy(Tensor?[] xs) -> Tensor y", infer=opsdk.infer.like())
    def greedy(xs):
        xs[1] += 1
        return xs[1].copy()

    with pytest.raises(MutationError, match=r"op 't::greedy': input 'xs' was changed in place, expected it untouched"):
        greedy([None, A.copy()])


def test_numbers_and_positions_bind_as_for_other_lists():
    @opsdk.op("t::taken(Tensor x, Tensor<int>?[] at) -> Tensor y", infer=lambda x: opsdk.TensorSpec((None,), x.dtype))
    def taken(x, at):
        return x[tuple(slice(None) if i is None else i for i in at)].flatten()

    x = np.arange(6.0).reshape(2, 3)
    for made in (taken(x, [None, [0, 2]]), taken(x, None, [0, 2]), taken(x, at=(None, np.array([0, 2])))):
        assert made.tolist() == [0.0, 2.0, 3.0, 5.0]
    assert taken(x, None).tolist() == x.reshape(-1).tolist()  # a list of one hole
    with pytest.raises(ArityError) as caught:
        taken(x, at=None)
    expected = "op 't::taken': input 'at' expected a list of tensors, which may hold None, got None"
    assert str(caught.value).splitlines()[0] == expected
    with pytest.raises(AttributeValueError, match="input 'at' expected a list of tensors, got ndarray"):
        taken(x, at=np.array([0]))


def test_a_list_without_the_mark_has_no_holes():
    made = opsdk.op("t::full(Tensor[] xs) -> Tensor y")(lambda xs: sum(xs))
    with pytest.raises(ArityError, match=r"op 't::full': input 'xs' expected tensors, got None at 1; leave it out"):
        made([A, None])


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([A, A], r"output 'ys\[1\]': expected None by its infer rule, got ndarray; let @f.infer return None where"),
        ([None, None], r"output 'ys\[0\]': expected an array by its infer rule, got nothing \(None\); let @f.infer"),
    ],
)
def test_a_result_is_there_where_the_rule_says_so(given, text):
    @opsdk.op("t::f(Tensor x) -> Tensor?[] ys", infer=lambda x: [x, None])
    def f(x):
        return [None if y is None else y.copy() for y in given]

    for x in (A, opsdk.to_tensor(A)):
        with pytest.raises(ReturnError, match=f"op 't::f', {text}"):
            f(x)


def test_a_rule_gives_specs_or_none_in_a_list():
    made = opsdk.op("t::f(Tensor x) -> Tensor?[] ys", infer=lambda x: [x, 3])(lambda x: [x.copy(), None])
    with pytest.raises(ReturnError, match="output 'ys' expected a list of specs, or None where only a run can tell"):
        made(A)
    with pytest.raises(ReturnError, match="output 'ys' expected a list of specs"):
        opsdk.op("t::g(Tensor x) -> Tensor[] ys", infer=lambda x: [x, None])(lambda x: [x.copy(), None])(A)


def test_a_composite_gives_none_only_where_the_rule_does():
    body = opsdk.op("t::f(Tensor x) -> Tensor?[] ys", infer=lambda x: [x, None], composite=True)
    made = body(lambda x: [x * 2.0, x * 3.0])
    with pytest.raises(ReturnError, match=r"output 'ys\[1\]': expected None by its infer rule, got ndarray"):
        made(leaves(A)[0])
    with pytest.raises(ReturnError, match=r"output 'ys\[1\]': expected None by its infer rule, got TensorSpec"):
        in_program(lambda a: made(a)[:1], [A])
    other = opsdk.op("t::g(Tensor x) -> Tensor?[] ys", infer=lambda x: [x, None], composite=True)(lambda x: None)
    with pytest.raises(ReturnError, match="op 't::g', output 'ys': expected its body to return a tensor, got NoneType"):
        other(leaves(A)[0])
    with pytest.raises(ReturnError, match="output 'ys': expected its body to return a Variable in a Program"):
        in_program(lambda a: other(a)[:1], [A])


def test_a_gradient_that_leaves_the_holes_out_is_refused():
    made = opsdk.op("t::f(Tensor?[] xs) -> Tensor y", infer=opsdk.infer.like())(lambda xs: xs[1] * 2)
    made.backward(lambda dy: [2 * dy], name="f_grad")
    with pytest.raises(ArityError, match="gradient of 'xs': expected a list of 2, one per tensor, got 1"):
        made([None, leaves(A)[0]]).sum().backward()


def test_an_operator_is_appended_by_name_with_holes(op):
    def build(a, w):
        block = static.default_main_program().global_block()
        out = block.create_var("out", [None], "float64")
        operator = block.append_op("t::scaled", {"xs": [None, a], "w": w}, {"ys": [None, out]})
        assert (operator.input_arg_names, operator.output_arg_names) == ([a.name, w.name], ["out"])
        assert "ys=['', 'out']" in str(operator)
        return [out]

    assert numbers(in_program(build, [A, W])) == [[2.0, -6.0, -3.0]]


@pytest.mark.parametrize(
    ("outputs", "text"),
    [
        (["out", "out"], "op 't::scaled': output 'ys' expected None at 0, as its infer rule has it, got 'out'"),
        ([None, None], "op 't::scaled': output 'ys' expected a variable at 1, as its infer rule has it, got None"),
    ],
)
def test_an_operator_that_is_appended_gives_what_the_rule_says(outputs, text):
    defined()

    def build(a, w):
        block = static.default_main_program().global_block()
        block.create_var("out", [None], "float64")
        block.append_op("t::scaled", {"xs": [None, a], "w": w}, {"ys": outputs})

    with pytest.raises(ProgramError, match=text):
        in_program(build, [A, W])


def test_languages_whose_lists_have_one_type_refuse_holes_where_the_kernel_is_given():
    made = defined()
    for place in ("cpu", "cuda"):
        with pytest.raises(DefinitionError) as caught:
            made.kernel(place, language="numba")(lambda xs, w: None)
        assert str(caught.value).splitlines()[0] == (
            "op 't::scaled', numba kernel: expected lists without holes, since it compiles a list for arrays alone, "
            "got Tensor?[] xs; write the kernel in C, where a hole is NULL, or leave this op to its Python kernels"
        )
    with pytest.raises(DefinitionError, match=r"got Tensor\?\[\] xs; write the kernel in C"):
        made.grad.kernel("cpu", language="numba")(lambda xs, w, dys: None)


def test_a_buffer_of_a_list_has_a_known_shape_or_none():
    made = opsdk.op("t::scaled(Tensor?[] xs, Tensor w) -> Tensor?[] ys")(scaled)
    made.kernel("cpu", language="c", source=C_KERNEL)
    with pytest.raises(ShapeError, match="output 'ys': expected a shape known before the C function runs"):
        made([A, None], W)


def test_a_call_with_a_hole_is_explained():
    text = str(opsdk.explain(defined(), [A, None], W))
    assert "t::scaled(xs: [float64[3], none], w: float64[3])" in text
    assert "gives    ys: [float64[3], none]" in text
    assert "saves    input xs (24 bytes), input w (24 bytes)" in text


def test_verify_tries_samples_with_holes_and_every_step_takes_them(op):
    report = opsdk.verify(op)
    assert (report.verdict, report.findings) == ("pass", ())


def test_verify_tries_holes_by_itself_and_finds_an_op_that_has_none_in_mind():
    made = opsdk.op("t::total(Tensor?[] xs) -> Tensor y")(lambda xs: sum(x for x in xs if x is not None))
    made.backward(lambda xs, dy: [None if x is None else dy for x in xs], name="total_grad")
    assert opsdk.verify(made).verdict == "pass"
    blind = opsdk.op("t::blind(Tensor?[] xs) -> Tensor y")(lambda xs: xs[0] + xs[1])
    report = opsdk.verify(blind)
    assert "default sample ([None, float64(3, 5)]) a hole at 0 raised TypeError" in str(report)
    assert "default sample ([float64(3, 5), None]) a hole at 1 raised TypeError" in str(report)


def test_verify_makes_a_hole_where_no_sample_has_one_which_an_op_may_refuse():
    made = opsdk.op("t::total(Tensor?[] xs) -> Tensor y")(lambda xs: sum(x for x in xs if x is not None))
    made.backward(lambda xs, dy: [dy for x in xs if x is not None], name="total_grad")  # leaves the holes out
    made.samples(lambda rng: [opsdk.Sample([rng.normal(size=3), rng.normal(size=3)], reason="full")])
    report = opsdk.verify(made)
    assert report.verdict == "fail"
    assert "gradient of 'xs': expected a list of 2, one per tensor, got 1" in report.findings[0].message
    blind = opsdk.op("t::blind(Tensor?[] xs) -> Tensor y")(lambda xs: xs[0] + xs[1])
    blind.samples(lambda rng: [opsdk.Sample([rng.normal(size=3), rng.normal(size=3)], reason="full")])
    report = opsdk.verify(blind)
    assert report.verdict == "pass"
    assert any("([None, float64(3,)]) a hole at 0 refused, TypeError" in text for text in report.coverage.skipped)


def faulty(grad, grad_grad=None):
    made = opsdk.op("t::faulty(Tensor?[] xs, Tensor w) -> Tensor?[] ys", infer=scaled_infer)(scaled)
    gradient = made.backward(grad, name="faulty_grad")
    if grad_grad is not None:
        gradient.backward(grad_grad, name="faulty_grad_grad")
    made.samples(
        lambda rng: [opsdk.Sample([rng.normal(size=3), None, rng.normal(size=3)], rng.normal(size=3), reason="a hole")]
    )
    return opsdk.verify(made)


def test_verify_finds_what_is_wrong_behind_a_hole():
    def shifted(xs, w, dys):  # the gradients of the list without its holes, in the wrong places
        dxs, dw = scaled_grad(xs, w, dys)
        return [dxs[2], None, dxs[0]], dw

    def dropped(xs, w, dys):  # dw of the last tensor is left out
        dxs, _ = scaled_grad(xs, w, dys)
        return dxs, xs[0] * dys[0]

    def flipped(xs, w, dys, ddxs, ddw):
        dxs, dw, ddys = scaled_grad_grad(xs, w, dys, ddxs, ddw)
        return dxs, dw, [ddys[0], None, -ddys[2]]

    assert faulty(shifted).verdict == "fail"
    assert faulty(dropped).verdict == "fail"
    assert faulty(scaled_grad, flipped).verdict == "fail"
    assert faulty(scaled_grad, scaled_grad_grad).verdict == "pass"
